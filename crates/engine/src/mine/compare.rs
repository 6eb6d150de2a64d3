//! What must change so that a source's drawers are those of a draft: unchanged pieces keep their ids and vectors.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Collection, Drawer, DrawerId, Metadata, NewDrawer, Patch, Place, Result, Selection, Span, Value, Write,
};

use super::MineRequest;
use super::draft::talk::Gone;
use super::draft::{Body, Draft, Shelf};
use super::gone::gone_from;
use super::stored::{Stored, is_mined};

/// The metadata that mining writes and may take away again.
const OWN_KEYS: [&str; 7] = [
    "encoding",
    "format",
    "message_id",
    "parent_thread",
    "strays",
    "thread_id",
    "title",
];

/// What to change among the drawers of one source.
#[derive(Debug, Default)]
pub(crate) struct Change {
    /// Drawers to remove.
    pub(crate) deletes: Vec<DrawerId>,
    /// Drawers to change in place or context, in an order in which no two are ever the same piece.
    pub(crate) updates: Vec<Patch>,
    /// Numbers of the draft's drawers to add.
    pub(crate) adds: Vec<usize>,
    /// How many drawers stay.
    pub(crate) kept: u64,
    /// How many messages are no longer in the source and stay in the palace.
    pub(crate) gone: usize,
}

impl Change {
    /// What comes before the new drawers, as one batch; empty if nothing does.
    pub(crate) fn first_part(&mut self) -> Vec<Write> {
        let mut part = Vec::new();
        if !self.deletes.is_empty() {
            part.push(Write::Delete(Selection::Ids(std::mem::take(&mut self.deletes))));
        }
        part.extend(std::mem::take(&mut self.updates).into_iter().map(Write::Update));
        part
    }
}

/// How sources are compared.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompareTerms {
    /// Drawers that are there are moved to the draft's wing.
    pub(crate) refile_wing: bool,
    /// Drawers that are there are moved to the draft's room.
    pub(crate) refile_room: bool,
    /// Drawers that the draft does not have are removed.
    pub(crate) remove: bool,
}

impl CompareTerms {
    /// The terms of a request.
    pub(crate) fn of(request: &MineRequest) -> Self {
        Self {
            refile_wing: request.wing.is_some(),
            refile_room: request.room.is_some(),
            remove: request.since.is_none(),
        }
    }
}

