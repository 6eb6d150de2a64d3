//! MemPalace's tools that write: our operations, their results under its keys.

use std::path::{Path, PathBuf};

use loci_core::{DrawerId, Error, ErrorKind, Filter, Metadata, Result};
use loci_engine::delete::DeleteRequest;
use loci_engine::diary::DiaryEntryRequest;
use loci_engine::mine::project::tidy_name;
use loci_engine::note::{NoteReport, NoteRequest};
use loci_engine::pieces::PieceGroup;
use loci_engine::refile::MoveRequest;
use loci_engine::sync::{Removed, SyncReport};
use loci_engine::update::UpdateRequest;
use loci_engine::view::DrawerScope;
use serde_json::{Map, Value as Json, json};

use super::arguments::Given;
use super::fit::{FitItem, fit};
use super::reading::{find_group, find_matches, missing, say_missing};
use super::table::{ENTRY, ITEM};
use crate::mcp::tool::Call;
use crate::mcp::tools::mine;

/// The topic of an entry if none is given.
pub(super) const TOPIC: &str = "general";
/// How many texts one checkpoint may file.
const MOST_ITEMS: usize = 200;
/// How many of the places that a removal means are named.
const SAMPLE: usize = 5;
/// How many sources are named.
const NAMED: usize = 20;
/// MemPalace's ways of mining. Formats are recognised here, so that all do the same.
const MODES: [&str; 3] = ["projects", "convos", "extract"];

pub(super) fn add_drawer(given: &Given, call: &Call<'_>) -> Result<Json> {
    let added_by = given.text("added_by").unwrap_or_else(|| "mcp".to_owned());
    let report = file_text(given, &added_by, call)?;
    let mut value = json!({
        "success": true, "drawer_id": report.id, "chunks": 1,
        "wing": report.wing.unwrap_or_default(), "room": report.room.unwrap_or_default(),
    });
    if report.outcome == "kept" {
        insert(&mut value, "reason", "already_exists".into());
    }
    Ok(value)
}

fn file_text(given: &Given, added_by: &str, call: &Call<'_>) -> Result<NoteReport> {
    call.palace.note(&NoteRequest {
        text: given.required("text"),
        wing: Some(given.required("wing")),
        room: Some(given.required("room")),
        source: given.text("source"),
        speaker: call.client.clone(),
        by: call.client.clone(),
        metadata: Metadata::new().with("added_by", added_by),
        ..NoteRequest::default()
    })
}

fn insert(value: &mut Json, key: &str, field: Json) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), field);
    }
}

pub(super) fn checkpoint(given: &Given, call: &Call<'_>) -> Result<Json> {
    let items = given.objects("items", ITEM)?;
    let diary = given.object("diary", ENTRY)?;
    if items.len() > MOST_ITEMS || (items.is_empty() && diary.is_none()) {
        let message = format!("`items` must hold 1 to {MOST_ITEMS} texts, not {}", items.len());
        return Err(Error::invalid(message).hint("nothing was filed"));
    }
    let agent = diary.as_ref().map(|diary| diary.required("agent"));
    let added_by = given.text("added_by").or(agent);
    let added_by = added_by.as_deref().unwrap_or("checkpoint");
    let (mut added, mut duplicates, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        // What is filed stays filed, whatever becomes of the others.
        match keep_item(index, item, given.number("threshold"), added_by, call) {
            Ok((value, true)) => added.push(value),
            Ok((value, false)) => duplicates.push(value),
            Err(error) => errors.push(json!({ "index": index, "error": error.to_string() })),
        }
    }
    let mut value = json!({});
    if let Some(diary) = &diary {
        match write_entry(diary, diary.required("text"), call) {
            Ok(written) => insert(&mut value, "diary", written),
            Err(error) => errors.push(json!({ "error": error.to_string() })),
        }
    }
    insert(&mut value, "success", errors.is_empty().into());
    insert(&mut value, "added", added.into());
    insert(&mut value, "duplicates", duplicates.into());
    insert(&mut value, "errors", errors.into());
    Ok(value)
}

