//! MemPalace's result keys, and where their values stand in our views.

use std::path::Path;

use loci_engine::pieces::PieceGroup;
use loci_engine::view::{DrawerView, HitView, find_flags};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// The name of wings and rooms of hits that have none.
const NAMELESS: &str = "unknown";

/// MemPalace's key, and a pointer into the view. A key that ends with `?` is left out where the view has no value.
pub(super) type Keys = &'static [(&'static str, &'static str)];

#[rustfmt::skip]
pub(super) const FILTERS: Keys = &[
    ("wing", "/wing"), ("room", "/room"), ("source_file", "/source"), ("since", "/since"), ("before", "/before"),
];
#[rustfmt::skip]
const HIT: Keys = &[
    ("drawer_id", "/id"), ("wing", "/wing"), ("room", "/room"), ("source_file", "/file_name"),
    ("source_path", "/source"), ("created_at", "/filed_at"), ("filed_at", "/filed_at"), ("authored_at", "/said_at"),
    ("similarity", "/similarity"), ("distance", "/distance"), ("effective_distance", "/distance"),
    ("trust", "/trust"), ("flags?", "/flags"),
];
#[rustfmt::skip]
const TWIN: Keys = &[("drawer_id", "/id"), ("wing", "/wing"), ("room", "/room"), ("source_file", "/file_name")];
#[rustfmt::skip]
const MATCH: Keys = &[("id", "/id"), ("wing", "/wing"), ("room", "/room"), ("similarity", "/similarity")];
#[rustfmt::skip]
const DRAWER: Keys = &[("wing", "/wing"), ("room", "/room"), ("trust", "/trust"), ("flags?", "/flags")];
const LISTED: Keys = &[("drawer_id", "/id"), ("wing", "/wing"), ("room", "/room")];
/// What is known of a drawer beside its stored metadata.
#[rustfmt::skip]
const METADATA: Keys = &[
    ("wing?", "/wing"), ("room?", "/room"), ("source_file?", "/source"), ("speaker?", "/speaker"), ("kind?", "/kind"),
    ("authored_at?", "/said_at"), ("filed_at?", "/filed_at"), ("line_start?", "/span/line_start"),
    ("line_end?", "/span/line_end"),
];

/// A view under MemPalace's keys; a wing or room without a name gets `nameless`, where one is given.
pub(super) fn rename(view: &Json, keys: Keys, nameless: Option<&str>) -> Map<String, Json> {
    let mut renamed = Map::new();
    for (theirs, ours) in keys {
        let found = view.pointer(ours).filter(|value| !value.is_null()).cloned();
        let filler = nameless.filter(|_| ["wing", "room"].contains(theirs));
        match (theirs.strip_suffix('?'), found.or(filler.map(Json::from))) {
            (Some(_), None) => {}
            (key, value) => {
                let key = key.unwrap_or(theirs).to_owned();
                renamed.insert(key, value.unwrap_or_default());
            }
        }
    }
    renamed
}

/// A view as JSON, with the last name of its source's path.
fn viewed(view: &impl Serialize) -> Json {
    let mut view = serde_json::to_value(view).unwrap_or_default();
    let source = view.get("source").and_then(Json::as_str).map(str::to_owned);
    if let (Some(view), Some(source)) = (view.as_object_mut(), source) {
        let last = Path::new(&source).file_name().and_then(|name| name.to_str());
        view.insert("file_name".into(), last.unwrap_or(&source).into());
    }
    view
}

