//! The origin of a drawer on one line: its place, its day and the id that shows its whole text.

use loci_core::{Drawer, DrawerId, Result};

use super::read::NewestReader;
use super::snippet::cut_snippet;
use crate::show::shorten_id;
use crate::tokens::estimate_tokens;

/// The most characters and tokens of the name of a wing or room.
const NAME: (usize, usize) = (40, 14);

/// The most tokens of an id; a longer id is omitted from the line.
const ID_TOKENS: usize = 24;

/// The fewest tokens that make a text worth a line.
pub(super) const SHORTEST_TEXT: usize = 8;

/// Formats `- wing / room, day, id: `, omitting unknown parts.
pub(super) fn format_origin(reader: &NewestReader<'_>, drawer: &Drawer) -> Result<String> {
    let name = |name: &Option<String>| {
        let name = name.as_deref().map(|name| cut_snippet(name, NAME.0, NAME.1));
        name.filter(|name| !name.is_empty())
    };
    let place = match (name(&drawer.place.wing), name(&drawer.place.room)) {
        (Some(wing), Some(room)) => Some(format!("{wing} / {room}")),
        (Some(wing), None) => Some(wing),
        (None, Some(room)) => Some(room.clone()),
        (None, None) => None,
    };
    let day = reader.drawer_time(drawer).map(|when| when.to_string());
    let day = day.and_then(|when| Some(when.split_once('T')?.0.to_owned()));
    let parts = [place, day, fit_short_id(reader, &drawer.id)?];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Ok(if parts.is_empty() {
        "- ".to_owned()
    } else {
        format!("- {}: ", parts.join(", "))
    })
}

/// Returns the shortest unambiguous prefix of an id, if it fits on a line.
fn fit_short_id(reader: &NewestReader<'_>, id: &DrawerId) -> Result<Option<String>> {
    // Ids of other programs may be any text, even one with line breaks that would forge a line of the page.
    let fits = |text: &String| estimate_tokens(text) <= ID_TOKENS && !text.contains(|c: char| c.is_control());
    Ok(Some(shorten_id(reader.collection, id)?).filter(fits))
}
