//! Compares a draft with the stored drawers of its source: unchanged pieces keep their ids and vectors.

use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Collection, DeleteSelection, Drawer, DrawerId, DrawerPatch, DrawerPlace, Metadata, MetadataValue,
    NewDrawer, OriginKind, Provenance, Result, SourceSpan, Write,
};

use super::draft::talk::GoneMessage;
use super::draft::{DraftBody, DraftShelf, SourceDraft};
use super::gone::find_gone_messages;
use super::older::{OlderFiling, find_older_filing, is_older_filing};
use super::stored::{StoredSource, is_mined};
use super::withhold::{find_restored, withhold_deleted};
use super::{MineRequest, OlderDrawers};
use crate::deletions::DeletionKeys;

/// The metadata keys that mining writes and may remove again; other keys belong to the user.
const OWN_KEYS: [&str; 7] = [
    "encoding",
    "format",
    "message_id",
    "parent_thread",
    "strays",
    "thread_id",
    "title",
];

/// The changes to the drawers of one source.
#[derive(Debug, Default)]
pub(crate) struct SourceChange {
    /// Drawers to remove.
    pub(crate) deletes: Vec<DrawerId>,
    /// Changes of place, context or metadata, ordered so that no two drawers ever occupy the same span with the
    /// same text.
    pub(crate) updates: Vec<DrawerPatch>,
    /// The numbers of the draft's drawers to add.
    pub(crate) adds: Vec<usize>,
    /// The number of drawers that stay.
    pub(crate) kept: u64,
    /// The number of messages that left the source and stay in the palace.
    pub(crate) gone: usize,
    /// The number of places at which deleted words were withheld.
    pub(crate) withheld: u64,
    /// The drawers of an older filing, of which the replaced ones are among the deletions.
    pub(crate) recognised: OlderDrawers,
    /// Records of the list of deletions that are removed, because their words are filed again.
    pub(crate) restores: Vec<(String, u64)>,
}

impl SourceChange {
    /// Returns the change for a source that has no drawers yet.
    fn of_new(draft: &SourceDraft) -> Self {
        Self {
            adds: (0..draft.len()).collect(),
            ..Self::default()
        }
    }

    /// Takes the deletions and updates as one batch, to be written before the new drawers; may be empty.
    pub(crate) fn take_first_part(&mut self) -> Vec<Write> {
        // Deletions first, so that a moved piece never meets an equal one that is about to go.
        let mut part = Vec::new();
        if !self.deletes.is_empty() {
            part.push(Write::Delete(DeleteSelection::Ids(std::mem::take(
                &mut self.deletes,
            ))));
        }
        part.extend(std::mem::take(&mut self.updates).into_iter().map(Write::Update));
        part
    }
}

/// The terms of a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CompareTerms {
    /// Existing drawers are moved to the draft's wing.
    pub(crate) refile_wing: bool,
    /// Existing drawers are moved to the draft's room.
    pub(crate) refile_room: bool,
    /// Drawers that are not in the draft are removed.
    pub(crate) remove: bool,
    /// Deleted words are filed again.
    pub(crate) restore: bool,
}

impl CompareTerms {
    /// Returns the terms of a request.
    pub(crate) fn from_request(request: &MineRequest) -> Self {
        Self {
            refile_wing: request.wing.is_some(),
            refile_room: request.room.is_some(),
            // With a time limit the draft lacks older messages that are still in the source.
            remove: request.since.is_none(),
            restore: request.restore_deleted,
        }
    }
}

/// Compares a draft with the stored drawers of its source, and moves the draft to the shelf those are on.
/// Without a collection, every drawer is new.
pub(crate) fn compare_draft(
    collection: Option<&dyn Collection>,
    draft: &mut SourceDraft,
    terms: CompareTerms,
    deletions: &DeletionKeys,
) -> Result<SourceChange> {
    let Some(collection) = collection else {
        return Ok(SourceChange::of_new(draft));
    };
    let stored = StoredSource::look_up(collection, &draft.source)?;
    let (restores, withheld) = if deletions.is_empty() {
        (Vec::new(), 0)
    } else if terms.restore {
        (find_restored(collection, deletions, draft)?, 0)
    } else {
        (
            Vec::new(),
            withhold_deleted(collection, deletions, &stored, draft)?,
        )
    };
    let change = if stored.is_empty() {
        SourceChange::of_new(draft)
    } else {
        compare_stored(collection, &stored, draft, terms)?
    };
    Ok(SourceChange {
        withheld,
        restores,
        ..change
    })
}

