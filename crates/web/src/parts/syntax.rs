//! Colors for code: a small tokenizer that knows comments, strings, numbers and keywords of common languages.
//!
//! It guesses from the file's ending, sees a part of a file at a time, and reads every byte at most a few times. Whatever it
//! gets wrong changes colors and nothing else.

use std::ops::Range;

use TokenClass::{Comment, Heading, Keyword, Number, Quoted};

/// The longest word that is looked up as a keyword.
const LONGEST_KEYWORD: usize = 16;

/// What a token is, as far as colors go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenClass {
    Comment,
    Quoted,
    Number,
    Keyword,
    Heading,
}

impl TokenClass {
    /// Returns its class in the style sheet.
    pub(crate) fn css_class(self) -> &'static str {
        match self {
            Self::Comment => "tc",
            Self::Quoted => "ts",
            Self::Number => "tn",
            Self::Keyword => "tk",
            Self::Heading => "th",
        }
    }
}

/// A stretch of text with a color. Tokens are in order and do not overlap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxToken {
    pub(crate) range: Range<usize>,
    pub(crate) class: TokenClass,
}

/// How a language writes what has a color.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct SyntaxRules {
    /// What begins a comment that ends with its line.
    comment: Option<&'static str>,
    /// What begins and ends anything that may have several lines.
    blocks: &'static [(&'static str, &'static str, TokenClass)],
    /// The signs around strings that end with their line.
    quotes: &'static [u8],
    /// Keywords between spaces.
    keywords: &'static str,
}

const fn rules(
    comment: Option<&'static str>,
    blocks: &'static [(&'static str, &'static str, TokenClass)],
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

/// Markdown has headings and code, by line.
pub(crate) static MARKDOWN: SyntaxRules = rules(None, &[], b"", "");
pub(crate) static JSON: SyntaxRules = rules(None, &[], b"\"", "true false null");
static RUST: SyntaxRules = rules(
    Some("//"),
    &[("/*", "*/", Comment)],
    b"\"'",
    "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while",
);
static SCRIPT: SyntaxRules = rules(
    Some("//"),
    &[("/*", "*/", Comment), ("`", "`", Quoted)],
    b"\"'",
    "as async await break case catch chan class const continue default defer delete do else enum export extends false finally for from func function go goto if implements import in instanceof interface let map new nil null of package range return select static struct super switch this throw true try type typeof undefined var void while yield",
);
static CURLY: SyntaxRules = rules(
    Some("//"),
    &[("/*", "*/", Comment)],
    b"\"'",
    "abstract auto bool boolean break byte case catch char class const constexpr continue default delete do double else enum explicit extends extern false final finally float for fun func goto guard if implements import in inline instanceof int interface internal let long namespace new nil null nullptr object operator override package private protected public return short signed sizeof static struct super switch template this throw throws true try typedef typename union unsigned using val var virtual void volatile when while",
);
static PYTHON: SyntaxRules = rules(
    Some("#"),
    &[("\"\"\"", "\"\"\"", Quoted), ("'''", "'''", Quoted)],
    b"\"'",
    "False None True and as assert async await break case class continue def del elif else except finally for from global if import in is lambda match nonlocal not or pass raise return try while with yield",
);
static SHELL: SyntaxRules = rules(
    Some("#"),
    &[],
    b"\"'",
    "begin break case class def do done elif else elsif end ensure esac exit export false fi for function if in local module nil readonly require rescue return select self set then true unless until while yield",
);
static SETTINGS: SyntaxRules = rules(Some("#"), &[], b"\"'", "true false null yes no on off");
static SQL: SyntaxRules = rules(
    Some("--"),
    &[("/*", "*/", Comment)],
    b"\"'",
    "ALTER AND AS BEGIN BETWEEN BY CASE COMMIT CREATE DELETE DESC DISTINCT DROP ELSE END EXISTS FROM GROUP HAVING IN INDEX INSERT INTO IS JOIN KEY LEFT LIKE LIMIT NOT NULL ON OR ORDER PRIMARY REFERENCES ROLLBACK SELECT SET TABLE THEN UNION UNIQUE UPDATE VALUES WHEN WHERE WITH select from where insert into values update set delete create table and or not null as join on group by order limit",
);
static MARKUP: SyntaxRules = rules(None, &[("<!--", "-->", Comment)], b"\"", "");
static SHEET: SyntaxRules = rules(None, &[("/*", "*/", Comment)], b"\"'", "");

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
        if let Some(class) = class {
            tokens.push(SyntaxToken {
                range: at..end,
                class,
            });
        }
        at = end;
    }
    tokens
}

