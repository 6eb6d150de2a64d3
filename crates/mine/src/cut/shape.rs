//! Guesses the shape of a text by its name and its beginning. Any guess is safe: it only moves seams.

use std::path::Path;

use super::slice_text;

/// The structure of a text, which decides where it is cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TextShape {
    /// Paragraphs.
    Prose,
    /// Markdown and similar markup.
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

impl TextShape {
    /// Returns the name that drawers carry.
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

    /// All shapes.
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
/// Files of code and configuration that are recognised by their whole names.
const NAMES: &[(&str, TextShape)] = &[
    ("dockerfile", TextShape::Code),
    ("makefile", TextShape::Code),
    ("justfile", TextShape::Code),
    ("rakefile", TextShape::Code),
    ("gemfile", TextShape::Code),
    ("cmakelists.txt", TextShape::Code),
    (".gitignore", TextShape::Config),
    (".gitattributes", TextShape::Config),
    (".editorconfig", TextShape::Config),
    (".env", TextShape::Config),
];

/// The number of bytes of a text that are examined.
const LOOK: usize = 4096;

/// Returns the shape of a text by its file name, or else by its beginning.
pub fn shape_of(path: &Path, text: &str) -> TextShape {
    let lower =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let name = lower(path.file_name());
    if let Some((_, shape)) = NAMES.iter().find(|(known, _)| *known == name) {
        return *shape;
    }
    let suffix = lower(path.extension());
    let tables = [
        (&["ipynb"] as &[&str], TextShape::Notebook),
        (MARKDOWN, TextShape::Markdown),
        (PROSE, TextShape::Prose),
        (MARKUP, TextShape::Markup),
        (ROWS, TextShape::Rows),
        (CONFIG, TextShape::Config),
        (CODE, TextShape::Code),
    ];
    let known = tables
        .iter()
        .find(|(suffixes, _)| suffixes.contains(&suffix.as_str()));
    known.map_or_else(|| guess_shape(text), |(_, shape)| *shape)
}

fn guess_shape(text: &str) -> TextShape {
    let look = slice_text(text, 0, text.floor_char_boundary(LOOK))
        .trim_start_matches('\u{feff}')
        .trim_start();
    let begins = |with: &str| {
        look.get(..with.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(with))
    };
    if ["<!doctype", "<html", "<?xml", "<svg"].into_iter().any(begins) {
        return TextShape::Markup;
    }
    if begins("#!") {
        return TextShape::Code;
    }
    // A lone `{` or `[` is not enough: prose and templates begin with them as well.
    if ["{\"", "{\n", "{\r", "[{", "[\n"].into_iter().any(begins) {
        return if look.contains("\"cell_type\"") {
            TextShape::Notebook
        } else {
            TextShape::Config
        };
    }
    // One `# …` may be a comment of a script or a setting; two such lines are rarely anything but Markdown.
    let marked = look.lines().filter(|line| is_markdown_line(line)).take(2).count();
    if marked == 2 {
        TextShape::Markdown
    } else {
        TextShape::Prose
    }
}

/// Returns whether a line is typical of Markdown and of hardly anything else.
fn is_markdown_line(line: &str) -> bool {
    let hashes = line.bytes().take_while(|byte| *byte == b'#').count();
    let heading = (1..=6).contains(&hashes) && line.as_bytes().get(hashes) == Some(&b' ');
    heading || line.starts_with("```")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(name: &str, text: &str, expect: TextShape) {
        assert_eq!(shape_of(Path::new(name), text), expect, "{name}");
    }

    #[test]
    fn a_name_tells_the_shape() {
        check("docs/Guide.MD", "", TextShape::Markdown);
        check("src/main.rs", "", TextShape::Code);
        check("Makefile", "", TextShape::Code);
        check("table.tsv", "", TextShape::Rows);
        check("Cargo.lock", "", TextShape::Config);
        check("page.htm", "", TextShape::Markup);
        check("work.ipynb", "", TextShape::Notebook);
        check("book.tex", "", TextShape::Prose);
    }

    #[test]
    fn without_a_name_the_beginning_does() {
        check("page", "\u{feff}\n<!DOCTYPE html>", TextShape::Markup);
        check("run", "#!/bin/sh\n", TextShape::Code);
        check("answer", "{\"a\": 1}", TextShape::Config);
        check(
            "cells",
            "{\n \"cells\": [{\"cell_type\": \"code\"}]}",
            TextShape::Notebook,
        );
        check("notes.txt", "# One\n\ntext\n\n## Two\n", TextShape::Markdown);
        check("notes.txt", "# a remark\nand text", TextShape::Prose);
        check("", "", TextShape::Prose);
        check("notes.txt", "日本語\n", TextShape::Prose);
    }
}