/// Files a text unless nearly the same is there, and says which.
fn keep_item(
    index: usize,
    item: &Given,
    least: Option<f64>,
    added_by: &str,
    call: &Call<'_>,
) -> Result<(Json, bool)> {
    let matches = match find_matches(&item.required("text"), least, call) {
        // Nothing is like it where there is no palace yet.
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        found => found?,
    };
    let known = |id: Json, wing: String, room: String| json!({ "index": index, "drawer_id": id, "wing": wing, "room": room });
    if let Some(first) = matches.first() {
        let id = first.get("id").cloned().unwrap_or_default();
        let mut value = known(id, item.required("wing"), item.required("room"));
        insert(&mut value, "matches", json!(matches));
        return Ok((value, false));
    }
    let filed = file_text(item, added_by, call)?;
    let value = known(
        json!(filed.id),
        filed.wing.unwrap_or_default(),
        filed.room.unwrap_or_default(),
    );
    Ok((value, true))
}

pub(super) fn diary_write(given: &Given, call: &Call<'_>) -> Result<Json> {
    let text = given.text("entry").or_else(|| given.text("text"));
    let text = text.ok_or_else(|| {
        Error::invalid("missing: entry").hint("nothing was written; call again with all required arguments")
    })?;
    write_entry(given, text, call)
}

fn write_entry(given: &Given, text: String, call: &Call<'_>) -> Result<Json> {
    let agent = parse_agent(&given.required("agent"))?;
    let own = format!("wing_{}", agent.replace(' ', "_"));
    let access = call.palace.access();
    // Where only some wings exist and this is none of them, the entry goes where our own tools put it.
    let own = Some(own).filter(|own| !access.is_restricted() || access.wings.contains(own));
    let topic = given.name("topic").unwrap_or_else(|| TOPIC.to_owned());
    let report = call.palace.write_diary(&DiaryEntryRequest {
        agent,
        text,
        topic: Some(topic.clone()),
        wing: given.name("wing").or(own),
        idempotency_key: None,
        by: call.client.clone(),
    })?;
    Ok(json!({
        "success": true, "entry_id": report.note.id, "agent": report.agent, "topic": topic,
        "timestamp": report.said_at.to_string(), "chunks": 1,
    }))
}

/// The name of an agent as MemPalace keeps it: in small letters, however it is written.
pub(super) fn parse_agent(given: &str) -> Result<String> {
    let name = tidy_name(given).ok_or_else(|| {
        Error::invalid(format!("{given:?} is not a valid agent name")).hint("nothing was changed")
    })?;
    Ok(name.to_lowercase())
}

fn piece_ids(group: &PieceGroup) -> Vec<DrawerId> {
    group.pieces.iter().map(|piece| piece.id.clone()).collect()
}

pub(super) fn update_drawer(given: &Given, call: &Call<'_>) -> Result<Json> {
    let mut ids = piece_ids(&find_group(given, call)?).into_iter();
    let (text, wing, room) = (given.text("text"), given.text("wing"), given.text("room"));
    let noop = text.is_none() && wing.is_none() && room.is_none();
    match ids.next() {
        Some(first) if text.is_some() => {
            // A new text is the first piece and the only one.
            call.palace.update(&UpdateRequest {
                text,
                wing,
                room,
                by: call.client.clone(),
                absorbs: ids.collect(),
                ..UpdateRequest::new(first)
            })?;
        }
        Some(first) if !noop => {
            call.palace.move_drawers(&MoveRequest {
                ids: std::iter::once(first).chain(ids).collect(),
                to_wing: wing,
                to_room: room,
                ..MoveRequest::default()
            })?;
        }
        _ => {}
    }
    let changed = find_group(given, call)?.pieces.into_iter().next();
    let (wing, room) = changed
        .map(|drawer| (drawer.wing, drawer.room))
        .unwrap_or_default();
    let mut value = json!({
        "success": true, "drawer_id": given.required("id"), "closets_deleted": 0,
        "wing": wing.unwrap_or_default(), "room": room.unwrap_or_default(),
    });
    if noop {
        insert(&mut value, "noop", true.into());
    }
    Ok(value)
}

