//! The queue of sources in progress: those that wait for their commit, and those that were overtaken and are
//! read again.

use std::collections::HashMap;

use loci_mine::FoundSource;

/// The most times a source is read again because another process filed it in the meantime.
const PATIENCE: u32 = 32;

/// A found source to deal with.
#[derive(Debug, Clone)]
pub(crate) struct SourceJob {
    /// The source.
    pub(crate) found: FoundSource,
    /// Its name.
    pub(crate) source: String,
    /// The number of times it has been overtaken.
    attempts: u32,
}

impl SourceJob {
    /// Creates the job of a source that comes for the first time.
    pub(crate) fn new(found: FoundSource) -> Self {
        Self {
            source: found.name(),
            found,
            attempts: 0,
        }
    }
}

/// Identifies a source in progress; a source gets a new ticket each time it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct JobTicket(usize);

/// The next step for an overtaken source.
#[derive(Debug)]
pub(crate) enum OvertakenJob {
    /// Read it again.
    Again(SourceJob),
    /// Give it up, because other processes keep filing it.
    GivenUp(SourceJob),
}

/// The sources that wait for their commit, and the overtaken ones.
#[derive(Debug, Default)]
pub(crate) struct JobQueue {
    awaited: HashMap<JobTicket, SourceJob>,
    overtaken: Vec<JobTicket>,
    issued: usize,
}

impl JobQueue {
    /// Admits a source until it is done.
    pub(crate) fn admit_job(&mut self, job: &SourceJob) -> JobTicket {
        let ticket = JobTicket(self.issued);
        self.issued += 1;
        self.awaited.insert(ticket, job.clone());
        ticket
    }

    /// Releases a source that is done.
    pub(crate) fn dismiss_job(&mut self, ticket: JobTicket) {
        self.awaited.remove(&ticket);
    }

    /// Queues a source to be read again, because another process filed it first.
    pub(crate) fn requeue_job(&mut self, ticket: JobTicket) {
        // Several conversations of one file may be overtaken in one commit; the file is read again once.
        if !self.is_overtaken(ticket) {
            self.overtaken.push(ticket);
        }
    }

    /// Returns whether a source will be read again.
    pub(crate) fn is_overtaken(&self, ticket: JobTicket) -> bool {
        self.overtaken.contains(&ticket)
    }

    /// Returns whether any source will be read again.
    pub(crate) fn has_overtaken(&self) -> bool {
        !self.overtaken.is_empty()
    }

    /// Takes the next overtaken source.
    pub(crate) fn next_overtaken(&mut self) -> Option<OvertakenJob> {
        while let Some(ticket) = self.overtaken.pop() {
            // A source that failed after it was overtaken has been dismissed already.
            let Some(job) = self.awaited.remove(&ticket) else {
                continue;
            };
            if job.attempts >= PATIENCE {
                return Some(OvertakenJob::GivenUp(job));
            }
            return Some(OvertakenJob::Again(SourceJob {
                attempts: job.attempts + 1,
                ..job
            }));
        }
        None
    }
}
