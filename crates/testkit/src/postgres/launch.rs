//! Starts a server process in a folder of its own, with a guard that ends it when its tests are gone.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::PostgresServer;
use super::files::{self, NOBODY, PostgresBuild};
use crate::prepared::postgres_folder;

/// The time a server may take until it accepts connections; a busy machine needs seconds.
const LONGEST_START: Duration = Duration::from_secs(120);

/// Settings that keep a server light beside many tests. What decides about durability stays as Postgres has it.
const SETTINGS: [(&str, &str); 8] = [
    ("listen_addresses", ""),
    ("max_connections", "200"),
    ("shared_buffers", "64MB"),
    ("max_wal_size", "256MB"),
    // Without worker processes that read for others.
    ("io_method", "sync"),
    // In the data folder: nothing stays in shared memory after a kill, and small containers have little of it.
    ("dynamic_shared_memory_type", "mmap"),
    ("log_line_prefix", "%m [%p] %d "),
    ("log_min_duration_statement", "5s"),
];

/// Makes the empty folder of a new server, and its log.
#[track_caller]
pub(super) fn make_server(log_name: &str, port: u16) -> PostgresServer {
    let prepared = postgres_folder();
    let folder = files::make_server_folder();
    let logs = prepared.join("logs");
    fs::create_dir_all(&logs).unwrap();
    let log = logs.join(format!("{log_name}.log"));
    File::create(&log).unwrap();
    PostgresServer {
        prepared,
        folder,
        port,
        log,
    }
}

/// Copies the template into the folder, and programs that the server could not read where they are.
#[track_caller]
pub(super) fn fill_folder(server: &PostgresServer, build: PostgresBuild) {
    let (folder, prepared) = (&server.folder, &server.prepared);
    files::copy_for_server(&prepared.join("template"), &folder.join("data"));
    if files::is_root() && !files::is_open_to_all(&build.program_path(prepared, "postgres")) {
        let name = build.folder_name();
        files::copy_for_server(&prepared.join(name), &folder.join(name));
    }
}

/// Starts the guard of a folder, which acts when `users` has no writer any more for some seconds.
pub(super) fn start_guard(folder: &Path, users: Stdio, seconds: u32) -> Child {
    Command::new("/bin/sh")
        .args(["-c", include_str!("guard.sh"), "loci-postgres-guard"])
        .arg(folder)
        .arg(seconds.to_string())
        .stdin(users)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .current_dir("/")
        // Out of reach of what ends the test: Ctrl-C, and the test runner.
        .process_group(0)
        .spawn()
        .unwrap()
}

/// Starts the server process and waits until it accepts connections.
#[track_caller]
pub(super) fn start_process(
    server: &PostgresServer,
    build: PostgresBuild,
    settings: &[(String, String)],
) -> Child {
    let mut process = server_command(server, build, settings)
        .spawn()
        .unwrap_or_else(|error| panic!("the Postgres server could not be started: {error}"));
    wait_until(server, || {
        if let Some(status) = process.try_wait().unwrap() {
            let (log, said) = (server.log.display(), fs::read_to_string(&server.log));
            panic!(
                "the Postgres server ended while it started ({status}); its log {log} says:\n{}",
                said.unwrap_or_default()
            );
        }
        files::is_ready(&server.folder, process.id())
    });
    process
}

fn server_command(server: &PostgresServer, build: PostgresBuild, settings: &[(String, String)]) -> Command {
    let copied = build.program_path(&server.folder, "postgres");
    let program = if copied.exists() {
        copied
    } else {
        build.program_path(&server.prepared, "postgres")
    };
    // The test opens the log, because the server's user may not enter the target folder.
    let log = File::options().append(true).open(&server.log).unwrap();
    let mut command = Command::new(program);
    command.arg("-D").arg(server.folder.join("data"));
    command.arg("-k").arg(&server.folder);
    command.arg("-p").arg(server.port.to_string());
    let own = SETTINGS.map(|(name, value)| (name.to_owned(), value.to_owned()));
    // The last of two equal settings counts.
    for (name, value) in own.iter().chain(settings) {
        command.arg("-c").arg(format!("{name}={value}"));
    }
    command
        .env_clear()
        .env("LC_ALL", "C")
        .current_dir(&server.folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .process_group(0);
    if files::is_root() {
        command.uid(NOBODY).gid(NOBODY);
    }
    command
}

/// Waits until a running server accepts connections.
#[track_caller]
pub(super) fn wait_until_ready(server: &PostgresServer) {
    wait_until(server, || {
        let mut command = server.program("pg_isready");
        command.args(["--quiet", "--dbname", &server.url("postgres")]);
        command.status().unwrap().success()
    });
}

#[track_caller]
fn wait_until(server: &PostgresServer, mut is_ready: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_ready() {
        assert!(
            begun.elapsed() < LONGEST_START,
            "the Postgres server does not accept connections; its log is {}",
            server.log.display()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Returns the name of the running test, as the name of a file; with a number for its second server and those after it.
pub(super) fn test_name() -> String {
    static STARTED: Mutex<BTreeMap<String, u32>> = Mutex::new(BTreeMap::new());
    let name = thread_name();
    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    let count = started.entry(name.clone()).or_default();
    *count += 1;
    if *count == 1 {
        name
    } else {
        format!("{name}-{count}")
    }
}

fn thread_name() -> String {
    let thread = std::thread::current();
    let plain = |letter: char| {
        if letter.is_ascii_alphanumeric() {
            letter
        } else {
            '-'
        }
    };
    thread.name().unwrap_or("test").chars().map(plain).collect()
}

/// Makes a named pipe.
pub(super) fn make_pipe(path: &Path) -> PathBuf {
    let made = Command::new("mkfifo").arg(path).status().unwrap();
    assert!(made.success(), "mkfifo {} failed", path.display());
    path.to_owned()
}
