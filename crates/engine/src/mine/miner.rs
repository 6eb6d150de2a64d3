//! One run of mining: looks at what is found, reads what is new, files it in groups, and keeps the books.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Instant;

use loci_core::{
    Capability, Collection, Error, ErrorKind, OpenOptions, Result, Revised, SourceRecord, Sources, Timestamp,
};

use super::formats::{self, Chosen};
use super::found::{bytes_of, each_found, seen_of};
use super::group::{self, Group, Waiting};
use super::project::tidy_name;
use super::shelving::{Shelving, spelled};
use super::stamp::{Asked, Look, Seen, Stamp};
use super::stat::Stat;
use super::walk::{Cause, Found};
use super::{FailedSource, MineReport, MineRequest, Progress, SkippedSource, name};
use crate::filing::{Filing, Place};
use crate::switch::fill_after;

/// How many found things are looked up together.
const BATCH: usize = 256;

/// How often a source is looked at again because somebody else filed it meanwhile.
const PATIENCE: u32 = 32;

/// Something found that is being dealt with.
#[derive(Debug, Clone)]
pub(crate) struct Job {
    /// What was found.
    pub(crate) found: Found,
    /// The name of its source.
    pub(crate) source: String,
    /// How often it was looked at.
    attempts: u32,
}

/// Why a source was not filed.
pub(crate) enum Trouble {
    /// It is nothing to mine.
    Skip(String),
    /// It is wrong in itself.
    Source(String),
    /// Nothing can be filed any more.
    Fatal(Error),
}

/// What became of reading a source.
pub(crate) type Dealt = std::result::Result<(), Trouble>;

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

/// A run.
pub(crate) struct Miner<'a> {
    pub(crate) place: &'a Place<'a>,
    pub(crate) request: &'a MineRequest,
    pub(crate) asked: Asked,
    pub(crate) chosen: Option<Chosen>,
    pub(crate) collection: Option<Arc<dyn Collection>>,
    pub(crate) shelving: Shelving,
    pub(crate) report: MineReport,
    clock: &'a dyn Fn() -> Timestamp,
    watch: &'a mut dyn FnMut(Progress),
    filing: Option<Filing>,
    group: Group,
    /// What was found and is not dealt with yet, by ticket.
    jobs: HashMap<usize, Job>,
    tickets: usize,
    again: Vec<usize>,
    progress: Progress,
}

