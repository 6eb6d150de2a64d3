//! Whether a database, its log and its shared memory are still the files a connection opened, and belong together.
//!
//! Files can be removed, renamed over, overwritten or reached by a second name while processes use them. Three checks
//! together find that:
//! - *names*: each of the three names still leads to the open file;
//! - *family bytes*: every opener holds a shared lock on one byte of each of the three files, derived from the inodes
//!   of all three, and refuses to work if another opener of any of them holds a different byte. Two names of one file
//!   with two logs, or two databases at one log, are told apart by that;
//! - *lineage*: the mark on page 1 names the log beside it and the log is as long as the mark says, and page 1 changes
//!   only together with the shared index, as a checkpoint changes it. A file overwritten in place fails that.

mod lineage;

use super::base::BaseFile;
use super::connection::with_file;
use super::pages::DatabasePages;
use super::recovery::FOREIGN_LOG;
use super::standing::{FileStanding, HOLD_BYTE, HOLD_MEMORY_BYTE, InodeId, MemoryStanding, RELEASE_BYTE};
use crate::failure::sqlite_error;
use rusqlite::{Connection, ffi};
use std::ffi::c_int;
use std::time::Duration;
use twox_hash::XxHash3_64;

pub(super) use lineage::{LineageStamp, begin_lineage, names_log};

/// The code for files that other openers use in another combination: an I/O error with a number of ours.
pub(crate) const DIVIDED_FAMILY: c_int = ffi::SQLITE_IOERR | (0xf2 << 8);

/// The code for a write that was stopped because the files were exchanged.
pub(crate) const EXCHANGED_FILE: c_int = ffi::SQLITE_IOERR | (0xf3 << 8);

/// The code for shared memory that was cut while others use it. Grown again it would list only part of the log.
pub(crate) const CUT_MEMORY: c_int = ffi::SQLITE_IOERR | (0xf4 << 8);

/// The waits between looks at a lineage that seems broken: another process may be between two of its writes.
const PATIENCE: [Duration; 6] = [
    Duration::ZERO,
    Duration::from_millis(1),
    Duration::from_millis(4),
    Duration::from_millis(15),
    Duration::from_millis(60),
    Duration::from_millis(220),
];

/// The way in which the files of a connection came apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FamilyBreach {
    /// The name of the database leads to nothing.
    DatabaseGone,
    /// The name of the database leads to another file.
    DatabaseReplaced,
    /// The name of the log or of the shared memory leads elsewhere. What the open files hold is whole.
    CompanionsRenamed,
    /// The shared memory was cut.
    MemoryCut,
    /// The content of the database or of the log was overwritten or cut in place.
    Overwritten,
}

/// Joins the openers of a connection's three files, once its shared memory is mapped.
pub(super) fn join_family(base: BaseFile, pages: &mut DatabasePages) -> c_int {
    if pages.watch.joined {
        return ffi::SQLITE_OK;
    }
    let Some(log) = pages.watch.log else {
        return ffi::SQLITE_OK;
    };
    let (Some(database), Some(beside), Some(memory)) = (
        FileStanding::ask_file(base),
        FileStanding::ask_file(log),
        MemoryStanding::ask_file(base),
    ) else {
        // Another VFS lies below, which does not reveal its files.
        return ffi::SQLITE_OK;
    };
    let mut tag = family_tag([database.opened, beside.opened, memory.file.opened]);
    let held = [
        base.control(HOLD_BYTE, &mut tag),
        log.control(HOLD_BYTE, &mut tag),
        base.control(HOLD_MEMORY_BYTE, &mut tag),
    ];
    if held.iter().any(|code| *code != ffi::SQLITE_OK) {
        leave_family(base, pages);
        return DIVIDED_FAMILY;
    }
    pages.watch.joined = true;
    match is_foreign(base, pages) {
        Ok(false) => ffi::SQLITE_OK,
        Ok(true) => FOREIGN_LOG,
        Err(code) => {
            leave_family(base, pages);
            code
        }
    }
}

/// Returns whether the log beside the database has a header that the mark does not name.
fn is_foreign(base: BaseFile, pages: &mut DatabasePages) -> Result<bool, c_int> {
    let foreign = look_often(|| names_log(base, pages).map(|named| (!named).then_some(())))?;
    Ok(foreign.is_some())
}

/// Returns what is wrong in every one of some looks, with pauses between them, or fails if one could not be taken.
fn look_often<T>(mut look: impl FnMut() -> Result<Option<T>, c_int>) -> Result<Option<T>, c_int> {
    let mut wrong = None;
    for pause in PATIENCE {
        crate::clock::sleep(pause);
        wrong = take_look(&mut look)?;
        if wrong.is_none() {
            break;
        }
    }
    Ok(wrong)
}

/// Takes one look, and takes it again if a read failed. A disk that fails for a moment has exchanged nothing, and what
/// it hides must not pass for sound either.
fn take_look<T>(look: &mut impl FnMut() -> Result<Option<T>, c_int>) -> Result<Option<T>, c_int> {
    let mut taken = look();
    for pause in PATIENCE {
        if taken.is_ok() {
            break;
        }
        crate::clock::sleep(pause);
        taken = look();
    }
    taken
}

