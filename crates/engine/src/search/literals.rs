//! Literals: identifiers, paths, versions, error codes and quoted phrases, which a query means letter for letter.
//!
//! The word index splits `stream_with_context` into three words, so its retriever cannot tell the one drawer that holds
//! the name from the many that hold the words. The drawers that match a literal's words are therefore read, and those
//! that hold it are ranked first, the one that defines it before those that use it.

use std::collections::HashSet;

use loci_core::{CollectionReader, Drawer, DrawerFields, GetRequest, LexicalRequest, Result};
use loci_index::tokenise;

use super::plan::SearchPlan;
use super::weights;

/// The marks that quote a phrase, opening and closing.
const QUOTES: [(char, char); 6] = [
    ('"', '"'),
    ('`', '`'),
    ('“', '”'),
    ('«', '»'),
    ('「', '」'),
    ('\'', '\''),
];

/// Endings that make an ordinary number of digits before them: ordinals, times and measures.
const MEASURES: [&str; 24] = [
    "st", "nd", "rd", "th", "am", "pm", "k", "m", "g", "s", "h", "d", "x", "km", "cm", "mm", "kg", "lb",
    "lbs", "gb", "mb", "min", "hr", "hrs",
];

/// Words before a name that say it is defined there.
const DEFINING: [&str; 22] = [
    "def",
    "class",
    "fn",
    "func",
    "function",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "let",
    "var",
    "val",
    "interface",
    "module",
    "mod",
    "macro",
    "define",
    "table",
    "function::",
    "class::",
];

/// The text of a query that is meant letter for letter, in lower case.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct QueryLiteral(String);

/// The way in which a drawer holds the literals of a query.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct HeldLiterals {
    /// The share of the literals that it holds.
    pub(super) share: f32,
    /// Whether it defines one of them.
    pub(super) defines: bool,
}

/// A drawer that is a candidate whatever the legs say, without its text.
#[derive(Debug)]
pub(super) struct AddedCandidate {
    pub(super) drawer: Drawer,
    pub(super) held: HeldLiterals,
}

impl QueryLiteral {
    fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        let telling = text.chars().any(char::is_alphanumeric);
        (telling && text.len() <= weights::LONGEST_LITERAL).then(|| Self(text.to_lowercase()))
    }

    /// Returns where a text in lower case holds it, not as part of a longer name.
    fn find_in<'t>(&'t self, text: &'t str) -> impl Iterator<Item = usize> + 't {
        let joins = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
        let (first, last) = (self.0.chars().next(), self.0.chars().next_back());
        text.match_indices(self.0.as_str())
            .filter(move |(at, _)| {
                let before = text.get(..*at).and_then(|before| before.chars().next_back());
                let after = text
                    .get(at + self.0.len()..)
                    .and_then(|after| after.chars().next());
                !(joins(first) && joins(before) || joins(last) && joins(after))
            })
            .map(|(at, _)| at)
    }

    /// Returns whether the text, in lower case, defines it at this position.
    fn is_defined_at(&self, text: &str, at: usize) -> bool {
        let line = text
            .get(..at)
            .and_then(|before| before.rsplit('\n').next())
            .unwrap_or_default();
        let after = text.get(at + self.0.len()..).unwrap_or_default();
        let before = line.trim();
        if !before.is_empty() && before.chars().all(|c| c == '#') {
            return true;
        }
        match before
            .rsplit(|c: char| c.is_whitespace() || c == '#')
            .find(|word| !word.is_empty())
        {
            Some(word) if DEFINING.contains(&word) => true,
            None => {
                // `name = …` at the beginning of a line, but not the comparison `name == …`.
                let after = after.trim_start_matches([' ', '\t']);
                after.strip_prefix('=').is_some_and(|rest| !rest.starts_with('=')) || after.starts_with(":=")
            }
            Some(_) => false,
        }
    }
}

/// Returns the literals of a query, each once.
pub(super) fn find_literals(query: &str) -> Vec<QueryLiteral> {
    // A pasted log is not a question, and looking for the end of each of its quotes would take for ever.
    let query = query
        .get(..query.floor_char_boundary(weights::LITERALS_WITHIN))
        .unwrap_or_default();
    let (quoted, rest) = take_quoted(query);
    // In a whole question "YouTube" is a word like others; typed alone, "HTTPStatus" is a name.
    let is_alone = query.split_whitespace().count() <= weights::FEW_WORDS;
    let words = rest
        .split_whitespace()
        .map(trim_around)
        .filter(|word| is_literal_word(word) || is_alone && is_camel_case(word));
    let mut seen = HashSet::new();
    quoted
        .iter()
        .map(String::as_str)
        .chain(words)
        .filter_map(QueryLiteral::new)
        .filter(|literal| seen.insert(literal.clone()))
        .take(weights::MOST_LITERALS)
        .collect()
}

