//! Figures of the house: how names, comments and docs of the product code compare with those of codebases we admire.
//!
//! `docs/house.md` has the figures of those codebases and the reasons. `cargo test -p loci-conformance --test suite house::
//! -- --nocapture` prints ours.

use std::collections::BTreeMap;

use super::tidy::{complain, sources};

/// The largest share of type names that are one word.
const ONE_WORD_TYPES: f64 = 0.35;
/// The largest share of function names that are one word.
const ONE_WORD_FUNCTIONS: f64 = 0.51;
/// The fewest lines of comments per 100 lines of code.
const COMMENTS: f64 = 2.5;
/// The largest share of doc lines that begin with a question word.
const QUESTION_DOCS: f64 = 0.02;

/// Words that stand for a process or a user without naming it.
const VAGUE_PERSONS: [&str; 4] = ["somebody", "nobody", "whoever", "everybody"];
/// Words that begin a relative sentence where a noun should stand.
const QUESTION_WORDS: [&str; 6] = ["What", "Where", "Who", "Whose", "How", "Whoever"];

/// The product code of one file: without its tests.
struct ProductFile {
    name: String,
    text: String,
}

/// Every file of the product: crates and backends, without tests, benches and tools.
fn product_files() -> Vec<ProductFile> {
    let is_product = |name: &str| {
        (name.starts_with("crates/") || name.starts_with("backends/"))
            && !name.contains("/tests/")
            && !name.ends_with("tests.rs")
    };
    let files = sources().into_iter().filter(|(name, _)| is_product(name));
    files
        .map(|(name, text)| {
            let text = text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
            ProductFile { name, text }
        })
        .collect()
}

/// The identifier at the beginning of `text`.
fn leading_identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_alphanumeric() && c != '_');
    text.get(..end.unwrap_or(text.len())).unwrap_or_default()
}

/// The name of the type a line defines, if it defines one.
fn defined_type(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if let Some(behind) = rest.strip_prefix("pub") {
        rest = match behind.strip_prefix('(') {
            Some(scope) => scope.split_once(')')?.1,
            None => behind,
        }
        .trim_start();
    }
    let keywords = ["struct ", "enum ", "trait "];
    let name = keywords.iter().find_map(|keyword| rest.strip_prefix(keyword))?;
    let name = leading_identifier(name.trim_start());
    name.starts_with(|c: char| c.is_ascii_uppercase()).then_some(name)
}

/// The names of the functions a line defines.
fn defined_functions(line: &str) -> impl Iterator<Item = &str> {
    let code = line.split("//").next().unwrap_or_default();
    let parts = code.split("fn ").skip(1).map(leading_identifier);
    parts.filter(|name| name.starts_with(|c: char| c.is_ascii_lowercase() || c == '_'))
}

/// Whether a type name is one word.
fn is_one_word(name: &str) -> bool {
    name.chars().filter(char::is_ascii_uppercase).count() == 1
}

#[derive(Default)]
struct HouseFigures {
    types: BTreeMap<String, Vec<String>>,
    functions: Vec<String>,
    code: usize,
    comments: usize,
    docs: usize,
    question_docs: Vec<String>,
    vague_docs: Vec<String>,
    matched_bools: Vec<String>,
    odd_messages: Vec<String>,
}

impl HouseFigures {
    fn measure() -> Self {
        let mut figures = Self::default();
        for file in product_files() {
            for (number, line) in file.text.lines().enumerate() {
                figures.count_line(&format!("{}:{}", file.name, number + 1), line);
            }
        }
        figures
    }

    fn count_line(&mut self, at: &str, line: &str) {
        let text = line.trim();
        if let Some(doc) = text.strip_prefix("///").or_else(|| text.strip_prefix("//!")) {
            self.count_doc(at, doc);
        } else if text.starts_with("//") {
            self.comments += 1;
        } else if !text.is_empty() {
            self.code += 1;
            self.count_code(at, text);
        }
    }

    fn count_doc(&mut self, at: &str, doc: &str) {
        self.docs += 1;
        let first = doc.strip_prefix(' ').map(leading_identifier).unwrap_or_default();
        if QUESTION_WORDS.contains(&first) {
            self.question_docs.push(format!("{at}:{doc}"));
        }
        let lower = doc.to_lowercase();
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        if words.any(|word| VAGUE_PERSONS.contains(&word)) {
            self.vague_docs.push(format!("{at}:{doc}"));
        }
    }

