//! MemPalace's result keys, mapped to fields of our views.

use std::path::Path;

use loci_engine::pieces::PieceGroup;
use loci_engine::view::{DrawerView, HitView, find_flags};
use serde::Serialize;
use serde_json::{Map, Value as Json, json};

/// The wing or room of a hit that has none, as MemPalace names it.
const NAMELESS: &str = "unknown";

/// MemPalace's key, and a JSON pointer into the view. A key that ends with `?` is omitted if the view has no
/// value.
pub(super) type ResultKeys = &'static [(&'static str, &'static str)];

#[rustfmt::skip]
pub(super) const FILTERS: ResultKeys = &[
    ("wing", "/wing"), ("room", "/room"), ("source_file", "/source"), ("since", "/since"), ("before", "/before"),
];
#[rustfmt::skip]
const HIT: ResultKeys = &[
    ("drawer_id", "/id"), ("wing", "/wing"), ("room", "/room"), ("source_file", "/file_name"),
    ("source_path", "/source"), ("created_at", "/filed_at"), ("filed_at", "/filed_at"), ("authored_at", "/said_at"),
    ("similarity", "/similarity"), ("distance", "/distance"), ("effective_distance", "/distance"),
    ("trust", "/trust"), ("flags?", "/flags"),
];
#[rustfmt::skip]
const TWIN: ResultKeys = &[("drawer_id", "/id"), ("wing", "/wing"), ("room", "/room"), ("source_file", "/file_name")];
#[rustfmt::skip]
const MATCH: ResultKeys = &[("id", "/id"), ("wing", "/wing"), ("room", "/room"), ("similarity", "/similarity")];
#[rustfmt::skip]
const DRAWER: ResultKeys = &[("wing", "/wing"), ("room", "/room"), ("trust", "/trust"), ("flags?", "/flags")];
const LISTED: ResultKeys = &[("drawer_id", "/id"), ("wing", "/wing"), ("room", "/room")];
/// Fields of a drawer that MemPalace lists as metadata.
#[rustfmt::skip]
const METADATA: ResultKeys = &[
    ("wing?", "/wing"), ("room?", "/room"), ("source_file?", "/source"), ("speaker?", "/speaker"), ("kind?", "/kind"),
    ("authored_at?", "/said_at"), ("filed_at?", "/filed_at"), ("line_start?", "/span/line_start"),
    ("line_end?", "/span/line_end"),
];

/// Renames the fields of a view to MemPalace's keys. A missing wing or room becomes `nameless`, if that is
/// given.
pub(super) fn rename_keys(view: &Json, keys: ResultKeys, nameless: Option<&str>) -> Map<String, Json> {
    let mut renamed = Map::new();
    for (theirs, ours) in keys {
        let found = view.pointer(ours).filter(|value| !value.is_null()).cloned();
        let filler = nameless.filter(|_| ["wing", "room"].contains(theirs));
        match (theirs.strip_suffix('?'), found.or(filler.map(Json::from))) {
            (Some(_), None) => {}
            // A key without `?` is always there, null if need be: prompts written for MemPalace index it
            // directly.
            (key, value) => {
                let key = key.unwrap_or(theirs).to_owned();
                renamed.insert(key, value.unwrap_or_default());
            }
        }
    }
    renamed
}

/// Converts a view to JSON and adds the file name of its source.
fn view_to_json(view: &impl Serialize) -> Json {
    let mut view = serde_json::to_value(view).unwrap_or_default();
    let source = view.get("source").and_then(Json::as_str).map(str::to_owned);
    if let (Some(view), Some(source)) = (view.as_object_mut(), source) {
        let last = Path::new(&source).file_name().and_then(|name| name.to_str());
        view.insert("file_name".into(), last.unwrap_or(&source).into());
    }
    view
}

