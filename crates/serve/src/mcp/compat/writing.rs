//! MemPalace's tools that write: our operations, their results under its keys.

use std::path::{Path, PathBuf};

use loci_core::{DrawerId, Error, ErrorKind, Filter, Metadata, Result};
use loci_engine::delete::DeleteRequest;
use loci_engine::diary::DiaryEntryRequest;
use loci_engine::mine::project::tidy_name;
use loci_engine::note::{NoteReport, NoteRequest};
use loci_engine::pieces::PieceGroup;
use loci_engine::refile::MoveRequest;
use loci_engine::sync::{RemovedCounts, SyncReport};
use loci_engine::update::UpdateRequest;
use loci_engine::view::DrawerScope;
use serde_json::{Map, Value as Json, json};

use super::arguments::CompatArguments;
use super::fit::{FitItem, fit_items};
use super::reading::{find_group, find_matches, missing_drawer_error, missing_item};
use super::table::{ENTRY, ITEM};
use crate::mcp::tool::CallContext;
use crate::mcp::tools::mine;

/// The topic of a diary entry if none is given.
pub(super) const DEFAULT_TOPIC: &str = "general";
/// The most texts in one checkpoint.
const MOST_ITEMS: usize = 200;
/// The most places that a dry run of a removal names.
const SAMPLE: usize = 5;
/// The most sources that a result names.
const MOST_NAMED_SOURCES: usize = 20;
/// MemPalace's modes of mining. Loci recognises formats by itself, so all modes do the same.
const MODES: [&str; 3] = ["projects", "convos", "extract"];

pub(super) fn add_drawer(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let added_by = given.text("added_by").unwrap_or_else(|| "mcp".to_owned());
    let report = file_text(given, &added_by, call)?;
    let mut value = json!({
        "success": true, "drawer_id": report.id, "chunks": 1,
        "wing": report.wing.unwrap_or_default(), "room": report.room.unwrap_or_default(),
    });
    if report.outcome == "kept" {
        insert_field(&mut value, "reason", "already_exists".into());
    }
    Ok(value)
}

fn file_text(given: &CompatArguments, added_by: &str, call: &CallContext<'_>) -> Result<NoteReport> {
    call.palace.file_note(&NoteRequest {
        text: given.required_text("text"),
        wing: Some(given.required_text("wing")),
        room: Some(given.required_text("room")),
        source: given.text("source"),
        speaker: call.client.clone(),
        by: call.client.clone(),
        metadata: Metadata::new().with_entry("added_by", added_by),
        ..NoteRequest::default()
    })
}

fn insert_field(value: &mut Json, key: &str, field: Json) {
    if let Some(fields) = value.as_object_mut() {
        fields.insert(key.to_owned(), field);
    }
}

