//! The stages after reading: draft → compare → group → commit → account.
//!
//! Each stage hands values to the next and depends on no other. A commit may happen while a source is still
//! being read, so a file of many conversations is never in memory whole; overtaken sources go to the queue.

use loci_core::{Result, RevisionOutcome};
use loci_mine::conversation::ReadingNote;
use loci_mine::{ConversationDocument, FileDocument, ReadOutcome, SourceDocument, SourceExtent, formats};

use super::account::MineAccount;
use super::commit::{CommitOutcome, SourceCommitter};
use super::compare::{self, CompareTerms};
use super::draft::PieceSeals;
use super::drafter::{DraftedSource, SourceDrafter, SourceReading, hash_words};
use super::group::{CommitGroup, SourceVerdict, SourceWork, WaitingSource};
use super::lookup;
use super::queue::JobQueue;
use super::stamp::SourceStamp;
use super::trouble::MineTrouble;
use super::{MineReport, MineRequest, OlderDrawers, PlannedSource, StopSignal};
use crate::deletions::DeletionKeys;
use crate::seal::DrawerSeals;

/// Files the documents of one run.
pub(crate) struct DocumentFiler<'a> {
    pub(crate) drafter: SourceDrafter<'a>,
    pub(crate) committer: SourceCommitter<'a>,
    pub(crate) account: MineAccount<'a>,
    pub(crate) queue: JobQueue,
    terms: CompareTerms,
    group: CommitGroup,
    dry_run: bool,
    /// Whether the user named a format, which permits removing words that do not fit it.
    is_insisted: bool,
    stop: StopSignal,
    /// The keys by which deleted words are recognised.
    pub(crate) deletions: DeletionKeys,
}

impl<'a> DocumentFiler<'a> {
    /// Connects the stages.
    pub(crate) fn new(
        request: &MineRequest,
        drafter: SourceDrafter<'a>,
        committer: SourceCommitter<'a>,
        account: MineAccount<'a>,
    ) -> Self {
        Self {
            drafter,
            committer,
            account,
            queue: JobQueue::default(),
            terms: CompareTerms::from_request(request),
            group: CommitGroup::default(),
            dry_run: request.dry_run,
            is_insisted: request.format.is_some(),
            stop: request.stop.clone(),
            deletions: DeletionKeys::default(),
        }
    }

    /// Takes one document of a source; returns its number of drawers.
    pub(crate) fn take_document(
        &mut self,
        reading: &SourceReading<'_>,
        document: SourceDocument,
    ) -> std::result::Result<u64, MineTrouble> {
        match document {
            SourceDocument::File(document) => self.take_file(reading, document),
            // Only a conversation that shares its file with others has a key.
            SourceDocument::Conversation(document) => Ok(match document.key.clone() {
                None => {
                    let drafted = self.drafter.draft_whole_conversation(reading, document)?;
                    self.compare_and_push(reading, drafted, SourceVerdict::Mined)?
                }
                Some(key) => self.take_conversation(reading, document, &key)?,
            }),
        }
    }

    fn take_file(
        &mut self,
        reading: &SourceReading<'_>,
        document: FileDocument,
    ) -> std::result::Result<u64, MineTrouble> {
        self.check_still_conversation(reading)?;
        let drafted = self.drafter.draft_file(reading, document)?;
        Ok(self.compare_and_push(reading, drafted, SourceVerdict::Mined)?)
    }

    /// Refuses a file that used to be a conversation. It was caught half-written, or another file has its name
    /// now; words that were said are not given up for it unless the user named the format.
    fn check_still_conversation(&self, reading: &SourceReading<'_>) -> std::result::Result<(), MineTrouble> {
        match reading.before {
            Some(before)
                if !self.is_insisted
                    && before.drawers > 0
                    && formats::is_conversation_format(&before.format) =>
            {
                Err(MineTrouble::Source(format!(
                    "it was a {} conversation and no longer is; its drawers are kept (--as {} files it as it is now)",
                    before.format,
                    formats::FILE_FORMAT
                )))
            }
            _ => Ok(()),
        }
    }

