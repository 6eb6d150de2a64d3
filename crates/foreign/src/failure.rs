//! The reasons why a database of another program cannot be opened.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind};
use rusqlite::ErrorCode;

/// The reason why a database of another program could not be opened. Nothing was changed.
#[derive(Debug)]
pub enum ForeignFailure {
    /// The file system refused to do this to this file.
    Io(&'static str, PathBuf, io::Error),
    /// SQLite refused the file.
    Sqlite(rusqlite::Error),
    /// The file changed each time it was copied.
    Changing(PathBuf),
}

impl ForeignFailure {
    /// Converts the failure into an error about the database `path`.
    pub fn into_error(self, path: &Path) -> Error {
        let name = path.display();
        match self {
            Self::Changing(_) => Error::new(ErrorKind::Locked, self.to_string())
                .with_hint("nothing was changed; close the program that writes to it and try again"),
            Self::Io(action, file, cause) => {
                let kind = match cause.kind() {
                    io::ErrorKind::NotFound => ErrorKind::NotFound,
                    _ => ErrorKind::Io,
                };
                let message = format!("cannot {action} {}: {cause}", file.display());
                Error::new(kind, message)
                    .caused_by(cause)
                    .with_hint("nothing was changed")
            }
            Self::Sqlite(cause) => {
                let kind = match cause.sqlite_error_code() {
                    Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => ErrorKind::Corrupt,
                    Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => ErrorKind::Locked,
                    _ => ErrorKind::Io,
                };
                Error::new(kind, format!("cannot read the database {name}: {cause}"))
                    .caused_by(cause)
                    .with_hint("nothing was changed")
            }
        }
    }

    /// Returns whether another process holds or changes the file, so that a retry may succeed.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Changing(_) => true,
            Self::Io(..) => false,
            Self::Sqlite(cause) => matches!(
                cause.sqlite_error_code(),
                Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)
            ),
        }
    }
}

impl fmt::Display for ForeignFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(action, path, cause) => write!(f, "cannot {action} {}: {cause}", path.display()),
            Self::Sqlite(cause) => cause.fmt(f),
            Self::Changing(path) => write!(
                f,
                "{} is being written to and could not be copied whole",
                path.display()
            ),
        }
    }
}

impl std::error::Error for ForeignFailure {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(_, _, cause) => Some(cause),
            Self::Sqlite(cause) => Some(cause),
            Self::Changing(_) => None,
        }
    }
}

impl From<rusqlite::Error> for ForeignFailure {
    fn from(cause: rusqlite::Error) -> Self {
        Self::Sqlite(cause)
    }
}
