//! Refile: drawers moved to another wing or room. Their ids, texts and vectors stay.

use loci_core::{
    Collection, CollectionExt, DrawerId, DrawerPosition, Error, Filter, Get, Include, Patch, Place, Result,
    Write,
};
use serde::Serialize;

use crate::mine::spelled;
use loci_mine::project::tidy_name;

/// How many drawers are moved in one transaction.
const PAGE: usize = 1000;

/// Which drawers to move.
#[derive(Debug, Clone, PartialEq)]
pub enum Which {
    /// These.
    Ids(Vec<DrawerId>),
    /// All that the filter accepts.
    Matching(Filter),
}

/// What a move did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct RefileReport {
    /// How many drawers were meant.
    pub matched: u64,
    /// How many of them were elsewhere and are moved now.
    pub moved: u64,
    /// Ids that are not there.
    pub missing: Vec<DrawerId>,
}

/// Moves drawers to another wing, room or both.
pub fn refile(
    collection: &dyn Collection,
    which: &Which,
    wing: Option<&str>,
    room: Option<&str>,
) -> Result<RefileReport> {
    let tidy = |what: &str, name: Option<&str>| match name {
        None => Ok(None),
        Some(name) => tidy_name(name)
            .map(Some)
            .ok_or_else(|| Error::invalid(format!("{name:?} is no name for a {what}"))),
    };
    let wing = tidy("wing", wing)?.map(|wing| spelled(collection, &wing));
    let place = Place {
        wing: wing.transpose()?,
        room: tidy("room", room)?,
        ..Place::default()
    };
    if place == Place::default() {
        return Err(Error::invalid("a move needs somewhere to go")
            .hint("give --wing, --room or both; nothing was moved"));
    }
    let mut report = RefileReport::default();
    match which {
        Which::Ids(ids) => {
            for ids in ids.chunks(PAGE) {
                let request = Get {
                    include: Include::NOTHING,
                    ..Get::ids(ids.iter().cloned())
                };
                let found = move_all(collection, &request, &place, &mut report)?;
                let missing = ids.iter().filter(|id| !found.contains(id));
                report.missing.extend(missing.cloned());
            }
        }
        Which::Matching(filter) => {
            let mut after = None;
            loop {
                let request = Get {
                    filter: filter.clone(),
                    after,
                    limit: Some(PAGE),
                    include: Include::NOTHING,
                    ..Get::default()
                };
                let found = move_all(collection, &request, &place, &mut report)?;
                if found.len() < PAGE {
                    break;
                }
                after = found.last().cloned().map(DrawerPosition::Id);
            }
        }
    }
    Ok(report)
}

fn move_all(
    collection: &dyn Collection,
    request: &Get,
    place: &Place,
    report: &mut RefileReport,
) -> Result<Vec<DrawerId>> {
    let found = collection.get(request)?;
    let elsewhere = |own: &Option<String>, asked: &Option<String>| asked.is_some() && own != asked;
    let moves: Vec<Write> = found
        .iter()
        .filter(|drawer| {
            elsewhere(&drawer.place.wing, &place.wing) || elsewhere(&drawer.place.room, &place.room)
        })
        .map(|drawer| {
            Write::Update(Patch {
                place: place.clone(),
                ..Patch::new(drawer.id.clone())
            })
        })
        .collect();
    report.matched += found.len() as u64;
    if !moves.is_empty() {
        report.moved += collection.apply_batch(&moves)?.updated.len() as u64;
    }
    Ok(found.into_iter().map(|drawer| drawer.id).collect())
}
