//! Command lines as tools hand them to a shell: how ours are written, and how they are recognised again.

/// Options that take their value as the next word.
const WITH_VALUE: [&str; 3] = ["--palace", "--collection", "--color"];
/// The harnesses `loci hook` knows.
const HARNESSES: [&str; 4] = ["claude-code", "codex", "gemini", "cursor"];
/// Words that join one command to another.
const JOINS: [&str; 4] = ["&&", "||", "|", "&"];

/// The line a shell of this platform takes apart into `words`.
pub(super) fn written(words: &[String]) -> String {
    let quote = if cfg!(windows) { for_windows } else { for_posix };
    let words: Vec<String> = words.iter().map(|word| quote(word)).collect();
    words.join(" ")
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "_/.,:=@%+-".contains(c)
}

fn for_posix(word: &str) -> String {
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// Tools run hooks in Git's shell, in cmd or in PowerShell. All three take a path with forward slashes.
fn for_windows(word: &str) -> String {
    let word = word.replace('\\', "/");
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word,
        false => format!("\"{word}\""),
    }
}

/// Whether a line runs `loci hook` and nothing else, however it was changed since.
pub(super) fn is_ours(line: &str) -> bool {
    let words = words(line);
    let mut words = words.as_slice();
    if let [rest @ .., or, truth] = words
        && or == "||"
        && truth == "true"
    {
        words = rest;
    }
    let joins = |word: &String| JOINS.contains(&word.as_str()) || word.ends_with(';');
    if words.iter().any(joins) {
        return false;
    }
    let mut words = words.iter().skip_while(|word| is_setting(word));
    words.next().is_some_and(|program| is_program(program)) && asks_for_hook(words)
}

/// Whether a word sets a variable for the command behind it.
fn is_setting(word: &str) -> bool {
    let name = word.split_once('=').map_or("", |(name, _)| name);
    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a program is one of ours by its name: `loci`, `loci.exe`, `loci-0.2`.
pub(super) fn is_program(word: &str) -> bool {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.get(..4)
        .is_some_and(|name| name.eq_ignore_ascii_case("loci"))
}

fn asks_for_hook<'a>(mut words: impl Iterator<Item = &'a String>) -> bool {
    while let Some(word) = words.next() {
        if WITH_VALUE.contains(&word.as_str()) {
            words.next();
        } else if !word.starts_with('-') {
            let harness = words.next();
            return word == "hook" && harness.is_some_and(|word| HARNESSES.contains(&word.as_str()));
        }
    }
    false
}

/// The words of a line, without quotes. Backslashes stay as they are outside of `'\''`: they part folders.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
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
            assert_eq!(for_posix(word), posix);
        }
        assert_eq!(for_windows(r"C:\bin\loci.exe"), "C:/bin/loci.exe");
        assert_eq!(
            for_windows(r"C:\Program Files\loci.exe"),
            "\"C:/Program Files/loci.exe\""
        );
    }

    #[test]
    fn a_line_is_taken_apart_as_it_was_put_together() {
        let given: Vec<String> = ["/a b/it's/loci", "hook", "x \"y\"", "\\", ""]
            .map(str::to_owned)
            .into();
        let line: Vec<String> = given.iter().map(|word| for_posix(word)).collect();
        assert_eq!(words(&line.join(" ")), given);
    }

    #[test]
    fn our_lines_are_recognised_however_they_were_changed() {
        for line in [
            "loci hook claude-code Stop",
            "/usr/local/bin/loci hook claude-code Stop --recall",
            "'/my tools/loci' hook cursor stop",
            r#""C:/Program Files/loci.exe" hook codex Stop"#,
            r"C:\bin\LOCI.EXE hook codex Stop",
            "/opt/loci-0.2 hook codex Stop",
            "LOCI_PALACE=/x loci --palace '/a b' --quiet hook gemini AfterAgent 2>/dev/null || true",
        ] {
            assert!(is_ours(line), "{line}");
        }
    }

    #[test]
    fn lines_of_others_are_left_alone() {
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
            assert!(!is_ours(line), "{line}");
        }
    }
}
