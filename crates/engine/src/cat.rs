//! Cat: reassembles a source from its drawers, a file byte for byte, a conversation message by message.

use std::collections::BTreeSet;

use loci_core::{
    Collection, Drawer, DrawerId, Error, ErrorKind, GetRequest, MetadataScalar, MetadataValue, PalaceFinding,
    Result, SourceRecordQuery, SourceSpan, Timestamp,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::mine::draft::file::FILE_KIND;
use crate::mine::stamp::SourceStamp;
use crate::palace::Palace;
use crate::seal::{FoundSeals, SealedSpan, Unsealer};
use crate::view::{DrawerScope, TrustMark, find_sources};
use loci_mine::decode::{StrayBytes, TextEncoding, encode_text, read_strays};
use loci_mine::name::CONVERSATION_SEPARATOR;

/// The number of drawers read in one call.
const PAGE: usize = 256;

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CatMessage {
    /// Its own id.
    pub id: Option<String>,
    /// The thread it belongs to.
    pub thread: Option<String>,
    /// Its speaker.
    pub speaker: Option<String>,
    /// Its kind.
    pub kind: Option<String>,
    /// Its trustworthiness, by the way it was filed.
    pub trust: TrustMark,
    /// The time it was said.
    pub time: Option<Timestamp>,
    /// Its text, verbatim.
    pub text: String,
}

/// The next part of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourcePart {
    /// A piece of a file.
    Piece {
        /// Its original bytes.
        bytes: Vec<u8>,
        /// The decoded text.
        text: String,
        /// The encoding of the bytes.
        encoding: TextEncoding,
    },
    /// A message of a conversation.
    Message(CatMessage),
}

/// A source as it was mined: the text of a file, or the messages of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CatReport {
    /// The file; null if the source does not exist.
    pub source: Option<String>,
    /// The encoding of the file's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// The text of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The messages of the conversation, or of all conversations in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<CatMessage>>,
    /// The number of labels in it that stand for secrets.
    #[serde(skip_serializing_if = "is_zero")]
    pub sealed: u64,
    /// Damage, and the name of a source that does not exist.
    pub warnings: Vec<PalaceFinding>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl CatReport {
    fn add_part(&mut self, part: SourcePart) {
        match part {
            SourcePart::Piece { text, encoding, .. } => {
                self.encoding.get_or_insert(encoding.name());
                self.text.get_or_insert_default().push_str(&text);
            }
            SourcePart::Message(said) => self.messages.get_or_insert_default().push(said),
        }
    }
}

impl Palace {
    /// Passes the source that one of these names denotes to `each`, part by part; the report holds no parts. With
    /// `unseal`, labels are replaced by their secrets.
    ///
    /// The first error of `each` ends the operation and is returned.
    pub fn stream_source(
        &self,
        names: &[String],
        unseal: bool,
        each: &mut dyn FnMut(SourcePart) -> Result<()>,
    ) -> Result<CatReport> {
        if unseal {
            self.access().check_whole("unsealing")?;
        }
        self.run_stream(|session| {
            let sources = find_sources(session.reader(), names)?;
            let file = settle_file(&sources, names)?;
            let mut unsealer = unseal.then(|| Unsealer::new(self, session.collection()));
            let mut sealed = 0;
            for source in &sources {
                sealed += cat_parts(session.collection(), source, unsealer.as_mut(), each)?;
            }
            let mut warnings = session.collect_findings();
            if sources.is_empty() {
                let scope = DrawerScope {
                    source: names.to_vec(),
                    ..DrawerScope::default()
                };
                warnings.extend(session.unknown_names(&scope)?);
            }
            Ok(CatReport {
                source: file,
                sealed,
                warnings,
                ..CatReport::default()
            })
        })
    }

    /// Reads the source that one of these names denotes.
    pub fn read_source(&self, names: &[String], unseal: bool) -> Result<CatReport> {
        let mut whole = CatReport::default();
        let report = self.stream_source(names, unseal, &mut |part| {
            whole.add_part(part);
            Ok(())
        })?;
        Ok(CatReport {
            source: report.source,
            sealed: report.sealed,
            warnings: report.warnings,
            ..whole
        })
    }
}

