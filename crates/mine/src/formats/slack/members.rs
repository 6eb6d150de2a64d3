//! The files of an export by name, in a folder or in a zip. A name in a zip is never used as a path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

/// The size limit of a file, in bytes, enforced while reading: a zip may declare any size.
pub(super) const LARGEST: u64 = 256 << 20;

/// The number of bytes examined to recognise a file.
const BEGINNING: u64 = 64 << 10;

/// The files of an export.
pub(super) enum SlackFiles {
    /// Relative names and their paths.
    Folder(BTreeMap<String, PathBuf>),
    /// Relative names and their places in the archive.
    Zip(BTreeMap<String, usize>, Box<ZipArchive<BufReader<File>>>),
}

impl SlackFiles {
    /// Opens a folder or a zip; `None` if it is neither, or cannot be read.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let about = fs::symlink_metadata(path).ok()?;
        if about.is_dir() {
            return Some(Self::Folder(json_files_of(path)));
        }
        let ends = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
        if !about.is_file() || !ends {
            return None;
        }
        let mut archive = ZipArchive::new(BufReader::new(File::open(path).ok()?)).ok()?;
        let names = file_names_of(&mut archive);
        Some(Self::Zip(without_outer_folder(names), Box::new(archive)))
    }

    /// Returns all names.
    pub(super) fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Folder(files) => Box::new(files.keys().map(String::as_str)),
            Self::Zip(names, _) => Box::new(names.keys().map(String::as_str)),
        }
    }

    /// Returns whether the export has this file.
    pub(super) fn has_file(&self, name: &str) -> bool {
        match self {
            Self::Folder(files) => files.contains_key(name),
            Self::Zip(names, _) => names.contains_key(name),
        }
    }

    /// Returns the files on disk that hold these names: one each in a folder, the archive itself for a zip.
    pub(super) fn source_paths(&self, root: &Path, names: impl Iterator<Item = String>) -> Vec<PathBuf> {
        match self {
            Self::Folder(files) => names.filter_map(|name| files.get(&name).cloned()).collect(),
            Self::Zip(..) => vec![root.to_owned()],
        }
    }

    /// Returns the text of a file, or the reason why it cannot be read.
    pub(super) fn read(&mut self, name: &str) -> Result<String, String> {
        self.read_up_to(name, LARGEST)
    }

    /// Reads a file of at most `largest` bytes.
    pub(super) fn read_up_to(&mut self, name: &str, largest: u64) -> Result<String, String> {
        // One byte more than allowed, to tell a file of exactly the limit from a longer one.
        let bytes = self.read_bytes(name, largest + 1)?;
        if bytes.len() as u64 > largest {
            return Err(format!("it is larger than {largest} bytes"));
        }
        String::from_utf8(bytes).map_err(|error| format!("it is not UTF-8 ({})", error.utf8_error()))
    }

    /// Returns the beginning of a file, if it can be read.
    pub(super) fn read_beginning(&mut self, name: &str) -> Option<String> {
        let bytes = self.read_bytes(name, BEGINNING).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn read_bytes(&mut self, name: &str, most: u64) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let read = match self {
            Self::Folder(files) => {
                let path = files.get(name).ok_or("it is not there")?;
                let file = File::open(path).map_err(|error| error.to_string())?;
                file.take(most).read_to_end(&mut bytes)
            }
            Self::Zip(names, archive) => {
                let place = *names.get(name).ok_or("it is not there")?;
                let file = archive.by_index(place).map_err(|error| error.to_string())?;
                file.take(most).read_to_end(&mut bytes)
            }
        };
        read.map(|_| bytes).map_err(|error| error.to_string())
    }
}

/// Returns the JSON files of a folder and of the folders in it. Links are not followed.
fn json_files_of(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for (name, path, is_folder) in list_entries(root) {
        if is_folder {
            let inner = list_entries(&path)
                .into_iter()
                .filter(|(inner, _, folder)| !folder && inner.ends_with(".json"));
            found.extend(inner.map(|(inner, path, _)| (format!("{name}/{inner}"), path)));
        } else if name.ends_with(".json") {
            found.insert(name, path);
        }
    }
    found
}

/// Returns the files and folders in a folder: name, path, whether it is a folder.
fn list_entries(folder: &Path) -> Vec<(String, PathBuf, bool)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let known = entries.flatten().filter_map(|entry| {
        let kind = entry.file_type().ok()?;
        let name = entry.file_name().into_string().ok()?;
        (kind.is_dir() || kind.is_file()).then(|| (name, entry.path(), kind.is_dir()))
    });
    known.collect()
}

/// Returns the names of an archive's files. Slack writes UTF-8 names without setting the flag for it.
fn file_names_of(archive: &mut ZipArchive<BufReader<File>>) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for place in 0..archive.len() {
        let Ok(file) = archive.by_index_raw(place) else {
            continue;
        };
        let name = match std::str::from_utf8(file.name_raw()) {
            Ok(name) => name.to_owned(),
            Err(_) => file.name().map(Cow::into_owned).unwrap_or_default(),
        };
        // macOS stores resource forks under the same names in a folder of its own.
        if file.is_file() && !name.starts_with("__MACOSX/") {
            // An archive may hold a name twice; the first one counts.
            names.entry(name).or_insert(place);
        }
    }
    names
}

/// Removes the outer folder from the names, if the export was zipped as one folder.
fn without_outer_folder(names: BTreeMap<String, usize>) -> BTreeMap<String, usize> {
    let outer = |list: &str| {
        let holders = names
            .keys()
            .filter_map(|name| name.strip_suffix(list))
            .filter(|outer| outer.ends_with('/'));
        holders.min_by_key(|outer| outer.len()).map(str::to_owned)
    };
    if names.contains_key("users.json") || names.contains_key("channels.json") {
        return names;
    }
    match outer("users.json").or_else(|| outer("channels.json")) {
        Some(outer) => {
            let inside = names
                .iter()
                .filter_map(|(name, place)| Some((name.strip_prefix(&outer)?.to_owned(), *place)));
            inside.collect()
        }
        None => names,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;

    #[test]
    fn a_file_in_a_zip_is_read_no_further_than_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("bomb.zip");
        let mut writer = ZipWriter::new(File::create(&path).unwrap());
        writer
            .start_file("../../a/2024-01-01.json", SimpleFileOptions::default())
            .unwrap();
        writer.write_all(&[b' '; 5_000_000]).unwrap();
        writer.finish().unwrap();
        assert!(fs::metadata(&path).unwrap().len() < 50_000, "the zip is small");
        let mut members = SlackFiles::open(&path).unwrap();
        let names: Vec<String> = members.names().map(str::to_owned).collect();
        assert_eq!(names, ["../../a/2024-01-01.json"], "a name is a name");
        assert!(
            members
                .read_up_to(&names[0], 4_999_999)
                .unwrap_err()
                .contains("larger")
        );
        assert_eq!(members.read_up_to(&names[0], 5_000_000).unwrap().len(), 5_000_000);
    }
}
