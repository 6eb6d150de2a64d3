//! Where the target is built: in a hidden folder beside its place, or directly where it has no folder.
//!
//! The hidden folder holds a lock, a manifest that says whose work it is, and the palace. The lock is the kernel's, so
//! that it goes with the process that holds it, however that ends.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use loci_core::{Capability, EmbedderIdentity, Error, ErrorKind, PalaceRef, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::record::Flags;
use super::{MigrateRequest, Step, paths};
use loci_engine::palace::BorrowedAddress;

const LOCK: &str = "lock";
const MANIFEST: &str = "migration.json";
const PALACE: &str = "palace";

/// Where the target is built.
#[derive(Debug)]
pub(super) struct Target {
    /// The palace that is written to.
    palace: PalaceRef,
    /// The hidden folder, where the target has a folder of its own.
    stage: Option<Stage>,
    manifest: Option<Manifest>,
    resumed: bool,
}

#[derive(Debug)]
struct Stage {
    folder: PathBuf,
    /// Where the palace goes once it is whole.
    place: PathBuf,
    _lock: File,
}

/// Whose work a hidden folder holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Manifest {
    from: String,
    backend: String,
    to_backend: String,
    flags: Flags,
    embedder: Option<EmbedderIdentity>,
    fingerprint: String,
    started_at: Timestamp,
}

