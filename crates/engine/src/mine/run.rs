//! One run of mining: takes what a walk finds through the stages, and takes up again what was overtaken.

use loci_core::{Error, Result, Timestamp};
use loci_mine::project::tidy_name;
use loci_mine::{LoadedSource, ReadOptions, SourceTrouble, WalkEvent, WalkRequest, formats, name};

use super::account::Account;
use super::commit::Committer;
use super::drafter::{Drafter, SourceReading};
use super::filer::Filer;
use super::lookup::{self, KnownRecord, LookupVerdict};
use super::queue::{JobTicket, OvertakenJob, SourceJob};
use super::shelving::spelled;
use super::stamp::{Asked, Look, Stamp};
use super::trouble::MineTrouble;
use super::{MineReport, MineRequest, Progress};
use crate::palace::Palace;

/// How many found sources are looked up together.
const BATCH: usize = 256;

/// A run.
pub(crate) struct MineRun<'a> {
    request: &'a MineRequest,
    clock: &'a dyn Fn() -> Timestamp,
    options: ReadOptions,
    asked: Asked,
    filer: Filer<'a>,
}

/// The walk a request asks for.
pub(crate) fn walk_request(request: &MineRequest) -> Result<WalkRequest<'_>> {
    Ok(WalkRequest {
        roots: &request.paths,
        max_bytes: request.max_bytes,
        hidden: request.hidden,
        ignored: request.ignored,
        bundles: formats::bundles_of(formats::chosen(request.format.as_deref())?),
        avoid: &request.avoid,
        excludes: request.excludes.as_deref(),
    })
}

impl<'a> MineRun<'a> {
    /// Gets ready; makes nothing.
    pub(crate) fn new(
        palace: &'a Palace,
        request: &'a MineRequest,
        clock: &'a dyn Fn() -> Timestamp,
        watch: &'a mut dyn FnMut(Progress),
    ) -> Result<Self> {
        let committer = Committer::new(palace)?;
        let asked = asked_of(request, &committer)?;
        let options = ReadOptions {
            format: formats::chosen(request.format.as_deref())?,
            cutting: request.cutting,
        };
        let drafter = Drafter::new(request, asked.clone());
        let account = Account::new(request.dry_run, watch);
        Ok(Self {
            request,
            clock,
            options,
            asked,
            filer: Filer::new(request, drafter, committer, account),
        })
    }

    /// Mines everything.
    pub(crate) fn run(mut self) -> Result<MineReport> {
        let mut batch = Vec::with_capacity(BATCH);
        for event in loci_mine::walk(&walk_request(self.request)?)? {
            self.request.stop.check()?;
            batch.push(event);
            if batch.len() == BATCH {
                self.take_events(std::mem::take(&mut batch))?;
            }
        }
        self.take_events(batch)?;
        while self.filer.has_waiting() || self.filer.queue.has_overtaken() {
            self.filer.flush()?;
            self.take_overtaken()?;
        }
        self.end()
    }

    fn take_events(&mut self, batch: Vec<WalkEvent>) -> Result<()> {
        let account = &mut self.filer.account;
        let mut jobs = Vec::new();
        for event in batch {
            match event {
                WalkEvent::Source(found) => jobs.push(SourceJob::new(found)),
                WalkEvent::Skipped { path, reason } => {
                    account.count_seen();
                    account.list_skipped(name::of_path(&path), reason);
                }
                WalkEvent::LeftOut { cause, .. } => account.count_left_out(cause),
            }
        }
        let collection = self.filer.committer.collection();
        let names = jobs.iter().map(|job| job.source.clone()).collect();
        let mut records = lookup::find_records(collection.as_deref(), names)?;
        for job in jobs {
            self.filer.account.count_seen();
            let record = records.remove(&job.source);
            self.take_job(job, record)?;
            self.take_overtaken()?;
        }
        Ok(())
    }

    /// Takes up every source that another process filed meanwhile.
    fn take_overtaken(&mut self) -> Result<()> {
        while let Some(overtaken) = self.filer.queue.next_overtaken() {
            match overtaken {
                OvertakenJob::Again(job) => {
                    let collection = self.filer.committer.collection();
                    let record = lookup::find_record(collection.as_deref(), &job.source)?;
                    self.take_job(job, record)?;
                }
                OvertakenJob::GivenUp(job) => self.filer.account.list_failed(
                    job.source,
                    "others kept filing it; it is as they left it".to_owned(),
                ),
            }
        }
        Ok(())
    }

