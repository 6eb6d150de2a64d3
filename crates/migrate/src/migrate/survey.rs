//! A first walk over the source: its fingerprint, by which a later run recognises it, and its duplicates.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Collection, CollectionInfo, CollectionName, Drawer, DrawerFields, DrawerId, OpenOptions, Result,
    Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::{MigrateRequest, MigrateStep};
use crate::canonical::to_canonical;
use crate::digests::PalaceDigest;
use loci_engine::palace::BorrowedAddress;
use loci_engine::{CollectionWalk, line};

/// The survey of a source.
#[derive(Debug, Default)]
pub(super) struct SourceSurvey {
    /// Equal for equal sources.
    pub(super) fingerprint: String,
    collections: BTreeMap<CollectionName, CollectionSurvey>,
    none: CollectionSurvey,
}

/// The duplicates of one collection.
#[derive(Debug, Default)]
pub(super) struct CollectionSurvey {
    /// Their numbers.
    pub(super) duplicates: DuplicateCounts,
    /// Drawers to collapse into another of their group.
    pub(super) dropped: HashSet<DrawerId>,
    /// Drawers that lose their span, because a target accepts the same piece of a source only once.
    pub(super) spanless: HashSet<DrawerId>,
}

/// Drawers with the same source and text, and the same start where that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct DuplicateCounts {
    /// The number of groups.
    pub groups: u64,
    /// The number of drawers in them.
    pub rows: u64,
}

/// A digest of what makes two drawers one piece.
type PieceDigest = [u8; 16];

impl SourceSurvey {
    /// Walks the source once, and a second time if it has duplicates.
    pub(super) fn take(
        request: &MigrateRequest<'_>,
        infos: &[CollectionInfo],
        watch: &mut dyn FnMut(MigrateStep<'_>),
    ) -> Result<Self> {
        let BorrowedAddress {
            backend,
            reference: palace,
        } = request.from;
        let total = infos.iter().map(|info| info.drawers).sum();
        let mut digest = PalaceDigest::default();
        let mut survey = Self::default();
        let mut seen = 0;
        for info in infos {
            let state = format!(
                "{} {:?} {:?} {:?} {} {:?}\n",
                info.name, info.metric, info.dimension, info.identity, info.coverage.nearest, info.seq
            );
            digest.add_bytes(state.as_bytes());
            let opened = backend.open(palace, &info.name, &OpenOptions::default())?;
            // Digests and counts only: a palace of millions of drawers must not be held in memory to find a
            // few duplicates.
            let mut pieces: HashMap<PieceDigest, u32> = HashMap::new();
            for drawer in walk_texts(opened.as_ref()) {
                let drawer = to_canonical(drawer?);
                if let Some(piece) = digest_piece(&drawer) {
                    *pieces.entry(piece).or_default() += 1;
                }
                // Without vectors, which would make the walk much slower; their number and the sequence
                // number stand for them.
                digest.add_bytes(line::write_line(&info.name, drawer, Vec::new(), false).as_bytes());
                seen += 1;
                watch(MigrateStep::Surveyed(seen, total));
            }
            pieces.retain(|_, count| *count > 1);
            let found = find_duplicates(opened.as_ref(), &pieces, request.flags.collapse_duplicates)?;
            survey.collections.insert(info.name.clone(), found);
        }
        survey.fingerprint = digest.finish();
        Ok(survey)
    }

    /// Returns the duplicates of one collection.
    pub(super) fn of_collection(&self, name: &CollectionName) -> &CollectionSurvey {
        self.collections.get(name).unwrap_or(&self.none)
    }
}

fn walk_texts(collection: &dyn Collection) -> CollectionWalk<'_> {
    let include = DrawerFields {
        embedding: false,
        ..DrawerFields::EVERYTHING
    };
    CollectionWalk::new(collection, include)
}

/// Returns the digest of the piece a drawer holds; `None` without a source.
fn digest_piece(drawer: &Drawer) -> Option<PieceDigest> {
    let source = drawer.place.source.as_deref()?;
    let text = drawer.document.as_deref().unwrap_or_default();
    let start = drawer.place.span.map(|span| span.start);
    let mut hasher = blake3::Hasher::new();
    // The length keeps source and text apart: "ab" + "c" must not equal "a" + "bc".
    hasher.update(&(source.len() as u64).to_le_bytes());
    hasher.update(source.as_bytes());
    hasher.update(format!("{start:?}").as_bytes());
    hasher.update(text.as_bytes());
    let mut piece = PieceDigest::default();
    hasher.finalize_xof().fill(&mut piece);
    Some(piece)
}

/// The rank of a drawer in its group: most uses first, then oldest, then smallest id.
type DuplicateRank = (Reverse<u64>, Option<Timestamp>, DrawerId);

/// Walks the duplicates and decides which are collapsed, or else lose their span.
fn find_duplicates(
    collection: &dyn Collection,
    pieces: &HashMap<PieceDigest, u32>,
    collapse: bool,
) -> Result<CollectionSurvey> {
    let mut survey = CollectionSurvey {
        duplicates: DuplicateCounts {
            groups: pieces.len() as u64,
            rows: pieces.values().map(|count| u64::from(*count)).sum(),
        },
        ..CollectionSurvey::default()
    };
    if pieces.is_empty() {
        return Ok(survey);
    }
    let mut best: HashMap<PieceDigest, DuplicateRank> = HashMap::new();
    for drawer in walk_texts(collection) {
        let drawer = to_canonical(drawer?);
        let Some(piece) = digest_piece(&drawer).filter(|piece| pieces.contains_key(piece)) else {
            continue;
        };
        let rank: DuplicateRank = (Reverse(drawer.uses), drawer.filed_at, drawer.id.clone());
        match best.remove(&piece) {
            None => drop(best.insert(piece, rank)),
            Some(other) => {
                // In id order the first drawer of a group keeps its span, whatever the ranks: nothing is
                // dropped here.
                if drawer.place.span.is_some() && !collapse {
                    survey.spanless.insert(drawer.id);
                }
                let (keeps, gives_way) = if rank < other {
                    (rank, other)
                } else {
                    (other, rank)
                };
                best.insert(piece, keeps);
                if collapse {
                    survey.dropped.insert(gives_way.2);
                }
            }
        }
    }
    Ok(survey)
}