/// Reads a comment or a string that begins here.
fn read_token(text: &str, at: usize, rules: &SyntaxRules) -> Option<(usize, TokenClass)> {
    // Only at a boundary of characters can anything begin.
    let rest = text.get(at..)?;
    if let Some((open, close, class)) = rules.blocks.iter().find(|(open, ..)| rest.starts_with(open)) {
        let inner = at + open.len();
        let found = text.get(inner..).and_then(|inside| inside.find(close));
        return Some((
            found.map_or(text.len(), |found| inner + found + close.len()),
            *class,
        ));
    }
    if rules.comment.is_some_and(|open| rest.starts_with(open)) {
        return Some((at + line_length(rest), Comment));
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
            b'\n' => return Some((at + offset, Quoted)),
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            _ if byte == quote => return Some((at + offset + 1, Quoted)),
            _ => {}
        }
    }
    Some((text.len(), Quoted))
}

/// Returns whether a character in single quotes begins here.
fn is_char(rest: &str) -> bool {
    let mut chars = rest.chars().skip(1);
    chars.next() == Some('\\') || chars.next() == Some('\'')
}

/// Reads a word, a keyword or a number.
fn read_word(text: &str, at: usize, keywords: &[&str]) -> (usize, Option<TokenClass>) {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    let is_number = rest.first().is_some_and(u8::is_ascii_digit);
    let inside = |byte: &u8| is_word(*byte) || (is_number && *byte == b'.');
    let end = at + rest.iter().take_while(|byte| inside(byte)).count();
    let word = text.get(at..end).unwrap_or_default();
    let is_keyword = || word.len() <= LONGEST_KEYWORD && keywords.contains(&word);
    let class = if is_number {
        Some(Number)
    } else {
        is_keyword().then_some(Keyword)
    };
    (end, class)
}

/// Returns whether a byte belongs to a word; so does every byte of a character beyond ASCII.
fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

