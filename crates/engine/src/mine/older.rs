//! Drawers that MemPalace cut from a source and that a migration brought: an older filing of the same words.
//!
//! They are recognised when the source is mined. A drawer whose words are all in the source as it is filed now goes in
//! the same commit; any other stays, since its words may be nowhere else (decision 032).

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use loci_core::{Drawer, DrawerId, MetadataScalar, MetadataValue, Result};

use super::draft::talk::TalkBody;
use super::draft::{DraftBody, SourceDraft};
use super::stored::{StoredSource, is_mined};

/// The metadata keys that MemPalace's miners write, and none of its tools by which words are filed by hand.
const MINER_KEYS: [&str; 5] = [
    "source_mtime",
    "chunk_total",
    "normalize_version",
    "extract_mode",
    "ingest_mode",
];
/// The name under which its miners file unless they are told another.
const MINER: &str = "mempalace";
/// The marks that it puts before the lines of a conversation: what a user said, and what a tool returned.
const LINE_MARKS: [&str; 2] = ["> ", "→ "];
/// The most bytes of a source that are searched in vain; chunks after that stay.
const MOST_SEARCHED: usize = 4 << 30;

/// The drawers of an older filing.
#[derive(Debug, Default)]
pub(crate) struct OlderFiling {
    /// Those whose words are all in the source.
    pub(crate) replaced: HashSet<DrawerId>,
    /// The number of the others.
    pub(crate) kept: u64,
}

/// Returns whether MemPalace's miners cut a drawer from the source that it names.
pub(crate) fn is_older_filing(drawer: &Drawer) -> bool {
    let Some(metadata) = drawer.metadata.as_ref().filter(|_| !is_mined(drawer)) else {
        return false;
    };
    let text = |key: &str| metadata.get(key).and_then(MetadataValue::as_text);
    let has_miner_key = || MINER_KEYS.iter().any(|key| metadata.get(key).is_some());
    chunk_number(drawer).is_some()
        && text("source_file").is_some()
        && text("source_file") == drawer.place.source.as_deref()
        && (has_miner_key() || text("added_by") == Some(MINER))
        && text("parent_drawer_id").is_none()
        && text("type").is_none()
}

fn chunk_number(drawer: &Drawer) -> Option<i64> {
    match drawer.metadata.as_ref()?.get("chunk_index")? {
        MetadataValue::One(MetadataScalar::Int(number)) => Some(*number),
        _ => None,
    }
}

/// Finds the older filing of a source among its stored drawers.
pub(crate) fn find_older_filing(stored: &StoredSource<'_>, draft: &SourceDraft) -> Result<OlderFiling> {
    let mut older: Vec<(i64, DrawerId)> = Vec::new();
    stored.for_each_drawer(&mut |drawer| {
        if let Some(number) = chunk_number(drawer).filter(|_| is_older_filing(drawer)) {
            older.push((number, drawer.id.clone()));
        }
    })?;
    let mut found = OlderFiling::default();
    if older.is_empty() {
        return Ok(found);
    }
    // In the order of the source, so that each search begins where the last one ended.
    older.sort_unstable();
    let ids: Vec<DrawerId> = older.into_iter().map(|(_, id)| id).collect();
    let mut filed = FiledWords::new(draft);
    stored.for_each_text(&ids, &mut |id, text| {
        if filed.holds_text(text) {
            found.replaced.insert(id.clone());
        }
    })?;
    found.kept = (ids.len() - found.replaced.len()) as u64;
    Ok(found)
}

/// The words of a source as it is filed now.
enum FiledWords<'a> {
    File(FileWords<'a>),
    Talk(TalkWords),
}

impl<'a> FiledWords<'a> {
    fn new(draft: &'a SourceDraft) -> Self {
        match &draft.body {
            DraftBody::File(file) => Self::File(FileWords::new(file.filed_texts())),
            DraftBody::Talk(talk) => Self::Talk(TalkWords::new(talk)),
        }
    }

    fn holds_text(&mut self, text: &str) -> bool {
        match self {
            Self::File(file) => file.holds_text(text),
            Self::Talk(talk) => talk.holds_text(text),
        }
    }
}

/// The texts of a file: MemPalace's chunks are parts of them, word for word.
struct FileWords<'a> {
    /// The texts with the place at which the next search begins.
    texts: Vec<(Cow<'a, str>, usize)>,
    searched: usize,
}

