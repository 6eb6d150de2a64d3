//! Eight processes that write at once, on a server and among clients that are killed: every acknowledged batch is there,
//! whole and once.
//!
//! `LOCI_ROUNDS` is the number of batches of each process.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Write as _};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use loci_core::{ErrorKind, Write};
use loci_postgres::PostgresBackend;
use loci_testkit::{PostgresServer, PrivatePostgres, SeededRandom, campaign_rounds, campaign_seed};

use super::writers::follow;
use super::{apply, batch, check_feed, open, stored_ids};

/// The task of a child: its number, its first turn, the turn after its last, and the URL.
const TASK: &str = "LOCI_FAULTS_WRITER";

const PROCESSES: usize = 8;

/// Not a test of its own: the others start it as another process with a task.
#[test]
fn a_child_process_writes_its_turns() {
    let Ok(task) = std::env::var(TASK) else { return };
    let [writer, first, end, url] = task.splitn(4, ' ').collect::<Vec<_>>()[..] else {
        panic!("{task}");
    };
    let (writer, first, end): (usize, usize, usize) = (
        writer.parse().unwrap(),
        first.parse().unwrap(),
        end.parse().unwrap(),
    );
    let backend = PostgresBackend::new();
    // The test harness has begun a line of its own.
    println!();
    for turn in first..end {
        tell(&format!("tries {turn}"));
        // A batch that is stored twice would replace its own drawers.
        let writes: Vec<Write> = batch(writer, turn)
            .into_iter()
            .map(|write| match write {
                Write::Add(new) => Write::Upsert(new),
                other => other,
            })
            .collect();
        let key = format!("{writer} {turn}");
        let receipt = loop {
            match open(&backend, url).and_then(|collection| apply(collection.as_ref(), &writes, &key)) {
                Ok(receipt) => break receipt,
                Err(error) if matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Locked) => {
                    tell(&format!("repeats {turn}"));
                    thread::sleep(Duration::from_millis(20));
                }
                Err(error) => panic!("turn {turn} of writer {writer}: {error}"),
            }
        };
        assert_eq!(
            (receipt.added.len(), receipt.replaced.len()),
            (2, 0),
            "turn {turn}"
        );
        tell(&format!("stored {turn}"));
    }
}

/// Prints a line at once: a killed process takes what it has not written with it.
fn tell(line: &str) {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}").unwrap();
    out.flush().unwrap();
}

/// What the children have said, and how often.
#[derive(Debug, Default)]
struct WriterLog {
    /// The turns that each writer has tried, and whether they were acknowledged.
    turns: Mutex<BTreeMap<(usize, usize), bool>>,
    acknowledged: AtomicUsize,
    repeated: AtomicUsize,
}

impl WriterLog {
    fn note(&self, writer: usize, line: &str) {
        let Some((verb, turn)) = line.split_once(' ') else {
            return;
        };
        let Ok(turn) = turn.parse() else { return };
        let mut turns = self.turns.lock().unwrap();
        match verb {
            "tries" => drop(turns.insert((writer, turn), false)),
            "repeats" => drop(self.repeated.fetch_add(1, Ordering::SeqCst)),
            "stored" => {
                turns.insert((writer, turn), true);
                self.acknowledged.fetch_add(1, Ordering::SeqCst);
            }
            _ => {}
        }
    }

    /// Returns the turn after the last one that a writer has tried.
    fn next_turn(&self, writer: usize) -> usize {
        let turns = self.turns.lock().unwrap();
        let tried = turns.range((writer, 0)..(writer + 1, 0));
        tried.map(|((_, turn), _)| turn + 1).max().unwrap_or(0)
    }
}

/// A child and the thread that reads its lines; it ends with the value.
struct WriterChild {
    writer: usize,
    child: Child,
    /// Taken by the end.
    reader: Option<JoinHandle<()>>,
}

impl Drop for WriterChild {
    fn drop(&mut self) {
        // A test that fails leaves none behind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl WriterChild {
    fn start(log: &Arc<WriterLog>, writer: usize, end: usize, url: &str) -> Self {
        let first = log.next_turn(writer);
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([
                "processes::a_child_process_writes_its_turns",
                "--exact",
                "--nocapture",
            ])
            .env(TASK, format!("{writer} {first} {end} {url}"))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let log = Arc::clone(log);
        let reader = thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .for_each(|line| log.note(writer, &line));
        });
        Self {
            writer,
            child,
            reader: Some(reader),
        }
    }

    /// Returns whether it has ended.
    fn is_over(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits for its end, and returns whether it ended well.
    fn finish(mut self) -> bool {
        let status = self.child.wait().unwrap();
        self.reader.take().unwrap().join().unwrap();
        status.success()
    }

    /// Kills it at once, wherever it is.
    fn kill(mut self) {
        self.child.kill().unwrap();
        self.finish();
    }
}

/// Checks what is stored against what the children have said.
fn check_stored(log: &WriterLog, url: &str) {
    let collection = open(&PostgresBackend::new(), url).unwrap();
    let stored: BTreeSet<String> = stored_ids(collection.as_ref()).into_iter().collect();
    let turns = log.turns.lock().unwrap();
    let mut expected = BTreeSet::new();
    for ((writer, turn), is_acknowledged) in turns.iter() {
        let halves = ["left", "right"].map(|half| format!("w{writer}-t{turn}-{half}"));
        let found = halves.iter().filter(|id| stored.contains(*id)).count();
        assert!(found != 1, "half of turn {turn} of writer {writer}");
        assert!(
            found == 2 || !is_acknowledged,
            "turn {turn} of writer {writer} was acknowledged and is lost"
        );
        expected.extend(halves.into_iter().filter(|_| found == 2));
    }
    assert_eq!(stored, expected, "drawers that no writer has tried");
    check_feed(collection.as_ref());
}

