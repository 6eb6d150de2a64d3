//! The list of deletions: pieces of sources that were deleted, and that mining must not bring back.
//!
//! It is kept in records beside those of sources, under names and hashes made with the palace's key, so that neither
//! the list nor a copy of it tells what was deleted. A message that was deleted as a whole is known by its id, wherever
//! it turns up; any other piece by its source and its text.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ops::Range;

use loci_core::{
    Collection, CollectionExt, Error, ErrorKind, Result, SourceRecord, SourceRecordQuery, SourceRevision,
};
use serde::{Deserialize, Serialize};

use crate::keys::PalaceKey;
use crate::ledger::{PAGE, find_named, visit_under};
use crate::palace::Palace;

/// The beginning of the names of these records; the key's fingerprint follows.
pub const PREFIX: &str = "loci:deleted:";

/// The purposes of the hashes.
const SOURCES: &str = "loci 2026-11 names of sources in the list of deletions";
const MESSAGES: &str = "loci 2026-11 ids of messages in the list of deletions";
const HEADS: &str = "loci 2026-11 beginnings of pieces in the list of deletions";
const PIECES: &str = "loci 2026-11 pieces in the list of deletions";

/// The number of bytes by which a text is first compared with a deleted one.
const HEAD: usize = 16;

/// An id of at least this many bytes belongs to one message alone. Shorter ones, like "1", are used by many conversations
/// and count only within their source.
const OWN_ID: usize = 20;

/// What a piece belongs to. The same words in another message are not the words that were deleted.
#[derive(Debug, Clone, Copy)]
pub(crate) enum PieceOwner<'o> {
    /// A source without ids of its own.
    Source(&'o str),
    /// A message with this id.
    Message(&'o str),
}

/// The deletions in one source, as its record lists them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct DeletedParts {
    /// Pieces: their length, the hash of their beginning and the hash of all of them.
    #[serde(default)]
    pieces: BTreeSet<(usize, String, String)>,
    /// Hashes of the ids of messages.
    #[serde(default)]
    messages: BTreeSet<String>,
}

impl DeletedParts {
    /// Reads the stamp of a record; one that cannot be read lists nothing.
    pub(crate) fn from_stamp(stamp: &str) -> Self {
        serde_json::from_str(stamp).unwrap_or_default()
    }

    /// Returns the stamp of the record.
    pub(crate) fn to_stamp(&self) -> String {
        serde_json::to_string(self).expect("texts and numbers can be written as JSON")
    }

    /// Returns the parts that `other` does not list.
    pub(crate) fn without(&self, other: &Self) -> Self {
        Self {
            pieces: self.pieces.difference(&other.pieces).cloned().collect(),
            messages: self.messages.difference(&other.messages).cloned().collect(),
        }
    }

    /// Returns whether nothing is listed.
    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty() && self.messages.is_empty()
    }

    /// Adds a piece of a source, or of a message that has an id of its own.
    pub(crate) fn add_piece(&mut self, key: &PalaceKey, owner: PieceOwner<'_>, text: &str) {
        if text.is_empty() {
            return;
        }
        let head = hash_head(key, text.as_bytes());
        let hash = hash_piece(key, owner, text.as_bytes());
        self.pieces.insert((text.len(), head, hash));
    }

    /// Adds a message that was deleted as a whole.
    pub(crate) fn add_message(&mut self, key: &PalaceKey, id: &str) {
        self.messages.insert(hash_message(key, id));
    }
}

fn hash_head(key: &PalaceKey, text: &[u8]) -> String {
    let head = text.get(..HEAD).unwrap_or(text);
    key.hash_parts(HEADS, &[head]).to_hex().chars().take(16).collect()
}

