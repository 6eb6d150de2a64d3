//! Ids that people shorten: the beginning of an id stands for it where no other begins so.

use loci_core::{Collection, Drawer, DrawerId, DrawerPosition, Error, Get, Include, Result};

/// The fewest characters that stand for an id.
const SHORTEST: usize = 6;
/// How many candidates are named.
const NAMED: usize = 8;

/// Drawers that were asked for, and the ids that are not there.
pub(super) struct Found<'a> {
    /// The drawers, each once, in the order asked.
    pub(super) drawers: Vec<Drawer>,
    /// What is not there, each once.
    pub(super) missing: Vec<&'a DrawerId>,
}

/// Finds drawers by ids that may be shortened; an id that is there stands for itself. A beginning that several ids
/// share is refused.
pub(super) fn find<'a>(collection: &dyn Collection, asked: &'a [DrawerId]) -> Result<Found<'a>> {
    let mut whole = Vec::with_capacity(asked.len());
    let mut missing: Vec<&DrawerId> = Vec::new();
    for id in asked {
        match resolve(collection, id)? {
            Some(id) => whole.push(id),
            None if missing.contains(&id) => {}
            None => missing.push(id),
        }
    }
    let drawers = collection.get(&Get::ids(whole))?;
    Ok(Found { drawers, missing })
}

/// The whole id that `asked` means, if any.
pub(crate) fn resolve(collection: &dyn Collection, asked: &DrawerId) -> Result<Option<DrawerId>> {
    let itself = collection.get(&Get {
        include: Include::NOTHING,
        ..Get::ids([asked.clone()])
    })?;
    if !itself.is_empty() {
        return Ok(Some(asked.clone()));
    }
    if asked.as_str().chars().count() < SHORTEST {
        return Ok(None);
    }
    let mut candidates = beginning(collection, asked)?;
    match candidates.len() {
        0 | 1 => Ok(candidates.pop()),
        _ => Err(ambiguous(asked, &candidates)),
    }
}

/// Ids that begin with `asked`: they come right after it, since ids are in byte order. One more than can be named.
fn beginning(collection: &dyn Collection, asked: &DrawerId) -> Result<Vec<DrawerId>> {
    let after = collection.get(&Get {
        after: Some(DrawerPosition::Id(asked.clone())),
        limit: Some(NAMED + 1),
        include: Include::NOTHING,
        ..Get::default()
    })?;
    let ids = after.into_iter().map(|drawer| drawer.id);
    Ok(ids
        .take_while(|id| id.as_str().starts_with(asked.as_str()))
        .collect())
}

fn ambiguous(asked: &DrawerId, candidates: &[DrawerId]) -> Error {
    let named: Vec<&str> = candidates.iter().take(NAMED).map(DrawerId::as_str).collect();
    let more = if candidates.len() > NAMED { " and more" } else { "" };
    Error::invalid(format!(
        "several drawers have ids that begin with {:?}",
        asked.as_str()
    ))
    .hint(format!("type more of one of these: {}{more}", named.join(", ")))
}
