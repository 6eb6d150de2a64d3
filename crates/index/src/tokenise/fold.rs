//! Folding of spelling variants: case, accents, compatibility forms.

use super::script::is_settled;
use unicode_normalization::UnicodeNormalization;

/// Appends `run` to `folded`: decomposed, stripped of marks, lower-cased, recomposed.
pub(super) fn fold_run(run: &str, folded: &mut String) {
    if run.chars().all(is_settled) {
        folded.push_str(run);
        return;
    }
    let bare = run.chars().filter(|&character| !is_ignored(character)).nfkd();
    let lower = bare
        .filter(|&character| !is_stripped(character))
        .flat_map(char::to_lowercase);
    // Recomposing brings Hangul syllables and voiced kana back into one character each.
    folded.extend(
        lower
            // Greek writes sigma differently at the end of a word; lower-casing alone keeps the two
            // apart.
            .map(|character| if character == 'ς' { 'σ' } else { character })
            .nfc(),
    );
}

/// Reports whether a character is invisible: soft hyphens, joiners, variation selectors.
pub(super) fn is_ignored(character: char) -> bool {
    matches!(character,
        '\u{00AD}' | '\u{034F}' | '\u{200D}' | '\u{2060}' | '\u{FEFF}'
        | '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}')
}

/// Reports whether a decomposed character is a mark that people omit in writing.
fn is_stripped(character: char) -> bool {
    match character {
        // Combining diacritics.
        '\u{0300}'..='\u{036F}' | '\u{1AB0}'..='\u{1AFF}' | '\u{1DC0}'..='\u{1DFF}' => true,
        '\u{20D0}'..='\u{20FF}' | '\u{FE20}'..='\u{FE2F}' => true,
        // Hebrew points and accents.
        '\u{0591}'..='\u{05BD}' | '\u{05BF}' | '\u{05C1}' | '\u{05C2}' => true,
        '\u{05C4}' | '\u{05C5}' | '\u{05C7}' => true,
        // Arabic vowel signs, and the stroke that only stretches a word.
        '\u{0610}'..='\u{061A}' | '\u{0640}' | '\u{064B}'..='\u{065F}' | '\u{0670}' => true,
        '\u{06D6}'..='\u{06DC}' | '\u{06DF}'..='\u{06E4}' => true,
        '\u{06E7}' | '\u{06E8}' | '\u{06EA}'..='\u{06ED}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_settled_folds_to_itself() {
        for character in ('\0'..=char::MAX).filter(|&character| is_settled(character)) {
            // A digit beside it keeps the run from being taken as it is.
            let mut folded = String::new();
            fold_run(&format!("1{character}"), &mut folded);
            assert_eq!(folded, format!("1{character}"));
        }
    }
}
