//! Opens `chroma.sqlite3` to be read so that nothing in its folder changes, whatever state it was left in.
//!
//! | what lies there | how it is read |
//! |---|---|
//! | a database alone | in place and read-only, under SQLite's own read locks |
//! | one in log mode without a log | in place and immutable: opening it otherwise would make files beside it |
//! | one with a log, or with a journal of an unfinished transaction | a private copy, in which SQLite settles it |
//! | damaged pages | a private file that holds every row that could still be read |

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use loci_core::{Error, ErrorKind, Result};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::failure;
use crate::folder::{Stamp, beside, database};
use crate::salvage::{self, Salvage};

/// How long to wait for a process that is writing.
const PATIENCE: Duration = Duration::from_secs(10);
/// How much of a database is kept in memory, in the negative kilobytes SQLite counts by.
const CACHE: i64 = -16_384;
/// A file is all holes if it says that it is this many times as long as it is on the disk; no disk packs so well.
const HOLES: u64 = 64;
/// How often a copy is begun anew when the files change under it.
const TRIES: usize = 5;

/// An open database and how it came to be readable.
#[derive(Debug)]
pub(crate) struct Database {
    /// The connection; never one that can write to the folder.
    pub(crate) connection: Connection,
    /// How it is read.
    pub(crate) reading: Reading,
}

/// That nobody commits.
#[derive(Debug)]
pub(crate) struct Held(());

/// How a database is read.
#[derive(Debug)]
pub(crate) enum Reading {
    /// Where it lies.
    InPlace,
    /// From a private copy, because a log or a journal lies beside it; the copy goes with this value.
    Copied {
        /// What lay beside it: `-wal` or `-journal`.
        beside: &'static str,
        /// Where the copy is, as long as it is read.
        _folder: TempDir,
    },
    /// From what was saved of it, page by page.
    Salvaged {
        /// What was saved and what was lost.
        salvage: Salvage,
        /// What SQLite said of the original.
        why: String,
    },
}

impl Database {
    /// Opens the database of a Chroma folder.
    pub(crate) fn open(folder: &Path) -> Result<Self> {
        match Self::try_open(folder) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Self::salvage(folder, &error.to_string()),
            opened => opened,
        }
    }

    fn try_open(folder: &Path) -> Result<Self> {
        let opened = match (
            has_bytes(&beside(folder, "-wal")),
            has_bytes(&beside(folder, "-journal")),
        ) {
            (true, _) => Self::copied(folder, "-wal")?,
            (false, journal) => match Self::in_place(folder) {
                Err(error) if journal && error.kind() != ErrorKind::Locked => {
                    Self::copied(folder, "-journal")?
                }
                opened => opened?,
            },
        };
        opened.probe()?;
        Ok(opened)
    }

    /// Reads everything again from what could be saved page by page.
    pub(crate) fn salvage(folder: &Path, why: &str) -> Result<Self> {
        let path = database(folder);
        let file = File::open(&path).map_err(|cause| failure::io("open", &path, cause))?;
        let salvage = salvage::salvage(&file, &|_, _| {})?;
        let connection = connect(&salvage.file, "mode=ro&immutable=1")?;
        Ok(Self {
            connection,
            reading: Reading::Salvaged {
                salvage,
                why: why.to_owned(),
            },
        })
    }

    /// Whether it was damaged and only what could be saved is read.
    pub(crate) fn is_salvaged(&self) -> bool {
        matches!(self.reading, Reading::Salvaged { .. })
    }

    fn in_place(folder: &Path) -> Result<Self> {
        let path = database(folder);
        // SQLite would open what stands in the place of a log or a journal, and a pipe never answers.
        let trapped = ["-wal", "-journal"]
            .iter()
            .any(|ending| is_no_file(&beside(folder, ending)));
        let mode = match trapped || is_in_log_mode(&path)? {
            true => "mode=ro&immutable=1",
            false => "mode=ro",
        };
        let opened = Self {
            connection: connect(&path, mode)?,
            reading: Reading::InPlace,
        };
        opened.probe()?;
        Ok(opened)
    }

    fn copied(folder: &Path, ending: &'static str) -> Result<Self> {
        for _ in 0..TRIES {
            let before = Stamp::of(folder, &[]);
            let private = copy(&beside(folder, ""))?;
            if before.is(&Stamp::of(folder, &[])) {
                let connection = connect(&database(private.path()), "mode=rw")?;
                return Ok(Self {
                    connection,
                    reading: Reading::Copied {
                        beside: ending,
                        _folder: private,
                    },
                });
            }
        }
        let message = format!("{} changes faster than it can be read", folder.display());
        Err(Error::new(ErrorKind::Locked, message)
            .hint("nothing was changed; try again when nobody writes to it"))
    }

    /// Keeps everybody from committing to a database that is read where it lies, until it is released.
    pub(crate) fn hold(&self) -> Result<Held> {
        let begun = self
            .connection
            .execute_batch("BEGIN")
            .map_err(|cause| failure::sqlite("the database", cause));
        // A transaction takes its lock when it first reads.
        match begun.and_then(|()| self.probe()) {
            Ok(()) => Ok(Held(())),
            Err(error) => {
                let _ = self.connection.execute_batch("ROLLBACK");
                Err(error)
            }
        }
    }

    /// A number that is another one after somebody else committed.
    ///
    /// The file is not opened to find out: closing it would drop the lock this process holds on it.
    pub(crate) fn version(&self) -> Option<i64> {
        let sql = "PRAGMA data_version";
        self.connection.query_row(sql, [], |row| row.get(0)).ok()
    }

    /// Refuses a database that ends in the middle of a page, which SQLite reads as zeros.
    pub(crate) fn check_length(&self, folder: &Path) -> Result<()> {
        if !matches!(self.reading, Reading::InPlace) {
            return Ok(());
        }
        let path = database(folder);
        let length = fs::metadata(&path)
            .map_err(|cause| failure::io("look at", &path, cause))?
            .len();
        let of = |pragma: &str| {
            self.connection
                .pragma_query_value(None, pragma, |row| row.get::<_, i64>(0))
        };
        let needed = of("page_count").and_then(|pages| Ok(pages.saturating_mul(of("page_size")?)));
        let needed = needed
            .map_err(|cause| failure::sqlite("the database", cause))?
            .unsigned_abs();
        match length < needed {
            true => Err(Error::new(
                ErrorKind::Corrupt,
                format!("the file has {length} of {needed} bytes"),
            )),
            false => Ok(()),
        }
    }

    /// Lets others commit again.
    pub(crate) fn release(&self, _held: Held) {
        // A damaged page may have ended it already, or the database was opened anew meanwhile.
        let _ = self.connection.execute_batch("ROLLBACK");
    }

    /// Reads the schema, so that what cannot be opened fails now.
    fn probe(&self) -> Result<()> {
        let counted = self
            .connection
            .query_row("SELECT count(*) FROM sqlite_schema", [], |row| {
                row.get::<_, i64>(0)
            });
        counted
            .map(drop)
            .map_err(|cause| failure::sqlite("the database", cause))
    }
}