impl Manifest {
    fn of(request: &MigrateRequest<'_>, fingerprint: &str) -> Self {
        Self {
            from: request.from.reference.id.clone(),
            backend: request.from.backend.descriptor().name.clone(),
            to_backend: request.to.backend.descriptor().name.clone(),
            // What becomes of the old palace is decided at the very end.
            flags: Flags {
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

    /// Whether `other` is the same work, whenever it began.
    fn is_work_of(&self, other: &Self) -> bool {
        self.run() == other.run()
    }

    /// A digest that work of the same request on the same source shares.
    fn run(&self) -> String {
        let text = format!(
            "{} {} {} {:?} {:?} {}",
            self.from, self.backend, self.to_backend, self.flags, self.embedder, self.fingerprint
        );
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }
}

impl Target {
    /// Takes the place for this process alone. Refuses one that is taken, and one where something stands already.
    pub(super) fn reserve(request: &MigrateRequest<'_>) -> Result<Self> {
        let BorrowedAddress {
            backend,
            reference: palace,
        } = request.to;
        let folder = palace.local_path.as_ref();
        let Some(place) = folder.filter(|_| backend.descriptor().can(&Capability::Local)) else {
            if request.flags.overwrite {
                return Err(cannot_move_aside(request));
            }
            return Ok(Self {
                palace: palace.clone(),
                stage: None,
                manifest: None,
                resumed: false,
            });
        };
        let place = paths::real(place);
        check_place(&place, request.flags.overwrite)?;
        let folder = hidden(&place)?;
        make_private(&folder)?;
        let lock = lock(&folder, &place)?;
        // Whoever held the lock before may have finished meanwhile.
        check_place(&place, request.flags.overwrite).inspect_err(|_| forget(&folder))?;
        Ok(Self {
            palace: PalaceRef {
                namespace: palace.namespace.clone(),
                ..PalaceRef::local(folder.join(PALACE))
            },
            stage: Some(Stage {
                folder,
                place,
                _lock: lock,
            }),
            manifest: None,
            resumed: false,
        })
    }

    /// Goes on with what an earlier run of the same request began; what another began is moved aside.
    pub(super) fn prepare(
        &mut self,
        request: &MigrateRequest<'_>,
        fingerprint: &str,
        watch: &mut dyn FnMut(Step<'_>),
    ) -> Result<()> {
        let mut manifest = Manifest::of(request, fingerprint);
        let Some(stage) = &self.stage else {
            self.resumed = check_direct(request, &manifest.run())?;
            self.manifest = Some(manifest);
            return Ok(());
        };
        let begun = fs::read(stage.folder.join(MANIFEST)).ok();
        let begun = begun.and_then(|text| serde_json::from_slice::<Manifest>(&text).ok());
        match begun.filter(|begun| begun.is_work_of(&manifest)) {
            Some(begun) => {
                self.resumed = stage.folder.join(PALACE).exists();
                manifest.started_at = begun.started_at;
            }
            None if stage.folder.join(PALACE).exists() => {
                let aside = stage.set_aside(request.now)?;
                watch(Step::SetAside(&aside));
            }
            None => {}
        }
        write_manifest(&stage.folder, &manifest)?;
        self.manifest = Some(manifest);
        watch(Step::Staged {
            folder: &stage.folder,
            resumed: self.resumed,
        });
        Ok(())
    }

    /// The palace that is written to.
    pub(super) fn palace(&self) -> &PalaceRef {
        &self.palace
    }

    /// Whether an earlier run had begun it.
    pub(super) fn resumed(&self) -> bool {
        self.resumed
    }

    /// When the first run of this request began.
    pub(super) fn started_at(&self) -> Option<Timestamp> {
        self.manifest.as_ref().map(|manifest| manifest.started_at)
    }

    /// What batches of this work are marked with.
    pub(super) fn run(&self) -> String {
        self.manifest.as_ref().map(Manifest::run).unwrap_or_default()
    }

    /// Puts the palace in its place; where the old one is then, if there was one.
    pub(super) fn settle(&self, request: &MigrateRequest<'_>) -> Result<Option<PathBuf>> {
        let BorrowedAddress {
            backend,
            reference: palace,
        } = request.to;
        backend.close_palace(&self.palace);
        let Some(stage) = &self.stage else {
            return Ok(None);
        };
        check_place(&stage.place, request.flags.overwrite)?;
        backend.close_palace(palace);
        let old = stage.clear_place(request.now)?;
        let built = stage.folder.join(PALACE);
        if let Err(cause) = fs::rename(&built, &stage.place) {
            if let Some(old) = &old {
                let _ = fs::rename(old, &stage.place);
            }
            return Err(failed("put the palace in its place at", &stage.place, cause));
        }
        sync_folder(stage.place.parent());
        Ok(old)
    }

    /// In words, where what was built lies.
    pub(super) fn built_at(&self) -> String {
        match &self.stage {
            Some(stage) => format!(
                "nothing was put at its place; what was built lies in {}",
                stage.folder.display()
            ),
            None => "what was built is marked as unfinished".to_owned(),
        }
    }
}

impl Drop for Stage {
    /// What was built stays for the next run; without it, nothing is left beside the place.
    fn drop(&mut self) {
        forget(&self.folder);
    }
}

impl Stage {
    /// Moves what lies in the place aside; an empty folder is taken away.
    fn clear_place(&self, now: Timestamp) -> Result<Option<PathBuf>> {
        if fs::symlink_metadata(&self.place).is_err() {
            return Ok(None);
        }
        if is_empty_folder(&self.place) {
            fs::remove_dir(&self.place)
                .map_err(|cause| failed("take away the empty folder", &self.place, cause))?;
            return Ok(None);
        }
        let aside = free_name(&self.place, "replaced", now);
        fs::rename(&self.place, &aside).map_err(|cause| failed("move aside", &self.place, cause))?;
        Ok(Some(aside))
    }

    /// Moves what an earlier run built out of the way.
    fn set_aside(&self, now: Timestamp) -> Result<PathBuf> {
        let aside = free_name(&self.folder, "stale", now);
        let built = self.folder.join(PALACE);
        fs::rename(&built, &aside).map_err(|cause| failed("move aside", &built, cause))?;
        Ok(aside)
    }
}

/// Refuses a place where something stands, unless it may be moved aside.
fn check_place(place: &Path, overwrite: bool) -> Result<()> {
    let Ok(found) = fs::symlink_metadata(place) else {
        return Ok(());
    };
    if !found.is_dir() {
        return Err(
            Error::invalid(format!("{} is no folder; a palace is one", place.display()))
                .hint("nothing was changed; name another place with --to"),
        );
    }
    if overwrite || is_empty_folder(place) {
        return Ok(());
    }
    Err(
        Error::new(ErrorKind::Conflict, format!("there is something at {} already", place.display()))
            .hint("nothing was changed; name another place with --to, or add --overwrite, which moves the old one aside"),
    )
}

fn is_empty_folder(place: &Path) -> bool {
    fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none())
}

/// The hidden folder beside a place.
fn hidden(place: &Path) -> Result<PathBuf> {
    let name = place.file_name().ok_or_else(|| {
        Error::invalid(format!("{} is no place for a palace", place.display()))
            .hint("name a folder with --to")
    })?;
    Ok(place.with_file_name(format!(".{}.migrating", name.to_string_lossy())))
}

/// `PATH.WHAT-YYYYMMDD-HHMMSS`, with a number behind it where that is taken.
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

/// Takes the lock of a hidden folder, or says that somebody else has it.
fn lock(folder: &Path, place: &Path) -> Result<File> {
    use std::os::unix::fs::MetadataExt;
    let path = folder.join(LOCK);
    let file = File::create(&path).map_err(|cause| match cause.kind() {
        // Whoever had it took the folder away just now.
        io::ErrorKind::NotFound => taken(place),
        _ => failed("make", &path, cause),
    })?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(taken(place)),
        Err(TryLockError::Error(cause)) => return Err(failed("lock", &path, cause)),
    }
    // Whoever had it before may have taken the file away in between: then this is a lock on nothing.
    let ours = file.metadata().map(|found| found.ino());
    match (ours, fs::metadata(&path).map(|found| found.ino())) {
        (Ok(ours), Ok(named)) if ours == named => Ok(file),
        _ => Err(taken(place)),
    }
}

fn taken(place: &Path) -> Error {
    Error::new(
        ErrorKind::Locked,
        format!("another migration to {} is under way", place.display()),
    )
    .hint("nothing was changed; wait until it has ended, and run this again")
}

fn write_manifest(folder: &Path, manifest: &Manifest) -> Result<()> {
    let path = folder.join(MANIFEST);
    let beside = folder.join(format!("{MANIFEST}.new"));
    let text = serde_json::to_vec(manifest).map_err(|cause| {
        Error::new(ErrorKind::Internal, "a manifest cannot be written as JSON").caused_by(cause)
    })?;
    fs::write(&beside, text)
        .and_then(|()| fs::rename(&beside, &path))
        .map_err(|cause| failed("write", &path, cause))
}

/// Takes the hidden folder away once nothing of worth is in it; that it cannot stops nothing.
fn forget(folder: &Path) {
    if folder.join(PALACE).exists() {
        return;
    }
    for name in [MANIFEST, LOCK] {
        let _ = fs::remove_file(folder.join(name));
    }
    let _ = fs::remove_dir(folder);
}

/// Refuses to fill a palace without a folder that is there already, unless this very work began it.
fn check_direct(request: &MigrateRequest<'_>, run: &str) -> Result<bool> {
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
        let begun = super::copy::progress(opened.as_ref(), backend.descriptor())?;
        if !begun.is_some_and(|begun| begun.is_of(run)) {
            let message = format!("the palace {} is there already", palace.id);
            return Err(
                Error::new(ErrorKind::Conflict, message).hint("nothing was changed; name another with --to")
            );
        }
    }
    Ok(!there.is_empty())
}

fn cannot_move_aside(request: &MigrateRequest<'_>) -> Error {
    let name = &request.to.backend.descriptor().name;
    Error::new(
        ErrorKind::Unsupported,
        format!("a palace of the backend {name:?} cannot be moved aside"),
    )
    .hint("nothing was changed; name a new palace with --to")
}

fn make_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|cause| failed("make the folder", folder, cause))
}

/// Makes a rename durable; a disk that cannot is no reason to fail.
fn sync_folder(folder: Option<&Path>) {
    if let Some(Ok(folder)) = folder.map(File::open) {
        let _ = folder.sync_all();
    }
}

fn failed(doing: &str, path: &Path, cause: io::Error) -> Error {
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
        let held = lock(folder.path(), Path::new("p")).unwrap();
        let second = lock(folder.path(), Path::new("p")).unwrap_err();
        assert_eq!(second.kind(), ErrorKind::Locked);
        drop(held);
        assert!(lock(folder.path(), Path::new("p")).is_ok());
    }
}
