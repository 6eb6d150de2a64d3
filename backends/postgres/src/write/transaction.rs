//! A write transaction: the lock that orders writers, and a commit whose outcome is never guessed.

use std::time::{Duration, Instant};

use loci_core::{CollectionName, Error, ErrorKind, Result, Timestamp};
use tokio_postgres::Row;

use crate::codes;
use crate::deadline::{ServerDeadline, timed_out_error};
use crate::failure::corrupt_error;
use crate::palace::ServerPalace;
use crate::pool::SessionLease;
use crate::session::{PipelineRows, ServerSession};
use crate::shelf::ServerShelf;
use crate::statement::SqlStatement;

/// The time a commit may take before the connection is taken for lost.
const COMMIT_WAIT: Duration = Duration::from_secs(60);

/// How long the server is asked for the outcome of a commit whose answer was lost.
const OUTCOME_WAIT: Duration = Duration::from_secs(20);

/// The number of commits that the row of a palace remembers.
const REMEMBERED: i64 = 64;

/// The limits of one write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct WriteLimits {
    /// The time to wait for other writers.
    pub(crate) wait: Duration,
    pub(crate) deadline: ServerDeadline,
}

/// An open transaction that holds the lock of its palace.
///
/// The lock is on the palace's row, from before the first number is taken until the commit. So numbers are given in the
/// order of commits: a reader that has seen a number has seen every lower one.
#[derive(Debug)]
pub(crate) struct WriteTransaction<'a> {
    palace: &'a ServerPalace,
    lease: SessionLease,
    limits: WriteLimits,
    /// Random bytes that the commit leaves in the palace's row, by which its outcome can be asked for.
    token: Vec<u8>,
    pub(crate) shelf: ServerShelf,
    /// The last sequence number of the palace.
    pub(crate) seq: i64,
    /// The server's time: one clock for every machine that writes.
    pub(crate) now: Timestamp,
    ended: bool,
}

impl<'a> WriteTransaction<'a> {
    /// Begins a transaction and asks `questions` in it, all in one wait.
    pub(crate) fn begin(
        palace: &'a ServerPalace,
        (name, collection): (&CollectionName, i64),
        limits: WriteLimits,
        questions: impl Fn() -> Vec<SqlStatement>,
    ) -> Result<(Self, PipelineRows)> {
        let statements = || {
            let mut statements = opening_statements(palace.number, limits);
            statements.push(ServerShelf::select_by_number(palace.number, collection));
            statements.extend(questions());
            statements
        };
        // The lock may be waited for as long as the caller waits; the deadline of the call ends the wait earlier.
        let begun = palace.begin(|session| session.ask_all(&statements(), limits.deadline));
        let (lease, mut answers) = begun.map_err(|error| late_or(error, limits.deadline))?;
        let opening = opening_statements(palace.number, limits).len();
        let rest = answers.split_off(opening + 1);
        let shelf = answers.pop().unwrap_or_default();
        let lock = answers.pop().unwrap_or_default();
        let (shelf, locked) = match (ServerShelf::read_one(&shelf, name), read_lock(&lock)) {
            (Ok(shelf), Ok(locked)) => (shelf, locked),
            (Err(error), _) | (_, Err(error)) => {
                lease.end_transaction();
                return Err(error);
            }
        };
        let (seq, now, token) = locked;
        let begun = Self {
            palace,
            lease,
            limits,
            token,
            shelf,
            seq,
            now,
            ended: false,
        };
        Ok((begun, rest))
    }

    /// Sends statements within the transaction and waits for their answers.
    pub(crate) fn ask_all(&self, statements: &[SqlStatement]) -> Result<PipelineRows> {
        let answers = self.lease.ask_all(statements, self.limits.deadline);
        answers.map_err(|error| late_or(error, self.limits.deadline))
    }

    /// Returns the connection of the transaction.
    pub(crate) fn session(&self) -> &ServerSession {
        &self.lease
    }

    /// Returns whether a vector gets a code in the active space.
    pub(crate) fn is_coded(&self, vector: &[f32]) -> bool {
        let is_kept = self.shelf.space.near.is_some() && self.lease.vector_schema().is_some();
        is_kept && codes::are_coded(self.shelf.metric, Some(vector.len()))
    }

