//! One run of mining: passes the sources a walk finds through the stages, and retries overtaken ones.

use loci_core::{Collection, Error, ErrorKind, Result, Timestamp};
use loci_mine::project::tidy_name;
use loci_mine::{LoadedSource, ReadOptions, SourceTrouble, WalkEvent, WalkRequest, formats, name};

use super::account::MineAccount;
use super::commit::SourceCommitter;
use super::drafter::{SourceDrafter, SourceReading};
use super::filer::DocumentFiler;
use super::lookup::{self, KnownRecord, LookupVerdict};
use super::queue::{JobTicket, OvertakenJob, SourceJob};
use super::shelving::spell_wing;
use super::stamp::{FilingTerms, SourceLook, SourceStamp};
use super::trouble::MineTrouble;
use super::vouch::VouchRules;
use super::{MineProgress, MineReport, MineRequest};
use crate::deletions::DeletionKeys;
use crate::palace::Palace;

/// The number of found sources looked up in one call.
const BATCH: usize = 256;

/// A run of mining.
pub(crate) struct MineRun<'a> {
    palace: &'a Palace,
    request: &'a MineRequest,
    clock: &'a dyn Fn() -> Timestamp,
    options: ReadOptions,
    asked: FilingTerms,
    vouching: VouchRules,
    filer: DocumentFiler<'a>,
}

/// Returns the walk of a request.
pub(crate) fn walk_request(request: &MineRequest) -> Result<WalkRequest<'_>> {
    Ok(WalkRequest {
        roots: &request.paths,
        max_bytes: request.max_bytes,
        hidden: request.hidden,
        ignored: request.ignored,
        credentials: request.credentials,
        bundles: formats::bundles_to_find(formats::choose_format(request.format.as_deref())?),
        avoid: &request.avoid,
        excludes: request.excludes.as_deref(),
    })
}

impl<'a> MineRun<'a> {
    /// Prepares a run; creates nothing.
    pub(crate) fn new(
        palace: &'a Palace,
        request: &'a MineRequest,
        clock: &'a dyn Fn() -> Timestamp,
        watch: &'a mut dyn FnMut(MineProgress),
    ) -> Result<Self> {
        let committer = SourceCommitter::new(palace)?;
        let asked = resolve_terms(request, &committer)?;
        let options = ReadOptions {
            format: formats::choose_format(request.format.as_deref())?,
            cutting: request.cutting,
        };
        let drafter = SourceDrafter::new(palace, request);
        let account = MineAccount::new(request.dry_run, watch);
        Ok(Self {
            palace,
            request,
            clock,
            options,
            asked,
            vouching: VouchRules::new(request.trusted, palace.transcript_folders()),
            filer: DocumentFiler::new(request, drafter, committer, account),
        })
    }

    /// Mines all sources.
    pub(crate) fn run(mut self) -> Result<MineReport> {
        let mut batch = Vec::with_capacity(BATCH);
        for event in loci_mine::walk(&walk_request(self.request)?)? {
            self.request.stop.check_not_stopped()?;
            batch.push(event);
            if batch.len() == BATCH {
                self.take_events(std::mem::take(&mut batch))?;
            }
        }
        self.take_events(batch)?;
        // A flush may find sources overtaken, and retrying those makes more wait; the retry limit ends the loop.
        while self.filer.has_waiting() || self.filer.queue.has_overtaken() {
            self.filer.flush_waiting()?;
            self.take_overtaken()?;
        }
        self.finish_run()
    }

