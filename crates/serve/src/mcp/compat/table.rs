//! The table of MemPalace's tools, in its order, with each argument under its name and ours.

use loci_core::Result;
use serde_json::Value as Json;

use super::arguments::ArgumentForm::{Count, Flag, Number, Object, Objects, Text, Texts};
use super::arguments::{CompatArgument, CompatArguments};
use super::{reading, writing};
use crate::mcp::tool::{CallContext, ToolEffect};

/// A tool of MemPalace.
pub(super) struct CompatTool {
    /// The name that agents call.
    pub(super) name: &'static str,
    /// Its description for agents.
    pub(super) about: &'static str,
    /// Its effect on a palace.
    pub(super) effect: ToolEffect,
    /// Its arguments.
    pub(super) takes: &'static [CompatArgument],
    /// Our operation behind it, and its result under MemPalace's keys.
    pub(super) run: fn(&CompatArguments, &CallContext<'_>) -> Result<Json>,
}

/// Short names for the column of effects.
const READS: ToolEffect = ToolEffect::Reads;
const ADDS: ToolEffect = ToolEffect::Adds;
const OVERWRITES: ToolEffect = ToolEffect::Overwrites;
const REMOVES: ToolEffect = ToolEffect::Removes;

const fn compat_tool(
    name: &'static str,
    about: &'static str,
    effect: ToolEffect,
    takes: &'static [CompatArgument],
    run: fn(&CompatArguments, &CallContext<'_>) -> Result<Json>,
) -> CompatTool {
    CompatTool {
        name,
        about,
        effect,
        takes,
        run,
    }
}

const WING: CompatArgument = CompatArgument::text("wing");
const ROOM: CompatArgument = CompatArgument::text("room");
const SINCE: CompatArgument = CompatArgument::text("since");
const BEFORE: CompatArgument = CompatArgument::text("before");
const CONTENT: CompatArgument = CompatArgument::new("content", "text", Text);
const ID: CompatArgument = CompatArgument::new("drawer_id", "id", Text).required();
const IDS: CompatArgument = CompatArgument::new("drawer_ids", "ids", Texts)
    .described_as("At most 500")
    .required();
const SOURCE: CompatArgument = CompatArgument::new("source_file", "source", Text);
const OFFSET: CompatArgument = CompatArgument::new("offset", "offset", Count);
const LIMIT: CompatArgument = CompatArgument::new("limit", "limit", Count);
const DRY_RUN: CompatArgument = CompatArgument::new("dry_run", "dry_run", Flag);
const AGENT: CompatArgument = CompatArgument::new("agent_name", "agent", Text).required();

/// One text of a checkpoint, and its diary entry.
pub(super) const ITEM: &[CompatArgument] = &[WING.required(), ROOM.required(), CONTENT.required()];
pub(super) const ENTRY: &[CompatArgument] = &[
    AGENT,
    CompatArgument::new("entry", "text", Text).required(),
    CompatArgument::text("topic"),
    WING,
];

/// Every tool.
#[rustfmt::skip]
pub(super) const TOOLS: [CompatTool; 20] = [
    compat_tool("mempalace_status", "What the palace holds and how to use it. Call it first.",
        READS, &[], reading::status),
    compat_tool("mempalace_list_wings", "All wings with their number of drawers.",
        READS, &[], reading::list_wings),
    compat_tool("mempalace_list_rooms", "The rooms of a wing, or of all, with their number of drawers.",
        READS, &[WING], reading::list_rooms),
    compat_tool("mempalace_get_taxonomy", "Every wing, its rooms and their number of drawers.",
        READS, &[], reading::get_taxonomy),
    compat_tool("mempalace_search", "Search the palace by meaning and by words; returns verbatim texts.",
        READS, &[
            CompatArgument::text("query").required(), LIMIT.described_as("1 to 100 [5]"), WING, ROOM,
            SOURCE.described_as("Path, or its end"), SINCE.described_as("Said at or after, like 2026-05-01"), BEFORE,
            CompatArgument::new("max_distance", "max_distance", Number).described_as("0 = off [1.5]"),
            CompatArgument::text("context").described_as("Ignored"),
            // MemPalace accepts these. They change nothing: both retrievers always run, with one model and
            // without media.
            CompatArgument::text("candidate_strategy"), CompatArgument::new("cli_compatible", "cli_compatible", Flag),
            CompatArgument::new("include_media", "include_media", Flag), CompatArgument::text("query_task"),
        ], reading::search),
    compat_tool("mempalace_check_duplicate", "Check whether nearly the same text is filed; use before filing.",
        READS, &[CONTENT.required(), CompatArgument::new("threshold", "threshold", Number).described_as("0 to 1 [0.9]")],
        reading::check_duplicate),
    compat_tool("mempalace_add_drawer", "File a text verbatim in a wing and room; the same text there is filed once.",
        ADDS, &[
            WING.described_as("Project, person or agent").required(), ROOM.described_as("Topic").required(),
            CONTENT.described_as("Kept verbatim").required(), SOURCE, CompatArgument::text("added_by").described_as("[mcp]"),
        ], writing::add_drawer),
    compat_tool("mempalace_checkpoint", "Save a session in one call: texts that are not filed yet, and a diary entry.",
        ADDS, &[
            CompatArgument::new("items", "items", Objects(ITEM)).required(), CompatArgument::new("diary", "diary", Object(ENTRY)),
            CompatArgument::new("dedup_threshold", "threshold", Number).described_as("0 to 1 [0.9]"), CompatArgument::text("added_by"),
        ], writing::checkpoint),
    compat_tool("mempalace_get_drawer", "One drawer by id: whole text and metadata.",
        READS, &[ID, OFFSET.described_as("Byte to continue from: `next_offset` of a truncated reply")],
        reading::get_drawer),
    compat_tool("mempalace_get_drawers", "Several drawers by id; a missing one is an error beside the others.",
        READS, &[IDS], reading::get_drawers),
    compat_tool("mempalace_list_drawers",
        "Drawers of a wing, room or time, page by page, each with the beginning of its text.",
        READS, &[
            // These compare the time of filing, unlike those of mempalace_search.
            WING, ROOM, CompatArgument::new("since", "filed_since", Text).described_as("Filed at or after, like 2026-05-01"),
            CompatArgument::new("before", "filed_before", Text), LIMIT.described_as("1 to 100 [20]"), OFFSET,
        ], reading::list_drawers),
    compat_tool("mempalace_update_drawer", "Replace the text, wing or room of a drawer; omitted fields stay.",
        OVERWRITES, &[ID, CONTENT, WING, ROOM], writing::update_drawer),
    compat_tool("mempalace_delete_drawer", "Remove one drawer for good.",
        REMOVES, &[ID], writing::delete_drawer),
    compat_tool("mempalace_delete_drawers",
        "Remove several drawers for good; a missing one is an error beside the others.",
        REMOVES, &[IDS], writing::delete_drawers),
    compat_tool("mempalace_delete_by_source", "Remove every drawer of one source; counts only unless dry_run is false.",
        REMOVES, &[
            SOURCE.described_as("Exact path, as hits give it in source_path").required(), DRY_RUN.described_as("[true]"),
        ], writing::delete_by_source),
    compat_tool("mempalace_mine", "Read a file, folder or transcript into drawers; a rerun files only what is new.",
        ADDS, &[
            CompatArgument::new("source", "path", Text).described_as("Absolute path: file or folder").required(),
            CompatArgument::text("mode").described_as("projects, convos or extract; formats are recognised anyway"),
            WING, DRY_RUN, LIMIT.described_as("Only 0: all files"),
            // MemPalace accepts these. They change nothing: every message of every file is kept.
            CompatArgument::text("agent").described_as("Ignored"), CompatArgument::text("extract"),
            CompatArgument::new("include_subagents", "include_subagents", Flag),
        ], writing::mine),
    compat_tool("mempalace_sync", "List sources that no longer exist; with apply, remove their drawers.",
        REMOVES, &[
            CompatArgument::new("project_dir", "path", Text).described_as("Only sources mined from here; required to apply"),
            WING.described_as("Unsupported"), CompatArgument::new("apply", "apply", Flag).described_as("Remove [false]"),
        ], writing::sync_sources),
    compat_tool("mempalace_diary_write", "Write to your diary: what was done, learned and left open.",
        ADDS, &[
            AGENT.described_as("Your name"), CompatArgument::text("entry"), CONTENT.described_as("The same as entry"),
            CompatArgument::text("topic").described_as("[general]"), WING.described_as("[wing_<agent>]"),
        ], writing::diary_write),
    compat_tool("mempalace_diary_read", "The newest entries of an agent's diary.",
        READS, &[AGENT, CompatArgument::new("last_n", "limit", Count).described_as("1 to 100 [10]"), WING],
        reading::diary_read),
    compat_tool("mempalace_reconnect", "Not needed: every call sees the latest writes.",
        READS, &[], reading::reconnect),
];