/// Removes drawers and says which were there.
fn remove(ids: Vec<DrawerId>, call: &Call<'_>) -> Result<Vec<DrawerId>> {
    let mut gone = ids.clone();
    let report = call.palace.delete(&DeleteRequest {
        ids,
        ..DeleteRequest::default()
    })?;
    gone.retain(|id| report.deleted > 0 && !report.missing.contains(id));
    Ok(gone)
}

/// The drawers that went with one id. There are no closets here.
fn say_gone(ids: &[DrawerId]) -> Map<String, Json> {
    Map::from_iter([
        ("deleted_ids".into(), json!(ids)),
        ("chunks_deleted".into(), ids.len().into()),
        ("closets_deleted".into(), 0.into()),
    ])
}

pub(super) fn delete_drawer(given: &Given, call: &Call<'_>) -> Result<Json> {
    let group = find_group(given, call)?;
    let gone = remove(piece_ids(&group), call)?;
    if gone.is_empty() {
        return Err(missing(&group.id));
    }
    let mut value = say_gone(&gone);
    value.insert("success".into(), true.into());
    value.insert("drawer_id".into(), json!(group.id));
    Ok(value.into())
}

pub(super) fn delete_drawers(given: &Given, call: &Call<'_>) -> Result<Json> {
    let groups = call.palace.find_pieces(&given.ids()?)?;
    let meant: Vec<DrawerId> = groups.iter().flat_map(piece_ids).collect();
    let gone = if meant.is_empty() {
        Vec::new()
    } else {
        remove(meant, call)?
    };
    let mut deleted = 0;
    let items = groups.iter().map(|group| {
        let mut own = piece_ids(group);
        own.retain(|id| gone.contains(id));
        if own.is_empty() {
            return say_missing(&group.id);
        }
        deleted += 1;
        let mut value = say_gone(&own);
        value.insert("drawer_id".into(), json!(group.id));
        FitItem { value, text: None }
    });
    let items: Vec<FitItem> = items.collect();
    let (results, note) = fit(&items)?;
    let mut value = json!({
        "success": deleted == items.len(), "count": results.len(), "results": results,
        "deleted": deleted, "errors": items.len() - deleted,
    });
    for (key, field) in note {
        insert(&mut value, &key, field);
    }
    Ok(value)
}

pub(super) fn delete_by_source(given: &Given, call: &Call<'_>) -> Result<Json> {
    let source = given
        .name("source")
        .ok_or_else(|| Error::invalid("`source_file` is empty").hint("nothing was removed"))?;
    // Exactly this source, not every one whose path ends with it.
    let scope = DrawerScope::from(Filter::text("source", source.as_str()));
    if given.flag("dry_run") == Some(false) {
        let report = call.palace.delete(&DeleteRequest {
            scope,
            ..DeleteRequest::default()
        })?;
        return Ok(json!({
            "success": true, "dry_run": false, "source_file": source, "deleted": report.deleted,
            "closets_deleted": 0,
        }));
    }
    let wings = call.palace.wings(&scope)?.wings;
    let count: u64 = wings.iter().map(|wing| wing.drawers).sum();
    let places = wings.iter().flat_map(|wing| {
        let room = |room: &Option<String>| {
            json!({ "wing": wing.wing.clone().unwrap_or_default(), "room": room.clone().unwrap_or_default() })
        };
        wing.rooms.iter().map(|one| room(&one.room)).collect::<Vec<_>>()
    });
    let hint = if count == 0 {
        "no drawer has this source_file".to_owned()
    } else {
        format!("nothing was removed; call again with dry_run false to remove these {count}")
    };
    Ok(json!({
        "success": true, "dry_run": true, "source_file": source, "match_count": count, "closet_match_count": 0,
        "sample": places.take(SAMPLE).collect::<Vec<_>>(), "hint": hint,
    }))
}

