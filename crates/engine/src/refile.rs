//! Refile: moves drawers to another wing or room. Their ids, texts and vectors stay.

use std::collections::HashSet;

use loci_core::{
    Collection, CollectionExt, Drawer, DrawerFields, DrawerId, DrawerPatch, DrawerPlace, Error, GetRequest,
    PalaceFinding, Result, Write,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::delete::{AskedIds, check_expected_count, find_drawers};
use crate::note::parse_optional_name;
use crate::palace::{DrawerAct, Palace};
use crate::undo::MoveMemory;
use crate::view::DrawerScope;

/// The number of drawers moved in one transaction.
const MOVED_AT_ONCE: usize = 1000;

/// The drawers to move, and their target.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct MoveRequest {
    /// Their ids or prefixes of ids; if empty, all drawers of the scope.
    pub ids: Vec<DrawerId>,
    /// Takes no id for the beginning of another: a drawer that is gone is missing, and no other stands in for it.
    pub whole_ids: bool,
    /// Only drawers of this scope.
    pub scope: DrawerScope,
    /// The target wing.
    pub to_wing: Option<String>,
    /// The target room.
    pub to_room: Option<String>,
    /// The exact number of drawers that must match; otherwise nothing is moved.
    pub expected: Option<u64>,
    /// Only count the drawers.
    pub dry_run: bool,
}

/// The outcome of a move.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
pub struct MoveReport {
    /// The number of drawers that match.
    pub matched: u64,
    /// The number of drawers that changed their place.
    pub moved: u64,
    /// Ids that no drawer has.
    pub missing: Vec<DrawerId>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Moves drawers to another wing, room or both.
    pub fn move_drawers(&self, request: &MoveRequest) -> Result<MoveReport> {
        self.move_remembering(request, &mut MoveMemory::nothing())
    }

    /// Moves drawers and remembers where they were.
    pub(crate) fn move_remembering(
        &self,
        request: &MoveRequest,
        memory: &mut MoveMemory,
    ) -> Result<MoveReport> {
        let palace = self.for_act(DrawerAct::Changes)?;
        let target = parse_target(request)?;
        if request.ids.is_empty() && request.scope.asks_nothing() {
            return Err(Error::invalid("no drawers to move were named")
                .with_hint("nothing was moved; name ids, or a scope like --source notes.md"));
        }
        let (found, mut report) = palace.read(|session| {
            let ids = AskedIds::new(&request.ids, request.whole_ids);
            let (found, missing) = find_drawers(session.reader(), ids, &request.scope)?;
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
        check_expected_count(request.expected, report.matched)?;
        if request.dry_run || found.is_empty() {
            return Ok(report);
        }
        for some in found.chunks(MOVED_AT_ONCE) {
            // Short transactions let other writers in between; a move that is interrupted is completed by
            // repeating it.
            report.moved += palace.write(|collection| {
                let target = spell_target(&palace, collection, &target)?;
                move_batch(collection, some, &target, memory)
            })?;
        }
        Ok(report)
    }
}

/// Returns the wing and room that a request names.
fn parse_target(request: &MoveRequest) -> Result<DrawerPlace> {
    let target = DrawerPlace {
        wing: parse_optional_name("wing", request.to_wing.as_deref())?,
        room: parse_optional_name("room", request.to_room.as_deref())?,
        ..DrawerPlace::default()
    };
    if target == DrawerPlace::default() {
        return Err(Error::invalid("a move needs a target wing or room")
            .with_hint("nothing was moved; give a wing, a room or both"));
    }
    Ok(target)
}

/// Returns the target with the wing in the collection's spelling; refuses a wing that does not exist for this
/// caller.
fn spell_target(
    palace: &Palace,
    reader: &dyn loci_core::CollectionReader,
    target: &DrawerPlace,
) -> Result<DrawerPlace> {
    let Some(wing) = &target.wing else {
        return Ok(target.clone());
    };
    let wing = palace.access().spell_named(reader, wing)?;
    palace.access().check_wing(reader, Some(&wing))?;
    Ok(DrawerPlace {
        wing: Some(wing),
        ..target.clone()
    })
}

fn move_batch(
    collection: &dyn Collection,
    ids: &[DrawerId],
    target: &DrawerPlace,
    memory: &mut MoveMemory,
) -> Result<u64> {
    let found = collection.get(&GetRequest {
        include: DrawerFields {
            metadata: true,
            ..DrawerFields::NOTHING
        },
        ..GetRequest::by_ids(ids.iter().cloned())
    })?;
    // A drawer that is there already is not written, so that it does not appear in the change feed.
    let differs = |own: &Option<String>, asked: &Option<String>| asked.is_some() && own != asked;
    let moving: Vec<Drawer> = found
        .into_iter()
        .filter(|drawer| {
            differs(&drawer.place.wing, &target.wing) || differs(&drawer.place.room, &target.room)
        })
        .collect();
    if moving.is_empty() {
        return Ok(0);
    }
    let to_move = |drawer: &Drawer| {
        Write::Update(DrawerPatch {
            place: target.clone(),
            ..DrawerPatch::new(drawer.id.clone())
        })
    };
    let moves: Vec<Write> = moving.iter().map(to_move).collect();
    let receipt = collection.apply_batch(&moves)?;
    let done: HashSet<&DrawerId> = receipt.updated.iter().collect();
    let there = moving.iter().filter(|drawer| done.contains(&drawer.id));
    memory.keep(there, target);
    Ok(receipt.updated.len() as u64)
}
