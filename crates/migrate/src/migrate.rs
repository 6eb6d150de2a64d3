//! Migrate: a whole palace from one backend to another, built beside its target and put in place once it is whole.
//!
//! The source is only read. A target in a folder is built in a hidden folder beside it, compared with the source
//! drawer by drawer, and renamed; whoever stops it, and however, finds either no target or a whole one, and the same
//! request goes on where it stopped.

mod carry;
mod check;
mod copy;
mod paths;
mod plan;
pub mod record;
mod stage;
mod survey;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{
    Capability, CollectionInfo, Embedder, Error, ErrorKind, Finding, OpenOptions, Result, Severity, Timestamp,
};
use serde::Serialize;

use crate::verify::examine;
use check::CheckedPalace;
use loci_engine::EmbedderCatalog;
use loci_engine::palace::{BorrowedAddress, Palace};
use plan::Plan;
use record::{CollectionRecord, Flags, Record};
use stage::Target;
use survey::Survey;

/// A palace to be moved, and how.
#[derive(Debug)]
pub struct MigrateRequest<'a> {
    /// Where it is.
    pub from: BorrowedAddress<'a>,
    /// Where it shall be.
    pub to: BorrowedAddress<'a>,
    /// What may be done beside carrying everything as it is.
    pub flags: Flags,
    /// The embedder somebody asked for, by name.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// What else may embed.
    pub embedders: &'a dyn EmbedderCatalog,
    /// The moment this is asked.
    pub now: Timestamp,
}

/// How far a migration is.
#[derive(Debug, Clone, Copy)]
pub enum Step<'a> {
    /// What an earlier run left is of another request, and was moved here.
    SetAside(&'a Path),
    /// It is built here; `resumed` says whether an earlier run began it.
    Staged {
        /// The hidden folder.
        folder: &'a Path,
        /// Whether an earlier run began it.
        resumed: bool,
    },
    /// The source has this defect.
    SourceFinding(&'a Finding),
    /// So many drawers of so many were looked at.
    Surveyed(u64, u64),
    /// So many drawers of so many are in the target.
    Copied(u64, u64),
    /// So many drawers of so many were compared.
    Checked(u64, u64),
}

/// What a migration did.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MigrateReport {
    /// Whether every drawer is in the target as it was, vectors and all.
    pub lossless: bool,
    /// How many drawers the target holds.
    pub rows: u64,
    /// By collection.
    pub collections: Vec<CollectionRows>,
    /// Whether nothing graver than a note is to be said.
    pub ok: bool,
    /// What is to be said.
    pub findings: Vec<Finding>,
    /// Defects of the source: what it lost before cannot be moved either.
    pub source_findings: Vec<Finding>,
    /// Where the palace is now.
    pub target: String,
    /// Where the palace is that stood there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// Whether an earlier run had begun it.
    pub resumed: bool,
    /// What is written into the target.
    pub record: Record,
}

/// How many drawers a collection of the target holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CollectionRows {
    /// Its name.
    pub name: String,
    /// All of them.
    pub rows: u64,
    /// Those with a vector.
    pub with_vector: u64,
    /// Those without.
    pub without_vector: u64,
}

/// A move of a whole palace.
#[derive(Debug, Clone, Default)]
pub struct MigrateOptions {
    /// What may be done beside carrying everything as it is.
    pub flags: Flags,
    /// The model the target shall have; that of the source if not given.
    pub embedder: Option<Arc<dyn Embedder>>,
}

