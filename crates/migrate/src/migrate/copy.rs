//! Copies collections batch by batch. Each batch is stored together with the progress it makes.

use std::collections::HashSet;

use loci_core::vector::check_vector;
use loci_core::{
    BackendDescriptor, Capability, Collection, CollectionExt, CreateMode, Drawer, DrawerFields, DrawerId,
    Error, ErrorKind, NewDrawer, OpenOptions, Result, RevisionOutcome, SourceRecordQuery, SourceRevision,
    Write,
};
use serde::{Deserialize, Serialize};

use super::plan::CollectionPlan;
use super::record::overtaken_error;
use super::stage::MigrationTarget;
use super::survey::{CollectionSurvey, SourceSurvey};
use super::{MigrateRequest, MigrateStep, carry};
use loci_engine::CollectionWalk;
use loci_engine::migration_records::{MIGRATION_RECORD, find_migration};
use loci_engine::palace::embed_batch;

/// The most drawers in a batch: as many as the embedded store seals into one segment of words, so that it writes them
/// once.
const MOST_DRAWERS: usize = 2048;
/// The size at which a batch is full, in bytes of text and vectors.
const BATCH_BYTES: usize = 8 << 20;
/// The number of source records read at a time.
const PAGE_SIZE: usize = 1024;

/// The progress of a copy, as the target stores it while the copy runs.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct CopyProgress {
    /// The digest of the request and source it belongs to.
    run: String,
    /// The last drawer that was copied.
    after: Option<DrawerId>,
    /// The number of drawers copied.
    done: u64,
}

impl CopyProgress {
    /// Returns whether it belongs to this run.
    pub(super) fn belongs_to_run(&self, run: &str) -> bool {
        self.run == run
    }
}

/// Returns the progress of a copy into `collection`, if one was begun.
pub(super) fn find_progress(
    collection: &dyn Collection,
    descriptor: &BackendDescriptor,
) -> Result<Option<CopyProgress>> {
    if !descriptor.has_capability(&Capability::Sources) {
        return Ok(None);
    }
    let kept = find_migration(collection)?;
    // Once a migration is finished the record holds its report, which does not parse as progress.
    Ok(kept.and_then(|record| serde_json::from_str(&record.stamp).ok()))
}

/// Copies every collection with its source records.
pub(super) fn copy_palace(
    request: &MigrateRequest<'_>,
    plans: &[CollectionPlan],
    survey: &SourceSurvey,
    target: &MigrationTarget,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<()> {
    let total = plans.iter().map(|plan| plan.info.drawers).sum();
    let mut done = 0;
    let (from, to) = (request.from, request.to);
    for plan in plans {
        let name = &plan.info.name;
        let source = from.backend.open(from.reference, name, &OpenOptions::default())?;
        // A collection may exist from an interrupted run, so creating it must accept that.
        let options = plan.open_options();
        let goal = to
            .backend
            .create(target.palace(), name, CreateMode::OpenExisting, &options)?;
        let mut copy = CollectionCopy {
            source: source.as_ref(),
            target: goal.as_ref(),
            plan,
            survey: survey.of_collection(name),
            embeddings: plan.carries_vectors()
                && from
                    .backend
                    .descriptor()
                    .has_capability(&Capability::EmbeddingsOut),
            keeps_records: to.backend.descriptor().has_capability(&Capability::Sources),
            dimension: goal
                .info()?
                .dimension
                .or(plan.info.dimension.filter(|_| plan.carries_vectors())),
            revision: None,
            progress: CopyProgress {
                run: target.run_digest(),
                after: None,
                done: 0,
            },
        };
        copy.copy_drawers(&mut |copied| watch(MigrateStep::Copied(done + copied, total)))?;
        // Counts what an earlier run copied as well, so that progress does not start at zero after a resume.
        done += copy.progress.done;
        if copy.keeps_records && from.backend.descriptor().has_capability(&Capability::Sources) {
            copy.copy_source_records()?;
        }
    }
    Ok(())
}

struct CollectionCopy<'a> {
    source: &'a dyn Collection,
    target: &'a dyn Collection,
    plan: &'a CollectionPlan,
    survey: &'a CollectionSurvey,
    /// Whether vectors are read from the source.
    embeddings: bool,
    /// Whether the target can store progress and source records.
    keeps_records: bool,
    /// The length of vectors, once it is known.
    dimension: Option<usize>,
    revision: Option<u64>,
    progress: CopyProgress,
}

