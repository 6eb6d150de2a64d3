//! Drawers as scripts and people see them.

use loci_core::{Drawer, DrawerId, Finding, Hit, Metadata, Place, Span, Timestamp};
use serde::Serialize;

use crate::page::Page;

/// A drawer as scripts see it: what is not set is null, and a vector stands there only if it was asked for.
#[derive(Debug, Serialize)]
pub(crate) struct DrawerJson<'a> {
    id: &'a DrawerId,
    document: Option<&'a str>,
    metadata: Option<&'a Metadata>,
    wing: Option<&'a str>,
    room: Option<&'a str>,
    source: Option<&'a str>,
    span: Option<Span>,
    speaker: Option<&'a str>,
    kind: Option<&'a str>,
    said_at: Option<Timestamp>,
    filed_at: Option<Timestamp>,
    uses: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    embedding: Option<Option<&'a [f32]>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    vector_from: Option<&'static str>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    damage: &'a [String],
}

impl<'a> DrawerJson<'a> {
    /// `drawer`, with its vector or null in its place if `embeddings` were asked for.
    pub(crate) fn of(drawer: &'a Drawer, embeddings: bool) -> Self {
        let place = &drawer.place;
        Self {
            id: &drawer.id,
            document: drawer.document.as_deref(),
            metadata: drawer.metadata.as_ref(),
            wing: place.wing.as_deref(),
            room: place.room.as_deref(),
            source: place.source.as_deref(),
            span: place.span,
            speaker: place.speaker.as_deref(),
            kind: place.kind.as_deref(),
            said_at: place.said_at,
            filed_at: drawer.filed_at,
            uses: drawer.uses,
            embedding: embeddings.then_some(drawer.embedding.as_deref()),
            vector_from: drawer.vector_from.0,
            damage: &drawer.damage,
        }
    }
}

/// A hit as scripts see it: the drawer and how well it was found.
#[derive(Debug, Serialize)]
pub(crate) struct HitJson<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    distance: Option<f32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<f32>,
    #[serde(flatten)]
    drawer: DrawerJson<'a>,
}

/// What the score of a hit says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measure {
    /// How far away it is.
    Distance,
    /// How well it matches.
    Score,
}

impl Measure {
    fn name(self) -> &'static str {
        match self {
            Self::Distance => "distance",
            Self::Score => "score",
        }
    }

    /// The measure in words. A score next to nothing, as in a palace of a few drawers, says nothing and is left out.
    fn told(self, value: f32) -> String {
        match self {
            Self::Score if value < 0.001 => String::new(),
            _ => format!("{} {value:.4}", self.name()),
        }
    }
}

/// Hits as scripts see them.
#[derive(Debug, Serialize)]
pub(crate) struct HitsJson<'a> {
    hits: Vec<HitJson<'a>>,
    warnings: &'a [Finding],
}

impl<'a> HitsJson<'a> {
    /// `hits`, measured by `measure`, and what a reader should know.
    pub(crate) fn of(hits: &'a [Hit], measure: Measure, warnings: &'a [Finding]) -> Self {
        let hit = |hit: &'a Hit| HitJson {
            distance: (measure == Measure::Distance).then_some(hit.score),
            score: (measure == Measure::Score).then_some(hit.score),
            drawer: DrawerJson::of(&hit.drawer, false),
        };
        Self {
            hits: hits.iter().map(hit).collect(),
            warnings,
        }
    }
}

/// Sets down a drawer with its whole text.
pub(crate) fn whole(drawer: &Drawer, page: &mut Page) {
    head(drawer, page);
    page.end();
    details(drawer, page);
    if let Some(document) = &drawer.document {
        page.block("    ", document);
    }
}

/// Sets down a drawer with the beginning of its text.
pub(crate) fn brief(drawer: &Drawer, page: &mut Page) {
    head(drawer, page);
    page.end();
    beginning(drawer, page);
}

/// Sets down a hit with the beginning of its text.
pub(crate) fn hit(hit: &Hit, measure: Measure, page: &mut Page) {
    head(&hit.drawer, page);
    page.plain("  ").dim(&measure.told(hit.score)).end();
    beginning(&hit.drawer, page);
}

fn head(drawer: &Drawer, page: &mut Page) {
    page.bold(drawer.id.as_str());
    let place = place(&drawer.place);
    if !place.is_empty() {
        page.plain("  ").plain(&place);
    }
    if let Some(time) = drawer.place.said_at.or(drawer.filed_at) {
        page.plain("  ").dim(&moment(time));
    }
}

