//! Laws of cutting, over texts built of everything that has ever broken a splitter.

use proptest::prelude::*;
use unicode_segmentation::UnicodeSegmentation;

use super::*;

/// Parts of texts, each nasty in its own way.
fn nasty() -> impl Strategy<Value = String> {
    let fixed = prop_oneof![
        Just("\r\n"),
        Just("\n"),
        Just("\r"),
        Just("\n\n"),
        Just("\u{feff}"),
        Just("\0"),
        Just("👩\u{200d}👩\u{200d}👧\u{200d}👦"),
        Just("🇩🇪🇫🇷"),
        Just("🇯"),
        Just("e\u{301}\u{302}"),
        Just(" \u{301}"),
        Just("\u{600}<p>"),
        Just("क्षि"),
        Just("日本語。「はい！」"),
        Just("שלום עולם? "),
        Just("one. Two! three "),
        Just("# Title\n"),
        Just("### Deep\n\n"),
        Just("Title\n=====\n"),
        Just("---\n"),
        Just("```rust\n"),
        Just("```\n"),
        Just("| a | b |\n|---|---|\n| 1 | 2 |\n"),
        Just("- item\n  more\n"),
        Just("<h2>A <b>b</b></h2><p>"),
        Just("<pre>\n"),
        Just("</pre>"),
        Just("<!-- "),
        Just("<x><y/></x>\n"),
        Just("fn f() {\n"),
        Just("    let x;\n\n"),
        Just("}\n"),
        Just("/// doc\n#[test]\n"),
        Just("a,\"b\n"),
        Just("\"c\"\"d\",\n"),
        Just("[table]\n"),
        Just("  {\n   \"cell_type\": 1\n"),
    ];
    prop_oneof![
        8 => fixed.prop_map(str::to_owned),
        1 => "[a-z]{1,60}",
        1 => (1usize..90).prop_map(|n| format!("a{}", "\u{301}".repeat(n))),
        1 => (1usize..60).prop_map(|n| "🇩".repeat(n)),
        1 => (1usize..60).prop_map(|n| "x \n".repeat(n)),
    ]
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(nasty(), 0..120).prop_map(|parts| parts.concat())
}

fn how() -> impl Strategy<Value = PieceLengths> {
    (0usize..90, 0usize..300).prop_map(|(target, whole)| PieceLengths { target, whole })
}

fn line_at(text: &str, at: usize) -> u64 {
    1 + text[..at].matches('\n').count() as u64
}

/// The longest a piece of several graphemes may be.
fn longest(how: &PieceLengths) -> usize {
    how.whole.max(2 * how.target.max(8))
}

fn tiles(text: &str, pieces: &[TextPiece], how: &PieceLengths) -> Result<(), TestCaseError> {
    let mut boundaries: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).collect();
    boundaries.push(text.len());
    let mut end = 0;
    for piece in pieces {
        prop_assert!(
            piece.start == end && piece.end > piece.start,
            "{piece:?} behind {end}"
        );
        end = piece.end;
        prop_assert!(
            boundaries.binary_search(&end).is_ok(),
            "{end} lies inside a grapheme"
        );
        let own = &text[piece.start..piece.end];
        let few = own.chars().count() <= longest(how) || own.graphemes(true).count() == 1;
        prop_assert!(few, "{} characters", own.chars().count());
        let last = own.char_indices().next_back().expect("not empty").0;
        prop_assert_eq!(piece.line_start, line_at(text, piece.start));
        prop_assert_eq!(piece.line_end, line_at(text, piece.start + last));
    }
    prop_assert_eq!(end, text.len());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn pieces_tile_the_text_at_graphemes_within_bounds(text in text(), how in how()) {
        for shape in TextShape::ALL {
            let pieces = cut_text(&text, shape, &how);
            tiles(&text, &pieces, &how)?;
            prop_assert_eq!(&cut_text(&text, shape, &how), &pieces);
        }
    }

    #[test]
    fn edges_are_short_and_end_at_graphemes(text in text(), most in 0usize..50, how in how()) {
        let boundaries: Vec<usize> = text.grapheme_indices(true).map(|(at, _)| at).chain([text.len()]).collect();
        for piece in cut_text(&text, TextShape::Prose, &how) {
            let before = edge_before(&text, piece.start, most);
            let after = edge_after(&text, piece.end, most);
            prop_assert!(before.chars().count() <= most && after.chars().count() <= most);
            prop_assert!(text[..piece.start].ends_with(before) && text[piece.end..].starts_with(after));
            prop_assert!(boundaries.binary_search(&(piece.start - before.len())).is_ok());
            prop_assert!(boundaries.binary_search(&(piece.end + after.len())).is_ok());
        }
    }
}

#[test]
fn an_empty_text_has_no_pieces() {
    for shape in TextShape::ALL {
        assert_eq!(cut_text("", shape, &PieceLengths::default()), Vec::new());
    }
}

#[test]
fn a_grapheme_longer_than_any_limit_stays_whole() {
    let giant = format!("e{}", "\u{301}".repeat(10_000));
    let text = format!("words before {giant} and behind");
    for shape in TextShape::ALL {
        let pieces = cut_text(&text, shape, &PieceLengths::default());
        assert!(
            pieces.iter().any(|piece| text[piece.start..piece.end] == giant),
            "{shape:?}"
        );
    }
}

#[test]
fn a_line_end_of_two_characters_stays_whole() {
    let text = "\r\n".repeat(2000);
    for shape in TextShape::ALL {
        let pieces = cut_text(&text, shape, &PieceLengths { target: 9, whole: 20 });
        assert!(
            pieces.len() > 100 && pieces.iter().all(|piece| piece.end % 2 == 0),
            "{shape:?}"
        );
    }
}
