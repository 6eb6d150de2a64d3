//! Errors that name the plug-in that caused them.

use std::time::Duration;

use loci_core::{Error, ErrorKind};

use super::talk::{CallFault, CallPlan};

const UNKNOWN_OUTCOME: &str = "it is not known whether the write was applied; read before you write it again, or give it an idempotency key";

/// Returns the error for a plug-in that cannot be started.
pub(super) fn start_error(name: &str, words: impl std::fmt::Display) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the plug-in {name:?} cannot be started: {words}"),
    )
    .with_hint("nothing was changed; run the executable by hand to see what it says")
}

/// Returns the error for a plug-in that did not say hello in time.
pub(super) fn silent_error(name: &str, time: Duration) -> Error {
    Error::new(
        ErrorKind::TimedOut,
        format!("the plug-in {name:?} did not say hello within {time:?}"),
    )
    .with_hint("nothing was changed; run the executable by hand to see what it waits for")
}

/// Returns the error for bytes that break the protocol.
pub(super) fn broken_error(name: &str, words: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!("the plug-in {name:?} broke the protocol and was ended: {words}"),
    )
}

/// Returns the error for a call that came to no answer.
pub(super) fn call_error(name: &str, plan: &CallPlan, fault: CallFault) -> Error {
    let error = match fault {
        CallFault::Refused(error) => return error,
        CallFault::Died(words) => Error::new(
            ErrorKind::Unavailable,
            format!("the plug-in {name:?} ended during {}: {words}", plan.name),
        ),
        CallFault::Broke(words) => broken_error(name, &words),
        CallFault::Hung(time) => {
            let message = format!(
                "the plug-in {name:?} did not answer {} within {time:?} and was ended",
                plan.name
            );
            // A write that timed out was not applied, by contract; of this one that is not known.
            let kind = if plan.writes {
                ErrorKind::Unavailable
            } else {
                ErrorKind::TimedOut
            };
            Error::new(kind, message)
        }
    };
    if plan.writes {
        error.with_hint(UNKNOWN_OUTCOME)
    } else {
        error.with_hint("nothing was changed; the plug-in is started again by the next call")
    }
}

/// Returns the error for calls after a close.
pub(super) fn closed_error(what: &str) -> Error {
    Error::new(ErrorKind::Closed, format!("{what} was closed"))
}
