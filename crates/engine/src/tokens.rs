//! How many tokens a model will count in a text, estimated so that it is rarely too few.
//!
//! Every tokeniser counts differently and none is asked here. Each character has a weight by its script, a run of one
//! sort of characters (letters of one word, digits, punctuation, another script) is rounded up, and so words cost at
//! least one token. Ordinary English comes out at about one and a half times what large vocabularies give.

use crate::invisible::is_invisible;

/// What a whole token weighs. A twelfth is fine enough to tell scripts apart.
const TOKEN: usize = 12;

/// How many spaces in a row make a token.
const SPACES: usize = 4;

/// What sort of character one is: a run ends where the sort changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sort {
    Blank,
    Lower,
    Upper,
    Digit,
    Mark,
    Other,
}

impl Sort {
    fn of(c: char) -> Self {
        match c {
            _ if c.is_whitespace() => Self::Blank,
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ if c.is_ascii_punctuation() => Self::Mark,
            // Letters with accents belong to the word around them.
            '\u{c0}'..='\u{24f}' => Self::Lower,
            _ => Self::Other,
        }
    }

    /// Whether a run goes on from this sort to `next`: a capital begins a word, and small letters go on with it.
    fn goes_on(self, next: Self) -> bool {
        self == next || (self, next) == (Self::Upper, Self::Lower)
    }
}

/// What a character weighs, in twelfths of a token.
fn weight(c: char) -> usize {
    match c {
        // People are shown an escape like `\u{202e}` instead, which costs more than they do.
        _ if is_invisible(c) => 9 * TOKEN,
        'a'..='z' => 4,
        '0'..='9' => 14,
        _ if c.is_ascii_punctuation() => 9,
        '\0'..='\u{7f}' => TOKEN,
        // Latin with accents, phonetic letters, combining marks.
        '\u{80}'..='\u{36f}' => 20,
        // Greek.
        '\u{370}'..='\u{3ff}' => 17,
        // Cyrillic.
        '\u{400}'..='\u{52f}' => 13,
        // Armenian, Hebrew, Arabic and their neighbours.
        '\u{530}'..='\u{58f}' => 27,
        '\u{590}'..='\u{5ff}' => 17,
        '\u{600}'..='\u{7ff}' => 18,
        // Devanagari and Thai; then what else is written from India to Georgia, nearly a token for each byte.
        '\u{900}'..='\u{97f}' | '\u{e00}'..='\u{e7f}' => 24,
        '\u{800}'..='\u{1dff}' => 38,
        // More Latin with accents, more Greek.
        '\u{1e00}'..='\u{1fff}' => 26,
        // Signs, Chinese, Japanese, Korean.
        '\u{2000}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}' => 26,
        '\u{a000}'..='\u{ffff}' => 38,
        // Emoji, rare signs: four bytes.
        _ => 42,
    }
}

/// An estimate of the tokens in `text`.
///
/// It grows or stays as text is appended, is never 0 for text that is not blank, and lines cost what each costs alone
/// and one for each line break between them. Cutting a text in two makes it at most one cheaper.
pub fn estimate(text: &str) -> usize {
    let mut closed = 0;
    let mut open = 0;
    let mut blanks = 0;
    let mut last = Sort::Blank;
    for c in text.chars() {
        let sort = Sort::of(c);
        if !last.goes_on(sort) {
            closed += usize::div_ceil(open, TOKEN);
            open = 0;
        }
        last = sort;
        match (sort, c) {
            (Sort::Blank, '\n') => {
                closed += 1;
                blanks = 0;
            }
            (Sort::Blank, _) => {
                blanks += 1;
                closed += usize::from(blanks % SPACES == 0);
            }
            _ => {
                blanks = 0;
                open += weight(c);
            }
        }
        if sort == Sort::Blank && is_invisible(c) {
            closed += 9;
        }
    }
    closed + usize::div_ceil(open, TOKEN)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expect: usize) {
        assert_eq!(estimate(text), expect, "{text:?}");
    }

    #[test]
    fn words_digits_marks_and_scripts_have_their_weights() {
        check("", 0);
        check(" \t", 0);
        check("a", 1);
        check("the garden", 1 + 2);
        check("Hello, World!", 3 + 1 + 3 + 1);
        check("camelCase", 2 + 2);
        check("ERROR", 5);
        check("2026", 5);
        check("one\n\ntwo", 1 + 2 + 1);
        check("a        b", 4);
        check("抽屉", 5);
        check("приём", 6);
        check("🗄️", 7);
        check("\u{202e}", 9);
    }

    /// Counted once with three published vocabularies of 32,000 to 100,000 tokens: the largest of the three counts.
    #[test]
    fn ordinary_text_of_many_scripts_is_not_underestimated() {
        for (text, counted) in COUNTED {
            let estimated = estimate(text);
            assert!(estimated >= *counted, "{text}: {estimated} < {counted}");
            assert!(
                estimated <= 3 * counted,
                "{text}: {estimated} is far more than {counted}"
            );
        }
    }

    const COUNTED: &[(&str, usize)] = &[
        ("We keep the keys of the boat in the second drawer.", 12),
        ("Die Schlüssel zum Bootshaus liegen in der zweiten Schublade.", 19),
        ("Les clés du bateau sont rangées dans le deuxième tiroir.", 18),
        ("Veneen avaimet ovat toisessa laatikossa ylhäältä päin.", 26),
        ("Ключи от лодки лежат во втором ящике сверху.", 25),
        ("Τα κλειδιά του σκάφους είναι στο δεύτερο συρτάρι.", 55),
        ("مفاتيح القارب في الدرج الثاني من الأعلى.", 32),
        ("המפתחות של הסירה נמצאים במגירה השנייה.", 39),
        ("नाव की चाबियाँ दूसरी दराज में रखी हैं।", 44),
        ("กุญแจเรืออยู่ในลิ้นชักที่สอง", 52),
        ("船的钥匙在第二个抽屉里。", 17),
        ("船の鍵は二番目の引き出しに入っています。", 23),
        ("배 열쇠는 두 번째 서랍에 있습니다.", 25),
        ("Chìa khóa thuyền nằm trong ngăn kéo thứ hai.", 29),
        ("Done ✅ shipped 🚀 thanks 👩‍👩‍👧 👍🏽", 26),
        (
            "let total: u64 = rows.iter().map(|row| row.len() as u64).sum();",
            26,
        ),
        ("533da3687d741789776f6929b2c70fce 2026-05-01T09:30:12.5Z", 54),
    ];

    fn some_text() -> impl Strategy<Value = String> {
        prop_oneof![
            "\\PC{0,40}",
            "[ \\n\\ta-zA-Z0-9.,-]{0,60}",
            "[а-яα-ωא-ת抽屉가나다ก-ฮ😀-😏 ]{0,30}",
        ]
    }

    proptest! {
        #[test]
        fn more_text_is_never_cheaper(a in some_text(), b in some_text()) {
            let both = estimate(&format!("{a}{b}"));
            prop_assert!(both >= estimate(&a) && both >= estimate(&b));
            prop_assert!(both <= estimate(&a) + estimate(&b) + 1);
        }

        #[test]
        fn lines_cost_what_each_costs_alone(a in some_text(), b in some_text()) {
            prop_assert_eq!(estimate(&format!("{a}\n{b}")), estimate(&a) + 1 + estimate(&b));
        }

        #[test]
        fn only_blank_text_may_cost_nothing(text in some_text()) {
            prop_assert!(text.trim().is_empty() || estimate(&text) > 0);
        }
    }
}
