//! An estimate of the tokens in a text that is rarely too low.
//!
//! Every tokeniser counts differently and none is used here. Each character has a weight by its script, and
//! each run of one class of characters (letters of one word, digits, punctuation, another script) is rounded
//! up, so a word costs at least one token. Ordinary English is estimated at about one and a half times the
//! count of large vocabularies.

use crate::invisible::is_invisible;

/// The weight of a whole token. Twelfths are fine enough to tell scripts apart.
const TOKEN: usize = 12;

/// The number of consecutive spaces that make a token.
const SPACES: usize = 4;

/// The class of a character; a run ends where the class changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharacterClass {
    Blank,
    Lower,
    Upper,
    Digit,
    Mark,
    Other,
}

impl CharacterClass {
    fn from_char(c: char) -> Self {
        match c {
            _ if c.is_whitespace() => Self::Blank,
            'a'..='z' => Self::Lower,
            'A'..='Z' => Self::Upper,
            '0'..='9' => Self::Digit,
            _ if c.is_ascii_punctuation() => Self::Mark,
            // Accented letters belong to the word around them.
            '\u{c0}'..='\u{24f}' => Self::Lower,
            _ => Self::Other,
        }
    }

    /// Returns whether a run continues from this class to `next`: lower-case letters continue a word that
    /// begins with a capital.
    fn continues_with(self, next: Self) -> bool {
        self == next || (self, next) == (Self::Upper, Self::Lower)
    }
}

/// Returns the weight of a character, in twelfths of a token.
fn character_weight(c: char) -> usize {
    match c {
        // Output may show an escape like `\u{202e}` instead, which costs more than the character.
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

/// Estimates the tokens in `text`.
///
/// The estimate never falls as text is appended and is never 0 for text that is not blank. Lines cost the sum
/// of their own costs and one for each line break between them. The two halves of a text cost at most one token
/// less than the whole.
pub fn estimate_tokens(text: &str) -> usize {
    // `closed` counts whole tokens of finished runs, `open` the twelfths of the run in progress.
    let mut closed = 0;
    let mut open = 0;
    let mut blanks = 0;
    let mut last = CharacterClass::Blank;
    for c in text.chars() {
        let sort = CharacterClass::from_char(c);
        if !last.continues_with(sort) {
            closed += usize::div_ceil(open, TOKEN);
            open = 0;
        }
        last = sort;
        match (sort, c) {
            (CharacterClass::Blank, '\n') => {
                closed += 1;
                blanks = 0;
            }
            (CharacterClass::Blank, _) => {
                blanks += 1;
                closed += usize::from(blanks % SPACES == 0);
            }
            _ => {
                blanks = 0;
                open += character_weight(c);
            }
        }
        if sort == CharacterClass::Blank && is_invisible(c) {
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
        assert_eq!(estimate_tokens(text), expect, "{text:?}");
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
            let estimated = estimate_tokens(text);
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
            let both = estimate_tokens(&format!("{a}{b}"));
            prop_assert!(both >= estimate_tokens(&a) && both >= estimate_tokens(&b));
            prop_assert!(both <= estimate_tokens(&a) + estimate_tokens(&b) + 1);
        }

        #[test]
        fn lines_cost_what_each_costs_alone(a in some_text(), b in some_text()) {
            prop_assert_eq!(estimate_tokens(&format!("{a}\n{b}")), estimate_tokens(&a) + 1 + estimate_tokens(&b));
        }

        #[test]
        fn only_blank_text_may_cost_nothing(text in some_text()) {
            prop_assert!(text.trim().is_empty() || estimate_tokens(&text) > 0);
        }
    }
}
