//! Files of a newer version, of another program or of none are refused and stay byte for byte as they were.

use super::*;

/// Every way to open the file in `folder` is refused with `kind`, and changes nothing there.
fn assert_refused_untouched(folder: &Path, kind: ErrorKind) {
    let content = |folder: &Path| -> Vec<(String, Vec<u8>)> {
        let read = |name: String| (name.clone(), std::fs::read(folder.join(&name)).unwrap());
        raw::names(folder).into_iter().map(read).collect()
    };
    let before = content(folder);
    for create in [false, true] {
        let error = truth::open(&EmbeddedBackend::new(), folder, DIMENSION, create).unwrap_err();
        assert_eq!(error.kind(), kind, "{error:?}");
        assert!(
            error.hint_text().is_some_and(|hint| hint.contains("untouched")),
            "{error:?}"
        );
    }
    let listed = EmbeddedBackend::new()
        .collections(&PalaceRef::local(folder))
        .unwrap_err();
    assert_eq!(listed.kind(), kind);
    assert!(!EmbeddedBackend::new().health(Some(&PalaceRef::local(folder))).ok);
    let examined = EmbeddedBackend::new().examine(folder);
    assert!(!examined.is_ok_and(|diagnosis| diagnosis.healthy));
    let names = |files: &[(String, Vec<u8>)]| files.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>();
    assert_eq!(
        names(&content(folder)),
        names(&before),
        "something was left beside it"
    );
    assert!(content(folder) == before, "its bytes were changed");
}

#[test]
fn a_newer_version_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    build(folder.path(), &small());
    raw::execute(folder.path(), "PRAGMA user_version = 7");
    assert_refused_untouched(folder.path(), ErrorKind::Format);
    let error = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap_err();
    assert!(
        error.message().contains("format 7") && error.hint_text().unwrap().contains("newer"),
        "{error:?}"
    );
}

#[test]
fn a_newer_version_that_is_still_in_the_log_is_refused_untouched() {
    let (made, folder) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    build(made.path(), &small());
    let connection = raw::connect(made.path());
    connection.execute_batch("PRAGMA user_version = 7").unwrap();
    for name in ["palace.db", "palace.db-wal"] {
        std::fs::copy(made.path().join(name), folder.path().join(name)).unwrap();
    }
    let log = std::fs::read(folder.path().join("palace.db-wal")).unwrap();
    let error = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap_err();
    assert!(error.message().contains("format 7"), "{error:?}");
    assert_eq!(std::fs::read(folder.path().join("palace.db-wal")).unwrap(), log);
}

#[test]
fn a_database_of_another_program_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    for (setup, mode) in [
        ("", "delete"),
        ("", "wal"),
        ("PRAGMA application_id = 7;", "delete"),
        ("PRAGMA user_version = 1;", "wal"),
    ] {
        let file = raw::file(folder.path());
        let _ = std::fs::remove_file(&file);
        let connection = Connection::open(&file).unwrap();
        connection
            .execute_batch(&format!(
                "PRAGMA journal_mode = {mode}; {setup} CREATE TABLE t (x); INSERT INTO t VALUES (1)"
            ))
            .unwrap();
        connection.close().unwrap();
        assert_refused_untouched(folder.path(), ErrorKind::Format);
    }
}

#[test]
fn a_file_that_is_no_database_is_refused_untouched() {
    let long = "a shopping list\n".repeat(3000);
    for text in ["no palace", &long, "SQLite format 3\0 but not really"] {
        let folder = raw::folder_with(text.as_bytes());
        assert_refused_untouched(folder.path(), ErrorKind::Format);
    }
}

#[test]
fn an_empty_file_is_no_palace_until_one_is_made_there() {
    let folder = raw::folder_with(b"");
    let error = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    assert_eq!(std::fs::read(raw::file(folder.path())).unwrap(), b"");
    assert_eq!(raw::names(folder.path()), ["palace.db"]);
    build(folder.path(), &small());
    assert!(EmbeddedBackend::new().examine(folder.path()).unwrap().healthy);
}

#[test]
fn a_folder_where_the_file_should_be_is_refused_untouched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(raw::file(folder.path())).unwrap();
    let missing = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, false).unwrap_err();
    assert_eq!(missing.kind(), ErrorKind::NotFound, "{missing:?}");
    let refused = truth::open(&EmbeddedBackend::new(), folder.path(), DIMENSION, true).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Io, "{refused:?}");
    assert!(refused.hint_text().is_some());
    assert_eq!(raw::names(folder.path()), ["palace.db"]);
    assert_eq!(raw::names(&raw::file(folder.path())), Vec::<String>::new());
}