/// Returns a short query as a phrase: a drawer that holds it as it stands is a better answer than one that holds its
/// words somewhere.
pub(super) fn find_phrase(query: &str) -> Option<QueryLiteral> {
    let words = query.split_whitespace().count();
    let phrase = query.split_whitespace().collect::<Vec<_>>().join(" ");
    let is_short = (2..=weights::LONGEST_PHRASE).contains(&words) && !query.contains('?');
    QueryLiteral::new(&phrase).filter(|_| is_short)
}

/// Returns whether a text holds a phrase, whatever its blanks and case.
pub(super) fn holds_phrase(phrase: &QueryLiteral, text: &str) -> bool {
    let text = text
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .to_lowercase();
    phrase.find_in(&text).next().is_some()
}

/// Takes the quoted phrases out of a query; returns them and what is left.
fn take_quoted(query: &str) -> (Vec<String>, String) {
    let (mut quoted, mut rest) = (Vec::new(), String::new());
    let mut left = query;
    let mut before = None;
    while let Some(c) = left.chars().next() {
        let after = left.get(c.len_utf8()..).unwrap_or_default();
        // An apostrophe within a word quotes nothing.
        let opens = before.is_none_or(|c: char| !c.is_alphanumeric());
        let close = QUOTES
            .iter()
            .find(|(open, _)| *open == c && opens)
            .map(|(_, close)| *close);
        let phrase = close.and_then(|close| {
            let end = after.match_indices(close).map(|(at, _)| at).find(|at| {
                let next = after
                    .get(at + close.len_utf8()..)
                    .and_then(|rest| rest.chars().next());
                close != '\'' || next.is_none_or(|next| !next.is_alphanumeric())
            })?;
            Some((after.get(..end)?, after.get(end + close.len_utf8()..)?))
        });
        match phrase {
            Some((phrase, behind)) if phrase.chars().count() > 1 => {
                quoted.push(phrase.to_owned());
                rest.push(' ');
                (left, before) = (behind, Some(' '));
            }
            _ => {
                rest.push(c);
                (left, before) = (after, Some(c));
            }
        }
    }
    (quoted, rest)
}

/// Removes the punctuation around a word, and the brackets of a call.
fn trim_around(word: &str) -> &str {
    let word = word.trim_start_matches(|c: char| "([{<\"'".contains(c));
    let word = word.trim_end_matches(|c: char| ".,;:!?\"'>]}".contains(c));
    let word = word.strip_suffix("()").unwrap_or(word);
    let unopened = word.ends_with(')') && !word.contains('(');
    if unopened {
        word.trim_end_matches(')')
    } else {
        word
    }
}

/// Returns whether a word is written as no ordinary word is.
fn is_literal_word(word: &str) -> bool {
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let dotted = word.split('.').count() > 1
        && word
            .split('.')
            .all(|part| part.chars().any(char::is_alphanumeric))
        && word.split('.').any(|part| part.chars().count() > 1);
    let versioned = word.split('.').count() > 2
        && word
            .trim_start_matches(['v', 'V'])
            .split('.')
            .all(|part| part.starts_with(|c: char| c.is_ascii_digit()));
    word.contains("::")
        || word.starts_with("--") && letters > 1
        || word.contains('_') && letters > 0
        || (word.contains('/') || word.contains('\\')) && letters > 1 && is_path(word)
        || dotted && letters > 1
        || versioned
        || letters > 0 && digits > 0 && word.len() > 2 && !is_measure(word)
}

/// Returns whether a word has a capital within it and small letters too: `skipUnless`, `HTTPStatus`.
fn is_camel_case(word: &str) -> bool {
    let capital = word.chars().skip(1).any(char::is_uppercase);
    capital && word.chars().any(char::is_lowercase) && word.chars().all(char::is_alphanumeric)
}

/// Returns whether a word with slashes is a path or an address, not two words of which either will do.
fn is_path(word: &str) -> bool {
    let slashes = word.matches(['/', '\\']).count();
    slashes > 1 || word.starts_with(['/', '.', '~']) || word.contains('.')
}

/// Returns whether a word is a number with a unit: "3rd", "10am", "5km".
fn is_measure(word: &str) -> bool {
    let unit = word.trim_start_matches(|c: char| c.is_ascii_digit() || ".,:$€£".contains(c));
    let unit = unit.to_lowercase();
    unit.len() < word.len()
        && (MEASURES.contains(&unit.as_str()) || unit.starts_with('-') || unit.starts_with('\''))
}

