//! Why a source was not filed.

use loci_core::Error;
use loci_mine::SourceTrouble;
use loci_mine::decode::NotText;
use loci_mine::stat::ReadFailure;

use super::stamp::Stamp;

/// Why a source was not filed.
#[derive(Debug)]
pub(crate) enum MineTrouble {
    /// It is not a source.
    Skip(String),
    /// It is wrong in itself.
    Source(String),
    /// Nothing can be filed any more.
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
    /// What reading a source that was filed with this stamp before ran into.
    pub(crate) fn of_reading(trouble: SourceTrouble<Self>, before: Option<&Stamp>) -> Self {
        match trouble {
            SourceTrouble::NotText(cause) => Self::Skip(describe(cause, before)),
            SourceTrouble::Unreadable(why) => Self::Source(why),
            SourceTrouble::Refused(trouble) => trouble,
        }
    }
}

fn describe(cause: NotText, before: Option<&Stamp>) -> String {
    let mut reason = match cause {
        NotText::Empty => "empty".to_owned(),
        NotText::Binary(kind) => kind.to_string(),
    };
    if before.is_some_and(|before| before.drawers > 0) {
        reason.push_str("; what was filed of it before is kept");
    }
    reason
}
