//! The place in which the target is built: a hidden folder beside its final place, or directly the target if
//! it has no folder.
//!
//! The hidden folder holds a lock, a manifest that identifies the work, and the palace. The lock is the
//! kernel's, so it is released with the process that holds it, however that ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use loci_core::{Capability, EmbedderIdentity, Error, ErrorKind, PalaceRef, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::record::MigrateFlags;
use super::{MigrateRequest, MigrateStep, paths};
use loci_engine::palace::BorrowedAddress;

const LOCK: &str = "lock";
const MANIFEST: &str = "migration.json";
const PALACE: &str = "palace";

/// The target under construction.
#[derive(Debug)]
pub(super) struct MigrationTarget {
    /// The palace that is written to.
    palace: PalaceRef,
    /// The hidden folder, if the target has a folder.
    stage: Option<StagingFolder>,
    manifest: Option<StageManifest>,
    resumed: bool,
}

#[derive(Debug)]
struct StagingFolder {
    folder: PathBuf,
    /// The final place of the palace.
    place: PathBuf,
    _lock: File,
}

/// Identifies the work in a hidden folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StageManifest {
    from: String,
    backend: String,
    to_backend: String,
    flags: MigrateFlags,
    embedder: Option<EmbedderIdentity>,
    fingerprint: String,
    started_at: Timestamp,
}

impl StageManifest {
    fn new(request: &MigrateRequest<'_>, fingerprint: &str) -> Self {
        Self {
            from: request.from.reference.id.clone(),
            backend: request.from.backend.descriptor().name.clone(),
            to_backend: request.to.backend.descriptor().name.clone(),
            // A run may be resumed with or without --overwrite: it matters only at the very end.
            flags: MigrateFlags {
                overwrite: false,
                ..request.flags
            },
            embedder: request
                .embedder
                .as_ref()
                .map(|embedder| embedder.identity().clone()),
            fingerprint: fingerprint.to_owned(),
            started_at: request.now,
        }
    }

    /// Returns whether `other` is the same work, whenever it began.
    fn is_same_work(&self, other: &Self) -> bool {
        self.run_digest() == other.run_digest()
    }

    /// Returns a digest that is equal for the same request on the same source.
    fn run_digest(&self) -> String {
        let text = format!(
            "{} {} {} {:?} {:?} {}",
            self.from, self.backend, self.to_backend, self.flags, self.embedder, self.fingerprint
        );
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}

impl MigrationTarget {
    /// Reserves the target for this process. Refuses a target that another migration has reserved, or that
    /// exists.
    pub(super) fn reserve_place(request: &MigrateRequest<'_>) -> Result<Self> {
        let BorrowedAddress {
            backend,
            reference: palace,
        } = request.to;
        let folder = palace.local_path.as_ref();
        let Some(place) = folder.filter(|_| backend.descriptor().has_capability(&Capability::Local)) else {
            if request.flags.overwrite {
                return Err(no_overwrite_error(request));
            }
            return Ok(Self {
                palace: palace.clone(),
                stage: None,
                manifest: None,
                resumed: false,
            });
        };
        let place = paths::resolve_path(place);
        check_place(&place, request.flags.overwrite)?;
        let folder = staging_path(&place)?;
        create_private_folder(&folder)?;
        let lock = lock_folder(&folder, &place)?;
        // Checked again under the lock: the previous holder may have finished and put its palace there.
        check_place(&place, request.flags.overwrite).inspect_err(|_| remove_if_empty(&folder))?;
        Ok(Self {
            palace: PalaceRef {
                namespace: palace.namespace.clone(),
                ..PalaceRef::local(folder.join(PALACE))
            },
            stage: Some(StagingFolder {
                folder,
                place,
                _lock: lock,
            }),
            manifest: None,
            resumed: false,
        })
    }