/// `wing / room`, as far as they are set.
pub(crate) fn place(place: &Place) -> String {
    match (&place.wing, &place.room) {
        (Some(wing), Some(room)) => format!("{wing} / {room}"),
        (Some(wing), None) => wing.clone(),
        (None, Some(room)) => format!("- / {room}"),
        (None, None) => String::new(),
    }
}

/// A time to the minute, in UTC.
pub(crate) fn moment(time: Timestamp) -> String {
    let text = time.to_string();
    let to_the_minute: String = text.chars().take(16).collect();
    format!("{} UTC", to_the_minute.replace('T', " "))
}

fn details(drawer: &Drawer, page: &mut Page) {
    if let Some(source) = &drawer.place.source {
        page.plain("  ").dim("source ").plain(source);
        if let Some(span) = &drawer.place.span {
            page.plain(&format!(" lines {} to {}", span.line_start, span.line_end));
        }
        page.end();
    }
    for (name, value) in [("speaker ", &drawer.place.speaker), ("kind ", &drawer.place.kind)] {
        if let Some(value) = value {
            page.plain("  ").dim(name).plain(value).end();
        }
    }
    if let Some(metadata) = drawer.metadata.as_ref().filter(|metadata| !metadata.is_empty()) {
        let json = serde_json::to_string(metadata).unwrap_or_default();
        page.plain("  ").dim("metadata ").plain(&json).end();
    }
    if let Some(vector) = &drawer.embedding {
        let json = serde_json::to_string(vector).unwrap_or_default();
        page.plain("  ").dim("embedding ").plain(&json).end();
    }
    if let Some(place) = drawer.vector_from.0 {
        page.plain("  ").dim("vector from ").plain(place).end();
    }
}

/// How much of a text is shown where it is only listed, in characters.
const SHOWN: usize = 160;

fn beginning(drawer: &Drawer, page: &mut Page) {
    let Some(document) = &drawer.document else { return };
    let (shown, more) = shorten(document);
    page.plain("    ").plain(&shown);
    if more > 0 {
        page.dim(&format!(" … {more} more characters"));
    }
    page.end();
}

/// The beginning of a text on one line, and how many characters it leaves out.
fn shorten(text: &str) -> (String, usize) {
    let shown: String = text
        .chars()
        .take(SHOWN)
        .map(|c| if c == '\n' { ' ' } else { c })
        .collect();
    (shown, text.chars().count().saturating_sub(SHOWN))
}

/// So many drawers, in words.
pub(crate) fn drawers(number: u64) -> String {
    crate::page::counted(number, "drawer")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawer() -> Drawer {
        Drawer {
            document: Some("one\ntwo \u{202e}".into()),
            metadata: Some(Metadata::new().with("n", 3_i64)),
            place: Place {
                wing: Some("work".into()),
                room: Some("plans".into()),
                ..Place::default()
            },
            filed_at: Some("2026-05-01T09:30:12.5Z".parse().unwrap()),
            ..Drawer::bare(DrawerId::new("a\nb").unwrap())
        }
    }

    #[test]
    fn a_drawer_in_json_has_every_field_and_null_where_nothing_is_set() {
        let drawer = drawer();
        let json = serde_json::to_value(DrawerJson::of(&drawer, false)).unwrap();
        for key in [
            "id", "document", "metadata", "wing", "room", "source", "span", "speaker", "kind", "said_at",
            "filed_at",
        ] {
            assert!(json.get(key).is_some(), "{key}");
        }
        assert!(json["source"].is_null() && json.get("embedding").is_none() && json.get("damage").is_none());
        let json = serde_json::to_value(DrawerJson::of(&drawer, true)).unwrap();
        assert!(json["embedding"].is_null() && json.get("embedding").is_some());
    }

    #[test]
    fn a_drawer_in_words_is_compact_and_escaped() {
        let mut page = Page::new(false);
        brief(&drawer(), &mut page);
        whole(&drawer(), &mut page);
        assert_eq!(
            page.as_str(),
            "a\\nb  work / plans  2026-05-01 09:30 UTC\n    one two \\u{202e}\n\
             a\\nb  work / plans  2026-05-01 09:30 UTC\n  metadata {\"n\":3}\n    one\n    two \\u{202e}\n"
        );
    }

    #[test]
    fn a_text_that_is_cut_says_so() {
        let (shown, more) = shorten(&"抽".repeat(200));
        assert_eq!((shown.chars().count(), more), (160, 40));
        assert_eq!(shorten("short"), ("short".to_owned(), 0));
    }
}
