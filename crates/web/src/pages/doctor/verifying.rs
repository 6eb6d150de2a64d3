//! The check of every drawer as a job.

use loci_core::{Error, ErrorKind, Result};
use loci_engine::Palace;
use loci_migrate::{VerifyReport, VerifyStep, verify_palace};

use crate::jobs::{JobHandle, JobOutcome};
use crate::parts::shown;

/// Verifies until the end, or until the job is asked to stop.
pub(super) fn verify(palace: &Palace, job: &JobHandle) -> Result<JobOutcome> {
    job.report_steps(0, None, "Examining the files");
    let mut reached = 0;
    let verified = verify_palace(palace, None, None, &mut |step| {
        let (done, total) = match step {
            VerifyStep::Checked(done, total) | VerifyStep::Compared(done, total) => (done, total),
        };
        reached = done;
        report_progress(job, done, total);
        if job.stop_signal().is_requested() {
            return Err(Error::new(ErrorKind::Conflict, "the check was stopped"));
        }
        Ok(())
    });
    match verified {
        Err(error) if error.kind() == ErrorKind::Conflict && job.stop_signal().is_requested() => {
            Ok(JobOutcome::from_sentence(format!(
                "Stopped, as you asked, after {}. That says nothing of the others.",
                shown::count(reached, "drawer")
            )))
        }
        verified => Ok(describe(&verified?)),
    }
}

fn report_progress(job: &JobHandle, done: u64, total: u64) {
    // A report for each drawer would take longer than to check one.
    if done.is_multiple_of(64) || done == total {
        let note = format!(
            "{} of {} checked",
            shown::digits(done),
            shown::count(total, "drawer")
        );
        job.report_steps(done, Some(total), note);
    }
}

fn describe(report: &VerifyReport) -> JobOutcome {
    let drawers = shown::count(report.drawers, "drawer");
    let verdict = if report.ok {
        format!("The palace is sound: {drawers} read, and every index agrees with them.")
    } else {
        format!("The palace is not sound; {drawers} could be read. What was found:")
    };
    let mut outcome = JobOutcome {
        findings: report.findings.clone(),
        is_problem: !report.ok,
        ..JobOutcome::from_sentence(verdict)
    };
    outcome.say(format!(
        "Palaces with the same drawers have the same sum: {}",
        report.hash
    ));
    outcome
}