    /// Resumes what an earlier run of the same request began. The remains of another request are moved aside.
    pub(super) fn prepare_stage(
        &mut self,
        request: &MigrateRequest<'_>,
        fingerprint: &str,
        watch: &mut dyn FnMut(MigrateStep<'_>),
    ) -> Result<()> {
        let mut manifest = StageManifest::new(request, fingerprint);
        let Some(stage) = &self.stage else {
            self.resumed = check_unstaged(request, &manifest.run_digest())?;
            self.manifest = Some(manifest);
            return Ok(());
        };
        // An unreadable manifest counts as another request's: what was built is set aside and never mixed
        // with this run.
        let begun = fs::read(stage.folder.join(MANIFEST)).ok();
        let begun = begun.and_then(|text| serde_json::from_slice::<StageManifest>(&text).ok());
        match begun.filter(|begun| begun.is_same_work(&manifest)) {
            Some(begun) => {
                self.resumed = stage.folder.join(PALACE).exists();
                manifest.started_at = begun.started_at;
            }
            None if stage.folder.join(PALACE).exists() => {
                // This process may have built it: its handles must not meet another palace in the same place.
                request.to.backend.close_palace(&self.palace);
                let aside = stage.set_aside(request.now)?;
                watch(MigrateStep::SetAside(&aside));
            }
            None => {}
        }
        write_manifest(&stage.folder, &manifest)?;
        self.manifest = Some(manifest);
        watch(MigrateStep::Staged {
            folder: &stage.folder,
            resumed: self.resumed,
        });
        Ok(())
    }

    /// Returns the palace that is written to.
    pub(super) fn palace(&self) -> &PalaceRef {
        &self.palace
    }

    /// Returns whether an earlier run began the work.
    pub(super) fn resumed(&self) -> bool {
        self.resumed
    }

    /// Returns the start of the first run of this request.
    pub(super) fn started_at(&self) -> Option<Timestamp> {
        self.manifest.as_ref().map(|manifest| manifest.started_at)
    }

    /// Returns the digest that marks batches of this work.
    pub(super) fn run_digest(&self) -> String {
        self.manifest
            .as_ref()
            .map(StageManifest::run_digest)
            .unwrap_or_default()
    }

    /// Puts the palace in its place. Returns the new path of the old one, if there was one.
    pub(super) fn move_into_place(&self, request: &MigrateRequest<'_>) -> Result<Option<PathBuf>> {
        let BorrowedAddress {
            backend,
            reference: palace,
        } = request.to;
        // Open handles would keep files of the old path, and a store refuses a file that moved under it.
        backend.close_palace(&self.palace);
        let Some(stage) = &self.stage else {
            return Ok(None);
        };
        check_place(&stage.place, request.flags.overwrite)?;
        backend.close_palace(palace);
        let old = stage.clear_place(request.now)?;
        let built = stage.folder.join(PALACE);
        if let Err(cause) = fs::rename(&built, &stage.place) {
            // Two renames are not atomic together: if the second fails, the first is taken back.
            if let Some(old) = &old {
                let _ = fs::rename(old, &stage.place);
            }
            return Err(io_error("move the palace to", &stage.place, cause));
        }
        sync_folder(stage.place.parent());
        Ok(old)
    }

    /// Says where the copy is, for a hint.
    pub(super) fn describe_location(&self) -> String {
        match &self.stage {
            Some(stage) => format!(
                "the target is unchanged; the copy is in {}",
                stage.folder.display()
            ),
            None => "the copy is marked as unfinished".to_owned(),
        }
    }
}

impl Drop for StagingFolder {
    /// Leaves a begun palace for the next run, and otherwise removes the hidden folder.
    fn drop(&mut self) {
        remove_if_empty(&self.folder);
    }
}

impl StagingFolder {
    /// Moves the old palace aside; an empty folder is removed.
    fn clear_place(&self, now: Timestamp) -> Result<Option<PathBuf>> {
        if fs::symlink_metadata(&self.place).is_err() {
            return Ok(None);
        }
        if is_empty_folder(&self.place) {
            fs::remove_dir(&self.place)
                .map_err(|cause| io_error("remove the empty folder", &self.place, cause))?;
            return Ok(None);
        }
        // Never deleted: the old palace is the only way back if the new one disappoints.
        let aside = free_name(&self.place, "replaced", now);
        fs::rename(&self.place, &aside).map_err(|cause| io_error("move aside", &self.place, cause))?;
        Ok(Some(aside))
    }

    /// Moves the remains of an earlier run aside.
    fn set_aside(&self, now: Timestamp) -> Result<PathBuf> {
        let aside = free_name(&self.folder, "stale", now);
        let built = self.folder.join(PALACE);
        fs::rename(&built, &aside).map_err(|cause| io_error("move aside", &built, cause))?;
        Ok(aside)
    }
}

/// Refuses a place that is not empty, unless its contents may be moved aside.
fn check_place(place: &Path, overwrite: bool) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(place) else {
        return Ok(());
    };
    if !found.is_dir() {
        return Err(Error::invalid(format!(
            "{} is not a folder, so it cannot be a palace",
            place.display()
        ))
        .with_hint("nothing was changed; name another place with --to"));
    }
    if overwrite || is_empty_folder(place) {
        return Ok(());
    }
    Err(
        Error::new(ErrorKind::Conflict, format!("{} already exists", place.display())).with_hint(
            "nothing was changed; name another place with --to, or add --overwrite to move the old one aside",
        ),
    )
}

fn is_empty_folder(place: &Path) -> bool {
    fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none())
}

/// Returns the hidden folder beside a place.
fn staging_path(place: &Path) -> Result<PathBuf> {
    let name = place.file_name().ok_or_else(|| {
        Error::invalid(format!("{} is not a valid place for a palace", place.display()))
            .with_hint("name a folder with --to")
    })?;
    Ok(place.with_file_name(format!(".{}.migrating", name.to_string_lossy())))
}

