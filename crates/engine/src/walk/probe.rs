//! Ids to try when the next ones cannot be read: near ones first, then at growing distances.

use loci_core::DrawerId;

/// The number of leading characters that are varied; ids that share more than these are skipped together.
const DEPTH: usize = 40;
/// The number of doublings after which the distance spans every character.
const DOUBLINGS: u32 = 21;

/// Returns ids after `after` in ascending order, at growing distances.
pub(super) fn ids_ahead(after: &str) -> Vec<DrawerId> {
    let mut ids = Vec::new();
    let chars: Vec<char> = after.chars().take(DEPTH).collect();
    for kept in (0..=chars.len()).rev() {
        let prefix: String = chars.iter().take(kept).collect();
        // A longer id begins with any character after the whole text, so it starts below the first one.
        let from = chars.get(kept).map_or(-1, |c| i64::from(u32::from(*c)));
        for step in 0..DOUBLINGS {
            ids.extend(with_code(&prefix, from + (1 << step)));
        }
    }
    // If the id is longer than the varied part, the first tries may lie before it.
    ids.retain(|id| id.as_str() > after);
    ids
}

/// Returns `prefix` followed by the character with this code, if both the character and the id are valid.
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
            let ids = ids_ahead(after);
            assert!(ids.is_sorted(), "{after}");
            assert!(ids.iter().all(|id| id.as_str() > after), "{after}");
        }
        assert!(ids_ahead("82df").iter().any(|id| id.as_str() == "83"));
        assert!(ids_ahead(&long).len() > 100);
    }
}