fn compare_stored(
    collection: &dyn Collection,
    stored: &StoredSource<'_>,
    draft: &mut SourceDraft,
    terms: CompareTerms,
) -> Result<SourceChange> {
    let mut gone = if terms.remove {
        find_gone_messages(collection, stored, draft)?
    } else {
        Vec::new()
    };
    // Messages that left the source keep their place in the conversation's text, so all spans behind them shift.
    if let DraftBody::Talk(talk) = &mut draft.body {
        talk.lay_out_messages(&mut gone);
    }
    draft.shelf = choose_shelf(stored, &draft.shelf, terms)?;
    let older = if terms.remove {
        find_older_filing(stored, draft)?
    } else {
        OlderFiling::default()
    };
    collect_changes(stored, draft, &gone, &older, terms)
}

fn collect_changes(
    stored: &StoredSource<'_>,
    draft: &SourceDraft,
    gone: &[GoneMessage],
    older: &OlderFiling,
    terms: CompareTerms,
) -> Result<SourceChange> {
    let stays: HashMap<&DrawerId, SourceSpan> = gone
        .iter()
        .flat_map(|one| one.pieces.iter().map(|(id, span)| (id, *span)))
        .collect();
    let numbers = draft.number_by_id();
    let mut seen = vec![false; draft.len()];
    let (mut moves, mut unproven) = (Vec::new(), Vec::new());
    let mut change = SourceChange {
        gone: gone.len(),
        recognised: OlderDrawers {
            replaced: older.replaced.len() as u64,
            kept: older.kept,
        },
        ..SourceChange::default()
    };
    stored.for_each_drawer(&mut |old| {
        let was = old.place.span.map_or(0, |span| span.start);
        let patch = match (numbers.get(&old.id), stays.get(&old.id)) {
            (Some(n), _) => {
                if let Some(flag) = seen.get_mut(*n) {
                    *flag = true;
                }
                if old.provenance.is_none() {
                    unproven.push((was, old.id.clone()));
                }
                draft
                    .make_drawer(*n)
                    .and_then(|new| diff_drawer(old, &new, terms))
            }
            (None, Some(span)) => patch_moved_span(old, *span),
            (None, None) if older.replaced.contains(&old.id) => return change.deletes.push(old.id.clone()),
            // Filed by hand under the source's name: not mining's to change or count.
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
    let proven = find_same_texts(stored, draft, &numbers, unproven)?;
    give_provenance(&mut moves, proven, draft);
    change.updates = order_moves(moves);
    Ok(change)
}

/// Returns those of the drawers that still have the text of their source. Only they can get its provenance.
fn find_same_texts(
    stored: &StoredSource<'_>,
    draft: &SourceDraft,
    numbers: &HashMap<&DrawerId, usize>,
    drawers: Vec<(u64, DrawerId)>,
) -> Result<Vec<(u64, DrawerId)>> {
    let mut same = HashSet::new();
    let ids: Vec<DrawerId> = drawers.iter().map(|(_, id)| id.clone()).collect();
    stored.for_each_text(&ids, &mut |id, text| {
        let own = numbers.get(id).map(|n| draft.piece_text_at(*n));
        if own == Some(text) {
            same.insert(id.clone());
        }
    })?;
    let is_same = |(_, id): &(u64, DrawerId)| same.contains(id);
    Ok(drawers.into_iter().filter(is_same).collect())
}

/// Adds the provenance of the draft to the patches of these drawers.
fn give_provenance(moves: &mut Vec<(u64, DrawerPatch)>, drawers: Vec<(u64, DrawerId)>, draft: &SourceDraft) {
    let at: HashMap<DrawerId, usize> = (0..)
        .zip(moves.iter())
        .map(|(at, (_, patch))| (patch.id.clone(), at))
        .collect();
    for (was, id) in drawers {
        let provenance = Some(draft.provenance.clone());
        match at.get(&id).and_then(|at| moves.get_mut(*at)) {
            Some((_, patch)) => patch.provenance = provenance,
            None => moves.push((
                was,
                DrawerPatch {
                    provenance,
                    ..DrawerPatch::new(id)
                },
            )),
        }
    }
}

/// Chooses the shelf for new drawers: the requested one, else the one all stored drawers of the source share,
/// else the draft's own.
fn choose_shelf(stored: &StoredSource<'_>, own: &DraftShelf, terms: CompareTerms) -> Result<DraftShelf> {
    let (mut wings, mut rooms) = (HashSet::new(), HashSet::new());
    stored.for_each_drawer(&mut |old| {
        if is_mined(old) || is_older_filing(old) {
            wings.insert(old.place.wing.clone());
            rooms.insert(old.place.room.clone());
        }
    })?;
    // A user who moved all drawers of a source expects its new ones to follow; scattered drawers give no such
    // hint.
    let agreed = |names: HashSet<Option<String>>, asked: bool, own: &str| {
        let mut names = names.into_iter().filter(|_| !asked);
        match (names.next(), names.next()) {
            (Some(Some(name)), None) => name,
            _ => own.to_owned(),
        }
    };
    Ok(DraftShelf {
        wing: agreed(wings, terms.refile_wing, &own.wing),
        room: agreed(rooms, terms.refile_room, &own.room),
    })
}

fn patch_moved_span(old: &Drawer, span: SourceSpan) -> Option<DrawerPatch> {
    (old.place.span != Some(span)).then(|| DrawerPatch {
        place: DrawerPlace {
            span: Some(span),
            ..DrawerPlace::default()
        },
        ..DrawerPatch::new(old.id.clone())
    })
}

/// Returns the patch for a stored drawer whose text stays, if anything else differs.
fn diff_drawer(old: &Drawer, new: &NewDrawer, terms: CompareTerms) -> Option<DrawerPatch> {
    let mut patch = DrawerPatch::new(old.id.clone());
    patch.place.span = new.place.span.filter(|_| old.place.span != new.place.span);
    // A file's pieces keep the time they were first seen: touching the file does not make its words newer. The
    // time of a message is part of the message.
    let is_file = new.place.kind.as_deref() == Some(super::draft::file::FILE_KIND);
    patch.place.said_at = new
        .place
        .said_at
        .filter(|at| !is_file && old.place.said_at != Some(*at));
    for key in DrawerPlace::TEXT_KEYS {
        let asked = match key {
            "wing" => terms.refile_wing,
            "room" => terms.refile_room,
            _ => true,
        };
        let (was, is) = (old.place.text_field(key), new.place.text_field(key));
        if asked
            && was != is
            && let Some(field) = patch.place.text_field_mut(key)
        {
            *field = is.map(str::to_owned);
        }
    }
    // A changed context is indexed anew but the vector stays, so that one more message costs one vector.
    patch.context = new.context.clone().filter(|_| old.context != new.context);
    patch.provenance = diff_provenance(old.provenance.as_ref(), new.provenance.as_ref());
    patch.metadata = diff_metadata(old.metadata.as_ref(), &new.metadata);
    let nothing = DrawerPatch::new(old.id.clone());
    (patch != nothing).then_some(patch)
}

/// Returns the new provenance of a stored drawer, if reading its source again tells more about it.
fn diff_provenance(old: Option<&Provenance>, new: Option<&Provenance>) -> Option<Provenance> {
    let (old, new) = (old?.origin, new?);
    // Only what mining recorded itself is replaced: words that an agent has changed since, or that came with an
    // import under the id of a mined piece, must not become those of the source.
    let is_own = matches!(
        old,
        OriginKind::File | OriginKind::LooseTranscript | OriginKind::HarnessTranscript
    );
    (is_own && old != new.origin).then(|| new.clone())
}

fn diff_metadata(old: Option<&Metadata>, new: &Metadata) -> BTreeMap<String, Option<MetadataValue>> {
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

/// Orders moves so that no piece arrives where an equal one still is, which the store would take for the same
/// drawer. Pieces that move towards the front go first, from the front; pieces that move towards the back
/// follow, from the back. Equal pieces keep their relative order, so such an order always exists.
fn order_moves(mut moves: Vec<(u64, DrawerPatch)>) -> Vec<DrawerPatch> {
    let target = |(was, patch): &(u64, DrawerPatch)| patch.place.span.map_or(*was, |span| span.start);
    moves.sort_by_key(|one| {
        if target(one) <= one.0 {
            (0, i128::from(one.0))
        } else {
            (1, -i128::from(one.0))
        }
    });
    moves.into_iter().map(|(_, patch)| patch).collect()
}
