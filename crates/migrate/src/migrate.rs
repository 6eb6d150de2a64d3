//! Migrate: moves a whole palace from one backend to another. It is built beside its target and renamed once
//! complete.
//!
//! The source is only read. A target in a folder is built in a hidden folder beside it, compared with the
//! source drawer by drawer, and renamed. However a run is interrupted, there is either no target or a
//! complete one, and the same request resumes where it stopped.

mod carry;
mod check;
mod copy;
mod paths;
mod plan;
pub mod record;
mod secrets;
mod stage;
mod survey;
mod verdict;

use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{
    Capability, CollectionInfo, Embedder, Error, ErrorKind, FindingSeverity, OpenOptions, PalaceFinding,
    Result, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::verify::examine_palace;
use check::CheckedPalace;
use loci_engine::EmbedderCatalog;
use loci_engine::palace::{BorrowedAddress, Palace};
use plan::CollectionPlan;
use record::{CollectionRecord, MigrateFlags, MigrationRecord};
pub use secrets::CarriedSecrets;
use secrets::PalaceSuspects;
use stage::MigrationTarget;
use survey::SourceSurvey;
use verdict::{MigrationVerdict, is_success, judge_migration};

/// A palace to migrate, and how.
#[derive(Debug)]
pub struct MigrateRequest<'a> {
    /// The source.
    pub from: BorrowedAddress<'a>,
    /// The target.
    pub to: BorrowedAddress<'a>,
    /// Changes that are allowed on the way.
    pub flags: MigrateFlags,
    /// The embedder the user named.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// The other embedders on this machine.
    pub embedders: &'a dyn EmbedderCatalog,
    /// The time of the request.
    pub now: Timestamp,
}

/// Progress of a migration.
#[derive(Debug, Clone, Copy)]
pub enum MigrateStep<'a> {
    /// The remains of an earlier run of another request were moved to this path.
    SetAside(&'a Path),
    /// The target is built in this folder.
    Staged {
        /// The hidden folder.
        folder: &'a Path,
        /// Whether an earlier run began the work.
        resumed: bool,
    },
    /// A defect of the source.
    SourceFinding(&'a PalaceFinding),
    /// Drawers surveyed so far, and their total.
    Surveyed(u64, u64),
    /// Drawers copied so far, and their total.
    Copied(u64, u64),
    /// Drawers compared so far, and their total.
    Checked(u64, u64),
    /// Drawers examined for secrets so far, and their total.
    Examined(u64, u64),
}

/// The result of a migration.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MigrateReport {
    /// Whether everything that the source ever held is in the target unchanged, vectors included.
    pub lossless: bool,
    /// The number of drawers in the target.
    pub rows: u64,
    /// The same by collection.
    pub collections: Vec<CollectionRows>,
    /// Whether all findings are notes.
    pub ok: bool,
    /// The findings.
    pub findings: Vec<PalaceFinding>,
    /// Defects of the source: data it had already lost cannot be moved.
    pub source_findings: Vec<PalaceFinding>,
    /// The location of the target.
    pub target: String,
    /// The new location of the palace that was there before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replaced: Option<String>,
    /// The secrets found in its drawers; absent if there is none in the clear.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secrets: Option<CarriedSecrets>,
    /// Whether this run resumed an earlier one.
    pub resumed: bool,
    /// The record that was written into the target.
    pub record: MigrationRecord,
}

/// The numbers of drawers in a collection of the target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CollectionRows {
    /// Its name.
    pub name: String,
    /// All drawers.
    pub rows: u64,
    /// Drawers with a vector.
    pub with_vector: u64,
    /// Drawers without a vector.
    pub without_vector: u64,
}

/// The options of a migration.
#[derive(Debug, Clone, Default)]
pub struct MigrateOptions {
    /// Changes that are allowed on the way.
    pub flags: MigrateFlags,
    /// The model of the target; that of the source if not given.
    pub embedder: Option<Arc<dyn Embedder>>,
    /// Seal the secrets of the target once it is in place.
    pub seal: bool,
    /// Models that may have made vectors whose model is not recorded; one that makes the same vectors is recorded.
    pub candidates: Vec<Arc<dyn Embedder>>,
}