impl<'a> Miner<'a> {
    /// Gets ready; makes nothing.
    pub(crate) fn new(
        place: &'a Place<'a>,
        request: &'a MineRequest,
        clock: &'a dyn Fn() -> Timestamp,
        watch: &'a mut dyn FnMut(Progress),
    ) -> Result<Self> {
        place.backend.descriptor().require(&Capability::Sources)?;
        let how = OpenOptions::default();
        let collection = match place.backend.open(place.palace, place.collection, &how) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            opened => Some(opened?),
        };
        for name in [&request.wing, &request.room].into_iter().flatten() {
            if tidy_name(name).is_none() {
                return Err(
                    Error::invalid(format!("{name:?} is no name for a wing or a room")).hint(
                        "nothing was mined; give --wing and --room names with something to see in them",
                    ),
                );
            }
        }
        let asked = Asked {
            format: request.format.clone(),
            wing: match (request.wing.as_deref().and_then(tidy_name), &collection) {
                (Some(wing), Some(collection)) => Some(spelled(collection.as_ref(), &wing)?),
                (wing, _) => wing,
            },
            room: request.room.clone(),
            since: request.since,
            pieces: request.cutting.target,
        };
        Ok(Self {
            chosen: formats::chosen(request.format.as_deref())?,
            report: MineReport {
                plan: request.dry_run.then(Vec::new),
                ..MineReport::default()
            },
            place,
            request,
            asked,
            collection,
            shelving: Shelving::default(),
            clock,
            watch,
            filing: None,
            group: Group::default(),
            jobs: HashMap::new(),
            tickets: 0,
            again: Vec::new(),
            progress: Progress::default(),
        })
    }

    /// Mines everything.
    pub(crate) fn run(mut self) -> Result<MineReport> {
        let mut batch = Vec::with_capacity(BATCH);
        each_found(self.request, &mut |found| {
            batch.push(found);
            match batch.len() < BATCH {
                true => Ok(()),
                false => self.look(std::mem::take(&mut batch)),
            }
        })?;
        self.look(batch)?;
        self.settle()?;
        if !self.request.dry_run {
            self.fill()?;
            self.find_vanished()?;
        }
        Ok(self.report)
    }

    /// Deals with some found things: unchanged ones cost no more than the stat that found them.
    fn look(&mut self, batch: Vec<Found>) -> Result<()> {
        let mut jobs = Vec::new();
        for found in batch {
            match &found {
                Found::File { path, .. } | Found::Bundle { path, .. } => jobs.push(Job {
                    source: name::of_path(path),
                    found,
                    attempts: 0,
                }),
                Found::Skipped { path, reason } => {
                    self.report.sources_seen += 1;
                    self.skip(name::of_path(path), reason.clone());
                }
                Found::LeftOut { cause, .. } => match cause {
                    Cause::Hidden => self.report.left_out.hidden += 1,
                    Cause::Ignored => self.report.left_out.ignored += 1,
                    Cause::Vendored => self.report.left_out.vendored += 1,
                },
            }
        }
        let records = self.records(jobs.iter().map(|job| job.source.clone()).collect())?;
        for job in jobs {
            self.report.sources_seen += 1;
            let found = records.binary_search_by(|record| record.source.cmp(&job.source));
            let record = found.ok().and_then(|at| records.get(at)).cloned();
            self.consider(job, record)?;
        }
        Ok(())
    }

    /// What is remembered of some sources, in order of their names.
    pub(crate) fn records(&self, names: Vec<String>) -> Result<Vec<SourceRecord>> {
        match &self.collection {
            Some(collection) if !names.is_empty() => collection.sources(&Sources::Named(names)),
            _ => Ok(Vec::new()),
        }
    }

    /// What is remembered of one source.
    pub(crate) fn record(&self, name: &str) -> Result<Option<SourceRecord>> {
        Ok(self.records(vec![name.to_owned()])?.pop())
    }

    fn consider(&mut self, job: Job, record: Option<SourceRecord>) -> Result<()> {
        self.request.stop.check()?;
        let seen = seen_of(&job.found);
        let stamp = record.as_ref().and_then(|record| Stamp::from_text(&record.stamp));
        if let Some(stamp) = &stamp
            && stamp.covers(&seen, &self.asked)
        {
            self.unchanged(stamp.drawers);
            self.advance(&job.found);
            return Ok(());
        }
        let ticket = self.tickets;
        self.tickets += 1;
        let dealt = match self.is_too_old(&job.found) {
            true => Err(Trouble::Skip(
                "it was not changed since the time that was asked for".into(),
            )),
            false => {
                self.jobs.insert(ticket, job.clone());
                if let Some(collection) = &self.collection {
                    self.shelving.learn(collection.as_ref())?;
                }
                self.read(ticket, &job, record.map(|record| record.revision), stamp.as_ref())
            }
        };
        self.advance(&job.found);
        if dealt.is_err() {
            self.jobs.remove(&ticket);
        }
        match dealt {
            Ok(()) => {}
            Err(Trouble::Skip(reason)) => self.skip(job.source, reason),
            Err(Trouble::Source(error)) => self.fail(job.source, error),
            Err(Trouble::Fatal(error)) => return Err(error),
        }
        self.look_again()
    }

    fn is_too_old(&self, found: &Found) -> bool {
        let newest = match found {
            Found::File { stat, .. } => Some(stat.modified),
            Found::Bundle { files, .. } => files.iter().map(|(_, stat)| stat.modified).max(),
            _ => None,
        };
        match (self.request.since, newest) {
            (Some(since), Some(newest)) => newest / 1000 < since.as_micros(),
            _ => false,
        }
    }

    /// Takes up sources that somebody else filed meanwhile.
    fn look_again(&mut self) -> Result<()> {
        while let Some(ticket) = self.again.pop() {
            let Some(job) = self.jobs.remove(&ticket) else {
                continue;
            };
            if job.attempts >= PATIENCE {
                self.fail(
                    job.source,
                    "others kept filing it; it is as they left it".to_owned(),
                );
                continue;
            }
            let record = self.record(&job.source)?;
            let job = Job {
                attempts: job.attempts + 1,
                ..job
            };
            self.consider(job, record)?;
        }
        Ok(())
    }

    /// Commits what waits until nothing does.
    fn settle(&mut self) -> Result<()> {
        while !self.group.is_empty() || !self.again.is_empty() {
            self.flush()?;
            self.look_again()?;
        }
        Ok(())
    }

    /// Hands a compared source over to be filed.
    pub(crate) fn push(&mut self, waiting: Waiting) -> Result<()> {
        match self.group.push(waiting) {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Whether a source that came with this ticket was overtaken and will be looked at again.
    pub(crate) fn is_overtaken(&self, ticket: usize) -> bool {
        self.again.contains(&ticket)
    }

    /// Commits what waits.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let mut waiting = self.group.take();
        if waiting.is_empty() {
            return Ok(());
        }
        self.request.stop.check()?;
        let filing = self.filing()?;
        let large = waiting.iter().any(Waiting::is_large);
        let before = match large {
            true => Some(filing.collection().info()?.seq.0),
            false => None,
        };
        let began = Instant::now();
        self.embed(&filing, &mut waiting)?;
        self.group.pace(began.elapsed());
        let mut done = group::commit(&filing, &waiting);
        if matches!(&done, Err(error) if error.kind() == ErrorKind::IdentityMismatch) {
            // Somebody moved the collection to another model meanwhile: go on with that one.
            self.filing = None;
            let filing = self.filing()?;
            group::forget_vectors(&mut waiting);
            self.embed(&filing, &mut waiting)?;
            done = group::commit(&filing, &waiting);
        }
        let done = done.map_err(|error| {
            let filed = self.report.sources_mined;
            error.with("sources_filed_before", filed)
        })?;
        for (one, done) in waiting.into_iter().zip(done) {
            self.note_done(one, done);
        }
        (self.watch)(self.progress);
        before.map_or(Ok(()), |seq| self.fill_after(seq))
    }

    /// Embeds what waits. A model that fails does not keep words from being filed: they are found by keyword, and get
    /// their vectors when the model is well again.
    fn embed(&mut self, filing: &Filing, waiting: &mut [Waiting]) -> Result<()> {
        if self.report.lacking.is_some() {
            return Ok(());
        }
        match group::embed(filing, waiting) {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                group::forget_vectors(waiting);
                self.report.lacking = Some(error.to_string());
                Ok(())
            }
            embedded => embedded,
        }
    }

    fn note_done(&mut self, one: Waiting, done: Result<Revised>) {
        let ended = one.ends != group::Ends::No && !matches!(done, Ok(Revised::Overtaken));
        if ended || done.is_err() {
            self.jobs.remove(&one.ticket);
        }
        match done {
            Ok(Revised::Done { receipt, .. }) => {
                let report = &mut self.report;
                report.drawers_added += receipt.added.len() as u64;
                report.drawers_removed += receipt.deleted.len() as u64;
                report.drawers_kept += one.kept + (receipt.kept.len() + receipt.twins.len()) as u64;
                report.sources_mined += u64::from(one.ends == group::Ends::Mined);
                report.sources_unchanged += u64::from(one.ends == group::Ends::Unchanged);
                self.progress.drawers = report.drawers_added;
            }
            Ok(Revised::Overtaken) => {
                if !self.is_overtaken(one.ticket) {
                    self.again.push(one.ticket);
                }
            }
            Err(error) => self.fail(one.source, error.to_string()),
        }
    }

    /// The collection opened to be written, made if it is missing.
    fn filing(&mut self) -> Result<Filing> {
        if let Some(filing) = &self.filing {
            return Ok(filing.clone());
        }
        let filing = Filing::open(self.place, None)?;
        self.report.lacking.clone_from(&filing.lacking);
        self.collection = Some(filing.collection().clone());
        self.filing = Some(filing.clone());
        Ok(filing)
    }

    /// Gives a vector to what has none still, because an earlier run was stopped before it came to that.
    fn fill(&mut self) -> Result<()> {
        let Some(collection) = self.collection.clone() else {
            return Ok(());
        };
        let lacks = |collection: &dyn Collection| -> Result<u64> {
            let info = collection.info()?;
            Ok(info.drawers.saturating_sub(info.coverage.nearest))
        };
        if lacks(collection.as_ref())? > 0 {
            self.fill_after(0)?;
        }
        self.report.without_vector = lacks(collection.as_ref())?.min(self.report.drawers_added);
        Ok(())
    }

    /// Gives a vector to every drawer that has none and was filed after the collection's `seq` was this.
    fn fill_after(&mut self, seq: u64) -> Result<()> {
        let filing = self.filing()?;
        let able = self.report.lacking.is_none() && self.place.backend.descriptor().can(&Capability::Spaces);
        let Some(embedder) = filing.embedder().filter(|_| able) else {
            return Ok(());
        };
        let progress = self.progress;
        let watch = &mut self.watch;
        let filled = fill_after(filing.collection().as_ref(), embedder, seq, &mut |_| {
            watch(progress);
            true
        });
        match filled {
            Err(error) if error.kind() == ErrorKind::Unavailable => {
                self.report.lacking = Some(error.to_string());
                Ok(())
            }
            // Somebody moved the collection to another model meanwhile, and filled it.
            Err(error) if error.kind() == ErrorKind::IdentityMismatch => Ok(()),
            filled => filled,
        }
    }

    fn find_vanished(&mut self) -> Result<()> {
        if let Some(collection) = &self.collection {
            self.report.vanished = crate::sync::vanished(collection.as_ref(), &self.request.paths)?;
        }
        Ok(())
    }

    /// What a source looks like now, as it will be remembered.
    pub(crate) fn look_of(&self, seen: Seen, stats: &[Stat]) -> Look {
        let now = (self.clock)().as_micros().saturating_mul(1000);
        Look {
            seen,
            fresh: stats.iter().any(|stat| stat.is_fresh(now)),
        }
    }

    fn unchanged(&mut self, drawers: u64) {
        self.report.sources_unchanged += 1;
        self.report.drawers_kept += drawers;
    }

    fn advance(&mut self, found: &Found) {
        self.progress.sources += 1;
        self.progress.bytes += bytes_of(found).unwrap_or(0);
        (self.watch)(self.progress);
    }

    pub(crate) fn skip(&mut self, source: String, reason: String) {
        self.report.skipped.push(SkippedSource { source, reason });
    }

    fn fail(&mut self, source: String, error: String) {
        self.report.sources_failed.push(FailedSource { source, error });
    }
}
