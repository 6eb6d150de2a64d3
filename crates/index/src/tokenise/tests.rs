//! The tokeniser on texts in many scripts.

use super::*;
use proptest::prelude::*;

fn check(text: &str, expect: &str) {
    assert_eq!(join_index_tokens(text), expect, "{text:?}");
}

fn asks(text: &str, expect: &[&str]) {
    assert_eq!(query_tokens(text), expect, "{text:?}");
}

#[test]
fn words_are_folded_and_stemmed() {
    check("The Running, runner's RUNS!", "the run runner run");
    check("Crème Brûlée naïve RÉSUMÉS", "creme brule naiv resum");
    check("snake_case kebab-case a.b/c", "snake case kebab case a b c");
    check("v2 x86 2024", "v2 x86 2024");
    check("", "");
    check(" \t\n…—!", "");
}

#[test]
fn apostrophes_join_and_possessives_fall() {
    check("don't", "dont");
    check("don’t O'Neill", "dont oneil");
    check("John's JOHN'S James’s James'", "john john jame jame");
    check("'quoted' rock'n'roll ''", "quot rocknrol");
    check("café's", "cafe");
}

#[test]
fn compatibility_forms_are_plain_letters() {
    check("ﬁle Ｗｉｄｅ ①② ½ x²", "file wide 12 1 2 x2");
    check("Loci™ 5㎏ ℃", "loci tm 5 kg c");
    check("co\u{AD}operate 1\u{FE0F}\u{20E3}", "cooper 1");
    check("ΟΔΟΣ οδός", "οδοσ οδοσ");
    check("İstanbul STRASSE Straße", "istanbul strass straße");
}

#[test]
fn marks_people_leave_out_are_left_out() {
    check("שָׁלוֹם", "שלום");
    check("مُحَمَّد", "محمد");
    check("e\u{301}te\u{301}", "ete");
    check("हिन्दी", "हिन्दी");
}

#[test]
fn dense_scripts_become_characters_and_pairs() {
    check("日本語", "日 日本 本 本語 語");
    asks("日本語", &["日本", "本語"]);
    asks("日", &["日"]);
    check("日本語abc2024年", "日 日本 本 本語 語 abc2024 年");
    asks("ﾃﾞｰﾀ", &["デー", "ータ"]);
    asks("データ", &["デー", "ータ"]);
    asks("한국어", &["한국", "국어"]);
    asks("각", &["각"]);
    asks("ภาษาไทย", &["ภา", "าษ", "ษา", "าไ", "ไท", "ทย"]);
    asks("นี้ก็", &["นี้ก็"]);
    asks("ພາສາ", &["ພາ", "າສ", "ສາ"]);
    asks("မြန်မာ", &["မြန်", "န်မာ"]);
    asks("ខ្មែរ", &["ខ្មែ", "មែរ"]);
    asks("𠀀𠀁", &["𠀀𠀁"]);
    check("한글 ｶﾞ が", "한 한글 글 ガ が");
    assert_eq!(
        join_index_tokens("한글"),
        join_index_tokens("\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}")
    );
    assert_eq!(join_index_tokens("が"), join_index_tokens("か\u{3099}"));
}

#[test]
fn a_query_asks_for_each_token_once() {
    asks("run running runs walk", &["run", "walk"]);
    asks("", &[]);
}

#[test]
fn long_words_are_cut_alike_in_texts_and_queries() {
    let long = "a".repeat(70);
    check(&long, &long[..64]);
    asks(&long, &[&long[..64]]);
    let wide = "ж".repeat(70);
    check(&wide, &wide[..64]);
}

proptest! {
    #[test]
    fn only_token_characters_survive(text in "\\PC{0,60}|(?s).{0,60}|[a-zA-Z'’ .]{0,80}|[가-힣ｦ-ﾟ一-丂ก-๙ a'’]{0,30}") {
        let indexed = join_index_tokens(&text);
        let words: Vec<&str> = indexed.split(' ').filter(|word| !word.is_empty()).collect();
        prop_assert_eq!(words.join(" "), indexed.as_str());
        for character in indexed.chars() {
            prop_assert!(
                character == ' ' || character.is_ascii_lowercase() || character.is_ascii_digit()
                    || (!character.is_ascii() && !character.is_whitespace() && !character.is_control()),
                "{:?}", character
            );
        }
        prop_assert!(words.iter().all(|word| word.len() <= LONGEST));
        for token in query_tokens(&text) {
            prop_assert!(words.contains(&token.as_str()), "{} is not indexed", token);
        }
    }

    #[test]
    fn every_word_of_letters_has_a_stem(word in "[a-z]{1,64}") {
        prop_assert!(!join_index_tokens(&word).is_empty());
    }
}
