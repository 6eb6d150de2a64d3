//! Facets: how many drawers a scope has, and how many by wing, room, source, speaker or kind.

use std::cmp::Reverse;

use loci_core::{FacetKey, FacetRequest, PalaceFinding, Result};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value as Json};

use crate::palace::{Palace, PalaceSession};
use crate::view::{DrawerScope, NullableValue};

/// A count of drawers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CountReport {
    /// The number of drawers in the scope.
    pub count: u64,
    /// Damage, and names in the scope that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

/// Keys to count by, and the drawers to count.
#[derive(Debug, Clone, PartialEq)]
pub struct FacetsRequest {
    /// The keys; at least one, none twice.
    pub by: Vec<FacetKey>,
    /// The drawers to count.
    pub scope: DrawerScope,
}

/// Counts by keys.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FacetsReport {
    /// One row for each combination of values in the scope: the keys, null where drawers have no value, and
    /// `drawers`.
    #[schemars(with = "Vec<FacetRow>")]
    pub facets: Vec<Map<String, Json>>,
    /// Damage, and names in the scope that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

/// A row of counts. Only the keys that were asked for are there; a key is null for drawers without a value.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct FacetRow {
    /// The wing.
    #[schemars(skip_serializing_if = "Option::is_none")]
    wing: NullableValue<String>,
    /// The room.
    #[schemars(skip_serializing_if = "Option::is_none")]
    room: NullableValue<String>,
    /// The source.
    #[schemars(skip_serializing_if = "Option::is_none")]
    source: NullableValue<String>,
    /// The speaker.
    #[schemars(skip_serializing_if = "Option::is_none")]
    speaker: NullableValue<String>,
    /// The kind.
    #[schemars(skip_serializing_if = "Option::is_none")]
    kind: NullableValue<String>,
    /// The number of drawers.
    drawers: u64,
}

/// The wings of a scope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WingsReport {
    /// The wings, the one with the most drawers first.
    pub wings: Vec<WingCount>,
    /// Damage, and names in the scope that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

/// A wing and the drawers in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WingCount {
    /// Its name; null for drawers in no wing.
    pub wing: Option<String>,
    /// Its drawers.
    pub drawers: u64,
    /// Its rooms, the one with the most drawers first.
    pub rooms: Vec<RoomCount>,
}

/// A room and the drawers in it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RoomCount {
    /// Its name; null for drawers in no room.
    pub room: Option<String>,
    /// Its drawers.
    pub drawers: u64,
}

impl Palace {
    /// Counts the drawers of a scope.
    pub fn count(&self, scope: &DrawerScope) -> Result<CountReport> {
        scope.check()?;
        self.read(|session| {
            let condition = scope.resolve(session.reader())?;
            let count = session.reader().count(&condition)?;
            Ok(CountReport {
                count,
                warnings: collect_warnings(session, scope, count == 0)?,
            })
        })
    }

    /// Counts the drawers of a scope by some keys.
    pub fn count_facets(&self, request: &FacetsRequest) -> Result<FacetsReport> {
        request.scope.check()?;
        self.read(|session| {
            let condition = request.scope.resolve(session.reader())?;
            let facets = session.reader().facets(&FacetRequest {
                by: request.by.clone(),
                filter: condition.filter,
                document: condition.document,
            })?;
            let rows = facets.into_iter().map(|facet| {
                let values = facet.values.into_iter().map(Json::from);
                // The store returns values in the order of the keys asked for.
                let names = request.by.iter().map(|key| key.name().to_owned());
                let mut row: Map<String, Json> = names.zip(values).collect();
                row.insert("drawers".into(), facet.drawers.into());
                row
            });
            let facets: Vec<_> = rows.collect();
            let warnings = collect_warnings(session, &request.scope, facets.is_empty())?;
            Ok(FacetsReport { facets, warnings })
        })
    }

    /// Counts the drawers of a scope by wing and room.
    pub fn list_wings(&self, scope: &DrawerScope) -> Result<WingsReport> {
        scope.check()?;
        self.read(|session| {
            let wings = count_wings(session, scope)?;
            let warnings = collect_warnings(session, scope, wings.is_empty())?;
            Ok(WingsReport { wings, warnings })
        })
    }
}

/// Counts drawers by wing and room, most first.
pub(crate) fn count_wings(session: &PalaceSession<'_>, scope: &DrawerScope) -> Result<Vec<WingCount>> {
    let condition = scope.resolve(session.reader())?;
    let facets = session.reader().facets(&FacetRequest {
        filter: condition.filter,
        document: condition.document,
        ..FacetRequest::by_room()
    })?;
    let mut wings: Vec<WingCount> = Vec::new();
    for facet in facets {
        let mut values = facet.values.into_iter();
        let (wing, room) = (values.next().flatten(), values.next().flatten());
        let room = RoomCount {
            room,
            drawers: facet.drawers,
        };
        // Facets are sorted by wing and room, so the rooms of a wing are adjacent.
        match wings.last_mut().filter(|last| last.wing == wing) {
            Some(last) => {
                last.drawers += room.drawers;
                last.rooms.push(room);
            }
            None => wings.push(WingCount {
                wing,
                drawers: room.drawers,
                rooms: vec![room],
            }),
        }
    }
    // The sort is stable: wings with equal counts stay in the order of their names.
    wings.sort_by_key(|wing| Reverse(wing.drawers));
    for wing in &mut wings {
        wing.rooms.sort_by_key(|room| Reverse(room.drawers));
    }
    Ok(wings)
}

fn collect_warnings(
    session: &PalaceSession<'_>,
    scope: &DrawerScope,
    is_empty: bool,
) -> Result<Vec<PalaceFinding>> {
    let mut warnings = session.collect_findings();
    // Looking for misspelt names reads every name of the collection, so only an empty answer pays for it.
    if is_empty {
        warnings.extend(session.unknown_names(scope)?);
    }
    Ok(warnings)
}
