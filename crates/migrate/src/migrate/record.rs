//! The record of a migration: what was carried and what was not. The target stores it as the record of a
//! source.

use loci_core::{
    Capability, Collection, CollectionExt, CollectionName, EmbedderIdentity, Error, ErrorKind,
    FindingSeverity, IdentityState, Metric, OpenOptions, PalaceFinding, Result, RevisionOutcome,
    SourceRevision, SourceSpan, Timestamp,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::check::CheckedCollection;
use super::plan::{CollectionPlan, VectorPlan};
use super::survey::{CollectionSurvey, DuplicateCounts};
use super::verdict::judge_list;
use loci_engine::migration_records::{MIGRATION_RECORD, find_migration, list_migrations};
use loci_engine::palace::BorrowedAddress;

/// The most ids in a list of the record; the number of further ones is kept beside them.
pub const MOST_IDS: usize = 10_000;

/// Changes that a migration is allowed to make.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MigrateFlags {
    /// Move aside a palace at the target.
    pub overwrite: bool,
    /// Re-embed all texts if one side cannot return or keep vectors.
    pub accept_re_embed: bool,
    /// Re-embed all texts if the user asks for another model.
    pub force_model_swap: bool,
    /// Embed texts that have no vector.
    pub embed_missing: bool,
    /// Keep one drawer of each group of duplicates.
    pub collapse_duplicates: bool,
}

/// The record: what was carried, how, and what was not.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MigrationRecord {
    /// The source.
    pub from: String,
    /// Its backend.
    pub from_backend: String,
    /// The backend of the target.
    pub to_backend: String,
    /// `carried`, `re_embedded` or `model_swap`.
    pub kind: &'static str,
    /// Whether everything that the source ever held is in the target unchanged.
    pub lossless: bool,
    /// The start of the first run.
    pub started_at: Timestamp,
    /// The end of the last run.
    pub finished_at: Timestamp,
    /// The changes that were allowed.
    pub flags: MigrateFlags,
    /// The embedder the user named.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub embedder: Option<EmbedderIdentity>,
    /// The digests of both sides, as `loci verify` prints them.
    pub hash: PalaceHashes,
    /// The records of the collections.
    pub collections: Vec<CollectionRecord>,
    /// Records of earlier migrations of the source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Json>,
}

/// The digests of both sides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PalaceHashes {
    /// The digest of the source.
    pub from: String,
    /// The digest of the target.
    pub to: String,
}

/// The record of one collection.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CollectionRecord {
    /// Its name.
    pub name: CollectionName,
    /// The number of drawers in the source.
    pub rows_from: u64,
    /// The number of drawers in the target.
    pub rows: u64,
    /// The number of those with a vector.
    pub with_vector: u64,
    /// The metric of its vectors.
    pub metric: Metric,
    /// The length of its vectors.
    pub dimension: Option<usize>,
    /// The model of the source's vectors, or `none` or `unknown`.
    pub identity_from: String,
    /// The model of the target's vectors.
    pub identity: String,
    /// `carried`, `re_embedded`, `model_swap` or `target`.
    pub vectors: &'static str,
    /// The number of vectors made for drawers that had none.
    pub embedded: u64,
    /// Duplicates in the source.
    pub duplicates: DuplicateCounts,
    /// The number of source records carried.
    pub sources: u64,
    /// Drawers that were changed or are missing.
    #[serde(flatten)]
    pub lists: ChangeLists,
}

/// Drawers that were changed or are missing, by kind of change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeLists {
    /// Drawers without a vector in the source.
    pub missing_vector: IdList,
    /// Drawers without a text in the source, carried without one.
    pub without_document: IdList,
    /// Drawers whose vector no backend may store; it was left out.
    pub unsound_vector: IdList,
    /// Drawers whose vector has another length than the collection's; it was left out.
    pub other_dimension: IdList,
    /// Drawers without a recorded time of filing.
    pub without_filed_at: IdList,
    /// Drawers whose place contradicted their metadata; the metadata won.
    pub place_conflict: IdList,
    /// Drawers that are the same piece of the same source as another; they were carried without their span.
    pub span_left_out: IdList,
    /// The spans of these drawers, in the same order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<SourceSpan>,
    /// Drawers collapsed into another of their group.
    pub collapsed: IdList,
    /// Drawers with damaged bytes; their readable part was carried.
    pub damaged: IdList,
    /// Drawers that could not be carried, each with the reason.
    pub not_carried: IdList,
    /// Messages about drawers that could not be read.
    pub unreadable: IdList,
}

