//! `loci wings`: the wings, and how much is in each.

use std::cmp::Reverse;

use loci_core::{Collection, Facets, Filter, Result};
use serde::Serialize;

use crate::errors::{Done, Exit};
use crate::output::Output;
use crate::page::counted;
use crate::session::Session;

/// List the wings
///
/// Each with how many drawers and rooms it has, the one with the most drawers first. `-` stands for the drawers that
/// are in no wing. Exits with 1 if there is none.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci wings")]
pub(crate) struct Args {}

#[derive(Serialize)]
struct Answer<'a> {
    wings: &'a [Wing],
}

/// A wing and how much is in it.
#[derive(Serialize)]
pub(super) struct Wing {
    /// Its name; `None` for the drawers in no wing.
    pub(super) wing: Option<String>,
    /// How many drawers it has.
    pub(super) drawers: u64,
    /// How many rooms they are in.
    #[serde(rename = "rooms")]
    count: u64,
    /// The rooms and how many drawers each has, most first.
    #[serde(skip)]
    pub(super) rooms: Vec<(Option<String>, u64)>,
}

/// Lists them.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    let (_, collection) = session.read()?;
    let wings = wings(collection.as_ref(), Filter::All)?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&Answer { wings: &wings })?;
    } else {
        out.page(|page| {
            for wing in &wings {
                page.plain(&format!("{:>8}  ", wing.drawers));
                page.plain(wing.wing.as_deref().unwrap_or("-")).plain("  ");
                page.dim(&counted(wing.count, "room")).end();
            }
        })?;
    }
    if wings.is_empty() {
        tell_empty(out)?;
    }
    Ok(Exit::found(!wings.is_empty()))
}

/// Says what to type where nothing is filed yet.
pub(super) fn tell_empty(out: &mut Output) -> Done<()> {
    out.flush()?;
    out.note("nothing is filed yet; file something with `loci mine PATH` or `loci add TEXT`");
    Ok(())
}

/// The wings a filter accepts, the one with the most drawers first, and so their rooms.
pub(super) fn wings(collection: &dyn Collection, filter: Filter) -> Result<Vec<Wing>> {
    let facets = collection.facets(&Facets {
        filter,
        ..Facets::by_room()
    })?;
    let mut wings: Vec<Wing> = Vec::new();
    for facet in facets {
        let mut values = facet.values.into_iter();
        let (wing, room) = (values.next().flatten(), values.next().flatten());
        // Facets come in order, so that the rooms of a wing stand together.
        if wings.last().is_none_or(|last| last.wing != wing) {
            wings.push(Wing {
                wing,
                drawers: 0,
                count: 0,
                rooms: Vec::new(),
            });
        }
        if let Some(last) = wings.last_mut() {
            last.drawers += facet.drawers;
            last.count += u64::from(room.is_some());
            last.rooms.push((room, facet.drawers));
        }
    }
    // What is equal stays in order of its name.
    wings.sort_by_key(|wing| Reverse(wing.drawers));
    for wing in &mut wings {
        wing.rooms.sort_by_key(|(_, drawers)| Reverse(*drawers));
    }
    Ok(wings)
}
