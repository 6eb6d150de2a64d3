//! Errors of the server in the words of the contract.

use loci_core::{CollectionName, Error, ErrorKind, PalaceRef};
use tokio_postgres::error::{DbError, SqlState};

/// Returns the error for a failure that the client or the server reported.
pub(crate) fn postgres_error(cause: tokio_postgres::Error) -> Error {
    match cause.as_db_error() {
        Some(reported) => reported_error(reported),
        None if cause.is_closed() => lost_error(),
        // The connection broke while an answer was awaited, or the answer could not be read.
        None => Error::new(ErrorKind::Unavailable, "the connection to Postgres failed")
            .caused_by(cause.to_string())
            .with_hint("run the command again; acknowledged writes are stored"),
    }
}

/// Returns the error for a connection that was closed.
pub(crate) fn lost_error() -> Error {
    Error::new(ErrorKind::Unavailable, "the connection to Postgres was lost")
        .with_hint("run the command again; acknowledged writes are stored")
}

fn reported_error(reported: &DbError) -> Error {
    let code = reported.code();
    let message = reported.message();
    let error = match code {
        &SqlState::QUERY_CANCELED => return crate::deadline::timed_out_error(),
        &SqlState::LOCK_NOT_AVAILABLE => Error::new(
            ErrorKind::Locked,
            "another process is writing to this palace for longer than this call waits",
        )
        .with_hint("nothing was written; try again"),
        &SqlState::INSUFFICIENT_PRIVILEGE => Error::new(
            ErrorKind::Unsupported,
            // The session adds which right it is.
            message,
        )
        .with_hint("nothing was changed; see docs/postgres.md for the rights that are needed"),
        &SqlState::READ_ONLY_SQL_TRANSACTION => Error::new(
            ErrorKind::Unsupported,
            "this Postgres server accepts no writes: it is a standby, or its transactions are read-only",
        )
        .with_hint(
            "nothing was written; name the primary, or add target_session_attrs=read-write to the URL",
        ),
        &SqlState::T_R_SERIALIZATION_FAILURE | &SqlState::T_R_DEADLOCK_DETECTED => Error::new(
            ErrorKind::Locked,
            format!("another transaction came between: {message}"),
        )
        .with_hint("nothing was written; try again"),
        &SqlState::DISK_FULL | &SqlState::OUT_OF_MEMORY | &SqlState::IO_ERROR => {
            Error::new(ErrorKind::Io, format!("Postgres cannot store more: {message}"))
                .with_hint("nothing was written; free some space on the server")
        }
        &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => {
            Error::new(ErrorKind::Corrupt, format!("Postgres reports damage: {message}"))
        }
        // The server has no code of its own for this: two changed the same entry of its catalogue, such as the rights on
        // a table that is being rewritten.
        &SqlState::INTERNAL_ERROR if message == "tuple concurrently updated" => Error::new(
            ErrorKind::Locked,
            "another process was changing the tables or the rights on them at the same time",
        )
        .with_hint("nothing was lost; try again"),
        _ if is_outage(code) => Error::new(
            ErrorKind::Unavailable,
            format!("Postgres is not available: {message}"),
        )
        .with_hint("run the command again; acknowledged writes are stored"),
        _ => Error::new(
            ErrorKind::Internal,
            format!("Postgres refused a statement: {message}"),
        ),
    };
    error.with_context("sqlstate", code.code())
}

/// Returns whether the server ended the session: it stops, crashed or has no room.
fn is_outage(code: &SqlState) -> bool {
    // Classes 08 (connection), 57P (operator intervention), and 53300 (too many connections).
    code.code().starts_with("08") || code.code().starts_with("57P") || *code == SqlState::TOO_MANY_CONNECTIONS
}

/// Returns whether an error says that a table or schema does not exist.
pub(crate) fn is_missing_table(error: &Error) -> bool {
    has_code(error, &[SqlState::UNDEFINED_TABLE, SqlState::INVALID_SCHEMA_NAME])
}

/// Returns whether an error says that the role lacks a right.
pub(crate) fn is_refusal(error: &Error) -> bool {
    has_code(error, &[SqlState::INSUFFICIENT_PRIVILEGE])
}

fn has_code(error: &Error, codes: &[SqlState]) -> bool {
    let holds = |code: &str| codes.iter().any(|searched| searched.code() == code);
    error
        .context()
        .iter()
        .any(|(key, value)| *key == "sqlstate" && holds(value))
}

/// Returns the error for stored bytes that are not what was written.
pub(crate) fn corrupt_error(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, message)
}

/// Returns the error for a palace that does not exist.
pub(crate) fn missing_palace(palace: &PalaceRef) -> Error {
    let shown = crate::address::redact_url(&palace.id);
    Error::new(ErrorKind::NotFound, format!("the palace {shown} does not exist"))
        .with_context("palace", shown)
        .with_hint("nothing was created; make it with `loci init --palace URL`")
}

/// Returns the error for a collection that does not exist.
pub(crate) fn missing_collection(name: &CollectionName) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the collection {:?} does not exist", name.as_str()),
    )
    .with_context("collection", name)
}

/// Returns the error of a call after its palace or backend was closed.
pub(crate) fn closed_error(what: &str) -> Error {
    Error::new(ErrorKind::Closed, format!("{what} was closed")).with_hint("open it again")
}
