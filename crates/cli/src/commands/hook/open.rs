//! Failing open: a call of `loci hook` whose arguments cannot be read must stop no harness.

use std::ffi::OsString;

use loci_engine::spool::Spool;
use serde_json::json;

use crate::environment::{Environment, now};
use crate::errors::Exit;

/// Global options that take the next word.
const WITH_VALUE: [&str; 3] = ["--palace", "--collection", "--color"];

/// Whether the first word that is no global option is `hook`.
pub(crate) fn is_hook(words: &[OsString]) -> bool {
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

/// Answers arguments that could not be read as if nothing were to be said, and notes what is wrong with them.
pub(crate) fn fail_open(error: &clap::Error, environment: &Environment) -> Exit {
    if let Some(data) = &environment.data {
        let text = error.render().to_string();
        Spool::at(data.join("loci").join("spool")).note(now(), text.trim());
    }
    super::say(&json!({}));
    Exit::Done
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
