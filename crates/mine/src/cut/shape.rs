//! What shape a text has, by its name and its beginning. Any guess is safe: it only moves seams.

use std::path::Path;

use super::part;

/// What a text is built of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Shape {
    /// Paragraphs.
    Prose,
    /// Markdown, and what looks like it.
    Markdown,
    /// Source code.
    Code,
    /// HTML, XML.
    Markup,
    /// CSV, TSV.
    Rows,
    /// JSON, YAML, TOML, INI.
    Config,
    /// A Jupyter notebook.
    Notebook,
}

impl Shape {
    /// The name drawers carry.
    pub fn name(self) -> &'static str {
        match self {
            Self::Prose => "text",
            Self::Markdown => "markdown",
            Self::Code => "code",
            Self::Markup => "markup",
            Self::Rows => "rows",
            Self::Config => "config",
            Self::Notebook => "notebook",
        }
    }

    /// Every shape there is.
    pub const ALL: [Self; 7] = [
        Self::Prose,
        Self::Markdown,
        Self::Code,
        Self::Markup,
        Self::Rows,
        Self::Config,
        Self::Notebook,
    ];
}

const MARKDOWN: &[&str] = &["md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd", "rst"];
const PROSE: &[&str] = &[
    "adoc", "asciidoc", "bib", "eml", "log", "org", "srt", "tex", "vtt",
];
const MARKUP: &[&str] = &[
    "atom", "fb2", "htm", "html", "kml", "opml", "plist", "rss", "svg", "svelte", "vue", "xhtml", "xml",
    "xsd", "xsl", "xslt",
];
const ROWS: &[&str] = &["csv", "psv", "tab", "tsv"];
const CONFIG: &[&str] = &[
    "cfg",
    "conf",
    "desktop",
    "env",
    "geojson",
    "hcl",
    "ini",
    "json",
    "json5",
    "jsonc",
    "jsonl",
    "lock",
    "ndjson",
    "properties",
    "service",
    "tf",
    "toml",
    "webmanifest",
    "yaml",
    "yml",
];
const CODE: &[&str] = &[
    "asm", "awk", "bash", "bat", "c", "cc", "clj", "cljs", "cmake", "cpp", "cs", "css", "cu", "cxx", "d",
    "dart", "el", "elm", "erl", "ex", "exs", "f90", "fish", "fs", "gd", "glsl", "go", "gradle", "graphql",
    "groovy", "h", "hh", "hpp", "hs", "hxx", "java", "jl", "js", "jsx", "kt", "kts", "less", "lisp", "lua",
    "m", "mjs", "ml", "mli", "mm", "nim", "nix", "pas", "php", "pl", "pm", "proto", "ps1", "py", "pyi", "r",
    "rb", "rs", "s", "sass", "scala", "scm", "scss", "sh", "sol", "sql", "swift", "tcl", "ts", "tsx", "v",
    "vb", "vim", "wgsl", "zig", "zsh",
];
/// Files of code and configuration that are known by their whole names.
const NAMES: &[(&str, Shape)] = &[
    ("dockerfile", Shape::Code),
    ("makefile", Shape::Code),
    ("justfile", Shape::Code),
    ("rakefile", Shape::Code),
    ("gemfile", Shape::Code),
    ("cmakelists.txt", Shape::Code),
    (".gitignore", Shape::Config),
    (".gitattributes", Shape::Config),
    (".editorconfig", Shape::Config),
    (".env", Shape::Config),
];

/// How much of a text is looked at, in bytes.
const LOOK: usize = 4096;

/// The shape of a text, by its name and a look at its beginning.
pub fn shape_of(path: &Path, text: &str) -> Shape {
    let lower =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = lower(path.file_name());
    if let Some((_, shape)) = NAMES.iter().find(|(known, _)| *known == name) {
        return *shape;
    }
    let suffix = lower(path.extension());
    let tables = [
        (&["ipynb"] as &[&str], Shape::Notebook),
        (MARKDOWN, Shape::Markdown),
        (PROSE, Shape::Prose),
        (MARKUP, Shape::Markup),
        (ROWS, Shape::Rows),
        (CONFIG, Shape::Config),
        (CODE, Shape::Code),
    ];
    let known = tables
        .iter()
        .find(|(suffixes, _)| suffixes.contains(&suffix.as_str()));
    known.map_or_else(|| by_look(text), |(_, shape)| *shape)
}

fn by_look(text: &str) -> Shape {
    let look = part(text, 0, text.floor_char_boundary(LOOK))
        .trim_start_matches('\u{feff}')
        .trim_start();
    let begins = |with: &str| {
        look.get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if ["<!doctype", "<html", "<?xml", "<svg"].into_iter().any(begins) {
        return Shape::Markup;
    }
    if begins("#!") {
        return Shape::Code;
    }
    if ["{\"", "{\n", "{\r", "[{", "[\n"].into_iter().any(begins) {
        return if look.contains("\"cell_type\"") {
            Shape::Notebook
        } else {
            Shape::Config
        };
    }
    let marked = look.lines().filter(|line| is_marked(line)).take(2).count();
    if marked == 2 {
        Shape::Markdown
    } else {
        Shape::Prose
    }
}

/// Whether a line is one that hardly anything but Markdown has.
fn is_marked(line: &str) -> bool {
    let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
    let heading = (1..=6).contains(&hashes) && line.as_bytes().get(hashes) == Some(&b' ');
    heading || line.starts_with("```")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, expect: Shape) {
        assert_eq!(shape_of(Path::new(name), text), expect, "{name}");
    }

    #[test]
    fn a_name_tells_the_shape() {
        check("docs/Guide.MD", "", Shape::Markdown);
        check("src/main.rs", "", Shape::Code);
        check("Makefile", "", Shape::Code);
        check("table.tsv", "", Shape::Rows);
        check("Cargo.lock", "", Shape::Config);
        check("page.htm", "", Shape::Markup);
        check("work.ipynb", "", Shape::Notebook);
        check("book.tex", "", Shape::Prose);
    }

    #[test]
    fn without_a_name_the_beginning_does() {
        check("page", "\u{feff}\n<!DOCTYPE html>", Shape::Markup);
        check("run", "#!/bin/sh\n", Shape::Code);
        check("answer", "{\"a\": 1}", Shape::Config);
        check(
            "cells",
            "{\n \"cells\": [{\"cell_type\": \"code\"}]}",
            Shape::Notebook,
        );
        check("notes.txt", "# One\n\ntext\n\n## Two\n", Shape::Markdown);
        check("notes.txt", "# a remark\nand text", Shape::Prose);
        check("", "", Shape::Prose);
        check("notes.txt", "日本語\n", Shape::Prose);
    }
}
