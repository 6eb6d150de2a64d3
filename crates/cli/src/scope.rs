//! The scope flags, the same at every command that chooses drawers.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::Args;
use loci_core::{Error, Result, Timestamp};
use loci_engine::mine::name;
use loci_engine::view::{DrawerScope, ScopeFields};
use serde_json::Value as Json;

use crate::environment::now;

/// The ids of all of them. An option that conflicts with a scope conflicts with these: the group of a type that holds
/// another names neither's options.
pub(crate) const SCOPE_OPTIONS: [&str; 9] = [
    "wing", "room", "source", "speaker", "kind", "since", "before", "filter", "contains",
];

/// The options that choose drawers.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeArgs {
    /// Only drawers in this wing, ignoring case and punctuation
    #[arg(long, value_name = "WING")]
    wing: Option<String>,

    #[command(flatten)]
    narrowing: ScopeNarrowing,
}

/// The options that choose drawers wherever they are filed, for commands that take wings in another way.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Scope")]
pub(crate) struct ScopeNarrowing {
    /// Only drawers in this room
    #[arg(long, value_name = "ROOM")]
    room: Option<String>,

    /// Only drawers of this source: a path, the end of one, or what a hit prints
    #[arg(long, value_name = "SOURCE")]
    source: Option<OsString>,

    /// Only drawers by this speaker
    #[arg(long, value_name = "NAME")]
    speaker: Option<String>,

    /// Only drawers of this kind: human, assistant, tool_call, tool_result, thinking, system, file, note, diary
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,

    /// Only drawers from this time on: 2026-05-01, 2026-05-01T09:30:00Z, yesterday, 'last May'
    #[arg(long, value_name = "TIME")]
    since: Option<String>,

    /// Only drawers from before this time
    #[arg(long, value_name = "TIME")]
    before: Option<String>,

    /// Only drawers whose metadata matches, such as '{"n":{"$gte":3}}'
    ///
    /// Operators: $eq $ne $in $nin $gt $gte $lt $lte $contains, combined with $and and $or. Wing, room, source,
    /// speaker, kind and said_at can be used like metadata.
    #[arg(long = "where", value_name = "JSON")]
    filter: Option<String>,

    /// Only drawers whose text contains exactly this
    #[arg(long, value_name = "TEXT")]
    contains: Option<String>,
}

impl ScopeArgs {
    /// Builds the scope. Refuses one that no palace could answer.
    pub(crate) fn build_scope(&self) -> Result<DrawerScope> {
        self.build_scope_at(now())
    }

    /// Builds the scope, with times like `yesterday` counted from `at`.
    pub(crate) fn build_scope_at(&self, at: Timestamp) -> Result<DrawerScope> {
        self.narrowing.build_scope(self.wing.as_deref(), at)
    }
}

impl ScopeNarrowing {
    /// Builds the scope within a wing, or within all of them.
    pub(crate) fn build_scope(&self, wing: Option<&str>, at: Timestamp) -> Result<DrawerScope> {
        if self.contains.as_deref() == Some("") {
            return Err(Error::invalid("--contains needs a text to look for")
                .with_hint("nothing was done; leave --contains out to select drawers with any text"));
        }
        let fields = ScopeFields {
            wing: wing.map(str::to_owned),
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
            ..fields.parse(at)?
        })
    }

    /// Lists the options that were given, with their values.
    pub(crate) fn list_given(&self) -> Vec<(&'static str, String)> {
        let source = self.source.as_ref();
        let options = [
            ("room", self.room.clone()),
            (
                "source",
                source.map(|source| source.to_string_lossy().into_owned()),
            ),
            ("speaker", self.speaker.clone()),
            ("kind", self.kind.clone()),
            ("since", self.since.clone()),
            ("before", self.before.clone()),
            ("where", self.filter.clone()),
            ("contains", self.contains.clone()),
        ];
        let given = options.into_iter();
        given
            .filter_map(|(option, value)| Some((option, value?)))
            .collect()
    }
}

/// The names a source may have: the path as it is now, as it was, or just as it was typed. A hit prints a path with
/// lines behind it (`notes.md:10-24`); the same without the lines is tried last.
pub(crate) fn source_names(given: &OsStr) -> Vec<String> {
    let mut names = path_names(Path::new(given));
    if let Some(path) = given.to_str().and_then(strip_lines) {
        names.extend(path_names(Path::new(path)));
    }
    names.dedup();
    names
}

fn path_names(path: &Path) -> Vec<String> {
    let mut names = Vec::new();
    names.extend(path.canonicalize().ok().map(|path| name::name_of_path(&path)));
    names.extend(
        std::path::absolute(path)
            .ok()
            .map(|path| name::name_of_path(&path)),
    );
    names.push(name::name_of_path(path));
    names
}

/// The part before `:LINE` or `:FIRST-LAST`, if the text ends with one.
fn strip_lines(text: &str) -> Option<&str> {
    let (path, lines) = text.rsplit_once(':')?;
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    (!path.is_empty() && is_number(first) && is_number(last)).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_behind_a_path_are_taken_off_and_nothing_else() {
        assert_eq!(strip_lines("a/notes.md:10"), Some("a/notes.md"));
        assert_eq!(strip_lines("a/notes.md:10-24"), Some("a/notes.md"));
        assert_eq!(strip_lines("chats.json#lisbon:3"), Some("chats.json#lisbon"));
        for text in [
            "notes.md",
            "notes.md:",
            "notes.md:10-",
            "notes.md:x",
            ":10",
            "C:/notes",
        ] {
            assert_eq!(strip_lines(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_with_lines_is_looked_for_as_it_is_first() {
        let names = source_names(OsStr::new("notes.md:10"));
        assert!(
            names.first().is_some_and(|name| name.ends_with("notes.md:10")),
            "{names:?}"
        );
        assert_eq!(names.last().map(String::as_str), Some("notes.md"));
    }
}