    fn count_code(&mut self, at: &str, text: &str) {
        if let Some(name) = defined_type(text) {
            let places = self.types.entry(name.to_owned()).or_default();
            places.push(at.to_owned());
        }
        self.functions.extend(defined_functions(text).map(str::to_owned));
        if text.contains("true =>") {
            self.matched_bools.push(format!("{at}: {text}"));
        }
        let quoted = text.split('"').skip(1).step_by(2);
        for message in quoted.filter(|message| message.contains(" is no ")) {
            self.odd_messages.push(format!("{at}: {message}"));
        }
    }

    fn one_word_types(&self) -> f64 {
        let one = self.types.iter().filter(|(name, _)| is_one_word(name));
        let one: usize = one.map(|(_, places)| places.len()).sum();
        let all: usize = self.types.values().map(Vec::len).sum();
        one as f64 / all as f64
    }

    fn one_word_functions(&self) -> f64 {
        let one = self.functions.iter().filter(|name| !name.contains('_')).count();
        one as f64 / self.functions.len() as f64
    }

    fn comments_per_hundred(&self) -> f64 {
        100.0 * self.comments as f64 / self.code as f64
    }

    fn question_doc_share(&self) -> f64 {
        self.question_docs.len() as f64 / self.docs as f64
    }
}

#[test]
fn every_type_has_a_name_of_its_own() {
    let figures = HouseFigures::measure();
    let shared = figures.types.iter().filter(|(_, places)| places.len() > 1);
    complain(
        "types that share their name",
        shared
            .map(|(name, places)| format!("{name}: {}", places.join(", ")))
            .collect(),
    );
}

#[test]
fn no_function_is_called_of_and_no_bool_is_matched() {
    let figures = HouseFigures::measure();
    let called_of = figures.functions.iter().filter(|name| *name == "of").count();
    assert_eq!(called_of, 0, "functions called `of`");
    complain("matches on a bool", figures.matched_bools);
}

#[test]
fn names_and_comments_keep_the_shares_of_good_houses() {
    let figures = HouseFigures::measure();
    assert!(figures.code > 50_000, "the product code was not found");
    println!("lines of code             {}", figures.code);
    println!(
        "one-word types            {:.0} %",
        100.0 * figures.one_word_types()
    );
    println!(
        "one-word functions        {:.0} %",
        100.0 * figures.one_word_functions()
    );
    println!("comments per 100 lines    {:.1}", figures.comments_per_hundred());
    println!(
        "docs with question words  {:.1} %",
        100.0 * figures.question_doc_share()
    );
    let one_word: Vec<&String> = figures.types.keys().filter(|name| is_one_word(name)).collect();
    assert!(
        figures.one_word_types() <= ONE_WORD_TYPES,
        "one-word types: {one_word:?}"
    );
    assert!(
        figures.one_word_functions() <= ONE_WORD_FUNCTIONS,
        "one-word functions"
    );
    assert!(
        figures.comments_per_hundred() >= COMMENTS,
        "comments that say why"
    );
    assert!(
        figures.question_doc_share() < QUESTION_DOCS,
        "docs that begin with a question word:\n{}",
        figures.question_docs.join("\n")
    );
}

#[test]
fn docs_and_messages_name_who_acts() {
    let figures = HouseFigures::measure();
    complain("docs about somebody", figures.vague_docs);
    complain("messages that say `is no`", figures.odd_messages);
}

#[test]
fn definitions_are_found_however_they_are_written() {
    assert_eq!(
        defined_type("pub(crate) struct DrawerPlace<'a> {"),
        Some("DrawerPlace")
    );
    assert_eq!(defined_type("enum Kind {"), Some("Kind"));
    assert_eq!(defined_type("pub trait Backend: Send {"), Some("Backend"));
    assert_eq!(defined_type("let structure = 1;"), None);
    let functions: Vec<&str> =
        defined_functions("pub const fn read_header(&self) -> u8 { // fn no").collect();
    assert_eq!(functions, ["read_header"]);
    assert!(is_one_word("Drawer") && !is_one_word("DrawerId"));
}

#[test]
fn the_plug_ins_of_engines_share_what_follows_their_engine() {
    const MARK: &str = "\n# From here on this file is the same in each plug-in of this folder";
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/backends");
    let shared = ["lancedb", "milvus", "qdrant"].map(|engine| {
        let text = std::fs::read_to_string(format!("{folder}/loci-backend-{engine}")).unwrap();
        let at = text.find(MARK).expect("the mark is there");
        text[at..].to_owned()
    });
    assert!(shared[0].len() > 20_000, "the shared part is the larger one");
    assert!(
        shared[0] == shared[1] && shared[1] == shared[2],
        "the shared parts differ"
    );
}