/// Moves a palace, with all its collections, to `target`. `watch` hears of every step.
///
/// Whatever cannot be carried as it is and may not be changed is refused before anything is made.
pub fn migrate_palace(
    source: &Palace,
    target: &Palace,
    options: MigrateOptions,
    watch: &mut dyn FnMut(Step<'_>),
) -> Result<MigrateReport> {
    source.collections()?;
    let (from, to) = (source.address()?, target.address()?);
    // Once the source was examined, whatever is damaged in it is no longer trusted when it is read.
    let diagnosis = examine(source)?.into_iter();
    let mut defects: Vec<Finding> = diagnosis.flat_map(|diagnosis| diagnosis.findings).collect();
    defects.retain(|finding| finding.severity != Severity::Note);
    defects
        .iter()
        .for_each(|finding| watch(Step::SourceFinding(finding)));
    let request = MigrateRequest {
        from: from.as_borrowed(),
        to: to.as_borrowed(),
        flags: options.flags,
        embedder: options.embedder,
        embedders: target.embedders(),
        now: target.now(),
    };
    let report = migrate(&request, watch)?;
    Ok(MigrateReport {
        source_findings: defects,
        ..report
    })
}

/// Moves a palace. `watch` hears of every step.
///
/// Whatever cannot be carried as it is and may not be changed is refused before anything is made.
pub fn migrate(request: &MigrateRequest<'_>, watch: &mut dyn FnMut(Step<'_>)) -> Result<MigrateReport> {
    let began = Instant::now();
    let (from, to) = (request.from, request.to);
    if to.backend.descriptor().can(&Capability::ReadOnly) {
        return Err(read_only(request));
    }
    if request.flags.force_model_swap && request.embedder.is_none() {
        return Err(
            Error::invalid("--force-model-swap is given, and no other model is asked for")
                .hint("nothing was changed; name the model with --embedder NAME"),
        );
    }
    paths::check(from, to)?;
    let infos = from.backend.collections(from.reference)?;
    if infos.is_empty() {
        let message = format!(
            "{} holds no collections, so there is nothing to move",
            from.reference.id
        );
        return Err(Error::new(ErrorKind::NotFound, message)
            .hint("nothing was changed; make a palace with `loci init`"));
    }
    let plans = infos
        .iter()
        .map(|info| Plan::of(request, info))
        .collect::<Result<Vec<_>>>()?;
    let mut target = Target::reserve(request)?;
    let survey = Survey::of(request, &infos, watch)?;
    target.prepare(request, &survey.fingerprint, watch)?;
    copy::palace(request, &plans, &survey, &target, watch)?;
    let checked = check::palace(request, &plans, &survey, &target, watch)?;
    let changed = has_changed(request, &infos)?;
    check::must_agree(&checked, changed, &target)?;
    let mut report = Work {
        request,
        plans: &plans,
        survey: &survey,
        checked,
        target: &target,
        finished: later(request.now, began),
    }
    .report(changed)?;
    report.replaced = target
        .settle(request)?
        .map(|path| path.to_string_lossy().into_owned());
    Ok(report)
}

/// The moment that is as long after `now` as has passed since `began`.
fn later(now: Timestamp, began: Instant) -> Timestamp {
    let passed = i64::try_from(began.elapsed().as_micros()).unwrap_or(0);
    Timestamp::from_micros(now.as_micros().saturating_add(passed)).unwrap_or(now)
}

fn read_only(request: &MigrateRequest<'_>) -> Error {
    let BorrowedAddress {
        backend,
        reference: palace,
    } = request.to;
    let name = &backend.descriptor().name;
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "the backend {name:?} takes no writes, so {} cannot be moved to",
            palace.id
        ),
    )
    .hint("nothing was changed; name another target with --to, like `--to embedded:PATH`")
}

/// Whether somebody wrote to the source since `before`.
fn has_changed(request: &MigrateRequest<'_>, before: &[CollectionInfo]) -> Result<bool> {
    let look = |infos: &[CollectionInfo]| -> Vec<_> {
        let infos = infos.iter();
        infos
            .map(|info| (info.name.clone(), info.drawers, info.coverage.nearest, info.seq))
            .collect()
    };
    let BorrowedAddress {
        backend,
        reference: palace,
    } = request.from;
    Ok(look(&backend.collections(palace)?) != look(before))
}

/// What is known once everything is copied and compared.
struct Work<'a> {
    request: &'a MigrateRequest<'a>,
    plans: &'a [Plan],
    survey: &'a Survey,
    checked: CheckedPalace,
    target: &'a Target,
    finished: Timestamp,
}

