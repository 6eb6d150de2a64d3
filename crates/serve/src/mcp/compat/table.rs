//! The table: MemPalace's tools in its order, with their arguments by its names and by ours.

use loci_core::Result;
use serde_json::Value as Json;

use super::arguments::Form::{Count, Flag, Number, Object, Objects, Text, Texts};
use super::arguments::{Argument, Given};
use super::{reading, writing};
use crate::mcp::tool::{Call, Effect};

/// A tool of MemPalace.
pub(super) struct CompatTool {
    /// The name that agents call.
    pub(super) name: &'static str,
    /// What it does, in a line.
    pub(super) about: &'static str,
    /// What it does to a palace.
    pub(super) effect: Effect,
    /// Its arguments.
    pub(super) takes: &'static [Argument],
    /// Our operation behind it, and its result under MemPalace's keys.
    pub(super) run: fn(&Given, &Call<'_>) -> Result<Json>,
}

/// Columns of the table: what each tool does to a palace.
const READS: Effect = Effect::Reads;
const ADDS: Effect = Effect::Adds;
const REMOVES: Effect = Effect::Removes;

const fn tool(
    name: &'static str,
    about: &'static str,
    effect: Effect,
    takes: &'static [Argument],
    run: fn(&Given, &Call<'_>) -> Result<Json>,
) -> CompatTool {
    CompatTool {
        name,
        about,
        effect,
        takes,
        run,
    }
}

const WING: Argument = Argument::text("wing");
const ROOM: Argument = Argument::text("room");
const SINCE: Argument = Argument::text("since");
const BEFORE: Argument = Argument::text("before");
const CONTENT: Argument = Argument::new("content", "text", Text);
const ID: Argument = Argument::new("drawer_id", "id", Text).required();
const IDS: Argument = Argument::new("drawer_ids", "ids", Texts)
    .about("At most 500")
    .required();
const SOURCE: Argument = Argument::new("source_file", "source", Text);
const OFFSET: Argument = Argument::new("offset", "offset", Count);
const LIMIT: Argument = Argument::new("limit", "limit", Count);
const DRY_RUN: Argument = Argument::new("dry_run", "dry_run", Flag);
const AGENT: Argument = Argument::new("agent_name", "agent", Text).required();

/// One text of a checkpoint, and its diary entry.
pub(super) const ITEM: &[Argument] = &[WING.required(), ROOM.required(), CONTENT.required()];
pub(super) const ENTRY: &[Argument] = &[
    AGENT,
    Argument::new("entry", "text", Text).required(),
    Argument::text("topic"),
    WING,
];

/// Every tool.
#[rustfmt::skip]
pub(super) const TOOLS: [CompatTool; 20] = [
    tool("mempalace_status", "What the palace holds, and how to use it. Call it first.",
        READS, &[], reading::status),
    tool("mempalace_list_wings", "All wings with their number of drawers.",
        READS, &[], reading::list_wings),
    tool("mempalace_list_rooms", "The rooms of a wing, or of all, with their number of drawers.",
        READS, &[WING], reading::list_rooms),
    tool("mempalace_get_taxonomy", "Every wing, its rooms and their number of drawers.",
        READS, &[], reading::get_taxonomy),
    tool("mempalace_search", "Search the palace by meaning and by words; returns verbatim texts.",
        READS, &[
            Argument::text("query").required(), LIMIT.about("1 to 100 [5]"), WING, ROOM,
            SOURCE.about("Path, or its end"), SINCE.about("Said at or after, like 2026-05-01"), BEFORE,
            Argument::new("max_distance", "max_distance", Number).about("0 = off [1.5]"),
            Argument::text("context").about("Ignored"),
            // MemPalace takes these; both ways of finding always run here, over one model and no media.
            Argument::text("candidate_strategy"), Argument::new("cli_compatible", "cli_compatible", Flag),
            Argument::new("include_media", "include_media", Flag), Argument::text("query_task"),
        ], reading::search),
    tool("mempalace_check_duplicate", "Whether nearly the same text is filed already; look before filing.",
        READS, &[CONTENT.required(), Argument::new("threshold", "threshold", Number).about("0 to 1 [0.9]")],
        reading::check_duplicate),
    tool("mempalace_add_drawer", "File a text verbatim in a wing and room; the same text there is filed once.",
        ADDS, &[
            WING.about("Project, person or agent").required(), ROOM.about("Topic").required(),
            CONTENT.about("Kept verbatim").required(), SOURCE, Argument::text("added_by").about("[mcp]"),
        ], writing::add_drawer),
    tool("mempalace_checkpoint", "Save a session in one call: texts that are not filed yet, and a diary entry.",
        ADDS, &[
            Argument::new("items", "items", Objects(ITEM)).required(), Argument::new("diary", "diary", Object(ENTRY)),
            Argument::new("dedup_threshold", "threshold", Number).about("0 to 1 [0.9]"), Argument::text("added_by"),
        ], writing::checkpoint),
    tool("mempalace_get_drawer", "One drawer by id: whole text and metadata.",
        READS, &[ID, OFFSET.about("Byte to go on from: `next_offset` of a reply that was truncated")],
        reading::get_drawer),
    tool("mempalace_get_drawers", "Several drawers by id; one that is missing is an error beside the others.",
        READS, &[IDS], reading::get_drawers),
    tool("mempalace_list_drawers",
        "Drawers of a wing, room or time, page by page, each with the beginning of its text.",
        READS, &[
            // Their times are those of filing.
            WING, ROOM, Argument::new("since", "filed_since", Text).about("Filed at or after, like 2026-05-01"),
            Argument::new("before", "filed_before", Text), LIMIT.about("1 to 100 [20]"), OFFSET,
        ], reading::list_drawers),
    tool("mempalace_update_drawer", "Replace the text, wing or room of a drawer; what is not given stays.",
        REMOVES, &[ID, CONTENT, WING, ROOM], writing::update_drawer),
    tool("mempalace_delete_drawer", "Remove one drawer for good.",
        REMOVES, &[ID], writing::delete_drawer),
    tool("mempalace_delete_drawers",
        "Remove several drawers for good; one that is missing is an error beside the others.",
        REMOVES, &[IDS], writing::delete_drawers),
    tool("mempalace_delete_by_source", "Remove every drawer of one source; counts only unless dry_run is false.",
        REMOVES, &[
            SOURCE.about("Exact path, as hits give it in source_path").required(), DRY_RUN.about("[true]"),
        ], writing::delete_by_source),
    tool("mempalace_mine", "Read a file, folder or transcript into drawers; again files only what is new.",
        ADDS, &[
            Argument::new("source", "path", Text).about("An absolute path: file or folder").required(),
            Argument::text("mode").about("projects, convos or extract; formats are recognised anyway"),
            WING, DRY_RUN, LIMIT.about("Only 0: all files"),
            // MemPalace takes these; every message of every file is kept here, whoever mines it.
            Argument::text("agent").about("Ignored"), Argument::text("extract"),
            Argument::new("include_subagents", "include_subagents", Flag),
        ], writing::mine),
    tool("mempalace_sync", "Sources that are gone; with apply, their drawers are removed.",
        REMOVES, &[
            Argument::new("project_dir", "path", Text).about("Only what was mined from here; needed to apply"),
            WING.about("Not offered"), Argument::new("apply", "apply", Flag).about("Remove [false]"),
        ], writing::sync_sources),
    tool("mempalace_diary_write", "Write to your diary: what was done, learned and left open.",
        ADDS, &[
            AGENT.about("Your name"), Argument::text("entry"), CONTENT.about("The same as entry"),
            Argument::text("topic").about("[general]"), WING.about("[wing_<agent>]"),
        ], writing::diary_write),
    tool("mempalace_diary_read", "The newest entries of an agent's diary.",
        READS, &[AGENT, Argument::new("last_n", "limit", Count).about("1 to 100 [10]"), WING],
        reading::diary_read),
    tool("mempalace_reconnect", "Not needed: every call sees what others wrote.",
        READS, &[], reading::reconnect),
];
