//! The palace file from below: raw SQL with sound page checksums, which page belongs to what, and copies of it.

use std::path::{Path, PathBuf};

use loci_store::{EmbeddedBackend, testing};
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

/// The bytes of a page; SQLite's header says so too.
pub(crate) const PAGE: usize = 8192;

/// The palace file in a folder.
pub(crate) fn file(folder: &Path) -> PathBuf {
    folder.join(EmbeddedBackend::FILE)
}

/// A connection that writes sound pages but knows nothing of drawers.
pub(crate) fn connect(folder: &Path) -> Connection {
    let name = testing::file_system(None).unwrap();
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    Connection::open_with_flags_and_vfs(file(folder), flags, name).unwrap()
}

/// Runs statements on a closed palace and moves them out of the log, so that one file holds it all again.
pub(crate) fn execute(folder: &Path, sql: &str) {
    let connection = connect(folder);
    connection.execute_batch(sql).unwrap();
    connection
        .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        .unwrap();
    connection.close().unwrap();
}

/// A number that a statement gives.
pub(crate) fn number(folder: &Path, sql: &str) -> i64 {
    connect(folder).query_row(sql, [], |row| row.get(0)).unwrap()
}

/// A folder with a palace file of these bytes.
pub(crate) fn folder_with(bytes: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(file(folder.path()), bytes).unwrap();
    folder
}

/// The names of the files in a folder, sorted.
pub(crate) fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// A page in use.
#[derive(Debug, Clone)]
pub(crate) struct Page {
    pub(crate) number: usize,
    /// The table or index it belongs to.
    pub(crate) owner: String,
    /// Its place in that tree, as `dbstat` writes it: what is below a page begins with its path.
    path: String,
    /// `leaf`, `internal` or `overflow`.
    pub(crate) kind: String,
    cells: usize,
}

/// Every page of the trees in a palace file.
pub(crate) fn pages(folder: &Path) -> Vec<Page> {
    let connection = connect(folder);
    let sql = "SELECT pageno, name, path, pagetype, ncell FROM dbstat ORDER BY pageno";
    let mut statement = connection.prepare(sql).unwrap();
    let found = statement.query_map([], |row| {
        Ok(Page {
            number: row.get::<_, i64>(0)? as usize,
            owner: row.get(1)?,
            path: row.get(2)?,
            kind: row.get(3)?,
            cells: row.get::<_, i64>(4)? as usize,
        })
    });
    found.unwrap().map(Result::unwrap).collect()
}

/// The most drawers that can no longer be read by id once this page cannot: those on it or below it, in the table
/// of drawers or in the index of their ids. Pages that say what the palace is at all cost everything.
pub(crate) fn most_lost(pages: &[Page], number: usize, drawers: usize) -> usize {
    let Some(page) = pages.iter().find(|page| page.number == number) else {
        return 0;
    };
    match page.owner.as_str() {
        "sqlite_schema" | "collections" | "spaces" => drawers,
        owner if owner.starts_with("sqlite_autoindex_collections") => drawers,
        "drawers" | "drawers_id" if page.kind == "overflow" => 1,
        "drawers" | "drawers_id" => {
            pages
            .iter()
            .filter(|below| below.owner == page.owner && below.path.starts_with(&page.path))
            // An index keeps entries on the pages that divide it, too.
            .filter(|below| below.kind == "leaf" || (below.kind == "internal" && page.owner == "drawers_id"))
            .map(|below| below.cells)
            .sum::<usize>()
            // The entry that divides a page of an index from the next is found by way of that page.
            + usize::from(page.owner == "drawers_id")
        }
        _ => 0,
    }
}

/// The pages that hold each row of a table with a key called `row`: the page of the row, and those that continue it.
pub(crate) fn row_pages(folder: &Path, table: &str) -> std::collections::BTreeMap<i64, Vec<usize>> {
    let all = pages(folder);
    let mut leaves: Vec<&Page> = all
        .iter()
        .filter(|page| page.owner == table && page.kind == "leaf")
        .collect();
    leaves.sort_by(|a, b| a.path.cmp(&b.path));
    let connection = connect(folder);
    let mut statement = connection
        .prepare(&format!("SELECT row FROM {table} ORDER BY row"))
        .unwrap();
    let mut rows = statement.query_map([], |row| row.get::<_, i64>(0)).unwrap();
    let mut held = std::collections::BTreeMap::new();
    for leaf in leaves {
        for cell in 0..leaf.cells {
            // `dbstat` names an overflow page by the leaf, the cell and its place in the chain.
            let chain = format!("{}{cell:03x}+", leaf.path);
            let rest = all
                .iter()
                .filter(|page| page.owner == table && page.path.starts_with(&chain));
            let numbers = std::iter::once(leaf.number).chain(rest.map(|page| page.number));
            held.insert(rows.next().unwrap().unwrap(), numbers.collect());
        }
    }
    assert!(rows.next().is_none(), "every row is on a page");
    held
}
