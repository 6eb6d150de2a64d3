//! Copies collections batch by batch; each is stored together with how far it reaches.

use std::collections::HashSet;

use loci_core::{
    Capability, Collection, CollectionExt, CreateMode, Descriptor, DrawerId, Error, ErrorKind, Include,
    NewDrawer, OpenOptions, Result, Revised, Revision, Sources, Write,
};
use serde::{Deserialize, Serialize};

use super::plan::Plan;
use super::record::overtaken;
use super::stage::Target;
use super::survey::{CollectionSurvey, Survey};
use super::{MigrateRequest, Step, carry};
use loci_engine::Walk;
use loci_engine::moves::{MIGRATION_RECORD, find_migration};
use loci_engine::palace::embed_batch;

/// The most drawers of a batch.
const BATCH: usize = 1000;
/// How much text and vector a batch aims at, in bytes.
const BATCH_BYTES: usize = 8 << 20;
/// How many records of sources are read together.
const PAGE: usize = 1024;

/// How far a copy is, as the target keeps it while it is under way.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Progress {
    /// Whose work it is.
    run: String,
    /// The last drawer that was copied.
    after: Option<DrawerId>,
    /// How many were.
    done: u64,
}

impl Progress {
    /// Whether it is work of this run.
    pub(super) fn is_of(&self, run: &str) -> bool {
        self.run == run
    }
}

/// How far a copy into `collection` is, if one is under way.
pub(super) fn progress(collection: &dyn Collection, descriptor: &Descriptor) -> Result<Option<Progress>> {
    if !descriptor.can(&Capability::Sources) {
        return Ok(None);
    }
    let kept = find_migration(collection)?;
    Ok(kept.and_then(|record| serde_json::from_str(&record.stamp).ok()))
}

/// Copies every collection, and what is remembered of its sources.
pub(super) fn palace(
    request: &MigrateRequest<'_>,
    plans: &[Plan],
    survey: &Survey,
    target: &Target,
    watch: &mut dyn FnMut(Step<'_>),
) -> Result<()> {
    let total = plans.iter().map(|plan| plan.info.drawers).sum();
    let mut done = 0;
    let (from, to) = (request.from, request.to);
    for plan in plans {
        let name = &plan.info.name;
        let source = from.backend.open(from.reference, name, &OpenOptions::default())?;
        let options = plan.open_options();
        let goal = to
            .backend
            .create(target.palace(), name, CreateMode::OpenExisting, &options)?;
        let mut copy = Copy {
            source: source.as_ref(),
            target: goal.as_ref(),
            plan,
            survey: survey.of_collection(name),
            embeddings: plan.carries_vectors() && from.backend.descriptor().can(&Capability::EmbeddingsOut),
            remembers: to.backend.descriptor().can(&Capability::Sources),
            dimension: goal
                .info()?
                .dimension
                .or(plan.info.dimension.filter(|_| plan.carries_vectors())),
            revision: None,
            at: Progress {
                run: target.run(),
                after: None,
                done: 0,
            },
        };
        copy.run(&mut |copied| watch(Step::Copied(done + copied, total)))?;
        done += copy.at.done;
        if copy.remembers && from.backend.descriptor().can(&Capability::Sources) {
            copy.sources()?;
        }
    }
    Ok(())
}

struct Copy<'a> {
    source: &'a dyn Collection,
    target: &'a dyn Collection,
    plan: &'a Plan,
    survey: &'a CollectionSurvey,
    /// Whether the source is asked for vectors.
    embeddings: bool,
    /// Whether the target keeps how far this is.
    remembers: bool,
    /// How many values vectors must have, once that is settled.
    dimension: Option<usize>,
    revision: Option<u64>,
    at: Progress,
}

/// Drawers that wait for their commit.
#[derive(Default)]
struct Waiting {
    drawers: Vec<NewDrawer>,
    bytes: usize,
    /// The last drawer of the source that was looked at, and how many since the last commit.
    after: Option<DrawerId>,
    seen: u64,
}

