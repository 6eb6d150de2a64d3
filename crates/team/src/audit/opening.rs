//! Opening an audit log: its lock, and the end of its chain.

use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use loci_core::{Error, ErrorKind, Result, Timestamp};

use super::chain::{ChainWalk, hash_torn};
use super::head::AuditHead;
use super::key::AuditKey;
use super::line::{LONGEST_LINE, read_line};
use super::parts::{list_parts, part_path};
use crate::private_file::{
    OthersMay, check_owner, create_folder, file_error, lock_path, open_lock, sync_folder,
};

/// The bytes at the end of a log that are checked when it is opened: enough for several of the longest lines.
const CHECKED_BYTES: u64 = 4 * LONGEST_LINE as u64;

/// The end of a log that was opened.
#[derive(Debug)]
pub(super) struct OpenedEnd {
    /// The file, open for appending.
    pub(super) file: Arc<File>,
    /// Its length.
    pub(super) bytes: u64,
    /// The last whole record, in this file or the one before it.
    pub(super) head: AuditHead,
    /// Whether a line feed must be written before the next record.
    pub(super) lacks_line_feed: bool,
    /// The length and hash of the last line, if it is not a record.
    pub(super) torn: Option<(u64, String)>,
    /// The time at which the file was changed last.
    pub(super) modified: Timestamp,
}

/// The end of one file.
#[derive(Debug, Default)]
struct FileEnd {
    /// The last record; `None` if the file has no whole line.
    head: Option<AuditHead>,
    lacks_line_feed: bool,
    torn: Option<(u64, String)>,
}

/// Locks a log for this process.
pub(super) fn lock_log(path: &Path) -> Result<File> {
    let lock = lock_path(path);
    let opened = create_folder(path).and_then(|()| open_lock(&lock));
    let mut file = opened.map_err(|cause| file_error("lock", &lock, cause))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            let _ = (&file).take(64).read_to_string(&mut holder);
            let holder = match holder.trim().parse::<u32>() {
                Ok(process) => format!("the process {process}"),
                Err(_) => "another process".to_owned(),
            };
            let message = format!("the audit log {} is in use by {holder}", path.display());
            return Err(Error::new(ErrorKind::Locked, message)
                .with_hint("it is unchanged; stop that server, or give this one an audit log of its own"));
        }
        Err(TryLockError::Error(cause)) => return Err(file_error("lock", &lock, cause)),
    }
    // Only for the message above; the lock itself does not depend on it.
    let _ = file
        .set_len(0)
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    Ok(file)
}

/// Returns the path at which a new file is made before it takes the place of a full one.
pub(super) fn fresh_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    PathBuf::from(name)
}

/// Opens the file of a log and finds the end of its chain.
pub(super) fn open_end(path: &Path, key: &AuditKey) -> Result<OpenedEnd> {
    let _ = fs::remove_file(fresh_path(path));
    let is_new = !path.exists();
    let file = File::options()
        .read(true)
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)
        .map_err(|cause| file_error("open", path, cause))?;
    if is_new {
        sync_folder(path).map_err(|cause| file_error("make", path, cause))?;
    }
    let metadata = file
        .metadata()
        .map_err(|cause| file_error("look at", path, cause))?;
    check_owner(path, &metadata, OthersMay::Nothing)?;
    let end = read_end(path, &file, key)?;
    let head = match end.head {
        Some(head) => head,
        None => head_of_parts(path, key)?,
    };
    let micros = metadata.mtime().saturating_mul(1_000_000) + metadata.mtime_nsec() / 1000;
    Ok(OpenedEnd {
        bytes: metadata.len(),
        head,
        lacks_line_feed: end.lacks_line_feed,
        torn: end.torn,
        modified: Timestamp::from_micros(micros)?,
        file: Arc::new(file),
    })
}

/// Returns the last record of the newest full file; the start of a chain if there is none.
fn head_of_parts(path: &Path, key: &AuditKey) -> Result<AuditHead> {
    // A crash between setting a full file aside and writing to the new one leaves the new one empty.
    let Some(newest) = list_parts(path)?.last().copied() else {
        return Ok(AuditHead::START);
    };
    let part = part_path(path, newest);
    let file = File::open(&part).map_err(|cause| file_error("read", &part, cause))?;
    let end = read_end(&part, &file, key)?;
    match end.head {
        Some(head) if !end.lacks_line_feed => Ok(head),
        _ => Err(broken_end(&part, "its last line is not whole")),
    }
}

/// Checks the last lines of a file.
fn read_end(path: &Path, mut file: &File, key: &AuditKey) -> Result<FileEnd> {
    let read_error = |cause: io::Error| file_error("read", path, cause);
    let length = file.seek(SeekFrom::End(0)).map_err(read_error)?;
    let start = length.saturating_sub(CHECKED_BYTES);
    file.seek(SeekFrom::Start(start)).map_err(read_error)?;
    let mut bytes = Vec::new();
    file.take(length - start)
        .read_to_end(&mut bytes)
        .map_err(read_error)?;
    let mut lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
    // Behind the last line feed: nothing, or a line that was cut off.
    let rest = lines.pop().unwrap_or_default();
    let mut walk = ChainWalk::new(key, None);
    let mut lines = lines.into_iter();
    if start > 0 {
        // The first line is only a part; the one after it is where the check begins, and is itself taken on trust.
        lines.next();
        walk.head = lines.next().and_then(read_line).map(|line| line.claimed_head());
    }
    for line in lines {
        if let Some((_, kind)) = walk.take_line(0, line).first() {
            return Err(explain_break(path, key, &bytes, &kind.to_string()));
        }
    }
    if let Some((_, kind)) = walk.end() {
        return Err(explain_break(path, key, &bytes, &kind.to_string()));
    }
    let mut end = FileEnd {
        head: walk.head,
        lacks_line_feed: !rest.is_empty(),
        torn: None,
    };
    if !rest.is_empty() {
        // A line that lacks nothing but its line feed is a record.
        let is_record = read_line(rest).is_some() && walk.take_line(0, rest).is_empty();
        if is_record {
            end.head = walk.head;
        } else {
            end.torn = Some((rest.len() as u64, hash_torn(rest)));
        }
    }
    Ok(end)
}

/// Returns the error for last lines that do not hold, which may just have been written with another key.
fn explain_break(path: &Path, key: &AuditKey, bytes: &[u8], what: &str) -> Error {
    let first = bytes.split(|byte| *byte == b'\n').find_map(read_line);
    let named = first.and_then(|line| line.entry.chain?.key);
    match named.filter(|named| *named != key.fingerprint()) {
        Some(named) => {
            let message = format!(
                "the audit log {} was written with the key {named}, not with {}",
                path.display(),
                key.fingerprint()
            );
            Error::new(ErrorKind::IdentityMismatch, message)
                .with_hint("it is unchanged; restore its key, or move the log away to begin a new one")
        }
        None => broken_end(path, what),
    }
}

fn broken_end(path: &Path, what: &str) -> Error {
    let message = format!(
        "the end of the audit log {} does not hold: {what}",
        path.display()
    );
    Error::new(ErrorKind::Corrupt, message)
        .with_hint("it is unchanged; verify it, then move it away to begin a new one")
}
