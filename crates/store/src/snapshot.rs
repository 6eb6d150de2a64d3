//! Copies of whole palaces: taken in one read transaction while others write, verified, then given their final name.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{
    Error, ErrorKind, FindingSeverity, PalaceFinding, PalaceRef, PalaceRemains, Result, SnapshotReport,
    SnapshotStep, SnapshotStore,
};
use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use crate::backend::PATIENCE;
use crate::connection::{self, ConnectionOptions};
use crate::disk::FileStep;
use crate::failure::{self, sqlite_error};
use crate::{EmbeddedBackend, clock, copies, disk, holder, rescue, verify, vfs};

/// The number of pages copied between two reports of progress.
const PAGES_AT_ONCE: i32 = 1000;

impl SnapshotStore for EmbeddedBackend {
    fn backup(
        &self,
        palace: &PalaceRef,
        dest: &Path,
        watch: &mut dyn FnMut(SnapshotStep),
    ) -> Result<SnapshotReport> {
        let palace = self.open_palace(palace, false)?;
        refuse_existing(dest, "name a file that does not exist")?;
        // Listed before it exists: a copy that no list names would keep what is erased later.
        copies::add(&palace, dest)?;
        let lease = palace.lease(PATIENCE)?;
        let partial = partial_name(dest);
        let base = self.base();
        let copied = copy_database(&lease, &partial, base, watch)
            .and_then(|()| palace.confirm_answer(&lease))
            .and_then(|()| verify_copy(&partial, base, watch));
        let settled = settle_copy(copied, &partial, dest);
        if settled.is_err() && !dest.exists() {
            // A name without a file does no harm, so that this may fail as well.
            let _ = copies::remove(&palace, &[dest.to_path_buf()]);
        }
        settled
    }

    fn list_copies(&self, palace: &PalaceRef) -> Result<Vec<PathBuf>> {
        copies::list(&*self.open_palace(palace, false)?)
    }

    fn unlist_copies(&self, palace: &PalaceRef, files: &[PathBuf]) -> Result<()> {
        copies::remove(&*self.open_palace(palace, false)?, files)
    }

    fn restore(
        &self,
        file: &Path,
        palace: &PalaceRef,
        watch: &mut dyn FnMut(SnapshotStep),
    ) -> Result<SnapshotReport> {
        let dest = palace.require_folder()?.join(Self::FILE);
        refuse_existing(
            &dest,
            "a restore never replaces a palace; name another with --palace",
        )?;
        self.clear_place(&dest)?;
        if !file.is_file() {
            return Err(Error::new(
                ErrorKind::NotFound,
                format!("no backup exists at {}", file.display()),
            ));
        }
        let how = ConnectionOptions {
            file,
            base: self.base(),
            create: false,
            // A backup is restored as it is; the restored palace is upgraded when it is first opened.
            mend: false,
            wait: PATIENCE,
        };
        let source = connection::open(how)?;
        disk::make_folder(palace.require_folder()?)?;
        disk::refuse_network(palace.require_folder()?)?;
        let partial = partial_name(&dest);
        let base = self.base();
        let copied =
            copy_database(&source, &partial, base, watch).and_then(|()| verify_copy(&partial, base, watch));
        settle_copy(copied, &partial, &dest)
    }

    fn open_remains(&self, path: &Path, watch: &mut dyn FnMut(u64, u64)) -> Result<PalaceRemains> {
        rescue::open_remains(path, watch)
    }
}

impl EmbeddedBackend {
    /// Makes sure that no process uses a palace that was removed from `dest`, and that no log of it is left there.
    fn clear_place(&self, dest: &Path) -> Result<()> {
        self.release_file(dest);
        let beside = |suffix: &str| {
            let mut name = dest.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        let (log, memory) = (beside("-wal"), beside("-shm"));
        if vfs::is_memory_in_use(&memory) {
            let users = holder::users_of(dest);
            let message = format!(
                "{} the palace that was at {}",
                failure::name_users(&users, "still uses", "still use"),
                dest.display()
            );
            return Err(failure::name_pids(Error::new(ErrorKind::Conflict, message), &users).with_hint(
                "nothing was written; stop that process and try again, or name another place with --palace",
            ));
        }
        if fs::metadata(&log).is_ok_and(|found| found.len() > 0) {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!(
                    "{} is left of a palace that was removed, and may hold its newest writes",
                    log.display()
                ),
            )
            .with_hint("nothing was written; move that file to another place and try again, or name another palace with --palace"));
        }
        // Both are empty or worthless without their database.
        for leftover in [log, memory] {
            if fs::symlink_metadata(&leftover).is_ok() {
                fs::remove_file(&leftover).map_err(|cause| failure::io_error("remove", &leftover, cause))?;
            }
        }
        Ok(())
    }
}

fn refuse_existing(dest: &Path, next: &str) -> Result<()> {
    if fs::symlink_metadata(dest).is_err() {
        return Ok(());
    }
    Err(Error::invalid(format!("{} already exists", dest.display()))
        .with_hint(format!("nothing was written; {next}")))
}

fn partial_name(dest: &Path) -> PathBuf {
    let mut name = dest.file_name().unwrap_or_default().to_owned();
    // The process id keeps two copies to the same destination from writing one file.
    name.push(format!(".{}.partial", std::process::id()));
    dest.with_file_name(name)
}

