//! Cases of pieces, shape by shape, with a target so small that each case fits a few lines.

use super::*;

/// Cuts with a target of 40 characters and 160 for what stays whole; `¦` in `marked` is where pieces part.
#[track_caller]
fn check(shape: TextShape, marked: &str) {
    let text = marked.replace('¦', "");
    assert_eq!(show(shape, &text), marked);
}

fn pieces(shape: TextShape, text: &str) -> Vec<TextPiece> {
    cut_text(
        text,
        shape,
        &PieceLengths {
            target: 40,
            whole: 160,
        },
    )
}

fn show(shape: TextShape, text: &str) -> String {
    let pieces = pieces(shape, text);
    let parts: Vec<&str> = pieces.iter().map(|piece| &text[piece.start..piece.end]).collect();
    parts.join("¦")
}

#[track_caller]
fn check_headings(shape: TextShape, text: &str, expect: &[&str]) {
    let pieces = pieces(shape, text);
    let headings: Vec<&str> = pieces
        .iter()
        .map(|piece| piece.heading.as_deref().unwrap_or("-"))
        .collect();
    assert_eq!(headings, expect, "{}", show(shape, text));
}

const WORDS: &str = "some words that fill the section well";

#[test]
fn headings_begin_pieces() {
    check(
        TextShape::Markdown,
        &format!("{WORDS}\n\n¦# One\n\n{WORDS}\n¦## Two\n{WORDS}\n\n¦Three\n=====\n\n{WORDS}\n"),
    );
    check(
        TextShape::Markdown,
        &format!("\u{feff}# One #\r\n\r\n{WORDS}\r\n\r\n¦Two\r\n---\r\n\r\n{WORDS}"),
    );
}

#[test]
fn short_sections_go_together_and_a_heading_is_never_left_alone() {
    check(
        TextShape::Markdown,
        &format!("# A\n\n## B\n\n{WORDS}\n\n¦## C\n\n{WORDS}\n"),
    );
    check(TextShape::Markdown, "# A\n\nx\n\n# B\n\ny\n");
    check(
        TextShape::Markdown,
        "Sixteen letters.\n\n### A title\n\nIt says one sentence. ¦And then another sentence of words.\n",
    );
}

#[test]
fn a_greater_heading_needs_less_before_it() {
    check(
        TextShape::Markdown,
        "Some letters.\n\n¦## A title\n\nIt says more.\n",
    );
    check(
        TextShape::Markdown,
        "Some letters.\n\n### A name\n\nIt says more.\n",
    );
}

#[test]
fn hashes_without_a_space_or_too_many_are_no_headings() {
    check_headings(
        TextShape::Markdown,
        "# A\n\n#hash\n####### seven\n    # code\nwords\n",
        &["A"],
    );
}

#[test]
fn what_is_fenced_stays_whole() {
    let code = "# not a heading\n\nlet a = 1;\n".repeat(4);
    check(
        TextShape::Markdown,
        &format!("{WORDS}:\n\n¦```sh\n{code}```\n\n¦{WORDS} and more\n"),
    );
    check(
        TextShape::Markdown,
        &format!("~~~~\n{code}~~~\n~~~~\n¦{WORDS} and more\n"),
    );
    // Too long for that, it parts at lines.
    let long = format!("```\n{}```\n", "0123456789\n".repeat(30));
    let parts = pieces(TextShape::Markdown, &long);
    assert!(parts.len() > 3);
    assert!(parts.iter().all(|piece| long[..piece.end].ends_with('\n')));
}

#[test]
fn a_block_that_fits_alone_is_not_broken_for_the_words_before_it() {
    let code = "0123456789\n".repeat(13);
    check(
        TextShape::Markdown,
        &format!("short words\n\n¦```\n{code}```\n\n¦{WORDS}\n"),
    );
}

