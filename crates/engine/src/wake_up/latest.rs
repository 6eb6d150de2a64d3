//! What is newest: the last conversations, each where it can be picked up again, and the last files.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use loci_core::{Drawer, DrawerId, Result};

use super::read::NewestReader;

/// How many conversations' first words are looked up, beside those met already.
const BEGINNINGS: usize = 16;

/// How many files may stand on a page; one from each room.
const FILES: usize = 5;

/// Something that is new: a conversation or a file, by its last drawer.
#[derive(Debug, Clone)]
pub(super) struct Recent {
    /// The drawer that holds what was said last, or the beginning of a file.
    pub(super) last: Drawer,
    /// The drawers of the same source that were met.
    met: Vec<Drawer>,
}

/// What is newest among `recent`, newest first.
pub(super) fn latest(reader: &NewestReader<'_>, recent: &[Drawer]) -> Vec<Recent> {
    let mut sources: HashMap<&str, Vec<Drawer>> = HashMap::new();
    for drawer in recent.iter().filter(|drawer| is_talk(drawer) || is_file(drawer)) {
        let name = drawer.place.source.as_deref().unwrap_or(drawer.id.as_str());
        sources.entry(name).or_default().push(drawer.clone());
    }
    let mut found: Vec<Recent> = sources
        .into_values()
        .filter_map(|met| {
            Some(Recent {
                last: last(reader, &met)?,
                met,
            })
        })
        .collect();
    found.sort_by_cached_key(|one| (Reverse(reader.time_of(&one.last)), one.last.id.clone()));
    few_files(&mut found);
    found
}

fn is_talk(drawer: &Drawer) -> bool {
    matches!(drawer.place.kind.as_deref(), Some("human" | "assistant"))
}

pub(super) fn is_file(drawer: &Drawer) -> bool {
    drawer.place.kind.as_deref() == Some("file")
}

fn start(drawer: &Drawer) -> u64 {
    drawer.place.span.map_or(0, |span| span.start)
}

/// The drawer with which the last message begins; of a file, the first one.
fn last(reader: &NewestReader<'_>, met: &[Drawer]) -> Option<Drawer> {
    let key = |drawer: &&Drawer| match is_file(drawer) {
        true => (
            reader.time_of(drawer),
            u64::MAX - start(drawer),
            drawer.id.clone(),
        ),
        false => (reader.time_of(drawer), start(drawer), drawer.id.clone()),
    };
    let last = met.iter().max_by_key(key)?;
    // The pieces of one message follow each other without a gap.
    let mut first = last;
    while let Some(before) = met.iter().find(|one| is_piece_before(one, first)) {
        first = before;
    }
    Some(first.clone())
}

fn is_piece_before(one: &Drawer, next: &Drawer) -> bool {
    let (Some(a), Some(b)) = (one.place.span, next.place.span) else {
        return false;
    };
    a.end == b.start
        && a.start < b.start
        && one.place.kind == next.place.kind
        && one.place.said_at == next.place.said_at
}

/// A folder that was just mined must not push out what was said.
fn few_files(found: &mut Vec<Recent>) {
    let mut rooms = HashSet::new();
    found.retain(|one| {
        let place = &one.last.place;
        !is_file(&one.last) || (rooms.len() < FILES && rooms.insert((place.wing.clone(), place.room.clone())))
    });
}

/// Finds how conversations began, for as many as a page can hold.
#[derive(Debug, Default)]
pub(super) struct Beginnings {
    looked_up: usize,
}

impl Beginnings {
    /// The first thing a person said in a conversation, where it is not its last drawer too.
    pub(super) fn of(&mut self, reader: &NewestReader<'_>, recent: &Recent) -> Result<Option<DrawerId>> {
        let first = |drawers: &[Drawer]| {
            let human = drawers
                .iter()
                .filter(|one| one.place.kind.as_deref() == Some("human"));
            human.min_by_key(|one| (start(one), one.id.clone())).cloned()
        };
        let met = first(&recent.met).filter(|first| start(first) == 0);
        let found = match (met, &recent.last.place.source) {
            (Some(met), _) => Some(met),
            (None, None) => None,
            (None, Some(source)) => {
                if self.looked_up >= BEGINNINGS {
                    return Ok(None);
                }
                self.looked_up += 1;
                first(&reader.beginning_of(source)?)
            }
        };
        Ok(found.map(|found| found.id).filter(|id| *id != recent.last.id))
    }
}
