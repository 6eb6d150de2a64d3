//! The files of a Chroma folder: their names, the format they show, and whether they changed.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that identifies a Chroma folder.
pub(crate) const DATABASE: &str = "chroma.sqlite3";

/// The files of releases before 0.4, which kept everything in DuckDB and Parquet files.
const DUCKDB_FILES: [&str; 2] = ["chroma-collections.parquet", "chroma-embeddings.parquet"];

/// The format of a Chroma folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FolderFormat {
    /// 0.4 to 1.5: SQLite and graph files.
    Sqlite,
    /// Before 0.4: DuckDB and Parquet files, which are recognised but not read.
    DuckDb,
}

/// Detects the format of the folder at `path` by its files.
pub(crate) fn detect_format(path: &Path) -> Option<FolderFormat> {
    let there = |name: &str| path.join(name).is_file();
    if there(DATABASE) {
        return Some(FolderFormat::Sqlite);
    }
    DUCKDB_FILES
        .iter()
        .any(|name| there(name))
        .then_some(FolderFormat::DuckDb)
}

/// Returns the database file of a folder.
pub(crate) fn database_path(folder: &Path) -> PathBuf {
    folder.join(DATABASE)
}

/// Returns the path of the log or the journal beside the database.
///
/// It lies beside the file itself, not beside a link to it.
pub(crate) fn path_beside(folder: &Path, ending: &str) -> PathBuf {
    let file = database_path(folder);
    // SQLite resolves links before it names its log, and so must we.
    let mut name = fs::canonicalize(&file).unwrap_or(file).into_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// Returns whether a repair set the folder `name` aside.
pub(crate) fn is_set_aside(name: &str) -> bool {
    // The marks of MemPalace's repairs and of other tools; our own fix uses the first.
    [".drift-", ".quarantine-", ".corrupt-"]
        .iter()
        .any(|mark| name.contains(mark))
}

/// Returns whether `name` is a UUID, as in the folder names of segments.
pub(crate) fn is_segment(name: &str) -> bool {
    name.len() == 36
        && name.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
}

/// Returns whether an entry of the folder belongs to the database: Chroma's files, and those of repairs.
pub(crate) fn is_own_entry(name: &str) -> bool {
    // Repairs name their files after the database or the segment.
    name.starts_with(DATABASE)
        || name.starts_with("loci-fix-")
        || is_set_aside(name)
        || is_segment(name)
        || name.get(..36).is_some_and(is_segment)
}

/// Lists the folders of segments and those that were set aside, by name.
pub(crate) fn segment_folders(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else {
            continue;
        };
        let counts = is_segment(&name) || is_set_aside(&name);
        if counts && entry.path().is_dir() {
            names.push(name);
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// The stats of a folder's files at one moment; a second stamp shows whether they changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FolderStamp {
    files: Vec<Option<FileStamp>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct FileStamp {
    /// 0 on file systems without inode numbers, where it equals any other.
    inode: u64,
    modified: (i64, i64),
    length: u64,
}

impl FileStamp {
    fn from_metadata(found: &Metadata) -> Self {
        Self {
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            length: found.len(),
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        let same_file = self.inode == other.inode || self.inode == 0 || other.inode == 0;
        same_file && self.modified == other.modified && self.length == other.length
    }
}

impl FolderStamp {
    /// Reads the stats of the database, its log, and the files of these segments.
    pub(crate) fn read(folder: &Path, segments: &[String]) -> Self {
        // A journal comes and goes with every write, and only a
        // commit is a change; it shows in the database itself.
        let database = [database_path(folder), path_beside(folder, "-wal")];
        let graphs = segments.iter().flat_map(|segment| {
            let files = crate::graph::SEGMENT_FILES;
            files.map(|file| folder.join(segment).join(file))
        });
        let look = |path: PathBuf| {
            fs::metadata(path)
                .ok()
                .map(|found| FileStamp::from_metadata(&found))
        };
        Self {
            files: database.into_iter().chain(graphs).map(look).collect(),
        }
    }

    /// Returns whether nothing changed between two stamps.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.files.len() == other.files.len()
            && self.files.iter().zip(&other.files).all(|looks| match looks {
                (Some(one), Some(other)) => one.is_same(other),
                (None, None) => true,
                _ => false,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_recognised_by_their_files() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(detect_format(folder.path()), None);
        fs::write(folder.path().join("chroma-embeddings.parquet"), b"").unwrap();
        assert_eq!(detect_format(folder.path()), Some(FolderFormat::DuckDb));
        fs::write(database_path(folder.path()), b"").unwrap();
        assert_eq!(detect_format(folder.path()), Some(FolderFormat::Sqlite));
        assert_eq!(detect_format(&folder.path().join("nowhere")), None);
    }

    #[test]
    fn segment_folders_have_names_of_their_own() {
        let name = "0f579090-6c91-45c4-9815-035e2a1e6d42";
        assert!(is_segment(name));
        assert!(!is_segment(&name.replace('-', "_")));
        assert!(!is_segment("rooms"));
        assert!(is_set_aside(&format!("{name}.drift-20260418-180405")));
        assert!(!is_set_aside(name));
    }

    #[test]
    fn a_file_system_without_inodes_is_judged_by_time_and_length() {
        let look = |inode, seconds, length| FileStamp {
            inode,
            modified: (seconds, 0),
            length,
        };
        assert!(look(1, 5, 9).is_same(&look(1, 5, 9)));
        assert!(!look(1, 5, 9).is_same(&look(2, 5, 9)), "another file");
        assert!(look(0, 5, 9).is_same(&look(2, 5, 9)), "nothing to compare");
        assert!(!look(0, 5, 9).is_same(&look(0, 6, 9)), "written since");
        assert!(!look(0, 5, 9).is_same(&look(0, 5, 8)), "shorter");
    }

    #[test]
    fn what_appears_vanishes_or_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let before = FolderStamp::read(folder.path(), &[]);
        fs::write(database_path(folder.path()), b"1").unwrap();
        let there = FolderStamp::read(folder.path(), &[]);
        assert!(!before.is_same(&there), "it appeared");
        assert!(there.is_same(&FolderStamp::read(folder.path(), &[])));
        fs::write(database_path(folder.path()), b"12").unwrap();
        assert!(
            !there.is_same(&FolderStamp::read(folder.path(), &[])),
            "it changed"
        );
        fs::remove_file(database_path(folder.path())).unwrap();
        assert!(
            before.is_same(&FolderStamp::read(folder.path(), &[])),
            "it vanished"
        );
    }
}