/// Drawers that wait for their commit.
#[derive(Default)]
struct PendingBatch {
    drawers: Vec<NewDrawer>,
    bytes: usize,
    /// The last drawer of the source that was read.
    after: Option<DrawerId>,
    /// The number of drawers read since the last commit.
    seen: u64,
}

impl<'a> CollectionCopy<'a> {
    fn copy_drawers(&mut self, tick: &mut dyn FnMut(u64)) -> Result<()> {
        self.resume_progress()?;
        let mut waiting = PendingBatch::default();
        for drawer in self.walk_source() {
            let drawer = drawer?;
            // Skipped drawers count as well: progress and cursor describe how far the source was read.
            waiting.seen += 1;
            waiting.after = Some(drawer.id.clone());
            if let Some(new) = self.carry_drawer(drawer) {
                waiting.bytes += carry::estimate_size(&new);
                waiting.drawers.push(new);
            }
            if waiting.drawers.len() >= MOST_DRAWERS || waiting.bytes >= BATCH_BYTES {
                self.flush_batch(std::mem::take(&mut waiting))?;
                tick(self.progress.done);
            }
        }
        self.flush_batch(waiting)?;
        tick(self.progress.done);
        Ok(())
    }

    /// Walks the drawers of the source behind those that are copied.
    fn walk_source(&self) -> CollectionWalk<'a> {
        let include = DrawerFields {
            embedding: self.embeddings,
            ..DrawerFields::EVERYTHING
        };
        CollectionWalk::new(self.source, include).starting_after(self.progress.after.clone())
    }

    /// Converts a drawer for the target, unless it is collapsed into another or no backend accepts it.
    fn carry_drawer(&mut self, drawer: Drawer) -> Option<NewDrawer> {
        if self.survey.dropped.contains(&drawer.id) {
            return None;
        }
        if self.dimension.is_none() && self.plan.carries_vectors() {
            // The first valid vector decides. A resumed run takes the length from the target instead.
            let metric = self.plan.info.metric;
            let sound = |vector: &&Vec<f32>| check_vector(vector, metric).is_ok();
            self.dimension = drawer.embedding.as_ref().filter(sound).map(Vec::len);
        }
        let expected = carry::expected_drawer(drawer, self.plan, self.survey, self.dimension);
        // A drawer that no backend accepts is skipped; the check finds it missing and names it.
        carry::to_new_drawer(expected, self.plan.info.metric).ok()
    }

    /// Resumes where an earlier run stopped, if the target has its progress.
    fn resume_progress(&mut self) -> Result<()> {
        if !self.keeps_records {
            return Ok(());
        }
        let Some(record) = find_migration(self.target)? else {
            return Ok(());
        };
        // Needed even if the record is not ours to resume: the next write must name the revision it replaces.
        self.revision = Some(record.revision);
        let begun = serde_json::from_str::<CopyProgress>(&record.stamp).ok();
        if let Some(begun) = begun.filter(|begun| begun.belongs_to_run(&self.progress.run)) {
            self.progress = begun;
        }
        Ok(())
    }

    fn flush_batch(&mut self, waiting: PendingBatch) -> Result<()> {
        if waiting.seen == 0 {
            return Ok(());
        }
        let batch = self.embed_drawers(waiting.drawers)?;
        let next = CopyProgress {
            after: waiting.after,
            done: self.progress.done + waiting.seen,
            ..self.progress.clone()
        };
        match self.commit_batch(batch, &next) {
            // The batch was whole or nothing, so every drawer of it can be tried again.
            Err(error) if is_drawer_error(&error) => self.commit_one_by_one(&next)?,
            done => done?,
        }
        self.progress = next;
        Ok(())
    }

    /// Makes writes of drawers, with the vectors that the plan has made for them.
    fn embed_drawers(&self, drawers: Vec<NewDrawer>) -> Result<Vec<Write>> {
        let mut batch: Vec<Write> = drawers.into_iter().map(Write::Add).collect();
        if let Some(embedder) = self.plan.embedder() {
            // Before the commit, so that no lock is held while a model works.
            embed_batch(embedder, &mut batch, &HashSet::new())?;
        }
        Ok(batch)
    }

    /// Commits the drawers up to `next` one by one, so that a single bad drawer is left out and not its whole batch.
    fn commit_one_by_one(&mut self, next: &CopyProgress) -> Result<()> {
        // The cursor moves only with the last commit: after a crash in between, the whole batch is tried
        // again.
        let still = self.progress.clone();
        // Read again rather than kept, since a copy of every batch would cost more than this rare second reading.
        for drawer in self.walk_source() {
            let drawer = drawer?;
            if next.after.as_ref().is_some_and(|last| drawer.id > *last) {
                break;
            }
            let Some(new) = self.carry_drawer(drawer) else {
                continue;
            };
            let batch = self.embed_drawers(vec![new])?;
            match self.commit_batch(batch, &still) {
                Err(error) if is_drawer_error(&error) => {}
                done => done?,
            }
        }
        self.commit_batch(Vec::new(), next)
    }

    /// Stores a batch and its progress in one transaction.
    fn commit_batch(&mut self, batch: Vec<Write>, at: &CopyProgress) -> Result<()> {
        if !self.keeps_records {
            return if batch.is_empty() {
                Ok(())
            } else {
                self.target.apply_batch(&batch).map(drop)
            };
        }
        let stamp = serde_json::to_string(at).map_err(|cause| {
            Error::new(
                ErrorKind::Internal,
                "cannot write the progress of the copy as JSON",
            )
            .caused_by(cause)
        })?;
        let revision = SourceRevision {
            source: MIGRATION_RECORD.to_owned(),
            expects: self.revision,
            stamp: Some(stamp),
            parts: Box::new(std::iter::once(batch)),
        };
        match self.target.require_sources()?.revise(vec![revision])?.pop() {
            Some(RevisionOutcome::Done { revision, .. }) => {
                self.revision = revision;
                Ok(())
            }
            _ => Err(overtaken_error()),
        }
    }

    /// Copies the records of sources, so that mining finds the sources unchanged.
    fn copy_source_records(&self) -> Result<()> {
        visit_record_pages(self.source, &mut |page| {
            let records = page.into_iter();
            let revisions = records.map(|(source, stamp)| SourceRevision {
                source,
                expects: None,
                stamp: Some(stamp),
                parts: Box::new(std::iter::empty()),
            });
            // A record that exists was copied by an earlier run: `expects: None` passes over it, and that is
            // fine.
            self.target
                .require_sources()?
                .revise(revisions.collect())
                .map(drop)
        })
    }
}

