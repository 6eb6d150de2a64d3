//! How a command ends: its exit status, and errors in words or JSON.

use std::io::{self, Write as _};

use loci_core::{Error, ErrorKind, Finding};
use loci_engine::view::ScopeNote;
use serde_json::{Map, Value as Json, json};

use crate::page::Page;

/// How a command ended, as the shell sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// Done, or found.
    Done = 0,
    /// Nothing found, or findings.
    Nothing = 1,
    /// Trouble.
    Trouble = 2,
}

impl Exit {
    /// Done if something was found.
    pub(crate) fn found(something: bool) -> Self {
        match something {
            true => Self::Done,
            false => Self::Nothing,
        }
    }

    /// Done, unless no drawer has a name that was asked for.
    pub(crate) fn of_warnings(warnings: &[Finding]) -> Self {
        Self::found(!warnings.iter().any(ScopeNote::is_told_by))
    }
}

/// Why a command stopped early.
#[derive(Debug)]
pub(crate) enum Stop {
    /// It failed.
    Failed(Error),
    /// Whoever read its output has seen enough.
    PipeClosed,
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

/// What a command returns.
pub(crate) type Done<T = Exit> = Result<T, Stop>;

/// The one table from kinds of errors to exit statuses.
const EXITS: [(ErrorKind, Exit); ErrorKind::ALL.len()] = [
    (ErrorKind::Invalid, Exit::Trouble),
    (ErrorKind::NotFound, Exit::Trouble),
    (ErrorKind::Closed, Exit::Trouble),
    (ErrorKind::Unsupported, Exit::Trouble),
    (ErrorKind::UnsupportedFilter, Exit::Trouble),
    (ErrorKind::DimensionMismatch, Exit::Trouble),
    (ErrorKind::IdentityMismatch, Exit::Trouble),
    (ErrorKind::Conflict, Exit::Trouble),
    (ErrorKind::Locked, Exit::Trouble),
    (ErrorKind::Format, Exit::Trouble),
    (ErrorKind::Corrupt, Exit::Trouble),
    (ErrorKind::Poisoned, Exit::Trouble),
    (ErrorKind::Io, Exit::Trouble),
    (ErrorKind::Unavailable, Exit::Trouble),
    (ErrorKind::TimedOut, Exit::Trouble),
    (ErrorKind::Internal, Exit::Trouble),
];

/// The exit status of an error of this kind.
pub(crate) fn exit_of(kind: ErrorKind) -> Exit {
    let row = EXITS.iter().find(|(known, _)| *known == kind);
    row.map_or(Exit::Trouble, |(_, exit)| *exit)
}

/// An error as scripts see it.
pub(crate) fn to_json(error: &Error) -> Json {
    let mut fields = Map::new();
    fields.insert("kind".into(), error.kind().name().into());
    fields.insert("message".into(), error.to_string().into());
    if let Some(hint) = error.hint_text() {
        fields.insert("hint".into(), hint.into());
    }
    if !error.context().is_empty() {
        let pairs = error.context().iter();
        let context: Map<String, Json> = pairs
            .map(|(key, value)| ((*key).to_owned(), value.as_str().into()))
            .collect();
        fields.insert("context".into(), context.into());
    }
    json!({ "error": fields })
}

/// An error as people see it.
pub(crate) fn to_page(error: &Error, page: &mut Page) {
    page.red("error:").plain(" ").plain(&error.to_string()).end();
    if let Some(hint) = error.hint_text() {
        page.yellow("hint:").plain(" ").plain(hint).end();
    }
}

/// The error of a file operation, naming what was being done.
pub(crate) fn io(doing: impl Into<String>, cause: io::Error) -> Error {
    let kind = match cause.kind() {
        io::ErrorKind::NotFound => ErrorKind::NotFound,
        _ => ErrorKind::Io,
    };
    Error::new(kind, doing).caused_by(cause)
}

/// Answers arguments that could not be read, and requests for help.
pub(crate) fn refuse_arguments(error: &clap::Error, json: bool) -> Exit {
    if !error.use_stderr() {
        // Help was asked for; a reader that closes early has seen enough of it.
        return match error.print() {
            Err(cause) if cause.kind() != io::ErrorKind::BrokenPipe => Exit::Trouble,
            _ => Exit::Done,
        };
    }
    if json {
        let answer = to_json(&in_core_words(error));
        // Nobody is left to be told when this cannot be written.
        let _ = writeln!(io::stdout(), "{answer}");
    } else {
        let mut page = Page::new(false);
        page.block("", error.render().to_string().trim_end());
        let _ = io::stderr().write_all(page.as_str().as_bytes());
    }
    Exit::Trouble
}

fn in_core_words(error: &clap::Error) -> Error {
    let text = error.render().to_string();
    let mut parts = text.trim().split("\n\n").map(str::trim);
    let message = parts.next().unwrap_or_default();
    let message = message
        .strip_prefix("error: ")
        .unwrap_or(message)
        .replace('\n', " ");
    let hint = parts.collect::<Vec<_>>().join("; ").replace('\n', " ");
    match hint.is_empty() {
        true => Error::invalid(message),
        false => Error::invalid(message).hint(hint),
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
            assert_ne!(exit_of(kind) as u8, 0, "{kind}");
        }
    }

    #[test]
    fn an_error_in_json_has_its_kind_message_hint_and_context() {
        let error = Error::invalid("no")
            .hint("do")
            .with("id", "x")
            .caused_by("because");
        assert_eq!(
            to_json(&error).to_string(),
            r#"{"error":{"context":{"id":"x"},"hint":"do","kind":"invalid","message":"no: because"}}"#
        );
        assert_eq!(
            to_json(&Error::invalid("no")).to_string(),
            r#"{"error":{"kind":"invalid","message":"no"}}"#
        );
    }

    #[test]
    fn an_error_in_words_is_escaped() {
        let mut page = Page::new(false);
        to_page(&Error::invalid("bad \u{1b}[2J").hint("try \u{202e}"), &mut page);
        assert_eq!(page.as_str(), "error: bad \\u{1b}[2J\nhint: try \\u{202e}\n");
    }
}
