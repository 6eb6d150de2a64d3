//! The last stage: counts the outcome of every source and reports progress.

use loci_core::RevisionOutcome;

use super::commit::FiledSource;
use super::group::SourceVerdict;
use super::{FailedSource, MineProgress, MineReport, OlderDrawers, PlannedSource, SkippedSource, SourceNote};
use crate::seal::SecretTally;
use loci_mine::LeftOutCause;
use loci_mine::conversation::ReadingNote;

/// The report of a run in progress.
pub(crate) struct MineAccount<'a> {
    report: MineReport,
    progress: MineProgress,
    watch: &'a mut dyn FnMut(MineProgress),
}

impl<'a> MineAccount<'a> {
    /// Creates an empty report, with a plan for a dry run.
    pub(crate) fn new(dry_run: bool, watch: &'a mut dyn FnMut(MineProgress)) -> Self {
        Self {
            report: MineReport {
                plan: dry_run.then(Vec::new),
                ..MineReport::default()
            },
            progress: MineProgress::default(),
            watch,
        }
    }

    /// Counts a source that was examined.
    pub(crate) fn count_seen(&mut self) {
        self.report.sources_seen += 1;
    }

    /// Counts a file or folder that was not examined.
    pub(crate) fn count_left_out(&mut self, cause: LeftOutCause) {
        let left_out = &mut self.report.left_out;
        match cause {
            LeftOutCause::Hidden => left_out.hidden += 1,
            LeftOutCause::Ignored => left_out.ignored += 1,
            LeftOutCause::Vendored => left_out.vendored += 1,
        }
    }

    /// Counts an unchanged source with this many drawers.
    pub(crate) fn count_unchanged(&mut self, drawers: u64) {
        self.report.sources_unchanged += 1;
        self.report.drawers_kept += drawers;
    }

    /// Counts pieces that were deleted before and are not filed again.
    pub(crate) fn count_withheld(&mut self, pieces: u64) {
        self.report.withheld += pieces;
    }

    /// Counts drawers of older filings.
    pub(crate) fn count_recognised(&mut self, older: OlderDrawers) {
        self.report.recognised.replaced += older.replaced;
        self.report.recognised.kept += older.kept;
    }

    /// Counts secrets that were found.
    pub(crate) fn count_secrets(&mut self, found: &SecretTally) {
        if !found.is_empty() {
            self.report.secrets.add(found);
        }
    }

    /// Counts a source under its format.
    pub(crate) fn count_format(&mut self, format: &str) {
        *self.report.formats.entry(format.to_owned()).or_default() += 1;
    }

    /// Lists a source that was skipped.
    pub(crate) fn list_skipped(&mut self, source: String, reason: String) {
        self.report.skipped.push(SkippedSource { source, reason });
    }

    /// Lists a source that could not be mined.
    pub(crate) fn list_failed(&mut self, source: String, error: String) {
        self.report.sources_failed.push(FailedSource { source, error });
    }

    /// Lists notes on a source.
    pub(crate) fn list_notes(&mut self, source: &str, notes: impl IntoIterator<Item = ReadingNote>) {
        let notes = notes.into_iter().map(|note| SourceNote::new(source, note));
        self.report.notes.extend(notes);
    }

    /// Lists a source that a real run would file.
    pub(crate) fn list_planned(&mut self, planned: PlannedSource) {
        self.report.plan.get_or_insert_default().push(planned);
    }

    /// Counts the outcome of a committed source.
    pub(crate) fn count_filed(&mut self, filed: FiledSource) {
        let report = &mut self.report;
        match filed.outcome {
            Ok(RevisionOutcome::Done { receipt, .. }) => {
                report.drawers_added += receipt.added.len() as u64;
                // Drawers that are replaced by others with the same words were not lost from their source.
                let deleted = receipt.deleted.len() as u64;
                report.drawers_removed += deleted.saturating_sub(filed.recognised.replaced);
                // `filed.kept` are drawers that needed no write; the receipt adds those the store found to
                // exist already.
                report.drawers_kept += filed.kept + (receipt.kept.len() + receipt.twins.len()) as u64;
                report.sources_mined += u64::from(filed.verdict == SourceVerdict::Mined);
                report.sources_unchanged += u64::from(filed.verdict == SourceVerdict::Unchanged);
                self.progress.drawers = report.drawers_added;
                self.count_recognised(filed.recognised);
            }
            // It goes round again and is counted then.
            Ok(RevisionOutcome::Overtaken) => {}
            Err(error) => self.list_failed(filed.source, error.to_string()),
        }
    }

    /// Counts a source as dealt with and reports progress.
    pub(crate) fn count_dealt_with(&mut self, bytes: u64) {
        self.progress.sources += 1;
        self.progress.bytes += bytes;
        self.report_progress();
    }

    /// Reports progress.
    pub(crate) fn report_progress(&mut self) {
        (self.watch)(self.progress);
    }

    /// Returns the report.
    pub(crate) fn into_report(self) -> MineReport {
        self.report
    }
}
