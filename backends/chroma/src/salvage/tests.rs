//! Real SQLite files with Chroma's tables, damaged on purpose: what lies on whole pages comes back, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a test: a panic is a red line"
)]

mod damage;
mod made;
mod random;
mod releases;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::Write;

use made::{Made, dump};

use super::{SalvagedDatabase, salvage_database};

/// A file of these bytes.
fn file_of(bytes: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(bytes).unwrap();
    file
}

/// Salvages a file of these bytes.
fn salvaged(bytes: &[u8]) -> SalvagedDatabase {
    let file = file_of(bytes);
    salvage_database(&file, None, &|done, pages| assert!(done <= pages)).unwrap()
}

/// The salvaged rows of the tables that the file had.
fn rows_of(saved: &SalvagedDatabase, made: &Made) -> BTreeSet<String> {
    assert!(saved.file.starts_with(saved._folder.path()));
    let connection = rusqlite::Connection::open(&saved.file).unwrap();
    let check: String = connection
        .query_row("PRAGMA integrity_check", [], |row| row.get(0))
        .unwrap();
    assert_eq!(check, "ok");
    dump(&connection, &made.columns)
}

/// At most a few, for a message that can be read.
fn few(rows: impl Iterator<Item = impl AsRef<str>>) -> String {
    rows.take(3)
        .map(|row| row.as_ref().chars().take(150).collect::<String>() + "\n")
        .collect()
}

/// Every row that was live and is on none of the damaged pages was saved; and what was saved was once written, or is
/// listed as damaged.
fn check(made: &Made, damaged: &[u8]) -> SalvagedDatabase {
    let saved = salvaged(damaged);
    let rows = rows_of(&saved, made);
    let at_risk = made.markers_lost_in(damaged);
    let lost = made
        .live
        .difference(&rows)
        .filter(|row| !made::is_at_risk(row, &at_risk));
    assert_eq!(
        few(lost),
        "",
        "rows on whole pages are lost; losses: {:?}",
        saved.losses
    );
    let listed = saved
        .losses
        .iter()
        .any(|loss| loss.message.contains("UTF-8") || loss.message.contains("zero bytes"));
    let unclear = saved
        .losses
        .iter()
        .any(|loss| loss.message.contains("or to a segment"));
    let invented = rows
        .difference(&made.ever)
        .filter(|row| !(listed && row.contains(['\u{fffd}', '\0'])))
        .filter(|row| !(unclear && made::is_metadata_of_a_lost_segment(row, &rows)));
    assert_eq!(
        few(invented),
        "",
        "rows that were never written; losses: {:?}",
        saved.losses
    );
    saved
}

/// As [`check`], and no deleted row came back.
fn check_live(made: &Made, damaged: &[u8]) -> SalvagedDatabase {
    let saved = check(made, damaged);
    let back = rows_of(&saved, made);
    let back = back.difference(&made.live);
    assert_eq!(
        few(back),
        "",
        "deleted rows came back; losses: {:?}",
        saved.losses
    );
    saved
}