pub(super) fn mine(given: &Given, call: &Call<'_>) -> Result<Json> {
    let mode = given.text("mode").unwrap_or_else(|| "projects".to_owned());
    if !MODES.contains(&mode.as_str()) {
        let message = format!("`mode` must be one of {}, not {mode:?}", MODES.join(", "));
        return Err(Error::invalid(message).hint("nothing was mined; leave it out"));
    }
    if given.count("limit").is_some_and(|limit| limit > 0) {
        return Err(Error::invalid("`limit` can only be 0 here")
            .hint("nothing was mined; leave it out: a run that was stopped goes on where it was"));
    }
    let input = mine::Input {
        path: given.required("path"),
        wing: given.text("wing"),
        room: None,
        dry_run: given.flag("dry_run"),
    };
    let (report, seconds) = mine::run(&input, call)?;
    let failed = &report.sources_failed;
    let mut value = json!({
        "success": failed.is_empty(), "mode": mode, "dry_run": input.dry_run == Some(true),
        "output": mine::reply(&report, seconds).text, "drawers_added": report.drawers_added,
    });
    if !failed.is_empty() {
        let named: Vec<&str> = failed.iter().take(NAMED).map(|one| one.source.as_str()).collect();
        insert(
            &mut value,
            "error",
            format!("{} files could not be mined", failed.len()).into(),
        );
        insert(&mut value, "files_failed", failed.len().into());
        insert(&mut value, "failed_files", named.into());
    }
    Ok(value)
}

pub(super) fn sync_sources(given: &Given, call: &Call<'_>) -> Result<Json> {
    let apply = given.flag("apply") == Some(true);
    if given.text("wing").is_some() {
        return Err(
            Error::new(ErrorKind::Unsupported, "a sync of one wing is not offered")
                .hint("nothing was removed; give project_dir instead"),
        );
    }
    let folder = given
        .text("path")
        .map(|folder| parse_folder(&folder))
        .transpose()?;
    if apply && folder.is_none() {
        return Err(Error::invalid("to apply, `project_dir` must be given").hint("nothing was removed"));
    }
    let paths: Vec<PathBuf> = folder.into_iter().collect();
    let report = call.palace.sync(&paths)?;
    let removed = if apply && !report.vanished.is_empty() {
        let count = report.vanished.len() as u64;
        call.palace.remove_vanished(&report, count)?
    } else {
        Removed::default()
    };
    Ok(say_synced(&report, apply, removed))
}

fn say_synced(report: &SyncReport, apply: bool, removed: Removed) -> Json {
    let gone = &report.vanished;
    let away = gone.len() + report.unresolved.len();
    let named: Vec<&str> = gone.iter().take(NAMED).map(|one| one.source.as_str()).collect();
    let mut value = json!({
        "success": true, "dry_run": !apply, "scanned": report.checked,
        "kept": report.checked.saturating_sub(away as u64), "missing": gone.len(),
        "unresolved": report.unresolved.len(),
        "missing_drawers": gone.iter().map(|one| one.drawers).sum::<u64>(), "missing_sources": named,
        "removed_sources": removed.sources, "removed_drawers": removed.drawers,
    });
    let again = "nothing was removed; call again with project_dir and apply true to remove what is missing";
    if let Some(why) = &report.refused {
        insert(&mut value, "hint", why.clone().into());
    } else if !apply && !gone.is_empty() {
        insert(&mut value, "hint", again.into());
    }
    value
}

/// A folder that may be gone itself.
fn parse_folder(folder: &str) -> Result<PathBuf> {
    let path = Path::new(folder);
    if !path.is_absolute() {
        return Err(Error::invalid(format!("{folder:?} is not an absolute path"))
            .hint("nothing was removed; give the whole path, beginning with /"));
    }
    Ok(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}
