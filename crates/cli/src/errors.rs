//! The end of a command: its exit status, and its error for people or as JSON.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write as _};

use loci_core::{Error, ErrorKind, PalaceFinding};
use loci_engine::view::ScopeNote;
use schemars::JsonSchema;
use serde::Serialize;

use crate::page::TextPage;

/// The exit status of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum ExitStatus {
    /// Done, or found.
    Done = 0,
    /// Nothing found, or findings.
    Nothing = 1,
    /// Trouble.
    Trouble = 2,
}

impl ExitStatus {
    /// Done if something was found.
    pub(crate) fn from_found(something: bool) -> Self {
        if something { Self::Done } else { Self::Nothing }
    }

    /// Done, unless no drawer has a name that was asked for.
    pub(crate) fn of_warnings(warnings: &[PalaceFinding]) -> Self {
        Self::from_found(!warnings.iter().any(ScopeNote::is_unknown_name_warning))
    }
}

/// The reason a command stopped early.
#[derive(Debug)]
pub(crate) enum CommandStop {
    /// An error.
    Failed(Error),
    /// The reader of its output closed the pipe, as `head` does.
    PipeClosed,
}

impl From<Error> for CommandStop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// The result of a command or of a part of one.
pub(crate) type CommandResult<T = ExitStatus> = Result<T, CommandStop>;

/// The exit status of each kind of error.
const EXITS: [(ErrorKind, ExitStatus); ErrorKind::ALL.len()] = [
    (ErrorKind::Invalid, ExitStatus::Trouble),
    (ErrorKind::NotFound, ExitStatus::Trouble),
    (ErrorKind::Closed, ExitStatus::Trouble),
    (ErrorKind::Unsupported, ExitStatus::Trouble),
    (ErrorKind::UnsupportedFilter, ExitStatus::Trouble),
    (ErrorKind::DimensionMismatch, ExitStatus::Trouble),
    (ErrorKind::IdentityMismatch, ExitStatus::Trouble),
    (ErrorKind::Conflict, ExitStatus::Trouble),
    (ErrorKind::Locked, ExitStatus::Trouble),
    (ErrorKind::Format, ExitStatus::Trouble),
    (ErrorKind::Corrupt, ExitStatus::Trouble),
    (ErrorKind::Poisoned, ExitStatus::Trouble),
    (ErrorKind::Io, ExitStatus::Trouble),
    (ErrorKind::Unavailable, ExitStatus::Trouble),
    (ErrorKind::TimedOut, ExitStatus::Trouble),
    (ErrorKind::Internal, ExitStatus::Trouble),
];

/// Returns the exit status of an error of this kind.
pub(crate) fn exit_status(kind: ErrorKind) -> ExitStatus {
    let row = EXITS.iter().find(|(known, _)| *known == kind);
    row.map_or(ExitStatus::Trouble, |(_, exit)| *exit)
}

/// An error as scripts see it.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ErrorDocument {
    /// The error.
    error: ErrorFields,
}

/// The parts of an error.
#[derive(Debug, Serialize, JsonSchema)]
struct ErrorFields {
    /// The names and values of the things it is about.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    context: BTreeMap<&'static str, String>,
    /// The next thing to do.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    /// The kind, by which scripts tell errors apart.
    kind: &'static str,
    /// The error as a sentence.
    message: String,
}

/// Renders an error for scripts.
pub(crate) fn to_json(error: &Error) -> String {
    let context = error.context().iter();
    let document = ErrorDocument {
        error: ErrorFields {
            context: context.map(|(key, value)| (*key, value.clone())).collect(),
            hint: error.hint_text().map(str::to_owned),
            kind: error.kind().name(),
            message: error.to_string(),
        },
    };
    serde_json::to_string(&document).expect("strings can be written as JSON")
}

/// Renders an error for people.
pub(crate) fn to_page(error: &Error, page: &mut TextPage) {
    page.red("error:").plain(" ").plain(&error.to_string()).end();
    if let Some(hint) = error.hint_text() {
        page.yellow("hint:").plain(" ").plain(hint).end();
    }
}

/// The error of a file operation; `doing` names the operation and the file.
pub(crate) fn io_error(doing: impl Into<String>, cause: io::Error) -> Error {
    // Scripts tell a missing file from a failing disk by the kind.
    let kind = match cause.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, doing).caused_by(cause)
}

/// Prints the error for invalid arguments, or the help that was asked for.
pub(crate) fn refuse_arguments(error: &clap::Error, words: &[OsString], json: bool) -> ExitStatus {
    if !error.use_stderr() {
        // Help was asked for; a reader that closes early has seen enough of it.
        return match error.print() {
            Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => ExitStatus::Trouble,
            _ => ExitStatus::Done,
        };
    }
    let not_utf8 = (error.kind() == clap::error::ErrorKind::InvalidUtf8).then(|| refuse_bytes(words));
    if json {
        let answer = to_json(&not_utf8.unwrap_or_else(|| convert_clap_error(error)));
        // If standard output is gone there is nowhere left to report that.
        let _ = writeln!(io::stdout(), "{answer}");
    } else {
        // Arguments may hold control characters, which the page escapes; clap prints them as they are.
        let mut page = TextPage::new(false);
        match not_utf8 {
            Some(error) => to_page(&error, &mut page),
            None => {
                page.block("", error.render().to_string().trim_end());
            }
        }
        let _ = io::stderr().write_all(page.as_str().as_bytes());
    }
    ExitStatus::Trouble
}

/// The error of an argument that must be text and is not; clap does not name it.
fn refuse_bytes(words: &[OsString]) -> Error {
    let word = words.iter().find(|word| word.to_str().is_none());
    let word = word.map(|word| format!(" {word:?}")).unwrap_or_default();
    Error::invalid(format!("the argument{word} is not valid UTF-8"))
        .with_hint("nothing was done; only paths may contain bytes that are not UTF-8")
}

/// Splits the text that clap renders into a message and a hint: its paragraphs are the error, tips and usage.
fn convert_clap_error(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let mut parts = text.trim().split("\n\n").map(str::trim);
    let message = parts.next().unwrap_or_default();
    let message = message
        .strip_prefix("error: ")
        .unwrap_or(message)
        .replace('\n', " ");
    let hint = parts.collect::<Vec<_>>().join("; ").replace('\n', " ");
    if hint.is_empty() {
        Error::invalid(message)
    } else {
        Error::invalid(message).with_hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_has_one_exit_status() {
        for kind in ErrorKind::ALL {
            let rows = EXITS.iter().filter(|(known, _)| *known == kind);
            assert_eq!(rows.count(), 1, "{kind}");
            assert_ne!(exit_status(kind) as u8, 0, "{kind}");
        }
    }

    #[test]
    fn an_error_in_json_has_its_kind_message_hint_and_context() {
        let error = Error::invalid("no")
            .with_hint("do")
            .with_context("id", "x")
            .caused_by("because");
        assert_eq!(
            to_json(&error),
            r#"{"error":{"context":{"id":"x"},"hint":"do","kind":"invalid","message":"no: because"}}"#
        );
        assert_eq!(
            to_json(&Error::invalid("no")),
            r#"{"error":{"kind":"invalid","message":"no"}}"#
        );
    }

    #[test]
    fn an_error_in_words_is_escaped() {
        let mut page = TextPage::new(false);
        to_page(
            &Error::invalid("bad \u{1b}[2J").with_hint("try \u{202e}"),
            &mut page,
        );
        assert_eq!(page.as_str(), "error: bad \\u{1b}[2J\nhint: try \\u{202e}\n");
    }
}
