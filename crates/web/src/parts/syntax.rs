//! Colors for code: a small tokenizer that knows comments, strings, numbers and keywords of common languages.
//!
//! It guesses from the file's ending, sees a part of a file at a time, and reads every byte at most a few times. Whatever it
//! gets wrong changes colors and nothing else.

use std::ops::Range;

/// The longest word that is looked up as a keyword.
const LONGEST_KEYWORD: usize = 16;

/// The classes of tokens in the style sheet.
const COMMENT: &str = "tc";
const QUOTED: &str = "ts";
const NUMBER: &str = "tn";
const KEYWORD: &str = "tk";
const HEADING: &str = "th";

/// A stretch of text with a color. Tokens are in order and do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxToken {
    pub(crate) range: Range<usize>,
    /// Its class in the style sheet.
    pub(crate) class: &'static str,
}

/// How a language writes what has a color.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxRules {
    /// What begins a comment that ends with its line.
    comment: Option<&'static str>,
    /// What begins and ends anything that may have several lines.
    blocks: &'static [BlockSigns],
    /// The signs around strings that end with their line.
    quotes: &'static [u8],
    /// Keywords between spaces.
    keywords: &'static str,
}

type BlockSigns = (&'static str, &'static str, &'static str);

const STARS: &[BlockSigns] = &[("/*", "*/", COMMENT)];
const TICKS: &[BlockSigns] = &[("/*", "*/", COMMENT), ("`", "`", QUOTED)];
const TRIPLES: &[BlockSigns] = &[("\"\"\"", "\"\"\"", QUOTED), ("'''", "'''", QUOTED)];
const ARROWS: &[BlockSigns] = &[("<!--", "-->", COMMENT)];
const BOTH: &[u8] = b"\"'";
const RUST_WORDS: &str = "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while";
const SCRIPT_WORDS: &str = "as async await break case catch chan class const continue default defer delete do else enum export extends false finally for from func function go goto if implements import in instanceof interface let map new nil null of package range return select static struct super switch this throw true try type typeof undefined var void while yield";
const CURLY_WORDS: &str = "abstract auto bool boolean break byte case catch char class const constexpr continue default delete do double else enum explicit extends extern false final finally float for fun func goto guard if implements import in inline instanceof int interface internal let long namespace new nil null nullptr object operator override package private protected public return short signed sizeof static struct super switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile when while";
const PYTHON_WORDS: &str = "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield";
const SHELL_WORDS: &str = "begin break case class def do done elif else elsif end ensure esac exit export false fi for function if in local module nil readonly require rescue return select self set then true unless until while yield";
const SQL_WORDS: &str = "ALTER AND AS BEGIN BETWEEN BY CASE COMMIT CREATE DELETE DESC DISTINCT DROP ELSE END EXISTS FROM GROUP HAVING IN INDEX INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER PRIMARY REFERENCES ROLLBACK SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES WHEN WHERE WITH select from where insert into values update set delete create table and or not null as join on group by order limit";

const fn rules(
    comment: Option<&'static str>,
    blocks: &'static [BlockSigns],
    quotes: &'static [u8],
    keywords: &'static str,
) -> SyntaxRules {
    SyntaxRules {
        comment,
        blocks,
        quotes,
        keywords,
    }
}

/// Headings and code, by line.
pub(crate) static MARKDOWN: SyntaxRules = rules(None, &[], b"", "");
pub(crate) static JSON: SyntaxRules = rules(None, &[], b"\"", "true false null");
static RUST: SyntaxRules = rules(Some("//"), STARS, BOTH, RUST_WORDS);
static SCRIPT: SyntaxRules = rules(Some("//"), TICKS, BOTH, SCRIPT_WORDS);
static CURLY: SyntaxRules = rules(Some("//"), STARS, BOTH, CURLY_WORDS);
static PYTHON: SyntaxRules = rules(Some("#"), TRIPLES, BOTH, PYTHON_WORDS);
static SHELL: SyntaxRules = rules(Some("#"), &[], BOTH, SHELL_WORDS);
static SETTINGS: SyntaxRules = rules(Some("#"), &[], BOTH, "true false null yes no on off");
static SQL: SyntaxRules = rules(Some("--"), STARS, BOTH, SQL_WORDS);
static MARKUP: SyntaxRules = rules(None, ARROWS, b"\"", "");
static SHEET: SyntaxRules = rules(None, STARS, BOTH, "");

/// Returns the rules for a file by the ending of its name; none if it is not known.
pub(crate) fn rules_for(name: &str) -> Option<&'static SyntaxRules> {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    let ending = match file.rsplit_once('.') {
        Some((_, ending)) => ending.to_ascii_lowercase(),
        None => file.to_ascii_lowercase(),
    };
    Some(match ending.as_str() {
        "md" | "markdown" | "mdx" => &MARKDOWN,
        "json" | "jsonl" | "ndjson" | "ipynb" => &JSON,
        "rs" => &RUST,
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "tsx" | "go" | "vue" | "svelte" => &SCRIPT,
        "c" | "h" | "cc" | "cpp" | "hpp" | "cxx" | "cs" | "java" | "kt" | "kts" | "swift" | "scala"
        | "dart" | "php" | "m" | "proto" | "zig" => &CURLY,
        "py" | "pyi" => &PYTHON,
        "sh" | "bash" | "zsh" | "fish" | "rb" | "pl" | "ex" | "exs" | "r" | "makefile" | "dockerfile"
        | "justfile" => &SHELL,
        "toml" | "yaml" | "yml" | "ini" | "cfg" | "conf" | "env" => &SETTINGS,
        "sql" | "lua" | "hs" => &SQL,
        "html" | "htm" | "xml" | "svg" => &MARKUP,
        "css" | "scss" | "less" => &SHEET,
        _ => return None,
    })
}

