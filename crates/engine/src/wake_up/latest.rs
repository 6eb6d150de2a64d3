//! The newest sources: recent conversations with their last message, and recent files.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use loci_core::{Drawer, DrawerId, MetadataScalar, MetadataValue, Result};

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

impl RecentSource {
    /// Reads the drawer to quote, with its text and metadata.
    pub(super) fn read_last(&self, reader: &NewestReader<'_>) -> Result<Option<Drawer>> {
        let mut last = self.last.id.clone();
        // MemPalace records no spans, and one time for all pieces of a conversation; it numbers them instead.
        if self.last.place.span.is_none() && self.met.len() > 1 {
            let ids = self.met.iter().map(|drawer| drawer.id.clone());
            let numbered = reader.read_described(ids.collect())?;
            let latest = numbered.iter().filter_map(|one| Some((piece_number(one)?, one)));
            if let Some((_, one)) = latest.max_by_key(|(number, one)| (*number, one.id.clone())) {
                last = one.id.clone();
            }
        }
        reader.read_whole(&last)
    }
}

/// Returns the number that MemPalace gave a piece of a conversation.
fn piece_number(drawer: &Drawer) -> Option<i64> {
    match drawer.metadata.as_ref()?.get("chunk_index")? {
        MetadataValue::One(MetadataScalar::Int(number)) => Some(*number),
        _ => None,
    }
}

/// The newest conversations and files of a palace, each newest first.
#[derive(Debug)]
pub(super) struct LatestSources {
    pub(super) conversations: Vec<RecentSource>,
    pub(super) files: Vec<RecentSource>,
}

impl LatestSources {
    /// Finds the newest sources, at least `wanted` conversations among them. Conversations and files are read apart, so
    /// that neither hides the other.
    pub(super) fn find(reader: &NewestReader<'_>, wanted: usize) -> Result<Self> {
        let mut files = group_by_source(reader, reader.read_files()?);
        limit_files(&mut files);
        Ok(Self {
            conversations: group_by_source(reader, reader.read_conversations(wanted)?),
            files,
        })
    }
}

/// Groups drawers by source and returns the sources, newest first.
fn group_by_source(reader: &NewestReader<'_>, drawers: Vec<Drawer>) -> Vec<RecentSource> {
    let mut sources: HashMap<String, Vec<Drawer>> = HashMap::new();
    for drawer in drawers {
        // A drawer filed by hand has no source and counts as a source of its own.
        let name = drawer.place.source.as_deref().unwrap_or(drawer.id.as_str());
        sources.entry(name.to_owned()).or_default().push(drawer);
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
    found
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

/// Limits the number of files, one from each room.
fn limit_files(found: &mut Vec<RecentSource>) {
    let mut rooms = HashSet::new();
    found.retain(|one| {
        let place = &one.last.place;
        rooms.len() < FILES && rooms.insert((place.wing.clone(), place.room.clone()))
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
