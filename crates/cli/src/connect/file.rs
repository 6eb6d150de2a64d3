//! A tool's config as a file: read and checked before anything is changed, then replaced as a whole.

use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::{Read as _, Write as _};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use rustix::fs::Access;

use crate::errors;

/// A config beyond this is refused.
const LARGEST: u64 = 16 << 20;
/// So many links are followed.
const LINKS: usize = 40;
/// What every refusal says last.
const UNTOUCHED: &str = "nothing was changed in any file";

/// A config as it is now.
#[derive(Debug)]
pub(super) struct Current {
    /// Where it really lies, behind all links.
    real: PathBuf,
    /// What it says; `None` if it is not there.
    pub(super) text: Option<String>,
}

impl Current {
    /// Reads the config at `path` and makes sure that it can be replaced.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let real = behind_links(path)?;
        let text = match fs::metadata(&real) {
            Ok(found) => {
                check(path, &found)?;
                Some(text_of(path, &real)?)
            }
            Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => None,
            Err(cause) => return Err(refused(path, "cannot be looked at").caused_by(cause)),
        };
        check_folder(path, &real)?;
        Ok(Self { real, text })
    }

    /// What it was before our entries came into it, where that was kept.
    pub(super) fn original(&self) -> Option<String> {
        let kept = self.backup();
        let found = fs::symlink_metadata(&kept).ok()?;
        match found.is_file() && found.len() <= LARGEST {
            true => fs::read_to_string(kept).ok(),
            false => None,
        }
    }

    /// Drops the kept copy, if the config says that again.
    pub(super) fn forget(&self, after: Option<&str>) {
        if after.is_some() && self.original().as_deref() == after {
            // One that cannot be removed does no harm.
            let _ = fs::remove_file(self.backup());
        }
    }

    fn backup(&self) -> PathBuf {
        let mut name = OsString::from(self.real.file_name().unwrap_or_default());
        name.push(".loci-backup");
        self.real.with_file_name(name)
    }

    /// Whether the file still says what was read.
    fn is_unchanged(&self) -> bool {
        match (fs::read(&self.real), &self.text) {
            (Ok(bytes), Some(text)) => bytes == text.as_bytes(),
            (Err(cause), None) => cause.kind() == std::io::ErrorKind::NotFound,
            _ => false,
        }
    }
}

/// The file a path means, every link followed, also where the last one leads nowhere yet.
fn behind_links(path: &Path) -> Result<PathBuf> {
    let mut real = path.to_owned();
    for _ in 0..LINKS {
        match fs::read_link(&real) {
            Ok(target) => real = real.parent().unwrap_or(Path::new("/")).join(target),
            Err(_) => return Ok(fs::canonicalize(&real).unwrap_or(real)),
        }
    }
    Err(refused(path, "is a link that leads to itself"))
}

fn check(path: &Path, found: &Metadata) -> Result<()> {
    if found.is_dir() {
        return Err(refused(path, "is a folder, where a config should be"));
    }
    if !found.is_file() {
        return Err(refused(path, "is no regular file"));
    }
    if found.len() > LARGEST {
        return Err(refused(path, "is larger than 16 MB; that is no config"));
    }
    if found.permissions().readonly() {
        return Err(refused(path, "is read-only"));
    }
    check_owner(path, found)
}

/// A file that is replaced would change its owner.
fn check_owner(path: &Path, found: &Metadata) -> Result<()> {
    match found.uid() == rustix::process::geteuid().as_raw() {
        true => Ok(()),
        false => Err(refused(
            path,
            &format!("belongs to another user ({})", found.uid()),
        )),
    }
}

/// The new file is made beside the old one, in a folder that must let us.
fn check_folder(path: &Path, real: &Path) -> Result<()> {
    let there = real.ancestors().skip(1).find(|folder| folder.exists());
    let folder = there.unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        return Err(refused(
            path,
            &format!("cannot be made: {} is no folder", folder.display()),
        ));
    }
    match rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Ok(()) => Ok(()),
        Err(_) => Err(refused(
            path,
            &format!(
                "cannot be replaced: nothing may be written to {}",
                folder.display()
            ),
        )),
    }
}

