//! Examining palaces that live in files, and repairing them in named steps.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value as Json;

use crate::Result;

/// Examines and repairs palaces of one file format.
pub trait Doctor: fmt::Debug + Send + Sync {
    /// Reports whether the folder at `path` holds a palace of this format. A palace on a server has its URL as path, here
    /// and below.
    fn recognises(&self, path: &Path) -> bool;

    /// Examines the palace at `path`. Never writes.
    fn examine(&self, path: &Path) -> Result<PalaceDiagnosis>;

    /// Lists the indexes that a rule of age alone would reject, because they are older than their rows by more than
    /// `age`, and says for each whether that would be wrong. For comparison only; age is a hint, never a verdict.
    fn judge_by_age(&self, path: &Path, age: Duration) -> Result<Vec<PalaceFinding>>;

    /// Lists the named steps this doctor can take and their effects.
    fn fixes(&self) -> &[FixInfo];

    /// Takes one step. Nothing changes unless the request asks for it, and an undo is kept.
    fn fix(&self, path: &Path, request: &FixRequest<'_>) -> Result<FixReport>;
}

/// The severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FindingSeverity {
    /// Worth knowing, but nothing is wrong.
    Note,
    /// Answers are right, but something needs attention.
    Warning,
    /// Something stored is damaged or an answer may be incomplete.
    Error,
}

/// One thing found, named by a stable code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PalaceFinding {
    /// The code of this kind of finding, for scripts; stable across releases.
    pub code: String,
    /// The severity.
    pub severity: FindingSeverity,
    /// A plain description that names the affected thing.
    pub message: String,
    /// The next command to type.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The collection it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The segment it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
}

impl PalaceFinding {
    /// The code of the finding that acknowledged writes were lost. It says nothing about those that are left: a copy of
    /// such a palace can be exact.
    pub const LOST_WRITES: &'static str = "log_lost";

    /// The code of the notes about files beside a palace that a move does not carry, with the reason.
    pub const LEFT_BEHIND: &'static str = "left_behind";

    /// The code of the finding that records have lost their vectors, which their texts can make again.
    pub const LOST_VECTORS: &'static str = "rows_without_vector";

    /// Creates a finding without hint, collection or segment.
    pub fn new(code: impl Into<String>, severity: FindingSeverity, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            severity,
            message: message.into(),
            hint: None,
            collection: None,
            segment: None,
        }
    }

    /// Creates the finding that tells a caller who sees only some drawers of a damaged palace no more than that.
    pub fn of_hidden_damage() -> Self {
        Self::new(
            "palace_damaged",
            FindingSeverity::Error,
            "the palace is damaged, so this answer may be incomplete",
        )
        .with_hint("run `loci verify` where the whole palace is open")
    }

    /// Adds the next command to type.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the affected collection.
    #[must_use]
    pub fn in_collection(mut self, name: impl Into<String>) -> Self {
        self.collection = Some(name.into());
        self
    }

    /// Names the affected segment.
    #[must_use]
    pub fn in_segment(mut self, name: impl Into<String>) -> Self {
        self.segment = Some(name.into());
        self
    }
}

/// The result of examining a palace in files.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PalaceDiagnosis {
    /// The file format.
    pub kind: String,
    /// True if every finding is only a note.
    pub healthy: bool,
    /// The findings.
    pub findings: Vec<PalaceFinding>,
    /// One entry per collection.
    pub collections: Vec<CollectionDiagnosis>,
    /// One entry per segment.
    pub segments: Vec<SegmentDiagnosis>,
}

impl PalaceDiagnosis {
    /// Creates a diagnosis whose health follows from its findings.
    pub fn from_findings(kind: impl Into<String>, findings: Vec<PalaceFinding>) -> Self {
        Self {
            kind: kind.into(),
            // Derived here and never set by a format, so that "healthy" cannot contradict the findings
            // beside it.
            healthy: findings
                .iter()
                .all(|finding| finding.severity == FindingSeverity::Note),
            findings,
            collections: Vec::new(),
            segments: Vec::new(),
        }
    }
}

/// One examined collection; a format may add figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CollectionDiagnosis {
    /// Its name.
    pub name: String,
    /// The number of rows.
    pub rows: u64,
    /// Figures specific to the format, by name.
    #[serde(flatten)]
    pub figures: serde_json::Map<String, Json>,
}

/// One examined segment; a format may add figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct SegmentDiagnosis {
    /// Its name in the file format.
    pub name: String,
    /// True if it can be used.
    pub sound: bool,
    /// Figures specific to the format, by name.
    #[serde(flatten)]
    pub figures: serde_json::Map<String, Json>,
}

/// A step a doctor can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixInfo {
    /// Its name, as typed.
    pub step: &'static str,
    /// Its effect, in one sentence.
    pub changes: &'static str,
}

/// Whether a fix is only described or carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixMode {
    /// Describe the changes without making them.
    DryRun,
    /// Make the changes and keep an undo.
    Apply,
    /// Take back an earlier application.
    Undo,
}

/// A step to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixRequest<'a> {
    /// Its name.
    pub step: &'a str,
    /// Whether it is described, taken or undone.
    pub mode: FixMode,
    /// Sound indexes that are older than their rows by more than this are set aside as well, by a step that sets
    /// indexes aside. `None` leaves every sound index in place.
    pub older_than: Option<Duration>,
}

/// A folder that a fix renamed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenamedFolder {
    /// Its path before.
    pub from: String,
    /// Its path now.
    pub to: String,
}

/// The changes a fix made or would make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FixReport {
    /// The step.
    pub step: String,
    /// Whether anything was changed.
    pub applied: bool,
    /// The changes made or planned, one line each.
    pub changes: Vec<String>,
    /// The folders that were renamed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub renamed: Vec<RenamedFolder>,
    /// The command that takes it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}