/// Returns the one file that all of these sources are, or lie in; refuses several files.
fn settle_file(sources: &[String], names: &[String]) -> Result<Option<String>> {
    let file = |source: &String| match source.split_once(CONVERSATION_SEPARATOR) {
        Some((file, _)) if sources.len() > 1 => file.to_owned(),
        _ => source.clone(),
    };
    let files: BTreeSet<String> = sources.iter().map(file).collect();
    if files.len() < 2 {
        return Ok(files.into_iter().next());
    }
    let asked = names.last().map_or("", String::as_str);
    let files: Vec<String> = files.into_iter().collect();
    Err(Error::invalid(format!("several sources end with {asked:?}"))
        .with_hint(format!("name one of them: {}", files.join(", "))))
}

/// Passes a source to `each`, part by part, in order. Labels stay.
pub fn cat_source(
    collection: &dyn Collection,
    source: &str,
    each: &mut dyn FnMut(SourcePart) -> Result<()>,
) -> Result<()> {
    cat_parts(collection, source, None, each).map(drop)
}

/// Passes a source to `each`, part by part, in order; returns the number of labels that stay.
fn cat_parts(
    collection: &dyn Collection,
    source: &str,
    mut unsealer: Option<&mut Unsealer<'_>>,
    each: &mut dyn FnMut(SourcePart) -> Result<()>,
) -> Result<u64> {
    let pieces = list_pieces(collection, source)?;
    let mut message = OpenMessage::default();
    let (mut end, mut sealed) = (0, 0);
    for page in pieces.chunks(PAGE) {
        let request = GetRequest::by_ids(page.iter().map(|(_, id)| id.clone()));
        // Drawers come in the order of the ids asked for; one that is missing was removed since the list was
        // read.
        let mut drawers = collection.get(&request)?;
        let seals = match &mut unsealer {
            Some(unsealer) => unsealer.unseal_all(&mut drawers).map(|_| FoundSeals::default())?,
            None => FoundSeals::look_up(collection, drawers.iter())?,
        };
        let mut drawers = drawers.into_iter();
        for (span, id) in page {
            let drawer = drawers
                .next()
                .filter(|drawer| drawer.id == *id)
                .ok_or_else(|| refuse_changed_source(source))?;
            let spans = seals.spans_of(id);
            sealed += spans.len() as u64;
            if drawer.place.kind.as_deref() == Some(FILE_KIND) {
                // A file must come back byte for byte, so a gap is an error. Messages always have gaps
                // between them.
                if span.start != end {
                    return Err(refuse_gap(source, end, span.start));
                }
                each(decode_piece(drawer, spans)?)?;
            } else {
                message.add_piece(&drawer, *span, end, each)?;
            }
            end = span.end;
        }
    }
    message.close(each)?;
    check_completeness(collection, source, pieces.len() as u64)?;
    Ok(sealed)
}

/// Returns the mined pieces of a source, in order.
fn list_pieces(collection: &dyn Collection, source: &str) -> Result<Vec<(SourceSpan, DrawerId)>> {
    let drawers = crate::mine::read_mined_drawers(collection, source)?.into_iter();
    let mut pieces: Vec<(SourceSpan, DrawerId)> = drawers
        .filter_map(|drawer| Some((drawer.place.span?, drawer.id)))
        .collect();
    if pieces.is_empty() {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("the drawers of {source:?} were not mined, so the source cannot be reassembled"),
        )
        .with_hint("list them with `loci list --where '{\"source\": …}'`"));
    }
    pieces.sort_by_key(|(span, _)| (span.start, span.end));
    Ok(pieces)
}

/// A message whose pieces are being joined.
#[derive(Debug, Default)]
struct OpenMessage {
    said: Option<CatMessage>,
}