fn hash_piece(key: &PalaceKey, owner: PieceOwner<'_>, text: &[u8]) -> String {
    let (kind, name) = match owner {
        PieceOwner::Source(source) => ("source", source),
        PieceOwner::Message(id) => ("message", id),
    };
    let hash = key.hash_parts(PIECES, &[kind.as_bytes(), name.as_bytes(), text]);
    hash.to_hex().chars().take(32).collect()
}

fn hash_message(key: &PalaceKey, id: &str) -> String {
    let hash = key.hash_parts(MESSAGES, &[id.as_bytes()]);
    hash.to_hex().chars().take(32).collect()
}

/// Returns the name of the record of a source's deletions.
pub(crate) fn name_source_record(key: &PalaceKey, source: &str) -> String {
    let hash = key.hash_parts(SOURCES, &[source.as_bytes()]).to_hex();
    format!(
        "{PREFIX}{}:s:{}",
        key.fingerprint(),
        hash.get(..32).unwrap_or_default()
    )
}

/// Returns the name of the record of a deleted message, if its id tells it from the messages of all other sources.
pub(crate) fn name_message_record(key: &PalaceKey, id: &str) -> Option<String> {
    let name = || format!("{PREFIX}{}:m:{}", key.fingerprint(), hash_message(key, id));
    (id.len() >= OWN_ID).then(name)
}

/// The keys by which the deletions of a collection are recognised; none if nothing was deleted.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeletionKeys(Vec<PalaceKey>);

impl DeletionKeys {
    /// Finds the keys of every list that a collection has; a missing key is an error.
    pub(crate) fn load(palace: &Palace, collection: Option<&dyn Collection>) -> Result<Self> {
        let Some(ledger) = collection.and_then(|collection| collection.sources()) else {
            return Ok(Self::default());
        };
        let mut keys = Vec::new();
        let mut after = None;
        loop {
            let next = ledger.find_records(&SourceRecordQuery::Under {
                prefix: PREFIX.to_owned(),
                after,
                limit: 1,
            })?;
            let Some(fingerprint) = next.first().and_then(|record| fingerprint_of(&record.source)) else {
                return Ok(Self(keys));
            };
            let found = palace.find_key(&fingerprint)?;
            keys.push(found.ok_or_else(|| missing_key_error(&fingerprint))?);
            // `;` follows `:`, so this is behind every record of this key.
            after = Some(format!("{PREFIX}{fingerprint};"));
        }
    }

    /// Returns whether nothing was deleted.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Looks up what was deleted of a source, and which of these messages.
    pub(crate) fn look_up<'m>(
        &self,
        collection: &dyn Collection,
        source: &str,
        messages: impl Iterator<Item = (&'m str, usize)>,
    ) -> Result<SourceDeletions> {
        let mut found = SourceDeletions {
            source: source.to_owned(),
            ..SourceDeletions::default()
        };
        if self.is_empty() {
            return Ok(found);
        }
        let messages: Vec<(&str, usize)> = messages.collect();
        for key in &self.0 {
            for record in find_named(collection, vec![name_source_record(key, source)])? {
                let list = DeletedParts::from_stamp(&record.stamp);
                let listed = messages
                    .iter()
                    .filter(|(id, _)| list.messages.contains(&hash_message(key, id)));
                found.messages.extend(listed.map(|(_, number)| *number));
                found.lists.push((key.clone(), list));
                found.records.push((record.source, record.revision));
            }
            let named: HashMap<String, usize> = messages
                .iter()
                .filter_map(|(id, number)| Some((name_message_record(key, id)?, *number)))
                .collect();
            let names: Vec<String> = named.keys().cloned().collect();
            for page in names.chunks(PAGE) {
                for record in find_named(collection, page.to_vec())? {
                    found.messages.extend(named.get(&record.source));
                    found.records.push((record.source, record.revision));
                }
            }
        }
        Ok(found)
    }
}

/// Calls `each` with all records of the list of deletions, page by page; a collection without records has none.
pub(crate) fn visit_records(
    collection: &dyn Collection,
    each: &mut dyn FnMut(Vec<SourceRecord>) -> Result<()>,
) -> Result<()> {
    visit_under(collection, PREFIX, each)
}