    /// Deals with one source; one that is unchanged costs no more than the stat that found it.
    fn take_job(&mut self, job: SourceJob, record: Option<KnownRecord>) -> Result<()> {
        self.request.stop.check()?;
        let stamp = record.as_ref().and_then(|record| record.stamp.as_ref());
        let dealt = match lookup::judge(&job.found, stamp, &self.asked, self.request.since) {
            LookupVerdict::Unchanged(drawers) => {
                self.filer.account.count_unchanged(drawers);
                Ok(())
            }
            LookupVerdict::TooOld => Err(MineTrouble::Skip(
                "it was not changed since the time that was asked for".into(),
            )),
            LookupVerdict::ToRead => self.admit(&job, record.as_ref())?,
        };
        let account = &mut self.filer.account;
        account.advance(job.found.bytes());
        match dealt {
            Ok(()) => {}
            Err(MineTrouble::Skip(reason)) => account.list_skipped(job.source, reason),
            Err(MineTrouble::Source(error)) => account.list_failed(job.source, error),
            Err(MineTrouble::Fatal(error)) => return Err(error),
        }
        Ok(())
    }

    /// Lets a source in to be read; it stays until it is filed, or in trouble.
    fn admit(
        &mut self,
        job: &SourceJob,
        record: Option<&KnownRecord>,
    ) -> Result<std::result::Result<(), MineTrouble>> {
        if let Some(collection) = self.filer.committer.collection() {
            self.filer.drafter.learn_wings(collection.as_ref())?;
        }
        let ticket = self.filer.queue.admit(job);
        let dealt = self.read(ticket, job, record);
        if dealt.is_err() {
            self.filer.queue.dismiss(ticket);
        }
        Ok(dealt)
    }

    fn read(
        &mut self,
        ticket: JobTicket,
        job: &SourceJob,
        record: Option<&KnownRecord>,
    ) -> std::result::Result<(), MineTrouble> {
        let loaded = job.found.load(self.request.max_bytes)?;
        let before = record.and_then(|record| record.stamp.as_ref());
        let reading = SourceReading {
            ticket,
            found: &job.found,
            source: &job.source,
            expects: record.map(|record| record.revision),
            before,
            look: self.look_of(&loaded),
            hash: loaded.hash().to_owned(),
        };
        if loaded.is_file()
            && let Some(before) = before
        {
            if let Some(within) = &before.within {
                return Err(MineTrouble::Source(format!(
                    "its name is also that of a conversation in {}; give it another name",
                    within.file
                )));
            }
            if before.hash == reading.hash && before.meets(&self.asked) {
                let stamp = Stamp {
                    look: reading.look.clone(),
                    ..before.clone()
                };
                return Ok(self.filer.refresh(&reading, &stamp)?);
            }
        }
        let mut drawers = 0;
        let outcome = loaded.read(&self.options, &mut |document| {
            drawers += self.filer.take(&reading, document)?;
            Ok(())
        });
        let outcome = outcome
            .map_err(|trouble: SourceTrouble<MineTrouble>| MineTrouble::of_reading(trouble, before))?;
        self.filer.finish(&reading, outcome, drawers)
    }

    /// What stats say of a source now, as it will be remembered.
    fn look_of(&self, loaded: &LoadedSource<'_>) -> Look {
        let now = (self.clock)().as_micros().saturating_mul(1000);
        Look {
            seen: loaded.fingerprint().clone(),
            fresh: loaded.is_fresh(now),
        }
    }

    /// Fills in vectors that an earlier run was stopped before, and looks for sources that are gone.
    fn end(mut self) -> Result<MineReport> {
        let Some(collection) = self
            .filer
            .committer
            .collection()
            .filter(|_| !self.request.dry_run)
        else {
            return Ok(self.filer.into_report());
        };
        if self.filer.committer.count_without_vector()? > 0 {
            self.filer.fill_after(0)?;
        }
        let without_vector = self.filer.committer.count_without_vector()?;
        let mut report = self.filer.into_report();
        report.without_vector = without_vector.min(report.drawers_added);
        report.vanished = crate::sync::vanished(collection.as_ref(), &self.request.paths)?;
        Ok(report)
    }
}

/// What stamps say of a request.
fn asked_of(request: &MineRequest, committer: &Committer<'_>) -> Result<Asked> {
    for name in [&request.wing, &request.room].into_iter().flatten() {
        if tidy_name(name).is_none() {
            return Err(
                Error::invalid(format!("{name:?} is no name for a wing or a room"))
                    .hint("nothing was mined; give --wing and --room names with something to see in them"),
            );
        }
    }
    let wing = request.wing.as_deref().and_then(tidy_name);
    Ok(Asked {
        format: request.format.clone(),
        wing: match (wing, committer.collection()) {
            (Some(wing), Some(collection)) => Some(spelled(collection.as_ref(), &wing)?),
            (wing, _) => wing,
        },
        room: request.room.clone(),
        since: request.since,
        pieces: request.cutting.target,
    })
}
