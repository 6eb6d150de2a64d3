//! A disk that fails while a group is written: no batch is acknowledged that is not stored.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::{DIMENSION, GroupingScene, WRITERS, added};
use crate::power::forgetful::{self, DiskFault, with_fault};
use crate::power::unreadable::{self, FailingReads, with_failing};
use crate::scene::truth;
use loci_core::*;
use loci_store::EmbeddedBackend;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Set for a child process: where its palace is.
const FOLDER: &str = "LOCI_TEST_FOLDER";

#[test]
fn a_log_that_cannot_be_written_fails_for_the_whole_group() {
    let scene = GroupingScene::over(EmbeddedBackend::over_vfs(forgetful::NAME));
    forgetful::register();
    let collections: Vec<_> = (0..5).map(|_| scene.open()).collect();
    let outcomes = scene.at_once(5, |n| {
        let write = || collections[n].apply_batch(&added(n));
        if n == 0 {
            with_fault(DiskFault::Frames, write)
        } else {
            write()
        }
    });
    // The group may have been cut short by its time limit, and then the rest of it is another one.
    let failed = outcomes.iter().take_while(|outcome| outcome.is_err()).count();
    assert!(failed > 1, "{outcomes:?}");
    assert!(outcomes[failed..].iter().all(Result::is_ok), "{outcomes:?}");
    for (outcome, collection) in outcomes.iter().zip(&collections).take(failed) {
        let error = outcome.as_ref().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Io, "{error:?}");
        assert_eq!(error.to_string(), outcomes[0].as_ref().unwrap_err().to_string());
        let refused = collection.apply_batch(&added(50)).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Poisoned);
    }
    scene.assert_holds(failed..5);
    scene.open().apply_batch(&added(60)).unwrap();
}

#[test]
fn a_commit_that_cannot_be_confirmed_is_unknown_to_the_whole_group() {
    let scene = GroupingScene::over(EmbeddedBackend::over_vfs(unreadable::NAME));
    unreadable::register();
    let collection = scene.open();
    // Begins the log, so that the next sync is that of a commit.
    collection.apply_batch(&added(9)).unwrap();
    let outcomes = scene.at_once(5, |n| {
        let write = || collection.apply_batch(&added(n));
        if n == 0 {
            with_failing(FailingReads::AfterSync, write)
        } else {
            write()
        }
    });
    let unknown = outcomes.iter().take_while(|outcome| {
        let context = outcome.as_ref().err().map(Error::context).unwrap_or_default();
        context.contains(&("outcome", "unknown".to_owned()))
    });
    assert!(unknown.count() > 1, "{outcomes:?}");
    scene.assert_holds((0..5).chain([9]));
}

#[test]
fn reads_that_fail_for_the_leader_cost_no_other_batch() {
    let mut shared = 0;
    for one_in in (2..60).step_by(3) {
        let scene = GroupingScene::over(EmbeddedBackend::over_vfs(unreadable::NAME));
        unreadable::register();
        let collection = scene.open();
        for n in 100..130 {
            collection.apply_batch(&added(n)).unwrap();
        }
        let outcomes = scene.at_once(6, |n| {
            // Each changes a drawer of its own, whose pages have to be read.
            let change = [
                Write::Upsert(truth::drawer(100 + n, 1, DIMENSION)),
                added(n)[0].clone(),
            ];
            let write = || collection.apply_batch(&change);
            if n == 0 {
                with_failing(FailingReads::OneIn(one_in), write)
            } else {
                write()
            }
        });
        let told = |outcome: &Result<Receipt>| outcome.as_ref().err().map(Error::to_string);
        for outcome in outcomes.iter().skip(1).filter(|outcome| outcome.is_err()) {
            // Only by a commit that failed for both.
            assert_eq!(told(outcome), told(&outcomes[0]), "one in {one_in}");
            shared += 1;
        }
        let done = (0..6).filter(|n| outcomes[*n].is_ok());
        let found = scene
            .open()
            .get(&GetRequest::by_ids((0..6).map(truth::id)))
            .unwrap();
        for n in done {
            assert!(
                found.iter().any(|drawer| drawer.id == truth::id(n)),
                "{n} was acknowledged"
            );
        }
        let examined = EmbeddedBackend::new().examine(&scene.path()).unwrap();
        assert!(examined.healthy, "{:?}", examined.findings);
    }
    println!("{shared} batches failed with the commit of another");
}

/// Twenty threads write until the disk is full; everything acknowledged is there afterwards and nothing is there in part.
fn fill_disk(folder: &Path) {
    let backend = EmbeddedBackend::new().grouping_writes();
    let collection = truth::open(&backend, folder, DIMENSION, true).unwrap();
    let (next, acknowledged) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let batch = |first: usize| -> Vec<Write> {
        let drawers = (first..first + 4).map(|n| NewDrawer {
            document: format!("{} {}", truth::text(n, 0), "ballast ".repeat(300)),
            ..truth::drawer(n, 0, DIMENSION)
        });
        drawers.map(Write::Add).collect()
    };
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                loop {
                    let first = next.fetch_add(4, Ordering::SeqCst);
                    assert!(first < 20_000, "the disk is never full");
                    match collection.apply_batch(&batch(first)) {
                        Ok(receipt) => acknowledged.lock().unwrap().extend(receipt.added),
                        Err(error) => {
                            let kinds = [ErrorKind::Io, ErrorKind::Poisoned];
                            assert!(kinds.contains(&error.kind()), "{error:?}");
                            return;
                        }
                    }
                }
            });
        }
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    let found = collection.get(&truth::everything()).unwrap();
    let stored: std::collections::HashSet<&DrawerId> = found.iter().map(|drawer| &drawer.id).collect();
    assert!(acknowledged.len() > 100);
    assert!(
        acknowledged.iter().all(|id| stored.contains(id)),
        "acknowledged and lost"
    );
    assert_eq!(acknowledged.len(), stored.len(), "refused and stored");
    println!("\n{} drawers fitted", stored.len());
}

/// Not a test of its own: the next one starts it as another process, whose files may not grow far.
#[test]
fn a_child_process_fills_its_disk() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let Rlimit { maximum, .. } = getrlimit(Resource::Fsize);
    let limit = |current| setrlimit(Resource::Fsize, Rlimit { current, maximum }).unwrap();
    let folder = PathBuf::from(folder);
    limit(Some(4 << 20));
    fill_disk(&folder);
    limit(maximum);
    let examined = EmbeddedBackend::new().examine(&folder).unwrap();
    assert!(examined.healthy, "{:?}", examined.findings);
}

#[test]
fn a_full_disk_costs_only_the_batches_that_were_refused() {
    let folder = tempfile::tempdir().unwrap();
    // Without the signal a write beyond the limit is an error, as on a disk that is full.
    let output = Command::new("sh")
        .args(["-c", r#"trap '' XFSZ; exec "$0" "$@""#])
        .arg(std::env::current_exe().unwrap())
        .args([
            "grouping::faults::a_child_process_fills_its_disk",
            "--exact",
            "--nocapture",
        ])
        .env(FOLDER, folder.path().join("palace"))
        .output()
        .unwrap();
    let said =
        String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.contains("drawers fitted"),
        "{said}"
    );
}