/// Adds records of another collection's list of deletions; those that exist are joined.
pub(crate) fn add_records(collection: &dyn Collection, given: &BTreeMap<String, String>) -> Result<()> {
    let given: Vec<(&String, &String)> = given
        .iter()
        .filter(|(name, _)| name.starts_with(PREFIX))
        .collect();
    for page in given.chunks(PAGE) {
        let names = page.iter().map(|(name, _)| (*name).clone()).collect();
        let there: BTreeMap<String, SourceRecord> = find_named(collection, names)?
            .into_iter()
            .map(|record| (record.source.clone(), record))
            .collect();
        let revisions = page.iter().filter_map(|(name, stamp)| {
            let old = there.get(*name);
            let joined = old.map_or_else(|| (*stamp).clone(), |old| join_stamps(&old.stamp, stamp));
            let is_new = old.is_none_or(|old| old.stamp != joined);
            is_new.then(|| SourceRevision {
                source: (*name).clone(),
                expects: old.map(|old| old.revision),
                stamp: Some(joined),
                parts: Box::new(std::iter::empty()),
            })
        });
        collection.require_sources()?.revise(revisions.collect())?;
    }
    Ok(())
}

fn join_stamps(one: &str, other: &str) -> String {
    let (mut joined, other) = (DeletedParts::from_stamp(one), DeletedParts::from_stamp(other));
    joined.pieces.extend(other.pieces);
    joined.messages.extend(other.messages);
    joined.to_stamp()
}

/// Returns the fingerprint of the key in the name of a record of the list.
pub(crate) fn fingerprint_of(name: &str) -> Option<String> {
    let rest = name.strip_prefix(PREFIX)?;
    rest.split_once(':')
        .map(|(fingerprint, _)| fingerprint.to_owned())
}

fn missing_key_error(fingerprint: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "this palace remembers what was deleted from it, but the key that recognises it ({fingerprint}) is not on this machine"
        ),
    )
    .with_hint(
        "nothing was mined; bring the key with `loci key import FILE`, or mine deleted words again with --restore-deleted",
    )
}

/// What was deleted of one source.
#[derive(Debug, Default)]
pub(crate) struct SourceDeletions {
    source: String,
    lists: Vec<(PalaceKey, DeletedParts)>,
    messages: HashSet<usize>,
    /// The records that say so, with their revisions.
    pub(crate) records: Vec<(String, u64)>,
}

impl SourceDeletions {
    /// Returns whether nothing of the source was deleted.
    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.messages.is_empty()
    }

    /// Returns whether the message with this number was deleted as a whole.
    pub(crate) fn has_message(&self, number: usize) -> bool {
        self.messages.contains(&number)
    }

    /// Finds deleted pieces in a text, that of a message if its id is given, at the start of a line or at one of the places in `starts`; the ranges are in
    /// order and do not overlap.
    pub(crate) fn find_in(
        &self,
        text: &str,
        message: Option<&str>,
        starts: impl Iterator<Item = usize>,
    ) -> Vec<Range<usize>> {
        if self.lists.iter().all(|(_, list)| list.pieces.is_empty()) {
            return Vec::new();
        }
        let owner = message.map_or(PieceOwner::Source(&self.source), PieceOwner::Message);
        let lines = text.match_indices('\n').map(|(at, _)| at + 1);
        let places: BTreeSet<usize> = std::iter::once(0).chain(lines).chain(starts).collect();
        let mut found = Vec::new();
        for (key, list) in &self.lists {
            // A piece shorter than a head is compared by as many bytes as it has.
            let lengths: BTreeSet<usize> = list
                .pieces
                .iter()
                .map(|(length, ..)| (*length).min(HEAD))
                .collect();
            for place in &places {
                let Some(rest) = text.as_bytes().get(*place..) else {
                    continue;
                };
                found
                    .extend(match_at(key, list, owner, &lengths, rest).map(|length| *place..*place + length));
            }
        }
        join_ranges(found)
    }
}

