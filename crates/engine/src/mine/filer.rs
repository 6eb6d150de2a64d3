//! The stages behind reading, in a row: draft → compare → group → commit → account.
//!
//! Each stage hands values to the next and none knows another. A commit may happen while a source is still being
//! read, so that a file of many conversations is never in memory whole; what it overtook goes to the queue.

use loci_core::{Result, Revised};
use loci_mine::conversation::Note;
use loci_mine::{ConversationDocument, FileDocument, ReadOutcome, SourceDocument, SourceExtent, formats};

use super::account::Account;
use super::commit::{CommitOutcome, Committer};
use super::compare::{self, CompareTerms};
use super::drafter::{DraftedSource, Drafter, SourceReading, hash_of_words};
use super::group::{Ends, Group, Waiting, Work};
use super::lookup;
use super::queue::JobQueue;
use super::stamp::Stamp;
use super::trouble::MineTrouble;
use super::{MineReport, MineRequest, Planned, Stop};

/// Files documents.
pub(crate) struct Filer<'a> {
    pub(crate) drafter: Drafter<'a>,
    pub(crate) committer: Committer<'a>,
    pub(crate) account: Account<'a>,
    pub(crate) queue: JobQueue,
    terms: CompareTerms,
    group: Group,
    dry_run: bool,
    /// Whether the format was asked for, so that words may be given up that do not fit it.
    is_insisted: bool,
    stop: Stop,
}

impl<'a> Filer<'a> {
    /// Puts the stages in a row.
    pub(crate) fn new(
        request: &MineRequest,
        drafter: Drafter<'a>,
        committer: Committer<'a>,
        account: Account<'a>,
    ) -> Self {
        Self {
            drafter,
            committer,
            account,
            queue: JobQueue::default(),
            terms: CompareTerms::of(request),
            group: Group::default(),
            dry_run: request.dry_run,
            is_insisted: request.format.is_some(),
            stop: request.stop.clone(),
        }
    }

    /// Takes one document of a source; says how many drawers it has.
    pub(crate) fn take(
        &mut self,
        reading: &SourceReading<'_>,
        document: SourceDocument,
    ) -> std::result::Result<u64, MineTrouble> {
        match document {
            SourceDocument::File(document) => self.take_file(reading, document),
            SourceDocument::Conversation(document) => Ok(match document.key.clone() {
                None => {
                    let drafted = self.drafter.draft_whole(reading, document);
                    self.hand_over(reading, drafted, Ends::Mined)?
                }
                Some(key) => self.take_one(reading, document, &key)?,
            }),
        }
    }

    fn take_file(
        &mut self,
        reading: &SourceReading<'_>,
        document: FileDocument,
    ) -> std::result::Result<u64, MineTrouble> {
        self.refuse_to_forget(reading)?;
        let drafted = self.drafter.draft_file(reading, document);
        Ok(self.hand_over(reading, drafted, Ends::Mined)?)
    }

    /// A conversation that is none any more was caught half-written, or something else has its name now: what was said
    /// is not given up for it unless the format was insisted on.
    fn refuse_to_forget(&self, reading: &SourceReading<'_>) -> std::result::Result<(), MineTrouble> {
        match reading.before {
            Some(before) if !self.is_insisted && before.drawers > 0 && formats::is_talk(&before.format) => {
                Err(MineTrouble::Source(format!(
                    "it was a {} conversation and is none now; what was filed of it is kept (--as {} files it as it is)",
                    before.format,
                    formats::FILE
                )))
            }
            _ => Ok(()),
        }
    }

    /// Takes one of the conversations that a source holds.
    fn take_one(
        &mut self,
        reading: &SourceReading<'_>,
        document: ConversationDocument,
        key: &str,
    ) -> Result<u64> {
        let collection = self.committer.collection();
        let (source, record) = lookup::find_conversation(collection.as_deref(), reading.source, key)?;
        let hash = hash_of_words(&document.conversation);
        let expects = record.as_ref().map(|record| record.revision);
        let before = record.and_then(|record| record.stamp);
        let same = before.filter(|before| before.hash == hash && self.drafter.is_met_by(before));
        let Some(before) = same else {
            let drafted = self.drafter.draft_one(reading, source, document, hash, expects);
            return self.hand_over(reading, drafted, Ends::No);
        };
        let drawers = before.drawers;
        if !self.dry_run {
            let stamp = Stamp {
                look: reading.look.clone(),
                within: Some(reading.as_container()),
                ..before
            };
            self.push(Waiting {
                source,
                ticket: reading.ticket,
                expects,
                stamp: stamp.to_text(),
                work: Work::none(),
                kept: drawers,
                ends: Ends::No,
            })?;
        }
        Ok(drawers)
    }

    /// Takes over how reading ended, once all `drawers` of a source's documents are taken.
    pub(crate) fn finish(
        &mut self,
        reading: &SourceReading<'_>,
        outcome: ReadOutcome,
        drawers: u64,
    ) -> std::result::Result<(), MineTrouble> {
        let is_silent = drawers == 0 && outcome.notes.is_empty();
        let silence = is_silent.then(|| Note::new("nothing is said in it"));
        self.account
            .list_notes(reading.source, outcome.notes.into_iter().chain(silence));
        match outcome.extent {
            SourceExtent::Whole => Ok(()),
            SourceExtent::Empty if !outcome.is_recognised => Err(MineTrouble::Source(format!(
                "it holds no {} conversation",
                outcome.format
            ))),
            SourceExtent::Empty | SourceExtent::Several => {
                Ok(self.close(reading, outcome.format, drawers)?)
            }
        }
    }