#[test]
fn tables_raw_html_and_front_matter_stay_whole() {
    let rows = "| a row | of three | cells |\n".repeat(4);
    check(
        TextShape::Markdown,
        &format!("{WORDS}\n\n¦| x | y | z |\n|---|---|---|\n{rows}\n¦{WORDS} and more\n"),
    );
    let inner = "<b>bold</b> and more words\n".repeat(4);
    check(
        TextShape::Markdown,
        &format!("{WORDS}\n\n¦<div>\n{inner}</div>\n\n¦{WORDS} and more\n"),
    );
    let keys = "key: some value\n".repeat(6);
    check(
        TextShape::Markdown,
        &format!("---\n{keys}---\n\n¦# Title\n\n{WORDS}\n"),
    );
    assert!(
        pieces(TextShape::Markdown, &format!("---\n{keys}\n")).len() > 1,
        "a rule is not front matter"
    );
}

#[test]
fn lists_part_between_items() {
    let item = "- an item that has some words\n  and goes on below\n";
    check(TextShape::Markdown, &format!("{item}¦{item}¦{item}"));
    let item = "12. an item with some words in it\n\n    a second paragraph\n";
    check(TextShape::Markdown, &format!("{item}¦{item}"));
}

#[test]
fn a_piece_of_a_document_stands_under_its_headings() {
    let text = format!(
        "{WORDS}\n\n# Guide\n\n{WORDS}\n\n## Install ##\n\n{WORDS}\n\n### Linux\n\n{WORDS}\n\n# Other\n\n{WORDS}"
    );
    check_headings(
        TextShape::Markdown,
        &text,
        &[
            "-",
            "Guide",
            "Guide > Install",
            "Guide > Install > Linux",
            "Other",
        ],
    );
    let text = format!("# Guide\n\n## Install\n\n{WORDS}\n\n## A\nx\n## Z\ny");
    check_headings(TextShape::Markdown, &text, &["Guide > Install", "Guide"]);
}

#[test]
fn prose_parts_at_paragraphs_then_sentences_then_words() {
    check(TextShape::Prose, &format!("{WORDS}.\n\n¦{WORDS}.\n\n¦{WORDS}."));
    let paragraph = "The first line of it.\nThe second line.\n";
    check(
        TextShape::Prose,
        &format!("{paragraph}\n¦{paragraph}\n¦{paragraph}"),
    );
    check(
        TextShape::Prose,
        "One sentence of some words here. ¦And another one of just as many words.",
    );
    check(
        TextShape::Prose,
        "これは一つの文章でありますから、ここで終わります。¦そして次の文章がここからゆっくりと始まって、またここで長い文章が終わるのです。",
    );
    let words = show(TextShape::Prose, &"word ".repeat(40));
    assert!(
        words.contains(" ¦word") && !words.contains("w¦") && !words.contains("d¦"),
        "{words}"
    );
}

#[test]
fn items_of_code_begin_pieces_and_keep_what_belongs_to_them() {
    let one = "/// Does one.\n#[inline]\nfn one() {\n    go();\n\n    a\n}\n";
    check(
        TextShape::Code,
        &format!("use a::b;\nuse c::d;\nuse some::other::thing;\n\n¦{one}\n¦{one}¦{one}"),
    );
    let python = "@decorated\ndef one(argument):\n    return argument\n";
    check(
        TextShape::Code,
        &format!("import some_module, another\n\n\n¦{python}\n\n¦{python}"),
    );
    let braces = "int one(int argument)\n{\n    return argument;\n}\n";
    check(TextShape::Code, &format!("{braces}\n¦{braces}"));
    check(
        TextShape::Code,
        "/// What it does, in some words.\n\nfn one() {\n    go();\n}\n",
    );
    let long = "int one(int first, int second)\n{\n    begin(first);\n    end(second);\n    return 0;\n}\n";
    assert!(!show(TextShape::Code, long).contains("¦{"));
}

#[test]
fn a_piece_of_code_stands_under_its_item() {
    let method = "    fn one(&self) {\n        self.two();\n    }\n";
    let text = format!(
        "impl Thing {{\n{method}\n{method}\n{method}}}\n\nfn three() {{\n    let x = 1;\n    x\n}}\n"
    );
    check_headings(TextShape::Code, &text, &["-", "impl Thing", "impl Thing", "-"]);
}

