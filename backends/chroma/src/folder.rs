//! A Chroma folder from outside: its files, how they are recognised, and whether they changed.

use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The file that makes a folder Chroma's.
pub(crate) const DATABASE: &str = "chroma.sqlite3";

/// What releases before 0.4 left, which kept everything in DuckDB and Parquet files.
const BEFORE: [&str; 2] = ["chroma-collections.parquet", "chroma-embeddings.parquet"];

/// Which of Chroma's formats a folder holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// 0.4 to 1.5: SQLite and graph files.
    Sqlite,
    /// Before 0.4: DuckDB and Parquet files, which are named but not read.
    DuckDb,
}

/// Which format the folder at `path` holds, by its files.
pub(crate) fn format(path: &Path) -> Option<Format> {
    let there = |name: &str| path.join(name).is_file();
    if there(DATABASE) {
        return Some(Format::Sqlite);
    }
    BEFORE.iter().any(|name| there(name)).then_some(Format::DuckDb)
}

/// The database file of a folder.
pub(crate) fn database(folder: &Path) -> PathBuf {
    folder.join(DATABASE)
}

/// What SQLite keeps beside the database while it is written: the log, or the journal to roll back from.
///
/// It lies beside the file itself, not beside a link to it.
pub(crate) fn beside(folder: &Path, ending: &str) -> PathBuf {
    let file = database(folder);
    let mut name = fs::canonicalize(&file).unwrap_or(file).into_os_string();
    name.push(ending);
    PathBuf::from(name)
}

/// Whether another tool set the folder `name` aside.
pub(crate) fn is_set_aside(name: &str) -> bool {
    [".drift-", ".quarantine-", ".corrupt-"]
        .iter()
        .any(|mark| name.contains(mark))
}

/// Whether `name` is one Chroma gives to the folder of a segment.
pub(crate) fn is_segment(name: &str) -> bool {
    name.len() == 36
        && name.char_indices().all(|(at, c)| match at {
            8 | 13 | 18 | 23 => c == '-',
            _ => c.is_ascii_hexdigit(),
        })
}

/// The folders beside the database, by name: those of segments, and those set aside.
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

/// What a folder's files looked like at one moment; another look tells whether they changed since.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stamp {
    files: Vec<Option<Look>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Look {
    /// 0 on file systems that have no such numbers; it is then equal to any other.
    inode: u64,
    modified: (i64, i64),
    length: u64,
}

impl Look {
    fn of(found: &Metadata) -> Self {
        Self {
            inode: found.ino(),
            modified: (found.mtime(), found.mtime_nsec()),
            length: found.len(),
        }
    }

    fn is(&self, other: &Self) -> bool {
        let same_file = self.inode == other.inode || self.inode == 0 || other.inode == 0;
        same_file && self.modified == other.modified && self.length == other.length
    }
}

impl Stamp {
    /// Looks at the database, what lies beside it, and the files of these segments.
    pub(crate) fn of(folder: &Path, segments: &[String]) -> Self {
        // A journal comes and goes with every write; only a commit counts, or that nobody is there to finish it.
        let database = [database(folder), beside(folder, "-wal")];
        let graphs = segments.iter().flat_map(|segment| {
            let files = crate::graph::SETTLED;
            files.map(|file| folder.join(segment).join(file))
        });
        let look = |path: PathBuf| fs::metadata(path).ok().map(|found| Look::of(&found));
        Self {
            files: database.into_iter().chain(graphs).map(look).collect(),
        }
    }

    /// Whether nothing changed between two looks.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.files.len() == other.files.len()
            && self.files.iter().zip(&other.files).all(|looks| match looks {
                (Some(one), Some(other)) => one.is(other),
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
        assert_eq!(format(folder.path()), None);
        fs::write(folder.path().join("chroma-embeddings.parquet"), b"").unwrap();
        assert_eq!(format(folder.path()), Some(Format::DuckDb));
        fs::write(database(folder.path()), b"").unwrap();
        assert_eq!(format(folder.path()), Some(Format::Sqlite));
        assert_eq!(format(&folder.path().join("nowhere")), None);
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
        let look = |inode, seconds, length| Look {
            inode,
            modified: (seconds, 0),
            length,
        };
        assert!(look(1, 5, 9).is(&look(1, 5, 9)));
        assert!(!look(1, 5, 9).is(&look(2, 5, 9)), "another file");
        assert!(look(0, 5, 9).is(&look(2, 5, 9)), "nothing to compare");
        assert!(!look(0, 5, 9).is(&look(0, 6, 9)), "written since");
        assert!(!look(0, 5, 9).is(&look(0, 5, 8)), "shorter");
    }

    #[test]
    fn what_appears_vanishes_or_changes_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let before = Stamp::of(folder.path(), &[]);
        fs::write(database(folder.path()), b"1").unwrap();
        let there = Stamp::of(folder.path(), &[]);
        assert!(!before.is(&there), "it appeared");
        assert!(there.is(&Stamp::of(folder.path(), &[])));
        fs::write(database(folder.path()), b"12").unwrap();
        assert!(!there.is(&Stamp::of(folder.path(), &[])), "it changed");
        fs::remove_file(database(folder.path())).unwrap();
        assert!(before.is(&Stamp::of(folder.path(), &[])), "it vanished");
    }
}
