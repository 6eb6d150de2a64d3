//! Recall at a hook: the palace's answer, if it comes in time.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use loci_core::ErrorKind;
use loci_engine::Palace;
use loci_engine::recall::{RecallOccasion, RecallRequest};

use super::{HookEvent, HookMoment};

/// The occasion that a moment is, if anything is recalled at it.
pub(crate) fn occasion_of(moment: HookMoment, told: HookEvent) -> Option<RecallOccasion> {
    match (moment, told.prompt) {
        (HookMoment::Start, _) => Some(RecallOccasion::Start { cwd: told.cwd }),
        (HookMoment::Prompt, Some(prompt)) => Some(RecallOccasion::Prompt {
            prompt,
            transcript: told.transcript,
        }),
        _ => None,
    }
}

/// Recalls in a thread of its own, so that a slow palace is left behind. The error says why there is nothing; a missing
/// palace is not an error.
pub(crate) fn recall_memory(
    palace: Palace,
    request: RecallRequest,
    patience: Duration,
) -> Result<Option<String>, String> {
    let begun = Instant::now();
    let (tell, told) = mpsc::channel();
    let spawned = std::thread::Builder::new().spawn(move || {
        // Nothing listens any more where it took too long.
        let _ = tell.send(palace.recall(&request));
    });
    spawned.map_err(|cause| format!("recall cannot start: {cause}"))?;
    let late = || Err(format!("recall took longer than {} ms", patience.as_millis()));
    match told.recv_timeout(patience) {
        // An answer may lie ready although this thread was kept waiting beyond its time.
        Ok(_) if begun.elapsed() > patience => late(),
        Ok(Ok(report)) => Ok(report.text),
        Ok(Err(error)) if error.kind() == ErrorKind::NotFound => Ok(None),
        Ok(Err(error)) => Err(format!("recall failed: {error}")),
        Err(_) => late(),
    }
}
