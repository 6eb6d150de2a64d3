//! Cat: a source given back from its drawers, a file byte for byte, a conversation message by message.

use std::collections::BTreeSet;

use loci_core::{
    Collection, Drawer, DrawerId, Error, ErrorKind, Finding, Get, Result, Scalar, Sources, Span, Timestamp,
    Value,
};
use serde::Serialize;

use crate::mine::draft::file::KIND;
use crate::mine::stamp::Stamp;
use crate::palace::Palace;
use crate::view::{DrawerScope, find_sources};
use loci_mine::decode::{Encoding, encode, read_strays};
use loci_mine::name::WITHIN;

/// How many drawers are read together.
const PAGE: usize = 256;

/// A message as it was said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Said {
    /// Its own id.
    pub id: Option<String>,
    /// The thread it belongs to.
    pub thread: Option<String>,
    /// Who said it.
    pub speaker: Option<String>,
    /// What kind of thing it is.
    pub kind: Option<String>,
    /// When it was said.
    pub time: Option<Timestamp>,
    /// What was said, exactly.
    pub text: String,
}

/// The next part of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// A piece of a file.
    Piece {
        /// Its bytes as they were.
        bytes: Vec<u8>,
        /// What they say.
        text: String,
        /// How.
        encoding: Encoding,
    },
    /// A message of a conversation.
    Message(Said),
}

/// A source as it was mined: a file with its text, or a conversation with its messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CatReport {
    /// The file; null if no such source exists.
    pub source: Option<String>,
    /// The encoding of the file's bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub encoding: Option<&'static str>,
    /// The text of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The messages of the conversation, or of all conversations in the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub messages: Option<Vec<Said>>,
    /// Damage, and the name of a source that does not exist.
    pub warnings: Vec<Finding>,
}

impl CatReport {
    fn take(&mut self, part: Part) {
        match part {
            Part::Piece { text, encoding, .. } => {
                self.encoding.get_or_insert(encoding.name());
                self.text.get_or_insert_default().push_str(&text);
            }
            Part::Message(said) => self.messages.get_or_insert_default().push(said),
        }
    }
}

impl Palace {
    /// Gives the source that one of these names means, part by part; the report has none of them.
    ///
    /// The first error of `each` ends it and is returned.
    pub fn stream_source(
        &self,
        names: &[String],
        each: &mut dyn FnMut(Part) -> Result<()>,
    ) -> Result<CatReport> {
        self.stream(|session| {
            let sources = find_sources(session.reader(), names)?;
            let file = settle_file(&sources, names)?;
            for source in &sources {
                cat(session.collection(), source, each)?;
            }
            let mut warnings = session.noticed();
            if sources.is_empty() {
                let scope = DrawerScope {
                    source: names.to_vec(),
                    ..DrawerScope::default()
                };
                warnings.extend(session.unknown_names(&scope)?);
            }
            Ok(CatReport {
                source: file,
                warnings,
                ..CatReport::default()
            })
        })
    }

    /// Reads the source that one of these names means.
    pub fn read_source(&self, names: &[String]) -> Result<CatReport> {
        let mut whole = CatReport::default();
        let CatReport { source, warnings, .. } = self.stream_source(names, &mut |part| {
            whole.take(part);
            Ok(())
        })?;
        Ok(CatReport {
            source,
            warnings,
            ..whole
        })
    }
}

/// The one file that all of these sources are, or stand in; several files are refused.
fn settle_file(sources: &[String], names: &[String]) -> Result<Option<String>> {
    let file = |source: &String| match source.split_once(WITHIN) {
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
        .hint(format!("name one of them: {}", files.join(", "))))
}

/// Gives a source back, part by part, in order.
pub fn cat(
    collection: &dyn Collection,
    source: &str,
    each: &mut dyn FnMut(Part) -> Result<()>,
) -> Result<()> {
    let pieces = pieces_of(collection, source)?;
    let mut message = Open::default();
    let mut end = 0;
    for page in pieces.chunks(PAGE) {
        let request = Get::ids(page.iter().map(|(_, id)| id.clone()));
        let mut drawers = collection.get(&request)?.into_iter();
        for (span, id) in page {
            let drawer = drawers
                .next()
                .filter(|drawer| drawer.id == *id)
                .ok_or_else(|| changed(source))?;
            match drawer.place.kind.as_deref() == Some(KIND) {
                true => {
                    if span.start != end {
                        return Err(torn(source, end, span.start));
                    }
                    each(piece_of(drawer)?)?;
                }
                false => message.take(&drawer, *span, end, each)?,
            }
            end = span.end;
        }
    }
    message.close(each)?;
    is_whole(collection, source, pieces.len() as u64)
}