/// Migrates a palace, with all its collections, to `target`. `watch` receives every step.
///
/// Anything that can be carried neither unchanged nor with an allowed change is refused before anything is
/// created.
pub fn migrate_palace(
    source: &Palace,
    target: &Palace,
    options: MigrateOptions,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<MigrateReport> {
    // A missing source must fail here, before a doctor looks at a folder that does not exist.
    source.collections()?;
    let (from, to) = (source.address()?, target.address()?);
    // Also for its effect: a backend no longer trusts damaged parts once its doctor has found them.
    let diagnosis = examine_palace(source)?.into_iter();
    let found = diagnosis.flat_map(|diagnosis| diagnosis.findings);
    let (left_behind, mut defects): (Vec<PalaceFinding>, Vec<PalaceFinding>) =
        found.partition(|finding| finding.code == PalaceFinding::LEFT_BEHIND);
    defects.retain(|finding| finding.severity != FindingSeverity::Note);
    defects
        .iter()
        .for_each(|finding| watch(MigrateStep::SourceFinding(finding)));
    let request = MigrateRequest {
        from: from.as_borrowed(),
        to: to.as_borrowed(),
        flags: options.flags,
        embedder: options.embedder,
        embedders: target.embedders(),
        now: target.now(),
    };
    let (mut report, suspects) = migrate_checked(&request, watch)?;
    report.findings.extend(left_behind);
    recognise_models(target, &options.candidates, &mut report)?;
    // The list of deletions and the sealed secrets were copied with the other records, and need their keys.
    target.take_keys_of(source.palace_id()?)?;
    let secrets = secrets::look_for_secrets(target, options.seal, suspects, watch)?;
    Ok(MigrateReport {
        secrets,
        source_findings: defects,
        ..report
    })
}

/// Records the model of each collection of which none is recorded, if one of the candidates made its vectors.
fn recognise_models(
    target: &Palace,
    candidates: &[Arc<dyn Embedder>],
    report: &mut MigrateReport,
) -> Result<()> {
    for collection in &mut report.record.collections {
        let palace = target.clone().in_collection(Some(collection.name.clone()));
        for embedder in candidates {
            if palace.recognise_embedder(embedder.as_ref())? {
                collection.identity = embedder.identity().to_string();
                let message = format!(
                    "the vectors of {} were made by {}: it makes the same of their texts",
                    collection.name, collection.identity
                );
                let note = PalaceFinding::new("model_recognised", FindingSeverity::Note, message);
                report.findings.push(note.in_collection(collection.name.as_str()));
                break;
            }
        }
    }
    Ok(())
}

/// Migrates a palace. `watch` receives every step.
///
/// Anything that can be carried neither unchanged nor with an allowed change is refused before anything is
/// created.
pub fn migrate(
    request: &MigrateRequest<'_>,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<MigrateReport> {
    migrate_checked(request, watch).map(|(report, _)| report)
}

/// As [`migrate`]; also returns the drawers of the target that may hold secrets.
fn migrate_checked(
    request: &MigrateRequest<'_>,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<(MigrateReport, PalaceSuspects)> {
    let began = Instant::now();
    let (from, to) = (request.from, request.to);
    if to.backend.descriptor().has_capability(&Capability::ReadOnly) {
        return Err(read_only_error(request));
    }
    if request.flags.force_model_swap && request.embedder.is_none() {
        return Err(Error::invalid("--force-model-swap needs another model")
            .with_hint("nothing was changed; name the model with --embedder NAME"));
    }
    paths::check_paths(from, to)?;
    let infos = from.backend.collections(from.reference)?;
    if infos.is_empty() {
        let message = format!(
            "{} has no collections, so there is nothing to migrate",
            from.reference.id
        );
        return Err(Error::new(ErrorKind::NotFound, message)
            .with_hint("nothing was changed; name another palace with --from"));
    }
    // Vectors that may not be carried are refused here, before the target's place is touched.
    let plans = infos
        .iter()
        .map(|info| CollectionPlan::decide(request, info))
        .collect::<Result<Vec<_>>>()?;
    // Reserved before the survey, which may take long: a second run should fail at once and not after it.
    let mut target = MigrationTarget::reserve_place(request)?;
    let survey = SourceSurvey::take(request, &infos, watch)?;
    target.prepare_stage(request, &survey.fingerprint, watch)?;
    copy::copy_palace(request, &plans, &survey, &target, watch)?;
    let mut checked = check::check_palace(request, &plans, &survey, &target, watch)?;
    let suspects = std::mem::take(&mut checked.suspects);
    // A source that changed meanwhile explains differences; then the copy is kept, with a warning.
    let changed = has_source_changed(request, &infos)?;
    check::refuse_differences(&checked, changed, &target)?;
    let mut report = MigrateOutcome {
        request,
        plans: &plans,
        survey: &survey,
        checked,
        target: &target,
        finished: moment_after(request.now, began),
    }
    .build_report(changed)?;
    // Last of all: the record is already in the target when the rename makes it visible.
    report.replaced = target
        .move_into_place(request)?
        .map(|path| path.to_string_lossy().into_owned());
    Ok((report, suspects))
}

/// Returns `now` plus the time since `began`: the caller's clock is the only one, and it was read once.
fn moment_after(now: Timestamp, began: Instant) -> Timestamp {
    let passed = i64::try_from(began.elapsed().as_micros()).unwrap_or(0);
    Timestamp::from_micros(now.as_micros().saturating_add(passed)).unwrap_or(now)
}

fn read_only_error(request: &MigrateRequest<'_>) -> Error {
    let BorrowedAddress {
        backend,
        reference: palace,
    } = request.to;
    let name = &backend.descriptor().name;
    Error::new(
        ErrorKind::Unsupported,
        format!(
            "the backend {name:?} is read-only, so {} cannot be a target",
            palace.id
        ),
    )
    .with_hint("nothing was changed; name another target with --to, like `--to embedded:PATH`")
}

/// Returns whether another process wrote to the source since `before`.
fn has_source_changed(request: &MigrateRequest<'_>, before: &[CollectionInfo]) -> Result<bool> {
    let look = |infos: &[CollectionInfo]| -> Vec<_> {
        let infos = infos.iter();
        infos
            // Backends of other software may have no sequence number, so the counts are compared as well.
            .map(|info| (info.name.clone(), info.drawers, info.coverage.nearest, info.seq))
            .collect()
    };
    let BorrowedAddress {
        backend,
        reference: palace,
    } = request.from;
    Ok(look(&backend.collections(palace)?) != look(before))
}

/// A migration whose drawers are all copied and compared.
struct MigrateOutcome<'a> {
    request: &'a MigrateRequest<'a>,
    plans: &'a [CollectionPlan],
    survey: &'a SourceSurvey,
    checked: CheckedPalace,
    target: &'a MigrationTarget,
    finished: Timestamp,
}