impl<'a> FileWords<'a> {
    fn new(texts: Vec<&'a str>) -> Self {
        // MemPalace reads a file with its line ends changed.
        let plain = |text: &'a str| -> Cow<'a, str> {
            if text.contains('\r') {
                text.replace("\r\n", "\n").replace('\r', "\n").into()
            } else {
                text.into()
            }
        };
        Self {
            texts: texts.into_iter().map(|text| (plain(text), 0)).collect(),
            searched: 0,
        }
    }

    fn holds_text(&mut self, wanted: &str) -> bool {
        // Nothing is lost with a drawer without words.
        let wanted = wanted.trim();
        if wanted.is_empty() {
            return true;
        }
        for (text, next) in &mut self.texts {
            if self.searched > MOST_SEARCHED {
                return false;
            }
            let ahead = text.get(*next..).and_then(|rest| rest.find(wanted));
            let found = ahead.map(|at| *next + at).or_else(|| text.find(wanted));
            if let Some(at) = found {
                *next = at;
                return true;
            }
            self.searched += text.len();
        }
        false
    }
}

/// The lines of a conversation: MemPalace joins messages and marks their lines, so chunks are compared line by line.
struct TalkWords {
    lines: HashSet<u64>,
    texts: Vec<String>,
}

impl TalkWords {
    fn new(talk: &TalkBody) -> Self {
        let (mut lines, mut texts) = (HashSet::new(), Vec::new());
        talk.for_each_whole_text(&mut |text| {
            lines.extend(text.lines().map(hash_line));
            texts.push(text.to_owned());
        });
        Self { lines, texts }
    }

    fn holds_text(&self, wanted: &str) -> bool {
        let lines: Vec<&str> = wanted
            .lines()
            .map(strip_marks)
            .filter(|line| !line.is_empty())
            .collect();
        let is_edge = |at: usize| at == 0 || at + 1 == lines.len();
        lines.iter().enumerate().all(|(at, line)| {
            // A chunk may begin and end in the middle of a line.
            self.lines.contains(&hash_line(line))
                || (is_edge(at) && self.texts.iter().any(|text| text.contains(line)))
        })
    }
}

fn strip_marks(line: &str) -> &str {
    let line = line.trim();
    let marked = LINE_MARKS.iter().find_map(|mark| line.strip_prefix(mark));
    marked.unwrap_or(line).trim()
}

fn hash_line(line: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    line.trim().hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::Metadata;

    fn drawer(metadata: Metadata) -> Drawer {
        let mut drawer = Drawer::with_id_only(DrawerId::new("d").unwrap());
        drawer.place.source = Some("/a.md".to_owned());
        drawer.metadata = Some(metadata);
        drawer
    }

    fn chunk() -> Metadata {
        let chunk = Metadata::new().with_entry("chunk_index", 0_i64);
        chunk.with_entry("source_file", "/a.md")
    }

    #[test]
    fn drawers_of_mempalaces_miners_are_told_from_those_filed_by_hand() {
        assert!(is_older_filing(&drawer(chunk().with_entry("source_mtime", 1.5))));
        assert!(is_older_filing(&drawer(
            chunk().with_entry("added_by", "mempalace")
        )));
        assert!(!is_older_filing(&drawer(chunk().with_entry("added_by", "mcp"))));
        let parent = chunk()
            .with_entry("chunk_total", 2_i64)
            .with_entry("parent_drawer_id", "p");
        assert!(!is_older_filing(&drawer(parent)));
        let other = chunk()
            .with_entry("source_mtime", 1.5)
            .with_entry("source_file", "/b.md");
        assert!(!is_older_filing(&drawer(other)));
    }

    #[test]
    fn a_chunk_is_in_a_file_if_all_of_it_is_there_in_one_piece() {
        let mut words = FileWords::new(vec!["one\r\ntwo\r\nthree\n", "four\n"]);
        for held in ["one\ntwo", "three", "two\nthree", "one", "four", "  \n"] {
            assert!(words.holds_text(held), "{held}");
        }
        for other in ["one\nthree", "three\nfour", "five"] {
            assert!(!words.holds_text(other), "{other}");
        }
    }

    #[test]
    fn a_chunk_of_a_conversation_is_compared_line_by_line_without_its_marks() {
        let texts = ["How do I ship?\nToday.", "On Thursdays, as always."];
        let words = TalkWords {
            lines: texts
                .iter()
                .flat_map(|text| text.lines().map(hash_line))
                .collect(),
            texts: texts.map(str::to_owned).to_vec(),
        };
        assert!(words.holds_text("> How do I ship?\nToday.\n\nOn Thursdays, as"));
        assert!(!words.holds_text("> How do I ship?\nThursdays\nOn Thursdays, as"));
        assert!(!words.holds_text("How do I sail?"));
    }
}