/// The mined pieces of a source, in the order they stand in it.
fn pieces_of(collection: &dyn Collection, source: &str) -> Result<Vec<(Span, DrawerId)>> {
    let drawers = crate::mine::mined(collection, source)?.into_iter();
    let mut pieces: Vec<(Span, DrawerId)> = drawers
        .filter_map(|drawer| Some((drawer.place.span?, drawer.id)))
        .collect();
    if pieces.is_empty() {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("the drawers of {source:?} were not cut from a source, so they cannot be put together"),
        )
        .hint("list them with `loci list --where '{\"source\": …}'`"));
    }
    pieces.sort_by_key(|(span, _)| (span.start, span.end));
    Ok(pieces)
}

/// A message whose pieces are being put together.
#[derive(Debug, Default)]
struct Open {
    said: Option<Said>,
}

impl Open {
    /// Adds a piece: to the message before it if it follows without a gap, else to one of its own.
    fn take(
        &mut self,
        drawer: &Drawer,
        span: Span,
        end: u64,
        each: &mut dyn FnMut(Part) -> Result<()>,
    ) -> Result<()> {
        let text = drawer.document.as_deref().unwrap_or_default();
        match &mut self.said {
            Some(said) if span.start == end => {
                said.text.push_str(text);
                return Ok(());
            }
            _ => self.close(each)?,
        }
        let known = |key: &str| match drawer.metadata.as_ref()?.get(key)? {
            Value::One(Scalar::Text(text)) => Some(text.clone()),
            _ => None,
        };
        self.said = Some(Said {
            id: known("message_id"),
            thread: known("thread_id"),
            speaker: drawer.place.speaker.clone(),
            kind: drawer.place.kind.clone(),
            time: drawer.place.said_at,
            text: text.to_owned(),
        });
        Ok(())
    }

    fn close(&mut self, each: &mut dyn FnMut(Part) -> Result<()>) -> Result<()> {
        match self.said.take() {
            Some(said) => each(Part::Message(said)),
            None => Ok(()),
        }
    }
}

fn piece_of(drawer: Drawer) -> Result<Part> {
    let known = |key: &str| drawer.metadata.as_ref().and_then(|m| m.get(key)?.as_text());
    let encoding = known("encoding").map_or(Some(Encoding::Utf8), Encoding::parse);
    let strays = known("strays").map_or(Some(Vec::new()), read_strays);
    let (Some(encoding), Some(strays)) = (encoding, strays) else {
        return Err(Error::new(
            ErrorKind::Corrupt,
            format!("the drawer {} does not say how its bytes were written", drawer.id),
        ));
    };
    let text = drawer.document.unwrap_or_default();
    Ok(Part::Piece {
        bytes: encode(&text, encoding, &strays),
        text,
        encoding,
    })
}

/// Says so if a source has fewer drawers than were filed from it.
fn is_whole(collection: &dyn Collection, source: &str, pieces: u64) -> Result<()> {
    let Some(ledger) = collection.sources() else {
        return Ok(());
    };
    let records = ledger.find_records(&Sources::Named(vec![source.to_owned()]))?;
    let filed = records.first().and_then(|record| Stamp::from_text(&record.stamp));
    match filed {
        Some(stamp) if stamp.drawers > pieces => Err(Error::new(
            ErrorKind::NotFound,
            format!(
                "{} of the {} drawers of {source:?} are no longer there",
                stamp.drawers - pieces,
                stamp.drawers
            ),
        )
        .hint("what is there was printed; what was removed is filed again only when the source changes")),
        _ => Ok(()),
    }
}

fn torn(source: &str, end: u64, start: u64) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("bytes {end} to {start} of {source:?} are in no drawer"),
    )
    .hint("what stands before them was printed; what was removed is filed again only when the source changes")
}

fn changed(source: &str) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("{source:?} was filed anew while it was read"),
    )
    .hint("run it again")
}