/// Finds the drawers that hold a literal of the query, among those that match its words best.
pub(super) fn find_holders(
    collection: &dyn CollectionReader,
    plan: &SearchPlan<'_>,
) -> Result<Vec<AddedCandidate>> {
    if plan.literals.is_empty() {
        return Ok(Vec::new());
    }
    let mut ids = Vec::new();
    for literal in &plan.literals {
        if tokenise::query_tokens(&literal.0).is_empty() {
            continue;
        }
        let hits = collection.lexical(&LexicalRequest {
            filter: plan.scope.filter.clone(),
            document: plan.scope.document.clone(),
            include: DrawerFields::NOTHING,
            ..LexicalRequest::for_words(literal.0.as_str(), weights::LITERAL_DEPTH)
        })?;
        ids.extend(hits.into_iter().map(|hit| hit.drawer.id));
    }
    let mut seen = HashSet::new();
    ids.retain(|id| seen.insert(id.clone()));
    let include = DrawerFields {
        document: true,
        ..DrawerFields::NOTHING
    };
    let drawers = collection.get(&GetRequest {
        include,
        ..GetRequest::by_ids(ids)
    })?;
    let holders = drawers.into_iter().filter_map(|mut drawer| {
        let text = drawer.document.take().unwrap_or_default();
        let held = plan.hold_literals(&text);
        (held.share > 0.0).then_some(AddedCandidate { drawer, held })
    });
    Ok(holders.collect())
}

/// Returns the way in which a text holds some literals.
pub(super) fn hold_literals(literals: &[QueryLiteral], text: &str) -> HeldLiterals {
    let text = text.to_lowercase();
    let mut held = HeldLiterals::default();
    for literal in literals {
        let mut places = literal.find_in(&text).peekable();
        if places.peek().is_some() {
            held.share += 1.0 / literals.len() as f32;
            held.defines |= places.any(|at| literal.is_defined_at(&text, at));
        }
    }
    held
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(query: &str) -> Vec<String> {
        find_literals(query)
            .into_iter()
            .map(|literal| literal.0)
            .collect()
    }

    #[test]
    fn names_paths_versions_codes_and_quoted_phrases_are_literals() {
        for (query, expected) in [
            ("how does stream_with_context work?", vec!["stream_with_context"]),
            ("url_for() fails", vec!["url_for"]),
            ("rustc says E0277", vec!["e0277"]),
            ("what is in src/flask/app.py", vec!["src/flask/app.py"]),
            ("upgrade to 2.3.1 now", vec!["2.3.1"]),
            (
                "std::mem::take or os.path.join",
                vec!["std::mem::take", "os.path.join"],
            ),
            ("it prints \"No such option\" again", vec!["no such option"]),
            ("the flag --dry-run", vec!["--dry-run"]),
            ("class HTTPStatus", vec!["httpstatus"]),
            ("What did I watch on YouTube?", vec![]),
            ("issue `a b` and 'c d' don't", vec!["a b", "c d"]),
            ("called “the plan”, (see notes.md).", vec!["the plan", "notes.md"]),
        ] {
            assert_eq!(literals(query), expected, "{query}");
        }
    }

    #[test]
    fn ordinary_words_numbers_and_measures_are_not_literals() {
        for query in [
            "What did Ann's brother say on the 3rd at 10am?",
            "a 5km run, 20-year-old whisky, and/or gin, $30, 2023, 12:30",
            "e.g. the U.S. plan. Then we don't, do we",
        ] {
            assert_eq!(literals(query), Vec::<String>::new(), "{query}");
        }
    }

    #[test]
    fn literals_are_read_from_the_beginning_of_a_query_only() {
        let log = " 'a \u{201c}b".repeat(200_000);
        assert_eq!(literals(&log), Vec::<String>::new());
        assert_eq!(literals(&format!("E0277 {log} E0502")), ["e0277"]);
    }

    #[test]
    fn a_literal_within_a_longer_name_is_not_held() {
        let literal = find_literals("url_for");
        for (text, held) in [
            ("call url_for('x')", 1.0),
            ("URL_FOR", 1.0),
            ("call my_url_for(x)", 0.0),
            ("url_formatter", 0.0),
            ("", 0.0),
        ] {
            assert_eq!(hold_literals(&literal, text).share, held, "{text}");
        }
    }

    #[test]
    fn a_definition_is_told_from_a_use() {
        let literal = find_literals("url_for");
        for text in [
            "def url_for(x):",
            "  pub fn url_for()",
            "url_for = partial(x)",
            "## url_for\n",
            "class url_for:",
        ] {
            assert!(hold_literals(&literal, text).defines, "{text}");
        }
        for text in [
            "return url_for(x)",
            "if url_for == 3",
            "see url_for",
            "url_for(x) = 3",
            "- url_for is used",
        ] {
            assert!(!hold_literals(&literal, text).defines, "{text}");
        }
    }

    #[test]
    fn a_short_query_is_a_phrase() {
        let phrase = find_phrase("No such  option").unwrap();
        assert!(holds_phrase(&phrase, "Error: no such\noption '--x'"));
        assert!(!holds_phrase(&phrase, "no such options"));
        assert!(find_phrase("what did we book?").is_none());
        assert!(find_phrase("one").is_none());
    }
}
