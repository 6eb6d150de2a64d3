//! What mining did, for the page of its job.

use loci_engine::MineReport;
use loci_engine::mine::{LeftOutCounts, MineProgress};

use crate::jobs::JobOutcome;
use crate::parts::shown;

/// Describes a run that was stopped.
pub(super) fn stopped(reached: MineProgress) -> JobOutcome {
    let mut outcome = JobOutcome::from_sentence("Stopped, as you asked.");
    outcome.say(format!(
        "{} filed until then, from {}; they stay. Mine the same path again to go on.",
        was_filed(reached.drawers),
        shown::count(reached.sources, "source")
    ));
    outcome
}

fn was_filed(drawers: u64) -> String {
    let verb = if drawers == 1 { "was" } else { "were" };
    format!("{} {verb}", shown::count(drawers, "drawer"))
}

/// Describes a run that came to its end.
pub(super) fn ended(report: &MineReport) -> JobOutcome {
    let mut outcome = JobOutcome::from_sentence(count_sources(report));
    outcome.say(format!(
        "{} filed, {} kept as they were, {} removed because their source no longer holds their text.",
        shown::count(report.drawers_added, "drawer"),
        shown::digits(report.drawers_kept),
        shown::digits(report.drawers_removed)
    ));
    say_exceptions(report, &mut outcome);
    outcome.is_problem = !report.sources_failed.is_empty();
    let failed = report.sources_failed.iter();
    outcome.list(
        "Could not be read; what was filed from them before is kept",
        failed.map(|one| (one.source.clone(), one.error.clone())),
    );
    let skipped = report.skipped.iter();
    outcome.list(
        "Skipped",
        skipped.map(|one| (one.source.clone(), one.reason.clone())),
    );
    let notes = report.notes.iter().map(|one| match one.line {
        Some(line) => (format!("{}:{line}", one.source), one.note.clone()),
        None => (one.source.clone(), one.note.clone()),
    });
    outcome.list("Parts that were not filed", notes);
    let vanished = report.vanished.iter();
    outcome.list(
        "Vanished; their drawers are kept",
        vanished.map(|source| (source.clone(), String::new())),
    );
    outcome
}

fn count_sources(report: &MineReport) -> String {
    format!(
        "{}: {} mined, {} unchanged, {} skipped, {} failed.",
        shown::count(report.sources_seen, "source"),
        shown::digits(report.sources_mined),
        shown::digits(report.sources_unchanged),
        shown::digits(report.skipped.len() as u64),
        shown::digits(report.sources_failed.len() as u64)
    )
}

fn say_exceptions(report: &MineReport, outcome: &mut JobOutcome) {
    if report.withheld > 0 {
        let pieces = shown::count(report.withheld, "piece");
        outcome.say(format!("{pieces} withheld, because they were deleted before."));
    }
    if report.without_vector > 0 {
        let why = report.lacking.as_deref().unwrap_or("a model is missing");
        outcome.say(format!(
            "{} stored without a vector: {why}.",
            shown::count(report.without_vector, "drawer")
        ));
    }
    if let Some(secrets) = report.secrets.describe() {
        outcome.say(secrets);
    }
    if let Some(left_out) = describe_left_out(&report.left_out) {
        outcome.say(left_out);
    }
}

fn describe_left_out(left: &LeftOutCounts) -> Option<String> {
    let counted = [
        (left.hidden, "hidden"),
        (left.ignored, "ignored"),
        (left.vendored, "downloaded or built"),
    ];
    let said: Vec<String> = counted
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{} {what}", shown::digits(count)))
        .collect();
    (!said.is_empty()).then(|| format!("Files and folders that were not read: {}.", said.join(", ")))
}

#[cfg(test)]
mod tests {
    use loci_engine::mine::{FailedSource, SkippedSource};

    use super::*;

    #[test]
    fn a_failed_source_needs_attention_and_every_reason_is_listed() {
        let sound = ended(&MineReport::default());
        assert!(!sound.is_problem && sound.lists.is_empty(), "{sound:?}");
        let (source, why) = ("a".to_owned(), "no words".to_owned());
        let report = MineReport {
            sources_failed: vec![FailedSource {
                source: source.clone(),
                error: "torn".into(),
            }],
            skipped: vec![SkippedSource { source, reason: why }],
            left_out: LeftOutCounts {
                hidden: 1_200,
                ..LeftOutCounts::default()
            },
            ..MineReport::default()
        };
        let outcome = ended(&report);
        assert!(outcome.is_problem);
        assert_eq!(
            outcome.lists.iter().map(|list| list.items.len()).sum::<usize>(),
            2
        );
        assert!(
            outcome.sentences.iter().any(|said| said.contains("1,200 hidden")),
            "{outcome:?}"
        );
    }
}