impl MigrateOutcome<'_> {
    fn build_report(self, changed: bool) -> Result<MigrateReport> {
        let collections = self.build_collections();
        let MigrationVerdict { lossless, losses } =
            judge_migration(&collections, self.list_losses(changed), self.request.flags);
        let record = self.build_record(collections, lossless);
        let rows = record.collections.iter().map(count_rows).collect::<Vec<_>>();
        let mut findings = self.list_findings(&record)?;
        findings.extend(losses);
        if !self.store_record(&record)? {
            let message = "the target cannot store a record of the migration";
            findings.push(
                PalaceFinding::new("record_not_kept", FindingSeverity::Note, message)
                    .with_hint("keep the output of --json"),
            );
        }
        Ok(MigrateReport {
            lossless: record.lossless,
            rows: rows.iter().map(|one| one.rows).sum(),
            collections: rows,
            ok: is_success(&findings),
            findings,
            source_findings: Vec::new(),
            target: self.request.to.reference.id.clone(),
            replaced: None,
            secrets: None,
            resumed: self.target.resumed(),
            record,
        })
    }

    fn build_collections(&self) -> Vec<CollectionRecord> {
        let checks = self.plans.iter().zip(&self.checked.collections);
        checks
            .map(|(plan, checked)| {
                let survey = self.survey.of_collection(&plan.info.name);
                CollectionRecord::from_check(plan, checked, survey)
            })
            .collect()
    }

    fn build_record(&self, collections: Vec<CollectionRecord>, lossless: bool) -> MigrationRecord {
        let (from, to) = (self.request.from, self.request.to);
        MigrationRecord {
            from: from.reference.id.clone(),
            from_backend: from.backend.descriptor().name.clone(),
            to_backend: to.backend.descriptor().name.clone(),
            kind: plan::migration_kind(self.plans),
            lossless,
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

    /// Writes the record into every collection of the target. False if its backend has no records.
    fn store_record(&self, record: &MigrationRecord) -> Result<bool> {
        let backend = self.request.to.backend;
        if !backend.descriptor().has_capability(&Capability::Sources) {
            return Ok(false);
        }
        for plan in self.plans {
            // A collection may later be moved or compared on its own, so each keeps its own part and its
            // earlier history.
            let own = record.of_collection(
                &plan.info.name,
                record::read_records(self.request.from, &plan.info.name)?,
            );
            let options = OpenOptions::for_writing();
            let opened = backend.open(self.target.palace(), &plan.info.name, &options)?;
            record::store_record(opened.as_ref(), &own.to_json()?.to_string())?;
        }
        Ok(true)
    }

    /// Lists the losses of the source, which cannot be carried, and its change while it was read.
    fn list_losses(&self, changed: bool) -> Vec<PalaceFinding> {
        let from = self.request.from;
        let mut damage: Vec<PalaceFinding> = Vec::new();
        let known = self
            .plans
            .iter()
            .flat_map(|plan| plan.info.warnings.iter().cloned());
        // Asked again at the end, since reading every drawer may have met more.
        let met = from.backend.list_damage(from.reference);
        let graver = |finding: &PalaceFinding| finding.severity == FindingSeverity::Error;
        let counts = self.plans.iter().zip(&self.checked.collections);
        // A source that changed meanwhile has a warning of its own.
        let short = counts.filter(|_| !changed).filter_map(|(plan, checked)| {
            let vectors = checked
                .rows_from
                .saturating_sub(checked.lists.missing_vector.count);
            plan.find_missing(checked.rows_from, vectors)
        });
        let mixed = changed.then(|| self.warn_of_change());
        for finding in known.filter(graver).chain(met).chain(short).chain(mixed) {
            if !damage.contains(&finding) {
                damage.push(finding);
            }
        }
        damage
    }

    fn warn_of_change(&self) -> PalaceFinding {
        let message = format!(
            "{} changed while it was read, so the target may mix two states of it",
            self.request.from.reference.id
        );
        let again =
            "run the same command again with --overwrite, while no other process writes to the source";
        PalaceFinding::new("changed_meanwhile", FindingSeverity::Warning, message).with_hint(again)
    }

    fn list_findings(&self, record: &MigrationRecord) -> Result<Vec<PalaceFinding>> {
        let mut findings = Vec::new();
        for collection in &record.collections {
            findings.extend(collection.findings());
        }
        for plan in self.plans {
            findings.extend(plan.note_spaces_left(self.request.from)?);
        }
        Ok(findings)
    }
}

fn count_rows(collection: &CollectionRecord) -> CollectionRows {
    CollectionRows {
        name: collection.name.to_string(),
        rows: collection.rows,
        with_vector: collection.with_vector,
        without_vector: collection.rows.saturating_sub(collection.with_vector),
    }
}
