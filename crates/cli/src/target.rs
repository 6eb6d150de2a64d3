//! A file that appears only when it is whole.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};

use crate::errors;

/// A file being written beside its place; [`OutputFile::finish`] puts it there, dropping it takes it away.
pub(crate) struct OutputFile {
    writer: BufWriter<File>,
    place: PathBuf,
    /// The unfinished file; `None` once it is in its place, or where the place is a device and written directly.
    partial: Option<PathBuf>,
    /// Whether a file that is already at the place stays.
    is_new: bool,
}

impl OutputFile {
    /// Starts a file that will replace the regular file at `place`, if there is one.
    pub(crate) fn create(place: &Path) -> Result<Self> {
        Self::create_with(place, 0o666)
    }

    /// The same for a file that only its owner may read.
    pub(crate) fn create_private(place: &Path) -> Result<Self> {
        Self::create_with(place, 0o600)
    }

    /// The same for a place where no file may be yet, nor when this one is finished.
    pub(crate) fn create_new_private(place: &Path) -> Result<Self> {
        if place.is_file() {
            return Err(existing_file(place));
        }
        let mut created = Self::create_private(place)?;
        created.is_new = true;
        Ok(created)
    }

    fn create_with(place: &Path, mode: u32) -> Result<Self> {
        use std::os::unix::fs::OpenOptionsExt;
        let wrong = |cause| errors::io_error(format!("cannot write {}", place.display()), cause);
        let place = match fs::canonicalize(place) {
            Ok(real) => real,
            Err(_) => std::path::absolute(place).map_err(wrong)?,
        };
        // Devices and pipes cannot be replaced, only written to.
        let special = fs::metadata(&place).is_ok_and(|found| !found.is_file());
        let (file, partial) = if special {
            (File::options().write(true).open(&place), None)
        } else {
            let partial = partial_path(&place);
            let mut options = File::options();
            let file = options.write(true).create_new(true).mode(mode).open(&partial);
            (file, Some(partial))
        };
        Ok(Self {
            writer: BufWriter::with_capacity(1 << 16, file.map_err(wrong)?),
            place,
            partial,
            is_new: false,
        })
    }

    /// Writes one line.
    pub(crate) fn line(&mut self, text: &str) -> Result<()> {
        self.text(text)?;
        self.text("\n")
    }

    /// Writes a text as it is.
    pub(crate) fn text(&mut self, text: &str) -> Result<()> {
        let written = self.writer.write_all(text.as_bytes());
        written.map_err(|cause| errors::io_error(format!("cannot write {}", self.place.display()), cause))
    }

    /// Makes the file durable and puts it in its place.
    pub(crate) fn finish(mut self) -> Result<PathBuf> {
        let wrong = |cause| errors::io_error(format!("cannot write {}", self.place.display()), cause);
        self.writer.flush().map_err(wrong)?;
        if let Some(partial) = self.partial.take() {
            let synced = self.writer.get_ref().sync_all();
            let moved = synced.and_then(|()| self.put_in_place(&partial));
            if let Err(cause) = moved {
                self.partial = Some(partial);
                return Err(match cause.kind() {
                    io::ErrorKind::AlreadyExists => existing_file(&self.place),
                    _ => wrong(cause),
                });
            }
            sync_folder(&self.place);
        }
        Ok(self.place.clone())
    }

    fn put_in_place(&self, partial: &Path) -> io::Result<()> {
        if !self.is_new {
            return fs::rename(partial, &self.place);
        }
        // A link never replaces a file, also not one that was made while this one was written.
        match fs::hard_link(partial, &self.place) {
            Ok(()) => fs::remove_file(partial),
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Err(cause),
            // Not every disk has links.
            Err(_) if self.place.exists() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => fs::rename(partial, &self.place),
        }
    }
}

fn existing_file(place: &Path) -> Error {
    Error::new(ErrorKind::Conflict, format!("{} already exists", place.display()))
        .with_hint("nothing was written; name another file, or replace this one with --force")
}

impl Drop for OutputFile {
    fn drop(&mut self) {
        if let Some(partial) = &self.partial {
            // A leftover that cannot be removed is harmless: it is not at the place of the whole file.
            let _ = fs::remove_file(partial);
        }
    }
}

fn partial_path(place: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(place.file_name().unwrap_or_default());
    name.push(format!(".{}.partial", std::process::id()));
    place.with_file_name(name)
}

/// Makes the new name durable where folders can be synced.
fn sync_folder(place: &Path) {
    if let Some(folder) = place.parent() {
        let _ = File::open(folder).and_then(|folder| folder.sync_all());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(folder: &Path) -> Vec<OsString> {
        fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect()
    }

    #[test]
    fn a_file_appears_only_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("out");
        fs::write(&place, "old").unwrap();
        let mut target = OutputFile::create(&place).unwrap();
        target.line("new").unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "old");
        target.finish().unwrap();
        assert_eq!(fs::read_to_string(&place).unwrap(), "new\n");
        assert_eq!(names(folder.path()), ["out"]);
    }

    #[test]
    fn a_new_file_never_replaces_another_not_even_one_made_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("out");
        let mut target = OutputFile::create_new_private(&place).unwrap();
        target.text("mine").unwrap();
        fs::write(&place, "theirs").unwrap();
        assert_eq!(target.finish().unwrap_err().kind(), ErrorKind::Conflict);
        assert!(OutputFile::create_new_private(&place).is_err());
        assert_eq!(fs::read_to_string(&place).unwrap(), "theirs");
        assert_eq!(names(folder.path()), ["out"]);
        let other = folder.path().join("other");
        OutputFile::create_new_private(&other).unwrap().finish().unwrap();
        assert_eq!(names(folder.path()).len(), 2);
    }

    #[test]
    fn a_file_that_is_given_up_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let mut target = OutputFile::create(&folder.path().join("out")).unwrap();
        target.line("half").unwrap();
        drop(target);
        assert!(names(folder.path()).is_empty());
    }
}
