//! One drawer on one line: where it is from, when, by which id it is shown whole, and how it begins.

use loci_core::{Drawer, DrawerId, Result};

use super::read::NewestReader;
use super::snippet::snippet;
use crate::show::shorten_id;
use crate::tokens::estimate;

/// The most characters and tokens that the name of a wing or room takes.
const NAME: (usize, usize) = (40, 14);

/// The most tokens an id may take; a dearer one is left out of the line.
const ID_TOKENS: usize = 24;

/// The fewest tokens a text must get to be worth a line.
pub(super) const SHORTEST_TEXT: usize = 8;

/// `- wing / room, day, id: `, as far as these are known.
pub(super) fn origin(reader: &NewestReader<'_>, drawer: &Drawer) -> Result<String> {
    let name = |name: &Option<String>| {
        let name = name.as_deref().map(|name| snippet(name, NAME.0, NAME.1));
        name.filter(|name| !name.is_empty())
    };
    let place = match (name(&drawer.place.wing), name(&drawer.place.room)) {
        (Some(wing), Some(room)) => Some(format!("{wing} / {room}")),
        (Some(wing), None) => Some(wing),
        (None, Some(room)) => Some(room.clone()),
        (None, None) => None,
    };
    let day = reader.time_of(drawer).map(|when| when.to_string());
    let day = day.and_then(|when| Some(when.split_once('T')?.0.to_owned()));
    let parts = [place, day, short_id(reader, &drawer.id)?];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Ok(match parts.is_empty() {
        true => "- ".to_owned(),
        false => format!("- {}: ", parts.join(", ")),
    })
}

/// The shortest beginning of an id that stands for it, if it can stand on a line.
fn short_id(reader: &NewestReader<'_>, id: &DrawerId) -> Result<Option<String>> {
    let fits = |text: &String| estimate(text) <= ID_TOKENS && !text.contains(|c: char| c.is_control());
    Ok(Some(shorten_id(reader.collection, id)?).filter(fits))
}