/// Finds the tokens of a text.
pub(crate) fn find_tokens(text: &str, rules: &SyntaxRules) -> Vec<SyntaxToken> {
    if std::ptr::eq(rules, &raw const MARKDOWN) {
        return find_markdown(text);
    }
    let keywords: Vec<&str> = rules.keywords.split_ascii_whitespace().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(byte) = text.as_bytes().get(at).copied() {
        let (end, class) = match read_token(text, at, rules) {
            Some((end, class)) => (end, Some(class)),
            None if is_word(byte) => read_word(text, at, &keywords),
            None => (at + 1, None),
        };
        let range = at..end;
        tokens.extend(class.map(|class| SyntaxToken { range, class }));
        at = end;
    }
    tokens
}

/// Reads a comment or a string that begins here.
fn read_token(text: &str, at: usize, rules: &SyntaxRules) -> Option<(usize, &'static str)> {
    // Only at a boundary of characters can anything begin.
    let rest = text.get(at..)?;
    if let Some((open, close, class)) = rules.blocks.iter().find(|(open, ..)| rest.starts_with(open)) {
        let inner = at + open.len();
        let found = text.get(inner..).and_then(|inside| inside.find(close));
        let end = found.map_or(text.len(), |found| inner + found + close.len());
        return Some((end, *class));
    }
    if rules.comment.is_some_and(|open| rest.starts_with(open)) {
        return Some((at + rest.find('\n').unwrap_or(rest.len()), COMMENT));
    }
    let quote = rest.bytes().next().filter(|byte| rules.quotes.contains(byte))?;
    // An apostrophe within a word, or a lifetime of Rust.
    let before = at.checked_sub(1).and_then(|before| text.as_bytes().get(before));
    if quote == b'\''
        && (before.is_some_and(|byte| is_word(*byte))
            || (std::ptr::eq(rules, &raw const RUST) && !is_char(rest)))
    {
        return None;
    }
    let mut escaped = false;
    for (offset, byte) in rest.bytes().enumerate().skip(1) {
        match byte {
            b'\n' => return Some((at + offset, QUOTED)),
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return Some((at + offset + 1, QUOTED)),
            _ => {}
        }
    }
    Some((text.len(), QUOTED))
}

