//! Drawers that MemPalace cut from a source and that a migration brought: an older filing of the same words.
//!
//! They are recognised when the source is mined. A drawer whose words are all in the source as it is filed now goes in
//! the same commit; any other stays, since its words may be nowhere else (decision 032).

use std::borrow::Cow;
use std::collections::HashSet;
use std::hash::{DefaultHasher, Hash, Hasher};

use loci_core::{Drawer, DrawerId, MetadataScalar, MetadataValue, Result};
use serde_json::Value as Json;

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
        let mut words = Self::without_lines();
        talk.for_each_whole_text(&mut |text| words.add_text(text));
        words
    }

    fn without_lines() -> Self {
        Self {
            lines: HashSet::new(),
            texts: Vec::new(),
        }
    }

    fn add_text(&mut self, text: &str) {
        self.lines.extend(text.lines().map(hash_line));
        self.texts.push(text.to_owned());
        // The arguments of a tool call are filed as JSON, and MemPalace quotes them without its escapes.
        if text.starts_with('{')
            && let Ok(arguments) = serde_json::from_str::<Json>(text)
        {
            self.add_arguments(&arguments);
        }
    }

    fn add_arguments(&mut self, arguments: &Json) {
        for value in arguments
            .as_object()
            .into_iter()
            .flat_map(|fields| fields.values())
        {
            if let Some(text) = value.as_str() {
                self.lines.extend(text.lines().map(hash_line));
                self.texts.push(text.to_owned());
            }
        }
    }

    fn holds_text(&self, wanted: &str) -> bool {
        let lines: Vec<&str> = wanted
            .lines()
            .map(strip_marks)
            .filter(|line| !line.is_empty() && !is_omission(line))
            .collect();
        let is_edge = |at: usize| at == 0 || at + 1 == lines.len();
        lines.iter().enumerate().all(|(at, line)| {
            // A chunk may begin and end in the middle of a line.
            let holds = |line: &str| self.holds_line(line) || (is_edge(at) && self.holds_part(line));
            holds(line) || summary_parts(line).is_some_and(|mut parts| parts.all(holds))
        })
    }

    fn holds_line(&self, line: &str) -> bool {
        self.lines.contains(&hash_line(line)) || cut_line(line).is_some_and(|begun| self.begins_line(begun))
    }

    fn holds_part(&self, part: &str) -> bool {
        self.texts.iter().any(|text| text.contains(part))
    }

    /// Returns whether a line begins with `begun`.
    fn begins_line(&self, begun: &str) -> bool {
        let begins = |text: &String| text.lines().any(|line| line.trim_start().starts_with(begun));
        self.texts.iter().any(begins)
    }
}

fn strip_marks(line: &str) -> &str {
    let line = line.trim();
    let marked = LINE_MARKS.iter().find_map(|mark| line.strip_prefix(mark));
    marked.unwrap_or(line).trim()
}

/// Returns whether a line only says how much of a tool's answer MemPalace left out.
fn is_omission(line: &str) -> bool {
    let told = line.strip_prefix("... [").and_then(|line| {
        line.strip_suffix(" lines omitted] ...")
            .or_else(|| line.strip_suffix(" more matches]"))
    });
    told.is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Returns the beginning of a line that MemPalace has cut: a command, or a tool's answer with its length.
fn cut_line(line: &str) -> Option<&str> {
    let begun = match line.rsplit_once("... [truncated, ") {
        Some((begun, length)) if length.ends_with(" chars]") => begun,
        _ => line.strip_suffix("...")?,
    };
    Some(begun.trim_end()).filter(|begun| !begun.is_empty())
}

/// Returns the arguments in a line by which MemPalace sums up a tool call, such as `[Read /a.md]`, `[Bash] ls -l` or
/// `[Grep] ship in src`.
fn summary_parts(line: &str) -> Option<impl Iterator<Item = &str>> {
    let (head, rest) = line.strip_prefix('[')?.split_once(']')?;
    let (tool, argument) = head.split_once(' ').unwrap_or((head, ""));
    // A box that is ticked, as in `[x] ship it`, is no tool.
    if !tool.starts_with(|c: char| c.is_ascii_uppercase()) {
        return None;
    }
    // A part of a file is told by its lines: `[Read /a.md:10-30]`.
    let path = match argument.rsplit_once(':') {
        Some((path, lines)) if lines.starts_with(|c: char| c.is_ascii_digit()) => path,
        _ => argument,
    };
    let (first, second) = match tool {
        "Grep" => rest.rsplit_once(" in").unwrap_or((rest, "")),
        _ => (rest, ""),
    };
    let parts = [path, first, second].map(str::trim);
    Some(parts.into_iter().filter(|part| !part.is_empty()))
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

    fn words_of(texts: &[&str]) -> TalkWords {
        let mut words = TalkWords::without_lines();
        texts.iter().for_each(|text| words.add_text(text));
        words
    }

    #[test]
    fn a_chunk_of_a_conversation_is_compared_line_by_line_without_its_marks() {
        let words = words_of(&["How do I ship?\nToday.", "On Thursdays, as always."]);
        assert!(words.holds_text("> How do I ship?\nToday.\n\nOn Thursdays, as"));
        assert!(!words.holds_text("> How do I ship?\nThursdays\nOn Thursdays, as"));
        assert!(!words.holds_text("How do I sail?"));
    }

    #[test]
    fn summaries_of_tool_calls_hold_the_arguments_that_are_filed() {
        let words = words_of(&[
            "Look.",
            r#"{"command":"grep \"ship\" log\ntail -n 3 log","timeout":9}"#,
            r#"{"file_path":"/a.md","offset":10,"limit":20}"#,
            r#"{"pattern":"ship it","path":"src"}"#,
            "done",
        ]);
        for held in [
            "Look.\n[Bash] grep \"ship\" log\ntail -n 3 log\ndone",
            "Look.\n[Bash] grep \"ship\" log\ntail -n...\ndone",
            "Look.\n[Read /a.md]\n[Read /a.md:10-30]\ndone",
            "Look.\n[Grep] ship it in src\n[Glob] ship it\n[Grep] ship it in\ndone",
        ] {
            assert!(words.holds_text(held), "{held}");
        }
        for other in [
            "Look.\n[Bash] grep \"sail\" log\ndone",
            "Look.\n[Bash] tail -n 4...\ndone",
            "Look.\n[Read /b.md]\ndone",
            "Look.\n[Grep] ship it in docs\ndone",
            "Look.\n[Read the rest]\ndone",
            "Look.\n[x] done\ndone",
        ] {
            assert!(!words.holds_text(other), "{other}");
        }
    }

    #[test]
    fn what_mempalace_says_about_words_it_left_out_is_no_loss() {
        let answer: String = (0..50)
            .map(|line| format!("line {line} of the answer\n"))
            .collect();
        let words = words_of(&["Run it.", &answer, "All green."]);
        let told = "Run it.\n→ line 0 of the answer\n→ ... [48 lines omitted] ...\n→ line 49 of the answer\nAll green.";
        assert!(words.holds_text(told));
        assert!(words.holds_text("Run it.\n→ line 0 of the answer\n→ ... [49 more matches]\nAll green."));
        assert!(words.holds_text("Run it.\n→ line 7 of... [truncated, 1200 chars]\nAll green."));
        assert!(!words.holds_text("Run it.\n→ line 7 was... [truncated, 1200 chars]\nAll green."));
        assert!(!words.holds_text("Run it.\n→ ... [a few lines omitted] ...\nAll green."));
    }
}
