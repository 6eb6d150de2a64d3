//! The record of a migration: what was carried and what was not, kept in the target as the record of a source.

use loci_core::{
    Capability, Collection, CollectionExt, CollectionName, EmbedderIdentity, Error, ErrorKind, Finding,
    IdentityState, Metric, OpenOptions, Result, Revised, Revision, Severity, Span, Timestamp,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::check::Checked;
use super::plan::{Plan, Vectors};
use super::survey::{CollectionSurvey, Duplicates};
use loci_engine::moves::{MIGRATION_RECORD, find_migration, list_migrations};
use loci_engine::palace::BorrowedAddress;

/// How many ids a list of the record holds at most; how many more there are stands beside them.
pub const MOST: usize = 10_000;

/// What may be done beside carrying everything as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Flags {
    /// Move aside what stands at the target.
    pub overwrite: bool,
    /// Embed all texts anew where a side cannot hand vectors over.
    pub accept_re_embed: bool,
    /// Embed all texts anew where another model is asked for.
    pub force_model_swap: bool,
    /// Embed texts that have no vector.
    pub embed_missing: bool,
    /// Keep one drawer of each group that is the same piece.
    pub collapse_duplicates: bool,
}

/// What was carried, how, and what was not.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Record {
    /// The source.
    pub from: String,
    /// Its backend.
    pub from_backend: String,
    /// The target's.
    pub to_backend: String,
    /// `carried`, `re_embedded` or `model_swap`.
    pub kind: &'static str,
    /// Whether every drawer is in the target as it was.
    pub lossless: bool,
    /// When the first run began.
    pub started_at: Timestamp,
    /// When the last one ended.
    pub finished_at: Timestamp,
    /// What was allowed.
    pub flags: Flags,
    /// The embedder that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<EmbedderIdentity>,
    /// What `loci verify` says of either side.
    pub hash: Hashes,
    /// By collection.
    pub collections: Vec<CollectionRecord>,
    /// Records of earlier migrations of the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Json>,
}

/// Digests of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hashes {
    /// Of the source.
    pub from: String,
    /// Of the target.
    pub to: String,
}

/// What was carried of one collection.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CollectionRecord {
    /// Its name.
    pub name: CollectionName,
    /// How many drawers the source has.
    pub rows_from: u64,
    /// How many the target has.
    pub rows: u64,
    /// How many of those have a vector.
    pub with_vector: u64,
    /// How vectors are compared.
    pub metric: Metric,
    /// How many values they have.
    pub dimension: Option<usize>,
    /// Whose they were: a model, or `none` or `unknown`.
    pub identity_from: String,
    /// Whose they are.
    pub identity: String,
    /// `carried`, `re_embedded`, `model_swap` or `target`.
    pub vectors: &'static str,
    /// How many were made for drawers that had none.
    pub embedded: u64,
    /// What is in the source twice.
    pub duplicates: Duplicates,
    /// How many records of sources were carried.
    pub sources: u64,
    /// Drawers that are not exactly as they were, and those that are missing.
    #[serde(flatten)]
    pub lists: Lists,
}

/// Drawers that are not exactly as they were.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Lists {
    /// They have no vector in the source.
    pub missing_vector: Listed,
    /// They have no text in the source; theirs is the empty one now.
    pub without_document: Listed,
    /// Their vector is none that a backend may store, and was left out.
    pub unsound_vector: Listed,
    /// Their vector has another length than those of the collection, and was left out.
    pub other_dimension: Listed,
    /// Nobody recorded when they were filed.
    pub without_filed_at: Listed,
    /// A field of their place contradicted their metadata, which stayed.
    pub place_conflict: Listed,
    /// They are the same piece of the same source as another, and were carried without their span.
    pub span_left_out: Listed,
    /// The spans of the first of these, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<Span>,
    /// They gave way to another of their group.
    pub collapsed: Listed,
    /// Their stored bytes are damaged; what can be read was carried.
    pub damaged: Listed,
    /// They could not be carried.
    pub not_carried: Listed,
    /// What could not be read in the source.
    pub unreadable: Listed,
}

/// Some of many, by name, with how many there are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Listed {
    /// How many there are.
    pub count: u64,
    /// The first of them.
    pub ids: Vec<String>,
    /// How many more there are than stand here.
    pub more: u64,
}

impl Lists {
    /// Every list with its name, the gravest first.
    pub fn each(&self) -> [(&'static str, &Listed); 11] {
        [
            ("not_carried", &self.not_carried),
            ("unreadable", &self.unreadable),
            ("damaged", &self.damaged),
            ("other_dimension", &self.other_dimension),
            ("missing_vector", &self.missing_vector),
            ("unsound_vector", &self.unsound_vector),
            ("without_document", &self.without_document),
            ("without_filed_at", &self.without_filed_at),
            ("place_conflict", &self.place_conflict),
            ("span_left_out", &self.span_left_out),
            ("collapsed", &self.collapsed),
        ]
    }
}

impl Listed {
    pub(super) fn push(&mut self, id: impl Into<String>) {
        self.count += 1;
        match self.ids.len() < MOST {
            true => self.ids.push(id.into()),
            false => self.more += 1,
        }
    }
}

impl Record {
    /// This record as one collection keeps it: of the others nothing, and what its source kept before.
    pub(super) fn of_collection(&self, name: &CollectionName, earlier: Vec<Json>) -> Self {
        let mut own = self.clone();
        own.collections.retain(|collection| collection.name == *name);
        own.earlier = earlier;
        own
    }