/// Returns the length of the longest deleted piece that `rest` begins with.
fn match_at(
    key: &PalaceKey,
    list: &DeletedParts,
    owner: PieceOwner<'_>,
    lengths: &BTreeSet<usize>,
    rest: &[u8],
) -> Option<usize> {
    let heads: HashSet<String> = lengths
        .iter()
        .filter_map(|length| Some(hash_head(key, rest.get(..*length)?)))
        .collect();
    let begins = list
        .pieces
        .iter()
        .rev()
        .filter(|(_, head, _)| heads.contains(head));
    begins
        .filter(|(length, _, hash)| {
            rest.get(..*length)
                .is_some_and(|text| hash_piece(key, owner, text) == *hash)
        })
        .map(|(length, ..)| *length)
        .max()
}

/// Joins ranges that overlap; the result is in order.
fn join_ranges(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in ranges {
        match joined.last_mut().filter(|last| range.start < last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    fn deletions(texts: &[&str]) -> SourceDeletions {
        let key = PalaceKey::generate().unwrap();
        let mut list = DeletedParts::default();
        for text in texts {
            list.add_piece(&key, PieceOwner::Source("a.md"), text);
        }
        let list = DeletedParts::from_stamp(&list.to_stamp());
        SourceDeletions {
            source: "a.md".to_owned(),
            lists: vec![(key, list)],
            ..SourceDeletions::default()
        }
    }

    #[test]
    fn a_deleted_piece_is_found_wherever_a_line_begins_with_it() {
        let deleted = deletions(&["password: hunter2", "short", "the first line\nand the second\n"]);
        let pairs =
            |ranges: Vec<Range<usize>>| ranges.into_iter().map(|range| (range.start, range.end)).collect();
        let find =
            |text: &str| -> Vec<(usize, usize)> { pairs(deleted.find_in(text, None, std::iter::empty())) };
        assert_eq!(find("password: hunter2"), [(0, 17)]);
        assert_eq!(find("hello\npassword: hunter2\nmore"), [(6, 23)]);
        assert_eq!(find("shorter\nshort"), [(0, 5), (8, 13)]);
        assert_eq!(find("x\nthe first line\nand the second\nend"), [(2, 32)]);
        assert!(find("the first line\nand the third\n").is_empty());
        assert!(
            find("my password: hunter2").is_empty(),
            "not at the start of a line"
        );
        assert_eq!(
            pairs(deleted.find_in("my password: hunter2", None, [3].into_iter())),
            [(3, 20)]
        );
    }

    #[test]
    fn the_list_gives_nothing_away_and_belongs_to_one_source_and_key() {
        let deleted = deletions(&["password: hunter2"]);
        let stamp = deleted.lists[0].1.to_stamp();
        assert!(!stamp.contains("hunter2"), "{stamp}");
        let other = SourceDeletions {
            source: "b.md".to_owned(),
            lists: deleted.lists.clone(),
            ..SourceDeletions::default()
        };
        assert!(
            other
                .find_in("password: hunter2", None, std::iter::empty())
                .is_empty()
        );
        let again = deletions(&["password: hunter2"]);
        assert_ne!(again.lists[0].1.to_stamp(), stamp, "another key, another list");
        let (one, two) = (&deleted.lists[0].0, &again.lists[0].0);
        let uuid = "6f9619ff-8b86-d011-b42d-00c04fc964ff";
        assert_ne!(name_message_record(one, uuid), name_message_record(two, uuid));
        assert_eq!(
            name_message_record(one, "17"),
            None,
            "many conversations have such a message"
        );
        assert_eq!(name_source_record(one, "a.md"), name_source_record(one, "a.md"));
    }
}