    /// Takes one of several conversations in a source.
    fn take_conversation(
        &mut self,
        reading: &SourceReading<'_>,
        document: ConversationDocument,
        key: &str,
    ) -> std::result::Result<u64, MineTrouble> {
        let collection = self.committer.collection();
        let (source, record) = lookup::find_conversation(collection.as_deref(), reading.source, key)?;
        let hash = hash_words(&document.conversation);
        let expects = record.as_ref().map(|record| record.revision);
        let before = record.and_then(|record| record.stamp);
        let same = before.filter(|before| {
            !self.terms.restore && before.hash == hash && before.meets_terms(&reading.asked)
        });
        // An export is rewritten as a whole; conversations in it that say the same need not be compared drawer
        // by drawer.
        let Some(before) = same else {
            let drafted = self
                .drafter
                .draft_contained_conversation(reading, source, document, hash, expects)?;
            return Ok(self.compare_and_push(reading, drafted, SourceVerdict::Unfinished)?);
        };
        let drawers = before.drawers;
        if !self.dry_run {
            // The stamp is renewed even so: it names the container's latest version, by which sync tells what
            // left it.
            let stamp = SourceStamp {
                look: reading.look.clone(),
                within: Some(reading.as_container()),
                ..before
            };
            self.push_waiting(WaitingSource {
                source,
                ticket: reading.ticket,
                expects,
                stamp: stamp.to_text(),
                work: SourceWork::stamp_only(),
                restores: Vec::new(),
                seals: Vec::new(),
                kept: drawers,
                recognised: OlderDrawers::default(),
                verdict: SourceVerdict::Unfinished,
            })?;
        }
        Ok(drawers)
    }

    /// Concludes a source once all of its documents, with `drawers` drawers in total, have been taken.
    pub(crate) fn finish_source(
        &mut self,
        reading: &SourceReading<'_>,
        outcome: ReadOutcome,
        drawers: u64,
    ) -> std::result::Result<(), MineTrouble> {
        let is_silent = drawers == 0 && outcome.notes.is_empty();
        let silence = is_silent.then(|| ReadingNote::new("it contains no text"));
        self.account
            .list_notes(reading.source, outcome.notes.into_iter().chain(silence));
        match outcome.extent {
            SourceExtent::Whole => Ok(()),
            SourceExtent::Empty if !outcome.is_recognised => Err(MineTrouble::Source(format!(
                "it holds no {} conversation",
                outcome.format
            ))),
            SourceExtent::Empty | SourceExtent::Several => {
                Ok(self.remember_container(reading, outcome.format, drawers)?)
            }
        }
    }

    /// Records a source that holds several conversations, once they are all durable.
    fn remember_container(
        &mut self,
        reading: &SourceReading<'_>,
        format: &'static str,
        drawers: u64,
    ) -> Result<()> {
        if self.dry_run {
            return Ok(());
        }
        // The container's stamp vouches for all its conversations, so none of them may still be waiting.
        self.flush_waiting()?;
        if self.queue.is_overtaken(reading.ticket) {
            return Ok(());
        }
        let drafted = self.drafter.draft_container(reading, format, drawers);
        self.compare_and_push(reading, drafted, SourceVerdict::Mined)
            .map(drop)
    }

    /// Records the new look of a source whose content has not changed.
    pub(crate) fn refresh_stamp(&mut self, reading: &SourceReading<'_>, stamp: &SourceStamp) -> Result<()> {
        if self.dry_run {
            self.account.count_unchanged(stamp.drawers);
            return Ok(());
        }
        self.push_waiting(WaitingSource {
            source: reading.source.to_owned(),
            ticket: reading.ticket,
            expects: reading.expects,
            stamp: stamp.to_text(),
            work: SourceWork::stamp_only(),
            restores: Vec::new(),
            seals: Vec::new(),
            kept: stamp.drawers,
            recognised: OlderDrawers::default(),
            verdict: SourceVerdict::Unchanged,
        })
    }

    /// Compares a draft with the stored drawers and queues it for its commit; a dry run only lists it.
    fn compare_and_push(
        &mut self,
        reading: &SourceReading<'_>,
        drafted: DraftedSource,
        ends: SourceVerdict,
    ) -> Result<u64> {
        let drawers = drafted.draft.len() as u64;
        if ends == SourceVerdict::Mined {
            self.account.count_format(&drafted.stamp.format);
        }
        if self.dry_run {
            self.account.count_secrets(&drafted.secrets);
            self.plan_source(drafted)?;
        } else {
            self.account.count_secrets(&drafted.secrets);
            let waiting = self.compare_draft(reading, drafted, ends)?;
            self.push_waiting(waiting)?;
        }
        Ok(drawers)
    }

