//! Failing open: a call of `loci hook` with invalid arguments must not stop a harness.

use std::ffi::OsString;

use loci_engine::spool::EventSpool;
use serde_json::json;

use crate::environment::{ProcessEnvironment, now};
use crate::errors::ExitStatus;

/// Global options that take the next word.
const WITH_VALUE: [&str; 3] = ["--palace", "--collection", "--color"];

/// Whether the first word that is not a global option is `hook`.
pub(crate) fn is_hook(words: &[OsString]) -> bool {
    // Clap has refused the words, so they are read once more by hand.
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some(word) if WITH_VALUE.contains(&word) => drop(words.next()),
            Some(word) if word.starts_with('-') => {}
            word => return word == Some("hook"),
        }
    }
    false
}

/// Answers invalid arguments with an empty object, and writes the error to the log.
pub(crate) fn fail_open(error: &clap::Error, environment: &ProcessEnvironment) -> ExitStatus {
    if let Some(data) = &environment.data {
        let text = error.render().to_string();
        EventSpool::at(data.join("loci").join("spool")).log_message(now(), text.trim());
    }
    super::print_answer(&json!({}));
    ExitStatus::Done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hook_is_told_from_other_commands_by_its_first_word() {
        let check = |line: &str, hook: bool| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            assert_eq!(is_hook(&words), hook, "{line}");
        };
        check("loci hook", true);
        check("loci --json hook claude-code Stop --nonsense", true);
        check("loci --palace x --color=never -q hook", true);
        check("loci --palace hook", false);
        check("loci search hook --nonsense", false);
        check("loci", false);
    }
}