/// Maps a hit, without its text.
pub(super) fn map_hit(hit: &HitView) -> Map<String, Json> {
    // The text is added by the caller, cut to the budget, so it is not serialised here.
    let mut view = view_to_json(&HitView {
        drawer: hit.drawer.with_excerpt(""),
        ..hit.clone()
    });
    let (similarity, distance) = (similarity(hit), distance(hit));
    if let Some(view) = view.as_object_mut() {
        view.insert("similarity".into(), similarity.into());
        view.insert("distance".into(), distance.into());
    }
    insert_flags(&mut view, hit.drawer.whole_text());
    let mut renamed = rename_keys(&view, HIT, Some(NAMELESS));
    // MemPalace's own names for the two ways a hit is found.
    let by_words_alone = hit.why.nearest.is_none() && hit.why.lexical.is_some();
    let via = if by_words_alone { "bm25_backend" } else { "drawer" };
    renamed.insert("matched_via".into(), via.into());
    let score = hit
        .why
        .lexical
        .map_or(0.0, |standing| round_score(standing.score));
    renamed.insert("bm25_score".into(), score.into());
    // Loci has no closets, and prompts may add this number to a score.
    renamed.insert("closet_boost".into(), 0.0.into());
    if let Some(also_in) = hit.also_in.as_ref().filter(|twins| !twins.is_empty()) {
        let twins = also_in
            .iter()
            .map(|twin| rename_keys(&view_to_json(twin), TWIN, Some(NAMELESS)));
        renamed.insert("also_in".into(), twins.collect());
    }
    renamed
}

/// Returns the similarity of a hit, if it was found by its vector.
fn similarity(hit: &HitView) -> Option<f64> {
    hit.why.nearest.map(|standing| round_score(standing.score))
}

/// Returns the distance of a hit, if it was found by its vector.
pub(super) fn distance(hit: &HitView) -> Option<f64> {
    similarity(hit).map(|similarity| ((1.0 - similarity) * 1000.0).round() / 1000.0)
}

/// Maps a drawer that is nearly equal to a text.
pub(super) fn map_duplicate(hit: &HitView) -> Map<String, Json> {
    let mut view = view_to_json(&hit.drawer.with_excerpt(""));
    if let Some(view) = view.as_object_mut() {
        view.insert("similarity".into(), round_score(hit.score).into());
    }
    let mut renamed = rename_keys(&view, MATCH, Some(NAMELESS));
    renamed.insert("content".into(), take_preview(hit.drawer.whole_text()).into());
    renamed
}

/// Maps the drawer with an id, or the pieces cut under it, without the text. `None` if there is neither.
pub(super) fn map_drawer(group: &PieceGroup, text: &str) -> Option<Map<String, Json>> {
    let first = group.pieces.first()?;
    let mut view = view_to_json(&first.with_excerpt(""));
    insert_flags(&mut view, text);
    let mut renamed = rename_keys(&view, DRAWER, Some(""));
    renamed.insert("drawer_id".into(), group.id.as_str().into());
    renamed.insert("metadata".into(), map_metadata(first).into());
    // Only a text that MemPalace had split has an id that is not a drawer's own.
    if first.id != group.id {
        let ids: Vec<&str> = group.pieces.iter().map(|piece| piece.id.as_str()).collect();
        renamed.insert("chunks".into(), ids.len().into());
        renamed.insert("chunk_ids".into(), ids.into());
    }
    Some(renamed)
}

/// Maps a drawer of a list.
pub(super) fn map_listed(drawer: &DrawerView) -> Map<String, Json> {
    let mut renamed = rename_keys(&view_to_json(&drawer.with_excerpt("")), LISTED, Some(""));
    renamed.insert("content_preview".into(), take_preview(drawer.whole_text()).into());
    renamed.insert("metadata".into(), map_metadata(drawer).into());
    renamed
}

/// Maps the metadata of a drawer: as stored, completed with its place and times.
fn map_metadata(drawer: &DrawerView) -> Map<String, Json> {
    let mut known = rename_keys(&view_to_json(&drawer.with_excerpt("")), METADATA, None);
    if let Ok(Json::Object(stored)) = serde_json::to_value(&drawer.metadata) {
        // Stored values win: a palace brought over from MemPalace must show what MemPalace showed.
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

/// The length of a preview, in characters.
const PREVIEW: usize = 200;

/// Returns the beginning of a text, as long as MemPalace's previews.
fn take_preview(text: &str) -> String {
    let mut shown: String = text.chars().take(PREVIEW).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    shown
}

/// Rounds a score to three digits, as MemPalace does.
fn round_score(score: f32) -> f64 {
    (f64::from(score) * 1000.0).round() / 1000.0
}
