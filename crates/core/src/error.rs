//! The one error type: a kind to branch on, a message that names the thing, and the next step.

use std::fmt;

/// The result of every fallible call.
pub type Result<T> = std::result::Result<T, Error>;

/// The cause behind an [`Error`], kept for logs.
type ErrorCause = Box<dyn std::error::Error + Send + Sync>;

/// The kind of a failure, for callers that branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The request itself is wrong; nothing was written.
    Invalid,
    /// The palace, collection, drawer or file does not exist.
    NotFound,
    /// The backend was closed before this call.
    Closed,
    /// The backend does not advertise the requested ability.
    Unsupported,
    /// A filter uses an operator or shape this backend does not know.
    UnsupportedFilter,
    /// A vector differs in length from the collection's vectors.
    DimensionMismatch,
    /// Vectors of two models would be mixed.
    IdentityMismatch,
    /// The stored state does not allow the request; nothing was changed.
    Conflict,
    /// Another process held the palace longer than the caller was willing to wait.
    Locked,
    /// The file is not a palace, or its version is unknown to this build.
    Format,
    /// Stored bytes are damaged.
    Corrupt,
    /// An earlier commit on this handle failed; reopen before writing again.
    Poisoned,
    /// The operating system refused a file operation.
    Io,
    /// A server or service could not be reached.
    Unavailable,
    /// The time budget of the call was used up; a write that timed out was not applied.
    TimedOut,
    /// An invariant inside Loci was broken; please report it.
    Internal,
}

impl ErrorKind {
    /// Every kind, so that each surface can show that its table is total.
    pub const ALL: [Self; 16] = [
        Self::Invalid,
        Self::NotFound,
        Self::Closed,
        Self::Unsupported,
        Self::UnsupportedFilter,
        Self::DimensionMismatch,
        Self::IdentityMismatch,
        Self::Conflict,
        Self::Locked,
        Self::Format,
        Self::Corrupt,
        Self::Poisoned,
        Self::Io,
        Self::Unavailable,
        Self::TimedOut,
        Self::Internal,
    ];

    /// Returns the name that scripts see.
    pub fn name(self) -> &'static str {
        match self {
            Self::Invalid => "invalid",
            Self::NotFound => "not_found",
            Self::Closed => "closed",
            Self::Unsupported => "unsupported",
            Self::UnsupportedFilter => "unsupported_filter",
            Self::DimensionMismatch => "dimension_mismatch",
            Self::IdentityMismatch => "identity_mismatch",
            Self::Conflict => "conflict",
            Self::Locked => "locked",
            Self::Format => "format",
            Self::Corrupt => "corrupt",
            Self::Poisoned => "poisoned",
            Self::Io => "io",
            Self::Unavailable => "unavailable",
            Self::TimedOut => "timed_out",
            Self::Internal => "internal",
        }
    }
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One failure: its kind, a message that names the affected thing, and the next step.
pub struct Error(Box<ErrorDetails>);

// Boxed: errors are rare, and a `Result` of one pointer keeps every successful call small.
struct ErrorDetails {
    kind: ErrorKind,
    message: String,
    context: Vec<(&'static str, String)>,
    hint: Option<String>,
    cause: Option<ErrorCause>,
}

impl Error {
    /// Creates an error of `kind` whose message names the thing that failed.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(ErrorDetails {
            kind,
            message: message.into(),
            context: Vec::new(),
            hint: None,
            cause: None,
        }))
    }

    /// Creates an error of the commonest kind, `Invalid`.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// Adds one fact: a path, an id, a limit.
    #[must_use]
    pub fn with_context(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.0.context.push((key, value.to_string()));
        self
    }

    /// Adds a hint: what stayed unchanged, or the next command to type.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// Keeps the lower error as the cause.
    #[must_use]
    pub fn caused_by(mut self, cause: impl Into<ErrorCause>) -> Self {
        self.0.cause = Some(cause.into());
        self
    }

    /// Returns the kind to branch on.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the message alone, without context or cause.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// Returns the facts added on the way up.
    pub fn context(&self) -> &[(&'static str, String)] {
        &self.0.context
    }

    /// Returns the hint, if there is one.
    pub fn hint_text(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(cause) = &self.0.cause {
            // Context and hint stay out: each surface shows them in its own way, but the cause belongs to
            // the sentence.
            write!(f, ": {cause}")?;
        }
        Ok(())
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("context", &self.0.context)
            .field("hint", &self.0.hint)
            .field("cause", &self.0.cause)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0
            .cause
            .as_deref()
            .map(|cause| cause as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_kind_has_its_own_name() {
        let names: BTreeSet<_> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn an_error_shows_its_message_and_its_cause() {
        let error = Error::new(ErrorKind::Io, "cannot write palace.db")
            .with_context("path", "x/palace.db")
            .with_hint("free some space")
            .caused_by("no space left");
        assert_eq!(error.to_string(), "cannot write palace.db: no space left");
        assert_eq!(error.hint_text(), Some("free some space"));
        assert_eq!(error.context(), [("path", "x/palace.db".to_owned())]);
        assert!(std::error::Error::source(&error).is_some());
    }
}
