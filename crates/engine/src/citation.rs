//! Citations: the place, day, trust mark and id of a drawer on one line, the same wherever memories are quoted.

use loci_core::{CollectionReader, Drawer, DrawerId, Result, Timestamp};

use crate::show::shorten_id;
use crate::snippet::cut_snippet;
use crate::tokens::estimate_tokens;
use crate::view::TrustMark;

/// The most characters and tokens of the name of a wing or room.
const NAME: (usize, usize) = (40, 14);

/// The most tokens of an id; a longer id is omitted from the line.
const ID_TOKENS: usize = 24;

/// The sign between the parts of a citation.
const BETWEEN: &str = " · ";

/// Formats `[wing/room · day · trust · id]`, omitting unknown parts; `when` is the time that counts as the drawer's.
pub(crate) fn cite_drawer(
    reader: &dyn CollectionReader,
    drawer: &Drawer,
    when: Option<Timestamp>,
) -> Result<String> {
    let names = [&drawer.place.wing, &drawer.place.room].map(|name| {
        let name = clean_name(name.as_deref().unwrap_or_default(), NAME.0, NAME.1);
        Some(name).filter(|name| !name.is_empty())
    });
    let names: Vec<String> = names.into_iter().flatten().collect();
    let day = when.and_then(|when| Some(when.to_string().split_once('T')?.0.to_owned()));
    let parts = [
        Some(names.join("/")).filter(|names| !names.is_empty()),
        day,
        Some(TrustMark::from_drawer(drawer).name().to_owned()),
        fit_short_id(reader, &drawer.id)?,
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    Ok(format!("[{}]", parts.join(BETWEEN)))
}

/// Returns the beginning of a stored name, without characters that could forge a part of a citation or a quotation.
pub(crate) fn clean_name(name: &str, characters: usize, tokens: usize) -> String {
    let harmless = |c: char| match c {
        '[' => '(',
        ']' => ')',
        '·' => '-',
        '"' => '\'',
        other => other,
    };
    cut_snippet(name, characters, tokens)
        .chars()
        .map(harmless)
        .collect()
}

/// Returns the shortest unambiguous prefix of an id, if it fits on a line.
fn fit_short_id(reader: &dyn CollectionReader, id: &DrawerId) -> Result<Option<String>> {
    // Ids of other programs may be any text, even one with line breaks or marks that would forge a citation.
    let forges = |c: char| c.is_control() || "[]·\"".contains(c);
    let fits = |text: &String| estimate_tokens(text) <= ID_TOKENS && !text.contains(forges);
    Ok(Some(shorten_id(reader, id)?).filter(fits))
}