pub(crate) fn connect(path: &Path, mode: &str) -> Result<Connection> {
    let flags =
        OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(uri(path, mode), flags)
        .map_err(|cause| failure::sqlite(path.display(), cause))?;
    let ready = connection
        .busy_timeout(PATIENCE)
        .and_then(|()| connection.pragma_update(None, "trusted_schema", false))
        .and_then(|()| connection.pragma_update(None, "cell_size_check", true))
        .and_then(|()| connection.pragma_update(None, "cache_size", CACHE));
    ready.map_err(|cause| failure::sqlite(path.display(), cause))?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

/// A path as SQLite's address of it; characters that mean something in addresses are written by number.
fn uri(path: &Path, mode: &str) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    let mut text = String::from("file:");
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'_' | b'-' => {
                text.push(char::from(*byte))
            }
            other => text.push_str(&format!("%{other:02X}")),
        }
    }
    PathBuf::from(format!("{text}?{mode}"))
}

fn has_bytes(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() > 0)
}

/// Whether something stands there that is no file.
fn is_no_file(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok() && !path.is_file()
}

/// Whether the header says that a log belongs to the database.
fn is_in_log_mode(path: &Path) -> Result<bool> {
    let mut header = [0; 20];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut header));
    match read {
        Ok(()) => Ok(header.ends_with(&[2, 2])),
        Err(cause) if cause.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(cause) => Err(failure::io("open", path, cause)),
    }
}

/// Opens some other SQLite file to be read, from a private copy, which must be kept as long as the connection.
pub(crate) fn open_beside(path: &Path) -> Result<(Connection, TempDir)> {
    let private = copy(path)?;
    let connection = connect(&database(private.path()), "mode=rw")?;
    Ok((connection, private))
}

/// Copies a SQLite file and what lies beside it; never the shared memory, which SQLite makes anew.
fn copy(path: &Path) -> Result<TempDir> {
    let private = private_folder("loci-chroma-")?;
    for (ending, to) in [
        ("", database(private.path())),
        ("-wal", beside(private.path(), "-wal")),
        ("-journal", beside(private.path(), "-journal")),
    ] {
        let mut from = path.as_os_str().to_owned();
        from.push(ending);
        let from = PathBuf::from(from);
        copy_file(&from, &to).map_err(|cause| failure::io("copy", &from, cause))?;
    }
    Ok(private)
}

/// A temporary folder that only this user may look into.
pub(crate) fn private_folder(prefix: &str) -> Result<TempDir> {
    use std::os::unix::fs::PermissionsExt;
    tempfile::Builder::new()
        .prefix(prefix)
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir()
        .map_err(|cause| failure::io("make a private folder in", &std::env::temp_dir(), cause))
}

/// Copies a regular file, if there is one, to a new one of this user's alone; of one that is nearly all holes only as much
/// as is there, for neither a log nor a database is ever so.
fn copy_file(from: &Path, to: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
    let Ok(found) = fs::metadata(from) else {
        return Ok(());
    };
    if !found.is_file() {
        return Ok(());
    }
    let there = found.blocks() * 512;
    let length = match there.saturating_mul(HOLES) < found.len() {
        true => there,
        false => found.len(),
    };
    let mut copy = File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(to)?;
    io::copy(&mut File::open(from)?.take(length), &mut copy)?;
    Ok(())
}
