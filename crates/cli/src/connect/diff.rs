//! What would change in a file, as a unified diff.

use similar::TextDiff;

/// Lines around a change.
const AROUND: usize = 3;

/// The difference between two states of the file called `name`; a file that is not there is `None`.
pub(super) fn unified(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    let called = |text: Option<&str>| text.map_or("/dev/null", |_| name);
    let (old, new) = (called(before), called(after));
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .context_radius(AROUND)
        .header(old, new)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_shown() {
        assert_eq!(unified("f", Some("a\n"), Some("a\n")), "");
        assert_eq!(
            unified("f", None, Some("a\n")),
            "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n"
        );
        let shown = unified("f", Some("1\n2\n3\n4\n5\n"), Some("1\n2\n3\n4\nfive"));
        assert_eq!(
            shown,
            "--- f\n+++ f\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+five\n\\ No newline at end of file\n"
        );
    }
}