    fn take_events(&mut self, batch: Vec<WalkEvent>) -> Result<()> {
        let account = &mut self.filer.account;
        let mut jobs = Vec::new();
        for event in batch {
            match event {
                WalkEvent::Source(found) => jobs.push(SourceJob::new(found)),
                WalkEvent::Skipped { path, reason } => {
                    account.count_seen();
                    account.list_skipped(name::name_of_path(&path), reason);
                }
                WalkEvent::LeftOut { cause, .. } => account.count_left_out(cause),
            }
        }
        let collection = self.filer.committer.collection();
        // Asked for every batch: another process may delete while this one mines.
        self.filer.deletions = self.load_deletions(collection.as_deref())?;
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

    fn load_deletions(&self, collection: Option<&dyn Collection>) -> Result<DeletionKeys> {
        match DeletionKeys::load(self.palace, collection) {
            // Whoever asks for deleted words does not need to recognise them.
            Err(error) if self.request.restore_deleted && error.kind() == ErrorKind::Unavailable => {
                Ok(DeletionKeys::default())
            }
            loaded => loaded,
        }
    }

    /// Retries every source that another process filed in the meantime.
    fn take_overtaken(&mut self) -> Result<()> {
        while let Some(overtaken) = self.filer.queue.next_overtaken() {
            match overtaken {
                OvertakenJob::Again(job) => {
                    let collection = self.filer.committer.collection();
                    // The record is read anew: the other process may have filed the very same state.
                    let record = lookup::find_record(collection.as_deref(), &job.source)?;
                    self.take_job(job, record)?;
                }
                OvertakenJob::GivenUp(job) => self.filer.account.list_failed(
                    job.source,
                    "other processes kept filing it; their version is kept".to_owned(),
                ),
            }
        }
        Ok(())
    }

    /// Deals with one source; an unchanged source costs no more than the stat that found it.
    fn take_job(&mut self, job: SourceJob, record: Option<KnownRecord>) -> Result<()> {
        self.request.stop.check_not_stopped()?;
        let stamp = record.as_ref().and_then(|record| record.stamp.as_ref());
        let asked = self.terms_of(&job);
        let dealt = match lookup::judge_source(&job.found, stamp, &asked, self.request.since) {
            LookupVerdict::Unchanged(drawers) if !self.request.restore_deleted => {
                self.filer.account.count_unchanged(drawers);
                Ok(())
            }
            LookupVerdict::TooOld => Err(MineTrouble::Skip(
                "it has not changed since the requested time".into(),
            )),
            LookupVerdict::ToRead | LookupVerdict::Unchanged(_) => {
                self.admit_source(&job, record.as_ref())?
            }
        };
        let account = &mut self.filer.account;
        account.count_dealt_with(job.found.total_bytes());
        match dealt {
            Ok(()) => {}
            Err(MineTrouble::Skip(reason)) => account.list_skipped(job.source, reason),
            Err(MineTrouble::Source(error)) => account.list_failed(job.source, error),
            Err(MineTrouble::Fatal(error)) => return Err(error),
        }
        Ok(())
    }

    /// Returns the terms of the run for one source.
    fn terms_of(&self, job: &SourceJob) -> FilingTerms {
        FilingTerms {
            trusted: self.vouching.vouch_for(job.found.path()).is_given(),
            ..self.asked.clone()
        }
    }

    /// Admits a source to be read; it stays in the queue until it is filed or fails.
    fn admit_source(
        &mut self,
        job: &SourceJob,
        record: Option<&KnownRecord>,
    ) -> Result<std::result::Result<(), MineTrouble>> {
        if let Some(collection) = self.filer.committer.collection() {
            // Asked for each source and not at the start: the collection may be created by this run's first
            // commit.
            self.filer.drafter.learn_wings(collection.as_ref())?;
        }
        let ticket = self.filer.queue.admit_job(job);
        let dealt = self.read_source(ticket, job, record);
        if dealt.is_err() {
            self.filer.queue.dismiss_job(ticket);
        }
        Ok(dealt)
    }

    fn read_source(
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
            look: self.capture_look(&loaded),
            hash: loaded.hash().to_owned(),
            asked: self.terms_of(job),
            vouch: self.vouching.vouch_for(job.found.path()),
        };
        // The hash of a bundle covers only its fingerprint, which differs or it would not be read at all.
        if loaded.is_file()
            && let Some(before) = before
        {
            if let Some(within) = &before.within {
                return Err(MineTrouble::Source(format!(
                    "its name is also the name of a conversation in {}; rename it",
                    within.file
                )));
            }
            let is_same = before.hash == reading.hash && before.meets_terms(&reading.asked);
            if is_same && !self.request.restore_deleted {
                let stamp = SourceStamp {
                    look: reading.look.clone(),
                    ..before.clone()
                };
                return Ok(self.filer.refresh_stamp(&reading, &stamp)?);
            }
        }
        // Each document is handed on as it is read, so that a large export is never in memory whole.
        let mut drawers = 0;
        let outcome = loaded.read(&self.options, &mut |document| {
            drawers += self.filer.take_document(&reading, document)?;
            Ok(())
        });
        let outcome = outcome
            .map_err(|trouble: SourceTrouble<MineTrouble>| MineTrouble::from_reading(trouble, before))?;
        self.filer.finish_source(&reading, outcome, drawers)
    }

    /// Captures the current look of a source for its stamp.
    fn capture_look(&self, loaded: &LoadedSource<'_>) -> SourceLook {
        // Nanoseconds, as file times are.
        let now = (self.clock)().as_micros().saturating_mul(1000);
        SourceLook {
            seen: loaded.fingerprint().clone(),
            fresh: loaded.is_fresh(now),
        }
    }

    /// Embeds drawers that an interrupted run left without vectors, and looks for vanished sources.
    fn finish_run(mut self) -> Result<MineReport> {
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
        // The collection may lack vectors from before; the report speaks only of this run's drawers.
        report.without_vector = without_vector.min(report.drawers_added);
        report.vanished = crate::sync::list_vanished(collection.as_ref(), &self.request.paths)?;
        Ok(report)
    }
}

/// Returns the part of a request that stamps record.
fn resolve_terms(request: &MineRequest, committer: &SourceCommitter<'_>) -> Result<FilingTerms> {
    for name in [&request.wing, &request.room].into_iter().flatten() {
        if tidy_name(name).is_none() {
            return Err(
                Error::invalid(format!("{name:?} is not a valid wing or room name"))
                    .with_hint("nothing was mined; --wing and --room need at least one visible character"),
            );
        }
    }
    let wing = request.wing.as_deref().and_then(tidy_name);
    Ok(FilingTerms {
        format: request.format.clone(),
        wing: match (wing, committer.collection()) {
            // Two spellings of one wing must not make every source look changed.
            (Some(wing), Some(collection)) => Some(spell_wing(collection.as_ref(), &wing)?),
            (wing, _) => wing,
        },
        room: request.room.clone(),
        since: request.since,
        pieces: request.cutting.target,
        // Decided for each source.
        trusted: false,
    })
}
