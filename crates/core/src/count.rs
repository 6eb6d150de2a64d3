//! Numbers of things in messages.

/// Formats a number of things with the right plural: `1 drawer`, `2 drawers`, `0 drawers`.
pub fn format_count(count: u64, noun: &str) -> String {
    // Every noun that messages count takes a plain `s`.
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_is_singular() {
        assert_eq!(format_count(0, "drawer"), "0 drawers");
        assert_eq!(format_count(1, "drawer"), "1 drawer");
        assert_eq!(format_count(2, "drawer"), "2 drawers");
    }
}
