//! Invisible characters: they render as nothing, or change how the text around them renders.

/// Returns whether a character is invisible. Control characters are not included, since callers treat them
/// differently: a terminal escapes them, a line of a wake-up turns them into spaces, and line breaks are visible.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        // Directional marks, embeddings, overrides and isolates, which reorder text.
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
        // Line and paragraph separators.
        | '\u{2028}' | '\u{2029}'
        // Zero-width characters, annotation marks and tags, which render as nothing.
        | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_reorders_or_hides_is_invisible_and_what_joins_letters_is_not() {
        for c in "\u{202e}\u{2066}\u{200b}\u{feff}\u{2028}\u{2065}\u{e0041}".chars() {
            assert!(is_invisible(c), "{c:?}");
        }
        // Joiners and variation selectors make signs of their neighbours.
        for c in "a \n\t\u{1b}抽é\u{301}\u{200c}\u{200d}\u{fe0f}".chars() {
            assert!(!is_invisible(c), "{c:?}");
        }
    }
}