/// Releases the bytes that [`join_family`] took; those of the shared memory go with it.
pub(super) fn leave_family(base: BaseFile, pages: &mut DatabasePages) {
    pages.watch.joined = false;
    base.control(RELEASE_BYTE, &mut 0_i64);
    if let Some(log) = pages.watch.log {
        log.control(RELEASE_BYTE, &mut 0_i64);
    }
}

fn family_tag(files: [InodeId; 3]) -> i64 {
    let mut bytes = Vec::with_capacity(48);
    for file in files {
        bytes.extend_from_slice(&file.device.to_le_bytes());
        bytes.extend_from_slice(&file.inode.to_le_bytes());
    }
    i64::from_le_bytes((XxHash3_64::oneshot(&bytes) & 0xffff_ffff).to_le_bytes())
}

/// Returns how the files of an open database came apart, if they did.
pub(super) fn find_family_breach(
    base: BaseFile,
    pages: &mut DatabasePages,
) -> Result<Option<FamilyBreach>, c_int> {
    match find_name_breach(base, pages) {
        Some(breach) => Ok(Some(breach)),
        None => find_content_breach(base, pages),
    }
}

fn find_name_breach(base: BaseFile, pages: &DatabasePages) -> Option<FamilyBreach> {
    let database = FileStanding::ask_file(base)?;
    if database.named.is_none() {
        return Some(FamilyBreach::DatabaseGone);
    }
    if !database.is_named() {
        return Some(FamilyBreach::DatabaseReplaced);
    }
    let log = pages.watch.log.and_then(FileStanding::ask_file);
    let memory = MemoryStanding::ask_file(base);
    if memory.is_some_and(|memory| memory.cut) {
        return Some(FamilyBreach::MemoryCut);
    }
    let renamed =
        log.is_some_and(|log| !log.is_named()) || memory.is_some_and(|memory| !memory.file.is_named());
    renamed.then_some(FamilyBreach::CompanionsRenamed)
}

/// Returns whether the content of the files no longer fits together, however their names stand. Fails if that cannot be
/// read now.
fn find_content_breach(base: BaseFile, pages: &mut DatabasePages) -> Result<Option<FamilyBreach>, c_int> {
    // Only a family of known files is judged: recorders and other layers of tests rebuild files as they like.
    if !pages.watch.joined {
        return Ok(None);
    }
    look_often(|| lineage::find_breach(base, pages))
}

/// Returns whether a log may be copied into its database and removed by the last connection: the database must be the
/// one that its name leads to, and the content of both must fit together. Log and memory may have lost their names.
pub(super) fn may_settle(base: BaseFile, pages: &mut DatabasePages) -> Result<bool, c_int> {
    let named = matches!(
        find_name_breach(base, pages),
        None | Some(FamilyBreach::CompanionsRenamed)
    );
    Ok(named && find_content_breach(base, pages)?.is_none())
}

/// Returns a code other than OK if the file that a checkpoint is about to write into is no longer its log's own, or if
/// that cannot be read now.
pub(super) fn refuse_exchanged(base: BaseFile, pages: &mut DatabasePages) -> c_int {
    if pages.watch.joined && !pages.watch.exchanged {
        match is_foreign(base, pages) {
            Ok(foreign) => pages.watch.exchanged = foreign,
            Err(code) => return code,
        }
    }
    if pages.watch.exchanged {
        EXCHANGED_FILE
    } else {
        ffi::SQLITE_OK
    }
}

/// Returns whether the name of the log leads to the log that is open.
pub(super) fn has_own_log_name(pages: &DatabasePages) -> bool {
    pages
        .watch
        .log
        .and_then(FileStanding::ask_file)
        .is_none_or(FileStanding::is_named)
}

/// Returns whether the database or its log behind a connection was overwritten, whatever else happened to them.
pub(crate) fn is_overwritten(connection: &Connection) -> loci_core::Result<bool> {
    let breach = look_through(connection, find_content_breach)?;
    Ok(breach == Some(FamilyBreach::Overwritten))
}

/// Returns how the files behind a connection came apart, if they did. Fails if they cannot be read now.
pub(crate) fn find_breach(connection: &Connection) -> loci_core::Result<Option<FamilyBreach>> {
    look_through(connection, find_family_breach)
}

/// As [`find_breach`], for an answer that was read already: files that lost their names stay whole for those who have
/// them open, so only their content counts.
pub(crate) fn find_overwriting(connection: &Connection) -> loci_core::Result<Option<FamilyBreach>> {
    look_through(connection, |base, pages| {
        let cut = MemoryStanding::ask_file(base).is_some_and(|memory| memory.cut);
        if cut {
            return Ok(Some(FamilyBreach::MemoryCut));
        }
        find_content_breach(base, pages)
    })
}

/// Looks at the files behind a connection.
fn look_through(
    connection: &Connection,
    look: impl FnOnce(BaseFile, &mut DatabasePages) -> Result<Option<FamilyBreach>, c_int>,
) -> loci_core::Result<Option<FamilyBreach>> {
    with_file(connection, look)?
        .map_err(|code| sqlite_error(rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)))
}