/// A bounded list of ids, with their number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct IdList {
    /// The number of all ids.
    pub count: u64,
    /// The first ids.
    pub ids: Vec<String>,
    /// The number of ids that are not listed.
    pub more: u64,
}

impl ChangeLists {
    /// Returns every list with its name, the most severe first.
    pub fn named_lists(&self) -> [(&'static str, &IdList); 11] {
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

impl IdList {
    pub(super) fn push(&mut self, id: impl Into<String>) {
        self.count += 1;
        if self.ids.len() < MOST_IDS {
            self.ids.push(id.into());
        } else {
            self.more += 1;
        }
    }
}

impl MigrationRecord {
    /// Returns the record that one collection stores: without other collections, and with the earlier records
    /// of its source.
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
    pub(super) fn from_check(
        plan: &CollectionPlan,
        checked: &CheckedCollection,
        survey: &CollectionSurvey,
    ) -> Self {
        Self {
            name: plan.info.name.clone(),
            rows_from: checked.rows_from,
            rows: checked.rows,
            with_vector: checked.with_vector,
            metric: plan.info.metric,
            dimension: checked.dimension,
            identity_from: describe_identity(&plan.info.identity),
            identity: describe_identity(&checked.identity),
            vectors: match plan.vectors {
                VectorPlan::Carried(_) => "carried",
                VectorPlan::ReEmbedded(_) => "re_embedded",
                VectorPlan::Swapped(_) => "model_swap",
                VectorPlan::MadeByTarget => "target",
            },
            embedded: checked.embedded,
            duplicates: survey.duplicates,
            sources: checked.sources,
            lists: checked.lists.clone(),
        }
    }

    /// Returns the findings about the collection.
    pub(super) fn findings(&self) -> Vec<PalaceFinding> {
        let lists = self.lists.named_lists().into_iter();
        let mut findings: Vec<PalaceFinding> = lists
            .filter(|(_, list)| list.count > 0)
            .map(|(code, list)| {
                let (_, severity, words) = judge_list(code);
                self.finding(code, severity, &format!("{} {words}", list.count))
            })
            .collect();
        if self.duplicates.groups > 0 && self.lists.collapsed.count == 0 {
            let words = format!(
                "{} are copies of {} pieces with the same source and text; all were carried",
                self.duplicates.rows, self.duplicates.groups
            );
            let hint = "--collapse-duplicates keeps one of each";
            findings.push(
                self.finding("duplicates", FindingSeverity::Note, &words)
                    .with_hint(hint),
            );
        }
        findings
    }

    fn finding(&self, code: &str, severity: FindingSeverity, words: &str) -> PalaceFinding {
        let message = format!("of the drawers of {}, {words}", self.name);
        PalaceFinding::new(code, severity, message).in_collection(self.name.as_str())
    }
}

fn describe_identity(state: &IdentityState) -> String {
    match state {
        IdentityState::Known(known) => known.to_string(),
        IdentityState::Unset => "none".to_owned(),
        IdentityState::Unknown => "unknown".to_owned(),
    }
}

/// Reads the migration records of a collection, the earliest first.
pub(super) fn read_records(
    BorrowedAddress {
        backend,
        reference: palace,
    }: BorrowedAddress<'_>,
    name: &CollectionName,
) -> Result<Vec<Json>> {
    if !backend.descriptor().has_capability(&Capability::Sources) {
        return Ok(Vec::new());
    }
    list_migrations(backend.open(palace, name, &OpenOptions::default())?.as_ref())
}

/// Stores a finished record in place of the progress.
pub(super) fn store_record(collection: &dyn Collection, stamp: &str) -> Result<()> {
    let revision = SourceRevision {
        source: MIGRATION_RECORD.to_owned(),
        // The progress of the copy has the same name: once it gives way to the report, no run resumes any
        // more.
        expects: find_migration(collection)?.map(|record| record.revision),
        stamp: Some(stamp.to_owned()),
        parts: Box::new(std::iter::empty()),
    };
    match collection.require_sources()?.revise(vec![revision])?.first() {
        Some(RevisionOutcome::Done { .. }) => Ok(()),
        _ => Err(overtaken_error()),
    }
}

/// Returns the error of a migration whose target another one writes to.
pub(super) fn overtaken_error() -> Error {
    Error::new(ErrorKind::Conflict, "another migration writes to the same target")
        .with_hint("nothing was removed; wait until it has ended")
}