/// The result of a run, printed for campaigns by hand.
fn report(what: &str, seed: u64, log: &WriterLog, disturbed: usize) {
    let tried = log.turns.lock().unwrap().len();
    let (acknowledged, repeated) = (
        log.acknowledged.load(Ordering::SeqCst),
        log.repeated.load(Ordering::SeqCst),
    );
    println!(
        "{what}: {tried} batches tried, {acknowledged} acknowledged, {repeated} repeated, {disturbed} disturbances, seed {seed}"
    );
}

/// Runs all processes on a private server to their end while `disturb` runs again and again, and checks everything.
fn survive(what: &str, disturb: impl Fn(&mut PrivatePostgres, &mut SeededRandom) -> bool) {
    let (seed, turns) = (campaign_seed(), campaign_rounds(25) as usize);
    let mut random = SeededRandom::new(seed);
    let mut server = PostgresServer::start_private();
    let url = format!("{}&palace=processes", server.url("postgres"));
    open(&PostgresBackend::new(), &url).unwrap();
    let log = Arc::new(WriterLog::default());
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|writer| WriterChild::start(&log, writer, turns, &url))
        .collect();
    let (mut disturbed, mut ended) = (0, true);
    let all = PROCESSES * turns;
    while log.acknowledged.load(Ordering::SeqCst) < all && !children.is_empty() {
        thread::sleep(Duration::from_millis(50 + random.below(400) as u64));
        if log.acknowledged.load(Ordering::SeqCst) > 0 {
            disturbed += usize::from(disturb(&mut server, &mut random));
            server.wait_until_ready();
        }
        let (over, running) = children
            .into_iter()
            .partition(|child: &WriterChild| child.is_over());
        children = running;
        for child in over {
            ended &= child.finish();
        }
    }
    ended &= children.into_iter().all(WriterChild::finish);
    assert!(ended, "a writer failed, seed {seed}");
    report(what, seed, &log, disturbed);
    assert!(disturbed > 0, "seed {seed}: the writers were too fast");
    assert_eq!(log.acknowledged.load(Ordering::SeqCst), all, "seed {seed}");
    check_stored(&log, &url);
}

#[test]
fn processes_at_once_lose_nothing_and_a_follower_of_the_feed_skips_none() {
    let turns = campaign_rounds(25) as usize;
    let database = PostgresServer::shared().create_database();
    let url = format!("{}&palace=processes", database.url());
    open(&PostgresBackend::new(), &url).unwrap();
    let log = Arc::new(WriterLog::default());
    let is_over = AtomicBool::new(false);
    let seen = thread::scope(|scope| {
        let follower =
            scope.spawn(|| follow(open(&PostgresBackend::new(), &url).unwrap().as_ref(), &is_over));
        let children: Vec<_> = (0..PROCESSES)
            .map(|writer| WriterChild::start(&log, writer, turns, &url))
            .collect();
        let ended: Vec<bool> = children.into_iter().map(WriterChild::finish).collect();
        // Before the results: a failed writer must not leave the follower waiting.
        is_over.store(true, Ordering::SeqCst);
        assert!(ended.iter().all(|ended| *ended));
        follower.join().unwrap()
    });
    report("processes at once", 0, &log, 0);
    assert_eq!(log.acknowledged.load(Ordering::SeqCst), PROCESSES * turns);
    let once: BTreeSet<&String> = seen.iter().collect();
    assert_eq!(
        (once.len(), seen.len()),
        (PROCESSES * turns * 2, PROCESSES * turns * 2)
    );
    check_stored(&log, &url);
}

#[test]
fn killed_clients_leave_whole_batches_and_lose_none_that_was_acknowledged() {
    let (seed, turns) = (campaign_seed(), campaign_rounds(25) as usize);
    let mut random = SeededRandom::new(seed);
    let database = PostgresServer::shared().create_database();
    let url = format!("{}&palace=processes", database.url());
    open(&PostgresBackend::new(), &url).unwrap();
    let log = Arc::new(WriterLog::default());
    let mut children: Vec<_> = (0..PROCESSES)
        .map(|writer| WriterChild::start(&log, writer, turns, &url))
        .collect();
    let mut killed = 0;
    while !children.is_empty() {
        thread::sleep(Duration::from_millis(random.below(60) as u64));
        let child = children.swap_remove(random.below(children.len()));
        let writer = child.writer;
        if child.is_over() {
            assert!(child.finish(), "writer {writer} failed, seed {seed}");
            continue;
        }
        child.kill();
        killed += 1;
        // The turn during which it was killed is left as it is; the next process goes on with the one after.
        children.push(WriterChild::start(&log, writer, turns, &url));
    }
    report("clients killed", seed, &log, killed);
    assert!(killed > 0, "seed {seed}: the writers were too fast");
    check_stored(&log, &url);
}

#[test]
fn a_killed_server_process_loses_no_batch_of_any_client() {
    survive("server processes killed", |server, random| {
        // One that serves a writer: others may end by themselves before they are killed.
        let writers = server.try_sql(
            "postgres",
            "SELECT pid FROM pg_stat_activity WHERE query LIKE '%loci.%' AND pid <> pg_backend_pid()",
        );
        let processes: Vec<i32> = writers.out.lines().filter_map(|line| line.parse().ok()).collect();
        let chosen = processes.get(random.below(processes.len().max(1)));
        let chosen = chosen.filter(|process| server.backend_pids().contains(process));
        chosen.is_some_and(|process| {
            server.kill_backend(*process);
            true
        })
    });
}

#[test]
fn a_server_that_stops_at_once_loses_no_batch_of_any_client() {
    survive("server stopped at once", |server, _| {
        server.stop_immediately();
        server.start_again();
        true
    });
}
