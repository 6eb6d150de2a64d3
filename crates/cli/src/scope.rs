//! The scope flags, the same at every command that chooses drawers.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use loci_core::Result;
use loci_engine::mine::name;
use loci_engine::view::{DrawerScope, ScopeFields};
use serde_json::Value as Json;

use crate::environment::now;

/// The drawers meant.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeArgs {
    /// Only drawers of this wing, in any spelling of it
    #[arg(long, value_name = "WING")]
    wing: Option<String>,

    /// Only drawers of this room
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,

    /// Only drawers of this source: a path as it was mined, or the end of one
    #[arg(long, value_name = "SOURCE")]
    source: Option<OsString>,

    /// Only drawers of this speaker
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,

    /// Only drawers of this kind: human, assistant, tool_call, tool_result, thinking, system, file, note, diary
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Only drawers said at this time or later, like 2026-05-01, 2026-05-01T09:30:00Z or yesterday
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only drawers said before this time
    #[arg(long, value_name = "TIME")]
    before: Option<String>,

    /// Only drawers this filter accepts, like '{"n":{"$gte":3}}'
    ///
    /// Operators: $eq $ne $in $nin $gt $gte $lt $lte $contains on metadata and places, $and and $or around them.
    #[arg(long = "where", value_name = "JSON")]
    filter: Option<String>,

    /// Only drawers whose text contains this, letter for letter
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
}

impl ScopeArgs {
    /// The scope; one that no palace could answer is refused.
    pub(crate) fn scope(&self) -> Result<DrawerScope> {
        let fields = ScopeFields {
            wing: self.wing.clone(),
            room: self.room.clone(),
            source: None,
            speaker: self.speaker.clone(),
            kind: self.kind.clone(),
            since: self.since.clone(),
            before: self.before.clone(),
            contains: self.contains.clone(),
            filter: self.filter.clone().map(Json::String),
        };
        let source = self.source.as_deref();
        Ok(DrawerScope {
            source: source.map(source_names).unwrap_or_default(),
            ..fields.parse(now())?
        })
    }
}

/// The names a source may have: the path as it is now, as it was, or just as it was typed.
pub(crate) fn source_names(given: &OsStr) -> Vec<String> {
    let path = Path::new(given);
    let mut names = Vec::new();
    names.extend(path.canonicalize().ok().map(|path| name::of_path(&path)));
    names.extend(std::path::absolute(path).ok().map(|path| name::of_path(&path)));
    names.push(name::of_path(path));
    names.dedup();
    names
}