/// Returns the number of source records, and how many of them are equal in both collections.
pub(super) fn count_equal_records(source: &dyn Collection, target: &dyn Collection) -> Result<(u64, u64)> {
    let (mut all, mut alike) = (0, 0);
    visit_record_pages(source, &mut |page| {
        let names = page.iter().map(|(source, _)| source.clone()).collect();
        let there = target
            .require_sources()?
            .find_records(&SourceRecordQuery::Named(names))?
            .into_iter();
        let there: HashSet<(String, String)> = there.map(|record| (record.source, record.stamp)).collect();
        all += page.len() as u64;
        alike += page.iter().filter(|record| there.contains(record)).count() as u64;
        Ok(())
    })?;
    Ok((all, alike))
}

/// Visits the names and stamps of all sources, page by page, except the record of the migration itself.
fn visit_record_pages(
    collection: &dyn Collection,
    each: &mut dyn FnMut(Vec<(String, String)>) -> Result<()>,
) -> Result<()> {
    let mut after = None;
    loop {
        let page = collection
            .require_sources()?
            .find_records(&SourceRecordQuery::Under {
                prefix: String::new(),
                after,
                limit: PAGE_SIZE,
            })?;
        // Asked of the page as it was read: the filter below may empty one that is not the last.
        let Some(last) = page.last() else {
            return Ok(());
        };
        after = Some(last.source.clone());
        let records = page
            .into_iter()
            .filter(|record| record.source != MIGRATION_RECORD);
        each(records.map(|record| (record.source, record.stamp)).collect())?;
    }
}

/// Returns whether an error concerns a single drawer, so that the others can still be copied.
fn is_drawer_error(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::DimensionMismatch)
}
