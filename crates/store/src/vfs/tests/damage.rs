//! Every damaged byte is an error, and only for what it touches.

use super::*;

const ROWS: i64 = 60;

/// A closed database of some dozens of pages, all in use.
fn sample(folder: &Path) -> std::path::PathBuf {
    let path = folder.join("palace.db");
    let connection = open(&path).unwrap();
    fill(&connection, 0..ROWS).unwrap();
    assert_whole(&connection);
    path
}

/// Reads all rows; gives how many were right and how many were refused as damaged.
fn survey(path: &Path) -> (i64, i64) {
    let Ok(connection) = bare(path) else {
        return (0, ROWS);
    };
    let (mut right, mut refused) = (0, 0);
    for id in 0..ROWS {
        match read(&connection, id) {
            Ok(found) => {
                assert_eq!(found, text(id), "a wrong answer");
                right += 1;
            }
            Err(error) => {
                assert!(is_damage(&error), "{error}");
                refused += 1;
            }
        }
    }
    (right, refused)
}

#[test]
fn a_flipped_byte_in_any_page_is_refused_and_other_rows_still_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path());
    let pages = std::fs::metadata(&path).unwrap().len() / PAGE;
    assert!(pages > 60);
    let (mut partly, mut found) = (0, 0);
    for page in 1..=pages {
        // A file of its own for each page, since the record of damage is by path.
        let hurt = folder.path().join(format!("{page}.db"));
        std::fs::copy(&path, &hurt).unwrap();
        flip(&hurt, (page - 1) * PAGE + page * 61 % PAGE, 0x10);
        let (right, refused) = survey(&hurt);
        let connection = bare(&hurt).unwrap();
        assert_eq!(scan_pages(&connection).unwrap(), [page as u32]);
        if page == 1 {
            assert_eq!((right, refused), (ROWS, 0), "one flipped bit of page 1 is found");
            assert_eq!(mended_pages(&connection).unwrap(), [1]);
        } else if refused > 0 {
            assert_eq!(damaged_pages(&hurt), [page as u32]);
            found += 1;
            partly += i64::from(right > 0);
        } else {
            // The index by text and the map of pages are not read for rows by id.
            let error = integrity(&connection).unwrap_or_else(|error| error.to_string());
            assert_ne!(error, "ok", "page {page}");
        }
        drop(connection);
        std::fs::remove_file(&hurt).unwrap();
    }
    assert!(
        found > 50 && partly > 50,
        "{found} pages found by reading, {partly} hurt only some rows"
    );
}

#[test]
fn no_byte_of_the_header_can_change_unseen() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path());
    for at in 0..110 {
        for mask in [0x01, 0x08, 0x30, 0xff] {
            flip(&path, at, mask);
            let connection = bare(&path).unwrap();
            let answer = read(&connection, 3);
            if u8::count_ones(mask) == 1 {
                // A single bit is put right, and reported.
                assert_eq!(
                    answer.as_deref(),
                    Ok(text(3).as_str()),
                    "byte {at} with {mask:#x}"
                );
                assert_eq!(mended_pages(&connection).unwrap(), [1]);
            } else {
                assert!(answer.is_err(), "byte {at} with {mask:#x}");
            }
            drop(connection);
            flip(&path, at, mask);
        }
    }
    assert_eq!(survey(&path), (ROWS, 0));
}

#[test]
fn a_page_of_zeros_and_a_page_in_the_wrong_place_are_damage() {
    use std::os::unix::fs::FileExt;
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path());
    let sound = std::fs::read(&path).unwrap();
    let pages = sound.len() as u64 / PAGE;
    for page in (2..=pages).step_by(3) {
        let other = (page % (pages - 1) + 1).max(2);
        let from = (other - 1) as usize * PAGE as usize;
        for bytes in [vec![0; PAGE as usize], sound[from..from + PAGE as usize].to_vec()] {
            let file = std::fs::File::options().write(true).open(&path).unwrap();
            file.write_all_at(&bytes, (page - 1) * PAGE).unwrap();
            drop(file);
            survey(&path);
            assert_eq!(scan_pages(&bare(&path).unwrap()).unwrap(), [page as u32]);
        }
        std::fs::write(&path, &sound).unwrap();
    }
}

#[test]
fn a_file_cut_short_is_never_read_as_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = sample(folder.path());
    // A log that was not copied into the file yet: SQLite then takes the number of pages from the log.
    let writer = open(&path).unwrap();
    writer.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    fill(&writer, 0..1).unwrap();
    let cut = folder.path().join("cut.db");
    std::fs::copy(
        folder.path().join("palace.db-wal"),
        folder.path().join("cut.db-wal"),
    )
    .unwrap();
    std::fs::copy(&path, &cut).unwrap();
    drop(writer);
    let pages = std::fs::metadata(&cut).unwrap().len() / PAGE;
    std::fs::File::options()
        .write(true)
        .open(&cut)
        .unwrap()
        .set_len((pages - 20) * PAGE)
        .unwrap();
    let (right, refused) = survey(&cut);
    assert!(right > 0 && refused > 0, "{right} right, {refused} refused");
}
