//! Differences between two palaces that have a known reason: they are told, and are none.

use std::collections::BTreeSet;

use loci_core::{Collection, Drawer, DrawerId, Finding, IdentityState, Result, Severity};
use serde_json::Value as Json;

use crate::canonical::same_bits;
use loci_engine::moves::list_migrations;
use loci_engine::palace::{cosine, given_identity};

/// The least cosine between two vectors that one model made of one text.
const NEAR: f32 = 0.999;

/// What of two collections may differ, and how much of it did.
#[derive(Debug, Default)]
pub(super) struct Pardon {
    /// Both name the same model.
    same_model: bool,
    /// A record says that all texts were embedded anew.
    embedded_anew: bool,
    /// A record says that texts without a vector were embedded.
    filled: bool,
    collapsed: BTreeSet<String>,
    spanless: BTreeSet<String>,
    re_encoded: u64,
    least: f32,
    other_model: u64,
    embedded_here: u64,
    gone: u64,
    spans: u64,
}

/// Whether a collection's vectors are of a model; those a user brought may be anybody's.
fn names_a_model(state: &IdentityState) -> bool {
    matches!(state, IdentityState::Known(known) if *known != given_identity(known.dimension))
}

impl Pardon {
    /// What the records and models of two collections explain.
    pub(super) fn of(mine: Option<&dyn Collection>, theirs: Option<&dyn Collection>) -> Result<Self> {
        let (Some(mine), Some(theirs)) = (mine, theirs) else {
            return Ok(Self::default());
        };
        let (one, other) = (mine.info()?.identity, theirs.info()?.identity);
        let mut pardon = Self {
            same_model: names_a_model(&one) && one == other,
            least: 1.0,
            ..Self::default()
        };
        if let Some(record) = list_migrations(mine)?.pop() {
            pardon.learn(&record);
        }
        Ok(pardon)
    }

    fn learn(&mut self, record: &Json) {
        let own = record.pointer("/collections/0");
        let own = own.unwrap_or(&Json::Null);
        let ids = |list: &str| -> BTreeSet<String> {
            let ids = own.pointer(&format!("/{list}/ids")).and_then(Json::as_array);
            let ids = ids.into_iter().flatten().filter_map(Json::as_str);
            ids.map(str::to_owned).collect()
        };
        self.embedded_anew = own.get("vectors").is_some_and(|vectors| vectors != "carried");
        self.filled = own.get("embedded").and_then(Json::as_u64).unwrap_or(0) > 0;
        self.collapsed = ids("collapsed");
        self.spanless = ids("span_left_out");
    }

    /// How many drawers a migration let give way to others.
    pub(super) fn collapsed(&self) -> u64 {
        self.collapsed.len() as u64
    }

    /// Whether a migration let this drawer give way to another.
    pub(super) fn gave_way(&mut self, id: &DrawerId) -> bool {
        let known = self.collapsed.contains(id.as_str());
        self.gone += u64::from(known);
        known
    }

    /// Whether the places of two drawers differ in nothing but a span that a migration left out.
    pub(super) fn lost_its_span(&mut self, one: &Drawer, other: &Drawer) -> bool {
        let mut place = other.place.clone();
        place.span = None;
        let known = self.spanless.contains(one.id.as_str()) && one.place == place;
        self.spans += u64::from(known);
        known
    }

    /// Whether the vectors of two drawers are one, or differ for a known reason.
    pub(super) fn vectors(&mut self, one: &Drawer, other: &Drawer) -> bool {
        match (one.embedding.as_deref(), other.embedding.as_deref()) {
            (None, None) => true,
            (Some(one), Some(other)) if same_bits(one, other) => true,
            (Some(one), Some(other)) if self.same_model || self.embedded_anew => self.is_near(one, other),
            (Some(_), None) if self.filled || self.embedded_anew => {
                self.embedded_here += 1;
                true
            }
            _ => false,
        }
    }

    fn is_near(&mut self, one: &[f32], other: &[f32]) -> bool {
        let near = if one.len() == other.len() {
            cosine(one, other)
        } else {
            f32::MIN
        };
        if near >= NEAR {
            self.re_encoded += 1;
            self.least = self.least.min(near);
            return true;
        }
        // Vectors of two models say nothing about each other.
        let other_model = !self.same_model;
        self.other_model += u64::from(other_model);
        other_model
    }

    /// What was pardoned, in words.
    pub(super) fn into_notes(self) -> Vec<Finding> {
        let least = self.least;
        [
            (
                "re_encoded",
                self.re_encoded,
                format!("vectors were encoded anew by the same model; the least cosine is {least:.6}"),
            ),
            (
                "other_model",
                self.other_model,
                "vectors are of another model and were not compared".to_owned(),
            ),
            (
                "embedded_here",
                self.embedded_here,
                "drawers got their vector when they were moved here".to_owned(),
            ),
            (
                "collapsed",
                self.gone,
                "drawers gave way to others of the same source and text when they were moved here".to_owned(),
            ),
            (
                "span_left_out",
                self.spans,
                "drawers were moved here without their span".to_owned(),
            ),
        ]
        .into_iter()
        .filter(|(_, count, _)| *count > 0)
        .map(|(code, count, words)| Finding::new(code, Severity::Note, format!("{count} {words}")))
        .collect()
    }
}
