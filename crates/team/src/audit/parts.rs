//! The files of an audit log: `audit.log` is written to, `audit.1.log` and so on are full, the oldest first.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use loci_core::Result;

use crate::private_file::{file_error, folder_of};

/// One file of a log, opened to be read.
#[derive(Debug)]
pub(super) struct OpenedPart {
    pub(super) path: PathBuf,
    pub(super) file: File,
}

/// Returns the path of the `number`-th full file of the log at `path`: `audit.3.log` for `audit.log`.
pub(super) fn part_path(path: &Path, number: u64) -> PathBuf {
    let (stem, ending) = split_name(path);
    path.with_file_name(format!("{stem}.{number}{ending}"))
}

/// Returns the numbers of the full files of the log at `path`, ascending.
pub(super) fn list_parts(path: &Path) -> Result<Vec<u64>> {
    let (stem, ending) = split_name(path);
    let folder = folder_of(path);
    let entries = match fs::read_dir(folder) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|cause| file_error("list", folder, cause))?,
    };
    let mut numbers = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|cause| file_error("list", folder, cause))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let digits = name
            .strip_prefix(&format!("{stem}."))
            .and_then(|rest| rest.strip_suffix(&ending));
        let number = digits.and_then(|digits| digits.parse().ok());
        // Only the exact spelling: `audit.01.log` would be another file than the one that is opened.
        numbers.extend(number.filter(|number: &u64| Some(number.to_string().as_str()) == digits));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Opens every file of the log at `path`, the oldest first. A file that becomes full meanwhile is there once.
pub(super) fn open_parts(path: &Path) -> Result<Vec<OpenedPart>> {
    // The current file first: if it becomes full after that, it turns up again among the numbered ones.
    let current = open_part(path.to_path_buf())?;
    let current_id = current.as_ref().map(OpenedPart::id).transpose()?;
    let mut parts = Vec::new();
    for number in list_parts(path)? {
        let Some(part) = open_part(part_path(path, number))? else {
            continue;
        };
        if current_id.is_some() && Some(part.id()?) == current_id {
            break;
        }
        parts.push(part);
    }
    parts.extend(current);
    Ok(parts)
}

impl OpenedPart {
    fn id(&self) -> Result<(u64, u64)> {
        let metadata = self
            .file
            .metadata()
            .map_err(|cause| file_error("look at", &self.path, cause))?;
        Ok((metadata.dev(), metadata.ino()))
    }
}

fn open_part(path: PathBuf) -> Result<Option<OpenedPart>> {
    match File::open(&path) {
        Ok(file) => Ok(Some(OpenedPart { path, file })),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(file_error("read", &path, cause)),
    }
}

/// Splits `audit.log` into `audit` and `.log`.
fn split_name(path: &Path) -> (String, String) {
    let text = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let ending = path
        .extension()
        .map(|ending| format!(".{}", ending.to_string_lossy()));
    (text(path.file_stem()), ending.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_files_are_numbered_and_found_in_order() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.log");
        assert_eq!(part_path(&path, 3), folder.path().join("audit.3.log"));
        let names = [
            "audit.log",
            "audit.10.log",
            "audit.9.log",
            "audit.01.log",
            "audit.x.log",
            "audit.1.log.lock",
            "other.1.log",
        ];
        for name in names {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(list_parts(&path).unwrap(), [9, 10]);
        let opened = open_parts(&path).unwrap();
        let opened: Vec<_> = opened.iter().map(|part| part.path.file_name().unwrap()).collect();
        assert_eq!(opened, ["audit.9.log", "audit.10.log", "audit.log"]);
        // As if it had become full between opening and listing.
        fs::hard_link(&path, folder.path().join("audit.11.log")).unwrap();
        assert_eq!(open_parts(&path).unwrap().len(), 3);
        assert_eq!(part_path(Path::new("audit"), 2), Path::new("audit.2"));
    }
}
