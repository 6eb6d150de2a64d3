//! The drafting stage, between reading and comparing: documents become drafts with a shelf and a stamp.

use std::path::Path;

use loci_core::{Collection, OriginKind, Provenance, Result};
use loci_mine::conversation::Conversation;
use loci_mine::{ConversationDocument, FileDocument, FoundSource};

use super::MineRequest;
use super::draft::file::FileBody;
use super::draft::talk::{TalkBody, TalkSeals};
use super::draft::{DraftBody, DraftShelf, SourceDraft};
use super::queue::JobTicket;
use super::shelving::ShelfChooser;
use super::stamp::{ContainerStamp, FilingTerms, READING_VERSION, SourceLook, SourceStamp};
use super::trouble::MineTrouble;
use super::vouch::TranscriptVouch;
use crate::palace::Palace;
use crate::seal::{SecretGuard, SecretTally};

/// A source that is being read, with everything its drafts need.
pub(crate) struct SourceReading<'a> {
    /// Its ticket.
    pub(crate) ticket: JobTicket,
    /// The source as the walk found it.
    pub(crate) found: &'a FoundSource,
    /// The name of the file or bundle.
    pub(crate) source: &'a str,
    /// The revision of its record when it was looked up.
    pub(crate) expects: Option<u64>,
    /// Its stamp from when it was last filed.
    pub(crate) before: Option<&'a SourceStamp>,
    /// Its current look.
    pub(crate) look: SourceLook,
    /// The hash of its bytes.
    pub(crate) hash: String,
    /// The terms it is filed on.
    pub(crate) asked: FilingTerms,
    /// The reason to believe that its transcripts are what a harness wrote.
    pub(crate) vouch: TranscriptVouch,
}

impl SourceReading<'_> {
    /// Returns the source as the container of a conversation.
    pub(crate) fn as_container(&self) -> ContainerStamp {
        ContainerStamp {
            file: self.source.to_owned(),
            hash: self.hash.clone(),
        }
    }

    fn path(&self) -> &Path {
        self.found.path()
    }
}

/// A drafted source, before it is compared with what is stored.
#[derive(Debug)]
pub(crate) struct DraftedSource {
    /// The drawers it will have.
    pub(crate) draft: SourceDraft,
    /// The stamp it will have.
    pub(crate) stamp: SourceStamp,
    /// The revision of its record.
    pub(crate) expects: Option<u64>,
    /// The secrets found in it.
    pub(crate) secrets: SecretTally,
}

/// Drafts the documents of one run.
pub(crate) struct SourceDrafter<'a> {
    request: &'a MineRequest,
    shelving: ShelfChooser,
    guard: SecretGuard<'a>,
}

impl<'a> SourceDrafter<'a> {
    /// Creates a drafter for a request.
    pub(crate) fn new(palace: &'a Palace, request: &'a MineRequest) -> Self {
        Self {
            request,
            guard: SecretGuard::new(palace).rehearsing(request.dry_run),
            shelving: ShelfChooser::default(),
        }
    }

