//! Differences between two palaces that have a known reason: they are noted and do not count as differences.

use std::collections::BTreeSet;

use loci_core::{Collection, Drawer, DrawerId, FindingSeverity, IdentityState, PalaceFinding, Result};
use serde_json::Value as Json;

use crate::canonical::have_same_bits;
use loci_engine::migration_records::list_migrations;
use loci_engine::palace::{cosine_similarity, given_identity};

/// The least cosine between two vectors that one model made of one text.
const LEAST_COSINE: f32 = 0.999;

/// The differences between two collections that are explained, and how many of each occurred.
#[derive(Debug, Default)]
pub(super) struct KnownDifferences {
    /// Whether both name the same model.
    same_model: bool,
    /// Whether a record says that all texts were re-embedded.
    embedded_anew: bool,
    /// Whether a record says that texts without a vector were embedded.
    filled: bool,
    collapsed: BTreeSet<String>,
    spanless: BTreeSet<String>,
    /// Drawers whose damage a record names, and drawers whose vector it says was left out.
    damaged: BTreeSet<String>,
    vectorless: BTreeSet<String>,
    re_encoded: u64,
    least: f32,
    other_model: u64,
    embedded_here: u64,
    gone: u64,
    spans: u64,
    mended: u64,
    vectors_left_out: u64,
}

/// Returns whether a collection names the model of its vectors. Vectors that a user brought along may be of
/// any model.
fn names_a_model(state: &IdentityState) -> bool {
    matches!(state, IdentityState::Known(known) if *known != given_identity(known.dimension))
}

impl KnownDifferences {
    /// Reads which differences the records and models of two collections explain.
    pub(super) fn from_collections(
        mine: Option<&dyn Collection>,
        theirs: Option<&dyn Collection>,
    ) -> Result<Self> {
        let (Some(mine), Some(theirs)) = (mine, theirs) else {
            return Ok(Self::default());
        };
        let (one, other) = (mine.info()?.identity, theirs.info()?.identity);
        let mut pardon = Self {
            same_model: names_a_model(&one) && one == other,
            least: 1.0,
            ..Self::default()
        };
        // Only the last move counts: earlier ones had another source than the palace compared here.
        if let Some(record) = list_migrations(mine)?.pop() {
            pardon.read_record(&record);
        }
        Ok(pardon)
    }

    fn read_record(&mut self, record: &Json) {
        // Each collection stores a record with itself alone in the list.
        let own = record.pointer("/collections/0");
        let own = own.unwrap_or(&Json::Null);
        let ids = |list: &str| -> BTreeSet<String> {
            let ids = own.pointer(&format!("/{list}/ids")).and_then(Json::as_array);
            let ids = ids.into_iter().flatten().filter_map(Json::as_str);
            ids.map(str::to_owned).collect()
        };
        // The other values (`re_embedded`, `model_swap`, `target`) all mean that no vector was carried.
        self.embedded_anew = own.get("vectors").is_some_and(|vectors| vectors != "carried");
        self.filled = own.get("embedded").and_then(Json::as_u64).unwrap_or(0) > 0;
        self.collapsed = ids("collapsed");
        self.spanless = ids("span_left_out");
        self.damaged = ids("damaged");
        self.vectorless = ids("unsound_vector");
        self.vectorless.extend(ids("other_dimension"));
    }

    /// Returns the number of drawers that a migration collapsed into others.
    pub(super) fn count_collapsed(&self) -> u64 {
        self.collapsed.len() as u64
    }

    /// Returns whether a migration collapsed this drawer into another, and counts it.
    pub(super) fn excuse_collapsed(&mut self, id: &DrawerId) -> bool {
        let known = self.collapsed.contains(id.as_str());
        self.gone += u64::from(known);
        known
    }

    /// Returns whether the places of two drawers differ only by a span that a migration left out, and counts
    /// it.
    pub(super) fn excuse_lost_span(&mut self, one: &Drawer, other: &Drawer) -> bool {
        let mut place = other.place.clone();
        place.span = None;
        let known = self.spanless.contains(one.id.as_str()) && one.place == place;
        self.spans += u64::from(known);
        known
    }

    /// Returns whether only the other drawer is damaged, as a migration has said, and counts it.
    pub(super) fn excuse_damage(&mut self, one: &Drawer, other: &Drawer) -> bool {
        let known = one.damage.is_empty() && self.damaged.contains(other.id.as_str());
        self.mended += u64::from(known);
        known
    }

    /// Returns whether the vectors of two drawers are equal or differ for a known reason, and counts the
    /// reason.
    pub(super) fn excuse_vectors(&mut self, one: &Drawer, other: &Drawer) -> bool {
        let one_id = one.id.as_str();
        match (one.embedding.as_deref(), other.embedding.as_deref()) {
            (None, None) => true,
            (Some(one), Some(other)) if have_same_bits(one, other) => true,
            (Some(one), Some(other)) if self.same_model || self.embedded_anew => {
                self.excuse_near_vectors(one, other)
            }
            (None, Some(_)) if self.vectorless.contains(one_id) => {
                self.vectors_left_out += 1;
                true
            }
            (Some(_), None) if self.filled || self.embedded_anew => {
                self.embedded_here += 1;
                true
            }
            _ => false,
        }
    }

    fn excuse_near_vectors(&mut self, one: &[f32], other: &[f32]) -> bool {
        let near = if one.len() == other.len() {
            cosine_similarity(one, other)
        } else {
            f32::MIN
        };
        if near >= LEAST_COSINE {
            self.re_encoded += 1;
            self.least = self.least.min(near);
            return true;
        }
        // Vectors of different models cannot be compared. Of the same model, this far apart, they are a real
        // difference.
        let other_model = !self.same_model;
        self.other_model += u64::from(other_model);
        other_model
    }

    /// Returns a note for each kind of explained difference.
    pub(super) fn into_notes(self) -> Vec<PalaceFinding> {
        let least = self.least;
        [
            (
                "re_encoded",
                self.re_encoded,
                format!("vectors were re-encoded by the same model; the smallest cosine is {least:.6}"),
            ),
            (
                "other_model",
                self.other_model,
                "vectors are from another model and were not compared".to_owned(),
            ),
            (
                "embedded_here",
                self.embedded_here,
                "drawers were embedded during the migration".to_owned(),
            ),
            (
                "collapsed",
                self.gone,
                "drawers were collapsed into others with the same source and text during the migration"
                    .to_owned(),
            ),
            (
                "span_left_out",
                self.spans,
                "drawers were migrated without their span".to_owned(),
            ),
            (
                "damaged_there",
                self.mended,
                "drawers are damaged in the other palace, and their readable part was migrated".to_owned(),
            ),
            (
                "vector_left_out",
                self.vectors_left_out,
                "drawers were migrated without their vector".to_owned(),
            ),
        ]
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(code, count, words)| {
            PalaceFinding::new(code, FindingSeverity::Note, format!("{count} {words}"))
        })
        .collect()
    }
}