/// Compares a draft with what is stored of its source, and puts the draft on the shelf its drawers are on already.
/// A collection that does not exist yet stores nothing.
pub(crate) fn compare(
    collection: Option<&dyn Collection>,
    draft: &mut Draft,
    terms: CompareTerms,
) -> Result<Change> {
    let stored = collection
        .map(|collection| Ok((collection, Stored::of(collection, &draft.source)?)))
        .transpose()?;
    let Some((collection, stored)) = stored.filter(|(_, stored): &(_, Stored<'_>)| !stored.is_none()) else {
        return Ok(Change {
            adds: (0..draft.len()).collect(),
            ..Change::default()
        });
    };
    let mut gone = match terms.remove {
        true => gone_from(collection, &stored, draft)?,
        false => Vec::new(),
    };
    if let Body::Talk(talk) = &mut draft.body {
        talk.lay_out(&mut gone);
    }
    draft.shelf = shelf_of(&stored, &draft.shelf, terms)?;
    changes(&stored, draft, &gone, terms)
}

fn changes(stored: &Stored<'_>, draft: &Draft, gone: &[Gone], terms: CompareTerms) -> Result<Change> {
    let stays: HashMap<&DrawerId, Span> = gone
        .iter()
        .flat_map(|one| one.pieces.iter().map(|(id, span)| (id, *span)))
        .collect();
    let numbers = draft.numbers();
    let mut seen = vec![false; draft.len()];
    let mut moves = Vec::new();
    let mut change = Change {
        gone: gone.len(),
        ..Change::default()
    };
    stored.each(&mut |old| {
        let was = old.place.span.map_or(0, |span| span.start);
        let patch = match (numbers.get(&old.id), stays.get(&old.id)) {
            (Some(n), _) => {
                if let Some(flag) = seen.get_mut(*n) {
                    *flag = true;
                }
                draft.drawer(*n).and_then(|new| difference(old, &new, terms))
            }
            (None, Some(span)) => moved(old, *span),
            (None, None) if !is_mined(old) => return,
            (None, None) if terms.remove => return change.deletes.push(old.id.clone()),
            (None, None) => None,
        };
        change.kept += 1;
        moves.extend(patch.map(|patch| (was, patch)));
    })?;
    change.adds = (0..draft.len())
        .filter(|n| !seen.get(*n).copied().unwrap_or(false))
        .collect();
    change.updates = in_order(moves);
    Ok(change)
}

/// The shelf new drawers go to: as asked for, else the one that all drawers of the source are on already, else the
/// draft's own.
fn shelf_of(stored: &Stored<'_>, own: &Shelf, terms: CompareTerms) -> Result<Shelf> {
    let (mut wings, mut rooms) = (HashSet::new(), HashSet::new());
    stored.each(&mut |old| {
        if is_mined(old) {
            wings.insert(old.place.wing.clone());
            rooms.insert(old.place.room.clone());
        }
    })?;
    let agreed = |names: HashSet<Option<String>>, asked: bool, own: &str| {
        let mut names = names.into_iter().filter(|_| !asked);
        match (names.next(), names.next()) {
            (Some(Some(name)), None) => name,
            _ => own.to_owned(),
        }
    };
    Ok(Shelf {
        wing: agreed(wings, terms.refile_wing, &own.wing),
        room: agreed(rooms, terms.refile_room, &own.room),
    })
}

fn moved(old: &Drawer, span: Span) -> Option<Patch> {
    (old.place.span != Some(span)).then(|| Patch {
        place: Place {
            span: Some(span),
            ..Place::default()
        },
        ..Patch::new(old.id.clone())
    })
}

/// What must change of a stored drawer whose text stays.
fn difference(old: &Drawer, new: &NewDrawer, terms: CompareTerms) -> Option<Patch> {
    let mut patch = Patch::new(old.id.clone());
    patch.place.span = new.place.span.filter(|_| old.place.span != new.place.span);
    // A file's pieces keep the time they were first seen at; a message's time is its own.
    let is_file = new.place.kind.as_deref() == Some(super::draft::file::KIND);
    patch.place.said_at = new
        .place
        .said_at
        .filter(|at| !is_file && old.place.said_at != Some(*at));
    for key in Place::TEXT_KEYS {
        let asked = match key {
            "wing" => terms.refile_wing,
            "room" => terms.refile_room,
            _ => true,
        };
        let (was, is) = (old.place.text(key), new.place.text(key));
        if asked
            && was != is
            && let Some(field) = patch.place.text_mut(key)
        {
            *field = is.map(str::to_owned);
        }
    }
    patch.context = new.context.clone().filter(|_| old.context != new.context);
    patch.metadata = metadata_difference(old.metadata.as_ref(), &new.metadata);
    let nothing = Patch::new(old.id.clone());
    (patch != nothing).then_some(patch)
}

fn metadata_difference(old: Option<&Metadata>, new: &Metadata) -> BTreeMap<String, Option<Value>> {
    let was = |key: &str| old.and_then(|old| old.get(key));
    let mut difference: BTreeMap<_, _> = new
        .iter()
        .filter(|(key, value)| was(key) != Some(*value))
        .map(|(key, value)| (key.to_owned(), Some(value.clone())))
        .collect();
    for key in OWN_KEYS {
        if was(key).is_some() && new.get(key).is_none() {
            difference.insert(key.to_owned(), None);
        }
    }
    difference
}

/// Orders moves so that no piece comes to where an equal one still is: those that move up in the source from the
/// front, then those that move down from the back. Equal pieces keep their order, so this always works out.
fn in_order(mut moves: Vec<(u64, Patch)>) -> Vec<Patch> {
    let target = |(was, patch): &(u64, Patch)| patch.place.span.map_or(*was, |span| span.start);
    moves.sort_by_key(|one| match target(one) <= one.0 {
        true => (0, i128::from(one.0)),
        false => (1, -i128::from(one.0)),
    });
    moves.into_iter().map(|(_, patch)| patch).collect()
}
