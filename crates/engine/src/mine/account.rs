//! The last stage: counts what became of every source, and tells how far the run is.

use loci_core::Revised;

use super::commit::FiledSource;
use super::group::Ends;
use super::{FailedSource, MineReport, Planned, Progress, SkippedSource, SourceNote};
use loci_mine::LeftOutCause;
use loci_mine::conversation::Note;

/// The report of a run while it is being written.
pub(crate) struct Account<'a> {
    report: MineReport,
    progress: Progress,
    watch: &'a mut dyn FnMut(Progress),
}

impl<'a> Account<'a> {
    /// Begins an empty report, with a plan if nothing is to be filed.
    pub(crate) fn new(dry_run: bool, watch: &'a mut dyn FnMut(Progress)) -> Self {
        Self {
            report: MineReport {
                plan: dry_run.then(Vec::new),
                ..MineReport::default()
            },
            progress: Progress::default(),
            watch,
        }
    }

    /// Counts a source that was looked at.
    pub(crate) fn count_seen(&mut self) {
        self.report.sources_seen += 1;
    }

    /// Counts something that was not looked at.
    pub(crate) fn count_left_out(&mut self, cause: LeftOutCause) {
        let left_out = &mut self.report.left_out;
        match cause {
            LeftOutCause::Hidden => left_out.hidden += 1,
            LeftOutCause::Ignored => left_out.ignored += 1,
            LeftOutCause::Vendored => left_out.vendored += 1,
        }
    }

    /// Counts a source that is as it was filed, with so many drawers.
    pub(crate) fn count_unchanged(&mut self, drawers: u64) {
        self.report.sources_unchanged += 1;
        self.report.drawers_kept += drawers;
    }

    /// Counts a source under the format it was taken for.
    pub(crate) fn count_format(&mut self, format: &str) {
        *self.report.formats.entry(format.to_owned()).or_default() += 1;
    }

    /// Lists a source that was left out.
    pub(crate) fn list_skipped(&mut self, source: String, reason: String) {
        self.report.skipped.push(SkippedSource { source, reason });
    }

    /// Lists a source that could not be mined.
    pub(crate) fn list_failed(&mut self, source: String, error: String) {
        self.report.sources_failed.push(FailedSource { source, error });
    }

    /// Lists notes on a source.
    pub(crate) fn list_notes(&mut self, source: &str, notes: impl IntoIterator<Item = Note>) {
        let notes = notes.into_iter().map(|note| SourceNote::new(source, note));
        self.report.notes.extend(notes);
    }

    /// Lists what would be filed of a source.
    pub(crate) fn list_planned(&mut self, planned: Planned) {
        self.report.plan.get_or_insert_default().push(planned);
    }

    /// Takes over what a commit made of a source.
    pub(crate) fn settle(&mut self, filed: FiledSource) {
        let report = &mut self.report;
        match filed.outcome {
            Ok(Revised::Done { receipt, .. }) => {
                report.drawers_added += receipt.added.len() as u64;
                report.drawers_removed += receipt.deleted.len() as u64;
                report.drawers_kept += filed.kept + (receipt.kept.len() + receipt.twins.len()) as u64;
                report.sources_mined += u64::from(filed.ends == Ends::Mined);
                report.sources_unchanged += u64::from(filed.ends == Ends::Unchanged);
                self.progress.drawers = report.drawers_added;
            }
            // It comes again, and is counted then.
            Ok(Revised::Overtaken) => {}
            Err(error) => self.list_failed(filed.source, error.to_string()),
        }
    }

    /// Counts a source as dealt with, and says so.
    pub(crate) fn advance(&mut self, bytes: u64) {
        self.progress.sources += 1;
        self.progress.bytes += bytes;
        self.tell();
    }

    /// Says how far the run is.
    pub(crate) fn tell(&mut self) {
        (self.watch)(self.progress);
    }

    /// The report.
    pub(crate) fn into_report(self) -> MineReport {
        self.report
    }
}
