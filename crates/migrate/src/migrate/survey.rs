//! A first look at the source: what it holds, so that a later run knows whether it is the same, and what is in it twice.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};

use loci_core::{
    Collection, CollectionInfo, CollectionName, Drawer, DrawerId, Include, OpenOptions, Result, Timestamp,
};
use serde::Serialize;

use super::{MigrateRequest, Step};
use crate::canonical::canonical;
use loci_engine::palace::BorrowedAddress;
use loci_engine::{Walk, line};

/// What the source holds.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// Equal for equal sources.
    pub(super) fingerprint: String,
    collections: BTreeMap<CollectionName, CollectionSurvey>,
    none: CollectionSurvey,
}

/// What one collection holds twice.
#[derive(Debug, Default)]
pub(super) struct CollectionSurvey {
    /// How often.
    pub(super) duplicates: Duplicates,
    /// Those that give way to another of their group.
    pub(super) dropped: HashSet<DrawerId>,
    /// Those that lose their span, because the target takes the same piece of a source only once.
    pub(super) spanless: HashSet<DrawerId>,
}

/// Drawers with the same source and text, and the same start where that is known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Duplicates {
    /// How many groups of such drawers.
    pub groups: u64,
    /// How many drawers are in them.
    pub rows: u64,
}

/// A digest of what makes two drawers one piece.
type Piece = [u8; 16];

impl Survey {
    /// Walks the source once, and once more where something is in it twice.
    pub(super) fn of(
        request: &MigrateRequest<'_>,
        infos: &[CollectionInfo],
        watch: &mut dyn FnMut(Step<'_>),
    ) -> Result<Self> {
        let BorrowedAddress {
            backend,
            reference: palace,
        } = request.from;
        let total = infos.iter().map(|info| info.drawers).sum();
        let mut hasher = blake3::Hasher::new();
        let mut survey = Self::default();
        let mut seen = 0;
        for info in infos {
            let state = format!(
                "{} {:?} {:?} {:?} {} {:?}\n",
                info.name, info.metric, info.dimension, info.identity, info.coverage.nearest, info.seq
            );
            hasher.update(state.as_bytes());
            let opened = backend.open(palace, &info.name, &OpenOptions::default())?;
            let mut pieces: HashMap<Piece, u32> = HashMap::new();
            for drawer in walk(opened.as_ref()) {
                let drawer = canonical(drawer?);
                hasher.update(line::write(&info.name, drawer.clone(), false).as_bytes());
                if let Some(piece) = piece(&drawer) {
                    *pieces.entry(piece).or_default() += 1;
                }
                seen += 1;
                watch(Step::Surveyed(seen, total));
            }
            pieces.retain(|_, count| *count > 1);
            let found = twice(opened.as_ref(), &pieces, request.flags.collapse_duplicates)?;
            survey.collections.insert(info.name.clone(), found);
        }
        survey.fingerprint = hasher.finalize().to_hex().to_string();
        Ok(survey)
    }

    /// What is known of one collection.
    pub(super) fn of_collection(&self, name: &CollectionName) -> &CollectionSurvey {
        self.collections.get(name).unwrap_or(&self.none)
    }
}

fn walk(collection: &dyn Collection) -> Walk<'_> {
    let include = Include {
        embedding: false,
        ..Include::EVERYTHING
    };
    Walk::new(collection, include)
}

/// The piece a drawer is; `None` for one that was cut from nothing.
fn piece(drawer: &Drawer) -> Option<Piece> {
    let source = drawer.place.source.as_deref()?;
    let text = drawer.document.as_deref().unwrap_or_default();
    let start = drawer.place.span.map(|span| span.start);
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(source.len() as u64).to_le_bytes());
    hasher.update(source.as_bytes());
    hasher.update(format!("{start:?}").as_bytes());
    hasher.update(text.as_bytes());
    let mut piece = Piece::default();
    hasher.finalize_xof().fill(&mut piece);
    Some(piece)
}

/// How a drawer stands in its group: most uses, then oldest, then smallest id.
type Rank = (Reverse<u64>, Option<Timestamp>, DrawerId);

/// Looks at the drawers that are there more than once, and says which of them give way.
fn twice(
    collection: &dyn Collection,
    pieces: &HashMap<Piece, u32>,
    collapse: bool,
) -> Result<CollectionSurvey> {
    let mut survey = CollectionSurvey {
        duplicates: Duplicates {
            groups: pieces.len() as u64,
            rows: pieces.values().map(|count| u64::from(*count)).sum(),
        },
        ..CollectionSurvey::default()
    };
    if pieces.is_empty() {
        return Ok(survey);
    }
    let mut best: HashMap<Piece, Rank> = HashMap::new();
    for drawer in walk(collection) {
        let drawer = canonical(drawer?);
        let Some(piece) = piece(&drawer).filter(|piece| pieces.contains_key(piece)) else {
            continue;
        };
        let rank: Rank = (Reverse(drawer.uses), drawer.filed_at, drawer.id.clone());
        match best.remove(&piece) {
            None => drop(best.insert(piece, rank)),
            Some(other) => {
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
