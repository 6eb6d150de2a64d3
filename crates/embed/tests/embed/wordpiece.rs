//! The tokeniser against the reference: ten thousand lines of every kind of text, id for id.

use loci_embed::wordpiece::{self, CLS, ENTRIES, SEP, UNK, VocabularyPiece};

/// Written by `scripts/fixtures/wordpiece.py`: how many ids, their FNV-1a, the text as JSON.
const LINES: &str = include_str!("../fixtures/wordpiece.txt");

fn encoded(text: &str) -> Vec<u16> {
    let mut ids = Vec::new();
    wordpiece::encode(text, &mut ids);
    ids
}

fn pieces(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    wordpiece::encode_with(text, |piece| {
        pieces.push(match piece {
            VocabularyPiece::Entry(id) => wordpiece::entry_text(id).unwrap().to_owned(),
            VocabularyPiece::Unknown(word) => format!("?{word}"),
        });
    });
    pieces
}

fn fnv(ids: &[u16]) -> u64 {
    ids.iter()
        .flat_map(|id| id.to_le_bytes())
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        })
}

#[test]
fn every_line_gets_the_ids_of_the_reference() {
    let mut lines = 0;
    let mut wrong = Vec::new();
    for line in LINES.lines() {
        let [count, hash, text] = line.splitn(3, ' ').collect::<Vec<_>>().try_into().unwrap();
        let text: String = serde_json::from_str(text).unwrap();
        let ids = encoded(&text);
        if ids.len() != count.parse::<usize>().unwrap() || fnv(&ids) != u64::from_str_radix(hash, 16).unwrap()
        {
            wrong.push(format!(
                "{text:?} became {:?}, the reference has {count} pieces",
                pieces(&text)
            ));
        }
        lines += 1;
    }
    assert_eq!(lines, 10_000);
    assert!(
        wrong.is_empty(),
        "{} lines differ:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn ids_are_appended_and_nothing_stands_around_them() {
    let mut ids = vec![7];
    wordpiece::encode("Hello, world", &mut ids);
    assert_eq!(ids, [7, 7592, 1010, 2088]);
    assert!(encoded("").is_empty());
}

#[test]
fn special_tokens_written_in_a_text_are_themselves() {
    assert_eq!(encoded("[CLS][SEP]"), [CLS, SEP]);
    assert_eq!(pieces("a[SEP]b [sep]"), ["a", "[SEP]", "b", "[", "sep", "]"]);
    assert_eq!(pieces("[UNK]"), ["?[UNK]"]);
    assert_eq!(wordpiece::entry_text(UNK), Some("[UNK]"));
}

#[test]
fn an_unknown_word_is_given_in_its_normal_form() {
    assert_eq!(
        pieces("I saw \u{1F600}\u{301}É!"),
        ["i", "saw", "?\u{1F600}e", "!"]
    );
    let long = "A".repeat(101);
    assert_eq!(pieces(&long), [format!("?{}", long.to_lowercase())]);
    assert_eq!(pieces("un\u{0}believable"), pieces("unbelievable"));
}

#[test]
fn every_entry_has_its_text_and_no_other_id_has() {
    assert!((0..=u16::MAX).all(|id| wordpiece::entry_text(id).is_some() == (usize::from(id) < ENTRIES)));
}