    /// Remembers a source that holds several conversations, once they are all durable.
    fn close(&mut self, reading: &SourceReading<'_>, format: &'static str, drawers: u64) -> Result<()> {
        if self.dry_run {
            return Ok(());
        }
        self.flush()?;
        if self.queue.is_overtaken(reading.ticket) {
            return Ok(());
        }
        let drafted = self.drafter.draft_container(reading, format, drawers);
        self.hand_over(reading, drafted, Ends::Mined).map(drop)
    }

    /// Remembers that a source looks different and says the same as when it got this stamp.
    pub(crate) fn refresh(&mut self, reading: &SourceReading<'_>, stamp: &Stamp) -> Result<()> {
        if self.dry_run {
            self.account.count_unchanged(stamp.drawers);
            return Ok(());
        }
        self.push(Waiting {
            source: reading.source.to_owned(),
            ticket: reading.ticket,
            expects: reading.expects,
            stamp: stamp.to_text(),
            work: Work::none(),
            kept: stamp.drawers,
            ends: Ends::Unchanged,
        })
    }

    /// Compares a draft with what is stored, and lets it wait for its commit; a dry run only writes it down.
    fn hand_over(&mut self, reading: &SourceReading<'_>, drafted: DraftedSource, ends: Ends) -> Result<u64> {
        let drawers = drafted.draft.len() as u64;
        if ends == Ends::Mined {
            self.account.count_format(&drafted.stamp.format);
        }
        if self.dry_run {
            self.plan(drafted)?;
        } else {
            let waiting = self.compare(reading, drafted, ends)?;
            self.push(waiting)?;
        }
        Ok(drawers)
    }

    fn compare(
        &mut self,
        reading: &SourceReading<'_>,
        drafted: DraftedSource,
        ends: Ends,
    ) -> Result<Waiting> {
        let DraftedSource {
            mut draft,
            mut stamp,
            expects,
        } = drafted;
        let collection = self.committer.collection();
        let change = compare::compare(collection.as_deref(), &mut draft, self.terms)?;
        if change.gone > 0 {
            let note = format!(
                "{} messages are no longer in it; their drawers were kept",
                change.gone
            );
            self.account.list_notes(&draft.source, [Note::new(note)]);
        }
        let kept = change.kept;
        // The stamp of a source that only holds conversations counts theirs.
        if ends != Ends::Mined || draft.len() > 0 {
            stamp.drawers = kept + change.adds.len() as u64;
        }
        Ok(Waiting {
            source: draft.source.clone(),
            ticket: reading.ticket,
            expects,
            stamp: stamp.to_text(),
            work: Work::of(change, draft),
            kept,
            ends,
        })
    }

    fn plan(&mut self, drafted: DraftedSource) -> Result<()> {
        let mut draft = drafted.draft;
        let collection = self.committer.collection();
        let change = compare::compare(collection.as_deref(), &mut draft, self.terms)?;
        self.account.list_planned(Planned {
            drawers: draft.len() as u64,
            new: change.adds.len() as u64,
            source: draft.source,
            format: drafted.stamp.format,
            wing: draft.shelf.wing,
            room: draft.shelf.room,
        });
        Ok(())
    }

    fn push(&mut self, waiting: Waiting) -> Result<()> {
        match self.group.push(waiting) {
            Some(batch) => self.commit(batch),
            None => Ok(()),
        }
    }

    /// Whether anything waits for its commit.
    pub(crate) fn has_waiting(&self) -> bool {
        !self.group.is_empty()
    }

    /// Commits everything that waits.
    pub(crate) fn flush(&mut self) -> Result<()> {
        let batch = self.group.take();
        if batch.is_empty() {
            return Ok(());
        }
        self.commit(batch)
    }

    fn commit(&mut self, batch: Vec<Waiting>) -> Result<()> {
        self.stop.check()?;
        let CommitOutcome {
            filed,
            embedding,
            lacks_vectors_after,
        } = self.committer.commit(batch)?;
        self.group.pace(embedding);
        for one in filed {
            match &one.outcome {
                Ok(Revised::Overtaken) => self.queue.send_round(one.ticket),
                Ok(Revised::Done { .. }) if one.ends == Ends::No => {}
                Ok(Revised::Done { .. }) | Err(_) => self.queue.dismiss(one.ticket),
            }
            self.account.settle(one);
        }
        self.account.tell();
        match lacks_vectors_after {
            Some(seq) => self.fill_after(seq),
            None => Ok(()),
        }
    }

    /// Gives a vector to every drawer that has none and was filed after the collection's sequence number was `seq`.
    pub(crate) fn fill_after(&mut self, seq: u64) -> Result<()> {
        let account = &mut self.account;
        self.committer.fill_after(seq, &mut || account.tell())
    }

    /// The report of everything that was filed.
    pub(crate) fn into_report(self) -> MineReport {
        MineReport {
            lacking: self.committer.lacking(),
            made_palace: self.committer.made_palace(),
            ..self.account.into_report()
        }
    }
}