/// Returns whether a character in single quotes begins here.
fn is_char(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

/// Reads a word, a keyword or a number.
fn read_word(text: &str, at: usize, keywords: &[&str]) -> (usize, Option<&'static str>) {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let is_number = rest.first().is_some_and(u8::is_ascii_digit);
    let inside = |byte: &u8| is_word(*byte) || (is_number && *byte == b'.');
    let end = at + rest.iter().take_while(|byte| inside(byte)).count();
    let word = text.get(at..end).unwrap_or_default();
    let is_keyword = || word.len() <= LONGEST_KEYWORD && keywords.contains(&word);
    let class = if is_number {
        Some(NUMBER)
    } else {
        is_keyword().then_some(KEYWORD)
    };
    (end, class)
}

/// Returns whether a byte belongs to a word; so does every byte of a character beyond ASCII.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// Finds the headings and the code of Markdown.
fn find_markdown(text: &str) -> Vec<SyntaxToken> {
    let mut tokens = Vec::new();
    let (mut at, mut is_fenced) = (0, false);
    for line in text.split_inclusive('\n') {
        let body = line.trim_end();
        let is_fence = body.trim_start().starts_with("```");
        let mut push = |range: Range<usize>, class| tokens.push(SyntaxToken { range, class });
        if is_fence || is_fenced {
            is_fenced ^= is_fence;
            if !body.is_empty() {
                push(at..at + body.len(), QUOTED);
            }
        } else if body.starts_with('#') && body.trim_start_matches('#').starts_with(' ') {
            push(at..at + body.len(), HEADING);
        } else {
            // Pairs of backticks; one that is left over is a backtick.
            let mut ticks = body.match_indices('`').map(|(tick, _)| at + tick);
            while let (Some(open), Some(close)) = (ticks.next(), ticks.next()) {
                push(open..close + 1, QUOTED);
            }
        }
        at += line.len();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares tokens, written as `class:text` with bars between, with what is expected.
    #[track_caller]
    fn check(file: &str, text: &str, expect: &str) {
        let tokens = find_tokens(text, rules_for(file).unwrap()).into_iter();
        let shown = tokens.map(|token| format!("{}:{}", token.class, &text[token.range]));
        assert_eq!(shown.collect::<Vec<_>>().join("|"), expect, "{file}");
    }

    #[test]
    fn comments_strings_numbers_keywords_and_headings_have_colors() {
        let code = "let x: &'a str = \"a \\\" // b\"; // 'c\nif 'x' == '\\'' { 0x1f }";
        let expect = "tk:let|ts:\"a \\\" // b\"|tc:// 'c|tk:if|ts:'x'|ts:'\\''|tn:0x1f";
        check("src/main.rs", code, expect);
        check(
            "a.js",
            "const a = `x\n` /* if\n */ 1.5",
            "tk:const|ts:`x\n`|tc:/* if\n */|tn:1.5",
        );
        check(
            "a.py",
            "def \"\"\"d\n# no\"\"\" # yes",
            "tk:def|ts:\"\"\"d\n# no\"\"\"|tc:# yes",
        );
        check("A.SQL", "SELECT 'a' -- b", "tk:SELECT|ts:'a'|tc:-- b");
        check("x.json", "{\"a\": [1, true]}", "ts:\"a\"|tn:1|tk:true");
        check(
            "x.html",
            "<!-- if --><a href=\"b\">it's",
            "tc:<!-- if -->|ts:\"b\"",
        );
        check("x.toml", "a = \"don't\"\nb = don't # c", "ts:\"don't\"|tc:# c");
        check(
            "a.md",
            "# One\n#no `a` ` b\n```rs\n# in\n```",
            "th:# One|ts:`a`|ts:```rs|ts:# in|ts:```",
        );
        // What never ends, ends with its line or the text.
        check("a.c", "\"open\nint /* x\n", "ts:\"open|tk:int|tc:/* x\n");
        assert!(
            ["a.txt", "", ".", "/", "a."]
                .iter()
                .all(|name| rules_for(name).is_none())
        );
    }

    #[test]
    fn tokens_of_any_text_are_in_order_and_between_characters() {
        let signs = "'|\"|`|\\|/*|*/|//|#|\n|\r\n|é|抽|🗄|a|1|\"\"\"|<!--|\0|\u{202e}| ";
        let signs: Vec<&str> = signs.split('|').collect();
        let mut seed = 7_u64;
        for round in 0..4_000 {
            let draw = |_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                signs[(seed >> 33) as usize % signs.len()]
            };
            let text: String = (0..round % 40).map(draw).collect();
            for file in [
                "a.rs", "a.js", "a.py", "a.sql", "a.html", "a.css", "a.md", "a.json",
            ] {
                let mut end = 0;
                for SyntaxToken { range, .. } in find_tokens(&text, rules_for(file).unwrap()) {
                    assert!(range.start >= end && range.start < range.end, "{file} {text:?}");
                    assert!(text.get(range.clone()).is_some(), "{file} {text:?}");
                    end = range.end;
                }
            }
        }
    }

    /// Quadratic reading would not end within the hour.
    #[test]
    fn a_megabyte_of_beginnings_is_read_once() {
        for beginning in ["'\\", "/", "`", "\"\\\"", "\"\"", "<!-", "#", "'"] {
            let text = beginning.repeat(1_000_000 / beginning.len());
            for file in ["a.js", "a.py", "a.rs", "a.html", "a.md"] {
                let tokens = find_tokens(&text, rules_for(file).unwrap());
                assert!(tokens.iter().all(|token| token.range.end <= text.len()));
            }
        }
    }
}
