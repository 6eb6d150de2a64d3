//! Reading a loaded source: text or not, a conversation of some format or a file, one document after the other.

use std::path::Path;

use loci_core::{Error, Result, Timestamp};

use super::{
    ConversationDocument, FileDocument, FoundContent, LoadedSource, ReadOptions, ReadOutcome, SourceDocument,
    SourceExtent, SourceTrouble,
};
use crate::conversation::Note;
use crate::cut;
use crate::decode::{self, Decoded};
use crate::fingerprint::SourceFingerprint;
use crate::formats::{self, Chosen, Given, Sink, TextFormat};
use crate::keys::ConversationKeys;

/// Takes the documents of a source as they are read.
type DocumentTaker<'a, E> = dyn FnMut(SourceDocument) -> std::result::Result<(), E> + 'a;

/// Reads the conversations of a source into a sink.
type ConversationParser<'a> = dyn Fn(&mut Sink<'_>) -> Result<Vec<Note>> + 'a;

impl LoadedSource<'_> {
    /// Hands over what the source says, one document at a time, so that one of many conversations is never in memory
    /// with all the others. An error from `take` ends the reading and comes back.
    ///
    /// A file that was only recognised as a conversation and cannot be read as one is read as a file instead, with a
    /// note: it is still text, and no word of it is lost.
    pub fn read<E>(
        self,
        options: &ReadOptions,
        take: &mut DocumentTaker<'_, E>,
    ) -> std::result::Result<ReadOutcome, SourceTrouble<E>> {
        let path = self.found.path();
        match (&self.found.content, self.bytes) {
            (FoundContent::Bundle(format, _), _) => {
                let parse = |sink: &mut Sink<'_>| (format.parse)(path, sink);
                read_conversations(format.name, &parse, take)
            }
            (FoundContent::File(_), bytes) => {
                let modified = match self.fingerprint {
                    SourceFingerprint::File(stat) => time_of(stat.modified),
                    SourceFingerprint::Files { .. } => None,
                };
                read_file(path, bytes.unwrap_or_default(), modified, options, take)
            }
        }
    }
}

fn read_file<E>(
    path: &Path,
    bytes: Vec<u8>,
    modified: Option<Timestamp>,
    options: &ReadOptions,
    take: &mut DocumentTaker<'_, E>,
) -> std::result::Result<ReadOutcome, SourceTrouble<E>> {
    let decoded = decode::decode(bytes).map_err(SourceTrouble::NotText)?;
    let given = Given {
        path,
        text: &decoded.text,
    };
    let format = match options.format {
        None => formats::recognise(&given),
        Some(Chosen::Text(format)) => Some(format),
        Some(Chosen::File) => None,
        Some(Chosen::Bundle(bundle)) => return Err(SourceTrouble::Unreadable(holds_none(bundle.name))),
    };
    let mut notes = Vec::new();
    if let Some(format) = format {
        let is_recognised = options.format.is_none() || (format.recognise)(&given);
        match read_text(&format, &given, take) {
            Err(SourceTrouble::Unreadable(why)) if options.format.is_none() => {
                notes.push(Note::new(format!("not read as {}: {why}", format.name)));
            }
            Ok(outcome) if outcome.extent == SourceExtent::Empty && !is_recognised => {
                return Ok(ReadOutcome {
                    is_recognised,
                    ..outcome
                });
            }
            read => return read,
        }
    }
    let document = file_document(path, decoded, modified, options);
    let format = document.shape.name();
    take(SourceDocument::File(document)).map_err(SourceTrouble::Refused)?;
    Ok(ReadOutcome {
        format,
        notes,
        extent: SourceExtent::Whole,
        is_recognised: true,
    })
}

fn read_text<E>(
    format: &TextFormat,
    given: &Given<'_>,
    take: &mut DocumentTaker<'_, E>,
) -> std::result::Result<ReadOutcome, SourceTrouble<E>> {
    read_conversations(format.name, &|sink| (format.parse)(given, sink), take)
}

fn read_conversations<E>(
    format: &'static str,
    parse: &ConversationParser<'_>,
    take: &mut DocumentTaker<'_, E>,
) -> std::result::Result<ReadOutcome, SourceTrouble<E>> {
    let mut keys = ConversationKeys::default();
    let mut refused = None;
    let parsed = parse(&mut |conversation| {
        let document = ConversationDocument {
            key: keys.claim_in_source(conversation.key.as_deref()),
            format,
            conversation,
        };
        take(SourceDocument::Conversation(document)).map_err(|error| {
            refused = Some(error);
            Error::invalid("the taker refused a conversation")
        })
    });
    if let Some(error) = refused {
        return Err(SourceTrouble::Refused(error));
    }
    let notes = parsed.map_err(|error| SourceTrouble::Unreadable(error.to_string()))?;
    let extent = if keys.has_whole() {
        SourceExtent::Whole
    } else if keys.is_empty() {
        SourceExtent::Empty
    } else {
        SourceExtent::Several
    };
    Ok(ReadOutcome {
        format,
        notes,
        extent,
        is_recognised: true,
    })
}

fn file_document(
    path: &Path,
    decoded: Decoded,
    modified: Option<Timestamp>,
    options: &ReadOptions,
) -> FileDocument {
    let shape = cut::shape_of(path, &decoded.text);
    FileDocument {
        pieces: cut::cut(&decoded.text, shape, &options.cutting),
        decoded,
        shape,
        modified,
    }
}

/// Says that a source has no conversation of the format it was taken for.
pub(crate) fn holds_none(format: &str) -> String {
    format!("it holds no {format} conversation")
}

fn time_of(nanoseconds: i64) -> Option<Timestamp> {
    Timestamp::from_micros(nanoseconds.div_euclid(1000)).ok()
}
