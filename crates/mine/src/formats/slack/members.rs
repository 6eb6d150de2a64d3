//! The files of an export by their names in it, in a folder or in a zip. A name in a zip never becomes a path.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;

/// The largest file that is read, in bytes: a zip can claim any size and hold another.
pub(super) const LARGEST: u64 = 256 << 20;

/// How much of a file shows what it is.
const BEGINNING: u64 = 64 << 10;

/// The files of an export.
pub(super) enum Members {
    /// Relative names and where they lie.
    Folder(BTreeMap<String, PathBuf>),
    /// Relative names and their places in the archive.
    Zip(BTreeMap<String, usize>, Box<ZipArchive<BufReader<File>>>),
}

impl Members {
    /// Opens a folder or a zip; `None` if it is neither, or cannot be read.
    pub(super) fn open(path: &Path) -> Option<Self> {
        let about = fs::symlink_metadata(path).ok()?;
        if about.is_dir() {
            return Some(Self::Folder(files_of(path)));
        }
        let ends = path
            .extension()
            .is_some_and(|ending| ending.eq_ignore_ascii_case("zip"));
        if !about.is_file() || !ends {
            return None;
        }
        let mut archive = ZipArchive::new(BufReader::new(File::open(path).ok()?)).ok()?;
        let names = names_of(&mut archive);
        Some(Self::Zip(without_outer_folder(names), Box::new(archive)))
    }

    /// Every name.
    pub(super) fn names(&self) -> Box<dyn Iterator<Item = &str> + '_> {
        match self {
            Self::Folder(files) => Box::new(files.keys().map(String::as_str)),
            Self::Zip(names, _) => Box::new(names.keys().map(String::as_str)),
        }
    }

    /// Whether a file is there.
    pub(super) fn has(&self, name: &str) -> bool {
        match self {
            Self::Folder(files) => files.contains_key(name),
            Self::Zip(names, _) => names.contains_key(name),
        }
    }

    /// The files these names stand for on the disk: each its own in a folder, the one archive for a zip.
    pub(super) fn paths(&self, root: &Path, names: impl Iterator<Item = String>) -> Vec<PathBuf> {
        match self {
            Self::Folder(files) => names.filter_map(|name| files.get(&name).cloned()).collect(),
            Self::Zip(..) => vec![root.to_owned()],
        }
    }

    /// The text of a file, or why there is none.
    pub(super) fn read(&mut self, name: &str) -> Result<String, String> {
        self.read_up_to(name, LARGEST)
    }

    fn read_up_to(&mut self, name: &str, largest: u64) -> Result<String, String> {
        let bytes = self.bytes(name, largest + 1)?;
        if bytes.len() as u64 > largest {
            return Err(format!("it is larger than {largest} bytes"));
        }
        String::from_utf8(bytes).map_err(|error| format!("it is no UTF-8 ({})", error.utf8_error()))
    }

    /// How a file begins, if it can be read.
    pub(super) fn beginning(&mut self, name: &str) -> Option<String> {
        let bytes = self.bytes(name, BEGINNING).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn bytes(&mut self, name: &str, most: u64) -> Result<Vec<u8>, String> {
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

/// The JSON files of a folder and of the folders in it. Links are not followed.
fn files_of(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut found = BTreeMap::new();
    for (name, path, is_folder) in entries(root) {
        if is_folder {
            let inner = entries(&path)
                .into_iter()
                .filter(|(inner, _, folder)| !folder && inner.ends_with(".json"));
            found.extend(inner.map(|(inner, path, _)| (format!("{name}/{inner}"), path)));
        } else if name.ends_with(".json") {
            found.insert(name, path);
        }
    }
    found
}

/// Files and folders in a folder: name, path, whether it is a folder.
fn entries(folder: &Path) -> Vec<(String, PathBuf, bool)> {
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

/// The names of an archive's files. Slack writes UTF-8 without saying so.
fn names_of(archive: &mut ZipArchive<BufReader<File>>) -> BTreeMap<String, usize> {
    let mut names = BTreeMap::new();
    for place in 0..archive.len() {
        let Ok(file) = archive.by_index_raw(place) else {
            continue;
        };
        let name = match std::str::from_utf8(file.name_raw()) {
            Ok(name) => name.to_owned(),
            Err(_) => file.name().map(Cow::into_owned).unwrap_or_default(),
        };
        if file.is_file() && !name.starts_with("__MACOSX/") {
            names.entry(name).or_insert(place);
        }
    }
    names
}

/// The names below the folder that holds the lists, where the whole export was zipped as one folder.
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
        let mut members = Members::open(&path).unwrap();
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