impl OpenMessage {
    /// Adds a piece to the current message if it follows without a gap; otherwise closes that message and
    /// begins a new one.
    fn add_piece(
        &mut self,
        drawer: &Drawer,
        span: SourceSpan,
        end: u64,
        each: &mut dyn FnMut(SourcePart) -> Result<()>,
    ) -> Result<()> {
        let text = drawer.document.as_deref().unwrap_or_default();
        match &mut self.said {
            Some(said) if span.start == end => {
                said.text.push_str(text);
                // A piece that an agent has changed since leaves nothing certain about the whole.
                if said.trust != TrustMark::from_drawer(drawer) {
                    said.trust = TrustMark::Unknown;
                }
                return Ok(());
            }
            _ => self.close(each)?,
        }
        let known = |key: &str| match drawer.metadata.as_ref()?.get(key)? {
            MetadataValue::One(MetadataScalar::Text(text)) => Some(text.clone()),
            _ => None,
        };
        self.said = Some(CatMessage {
            id: known("message_id"),
            thread: known("thread_id"),
            speaker: drawer.place.speaker.clone(),
            kind: drawer.place.kind.clone(),
            trust: TrustMark::from_drawer(drawer),
            time: drawer.place.said_at,
            text: text.to_owned(),
        });
        Ok(())
    }

    fn close(&mut self, each: &mut dyn FnMut(SourcePart) -> Result<()>) -> Result<()> {
        match self.said.take() {
            Some(said) => each(SourcePart::Message(said)),
            None => Ok(()),
        }
    }
}

fn decode_piece(drawer: Drawer, spans: &[SealedSpan]) -> Result<SourcePart> {
    let known = |key: &str| drawer.metadata.as_ref().and_then(|m| m.get(key)?.as_text());
    let encoding = known("encoding").map_or(Some(TextEncoding::Utf8), TextEncoding::parse);
    let strays = known("strays").map_or(Some(Vec::new()), read_strays);
    let (Some(encoding), Some(strays)) = (encoding, strays) else {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!(
                "the drawer {} does not record a valid encoding of its bytes",
                drawer.id
            ),
        ));
    };
    let text = drawer.document.unwrap_or_default();
    let strays: Vec<StrayBytes> = strays
        .into_iter()
        .filter_map(|stray| move_stray(stray, spans))
        .collect();
    Ok(SourcePart::Piece {
        bytes: encode_text(&text, encoding, &strays),
        text,
        encoding,
    })
}

/// Moves a stray to its place in a text with labels; `None` if it is in a secret.
fn move_stray(mut stray: StrayBytes, spans: &[SealedSpan]) -> Option<StrayBytes> {
    // Strays are counted in the text as it was.
    let mut shift = 0_isize;
    for span in spans.iter().filter(|span| span.is_in_text()) {
        let start = span.start.checked_add_signed(shift.checked_neg()?)?;
        let end = start.checked_add(span.length)?;
        if stray.at < start {
            break;
        }
        if stray.at < end {
            return None;
        }
        shift = span.end.cast_signed().checked_sub(end.cast_signed())?;
    }
    stray.at = stray.at.checked_add_signed(shift)?;
    Some(stray)
}

/// Refuses a source that has fewer drawers than were filed from it.
fn check_completeness(collection: &dyn Collection, source: &str, pieces: u64) -> Result<()> {
    // The last piece of a source leaves no gap when it is removed; only the stamp knows how many there were.
    let Some(ledger) = collection.sources() else {
        return Ok(());
    };
    let records = ledger.find_records(&SourceRecordQuery::Named(vec![source.to_owned()]))?;
    let filed = records
        .first()
        .and_then(|record| SourceStamp::from_text(&record.stamp));
    match filed {
        Some(stamp) if stamp.drawers > pieces => Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "{} of the {} drawers of {source:?} are missing",
                stamp.drawers - pieces,
                stamp.drawers
            ),
        )
        .with_hint("the rest was printed; removed drawers are filed again only when the source changes")),
        _ => Ok(()),
    }
}

fn refuse_gap(source: &str, end: u64, start: u64) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("bytes {end} to {start} of {source:?} are in no drawer"),
    )
    .with_hint(
        "the text before them was printed; removed drawers are filed again only when the source changes",
    )
}

fn refuse_changed_source(source: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("{source:?} was refiled while it was being read"),
    )
    .with_hint("run it again")
}
