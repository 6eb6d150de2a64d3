//! Many threads and processes, some of them killed.

use super::*;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

const CHILD: &str = "LOCI_VFS_TEST_CHILD";

/// Writes without end where it is started as a child; passes at once in an ordinary run.
#[test]
fn a_child_writes_until_it_is_killed() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let connection = loop {
        match open(Path::new(&path)) {
            // SQLite's busy timeout does not cover two that make the file at once; `connection::open` tries again too.
            Err(error) if crate::failure::is_busy(&error) => std::thread::sleep(Duration::from_millis(5)),
            opened => break opened.unwrap(),
        }
    };
    connection
        .execute_batch("PRAGMA wal_autocheckpoint = 20")
        .unwrap();
    for round in i64::from(std::process::id()).. {
        fill(&connection, round % 40 * 5..round % 40 * 5 + 10).unwrap();
        connection
            .execute("DELETE FROM drawers WHERE id % 11 = ?1", [round % 11])
            .unwrap();
        connection.execute_batch("PRAGMA incremental_vacuum(3)").unwrap();
        println!("acknowledged {round}");
    }
}

fn start(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "--nocapture",
            "vfs::tests::processes::a_child_writes_until_it_is_killed",
        ])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Reads lines of the child until it has acknowledged `n` rounds, then kills it.
fn kill_after(mut child: Child, n: usize) {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let seen = lines
        .map_while(Result::ok)
        .filter(|line| line.contains("acknowledged"))
        .take(n)
        .count();
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(seen, n, "the child failed by itself");
}

#[test]
fn killed_writers_never_raise_a_false_alarm() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    let rounds = std::env::var("LOCI_ROUNDS")
        .ok()
        .and_then(|rounds| rounds.parse().ok())
        .unwrap_or(8);
    for round in 0..rounds {
        let first = start(&path);
        kill_after(start(&path), round % 7 + 1);
        kill_after(first, round % 3 + 1);
        let connection = bare(&path).unwrap();
        assert_eq!(lost_log(&connection).unwrap(), None);
        assert_whole(&connection);
        let count: i64 = connection
            .query_row("SELECT count(*) FROM drawers", [], |row| row.get(0))
            .unwrap();
        let right = (0..300).filter_map(|id| Some((id, read(&connection, id).ok()?)));
        assert_eq!(
            right.inspect(|(id, found)| assert_eq!(*found, text(*id))).count() as i64,
            count
        );
    }
    assert_eq!(damaged_pages(&path), Vec::<u32>::new());
}

#[test]
fn readers_scanners_and_checkpoints_at_once_see_no_damage() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("palace.db");
    fill(&open(&path).unwrap(), 0..100).unwrap();
    let writers = [start(&path), start(&path)];
    std::thread::scope(|scope| {
        for thread in 0..3_u32 {
            let path = &path;
            scope.spawn(move || {
                for turn in 0..15_i64 {
                    let connection = open(path).unwrap();
                    for id in 0..100 {
                        if let Ok(found) = read(&connection, id) {
                            assert_eq!(found, text(id));
                        }
                    }
                    match (thread, turn % 3) {
                        (0, _) => assert_eq!(scan_pages(&connection).unwrap(), Vec::<u32>::new()),
                        (1, 0) => connection
                            .execute_batch("PRAGMA wal_checkpoint(TRUNCATE)")
                            .unwrap(),
                        (1, 1) => assert_eq!(integrity(&connection).as_deref(), Ok("ok")),
                        _ => fill(&connection, turn..turn + 3).unwrap(),
                    }
                }
            });
        }
    });
    for child in writers {
        kill_after(child, 2);
    }
    assert_eq!(damaged_pages(&path), Vec::<u32>::new());
    let connection = bare(&path).unwrap();
    assert_whole(&connection);
    assert_eq!(lost_log(&connection).unwrap(), None);
}
