//! Show: drawers by their ids, which may be shortened.

use loci_core::{CollectionReader, DrawerId, DrawerPosition, Error, ErrorKind, Get, Include, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::view::DrawerView;

/// The fewest characters that stand for an id.
const SHORTEST_PREFIX: usize = 6;
/// The fewest characters that are shown of a shortened id.
const SHORTEST_SHOWN: usize = 8;
/// How many candidates are named.
const NAMED_CANDIDATES: usize = 8;

/// Drawers to be read whole.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShowRequest {
    /// Their ids, or the beginnings of ids that no other id shares.
    pub ids: Vec<DrawerId>,
    /// With their exact vectors.
    pub embeddings: bool,
}

/// Drawers as they are stored.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShowReport {
    /// The drawers, each once, in the order asked.
    pub drawers: Vec<DrawerView>,
    /// Ids that no drawer has, each once.
    #[schemars(with = "Vec<String>")]
    pub missing: Vec<DrawerId>,
}

impl Palace {
    /// Reads drawers by their ids; an id that is there stands for itself. A beginning that several ids share is refused.
    pub fn show(&self, request: &ShowRequest) -> Result<ShowReport> {
        self.read(|session| show_drawers(session.reader(), request))
    }
}

fn show_drawers(reader: &dyn CollectionReader, request: &ShowRequest) -> Result<ShowReport> {
    let (mut ids, mut missing): (Vec<DrawerId>, Vec<DrawerId>) = (Vec::new(), Vec::new());
    for asked in &request.ids {
        match resolve_id(reader, asked)? {
            Some(id) => ids.push(id),
            None if missing.contains(asked) => {}
            None => missing.push(asked.clone()),
        }
    }
    let found = reader.get(&Get {
        include: Include {
            embedding: request.embeddings,
            ..Include::default()
        },
        ..Get::ids(ids)
    })?;
    let view = if request.embeddings {
        DrawerView::with_embedding
    } else {
        DrawerView::from
    };
    Ok(ShowReport {
        drawers: found.into_iter().map(view).collect(),
        missing,
    })
}

/// The whole id that `asked` means, if any.
pub(crate) fn resolve_id(reader: &dyn CollectionReader, asked: &DrawerId) -> Result<Option<DrawerId>> {
    let itself = reader.get(&Get {
        include: Include::NOTHING,
        ..Get::ids([asked.clone()])
    })?;
    if !itself.is_empty() {
        return Ok(Some(asked.clone()));
    }
    if asked.as_str().chars().count() < SHORTEST_PREFIX {
        return Ok(None);
    }
    let mut candidates = ids_beginning_with(reader, asked)?;
    match candidates.len() {
        0 | 1 => Ok(candidates.pop()),
        _ => Err(refuse_ambiguous(asked, &candidates)),
    }
}

/// The shortest beginning of an id that stands for it.
pub(crate) fn shorten_id(reader: &dyn CollectionReader, id: &DrawerId) -> Result<String> {
    let ends = id.as_str().char_indices().map(|(at, c)| at + c.len_utf8());
    for end in ends.skip(SHORTEST_SHOWN - 1).step_by(2) {
        let Ok(short) = DrawerId::new(id.as_str().get(..end).unwrap_or_default()) else {
            continue;
        };
        match resolve_id(reader, &short) {
            Ok(Some(meant)) if meant == *id => return Ok(short.to_string()),
            // Several ids begin like this.
            Err(error) if error.kind() == ErrorKind::Invalid => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(id.to_string())
}

/// Ids that begin with `asked`: they come right after it, since ids are in byte order. One more than can be named.
fn ids_beginning_with(reader: &dyn CollectionReader, asked: &DrawerId) -> Result<Vec<DrawerId>> {
    let after = reader.get(&Get {
        after: Some(DrawerPosition::Id(asked.clone())),
        limit: Some(NAMED_CANDIDATES + 1),
        include: Include::NOTHING,
        ..Get::default()
    })?;
    let ids = after.into_iter().map(|drawer| drawer.id);
    Ok(ids
        .take_while(|id| id.as_str().starts_with(asked.as_str()))
        .collect())
}

fn refuse_ambiguous(asked: &DrawerId, candidates: &[DrawerId]) -> Error {
    let named = candidates.iter().take(NAMED_CANDIDATES).map(DrawerId::as_str);
    let named: Vec<&str> = named.collect();
    let more = if candidates.len() > NAMED_CANDIDATES {
        " and more"
    } else {
        ""
    };
    let message = format!("several drawers have ids that begin with {:?}", asked.as_str());
    Error::invalid(message).hint(format!("type more of one of these: {}{more}", named.join(", ")))
}
