//! A hit as every interface shows it.

use loci_core::{Drawer, DrawerId, SourceSpan, Timestamp};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::DrawerView;
use crate::search::{HitEvidence, NearTwin, SearchHit};

/// A drawer that was found, with its score and the evidence for it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HitView {
    /// The drawer.
    #[serde(flatten)]
    pub drawer: DrawerView,
    /// The probability that it holds an answer, from 0 to 1. If one retriever ranked alone, its own score; larger is
    /// better.
    #[serde(serialize_with = "write_digits")]
    pub score: f32,
    /// The distance of its vector, if only vectors were compared; smaller is nearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f32>,
    /// The evidence for it; agents do not get it.
    #[serde(skip_serializing_if = "is_empty_evidence")]
    pub why: HitEvidence,
    /// Other drawers with nearly the same text; agents do not get them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also_in: Option<Vec<NearTwinView>>,
    /// The drawers before it in its source, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<DrawerView>,
    /// The drawers after it in its source, if requested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<DrawerView>,
}

impl From<SearchHit> for HitView {
    fn from(hit: SearchHit) -> Self {
        let views = |drawers: Vec<Drawer>| drawers.into_iter().map(DrawerView::from).collect();
        Self {
            drawer: hit.drawer.into(),
            score: hit.score,
            distance: None,
            why: hit.why,
            also_in: Some(hit.also_in.into_iter().map(NearTwinView::from).collect()),
            before: views(hit.around.before),
            after: views(hit.around.after),
        }
    }
}

impl HitView {
    /// Returns the view for an agent: the drawer's view for agents, and a score rounded to three digits.
    #[must_use]
    pub fn for_agent(self) -> Self {
        Self {
            drawer: self.drawer.for_agent(),
            // Further digits mean nothing in a ranking, and agents pay for each.
            score: (self.score * 1000.0).round() / 1000.0,
            distance: None,
            why: HitEvidence::default(),
            also_in: None,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// Returns the same hit with only this part of its text.
    #[must_use]
    pub fn with_excerpt(&self, part: &str) -> Self {
        Self {
            drawer: self.drawer.with_excerpt(part),
            score: self.score,
            distance: self.distance,
            why: self.why.clone(),
            also_in: self.also_in.clone(),
            before: self.before.clone(),
            after: self.after.clone(),
        }
    }
}

fn is_empty_evidence(why: &HitEvidence) -> bool {
    *why == HitEvidence::default()
}

/// Writes a number with the digits of a 32-bit float.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn write_digits<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    // Widened to a double directly, 0.1 would show as 0.10000000149011612; its shortest decimal form avoids that.
    let digits = number.to_string().parse().unwrap_or(f64::from(*number));
    serializer.serialize_f64(digits)
}

/// A drawer with nearly the same text as a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NearTwinView {
    /// Its id.
    pub id: DrawerId,
    /// Its wing.
    pub wing: Option<String>,
    /// Its room.
    pub room: Option<String>,
    /// Its source.
    pub source: Option<String>,
    /// Its bytes and lines in the source.
    pub span: Option<SourceSpan>,
    /// The time it was said, in UTC.
    pub said_at: Option<Timestamp>,
}

impl From<NearTwin> for NearTwinView {
    fn from(twin: NearTwin) -> Self {
        let NearTwin {
            id,
            wing,
            room,
            source,
            span,
            said_at,
        } = twin;
        Self {
            id,
            wing,
            room,
            source,
            span,
            said_at,
        }
    }
}
