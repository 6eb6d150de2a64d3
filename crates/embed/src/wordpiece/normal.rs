//! Words with more in them than ASCII letters: normalised as the reference does, then cut at spaces and punctuation.

use unicode_normalization::UnicodeNormalization;

use super::properties::{is_cjk, is_dropped, is_mark, is_punctuation};

/// Writes the normal form of `text` into `normal`, in place of what was there.
///
/// The reference decomposes by an older Unicode. The characters this makes a difference for are in no entry, so
/// that their words are unknown either way.
pub(super) fn normalise(text: &str, normal: &mut String) {
    normal.clear();
    let marks_gone = text
        .chars()
        .flat_map(cleaned)
        .flatten()
        .nfd()
        .filter(|character| !is_mark(*character));
    normal.extend(marks_gone.flat_map(char::to_lowercase));
}

/// What is left of a character: nothing, a space, or itself, between spaces if it is CJK.
fn cleaned(character: char) -> [Option<char>; 3] {
    match character {
        _ if is_dropped(character) => [None; 3],
        _ if character.is_whitespace() => [Some(' '), None, None],
        _ if is_cjk(character) => [Some(' '), Some(character), Some(' ')],
        _ => [Some(character), None, None],
    }
}

/// Gives each word of a normal form: punctuation by itself, the rest up to the next space.
pub(super) fn words(normal: &str, mut each: impl FnMut(&str)) {
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
