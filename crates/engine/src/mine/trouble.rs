//! The reasons a source was not filed.

use loci_core::{Error, ErrorKind};
use loci_mine::SourceTrouble;
use loci_mine::decode::NotTextCause;
use loci_mine::stat::ReadFailure;

use super::stamp::SourceStamp;

/// The reason a source was not filed.
#[derive(Debug)]
pub(crate) enum MineTrouble {
    /// It is skipped, and listed as such.
    Skip(String),
    /// It failed; other sources are not affected.
    Source(String),
    /// Nothing can be filed any more; the run ends.
    Fatal(Error),
}

impl From<Error> for MineTrouble {
    fn from(error: Error) -> Self {
        Self::Fatal(error)
    }
}

impl From<ReadFailure> for MineTrouble {
    fn from(failure: ReadFailure) -> Self {
        Self::Source(failure.to_string())
    }
}

impl MineTrouble {
    /// Converts the error of a source whose secrets cannot be sealed. It is withheld as a whole.
    pub(crate) fn from_secret(error: Error) -> Self {
        match error.kind() {
            ErrorKind::Invalid => Self::Skip(error.message().to_owned()),
            ErrorKind::Unavailable | ErrorKind::Unsupported => Self::Source(error.to_string()),
            _ => Self::Fatal(error),
        }
    }

    /// Converts the trouble of reading a source whose earlier stamp is `before`.
    pub(crate) fn from_reading(trouble: SourceTrouble<Self>, before: Option<&SourceStamp>) -> Self {
        match trouble {
            SourceTrouble::NotText(cause) => Self::Skip(describe_not_text(cause, before)),
            SourceTrouble::Unreadable(why) => Self::Source(why),
            SourceTrouble::Refused(trouble) => trouble,
        }
    }
}

fn describe_not_text(cause: NotTextCause, before: Option<&SourceStamp>) -> String {
    let mut reason = match cause {
        NotTextCause::Empty => "empty".to_owned(),
        NotTextCause::Binary(kind) => kind.to_string(),
    };
    if before.is_some_and(|before| before.drawers > 0) {
        reason.push_str("; its earlier drawers are kept");
    }
    reason
}