fn line_length(rest: &str) -> usize {
    rest.find('\n').unwrap_or(rest.len())
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
                push(at..at + body.len(), Quoted);
            }
        } else if body.starts_with('#') && body.trim_start_matches('#').starts_with(' ') {
            push(at..at + body.len(), Heading);
        } else {
            // Pairs of backticks; one that is left over is a backtick.
            let mut ticks = body.match_indices('`').map(|(tick, _)| at + tick);
            while let (Some(open), Some(close)) = (ticks.next(), ticks.next()) {
                push(open..close + 1, Quoted);
            }
        }
        at += line.len();
    }
    tokens
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares tokens, written as `class:text`, with what is expected.
    #[track_caller]
    fn check(file: &str, text: &str, expect: &[&str]) {
        let tokens = find_tokens(text, rules_for(file).unwrap());
        let shown: Vec<String> = tokens
            .iter()
            .map(|token| format!("{}:{}", token.class.css_class(), &text[token.range.clone()]))
            .collect();
        assert_eq!(shown, expect, "{file}");
    }

    #[test]
    fn comments_strings_numbers_and_keywords_have_colors() {
        check(
            "src/main.rs",
            "let x: &'a str = \"a \\\" // b\"; // 'c\nif 'x' == '\\'' { 0x1f }",
            &[
                "tk:let",
                "ts:\"a \\\" // b\"",
                "tc:// 'c",
                "tk:if",
                "ts:'x'",
                "ts:'\\''",
                "tn:0x1f",
            ],
        );
        check(
            "a.js",
            "const a = `x\n${y}`; /* if\n */ 1.5",
            &["tk:const", "ts:`x\n${y}`", "tc:/* if\n */", "tn:1.5"],
        );
        check(
            "a.py",
            "def f():\n  \"\"\"doc\n# no\"\"\" # yes",
            &["tk:def", "ts:\"\"\"doc\n# no\"\"\"", "tc:# yes"],
        );
        check("A.SQL", "SELECT 'a' -- b", &["tk:SELECT", "ts:'a'", "tc:-- b"]);
        check("Makefile", "# all\nif x", &["tc:# all", "tk:if"]);
        check("x.json", "{\"a\": [1, true]}", &["ts:\"a\"", "tn:1", "tk:true"]);
        check(
            "x.html",
            "<!-- if -->\n<a href=\"b\">it's</a>",
            &["tc:<!-- if -->", "ts:\"b\""],
        );
        check(
            "x.toml",
            "a = \"don't\"\nb = don't # c",
            &["ts:\"don't\"", "tc:# c"],
        );
    }

    #[test]
    fn markdown_has_headings_and_code() {
        check(
            "a.md",
            "# One\n#no\ntext `a` and ` left\n```rust\n# in\n\n```\n`z`",
            &["th:# One", "ts:`a`", "ts:```rust", "ts:# in", "ts:```", "ts:`z`"],
        );
    }

    #[test]
    fn a_string_or_comment_that_never_ends_ends_with_its_line_or_the_text() {
        check("a.c", "\"open\nint x", &["ts:\"open", "tk:int"]);
        check("a.c", "/* open\nint x", &["tc:/* open\nint x"]);
        check("a.c", "\"\\", &["ts:\"\\"]);
    }

    #[test]
    fn unknown_endings_have_no_rules() {
        for name in ["a.txt", "notes", "", ".", "/", "a.", "chat #2"] {
            assert_eq!(rules_for(name), None, "{name}");
        }
    }

    /// Every text has tokens in order that do not overlap, lie between characters, and are not empty.
    #[test]
    fn tokens_of_any_text_are_in_order_and_between_characters() {
        let signs = [
            "'", "\"", "`", "\\", "/*", "*/", "//", "#", "\n", "\r\n", "é", "抽", "🗄", "a", "1", "\"\"\"",
            "<!--", "\0", "\u{202e}", " ",
        ];
        let files = [
            "a.rs", "a.js", "a.py", "a.sh", "a.sql", "a.lua", "a.html", "a.css", "a.md", "a.json", "a.yml",
            "a.go", "a.java",
        ];
        let mut seed = 7_u64;
        for round in 0..4_000 {
            let mut text = String::new();
            for _ in 0..round % 40 {
                seed = seed
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                text.push_str(signs[(seed >> 33) as usize % signs.len()]);
            }
            for file in files {
                let mut end = 0;
                for token in find_tokens(&text, rules_for(file).unwrap()) {
                    assert!(
                        token.range.start >= end && token.range.start < token.range.end,
                        "{file} {text:?}"
                    );
                    assert!(text.get(token.range.clone()).is_some(), "{file} {text:?}");
                    end = token.range.end;
                }
            }
        }
    }

    /// A text that begins many things and ends none is read in a time that grows with it, not with its square.
    #[test]
    fn a_megabyte_of_beginnings_is_read_once() {
        for beginning in ["'\\", "/", "`", "\"\\\"", "\"\"", "<!-", "#", "'"] {
            let text = beginning.repeat(1_000_000 / beginning.len());
            for file in ["a.js", "a.py", "a.rs", "a.html", "a.md"] {
                // Quadratic reading would not end within an hour.
                let tokens = find_tokens(&text, rules_for(file).unwrap());
                assert!(tokens.len() <= text.len());
            }
        }
    }
}