/// Returns `PATH.WHAT-YYYYMMDD-HHMMSS`, with a number appended if that exists.
fn free_name(path: &Path, what: &str, now: Timestamp) -> PathBuf {
    let moment: String = now
        .to_string()
        .chars()
        .take(19)
        .filter(|c| c.is_ascii_digit() || *c == 'T')
        .collect();
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let first = format!("{name}.{what}-{}", moment.replace('T', "-"));
    let numbered = (2..).map(|n| format!("{first}-{n}"));
    let names = std::iter::once(first.clone()).chain(numbered);
    let mut paths = names.map(|name| path.with_file_name(name));
    paths
        .find(|path| fs::symlink_metadata(path).is_err())
        .unwrap_or_else(|| path.with_file_name(first))
}

/// Takes the lock of a hidden folder, or fails if another process has it.
fn lock_folder(folder: &Path, place: &Path) -> Result<File> {
    use std::os::unix::fs::MetadataExt;
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(|cause| match cause.kind() {
        // The previous holder has removed the folder just now.
        io::ErrorKind::NotFound => taken_error(place),
        _ => io_error("make", &path, cause),
    })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(taken_error(place)),
        Err(TryLockError::Error(cause)) => return Err(io_error("lock", &path, cause)),
    }
    // The previous holder may have removed the file between our open and our lock. Then this is a lock on a
    // deleted file, which does not exclude the next process.
    let ours = file.metadata().map(|found| found.ino());
    match (ours, fs::metadata(&path).map(|found| found.ino())) {
        (Ok(ours), Ok(named)) if ours == named => Ok(file),
        _ => Err(taken_error(place)),
    }
}

fn taken_error(place: &Path) -> Error {
    Error::new(
        ErrorKind::Locked,
        format!("another migration to {} is running", place.display()),
    )
    .with_hint("nothing was changed; wait until it has ended, then run this command again")
}

fn write_manifest(folder: &Path, manifest: &StageManifest) -> Result<()> {
    let path = folder.join(MANIFEST);
    let beside = folder.join(format!("{MANIFEST}.new"));
    let text = serde_json::to_vec(manifest).map_err(|cause| {
        Error::new(ErrorKind::Internal, "cannot write the manifest as JSON").caused_by(cause)
    })?;
    // A rename, so that a run killed here leaves the old manifest or the new one, never half of one.
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, &path))
        .map_err(|cause| io_error("write", &path, cause))
}

/// Removes the hidden folder if it holds no palace. A failure is ignored: the next run uses the folder.
fn remove_if_empty(folder: &Path) {
    if folder.join(PALACE).exists() {
        return;
    }
    // The lock goes last: once its file is gone another process may take the folder, and must keep its
    // manifest.
    for name in [MANIFEST, LOCK] {
        let _ = fs::remove_file(folder.join(name));
    }
    let _ = fs::remove_dir(folder);
}

/// Refuses an existing palace without a folder, unless this same work began it. Returns whether it did.
fn check_unstaged(request: &MigrateRequest<'_>, run: &str) -> Result<bool> {
    let BorrowedAddress {
        backend,
        reference: palace,
    } = request.to;
    let there = match backend.collections(palace) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        there => there?,
    };
    for info in &there {
        let opened = backend.open(palace, &info.name, &Default::default())?;
        let begun = super::copy::find_progress(opened.as_ref(), backend.descriptor())?;
        if !begun.is_some_and(|begun| begun.belongs_to_run(run)) {
            let message = format!("the palace {} already exists", palace.id);
            return Err(Error::new(ErrorKind::Conflict, message)
                .with_hint("nothing was changed; name another with --to"));
        }
    }
    Ok(!there.is_empty())
}

fn no_overwrite_error(request: &MigrateRequest<'_>) -> Error {
    let name = &request.to.backend.descriptor().name;
    Error::new(
        ErrorKind::Unsupported,
        format!("--overwrite is not supported: a palace of the backend {name:?} cannot be moved aside"),
    )
    .with_hint("nothing was changed; name a new palace with --to")
}

fn create_private_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|cause| io_error("create the folder", folder, cause))
}

/// Makes a rename durable. A disk that cannot is not a reason to fail.
fn sync_folder(folder: Option<&Path>) {
    if let Some(Ok(folder)) = folder.map(File::open) {
        let _ = folder.sync_all();
    }
}

fn io_error(doing: &str, path: &Path, cause: io::Error) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {doing} {}", path.display())).caused_by(cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_never_given_twice() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("p");
        let now = "2026-05-01T09:30:00.25Z".parse().unwrap();
        let first = free_name(&place, "replaced", now);
        assert_eq!(first, folder.path().join("p.replaced-20260501-093000"));
        fs::create_dir(&first).unwrap();
        assert_eq!(
            free_name(&place, "replaced", now),
            folder.path().join("p.replaced-20260501-093000-2")
        );
    }

    #[test]
    fn a_lock_is_for_one_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let held = lock_folder(folder.path(), Path::new("p")).unwrap();
        let second = lock_folder(folder.path(), Path::new("p")).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::Locked);
        drop(held);
        assert!(lock_folder(folder.path(), Path::new("p")).is_ok());
    }
}