    /// Returns the guard that seals secrets.
    pub(crate) fn guard(&self) -> &SecretGuard<'a> {
        &self.guard
    }

    /// Learns the collection's spelling of its wings, once.
    pub(crate) fn learn_wings(&mut self, collection: &dyn Collection) -> Result<()> {
        self.shelving.learn_wings(collection)
    }

    /// Drafts a file of text.
    pub(crate) fn draft_file(
        &mut self,
        reading: &SourceReading<'_>,
        document: FileDocument,
    ) -> std::result::Result<DraftedSource, MineTrouble> {
        let (shelf, label) =
            self.shelving
                .choose_for_file(reading.path(), reading.found.root(), self.request);
        let format = document.shape.name();
        let mut secrets = SecretTally::default();
        let sealed = self
            .guard
            .guard_text(&document.decoded.text, &mut secrets)
            .map_err(MineTrouble::from_secret)?;
        let mut body = FileBody::new(document, label);
        if let Some(sealed) = sealed {
            body.seal(sealed, &self.request.cutting);
        }
        let draft = SourceDraft::new(
            reading.source.to_owned(),
            shelf,
            DraftBody::File(body),
            Provenance::new(self.request.door, OriginKind::File),
        );
        Ok(DraftedSource {
            stamp: self.make_stamp(reading, format, reading.hash.clone(), draft.len() as u64),
            draft,
            expects: reading.expects,
            secrets,
        })
    }

    /// Drafts a source that is one conversation.
    pub(crate) fn draft_whole_conversation(
        &mut self,
        reading: &SourceReading<'_>,
        document: ConversationDocument,
    ) -> std::result::Result<DraftedSource, MineTrouble> {
        let format = document.format;
        let (draft, secrets) = self.draft_conversation(reading, reading.source.to_owned(), document)?;
        Ok(DraftedSource {
            stamp: self.make_stamp(reading, format, reading.hash.clone(), draft.len() as u64),
            draft,
            expects: reading.expects,
            secrets,
        })
    }

    /// Drafts one of several conversations in a source.
    pub(crate) fn draft_contained_conversation(
        &mut self,
        reading: &SourceReading<'_>,
        source: String,
        document: ConversationDocument,
        hash: String,
        expects: Option<u64>,
    ) -> std::result::Result<DraftedSource, MineTrouble> {
        let format = document.format;
        let (draft, secrets) = self.draft_conversation(reading, source, document)?;
        let stamp = SourceStamp {
            // The hash of the container tells `loci sync` whether this conversation was still in its latest
            // version.
            within: Some(reading.as_container()),
            ..self.make_stamp(reading, format, hash, draft.len() as u64)
        };
        Ok(DraftedSource {
            draft,
            stamp,
            expects,
            secrets,
        })
    }

    /// Drafts a source that holds several conversations. It has no drawers of its own; drawers filed of it as a
    /// whole are removed. Its stamp counts the drawers of all its conversations.
    pub(crate) fn draft_container(
        &self,
        reading: &SourceReading<'_>,
        format: &'static str,
        drawers: u64,
    ) -> DraftedSource {
        let shelf = DraftShelf {
            wing: String::new(),
            room: String::new(),
        };
        // An empty draft removes the drawers the source had when it was read as something else.
        let nothing = TalkBody::new(
            Conversation::default(),
            TalkSeals::default(),
            format,
            None,
            &self.request.cutting,
        );
        DraftedSource {
            draft: SourceDraft::new(
                reading.source.to_owned(),
                shelf,
                DraftBody::Talk(nothing),
                Provenance::new(self.request.door, OriginKind::LooseTranscript),
            ),
            stamp: self.make_stamp(reading, format, reading.hash.clone(), drawers),
            expects: reading.expects,
            secrets: SecretTally::default(),
        }
    }

    fn draft_conversation(
        &mut self,
        reading: &SourceReading<'_>,
        source: String,
        document: ConversationDocument,
    ) -> std::result::Result<(SourceDraft, SecretTally), MineTrouble> {
        let mut talk = document.conversation;
        let mut secrets = SecretTally::default();
        let seals =
            TalkSeals::seal(&mut talk, &self.guard, &mut secrets).map_err(MineTrouble::from_secret)?;
        let root = reading.found.root();
        let is_believed = reading.vouch.covers_format(document.format);
        // A file that merely looks like a transcript must not choose a wing by the folder it names.
        let cwd = talk.cwd.as_deref().filter(|_| is_believed);
        let shelf = self
            .shelving
            .choose_for_conversation(&talk, cwd, reading.path(), root, self.request);
        let origin = if is_believed {
            OriginKind::HarnessTranscript
        } else {
            OriginKind::LooseTranscript
        };
        let (since, cutting) = (self.request.since, &self.request.cutting);
        let body = TalkBody::new(talk, seals, document.format, since, cutting);
        let provenance = Provenance::new(self.request.door, origin);
        let draft = SourceDraft::new(source, shelf, DraftBody::Talk(body), provenance);
        Ok((draft, secrets))
    }

    fn make_stamp(
        &self,
        reading: &SourceReading<'_>,
        format: &str,
        hash: String,
        drawers: u64,
    ) -> SourceStamp {
        SourceStamp {
            reading: READING_VERSION,
            look: reading.look.clone(),
            hash,
            format: format.to_owned(),
            asked: reading
                .asked
                .carried_over_from(reading.before.map(|before| &before.asked)),
            drawers,
            within: None,
        }
    }
}

/// Hashes everything the drawers of a conversation are made of.
pub(crate) fn hash_words(talk: &Conversation) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
    // A NUL stands for a missing value, which must not hash like an empty one.
    for text in [&talk.id, &talk.title, &talk.cwd, &talk.parent] {
        part(text.as_deref().unwrap_or("\0"));
    }
    for message in &talk.messages {
        for text in [&message.id, &message.thread, &message.speaker] {
            part(text.as_deref().unwrap_or("\0"));
        }
        part(message.kind.name());
        part(&message.at.map_or(String::new(), |at| at.to_string()));
        part(&message.text);
        part(&serde_json::to_string(&message.about).unwrap_or_default());
    }
    hasher.finalize().to_hex().to_string()
}
