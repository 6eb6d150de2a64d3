//! Show: reads drawers by id or by a prefix of an id.

use loci_core::{
    CollectionReader, Drawer, DrawerFields, DrawerId, DrawerPosition, Error, ErrorKind, GetRequest, Result,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::neighbours;
use crate::palace::Palace;
use crate::view::DrawerView;

/// The shortest prefix of an id that is completed, in characters.
const SHORTEST_PREFIX: usize = 6;
/// The shortest form of a shortened id, in characters.
const SHORTEST_SHOWN: usize = 8;
/// The largest number of candidates named in an error.
const NAMED_CANDIDATES: usize = 8;

/// The drawers to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShowRequest {
    /// Their ids, or unambiguous prefixes of ids.
    pub ids: Vec<DrawerId>,
    /// Whether to include their exact vectors.
    pub embeddings: bool,
}

/// The drawers as stored.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShowReport {
    /// The drawers, each once, in the order asked.
    pub drawers: Vec<DrawerView>,
    /// Ids that no drawer has, each once.
    pub missing: Vec<DrawerId>,
}

impl Palace {
    /// Reads drawers by their ids or prefixes of ids. An exact id always wins; a prefix that several ids share
    /// is refused.
    pub fn show(&self, request: &ShowRequest) -> Result<ShowReport> {
        self.read(|session| show_drawers(session.reader(), request))
    }
}

/// A drawer, with its neighbours if requested.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DrawerInContext {
    /// The drawer.
    #[serde(flatten)]
    pub drawer: DrawerView,
    /// The drawers before it in its source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<DrawerView>,
    /// The drawers after it in its source.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<DrawerView>,
}

/// The drawers as stored, each with its neighbours.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ShowInContextReport {
    /// The drawers, each once, in the order asked.
    pub drawers: Vec<DrawerInContext>,
    /// Ids that no drawer has, each once.
    pub missing: Vec<DrawerId>,
}

impl Palace {
    /// Reads drawers like [`Palace::show`], each with up to `context` neighbours on both sides.
    ///
    /// A drawer that was not cut from a source has no neighbours.
    pub fn show_in_context(&self, request: &ShowRequest, context: usize) -> Result<ShowInContextReport> {
        self.read(|session| {
            let (found, missing) = find_drawers(session.reader(), request)?;
            let around = if context > 0 {
                let drawers: Vec<&Drawer> = found.iter().collect();
                neighbours::find_neighbours_of_many(session.reader(), &drawers, context, context)?
            } else {
                vec![neighbours::NeighbourDrawers::default(); found.len()]
            };
            let view = choose_view(request);
            let views = |drawers: Vec<Drawer>| drawers.into_iter().map(DrawerView::from).collect();
            let drawers = found
                .into_iter()
                .zip(around)
                .map(|(drawer, around)| DrawerInContext {
                    drawer: view(drawer),
                    before: views(around.before),
                    after: views(around.after),
                });
            Ok(ShowInContextReport {
                drawers: drawers.collect(),
                missing,
            })
        })
    }
}

fn show_drawers(reader: &dyn CollectionReader, request: &ShowRequest) -> Result<ShowReport> {
    let (found, missing) = find_drawers(reader, request)?;
    Ok(ShowReport {
        drawers: found.into_iter().map(choose_view(request)).collect(),
        missing,
    })
}

/// Chooses how drawers are shown: with their vectors or without.
fn choose_view(request: &ShowRequest) -> fn(Drawer) -> DrawerView {
    if request.embeddings {
        DrawerView::with_embedding
    } else {
        DrawerView::from
    }
}

/// Finds the requested drawers, and the ids that no drawer has.
fn find_drawers(
    reader: &dyn CollectionReader,
    request: &ShowRequest,
) -> Result<(Vec<Drawer>, Vec<DrawerId>)> {
    let (mut ids, mut missing): (Vec<DrawerId>, Vec<DrawerId>) = (Vec::new(), Vec::new());
    for asked in &request.ids {
        match resolve_id(reader, asked)? {
            Some(id) => ids.push(id),
            None if missing.contains(asked) => {}
            None => missing.push(asked.clone()),
        }
    }
    // One read for all: it returns each drawer once, even if an id and its prefix were both requested.
    let found = reader.get(&GetRequest {
        include: DrawerFields {
            embedding: request.embeddings,
            ..DrawerFields::default()
        },
        ..GetRequest::by_ids(ids)
    })?;
    Ok((found, missing))
}

/// Returns the whole id that `asked` stands for, if there is one.
pub(crate) fn resolve_id(reader: &dyn CollectionReader, asked: &DrawerId) -> Result<Option<DrawerId>> {
    let itself = reader.get(&GetRequest {
        include: DrawerFields::NOTHING,
        ..GetRequest::by_ids([asked.clone()])
    })?;
    if !itself.is_empty() {
        return Ok(Some(asked.clone()));
    }
    // A few characters would match a random drawer in a small palace, and many in a large one.
    if asked.as_str().chars().count() < SHORTEST_PREFIX {
        return Ok(None);
    }
    // An exact id was tried first, so an id that is a prefix of another is never ambiguous.
    let mut candidates = ids_beginning_with(reader, asked)?;
    match candidates.len() {
        0 | 1 => Ok(candidates.pop()),
        _ => Err(refuse_ambiguous(asked, &candidates)),
    }
}

/// Returns a short unambiguous prefix of an id, or the whole id.
pub(crate) fn shorten_id(reader: &dyn CollectionReader, id: &DrawerId) -> Result<String> {
    let ends = id.as_str().char_indices().map(|(at, c)| at + c.len_utf8());
    // Two characters at a time halve the reads; the prefix may be one longer than necessary.
    for end in ends.skip(SHORTEST_SHOWN - 1).step_by(2) {
        let Ok(short) = DrawerId::new(id.as_str().get(..end).unwrap_or_default()) else {
            continue;
        };
        match resolve_id(reader, &short) {
            Ok(Some(meant)) if meant == *id => return Ok(short.to_string()),
            // Several ids share this prefix; try a longer one.
            Err(error) if error.kind() == ErrorKind::Invalid => {}
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(id.to_string())
}

/// Returns ids that begin with `asked`, at most one more than an error names.
fn ids_beginning_with(reader: &dyn CollectionReader, asked: &DrawerId) -> Result<Vec<DrawerId>> {
    // Ids are in byte order, so those with a common prefix come right after it: one short read finds them.
    let after = reader.get(&GetRequest {
        after: Some(DrawerPosition::Id(asked.clone())),
        limit: Some(NAMED_CANDIDATES + 1),
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
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
    Error::invalid(message).with_hint(format!("type more of one of these: {}{more}", named.join(", ")))
}