    /// Returns the palace.
    pub(crate) fn palace(&self) -> &'a ServerPalace {
        self.palace
    }

    /// Returns the deadline of the call.
    pub(crate) fn deadline(&self) -> ServerDeadline {
        self.limits.deadline
    }

    /// Sends the last statements and commits, in one wait. `Ok` means that the transaction is durable.
    pub(crate) fn commit(self, statements: Vec<SqlStatement>) -> Result<()> {
        let seq = self.seq;
        self.commit_up_to(seq, statements)
    }

    /// The same after numbers up to `seq` were given.
    pub(crate) fn commit_up_to(mut self, seq: i64, mut statements: Vec<SqlStatement>) -> Result<()> {
        self.limits.deadline.check()?;
        statements.push(
            SqlStatement::new(format!(
                "UPDATE loci.palaces SET seq = greatest($2, seq + 1), commits = (array_prepend($3, commits))[1:{REMEMBERED}] WHERE palace = $1"
            ))
            .with_int(self.palace.number)
            .with_int(seq)
            .with_bytes(self.token.clone()),
        );
        statements.push(SqlStatement::new("COMMIT"));
        self.ended = true;
        let latest = ServerDeadline::at(Instant::now() + COMMIT_WAIT);
        match self.lease.ask_all(&statements, latest) {
            Ok(_) => Ok(()),
            // The commit may have been carried out although its answer never came.
            Err(_) if !self.lease.is_usable() => self.ask_outcome(),
            Err(error) => {
                // A statement before the commit was refused, so the server has rolled back.
                self.lease.end_transaction();
                Err(late_or(error, self.limits.deadline))
            }
        }
    }

    /// Asks the server, on another connection, whether the transaction was committed.
    ///
    /// Not by the number of the transaction: after a crash the server gives a number that left no trace to another one.
    fn ask_outcome(&self) -> Result<()> {
        let until = Instant::now() + OUTCOME_WAIT;
        loop {
            match self.find_token(until) {
                Ok(LostCommitOutcome::Committed) => return Ok(()),
                Ok(LostCommitOutcome::RolledBack) => return Err(not_committed_error()),
                Ok(LostCommitOutcome::Unknown) => return Err(unknown_outcome_error()),
                // The server may be starting again.
                Err(_) if Instant::now() < until => std::thread::sleep(Duration::from_millis(100)),
                Err(_) => return Err(unknown_outcome_error()),
            }
        }
    }

    fn find_token(&self, until: Instant) -> Result<LostCommitOutcome> {
        let lease = self.palace.pool.lease()?;
        let question = SqlStatement::new(
            "SELECT $2 = ANY(commits), seq FROM loci.palaces WHERE palace = $1 FOR NO KEY UPDATE",
        )
        .with_int(self.palace.number)
        .with_bytes(self.token.clone());
        // Waits for the lock that the transaction holds as long as it is under way.
        let found = lease.ask(question, ServerDeadline::at(until))?;
        let row = found
            .first()
            .ok_or_else(|| corrupt_error("the palace of a collection is gone"))?;
        let (is_there, seq): (bool, i64) = (row.get(0), row.get(1));
        Ok(if is_there {
            LostCommitOutcome::Committed
        } else if seq - self.seq < REMEMBERED {
            // Each commit raises the number, so fewer have followed than are remembered: this one was not among them.
            LostCommitOutcome::RolledBack
        } else {
            LostCommitOutcome::Unknown
        })
    }
}

/// The outcome of a commit whose answer was lost.
enum LostCommitOutcome {
    Committed,
    RolledBack,
    /// So many commits have followed that the palace does not remember this one.
    Unknown,
}

impl Drop for WriteTransaction<'_> {
    fn drop(&mut self) {
        if !self.ended {
            self.lease.end_transaction();
        }
    }
}

/// Begins, limits the waits, and takes the lock; its answer is the last.
fn opening_statements(palace: i64, limits: WriteLimits) -> Vec<SqlStatement> {
    let wait = limits
        .deadline
        .time_left()
        .map_or(limits.wait, |left| left.min(limits.wait));
    let budget = limits.deadline.time_left().map_or(0, milliseconds);
    vec![
        SqlStatement::new("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
        SqlStatement::new(format!("SET LOCAL lock_timeout = {}", milliseconds(wait))),
        SqlStatement::new(format!("SET LOCAL statement_timeout = {budget}")),
        SqlStatement::new(
            "SELECT seq, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, uuid_send(gen_random_uuid())
             FROM loci.palaces WHERE palace = $1 FOR NO KEY UPDATE",
        )
        .with_int(palace),
    ]
}

/// Returns a time for a setting of the server; zero would mean that there is no limit.
fn milliseconds(time: Duration) -> u64 {
    u64::try_from(time.as_millis())
        .unwrap_or(u64::MAX)
        .clamp(1, i32::MAX as u64)
}

fn read_lock(rows: &[Row]) -> Result<(i64, Timestamp, Vec<u8>)> {
    let row = rows
        .first()
        .ok_or_else(|| corrupt_error("the palace of a collection is gone"))?;
    Ok((row.get(0), Timestamp::from_micros(row.get(1))?, row.get(2)))
}

/// Returns `TimedOut` instead of an error that the end of the budget has caused.
fn late_or(error: Error, deadline: ServerDeadline) -> Error {
    match error.kind() {
        ErrorKind::Locked if deadline.check().is_err() => timed_out_error(),
        _ => error,
    }
}

fn not_committed_error() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "the connection to Postgres was lost before the write was committed",
    )
    .with_hint("nothing was written; run the command again")
}

fn unknown_outcome_error() -> Error {
    Error::new(
        ErrorKind::Unavailable,
        "the connection to Postgres was lost while a write was being committed, so its outcome is unknown",
    )
    .with_context("outcome", "unknown")
    .with_hint(
        "the write is stored whole or not at all; repeat it under the same idempotency key, or look for it",
    )
}
