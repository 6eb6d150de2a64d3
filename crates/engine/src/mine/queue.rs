//! Sources on their way: those whose commit is awaited, and those that were overtaken and go round again.

use std::collections::HashMap;

use loci_mine::FoundSource;

/// The most times a source goes round because another process filed it meanwhile.
const PATIENCE: u32 = 32;

/// A found source that is to be dealt with.
#[derive(Debug, Clone)]
pub(crate) struct SourceJob {
    /// The source.
    pub(crate) found: FoundSource,
    /// Its name.
    pub(crate) source: String,
    /// The number of times it was overtaken.
    attempts: u32,
}

impl SourceJob {
    /// A source that comes for the first time.
    pub(crate) fn new(found: FoundSource) -> Self {
        Self {
            source: found.name(),
            found,
            attempts: 0,
        }
    }
}

/// Tells the sources on their way apart; a source gets another one each time it goes round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct JobTicket(usize);

/// The next thing to do about an overtaken source.
#[derive(Debug)]
pub(crate) enum OvertakenJob {
    /// Deal with it again.
    Again(SourceJob),
    /// Give it up: others keep filing it.
    GivenUp(SourceJob),
}

/// Sources whose commit is awaited, and those that were overtaken.
#[derive(Debug, Default)]
pub(crate) struct JobQueue {
    awaited: HashMap<JobTicket, SourceJob>,
    overtaken: Vec<JobTicket>,
    issued: usize,
}

impl JobQueue {
    /// Takes a source in until it is done.
    pub(crate) fn admit(&mut self, job: &SourceJob) -> JobTicket {
        let ticket = JobTicket(self.issued);
        self.issued += 1;
        self.awaited.insert(ticket, job.clone());
        ticket
    }

    /// Lets go of a source that is done.
    pub(crate) fn dismiss(&mut self, ticket: JobTicket) {
        self.awaited.remove(&ticket);
    }

    /// Sends a source round again, because another process filed it first.
    pub(crate) fn send_round(&mut self, ticket: JobTicket) {
        if !self.is_overtaken(ticket) {
            self.overtaken.push(ticket);
        }
    }

    /// Whether a source will go round again.
    pub(crate) fn is_overtaken(&self, ticket: JobTicket) -> bool {
        self.overtaken.contains(&ticket)
    }

    /// Whether any source will go round again.
    pub(crate) fn has_overtaken(&self) -> bool {
        !self.overtaken.is_empty()
    }

    /// The next source that was overtaken.
    pub(crate) fn next_overtaken(&mut self) -> Option<OvertakenJob> {
        while let Some(ticket) = self.overtaken.pop() {
            // A source that failed after it was overtaken is done.
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
