//! Examining palaces that live in files, and mending them in named steps.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Serialize;
use serde_json::Value as Json;

use crate::Result;

/// Examines and mends palaces of one file format.
pub trait Doctor: fmt::Debug + Send + Sync {
    /// Whether the folder at `path` holds a palace of this format.
    fn recognises(&self, path: &Path) -> bool;

    /// Says what is true of the palace at `path`. Never writes.
    fn examine(&self, path: &Path) -> Result<Diagnosis>;

    /// What the rule of age alone would set aside: indexes older than their rows by more than `age`, each with whether
    /// that would be wrong. For comparison only; age is a hint, never a verdict.
    fn judged_by_age(&self, path: &Path, age: Duration) -> Result<Vec<Finding>>;

    /// The named steps this doctor can take, with what each changes.
    fn fixes(&self) -> &[FixInfo];

    /// Takes one step. Nothing changes unless `how` says so, and an undo is kept.
    fn fix(&self, path: &Path, step: &str, how: FixMode) -> Result<FixReport>;
}

/// How grave a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Answers are right, but something needs attention.
    Warning,
    /// Something stored is damaged or an answer may be incomplete.
    Error,
}

/// One thing found, named by a stable code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of thing, for scripts; stays the same over releases.
    pub code: String,
    /// How grave it is.
    pub severity: Severity,
    /// What is the case, in plain words, naming the thing.
    pub message: String,
    /// What to type next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// The collection it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// The segment it concerns.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<String>,
}

impl Finding {
    /// A finding without hint or place.
    pub fn new(code: impl Into<String>, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            severity,
            message: message.into(),
            hint: None,
            collection: None,
            segment: None,
        }
    }

    /// Says what to type next.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Names the collection.
    #[must_use]
    pub fn collection(mut self, name: impl Into<String>) -> Self {
        self.collection = Some(name.into());
        self
    }

    /// Names the segment.
    #[must_use]
    pub fn segment(mut self, name: impl Into<String>) -> Self {
        self.segment = Some(name.into());
        self
    }
}

/// What is true of a palace in files.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Diagnosis {
    /// Which format it is.
    pub kind: String,
    /// Whether nothing graver than a note was found.
    pub healthy: bool,
    /// What was found.
    pub findings: Vec<Finding>,
    /// What its collections hold.
    pub collections: Vec<CollectionDiagnosis>,
    /// What its segments hold.
    pub segments: Vec<SegmentDiagnosis>,
}

impl Diagnosis {
    /// A diagnosis whose health follows from its findings.
    pub fn of(kind: impl Into<String>, findings: Vec<Finding>) -> Self {
        Self {
            kind: kind.into(),
            healthy: findings.iter().all(|finding| finding.severity == Severity::Note),
            findings,
            collections: Vec::new(),
            segments: Vec::new(),
        }
    }
}

/// One collection as examined; a format adds figures of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectionDiagnosis {
    /// Its name.
    pub name: String,
    /// How many rows it holds.
    pub rows: u64,
    /// Figures of this format, by name.
    #[serde(flatten)]
    pub figures: serde_json::Map<String, Json>,
}

/// One segment as examined; a format adds figures of its own.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SegmentDiagnosis {
    /// How the format names it.
    pub name: String,
    /// Whether it can be used.
    pub sound: bool,
    /// Figures of this format, by name.
    #[serde(flatten)]
    pub figures: serde_json::Map<String, Json>,
}

/// A step a doctor can take.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixInfo {
    /// Its name, as typed.
    pub step: &'static str,
    /// What it changes, in one sentence.
    pub changes: &'static str,
}

/// Whether a fix is only described or carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FixMode {
    /// Say what would change.
    DryRun,
    /// Change it, keeping an undo.
    Apply,
    /// Take an earlier application back.
    Undo,
}

/// What a fix did or would do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FixReport {
    /// The step.
    pub step: String,
    /// Whether anything was changed.
    pub applied: bool,
    /// What was or would be changed, a line each.
    pub changes: Vec<String>,
    /// How to take it back.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub undo: Option<String>,
}