/// A hit without its text.
pub(super) fn hit(hit: &HitView) -> Map<String, Json> {
    let mut view = viewed(&HitView {
        drawer: hit.drawer.excerpt(""),
        ..hit.clone()
    });
    let (similarity, distance) = (similarity(hit), distance(hit));
    if let Some(view) = view.as_object_mut() {
        view.insert("similarity".into(), similarity.into());
        view.insert("distance".into(), distance.into());
    }
    insert_flags(&mut view, hit.drawer.whole_text());
    let mut renamed = rename(&view, HIT, Some(NAMELESS));
    let by_words_alone = hit.why.nearest.is_none() && hit.why.lexical.is_some();
    let via = if by_words_alone { "bm25_backend" } else { "drawer" };
    renamed.insert("matched_via".into(), via.into());
    let score = hit.why.lexical.map_or(0.0, |standing| rounded(standing.score));
    renamed.insert("bm25_score".into(), score.into());
    // There are no closets here.
    renamed.insert("closet_boost".into(), 0.0.into());
    if let Some(also_in) = hit.also_in.as_ref().filter(|twins| !twins.is_empty()) {
        let twins = also_in
            .iter()
            .map(|twin| rename(&viewed(twin), TWIN, Some(NAMELESS)));
        renamed.insert("also_in".into(), twins.collect());
    }
    renamed
}

/// The similarity of a hit's vector, if it was found by one.
fn similarity(hit: &HitView) -> Option<f64> {
    hit.why.nearest.map(|standing| rounded(standing.score))
}

/// The distance of a hit's vector, if it was found by one.
pub(super) fn distance(hit: &HitView) -> Option<f64> {
    similarity(hit).map(|similarity| ((1.0 - similarity) * 1000.0).round() / 1000.0)
}

/// A drawer that says nearly the same as a text.
pub(super) fn duplicate(hit: &HitView) -> Map<String, Json> {
    let mut view = viewed(&hit.drawer.excerpt(""));
    if let Some(view) = view.as_object_mut() {
        view.insert("similarity".into(), rounded(hit.score).into());
    }
    let mut renamed = rename(&view, MATCH, Some(NAMELESS));
    renamed.insert("content".into(), preview(hit.drawer.whole_text()).into());
    renamed
}

/// The drawer of an id, or what was cut into pieces under it, without its text; `None` if there is neither.
pub(super) fn drawer(group: &PieceGroup, text: &str) -> Option<Map<String, Json>> {
    let first = group.pieces.first()?;
    let mut view = viewed(&first.excerpt(""));
    insert_flags(&mut view, text);
    let mut renamed = rename(&view, DRAWER, Some(""));
    renamed.insert("drawer_id".into(), group.id.as_str().into());
    renamed.insert("metadata".into(), metadata(first).into());
    if first.id != group.id {
        let ids: Vec<&str> = group.pieces.iter().map(|piece| piece.id.as_str()).collect();
        renamed.insert("chunks".into(), ids.len().into());
        renamed.insert("chunk_ids".into(), ids.into());
    }
    Some(renamed)
}

/// A drawer in a list.
pub(super) fn listed(drawer: &DrawerView) -> Map<String, Json> {
    let mut renamed = rename(&viewed(&drawer.excerpt("")), LISTED, Some(""));
    renamed.insert("content_preview".into(), preview(drawer.whole_text()).into());
    renamed.insert("metadata".into(), metadata(drawer).into());
    renamed
}

/// What is known of a drawer: its metadata as it was stored, completed from where and when it is filed.
fn metadata(drawer: &DrawerView) -> Map<String, Json> {
    let mut known = rename(&viewed(&drawer.excerpt("")), METADATA, None);
    if let Ok(Json::Object(stored)) = serde_json::to_value(&drawer.metadata) {
        known.extend(stored);
    }
    known
}

fn insert_flags(view: &mut Json, text: &str) {
    let flags = find_flags(text);
    if let (Some(view), false) = (view.as_object_mut(), flags.is_empty()) {
        view.insert("flags".into(), json!(flags));
    }
}

/// How much of a text is shown beside others, in characters.
const PREVIEW: usize = 200;

/// The beginning of a text, as long as MemPalace shows it.
fn preview(text: &str) -> String {
    let mut shown: String = text.chars().take(PREVIEW).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

/// A score with as many digits as mean anything.
fn rounded(score: f32) -> f64 {
    (f64::from(score) * 1000.0).round() / 1000.0
}
