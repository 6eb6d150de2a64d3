//! The operations that a process chooses by the seed, and the writes of its batches.

use std::collections::BTreeSet;

use loci_core::{DeleteSelection, DrawerPatch, Filter, MaintenanceKind, MetadataValue, Write};
use loci_testkit::SeededRandom;

use crate::content::{drawer_id, make_drawer, make_text, make_vector};

/// Drawers are numbered below this, so that batches of several processes meet.
const DRAWERS: usize = 48;

/// One operation of a process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProcessStep {
    /// A batch, under an idempotency key or within a budget of some milliseconds.
    Write {
        keyed: bool,
        budget: Option<u64>,
    },
    /// A new state of a source.
    Revise,
    /// Everything at one moment.
    Read,
    Maintain(MaintenanceKind),
    /// Closes everything and opens it again.
    Reopen,
    /// Backs the palace up, and restores the copy beside it.
    Copy,
    /// Waits for some milliseconds.
    Wait(u64),
}

impl ProcessStep {
    pub(crate) fn choose(random: &mut SeededRandom) -> Self {
        match random.below(100) {
            0..45 => Self::Write {
                keyed: random.below(3) == 0,
                budget: (random.below(12) == 0).then(|| 1 + random.below(200) as u64),
            },
            45..55 => Self::Revise,
            55..78 => Self::Read,
            78..80 => Self::Maintain(MaintenanceKind::ANALYZE),
            80..84 => Self::Maintain(MaintenanceKind::COMPACT),
            84..87 => Self::Maintain(MaintenanceKind::REINDEX),
            87..94 => Self::Reopen,
            94..96 => Self::Copy,
            _ => Self::Wait(random.below(3000) as u64),
        }
    }
}

/// Chooses the writes of one batch; `version` is in no other batch, so that texts and vectors are unique.
pub(crate) fn choose_writes(random: &mut SeededRandom, version: u64) -> Vec<Write> {
    let many = if random.below(8) == 0 { 12 } else { 4 };
    let writes = (0..=random.below(many))
        .map(|_| choose_write(random, version))
        .collect();
    without_repeats(writes)
}

fn choose_write(random: &mut SeededRandom, version: u64) -> Write {
    let n = random.below(DRAWERS);
    match random.below(10) {
        0..3 => Write::Add(make_drawer(n, version)),
        3..6 => Write::Upsert(make_drawer(n, version)),
        6..8 => Write::Update(make_patch(n, version)),
        8 => {
            let ids = (0..=random.below(3)).map(|_| drawer_id(random.below(DRAWERS)));
            Write::Delete(DeleteSelection::Ids(ids.collect()))
        }
        _ => {
            let filter = format!(
                r#"{{"$and": [{{"tenth": {}}}, {{"n": {{"$lt": {}}}}}]}}"#,
                random.below(10),
                random.below(DRAWERS)
            );
            let filter = Filter::parse_str(&filter).expect("the filter is valid");
            Write::Delete(DeleteSelection::Matching(filter.into()))
        }
    }
}

fn make_patch(n: usize, version: u64) -> DrawerPatch {
    let texts = n.is_multiple_of(2);
    DrawerPatch {
        document: texts.then(|| make_text(n, version)),
        embedding: texts.then(|| make_vector(n, version)),
        metadata: [("patched".to_owned(), Some(MetadataValue::from(version as i64)))].into(),
        ..DrawerPatch::new(drawer_id(n))
    }
}

/// Leaves out what names a drawer for a second time, which the store refuses.
fn without_repeats(writes: Vec<Write>) -> Vec<Write> {
    let mut seen = BTreeSet::new();
    let mut kept = Vec::new();
    for write in writes {
        let write = match write {
            Write::Add(ref new) | Write::Upsert(ref new) if !seen.insert(new.id.clone()) => continue,
            Write::Update(ref patch) if !seen.insert(patch.id.clone()) => continue,
            Write::Delete(DeleteSelection::Ids(mut ids)) => {
                ids.retain(|id| seen.insert(id.clone()));
                if ids.is_empty() {
                    continue;
                }
                Write::Delete(DeleteSelection::Ids(ids))
            }
            other => other,
        };
        kept.push(write);
    }
    kept
}