    pub(super) fn to_json(&self) -> Result<Json> {
        serde_json::to_value(self).map_err(|cause| {
            Error::new(ErrorKind::Internal, "a record cannot be written as JSON").caused_by(cause)
        })
    }
}

impl CollectionRecord {
    pub(super) fn of(plan: &Plan, checked: &Checked, survey: &CollectionSurvey) -> Self {
        Self {
            name: plan.info.name.clone(),
            rows_from: checked.rows_from,
            rows: checked.rows,
            with_vector: checked.with_vector,
            metric: plan.info.metric,
            dimension: checked.dimension,
            identity_from: identity(&plan.info.identity),
            identity: identity(&checked.identity),
            vectors: match plan.vectors {
                Vectors::Carried(_) => "carried",
                Vectors::Anew(_) => "re_embedded",
                Vectors::Swapped(_) => "model_swap",
                Vectors::OfTheTarget => "target",
            },
            embedded: checked.embedded,
            duplicates: survey.duplicates,
            sources: checked.sources,
            lists: checked.lists.clone(),
        }
    }

    /// Whether every drawer is there as it was.
    pub(super) fn is_lossless(&self) -> bool {
        let lists = &self.lists;
        let lost = [
            &lists.unsound_vector,
            &lists.other_dimension,
            &lists.collapsed,
            &lists.not_carried,
            &lists.unreadable,
            &lists.damaged,
        ];
        self.vectors == "carried" && lost.iter().all(|list| list.count == 0)
    }

    /// What is to be said of it.
    pub(super) fn findings(&self) -> Vec<Finding> {
        let lists = self.lists.each().into_iter();
        let mut findings: Vec<Finding> = lists
            .filter(|(_, list)| list.count > 0)
            .map(|(code, list)| {
                let (severity, words) = told(code);
                self.finding(code, severity, &format!("{} {words}", list.count))
            })
            .collect();
        if self.duplicates.groups > 0 && self.lists.collapsed.count == 0 {
            let words = format!(
                "{} are {} pieces with the same source and text; they were carried as they are",
                self.duplicates.rows, self.duplicates.groups
            );
            let hint = "--collapse-duplicates keeps one of each";
            findings.push(self.finding("duplicates", Severity::Note, &words).hint(hint));
        }
        findings
    }

    fn finding(&self, code: &str, severity: Severity, words: &str) -> Finding {
        let message = format!("of the drawers of {}, {words}", self.name);
        Finding::new(code, severity, message).collection(self.name.as_str())
    }
}

/// How grave it is that drawers stand in the list `code`, and what it means.
fn told(code: &str) -> (Severity, &'static str) {
    use Severity::{Error, Note, Warning};
    match code {
        "not_carried" => (Error, "could not be carried"),
        "unreadable" => (Error, "could not be read"),
        "damaged" => (Warning, "are damaged; what can be read was carried"),
        "other_dimension" => (Warning, "had a vector of another length, which was left out"),
        "missing_vector" => (Note, "have no vector in the source"),
        "unsound_vector" => (Note, "had a vector that no backend may store, which was left out"),
        "without_document" => (Note, "have no text at all, and were carried so"),
        "without_filed_at" => (Note, "do not say when they were filed"),
        "place_conflict" => (Note, "gave a place and other metadata; the metadata stayed"),
        "span_left_out" => (
            Note,
            "are a piece that is there already, and came without their span",
        ),
        "collapsed" => (Note, "gave way to another of the same source and text"),
        _ => (Warning, "are not as they were"),
    }
}

fn identity(state: &IdentityState) -> String {
    match state {
        IdentityState::Known(known) => known.to_string(),
        IdentityState::Unset => "none".to_owned(),
        IdentityState::Unknown => "unknown".to_owned(),
    }
}

/// The records of the migrations of a collection, the earliest first.
pub(super) fn read_of(
    BorrowedAddress {
        backend,
        reference: palace,
    }: BorrowedAddress<'_>,
    name: &CollectionName,
) -> Result<Vec<Json>> {
    if !backend.descriptor().can(&Capability::Sources) {
        return Ok(Vec::new());
    }
    list_migrations(backend.open(palace, name, &OpenOptions::default())?.as_ref())
}

/// Puts a finished record in the place of whatever stood there.
pub(super) fn store(collection: &dyn Collection, stamp: &str) -> Result<()> {
    let revision = Revision {
        source: MIGRATION_RECORD.to_owned(),
        expects: find_migration(collection)?.map(|record| record.revision),
        stamp: Some(stamp.to_owned()),
        parts: Box::new(std::iter::empty()),
    };
    match collection.require_sources()?.revise(vec![revision])?.first() {
        Some(Revised::Done { .. }) => Ok(()),
        _ => Err(overtaken()),
    }
}

/// The error of a migration that finds another at work on its target.
pub(super) fn overtaken() -> Error {
    Error::new(ErrorKind::Conflict, "another migration writes to the same target")
        .hint("what is there stays; wait until it has ended")
}
