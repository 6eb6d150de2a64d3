//! Refile: drawers moved to another wing or room. Their ids, texts and vectors stay.

use loci_core::{
    Collection, CollectionExt, DrawerId, Error, Finding, Get, Include, Patch, Place, Result, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::delete::find_drawers;
use crate::mine::spelled;
use crate::note::parse_optional_name;
use crate::palace::Palace;
use crate::view::DrawerScope;

/// The number of drawers moved in one transaction.
const MOVED_AT_ONCE: usize = 1000;

/// The drawers to move, and where to.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MoveRequest {
    /// These, by id or the beginning of an id; where there are none, all of the scope.
    pub ids: Vec<DrawerId>,
    /// Only drawers of this scope.
    pub scope: DrawerScope,
    /// The wing they go to.
    pub to_wing: Option<String>,
    /// The room they go to.
    pub to_room: Option<String>,
    /// Only count them.
    pub dry_run: bool,
}

/// The drawers that were meant, and those that are elsewhere now.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct MoveReport {
    /// The number of drawers meant.
    pub matched: u64,
    /// The number of them that were elsewhere and are moved now.
    pub moved: u64,
    /// Ids that no drawer has.
    #[schemars(with = "Vec<String>")]
    pub missing: Vec<DrawerId>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schemars(skip)]
    pub warnings: Vec<Finding>,
}

impl Palace {
    /// Moves drawers to another wing, room or both.
    pub fn move_drawers(&self, request: &MoveRequest) -> Result<MoveReport> {
        self.access().check_writable()?;
        let target = parse_target(request)?;
        if request.ids.is_empty() && request.scope.asks_nothing() {
            return Err(Error::invalid("nothing says which drawers to move")
                .hint("nothing was moved; name ids, or a scope like --source notes.md"));
        }
        let (found, mut report) = self.read(|session| {
            let (found, missing) = find_drawers(session.reader(), &request.ids, &request.scope)?;
            let warnings = if found.is_empty() {
                session.unknown_names(&request.scope)?
            } else {
                Vec::new()
            };
            let report = MoveReport {
                matched: found.len() as u64,
                moved: 0,
                missing,
                warnings,
            };
            Ok((found, report))
        })?;
        if request.dry_run || found.is_empty() {
            return Ok(report);
        }
        for some in found.chunks(MOVED_AT_ONCE) {
            report.moved += self.write(|collection| {
                let target = spell_target(self, collection, &target)?;
                move_some(collection, some, &target)
            })?;
        }
        Ok(report)
    }
}

/// The wing and room that a request names.
fn parse_target(request: &MoveRequest) -> Result<Place> {
    let target = Place {
        wing: parse_optional_name("wing", request.to_wing.as_deref())?,
        room: parse_optional_name("room", request.to_room.as_deref())?,
        ..Place::default()
    };
    if target == Place::default() {
        return Err(Error::invalid("a move needs a wing or a room to go to")
            .hint("nothing was moved; give a wing, a room or both"));
    }
    Ok(target)
}

/// The same with the wing as the collection spells it, refused where it does not exist for this caller.
fn spell_target(palace: &Palace, reader: &dyn loci_core::CollectionReader, target: &Place) -> Result<Place> {
    let Some(wing) = &target.wing else {
        return Ok(target.clone());
    };
    let wing = spelled(reader, wing)?;
    palace.access().check_wing(reader, Some(&wing))?;
    Ok(Place {
        wing: Some(wing),
        ..target.clone()
    })
}

fn move_some(collection: &dyn Collection, ids: &[DrawerId], target: &Place) -> Result<u64> {
    let found = collection.get(&Get {
        include: Include::NOTHING,
        ..Get::ids(ids.iter().cloned())
    })?;
    let differs = |own: &Option<String>, asked: &Option<String>| asked.is_some() && own != asked;
    let moves: Vec<Write> = found
        .into_iter()
        .filter(|drawer| {
            differs(&drawer.place.wing, &target.wing) || differs(&drawer.place.room, &target.room)
        })
        .map(|drawer| {
            Write::Update(Patch {
                place: target.clone(),
                ..Patch::new(drawer.id)
            })
        })
        .collect();
    if moves.is_empty() {
        return Ok(0);
    }
    Ok(collection.apply_batch(&moves)?.updated.len() as u64)
}
