//! The newest sources: recent conversations with their last message, and recent files.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use loci_core::{Drawer, DrawerId, Result};

use super::read::NewestReader;

/// The most conversations whose opening is read from the store; openings read already are free.
const BEGINNINGS: usize = 16;

/// The most files on a page, one from each room.
const FILES: usize = 5;

/// A recent conversation or file.
#[derive(Debug, Clone)]
pub(super) struct RecentSource {
    /// The drawer that begins the last message, or the beginning of a file.
    pub(super) last: Drawer,
    /// The drawers of the same source that were read.
    met: Vec<Drawer>,
}

/// Groups `recent` by source and returns the sources, newest first.
pub(super) fn find_latest(reader: &NewestReader<'_>, recent: &[Drawer]) -> Vec<RecentSource> {
    let mut sources: HashMap<&str, Vec<Drawer>> = HashMap::new();
    for drawer in recent.iter().filter(|drawer| is_talk(drawer) || is_file(drawer)) {
        // A drawer filed by hand has no source and counts as a source of its own.
        let name = drawer.place.source.as_deref().unwrap_or(drawer.id.as_str());
        sources.entry(name).or_default().push(drawer.clone());
    }
    let mut found: Vec<RecentSource> = sources
        .into_values()
        .filter_map(|met| {
            Some(RecentSource {
                last: find_last_message(reader, &met)?,
                met,
            })
        })
        .collect();
    found.sort_by_cached_key(|one| (Reverse(reader.drawer_time(&one.last)), one.last.id.clone()));
    limit_files(&mut found);
    found
}

fn is_talk(drawer: &Drawer) -> bool {
    matches!(drawer.place.kind.as_deref(), Some("human" | "assistant"))
}

pub(super) fn is_file(drawer: &Drawer) -> bool {
    drawer.place.kind.as_deref() == Some("file")
}

fn span_start(drawer: &Drawer) -> u64 {
    drawer.place.span.map_or(0, |span| span.start)
}

/// Returns the drawer that begins the last message of a conversation; for a file, its first drawer.
fn find_last_message(reader: &NewestReader<'_>, met: &[Drawer]) -> Option<Drawer> {
    let key = |drawer: &&Drawer| {
        // A conversation is picked up at its end, a file is recognised by its beginning: `max_by_key` must find
        // the largest offset of the one and the smallest of the other.
        let offset = if is_file(drawer) {
            u64::MAX - span_start(drawer)
        } else {
            span_start(drawer)
        };
        (reader.drawer_time(drawer), offset, drawer.id.clone())
    };
    let last = met.iter().max_by_key(key)?;
    // A long message is several drawers whose spans touch; its first one reads best.
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

/// Limits the number of files, so that a freshly mined folder does not push out conversations.
fn limit_files(found: &mut Vec<RecentSource>) {
    let mut rooms = HashSet::new();
    found.retain(|one| {
        let place = &one.last.place;
        !is_file(&one.last) || (rooms.len() < FILES && rooms.insert((place.wing.clone(), place.room.clone())))
    });
}

/// Finds the openings of conversations, for as many as a page can hold.
#[derive(Debug, Default)]
pub(super) struct ConversationOpenings {
    looked_up: usize,
}

impl ConversationOpenings {
    /// Returns the first message of a person in a conversation, unless it is also its last drawer.
    pub(super) fn find_opening(
        &mut self,
        reader: &NewestReader<'_>,
        recent: &RecentSource,
    ) -> Result<Option<DrawerId>> {
        let first = |drawers: &[Drawer]| {
            let human = drawers
                .iter()
                .filter(|one| one.place.kind.as_deref() == Some("human"));
            human.min_by_key(|one| (span_start(one), one.id.clone())).cloned()
        };
        // Only offset 0 is certainly the opening: the drawers read are the newest, and may begin in the middle.
        let met = first(&recent.met).filter(|first| span_start(first) == 0);
        let found = match (met, &recent.last.place.source) {
            (Some(met), _) => Some(met),
            (None, None) => None,
            (None, Some(source)) => {
                if self.looked_up >= BEGINNINGS {
                    return Ok(None);
                }
                self.looked_up += 1;
                first(&reader.read_beginning(source)?)
            }
        };
        Ok(found.map(|found| found.id).filter(|id| *id != recent.last.id))
    }
}
