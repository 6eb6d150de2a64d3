//! Words beyond ASCII letters: normalised as the reference does, then cut at spaces and punctuation.

use unicode_normalization::UnicodeNormalization;

use super::properties::{is_cjk, is_dropped, is_mark, is_punctuation};

/// Writes the normal form of `text` into `normal`, replacing its contents.
///
/// The reference decomposes by an older Unicode version. The characters affected occur in no entry, so their words
/// are unknown either way.
pub(super) fn normalise_text(text: &str, normal: &mut String) {
    normal.clear();
    let marks_gone = text
        .chars()
        .flat_map(clean_character)
        .flatten()
        .nfd()
        .filter(|character| !is_mark(*character));
    // Accents go before case, in the order of the reference: the ids must match it exactly.
    normal.extend(marks_gone.flat_map(char::to_lowercase));
}

/// Returns a character as cleaned: nothing, a space, or itself, between spaces if it is CJK.
fn clean_character(character: char) -> [Option<char>; 3] {
    match character {
        _ if is_dropped(character) => [None; 3],
        _ if character.is_whitespace() => [Some(' '), None, None],
        _ if is_cjk(character) => [Some(' '), Some(character), Some(' ')],
        _ => [Some(character), None, None],
    }
}

/// Calls `each` with every word of a normal form: punctuation by itself, the rest up to the next space.
pub(super) fn for_each_word(normal: &str, mut each: impl FnMut(&str)) {
    let mut begin = 0;
    let mut give = |range| match normal.get(range) {
        None | Some("") => {}
        Some(word) => each(word),
    };
    for (at, character) in normal.char_indices() {
        let after = at + character.len_utf8();
        if character == ' ' {
            give(begin..at);
            begin = after;
        } else if is_punctuation(character) {
            give(begin..at);
            give(at..after);
            begin = after;
        }
    }
    give(begin..normal.len());
}