impl Copy<'_> {
    fn run(&mut self, tick: &mut dyn FnMut(u64)) -> Result<()> {
        self.resume()?;
        let include = Include {
            embedding: self.embeddings,
            ..Include::EVERYTHING
        };
        let mut waiting = Waiting::default();
        for drawer in Walk::new(self.source, include).after(self.at.after.clone()) {
            let drawer = drawer?;
            waiting.seen += 1;
            waiting.after = Some(drawer.id.clone());
            if self.survey.dropped.contains(&drawer.id) {
                continue;
            }
            if self.dimension.is_none() && self.plan.carries_vectors() {
                let sound = |vector: &&Vec<f32>| loci_core::write::check_vector(vector).is_ok();
                self.dimension = drawer.embedding.as_ref().filter(sound).map(Vec::len);
            }
            // One that no backend takes is found missing, and named, when both sides are compared.
            if let Ok(new) = carry::filed(carry::expected(drawer, self.plan, self.survey, self.dimension)) {
                waiting.bytes += carry::size(&new);
                waiting.drawers.push(new);
            }
            if waiting.drawers.len() >= BATCH || waiting.bytes >= BATCH_BYTES {
                self.flush(std::mem::take(&mut waiting))?;
                tick(self.at.done);
            }
        }
        self.flush(waiting)?;
        tick(self.at.done);
        Ok(())
    }

    /// Goes on where an earlier run stopped, if the target says so.
    fn resume(&mut self) -> Result<()> {
        if !self.remembers {
            return Ok(());
        }
        let Some(record) = find_migration(self.target)? else {
            return Ok(());
        };
        self.revision = Some(record.revision);
        let begun = serde_json::from_str::<Progress>(&record.stamp).ok();
        if let Some(begun) = begun.filter(|begun| begun.is_of(&self.at.run)) {
            self.at = begun;
        }
        Ok(())
    }

    fn flush(&mut self, waiting: Waiting) -> Result<()> {
        if waiting.seen == 0 {
            return Ok(());
        }
        let mut batch: Vec<Write> = waiting.drawers.into_iter().map(Write::Add).collect();
        if let Some(embedder) = self.plan.embedder() {
            embed_batch(embedder, &mut batch, &HashSet::new())?;
        }
        let next = Progress {
            after: waiting.after,
            done: self.at.done + waiting.seen,
            ..self.at.clone()
        };
        match self.commit(batch.clone(), &next) {
            Err(error) if is_of_a_drawer(&error) => self.one_by_one(batch, &next)?,
            done => done?,
        }
        self.at = next;
        Ok(())
    }

    /// Where one drawer spoils the batch, only that one is left behind.
    fn one_by_one(&mut self, batch: Vec<Write>, next: &Progress) -> Result<()> {
        let still = self.at.clone();
        for write in batch {
            match self.commit(vec![write], &still) {
                Err(error) if is_of_a_drawer(&error) => {}
                done => done?,
            }
        }
        self.commit(Vec::new(), next)
    }

    /// Stores a batch together with how far it reaches.
    fn commit(&mut self, batch: Vec<Write>, at: &Progress) -> Result<()> {
        if !self.remembers {
            return match batch.is_empty() {
                true => Ok(()),
                false => self.target.apply_batch(&batch).map(drop),
            };
        }
        let stamp = serde_json::to_string(at).map_err(|cause| {
            Error::new(ErrorKind::Internal, "how far a copy is cannot be written as JSON").caused_by(cause)
        })?;
        let revision = Revision {
            source: MIGRATION_RECORD.to_owned(),
            expects: self.revision,
            stamp: Some(stamp),
            parts: Box::new(std::iter::once(batch)),
        };
        match self.target.require_sources()?.revise(vec![revision])?.pop() {
            Some(Revised::Done { revision, .. }) => {
                self.revision = revision;
                Ok(())
            }
            _ => Err(overtaken()),
        }
    }

    /// Carries what is remembered of sources, so that mining them again finds them unchanged.
    fn sources(&self) -> Result<()> {
        each_page(self.source, &mut |page| {
            let records = page.into_iter();
            let revisions = records.map(|(source, stamp)| Revision {
                source,
                expects: None,
                stamp: Some(stamp),
                parts: Box::new(std::iter::empty()),
            });
            // One that is there was carried by an earlier run.
            self.target
                .require_sources()?
                .revise(revisions.collect())
                .map(drop)
        })
    }
}

/// How many records of sources there are, and how many both collections have alike.
pub(super) fn sources_alike(source: &dyn Collection, target: &dyn Collection) -> Result<(u64, u64)> {
    let (mut all, mut alike) = (0, 0);
    each_page(source, &mut |page| {
        let names = page.iter().map(|(source, _)| source.clone()).collect();
        let there = target
            .require_sources()?
            .find_records(&Sources::Named(names))?
            .into_iter();
        let there: HashSet<(String, String)> = there.map(|record| (record.source, record.stamp)).collect();
        all += page.len() as u64;
        alike += page.iter().filter(|record| there.contains(record)).count() as u64;
        Ok(())
    })?;
    Ok((all, alike))
}

/// The names and stamps of all sources, a page at a time, but for the record of the migration itself.
fn each_page(
    collection: &dyn Collection,
    each: &mut dyn FnMut(Vec<(String, String)>) -> Result<()>,
) -> Result<()> {
    let mut after = None;
    loop {
        let page = collection.require_sources()?.find_records(&Sources::Under {
            prefix: String::new(),
            after,
            limit: PAGE,
        })?;
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

/// Whether an error says that one drawer is wrong, so that the others can go on.
fn is_of_a_drawer(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Invalid | ErrorKind::DimensionMismatch)
}
