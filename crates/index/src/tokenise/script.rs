//! Classes of characters, by whether their script is written without spaces.

use unicode_normalization::char::is_combining_mark;

/// The effect of a folded character on the word around it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScriptClass {
    /// A letter or digit of a script that puts spaces between words.
    Spaced,
    /// A character of a script without such spaces.
    Dense,
    /// A mark that stays with the character before it.
    Mark,
    /// Anything else: it separates.
    Separator,
}

impl ScriptClass {
    /// Classifies a folded character.
    pub(super) fn classify(character: char) -> Self {
        // In the order of how common they are: the tables of Unicode properties are consulted last.
        if character.is_ascii_alphanumeric() {
            Self::Spaced
        } else if is_settled(character) {
            Self::Dense
        } else if is_combining_mark(character) {
            Self::Mark
        } else if !character.is_alphanumeric() {
            Self::Separator
        } else if is_dense(character) {
            Self::Dense
        } else {
            Self::Spaced
        }
    }
}

/// Reports whether a character is dense and folds to itself, as most of Han, kana and Hangul do.
pub(super) fn is_settled(character: char) -> bool {
    matches!(character,
        '\u{3041}'..='\u{3096}' | '\u{30A1}'..='\u{30FA}' | '\u{30FC}' | '\u{4E00}'..='\u{9FFF}'
        | '\u{AC00}'..='\u{D7A3}')
}

fn is_dense(character: char) -> bool {
    match character {
        '\0'..='\u{0DFF}' => false,
        // Thai and Lao; Myanmar; Khmer.
        '\u{0E00}'..='\u{0EFF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17FF}' => true,
        '\u{A9E0}'..='\u{A9FF}' | '\u{AA60}'..='\u{AA7F}' => true,
        // Hangul letters and syllables.
        '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97F}' | '\u{AC00}'..='\u{D7FF}' => true,
        // Radicals, kana, bopomofo, compatibility letters, Han.
        '\u{2E80}'..='\u{2FDF}' | '\u{3005}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' => true,
        // Kana supplements; the planes of Han.
        '\u{1AFF0}'..='\u{1B16F}' | '\u{20000}'..='\u{3FFFF}' => true,
        _ => false,
    }
}
