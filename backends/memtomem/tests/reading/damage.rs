//! Damaged pages: what can be read is read, the rest is listed, and no bytes are too bad.

use std::fs;
use std::path::Path;

use rusqlite::Connection;

use super::*;

/// A database with enough rows for many pages.
fn large() -> (tempfile::TempDir, std::path::PathBuf) {
    let made = Made::new(Release::Second).with_vectors();
    made.run("BEGIN");
    for n in 0..400 {
        let id = format!("chunk-{n:03}");
        let content = ("content", text(&format!("{n} {}", "word ".repeat(60))));
        let source = ("source_file", text(&format!("/notes/{}.md", n / 100)));
        made.chunk(&id, &[content, source]);
    }
    made.run("COMMIT");
    made.closed()
}

/// The offset and the length of a page of the file.
fn page_with(path: &Path, needle: &[u8]) -> (usize, usize) {
    let connection = Connection::open(path).unwrap();
    let size: u32 = connection
        .query_row("PRAGMA page_size", [], |row| row.get(0))
        .unwrap();
    drop(connection);
    let size = size as usize;
    let bytes = fs::read(path).unwrap();
    let at = bytes
        .windows(needle.len())
        .position(|some| some == needle)
        .unwrap();
    (at / size * size, size)
}

#[test]
fn a_damaged_page_costs_the_rows_in_it_and_they_are_listed() {
    let (_folder, path) = large();
    let (start, size) = page_with(&path, b"chunk-200200 word");
    let mut bytes = fs::read(&path).unwrap();
    bytes[start..start + size].fill(0xa5);
    fs::write(&path, &bytes).unwrap();
    let database = MemtomemDatabase::open(&path).unwrap();
    let survey = database.survey().unwrap();
    assert!(survey.damage.is_some());
    let lost: Vec<&str> = survey
        .unreadable
        .iter()
        .map(|one| one.id.as_deref().unwrap())
        .collect();
    assert!(lost.contains(&"chunk-200") && lost.len() < 20, "{lost:?}");
    assert!(
        survey
            .unreadable
            .iter()
            .all(|one| one.source.as_deref() >= Some("/notes/1.md"))
    );
    assert_eq!(
        survey.chunks.len() + lost.len(),
        400,
        "each row is read or listed"
    );
    let found = ids(&survey);
    assert!(
        found.contains(&"chunk-000") && found.contains(&"chunk-399"),
        "both sides of the damage"
    );
    for chunk in &survey.chunks {
        assert!(
            database.read_drawer(chunk).unwrap().document.contains("word"),
            "{chunk:?}"
        );
    }
}

#[test]
fn of_a_file_that_was_cut_short_the_beginning_is_read() {
    let (_folder, path) = large();
    let bytes = fs::read(&path).unwrap();
    fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    let database = MemtomemDatabase::open(&path).unwrap();
    let survey = database.survey().unwrap();
    assert!(survey.damage.is_some());
    let found = survey.chunks.len();
    assert!((50..400).contains(&found), "{found}");
    assert_eq!(survey.chunks[0].id, "chunk-000");
    for chunk in &survey.chunks {
        assert!(
            database.read_drawer(chunk).unwrap().document.contains("word"),
            "{chunk:?}"
        );
    }
}

#[test]
fn no_bytes_are_too_bad() {
    let (folder, path) = large();
    let sound = fs::read(&path).unwrap();
    let broken = folder.path().join("broken.db");
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = |below: usize| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random as usize % below
    };
    let mut opened = 0;
    for round in 0..60 {
        let mut bytes = sound.clone();
        for _ in 0..=next(40) {
            // The schema is hit more often than its size would have it.
            let within = if next(40) == 0 {
                4096.min(bytes.len())
            } else {
                bytes.len()
            };
            let at = 16 + next(within - 16);
            bytes[at] = next(256) as u8;
        }
        if round % 5 == 0 {
            bytes.truncate(next(sound.len()));
        }
        fs::write(&broken, &bytes).unwrap();
        let Ok(database) = MemtomemDatabase::open(&broken) else {
            continue;
        };
        let Ok(survey) = database.survey() else { continue };
        opened += 1;
        for chunk in &survey.chunks {
            let _ = database.read_drawer(chunk);
        }
    }
    assert!(opened > 20, "only {opened} could be looked into");
}