#[test]
fn markup_parts_before_blocks_even_within_a_line() {
    let p = format!("<p>{WORDS}</p>");
    check(
        TextShape::Markup,
        &format!("<body>{p}¦{p}¦<h2>Two</h2><div><p>words</p></div>"),
    );
    let script = "var a = '<p>';\n".repeat(6);
    check(
        TextShape::Markup,
        &format!("{p}\n¦<script>\n{script}</SCRIPT>\n¦{p}"),
    );
    check(
        TextShape::Markup,
        "<a><name>the first one of them</name></a>¦<a><name>the second one</name></a>",
    );
}

#[test]
fn markup_stands_under_the_text_of_its_headings() {
    let p = format!("<p>{WORDS}</p>\n");
    let text =
        format!("<h1 class='x'>All &amp;\n <b>sundry</b></h1>\n<p>x</p>\n<h2>Two</h2>{p}<H2>Three</H2>\n{p}");
    check_headings(
        TextShape::Markup,
        &text,
        &[
            "All &amp; sundry",
            "All &amp; sundry > Two",
            "All &amp; sundry > Three",
        ],
    );
}

#[test]
fn rows_part_between_rows_under_the_header() {
    let row = "1,\"a field that\ngoes \"\"on\"\" below\",3\n";
    check(TextShape::Rows, &format!("id,words,more\n{row}¦{row}¦{row}"));
    check_headings(
        TextShape::Rows,
        &format!("id,words,more\n{row}{row}"),
        &["-", "id,words,more"],
    );
    let inches = format!("5\" disk,1\n{}", "a row,1\n".repeat(12));
    assert!(
        pieces(TextShape::Rows, &inches).len() > 1,
        "a mark inside a field opens nothing"
    );
}

#[test]
fn configuration_parts_at_tables_and_top_level_keys() {
    let table = "# A word about it.\n[table]\nkey = \"value\"\nother = 1\n";
    check(TextShape::Config, &format!("{table}\n¦{table}\n¦{table}"));
    let key = "first:\n  inner: a value\n  other: another\n";
    check(TextShape::Config, &format!("{key}¦{key}¦{key}"));
    let json = "  \"key\": {\n    \"inner\": [1, 2, 3]\n  },\n";
    check(TextShape::Config, &format!("{{\n{json}¦{json}¦{json}}}\n"));
    check_headings(
        TextShape::Config,
        &format!("[a]\n{0}{0}", "key = 'value of it'\n".repeat(2)),
        &["-", "[a]"],
    );
    let values = "    \"a value\",\n".repeat(7);
    check_headings(
        TextShape::Config,
        &format!("{{\n  \"key\": [\n{values}  ]\n}}\n"),
        &["-", "\"key\": [", "\"key\": ["],
    );
}

#[test]
fn notebooks_part_between_cells() {
    let cell = "  {\n   \"cell_type\": \"code\",\n   \"source\": []\n  },\n";
    check(
        TextShape::Notebook,
        &format!("{{\n \"cells\": [\n¦{cell}¦{cell}¦{cell} ]\n}}\n"),
    );
}

#[test]
fn edges_begin_and_end_with_whole_words() {
    let text = "one two three four";
    assert_eq!(edge_before(text, 8, 6), "two ");
    assert_eq!(edge_before(text, 8, 100), "one two ");
    assert_eq!(edge_before("onetwothree", 6, 3), "two");
    assert_eq!(edge_before("e\u{301}e\u{301}e\u{301}", 9, 3), "e\u{301}");
    assert_eq!(edge_before(text, 8, 0), "");
    assert_eq!(edge_after(text, 8, 8), "three");
    assert_eq!(edge_after(text, 8, 100), "three four");
    assert_eq!(edge_after("onetwothree", 3, 3), "two");
    assert_eq!(edge_after("🇩🇪🇫🇷", 0, 3), "🇩🇪");
    assert_eq!(edge_after(text, 99, 3), "");
    assert_eq!(edge_before("語", 1, 3), "");
}
