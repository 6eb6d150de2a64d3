//! The stage between reading and comparing: documents become drafts, each with its place and its stamp.

use std::path::Path;

use loci_core::{Collection, Result};
use loci_mine::conversation::Conversation;
use loci_mine::{ConversationDocument, FileDocument, FoundSource};

use super::MineRequest;
use super::draft::file::FileBody;
use super::draft::talk::TalkBody;
use super::draft::{Body, Draft, Shelf};
use super::queue::JobTicket;
use super::shelving::Shelving;
use super::stamp::{Asked, Look, READING, Stamp, Within};

/// A source that is being read: everything its drafts take from it.
pub(crate) struct SourceReading<'a> {
    /// Its ticket.
    pub(crate) ticket: JobTicket,
    /// The source as it was found.
    pub(crate) found: &'a FoundSource,
    /// The name of the file or bundle.
    pub(crate) source: &'a str,
    /// The revision of its record.
    pub(crate) expects: Option<u64>,
    /// Its stamp when it was filed last.
    pub(crate) before: Option<&'a Stamp>,
    /// Its look now.
    pub(crate) look: Look,
    /// The hash of its bytes.
    pub(crate) hash: String,
}

impl SourceReading<'_> {
    /// The source as the file that holds a conversation.
    pub(crate) fn as_container(&self) -> Within {
        Within {
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
    /// The drawers it is to have.
    pub(crate) draft: Draft,
    /// The stamp it is to have.
    pub(crate) stamp: Stamp,
    /// The revision of its record.
    pub(crate) expects: Option<u64>,
}

/// Makes drafts.
pub(crate) struct Drafter<'a> {
    request: &'a MineRequest,
    asked: Asked,
    shelving: Shelving,
}

impl<'a> Drafter<'a> {
    /// Drafts as a request asks for it; `asked` is what stamps say of that.
    pub(crate) fn new(request: &'a MineRequest, asked: Asked) -> Self {
        Self {
            request,
            asked,
            shelving: Shelving::default(),
        }
    }

    /// Learns how a collection spells its wings, once.
    pub(crate) fn learn_wings(&mut self, collection: &dyn Collection) -> Result<()> {
        self.shelving.learn(collection)
    }

    /// Whether the same bytes as before would give the same drawers now.
    pub(crate) fn is_met_by(&self, before: &Stamp) -> bool {
        before.meets(&self.asked)
    }

    /// Drafts a file of text.
    pub(crate) fn draft_file(
        &mut self,
        reading: &SourceReading<'_>,
        document: FileDocument,
    ) -> DraftedSource {
        let (shelf, label) = self
            .shelving
            .of_file(reading.path(), reading.found.root(), self.request);
        let format = document.shape.name();
        let body = FileBody::new(document, label);
        let draft = Draft::new(
            reading.source.to_owned(),
            shelf,
            Body::File(body),
            self.request.door,
        );
        DraftedSource {
            stamp: self.stamp(reading, format, reading.hash.clone(), draft.len() as u64),
            draft,
            expects: reading.expects,
        }
    }

    /// Drafts the one conversation that a source is.
    pub(crate) fn draft_whole(
        &mut self,
        reading: &SourceReading<'_>,
        document: ConversationDocument,
    ) -> DraftedSource {
        let format = document.format;
        let draft = self.draft_conversation(reading, reading.source.to_owned(), document);
        DraftedSource {
            stamp: self.stamp(reading, format, reading.hash.clone(), draft.len() as u64),
            draft,
            expects: reading.expects,
        }
    }

    /// Drafts one of the conversations that a source holds.
    pub(crate) fn draft_one(
        &mut self,
        reading: &SourceReading<'_>,
        source: String,
        document: ConversationDocument,
        hash: String,
        expects: Option<u64>,
    ) -> DraftedSource {
        let format = document.format;
        let draft = self.draft_conversation(reading, source, document);
        let stamp = Stamp {
            within: Some(reading.as_container()),
            ..self.stamp(reading, format, hash, draft.len() as u64)
        };
        DraftedSource {
            draft,
            stamp,
            expects,
        }
    }

    /// Drafts a source that holds several conversations: it has no drawers of its own, and what was filed of it as a
    /// whole goes. Its stamp counts the drawers of all of them.
    pub(crate) fn draft_container(
        &self,
        reading: &SourceReading<'_>,
        format: &'static str,
        drawers: u64,
    ) -> DraftedSource {
        let shelf = Shelf {
            wing: String::new(),
            room: String::new(),
        };
        let nothing = TalkBody::new(Conversation::default(), format, None, &self.request.cutting);
        DraftedSource {
            draft: Draft::new(
                reading.source.to_owned(),
                shelf,
                Body::Talk(nothing),
                self.request.door,
            ),
            stamp: self.stamp(reading, format, reading.hash.clone(), drawers),
            expects: reading.expects,
        }
    }

    fn draft_conversation(
        &mut self,
        reading: &SourceReading<'_>,
        source: String,
        document: ConversationDocument,
    ) -> Draft {
        let talk = document.conversation;
        let root = reading.found.root();
        let shelf = self.shelving.of_talk(&talk, reading.path(), root, self.request);
        let (since, cutting) = (self.request.since, &self.request.cutting);
        let body = TalkBody::new(talk, document.format, since, cutting);
        Draft::new(source, shelf, Body::Talk(body), self.request.door)
    }

    fn stamp(&self, reading: &SourceReading<'_>, format: &str, hash: String, drawers: u64) -> Stamp {
        Stamp {
            reading: READING,
            look: reading.look.clone(),
            hash,
            format: format.to_owned(),
            asked: self.asked.after(reading.before.map(|before| &before.asked)),
            drawers,
            within: None,
        }
    }
}

/// A hash of everything the drawers of a conversation are made of.
pub(crate) fn hash_of_words(talk: &Conversation) -> String {
    let mut hasher = blake3::Hasher::new();
    let mut part = |text: &str| {
        hasher.update(&(text.len() as u64).to_le_bytes());
        hasher.update(text.as_bytes());
    };
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
