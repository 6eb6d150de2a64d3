//! Killed server processes and servers that stop at once: every acknowledged batch is there, whole.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use loci_testkit::{PostgresServer, PrivatePostgres, SeededRandom, campaign_rounds, campaign_seed};

use super::{apply, batch, check_batches, check_feed, check_words, new_backend, open};

const WRITERS: usize = 4;

/// Writers with the numbers of their turns.
type WriterTurns = Vec<(usize, usize)>;

/// Writes from several threads while `disturb` runs, and returns the turns that were tried and acknowledged.
fn write_while(url: &str, first_turn: usize, disturb: impl FnOnce()) -> (WriterTurns, WriterTurns) {
    let (tried, acknowledged) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for writer in 0..WRITERS {
            let (tried, acknowledged, is_over) = (&tried, &acknowledged, &is_over);
            scope.spawn(move || {
                let backend = new_backend();
                for turn in first_turn.. {
                    if is_over.load(Ordering::SeqCst) {
                        return;
                    }
                    tried.lock().unwrap().push((writer, turn));
                    let key = format!("{writer} {turn}");
                    let applied = open(&backend, url)
                        .and_then(|collection| apply(collection.as_ref(), &batch(writer, turn), &key));
                    match applied {
                        Ok(_) => acknowledged.lock().unwrap().push((writer, turn)),
                        // Left as it is: what became of it is checked afterwards.
                        Err(_) => thread::sleep(Duration::from_millis(20)),
                    }
                }
            });
        }
        disturb();
        is_over.store(true, Ordering::SeqCst);
    });
    (tried.into_inner().unwrap(), acknowledged.into_inner().unwrap())
}

fn pause(random: &mut SeededRandom, most: usize) {
    thread::sleep(Duration::from_millis(50 + random.below(most) as u64));
}

/// Runs rounds of writing and disturbing on a private server, and checks everything after each.
fn survive(disturb: impl Fn(&mut PrivatePostgres, &mut SeededRandom)) {
    let seed = campaign_seed();
    let mut random = SeededRandom::new(seed);
    let mut server = PostgresServer::start_private();
    let url = format!("{}&palace=crashes", server.url("postgres"));
    open(&new_backend(), &url).unwrap();
    let (mut tried, mut acknowledged) = (Vec::new(), Vec::new());
    for round in 0..campaign_rounds(2) {
        let first = tried.iter().map(|(_, turn)| turn + 1).max().unwrap_or(0);
        let (more, told) = write_while(&url, first, || {
            pause(&mut random, 300);
            disturb(&mut server, &mut random);
            server.wait_until_ready();
            pause(&mut random, 300);
        });
        tried.extend(more);
        acknowledged.extend(told);
        let collection = open(&new_backend(), &url).unwrap();
        check_batches(collection.as_ref(), &acknowledged, &tried);
        check_feed(collection.as_ref());
        check_words(&url);
        assert!(
            !acknowledged.is_empty(),
            "round {round}, seed {seed}: nothing was written"
        );
    }
}

#[test]
fn a_killed_process_of_the_server_loses_nothing_that_was_acknowledged() {
    survive(|server, random| {
        let processes = server.backend_pids();
        if let Some(process) = processes.get(random.below(processes.len().max(1))) {
            server.kill_backend(*process);
        }
    });
}

#[test]
fn a_server_that_stops_at_once_loses_nothing_that_was_acknowledged() {
    survive(|server, _| {
        server.stop_immediately();
        server.start_again();
    });
}
