//! Command lines as tools hand them to a shell: quoting ours, and recognising them again.

/// Options whose value is the next word.
const VALUE_OPTIONS: [&str; 3] = ["--palace", "--collection", "--color"];
/// The harnesses that `loci hook` knows.
const HARNESSES: [&str; 4] = ["claude-code", "codex", "gemini", "cursor"];
/// Words that join one command to another.
const OPERATORS: [&str; 4] = ["&&", "||", "|", "&"];

/// The line that a shell of this platform splits into `words`.
pub(crate) fn quote_line(words: &[String]) -> String {
    let quote = if cfg!(windows) { quote_windows } else { quote_posix };
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

fn needs_quotes(word: &str) -> bool {
    // No tilde: unquoted, a shell would expand it.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_/.,:=@%+-".contains(c);
    word.is_empty() || !word.chars().all(is_plain)
}

fn quote_posix(word: &str) -> String {
    if needs_quotes(word) {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.to_owned()
    }
}

/// Tools run hooks in Git's shell, in cmd or in PowerShell. All three accept a path with forward slashes.
fn quote_windows(word: &str) -> String {
    let word = word.replace('\\', "/");
    if needs_quotes(&word) {
        format!("\"{word}\"")
    } else {
        word
    }
}

/// Whether a line runs `loci hook` and nothing else, also after a user edited it.
pub(crate) fn is_loci_hook(line: &str) -> bool {
    let words = split_words(line);
    let mut words = words.as_slice();
    // Users append `|| true` so that a failing hook never blocks the tool; the line is still ours.
    if let [rest @ .., or, truth] = words
        && or == "||"
        && truth == "true"
    {
        words = rest;
    }
    // A line that does anything else belongs to the user, and an undo must not remove their part of it.
    let is_operator = |word: &String| OPERATORS.contains(&word.as_str()) || word.ends_with(';');
    if words.iter().any(is_operator) {
        return false;
    }
    // Such as `LOCI_PALACE=… loci hook …`.
    let mut words = words.iter().skip_while(|word| is_assignment(word));
    words.next().is_some_and(|program| is_loci_program(program)) && names_hook(words)
}

/// Whether a word sets a variable for the command behind it.
fn is_assignment(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether the file name of a program begins with `loci`: `loci`, `loci.exe`, `loci-0.2`.
pub(crate) fn is_loci_program(word: &str) -> bool {
    // A Windows path may use either separator.
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.get(..4)
        .is_some_and(|name| name.eq_ignore_ascii_case("loci"))
}

fn names_hook<'a>(mut words: impl Iterator<Item = &'a String>) -> bool {
    while let Some(word) = words.next() {
        if VALUE_OPTIONS.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            // The harness must be known as well: `loci hook` alone could be a user's own experiment.
            let harness = words.next();
            return word == "hook" && harness.is_some_and(|word| HARNESSES.contains(&word.as_str()));
        }
    }
    false
}

/// The words of a line, without quotes. Backslashes outside of `'\''` stay: they separate folders on Windows.
fn split_words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    // How a quote inside single quotes is written. NUL cannot occur in a command line, so it is free to stand
    // for it.
    for c in line.replace(r"'\''", "\u{0}").chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, '\u{0}') => word.get_or_insert_default().push('\''),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_spaces_and_quotes_are_quoted() {
        for (word, posix) in [
            ("/usr/bin/loci", "/usr/bin/loci"),
            ("/my tools/loci", "'/my tools/loci'"),
            ("it's $HOME", r"'it'\''s $HOME'"),
            ("~/x", "'~/x'"),
            ("", "''"),
        ] {
            assert_eq!(quote_posix(word), posix);
        }
        assert_eq!(quote_windows(r"C:\bin\loci.exe"), "C:/bin/loci.exe");
        assert_eq!(
            quote_windows(r"C:\Program Files\loci.exe"),
            "\"C:/Program Files/loci.exe\""
        );
    }

    #[test]
    fn a_quoted_line_splits_into_the_same_words() {
        let given: Vec<String> = ["/a b/it's/loci", "hook", "x \"y\"", "\\", ""]
            .map(str::to_owned)
            .into();
        let line: Vec<String> = given.iter().map(|word| quote_posix(word)).collect();
        assert_eq!(split_words(&line.join(" ")), given);
    }

    #[test]
    fn hook_lines_are_recognised_after_edits() {
        for line in [
            "loci hook claude-code Stop",
            "/usr/local/bin/loci hook claude-code Stop --recall",
            "'/my tools/loci' hook cursor stop",
            r#""C:/Program Files/loci.exe" hook codex Stop"#,
            r"C:\bin\LOCI.EXE hook codex Stop",
            "/opt/loci-0.2 hook codex Stop",
            "LOCI_PALACE=/x loci --palace '/a b' --quiet hook gemini AfterAgent 2>/dev/null || true",
        ] {
            assert!(is_loci_hook(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_not_recognised() {
        for line in [
            "",
            "loci",
            "loci search hook",
            "loci hook",
            "loci hook other Stop",
            "velocity hook claude-code Stop",
            "notify done; loci hook claude-code Stop",
            "loci hook claude-code Stop && notify done",
            "loci hook claude-code Stop | tee log",
            "sh -c 'loci hook claude-code Stop'",
            "/usr/bin/loci-hook hook",
            "loci --palace hook",
        ] {
            assert!(!is_loci_hook(line), "{line}");
        }
    }
}