fn text_of(path: &Path, real: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let read = File::open(real).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|cause| refused(path, "cannot be read").caused_by(cause))?;
    String::from_utf8(bytes).map_err(|_| malformed(path, "is not UTF-8"))
}

/// The error of a config that is not of the shape its tool reads.
pub(super) fn malformed(path: &Path, what: &str) -> Error {
    wrong(ErrorKind::Format, path, what)
}

/// The error of a file that cannot be replaced.
fn refused(path: &Path, what: &str) -> Error {
    wrong(ErrorKind::Io, path, what)
}

fn wrong(kind: ErrorKind, path: &Path, what: &str) -> Error {
    Error::new(kind, format!("{} {what}", path.display()))
        .with("file", path.display())
        .hint(format!("{UNTOUCHED}; `--print` prints what to paste by hand"))
}

/// A new state of a config, written beside it and not yet in its place.
pub(super) struct Prepared<'a> {
    current: &'a Current,
    /// The file beside it; `None` if the config is to go.
    partial: Option<PathBuf>,
}

impl<'a> Prepared<'a> {
    /// Writes the new state beside the config, with the rights the config has.
    pub(super) fn write(current: &'a Current, after: Option<&'a str>) -> Result<Self> {
        let mut prepared = Self {
            current,
            partial: None,
        };
        if let Some(after) = after {
            let folder = current.real.parent().unwrap_or(Path::new("/"));
            fs::create_dir_all(folder)
                .map_err(|cause| errors::io(format!("cannot make {}", folder.display()), cause))?;
            prepared.partial = Some(beside(&current.real, after, &current.real)?);
        }
        Ok(prepared)
    }

    /// Keeps a copy of what the config says now.
    pub(super) fn keep(&self) -> Result<()> {
        let Some(text) = &self.current.text else {
            return Ok(());
        };
        let backup = self.current.backup();
        let partial = beside(&backup, text, &self.current.real)?;
        fs::rename(&partial, &backup).map_err(|cause| {
            let _ = fs::remove_file(&partial);
            errors::io(format!("cannot keep a copy at {}", backup.display()), cause)
        })
    }

    /// Puts the new state in the place of the old one. False if somebody changed the config since it was read.
    pub(super) fn place(mut self) -> Result<bool> {
        if !self.current.is_unchanged() {
            return Ok(false);
        }
        let real = &self.current.real;
        let placed = match self.partial.take() {
            Some(partial) => fs::rename(&partial, real).inspect_err(|_| {
                let _ = fs::remove_file(&partial);
            }),
            None => fs::remove_file(real),
        };
        placed.map_err(|cause| {
            errors::io(format!("cannot write {}", real.display()), cause)
                .hint("this file is as it was; type the same again, or take out what was written with --undo")
        })?;
        if let Some(folder) = real.parent() {
            // A folder that cannot be synced still holds the new file.
            let _ = File::open(folder).and_then(|folder| folder.sync_all());
        }
        Ok(true)
    }
}

impl Drop for Prepared<'_> {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            let _ = fs::remove_file(partial);
        }
    }
}

/// Writes a file beside `place`, with the rights of `like` if that is there, and makes it durable.
fn beside(place: &Path, text: &str, like: &Path) -> Result<PathBuf> {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    let partial = place.with_file_name(name);
    let written = fill(&partial, text, fs::metadata(like).ok());
    written.map_err(|cause| {
        let _ = fs::remove_file(&partial);
        errors::io(format!("cannot write beside {}", place.display()), cause)
            .hint("the file itself is as it was")
    })?;
    Ok(partial)
}

fn fill(partial: &Path, text: &str, like: Option<Metadata>) -> std::io::Result<()> {
    // One that is there was left behind by a process that died.
    let _ = fs::remove_file(partial);
    let mut options = File::options();
    options.write(true).create_new(true);
    // What is copied may be secret, so nobody else reads it before it has the rights it is to have.
    if like.is_some() {
        options.mode(0o600);
    }
    let mut file = options.open(partial)?;
    if let Some(like) = like {
        file.set_permissions(like.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
