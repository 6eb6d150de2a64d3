//! A switch of the model as a job.

use loci_core::Result;
use loci_engine::SwitchReport;
use loci_engine::switch::SwitchOutcome;

use super::question::SwitchQuestion;
use crate::context::{PageContext, PageResult};
use crate::jobs::{JobHandle, JobOutcome, JobPlan};
use crate::pages::job::start_job;
use crate::parts::shown;

/// Starts the switch, and shows its job.
pub(super) fn start(context: PageContext<'_>, question: SwitchQuestion) -> PageResult {
    let palace = context.palace().clone();
    let plan = JobPlan::new(format!("Switch the model to {}", question.name));
    start_job(context, plan, move |job: &JobHandle| -> Result<JobOutcome> {
        job.report_steps(0, Some(question.drawers), "Beginning");
        let report = palace.switch_embedder(question.model.as_ref(), &mut |reached| {
            let note = format!(
                "{} of {} embedded",
                shown::digits(reached.done),
                shown::count(reached.of, "drawer")
            );
            job.report_steps(reached.done, Some(reached.of), note);
            !job.stop_signal().is_requested()
        })?;
        Ok(describe(&question.name, &report))
    })
}

fn describe(name: &str, report: &SwitchReport) -> JobOutcome {
    let embedded = format!("{} embedded.", shown::count(report.filled, "drawer"));
    let sentences = match report.ended {
        SwitchOutcome::Switched => vec![
            format!("{name} answers now. {embedded}"),
            "The vectors of the model before are kept, so that you can return to it on the page of the model; \
             `loci maintain compact --drop-retired` drops them."
                .to_owned(),
        ],
        SwitchOutcome::WasActive => vec![format!("{name} answered already. {embedded}")],
        SwitchOutcome::Stopped => vec![
            format!("Stopped, as you asked. {embedded}"),
            "Search goes on with the vectors from before. Continue or give it up on the page of the model.".to_owned(),
        ],
        SwitchOutcome::Paused | SwitchOutcome::RolledBack => vec![
            format!("The switch was paused or given up elsewhere. {embedded}"),
            "Search goes on with the vectors from before.".to_owned(),
        ],
    };
    JobOutcome {
        sentences,
        ..JobOutcome::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_end_is_told_with_the_number_of_drawers() {
        for ended in [
            SwitchOutcome::Switched,
            SwitchOutcome::WasActive,
            SwitchOutcome::Paused,
            SwitchOutcome::Stopped,
            SwitchOutcome::RolledBack,
        ] {
            let report = SwitchReport {
                ended,
                filled: 1_204,
                stale: 0,
                spaces: Vec::new(),
            };
            let outcome = describe("minilm", &report);
            assert!(
                outcome.sentences[0].contains("1,204 drawers embedded"),
                "{outcome:?}"
            );
        }
    }
}
