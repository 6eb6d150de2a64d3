//! Copies of whole palaces: taken in one read transaction while others write, verified, then given their name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Finding, PalaceRef, Result, Severity, SnapshotReport, SnapshotStore};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::backend::PATIENCE;
use crate::connection::{self, Opening};
use crate::failure::{self, sqlite};
use crate::{Embedded, disk, lost, verify, vfs};

/// How many pages are copied between two reports of progress.
const PAGES_AT_ONCE: i32 = 1000;

impl SnapshotStore for Embedded {
    fn backup(
        &self,
        palace: &PalaceRef,
        dest: &Path,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SnapshotReport> {
        let palace = self.palace(palace, false)?;
        refuse_existing(dest)?;
        let lease = palace.lease(PATIENCE)?;
        let partial = partial_name(dest);
        let copied = copy(&lease, &partial, progress).and_then(|()| describe(&partial));
        settle(copied, &partial, dest)
    }

    fn restore(
        &self,
        file: &Path,
        palace: &PalaceRef,
        progress: &mut dyn FnMut(u64, u64),
    ) -> Result<SnapshotReport> {
        let dest = palace.folder()?.join(Self::FILE);
        refuse_existing(&dest)?;
        if !file.is_file() {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("there is no backup at {}", file.display()),
            ));
        }
        let how = Opening {
            file,
            base: None,
            create: false,
            mend: false,
            wait: PATIENCE,
        };
        let source = connection::open(how)?;
        disk::make_folder(palace.folder()?)?;
        disk::refuse_network(palace.folder()?)?;
        let partial = partial_name(&dest);
        let copied = copy(&source, &partial, progress).and_then(|()| describe(&partial));
        settle(copied, &partial, &dest)
    }
}

fn refuse_existing(dest: &Path) -> Result<()> {
    if fs::symlink_metadata(dest).is_err() {
        return Ok(());
    }
    Err(Error::invalid(format!("{} is there already", dest.display()))
        .hint("nothing was written; name a file that does not exist, or an empty place for a palace"))
}

fn partial_name(dest: &Path) -> PathBuf {
    let mut name = dest.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.partial", std::process::id()));
    dest.with_file_name(name)
}

/// Makes an empty file that only its owner may read, in the place of what an earlier attempt left.
fn make_private(partial: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let _ = fs::remove_file(partial);
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(partial)
        .map(drop)
        .map_err(|cause| failure::io("write", partial, cause))
}

/// Copies the database behind `source` as it is at this moment into the new file `partial`.
fn copy(source: &Connection, partial: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
    make_private(partial)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut dest =
        Connection::open_with_flags_and_vfs(partial, flags, vfs::register(None)?).map_err(sqlite)?;
    vfs::reserve(&dest)?;
    // One read transaction over all steps: writers go on, and the copy is one moment.
    connection::begin_read(source)?;
    source
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(sqlite)?;
    {
        let backup = Backup::new(source, &mut dest).map_err(sqlite)?;
        loop {
            let step = backup.step(PAGES_AT_ONCE).map_err(sqlite)?;
            let state = backup.progress();
            let total = u64::try_from(state.pagecount).unwrap_or(0);
            progress(
                total.saturating_sub(u64::try_from(state.remaining).unwrap_or(0)),
                total,
            );
            match step {
                StepResult::Done => break,
                StepResult::Busy | StepResult::Locked => std::thread::sleep(Duration::from_millis(20)),
                _ => {}
            }
        }
    }
    connection::end_read(source)?;
    dest.close().map_err(|(_, cause)| sqlite(cause))
}

/// Reads a copy back, whole, and says what it holds.
fn describe(file: &Path) -> Result<SnapshotReport> {
    let diagnosis = verify::examine_file(file)?;
    if let Some(finding) = diagnosis
        .findings
        .iter()
        // What was lost before is no fault of the copy.
        .find(|finding| finding.severity == Severity::Error && finding.code != lost::CODE)
    {
        return Err(unsound(finding, diagnosis.findings.len()));
    }
    Ok(SnapshotReport {
        file: file.to_path_buf(),
        drawers: diagnosis
            .collections
            .iter()
            .map(|collection| collection.rows)
            .sum(),
        verified: true,
    })
}

fn unsound(finding: &Finding, findings: usize) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!(
            "the copy is not sound ({findings} findings, first: {})",
            finding.message
        ),
    )
    .hint("no copy was kept and the source was not changed; run `loci verify` on the source")
}

/// Gives a sound copy its name, durably; removes one that is not.
fn settle(copied: Result<SnapshotReport>, partial: &Path, dest: &Path) -> Result<SnapshotReport> {
    let named = copied.and_then(|report| {
        fs::File::open(partial)
            .and_then(|file| file.sync_all())
            .map_err(|cause| failure::io("sync", partial, cause))?;
        // A hard link never replaces a file that appeared meanwhile, as a rename would.
        fs::hard_link(partial, dest).map_err(|cause| failure::io("write", dest, cause))?;
        if let Some(folder) = dest.parent() {
            disk::sync_folder(if folder.as_os_str().is_empty() {
                Path::new(".")
            } else {
                folder
            })?;
        }
        Ok(SnapshotReport {
            file: dest.to_path_buf(),
            ..report
        })
    });
    for suffix in ["", "-wal", "-shm", "-journal"] {
        let mut name = partial.as_os_str().to_owned();
        name.push(suffix);
        let _ = fs::remove_file(PathBuf::from(name));
    }
    named
}
