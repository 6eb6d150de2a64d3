//! The change of a file, as a unified diff.

use similar::TextDiff;

/// Unchanged lines shown around a change.
const CONTEXT_LINES: usize = 3;

/// Renders the difference between two texts of the file called `name`; a file that does not exist is `None`.
pub(crate) fn render_diff(name: &str, before: Option<&str>, after: Option<&str>) -> String {
    // As in `git diff`, so that a patch tool creates or removes the file.
    let header = |text: Option<&str>| text.map_or("/dev/null", |_| name);
    let (old, new) = (header(before), header(after));
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .context_radius(CONTEXT_LINES)
        .header(old, new)
        .to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_changes_is_shown() {
        assert_eq!(render_diff("f", Some("a\n"), Some("a\n")), "");
        assert_eq!(
            render_diff("f", None, Some("a\n")),
            "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a\n"
        );
        let shown = render_diff("f", Some("1\n2\n3\n4\n5\n"), Some("1\n2\n3\n4\nfive"));
        assert_eq!(
            shown,
            "--- f\n+++ f\n@@ -2,4 +2,4 @@\n 2\n 3\n 4\n-5\n+five\n\\ No newline at end of file\n"
        );
    }
}
