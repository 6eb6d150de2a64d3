//! The report of a request: the edits of each settings file, before and after.

use std::path::PathBuf;

use crate::diff::render_diff;

/// The edits a request makes, or would make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ConnectReport {
    /// One edit for each settings file the tool reads, also for files that stay as they are.
    pub edits: Vec<SettingsEdit>,
    /// Whether any file was written.
    pub written: bool,
}

impl ConnectReport {
    /// Whether any file changes.
    pub fn has_changes(&self) -> bool {
        self.edits.iter().any(SettingsEdit::is_change)
    }
}

/// The edit of one settings file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsEdit {
    /// The path of the file as the tool reads it. It may be a link; then the file behind it is edited.
    pub path: PathBuf,
    /// The text before the edit, or `None` if the file does not exist.
    pub before: Option<String>,
    /// The text after the edit, or `None` if the file is removed or stays absent.
    pub after: Option<String>,
}

/// The kind of change an edit makes to its file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EditKind {
    /// The file stays as it is.
    Unchanged,
    /// The file does not exist yet.
    Create,
    /// The file exists and gets another text.
    Edit,
    /// The file held nothing but entries of Loci.
    Remove,
}

impl EditKind {
    /// The name scripts see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Unchanged => "none",
            Self::Create => "create",
            Self::Edit => "edit",
            Self::Remove => "remove",
        }
    }
}

impl SettingsEdit {
    /// The kind of change.
    pub fn kind(&self) -> EditKind {
        match (&self.before, &self.after) {
            (before, after) if before == after => EditKind::Unchanged,
            (None, _) => EditKind::Create,
            (Some(_), None) => EditKind::Remove,
            _ => EditKind::Edit,
        }
    }

    /// Whether the file changes.
    pub fn is_change(&self) -> bool {
        self.before != self.after
    }

    /// The change as a unified diff; empty if there is none.
    pub fn diff(&self) -> String {
        let name = self.path.to_string_lossy();
        render_diff(&name, self.before.as_deref(), self.after.as_deref())
    }
}

/// The entries of one settings file on their own, to be pasted by hand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsSnippet {
    /// The path of the file.
    pub path: PathBuf,
    /// The text the file would have if it held nothing else.
    pub text: String,
}