    fn compare_draft(
        &mut self,
        reading: &SourceReading<'_>,
        drafted: DraftedSource,
        ends: SourceVerdict,
    ) -> Result<WaitingSource> {
        let DraftedSource {
            mut draft,
            mut stamp,
            expects,
            ..
        } = drafted;
        let collection = self.committer.collection();
        let mut change =
            compare::compare_draft(collection.as_deref(), &mut draft, self.terms, &self.deletions)?;
        if change.gone > 0 {
            let note = format!(
                "{} no longer in it; the drawers were kept",
                loci_core::format_count(change.gone as u64, "message")
            );
            self.account.list_notes(&draft.source, [ReadingNote::new(note)]);
        }
        self.account.count_withheld(change.withheld);
        let recognised = change.recognised;
        let (kept, restores) = (change.kept, std::mem::take(&mut change.restores));
        // The empty draft of a container keeps the count of its conversations' drawers. Otherwise the stamp
        // counts what will be stored, including messages that left the source.
        if ends != SourceVerdict::Mined || draft.len() > 0 {
            stamp.drawers = kept + change.adds.len() as u64;
        }
        Ok(WaitingSource {
            source: draft.source.clone(),
            ticket: reading.ticket,
            expects,
            stamp: stamp.to_text(),
            seals: draft.list_seals(),
            work: SourceWork::from_change(change, draft),
            restores,
            kept,
            recognised,
            verdict: ends,
        })
    }

    fn plan_source(&mut self, drafted: DraftedSource) -> Result<()> {
        let mut draft = drafted.draft;
        let collection = self.committer.collection();
        let change = compare::compare_draft(collection.as_deref(), &mut draft, self.terms, &self.deletions)?;
        self.account.count_withheld(change.withheld);
        self.account.count_recognised(change.recognised);
        self.account.list_planned(PlannedSource {
            drawers: draft.len() as u64,
            new: change.adds.len() as u64,
            source: draft.source,
            format: drafted.stamp.format,
            wing: draft.shelf.wing,
            room: draft.shelf.room,
        });
        Ok(())
    }

    fn push_waiting(&mut self, waiting: WaitingSource) -> Result<()> {
        match self.group.push_source(waiting) {
            Some(batch) => self.commit_batch(batch),
            None => Ok(()),
        }
    }

    /// Returns whether a source waits for its commit.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.group.is_empty()
    }

    /// Commits all waiting sources.
    pub(crate) fn flush_waiting(&mut self) -> Result<()> {
        let batch = self.group.take_waiting();
        if batch.is_empty() {
            return Ok(());
        }
        self.commit_batch(batch)
    }

    fn commit_batch(&mut self, mut batch: Vec<WaitingSource>) -> Result<()> {
        // Checked before embedding, which is the slow part.
        self.stop.check_not_stopped()?;
        // Before the drawers: a label without its secret must never be stored. And once more behind them, in case
        // another process has collected the records meanwhile.
        let seals: Vec<PieceSeals> = batch
            .iter_mut()
            .flat_map(|one| std::mem::take(&mut one.seals))
            .collect();
        let seals: Vec<DrawerSeals<'_>> = seals.iter().map(PieceSeals::as_seals).collect();
        self.drafter.guard().store_seals(&seals)?;
        let CommitOutcome {
            filed,
            embedding,
            lacks_vectors_after,
        } = self.committer.commit_sources(batch)?;
        self.drafter.guard().store_seals(&seals)?;
        self.group.adapt_size(embedding);
        for one in filed {
            match &one.outcome {
                Ok(RevisionOutcome::Overtaken) => self.queue.requeue_job(one.ticket),
                // More of the same found source follows under this ticket.
                Ok(RevisionOutcome::Done { .. }) if one.verdict == SourceVerdict::Unfinished => {}
                Ok(RevisionOutcome::Done { .. }) | Err(_) => self.queue.dismiss_job(one.ticket),
            }
            self.account.count_filed(one);
        }
        self.account.report_progress();
        match lacks_vectors_after {
            Some(seq) => self.fill_after(seq),
            None => Ok(()),
        }
    }

    /// Embeds every drawer without a vector that was filed after the sequence number `seq`.
    pub(crate) fn fill_after(&mut self, seq: u64) -> Result<()> {
        let account = &mut self.account;
        self.committer.fill_after(seq, &mut || account.report_progress())
    }

    /// Returns the report of the run.
    pub(crate) fn into_report(self) -> MineReport {
        MineReport {
            lacking: self.committer.lacking(),
            made_palace: self.committer.made_palace(),
            ..self.account.into_report()
        }
    }
}
