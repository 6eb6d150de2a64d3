//! Reads a loaded source into documents: conversations of a known format, or a file of text.

use std::path::Path;

use loci_core::{Error, Result, Timestamp};

use super::{
    ConversationDocument, FileDocument, FoundContent, LoadedSource, ReadOptions, ReadOutcome, SourceDocument,
    SourceExtent, SourceTrouble,
};
use crate::conversation::ReadingNote;
use crate::cut;
use crate::decode::{self, DecodedText};
use crate::fingerprint::SourceFingerprint;
use crate::formats::{self, BundleInput, ConversationSink, FormatChoice, ParserInput, TextFormat};
use crate::keys::ConversationKeys;

/// A callback that takes the documents of a source as they are read.
type DocumentTaker<'a, E> = dyn FnMut(SourceDocument) -> std::result::Result<(), E> + 'a;

/// A parser that reads the conversations of a source into a sink.
type ConversationParser<'a> = dyn Fn(&mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> + 'a;

impl LoadedSource<'_> {
    /// Hands over the documents of the source one at a time, so that the conversations of a large export are never
    /// all in memory. An error from `take` ends the reading and is returned.
    ///
    /// A file that was recognised as a conversation but cannot be parsed as one is read as a file of text instead,
    /// with a note, so that none of its text is lost.
    pub fn read<E>(
        self,
        options: &ReadOptions,
        take: &mut DocumentTaker<'_, E>,
    ) -> std::result::Result<ReadOutcome, SourceTrouble<E>> {
        let path = self.found.path();
        match (&self.found.content, self.bytes) {
            (FoundContent::Bundle(format, _), _) => {
                let given = BundleInput {
                    path,
                    max_bytes: self.found.max_bytes,
                };
                let parse = |sink: &mut ConversationSink<'_>| (format.parse)(&given, sink);
                read_conversations(format.name, &parse, take)
            }
            (FoundContent::File(_), bytes) => {
                let modified = match self.fingerprint {
                    SourceFingerprint::File(stat) => timestamp_of_nanoseconds(stat.modified),
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
    let decoded = decode::decode_bytes(bytes).map_err(SourceTrouble::NotText)?;
    let given = ParserInput {
        path,
        text: &decoded.text,
    };
    let format = match options.format {
        None => formats::recognise_format(&given),
        Some(FormatChoice::Text(format)) => Some(format),
        Some(FormatChoice::File) => None,
        Some(FormatChoice::Bundle(bundle)) => {
            return Err(SourceTrouble::Unreadable(no_conversation_reason(bundle.name)));
        }
    };
    let mut notes = Vec::new();
    if let Some(format) = format {
        // `--as` may demand a format that the file is not of. If that gives no conversation, the engine fails
        // the source instead of recording it as read.
        let is_recognised = options.format.is_none() || (format.recognise)(&given);
        match read_text(&format, &given, take) {
            // Recognition only looks at the beginning, so it can be wrong. A format that the user named may
            // not be swapped for another one silently, hence the guard.
            Err(SourceTrouble::Unreadable(why)) if options.format.is_none() => {
                notes.push(ReadingNote::new(format!("not read as {}: {why}", format.name)));
            }
            // With `--as`, a file without a single conversation is reported as such and not mined as text.
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
    given: &ParserInput<'_>,
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
            // Parsers only know `core::Error`. The callback's own error is carried around them and returned
            // unchanged.
            refused = Some(error);
            Error::invalid("the taker refused a conversation")
        })
    });
    if let Some(error) = refused {
        return Err(SourceTrouble::Refused(error));
    }
    let notes = parsed.map_err(|error| SourceTrouble::Unreadable(error.to_string()))?;
    // A source may hold the conversation that is the file itself beside others with keys; then it counts as
    // whole.
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
    decoded: DecodedText,
    modified: Option<Timestamp>,
    options: &ReadOptions,
) -> FileDocument {
    let shape = cut::shape_of(path, &decoded.text);
    FileDocument {
        pieces: cut::cut_text(&decoded.text, shape, &options.cutting),
        decoded,
        shape,
        modified,
    }
}

/// Describes a source without a conversation of the demanded format.
pub(crate) fn no_conversation_reason(format: &str) -> String {
    format!("it holds no {format} conversation")
}

fn timestamp_of_nanoseconds(nanoseconds: i64) -> Option<Timestamp> {
    Timestamp::from_micros(nanoseconds.div_euclid(1000)).ok()
}
