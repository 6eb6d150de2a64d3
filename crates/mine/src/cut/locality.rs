//! An edit moves only the seams near it.

use std::collections::HashSet;

use super::*;

/// Numbers that look like chance and are the same every time.
struct Chance(u64);

impl Chance {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }

    /// So many words.
    fn words(&mut self, count: u64) -> String {
        const WORDS: [&str; 12] = [
            "lamp", "stone", "river", "quietly", "of", "the", "under", "green", "window", "letter", "seven",
            "walks",
        ];
        let words: Vec<&str> = (0..count).map(|_| WORDS[self.below(12) as usize]).collect();
        words.join(" ")
    }
}

/// The share of the pieces of `new` that were pieces of `old`.
fn same(old: &str, new: &str, shape: TextShape) -> f64 {
    let how = PieceLengths::default();
    let before: HashSet<&str> = cut_text(old, shape, &how)
        .iter()
        .map(|piece| &old[piece.start..piece.end])
        .collect();
    let after = cut_text(new, shape, &how);
    let kept = after
        .iter()
        .filter(|piece| before.contains(&new[piece.start..piece.end]))
        .count();
    assert!(after.len() > 30, "{} pieces", after.len());
    kept as f64 / after.len() as f64
}

#[track_caller]
fn check(text: &str, shape: TextShape, least: f64) {
    for (at, inserted) in [(0, 12), (0, 60), (0, 200), (text.len() / 2, 40)] {
        let at = text[..at].rfind("\n\n").map_or(0, |end| end + 2);
        let paragraph = Chance(99).words(inserted);
        let edited = format!("{}{paragraph}.\n\n{}", &text[..at], &text[at..]);
        let same = same(text, &edited, shape);
        assert!(same >= least, "{inserted} words at {at}: {same}");
    }
}

#[test]
fn a_paragraph_in_a_document_leaves_the_other_sections_alone() {
    let mut chance = Chance(1);
    let section = |n: u64| {
        let title = chance.words(3);
        let level = "#".repeat(2 + chance.below(2) as usize);
        let paragraphs: Vec<String> = (0..1 + chance.below(3))
            .map(|_| chance.words(8 + n % 90))
            .collect();
        format!("{level} {title} {n}\n\n{}\n\n", paragraphs.join(".\n\n"))
    };
    check(
        &(0..200).map(section).collect::<String>(),
        TextShape::Markdown,
        0.95,
    );
}

#[test]
fn so_it_does_where_sections_are_short_and_much_alike() {
    let mut chance = Chance(1);
    let section = |n: u64| format!("## {n}\n\n{}\n\n", chance.words(24));
    check(
        &(0..400).map(section).collect::<String>(),
        TextShape::Markdown,
        0.9,
    );
}

#[test]
fn a_line_in_code_leaves_the_other_functions_alone() {
    let mut chance = Chance(2);
    let function = |n: u64| {
        let lines: String = (0..2 + chance.below(16))
            .map(|_| format!("    {};\n", chance.words(6)))
            .collect();
        format!("/// {}.\nfn f{n}() {{\n{lines}}}\n\n", chance.words(7))
    };
    check(&(0..100).map(function).collect::<String>(), TextShape::Code, 0.95);
}

#[test]
fn a_paragraph_in_prose_leaves_most_others_alone() {
    let mut chance = Chance(3);
    // Paragraphs of one length: only what they say can bring the cuts into step again.
    let text: String = (0..200).map(|_| chance.words(48) + ".\n\n").collect();
    check(&text, TextShape::Prose, 0.8);
}

#[test]
fn words_in_a_single_long_line_leave_most_of_it_alone() {
    let text = Chance(4).words(20_000);
    let edited = format!("some more words {text}");
    assert!(same(&text, &edited, TextShape::Prose) >= 0.8);
}

#[test]
fn a_row_in_a_table_leaves_most_others_alone() {
    let mut chance = Chance(5);
    let rows: String = (0..1000).map(|n| format!("{n},{}\n", chance.words(8))).collect();
    let (old, new) = (
        format!("id,words\n{rows}"),
        format!("id,words\n-1,first of all\n{rows}"),
    );
    assert!(same(&old, &new, TextShape::Rows) >= 0.8);
}
