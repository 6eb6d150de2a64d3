//! Ids to try when the ones that come next cannot be read: near ones first, then farther and farther.

use loci_core::DrawerId;

/// How many characters of an id are varied; ids that agree in more are skipped together.
const DEPTH: usize = 40;
/// How often the distance doubles until it spans every character.
const DOUBLINGS: u32 = 21;

/// Ids after `after` in ascending order, at growing distances.
pub(super) fn ahead(after: &str) -> Vec<DrawerId> {
    let mut ids = Vec::new();
    let chars: Vec<char> = after.chars().take(DEPTH).collect();
    for kept in (0..=chars.len()).rev() {
        let prefix: String = chars.iter().take(kept).collect();
        // What goes on after the whole text starts below the first character.
        let from = chars.get(kept).map_or(-1, |c| i64::from(u32::from(*c)));
        for step in 0..DOUBLINGS {
            ids.extend(with_code(&prefix, from + (1 << step)));
        }
    }
    // Of an id longer than what is varied, the first tries may lie before it.
    ids.retain(|id| id.as_str() > after);
    ids
}

/// `prefix` and the character of a code, if that is a character and the whole an id.
fn with_code(prefix: &str, code: i64) -> Option<DrawerId> {
    let c = char::from_u32(u32::try_from(code).ok()?)?;
    DrawerId::new(format!("{prefix}{c}")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_lies_ahead_is_ascending_and_reaches_everything() {
        let long = "x".repeat(1024);
        for after in [
            "",
            "a",
            &long,
            "82df3195ae100ee2",
            "抽屉",
            "\u{10ffff}",
            "z\u{d7ff}",
        ] {
            let ids = ahead(after);
            assert!(ids.is_sorted(), "{after}");
            assert!(ids.iter().all(|id| id.as_str() > after), "{after}");
        }
        assert!(ahead("82df").iter().any(|id| id.as_str() == "83"));
        assert!(ahead(&long).len() > 100);
    }
}