/// Creates an empty file that only its owner may read, replacing the remains of an earlier attempt.
fn make_private(partial: &Path) -> Result<()> {
    use std::os::unix::fs::OpenOptionsExt;
    let _ = fs::remove_file(partial);
    fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(partial)
        .map(drop)
        // The user knows the destination, which is the name without the two suffixes of the partial file.
        .map_err(|cause| failure::io_error("write", &partial.with_extension("").with_extension(""), cause))
}

/// Copies the database behind `source`, as it is at this moment, into the new file `partial`.
fn copy_database(
    source: &Connection,
    partial: &Path,
    base: Option<&str>,
    watch: &mut dyn FnMut(SnapshotStep),
) -> Result<()> {
    make_private(partial)?;
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut dest =
        Connection::open_with_flags_and_vfs(partial, flags, vfs::register(base)?).map_err(sqlite_error)?;
    vfs::reserve_checksums(&dest)?;
    // One read transaction over all steps: writers are not blocked, and the copy is of one moment. Without it
    // the backup would start over whenever another process writes.
    connection::begin_read(source)?;
    source
        .query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))
        .map_err(sqlite_error)?;
    {
        let backup = Backup::new(source, &mut dest).map_err(sqlite_error)?;
        loop {
            let step = backup.step(PAGES_AT_ONCE).map_err(sqlite_error)?;
            let state = backup.progress();
            let total = u64::try_from(state.pagecount).unwrap_or(0);
            let copied = total.saturating_sub(u64::try_from(state.remaining).unwrap_or(0));
            watch(SnapshotStep::Copied(copied, total));
            match step {
                StepResult::Done => break,
                StepResult::Busy | StepResult::Locked => clock::sleep(Duration::from_millis(20)),
                _ => {}
            }
        }
    }
    connection::end_read(source)?;
    dest.close().map_err(|(_, cause)| sqlite_error(cause))
}

/// Reads a whole copy back and reports what it holds.
fn verify_copy(
    file: &Path,
    base: Option<&str>,
    watch: &mut dyn FnMut(SnapshotStep),
) -> Result<SnapshotReport> {
    let mut verified = |done, total| watch(SnapshotStep::Verified(done, total));
    let diagnosis = verify::examine_file(file, base, &mut verified)?;
    if let Some(finding) = diagnosis
        .findings
        .iter()
        // Writes lost before the copy was taken are not a fault of the copy.
        .find(|finding| {
            finding.severity == FindingSeverity::Error && finding.code != PalaceFinding::LOST_WRITES
        })
    {
        return Err(unsound_error(finding, diagnosis.findings.len()));
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

fn unsound_error(finding: &PalaceFinding, findings: usize) -> Error {
    Error::new(
        ErrorKind::Corrupt,
        format!(
            "the copy is not sound ({findings} findings, first: {})",
            finding.message
        ),
    )
    .with_hint("no copy was kept and the source was not changed; run `loci verify` on the source")
}

/// Gives a sound copy its final name, durably; removes an unsound one.
fn settle_copy(copied: Result<SnapshotReport>, partial: &Path, dest: &Path) -> Result<SnapshotReport> {
    let named = copied.and_then(|report| {
        disk::take_step(FileStep::Sync(partial))
            .map_err(|cause| failure::io_error("sync", partial, cause))?;
        // A hard link never replaces a file that appeared meanwhile, as a rename would.
        let link = FileStep::Link {
            from: partial,
            to: dest,
        };
        disk::take_step(link).map_err(|cause| failure::io_error("write", dest, cause))?;
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
        let _ = disk::take_step(FileStep::Remove(Path::new(&name)));
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{Backend, CollectionExt, CollectionName, CreateMode, DrawerId, NewDrawer, OpenOptions};

    /// The steps of each kind must come one after the other, grow, and end at their total.
    fn check(steps: &[SnapshotStep]) {
        let copied = steps.iter().filter_map(|step| match step {
            SnapshotStep::Copied(done, total) => Some((*done, *total)),
            SnapshotStep::Verified(..) => None,
        });
        let copied: Vec<(u64, u64)> = copied.collect();
        let verified = steps.iter().skip(copied.len()).map(|step| match step {
            SnapshotStep::Verified(done, total) => (*done, *total),
            SnapshotStep::Copied(..) => panic!("copied after it was verified: {steps:?}"),
        });
        for counts in [copied, verified.collect()] {
            assert!(counts.is_sorted(), "{steps:?}");
            let (done, total) = *counts.last().expect("every phase is reported");
            assert_eq!(done, total, "{steps:?}");
        }
    }

    #[test]
    fn a_copy_and_its_verification_are_both_reported_to_their_end() {
        let folder = tempfile::tempdir().unwrap();
        let backend = EmbeddedBackend::new();
        let palace = PalaceRef::local(folder.path().join("palace"));
        for name in ["drawers", "notes"] {
            let name = CollectionName::new(name).unwrap();
            let options = OpenOptions::default();
            let collection = backend
                .create(&palace, &name, CreateMode::OpenExisting, &options)
                .unwrap();
            let drawer = NewDrawer::new(DrawerId::new("a").unwrap(), "text");
            collection.add_drawer(drawer).unwrap();
        }
        let copy = folder.path().join("copy.db");
        let mut steps = Vec::new();
        backend
            .backup(&palace, &copy, &mut |step| steps.push(step))
            .unwrap();
        check(&steps);
        let mut steps = Vec::new();
        let again = PalaceRef::local(folder.path().join("again"));
        backend
            .restore(&copy, &again, &mut |step| steps.push(step))
            .unwrap();
        check(&steps);
    }
}