pub(super) fn checkpoint(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let items = given.objects("items", ITEM)?;
    let diary = given.object("diary", ENTRY)?;
    if items.len() > MOST_ITEMS || (items.is_empty() && diary.is_none()) {
        let message = format!("`items` must hold 1 to {MOST_ITEMS} texts, not {}", items.len());
        return Err(Error::invalid(message).with_hint("nothing was filed"));
    }
    let agent = diary.as_ref().map(|diary| diary.required_text("agent"));
    let added_by = given.text("added_by").or(agent);
    let added_by = added_by.as_deref().unwrap_or("checkpoint");
    let (mut added, mut duplicates, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    for (index, item) in items.iter().enumerate() {
        // One item that fails must not undo or stop the others: an agent saves its session here and may be
        // about to end.
        match keep_item(index, item, given.number("threshold"), added_by, call) {
            Ok((value, true)) => added.push(value),
            Ok((value, false)) => duplicates.push(value),
            Err(error) => errors.push(json!({ "index": index, "error": error.to_string() })),
        }
    }
    let mut value = json!({});
    if let Some(diary) = &diary {
        match write_entry(diary, diary.required_text("text"), call) {
            Ok(written) => insert_field(&mut value, "diary", written),
            Err(error) => errors.push(json!({ "error": error.to_string() })),
        }
    }
    insert_field(&mut value, "success", errors.is_empty().into());
    insert_field(&mut value, "added", added.into());
    insert_field(&mut value, "duplicates", duplicates.into());
    insert_field(&mut value, "errors", errors.into());
    Ok(value)
}

/// Files a text unless a nearly equal one exists. Returns whether it was filed.
fn keep_item(
    index: usize,
    item: &CompatArguments,
    least: Option<f64>,
    added_by: &str,
    call: &CallContext<'_>,
) -> Result<(Json, bool)> {
    let matches = match find_matches(&item.required_text("text"), least, call) {
        // Without a palace there is nothing to compare with; filing the text creates it.
        Err(error) if error.kind() == ErrorKind::NotFound => Vec::new(),
        found => found?,
    };
    let known = |id: Json, wing: String, room: String| json!({ "index": index, "drawer_id": id, "wing": wing, "room": room });
    if let Some(first) = matches.first() {
        let id = first.get("id").cloned().unwrap_or_default();
        let mut value = known(id, item.required_text("wing"), item.required_text("room"));
        insert_field(&mut value, "matches", json!(matches));
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

pub(super) fn diary_write(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let text = given.text("entry").or_else(|| given.text("text"));
    let text = text.ok_or_else(|| {
        Error::invalid("missing: entry")
            .with_hint("nothing was written; call again with all required arguments")
    })?;
    write_entry(given, text, call)
}

fn write_entry(given: &CompatArguments, text: String, call: &CallContext<'_>) -> Result<Json> {
    let agent = parse_agent(&given.required_text("agent"))?;
    // MemPalace's default wing of an agent, so that entries of before and after a move are in one place.
    let own = format!("wing_{}", agent.replace(' ', "_"));
    let access = call.palace.access();
    // A caller restricted to other wings cannot write there; its entry goes where our own tool would put it.
    let own = Some(own).filter(|own| access.writes.reaches_wing(Some(own)));
    let topic = given.name("topic").unwrap_or_else(|| DEFAULT_TOPIC.to_owned());
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

/// Parses the name of an agent. MemPalace stores it in lower case.
pub(super) fn parse_agent(given: &str) -> Result<String> {
    let name = tidy_name(given).ok_or_else(|| {
        Error::invalid(format!("{given:?} is not a valid agent name")).with_hint("nothing was changed")
    })?;
    Ok(name.to_lowercase())
}

fn piece_ids(group: &PieceGroup) -> Vec<DrawerId> {
    group.pieces.iter().map(|piece| piece.id.clone()).collect()
}

pub(super) fn update_drawer(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let mut ids = piece_ids(&find_group(given, call)?).into_iter();
    let (text, wing, room) = (given.text("text"), given.text("wing"), given.text("room"));
    let noop = text.is_none() && wing.is_none() && room.is_none();
    match ids.next() {
        Some(first) if text.is_some() => {
            // The new text replaces the first piece, and the others go in the same write: no reader sees a
            // mixture.
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
    // Read again, because the palace may spell a wing differently from the argument.
    let changed = find_group(given, call)?.pieces.into_iter().next();
    let (wing, room) = changed
        .map(|drawer| (drawer.wing, drawer.room))
        .unwrap_or_default();
    let mut value = json!({
        "success": true, "drawer_id": given.required_text("id"), "closets_deleted": 0,
        "wing": wing.unwrap_or_default(), "room": room.unwrap_or_default(),
    });
    if noop {
        insert_field(&mut value, "noop", true.into());
    }
    Ok(value)
}

/// Removes drawers and returns those that existed.
fn remove_drawers(ids: Vec<DrawerId>, call: &CallContext<'_>) -> Result<Vec<DrawerId>> {
    let mut gone = ids.clone();
    let report = call.palace.delete(&DeleteRequest {
        ids,
        ..DeleteRequest::default()
    })?;
    gone.retain(|id| report.deleted > 0 && !report.missing.contains(id));
    Ok(gone)
}

/// Returns the fields that list the drawers removed under one id. Loci has no closets.
fn deleted_fields(ids: &[DrawerId]) -> Map<String, Json> {
    Map::from_iter([
        ("deleted_ids".into(), json!(ids)),
        ("chunks_deleted".into(), ids.len().into()),
        ("closets_deleted".into(), 0.into()),
    ])
}

pub(super) fn delete_drawer(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let group = find_group(given, call)?;
    let gone = remove_drawers(piece_ids(&group), call)?;
    if gone.is_empty() {
        return Err(missing_drawer_error(&group.id));
    }
    let mut value = deleted_fields(&gone);
    value.insert("success".into(), true.into());
    value.insert("drawer_id".into(), json!(group.id));
    Ok(value.into())
}

pub(super) fn delete_drawers(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let groups = call.palace.find_pieces(&given.ids()?)?;
    let meant: Vec<DrawerId> = groups.iter().flat_map(piece_ids).collect();
    // One write for all ids: either every drawer that exists goes, or none.
    let gone = if meant.is_empty() {
        Vec::new()
    } else {
        remove_drawers(meant, call)?
    };
    let mut deleted = 0;
    let items = groups.iter().map(|group| {
        let mut own = piece_ids(group);
        own.retain(|id| gone.contains(id));
        if own.is_empty() {
            return missing_item(&group.id);
        }
        deleted += 1;
        let mut value = deleted_fields(&own);
        value.insert("drawer_id".into(), json!(group.id));
        FitItem { value, text: None }
    });
    let items: Vec<FitItem> = items.collect();
    let (results, note) = fit_items(&items)?;
    let mut value = json!({
        "success": deleted == items.len(), "count": results.len(), "results": results,
        "deleted": deleted, "errors": items.len() - deleted,
    });
    for (key, field) in note {
        insert_field(&mut value, &key, field);
    }
    Ok(value)
}

pub(super) fn delete_by_source(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let source = given
        .name("source")
        .ok_or_else(|| Error::invalid("`source_file` is empty").with_hint("nothing was removed"))?;
    // Exactly this source: a scope would also match every path that ends with it, too much for a removal.
    let scope = DrawerScope::from(Filter::text_equals("source", source.as_str()));
    // MemPalace's default is a dry run; only an explicit false removes.
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
    let wings = call.palace.list_wings(&scope)?.wings;
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

pub(super) fn mine(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let mode = given.text("mode").unwrap_or_else(|| "projects".to_owned());
    if !MODES.contains(&mode.as_str()) {
        let message = format!("`mode` must be one of {}, not {mode:?}", MODES.join(", "));
        return Err(Error::invalid(message).with_hint("nothing was mined; leave it out"));
    }
    if given.count("limit").is_some_and(|limit| limit > 0) {
        return Err(Error::invalid("`limit` can only be 0 here")
            .with_hint("nothing was mined; leave it out: a stopped run continues where it was"));
    }
    let input = mine::MineInput {
        path: given.required_text("path"),
        wing: given.text("wing"),
        room: None,
        dry_run: given.flag("dry_run"),
    };
    let (report, seconds) = mine::run_mine(&input, call)?;
    let failed = &report.sources_failed;
    let mut value = json!({
        "success": failed.is_empty(), "mode": mode, "dry_run": input.dry_run == Some(true),
        "output": mine::build_reply(&report, seconds).text, "drawers_added": report.drawers_added,
    });
    if !failed.is_empty() {
        let named: Vec<&str> = failed
            .iter()
            .take(MOST_NAMED_SOURCES)
            .map(|one| one.source.as_str())
            .collect();
        insert_field(
            &mut value,
            "error",
            format!("{} files could not be mined", failed.len()).into(),
        );
        insert_field(&mut value, "files_failed", failed.len().into());
        insert_field(&mut value, "failed_files", named.into());
    }
    Ok(value)
}

pub(super) fn sync_sources(given: &CompatArguments, call: &CallContext<'_>) -> Result<Json> {
    let apply = given.flag("apply") == Some(true);
    if given.text("wing").is_some() {
        return Err(
            Error::new(ErrorKind::Unsupported, "syncing a single wing is not supported")
                .with_hint("nothing was removed; give project_dir instead"),
        );
    }
    let folder = given
        .text("path")
        .map(|folder| parse_folder(&folder))
        .transpose()?;
    // Without a folder every source would be checked, and an unmounted disk would look like a mass deletion.
    if apply && folder.is_none() {
        return Err(Error::invalid("to apply, `project_dir` must be given").with_hint("nothing was removed"));
    }
    let paths: Vec<PathBuf> = folder.into_iter().collect();
    let report = call.palace.check_sources(&paths)?;
    let removed = if apply && !report.vanished.is_empty() {
        // The count must match at removal, so that only what this report lists can go.
        let count = report.vanished.len() as u64;
        call.palace.remove_vanished(&report, count)?
    } else {
        RemovedCounts::default()
    };
    Ok(sync_result(&report, apply, removed))
}

fn sync_result(report: &SyncReport, apply: bool, removed: RemovedCounts) -> Json {
    let gone = &report.vanished;
    let away = gone.len() + report.unresolved.len();
    let named: Vec<&str> = gone
        .iter()
        .take(MOST_NAMED_SOURCES)
        .map(|one| one.source.as_str())
        .collect();
    let mut value = json!({
        "success": true, "dry_run": !apply, "scanned": report.checked,
        "kept": report.checked.saturating_sub(away as u64), "missing": gone.len(),
        "unresolved": report.unresolved.len(),
        "missing_drawers": gone.iter().map(|one| one.drawers).sum::<u64>(), "missing_sources": named,
        "removed_sources": removed.sources, "removed_drawers": removed.drawers,
    });
    let again = "nothing was removed; call again with project_dir and apply true to remove what is missing";
    if let Some(why) = &report.refused {
        insert_field(&mut value, "hint", why.clone().into());
    } else if !apply && !gone.is_empty() {
        insert_field(&mut value, "hint", again.into());
    }
    value
}

/// Parses a folder, which may itself no longer exist.
fn parse_folder(folder: &str) -> Result<PathBuf> {
    let path = Path::new(folder);
    if !path.is_absolute() {
        return Err(Error::invalid(format!("{folder:?} is not an absolute path"))
            .with_hint("nothing was removed; give the whole path, beginning with /"));
    }
    Ok(path.canonicalize().unwrap_or_else(|_| path.to_owned()))
}
