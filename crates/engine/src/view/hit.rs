//! A hit as every door shows it.

use loci_core::{Drawer, DrawerId, Span, Timestamp};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use super::DrawerView;
use crate::search::{AlsoIn, Found, Why};

/// A drawer that was found, how well, and why.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HitView {
    /// The drawer.
    #[serde(flatten)]
    pub drawer: DrawerView,
    /// How good it is among the hits of this search; larger is better.
    #[serde(serialize_with = "write_digits")]
    pub score: f32,
    /// The distance of its vector, where only vectors were compared; smaller is nearer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<f32>,
    /// The evidence for it; agents do not get it.
    #[serde(skip_serializing_if = "says_nothing")]
    pub why: Why,
    /// Other places of nearly the same words; agents do not get them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub also_in: Option<Vec<NearTwinView>>,
    /// The drawers before it in its source, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<DrawerView>,
    /// The drawers after it in its source, if asked for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<DrawerView>,
}

impl From<Found> for HitView {
    fn from(hit: Found) -> Self {
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
    /// The same hit for an agent: its drawer as agents see it, and a score with as many digits as mean anything.
    #[must_use]
    pub fn for_agent(self) -> Self {
        Self {
            drawer: self.drawer.for_agent(),
            score: (self.score * 1000.0).round() / 1000.0,
            distance: None,
            why: Why::default(),
            also_in: None,
            before: Vec::new(),
            after: Vec::new(),
        }
    }

    /// The same hit with only this part of its text.
    #[must_use]
    pub fn excerpt(&self, part: &str) -> Self {
        Self {
            drawer: self.drawer.excerpt(part),
            score: self.score,
            distance: self.distance,
            why: self.why.clone(),
            also_in: self.also_in.clone(),
            before: self.before.clone(),
            after: self.after.clone(),
        }
    }
}

fn says_nothing(why: &Why) -> bool {
    *why == Why::default()
}

/// Writes a number with the digits it was computed with; as a double it would show more, which mean nothing.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn write_digits<S: Serializer>(number: &f32, serializer: S) -> Result<S::Ok, S::Error> {
    let digits = number.to_string().parse().unwrap_or(f64::from(*number));
    serializer.serialize_f64(digits)
}

/// A drawer of nearly the same words as a hit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NearTwinView {
    /// Its id.
    #[schemars(with = "String")]
    pub id: DrawerId,
    /// Its wing.
    pub wing: Option<String>,
    /// Its room.
    pub room: Option<String>,
    /// Its source.
    pub source: Option<String>,
    /// The bytes and lines of its source that it is.
    #[schemars(with = "Option<std::collections::BTreeMap<String, u64>>")]
    pub span: Option<Span>,
    /// When it was said, in UTC.
    #[schemars(with = "Option<String>")]
    pub said_at: Option<Timestamp>,
}

impl From<AlsoIn> for NearTwinView {
    fn from(twin: AlsoIn) -> Self {
        let AlsoIn {
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