impl Work<'_> {
    fn report(self, changed: bool) -> Result<MigrateReport> {
        let record = self.record();
        let rows = record.collections.iter().map(rows_of).collect::<Vec<_>>();
        let mut findings = self.findings(&record, changed)?;
        findings.extend(damage(self.plans));
        if !self.keep(&record)? {
            let message = "the target has no room for a record of the migration";
            findings.push(
                Finding::new("record_not_kept", Severity::Note, message).hint("keep the output of --json"),
            );
        }
        Ok(MigrateReport {
            lossless: record.lossless,
            rows: rows.iter().map(|one| one.rows).sum(),
            collections: rows,
            ok: findings.iter().all(|finding| finding.severity == Severity::Note),
            findings,
            source_findings: Vec::new(),
            target: self.request.to.reference.id.clone(),
            replaced: None,
            resumed: self.target.resumed(),
            record,
        })
    }

    fn record(&self) -> Record {
        let (from, to) = (self.request.from, self.request.to);
        let collections: Vec<CollectionRecord> = self
            .plans
            .iter()
            .zip(&self.checked.collections)
            .map(|(plan, checked)| {
                let survey = self.survey.of_collection(&plan.info.name);
                CollectionRecord::of(plan, checked, survey)
            })
            .collect();
        Record {
            from: from.reference.id.clone(),
            from_backend: from.backend.descriptor().name.clone(),
            to_backend: to.backend.descriptor().name.clone(),
            kind: plan::kind(self.plans),
            lossless: collections.iter().all(CollectionRecord::is_lossless) && damage(self.plans).is_empty(),
            started_at: self.target.started_at().unwrap_or(self.request.now),
            finished_at: self.finished,
            flags: self.request.flags,
            embedder: self
                .request
                .embedder
                .as_ref()
                .map(|embedder| embedder.identity().clone()),
            hash: self.checked.hashes.clone(),
            collections,
            earlier: Vec::new(),
        }
    }

    /// Writes the record into every collection of the target; false where it has no room for records.
    fn keep(&self, record: &Record) -> Result<bool> {
        let backend = self.request.to.backend;
        if !backend.descriptor().can(&Capability::Sources) {
            return Ok(false);
        }
        for plan in self.plans {
            let own = record.of_collection(
                &plan.info.name,
                record::read_of(self.request.from, &plan.info.name)?,
            );
            let options = OpenOptions::writable();
            let opened = backend.open(self.target.palace(), &plan.info.name, &options)?;
            record::store(opened.as_ref(), &own.to_json()?.to_string())?;
        }
        Ok(true)
    }

    fn findings(&self, record: &Record, changed: bool) -> Result<Vec<Finding>> {
        let mut findings = Vec::new();
        for collection in &record.collections {
            findings.extend(collection.findings());
        }
        for plan in self.plans {
            findings.extend(plan.spaces_left(self.request.from)?);
        }
        if changed {
            let message = format!(
                "{} was changed while it was read, so the target may hold drawers of two moments",
                self.request.from.reference.id
            );
            let again = "run the same again with --overwrite, when nobody writes to the source";
            findings.push(Finding::new("changed_meanwhile", Severity::Warning, message).hint(again));
        }
        Ok(findings)
    }
}

/// What the source itself says is damaged in it: what it lost before nobody can carry.
fn damage(plans: &[Plan]) -> Vec<Finding> {
    let mut damage: Vec<Finding> = Vec::new();
    for warning in plans.iter().flat_map(|plan| &plan.info.warnings) {
        if warning.severity == Severity::Error && !damage.contains(warning) {
            damage.push(warning.clone());
        }
    }
    damage
}

fn rows_of(collection: &CollectionRecord) -> CollectionRows {
    CollectionRows {
        name: collection.name.to_string(),
        rows: collection.rows,
        with_vector: collection.with_vector,
        without_vector: collection.rows.saturating_sub(collection.with_vector),
    }
}
