//! One call from its frame to its answer, within its time.

use std::sync::mpsc::RecvTimeoutError;
use std::time::{Duration, Instant};

use loci_core::Error;

use super::options::PluginOptions;
use super::process::{PluginProcess, ProcessFault};
use crate::frame::{FrameKind, encode_signal, split_body};
use crate::wire::WireResult;
use crate::wire::call::{NextHeader, ProgressHeader};
use crate::wire::failure::WireFailure;

/// How a call is made.
#[derive(Debug, Clone, Copy)]
pub(super) struct CallPlan {
    /// Its name, for messages.
    pub(super) name: &'static str,
    /// Whether making it twice is the same as making it once.
    pub(super) repeats: bool,
    /// Whether it may change something.
    pub(super) writes: bool,
    /// Whether each sign of progress gives it the whole time again.
    pub(super) reports: bool,
    /// The time after which it is cancelled.
    pub(super) time: Duration,
}

/// The reason why a call came to no answer.
#[derive(Debug)]
pub(super) enum CallFault {
    /// The plug-in refused it.
    Refused(Error),
    /// The process ended.
    Died(String),
    /// The process broke the protocol.
    Broke(String),
    /// The process did not answer in this time.
    Hung(Duration),
}

/// Takes the frames of an answer.
pub(super) trait AnswerListener {
    /// Forgets what was taken: the call is made again.
    fn start_over(&mut self);

    /// Takes the body of a piece or an answer.
    fn take_body(&mut self, body: &[u8]) -> WireResult<()>;

    /// Returns the frame with the next part of a revision.
    fn make_part(&mut self, revision: usize) -> WireResult<Vec<u8>> {
        Err(format!(
            "it asked for part of revision {revision}, and this call has none"
        ))
    }

    /// Takes a sign of progress.
    fn take_progress(&mut self, _done: u64, _total: u64) {}
}

/// Abandons a call unless it was answered, also when the caller unwinds.
struct CallGuard<'a> {
    process: &'a PluginProcess,
    number: u32,
    /// Whether the process must end with the call: it holds half a revision that must not be completed.
    ends_process: bool,
    answered: bool,
}

impl Drop for CallGuard<'_> {
    fn drop(&mut self) {
        if self.answered {
            return;
        }
        if self.ends_process {
            self.process
                .fail(ProcessFault::Died("its caller gave up".to_owned()));
            return;
        }
        self.process.send(encode_signal(FrameKind::Cancel, self.number));
        self.process.abandon(self.number);
    }
}

/// Makes a call and hands its answer to `listener`.
pub(super) fn make_call(
    process: &PluginProcess,
    options: &PluginOptions,
    plan: &CallPlan,
    bytes: Vec<u8>,
    listener: &mut dyn AnswerListener,
) -> Result<(), CallFault> {
    let (number, frames) = process.begin_call(bytes);
    let mut guard = CallGuard {
        process,
        number,
        ends_process: plan.writes && plan.reports,
        answered: false,
    };
    let mut until = Instant::now() + plan.time;
    let (mut cancelled, mut taken) = (false, 0_u64);
    loop {
        let (kind, body) = match frames.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(frame) => frame,
            Err(RecvTimeoutError::Timeout) if !cancelled => {
                process.send(encode_signal(FrameKind::Cancel, number));
                (cancelled, until) = (true, Instant::now() + options.grace);
                continue;
            }
            Err(RecvTimeoutError::Timeout) => {
                process.fail(ProcessFault::Hung);
                return Err(CallFault::Hung(plan.time));
            }
            Err(RecvTimeoutError::Disconnected) => {
                guard.answered = true;
                return Err(match process.fault() {
                    ProcessFault::Died(words) => CallFault::Died(words),
                    ProcessFault::Broke(words) => CallFault::Broke(words),
                    ProcessFault::Hung => CallFault::Died("it hung in another call".to_owned()),
                });
            }
        };
        taken += body.len() as u64;
        let last = matches!(kind, FrameKind::Answer | FrameKind::Failure);
        guard.answered = last;
        let took = if taken > options.answer_limit {
            Err(format!(
                "its answer to {} exceeds {} bytes",
                plan.name, options.answer_limit
            ))
        } else {
            take_frame(process, number, kind, &body, listener)
        };
        match took {
            Ok(Some(refusal)) => return Err(CallFault::Refused(refusal)),
            Ok(None) if last => return Ok(()),
            Ok(None) => process.pay_frame(number),
            Err(words) => {
                guard.answered = true;
                process.fail(ProcessFault::Broke(words.clone()));
                // This call is the one that is told.
                process.fault();
                return Err(CallFault::Broke(words));
            }
        }
        if plan.reports && !cancelled {
            until = Instant::now() + plan.time;
        }
    }
}

/// Takes one frame; returns the error of a failure.
fn take_frame(
    process: &PluginProcess,
    number: u32,
    kind: FrameKind,
    body: &[u8],
    listener: &mut dyn AnswerListener,
) -> WireResult<Option<Error>> {
    match kind {
        FrameKind::Failure => {
            let (failure, _) = split_body::<WireFailure>(body)?;
            return Ok(Some(failure.into_error()));
        }
        FrameKind::Next => {
            let (next, _) = split_body::<NextHeader>(body)?;
            let mut part = listener.make_part(next.revision)?;
            if let Some(place) = part.get_mut(5..9) {
                place.copy_from_slice(&number.to_le_bytes());
            }
            process.send(part);
        }
        FrameKind::Progress => {
            let (progress, _) = split_body::<ProgressHeader>(body)?;
            listener.take_progress(progress.done, progress.total);
        }
        _ => listener.take_body(body)?,
    }
    Ok(None)
}
