//! Processes share one server, and neither a killed test nor a killed guard leaves one behind.

use std::fs;
use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use super::super::shared::{SharedPostgres, join_or_start};
use super::super::{PostgresServer, files, processes};
use super::wait_for;
use crate::prepared::postgres_folder;

/// Tells a test that it runs as the second process of itself, with the folder it works on.
const SECOND: &str = "LOCI_TESTKIT_SECOND_PROCESS";

/// Returns this test program as a command that runs one test, as the second process of that test.
fn second_process(test: &str, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let path = format!("postgres::tests::sharing::{test}");
    command.args(["--exact", &path, "--nocapture"]);
    command.env(SECOND, folder).stdout(Stdio::piped());
    command
}

fn second_folder() -> Option<PathBuf> {
    std::env::var_os(SECOND).map(PathBuf::from)
}

/// Reads what a second process says behind `mark`.
fn read_marked(child: &mut Child, mark: &str) -> String {
    // To the end: it fails if it cannot write.
    let mut text = String::new();
    child.stdout.take().unwrap().read_to_string(&mut text).unwrap();
    let marked = text
        .lines()
        .find_map(|line| Some(line.split_once(mark)?.1.to_owned()));
    marked.unwrap_or_else(|| panic!("the second process does not say {mark:?}: {text}"))
}

fn kill_and_wait(id: i32) {
    kill_process(Pid::from_raw(id).unwrap(), Signal::KILL).unwrap();
    wait_for("the end of a killed process", || !processes::is_running(id));
}

fn guard_pid(server: &PostgresServer) -> i32 {
    let file = server.socket_folder().join("guard.pid");
    wait_for("a guard", || {
        fs::read_to_string(&file).is_ok_and(|text| text.ends_with('\n'))
    });
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Waits until a server, its guard and its folder are gone.
fn expect_gone(folder: &Path, processes: &[i32]) {
    wait_for("the end of the server", || {
        !folder.exists() && !processes.iter().any(|id| processes::is_running(*id))
    });
}

fn processes_of(server: &PostgresServer) -> Vec<i32> {
    let postmaster = server.postmaster_pid().unwrap();
    let mut all = processes::children_of(postmaster);
    all.extend([postmaster, guard_pid(server)]);
    all
}

#[test]
fn two_processes_share_one_server_which_ends_after_both() {
    if let Some(place) = second_folder() {
        let joined = join_or_start(&place, "two-processes", 0);
        println!("joined {}", joined.server.url("postgres"));
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let first = join_or_start(place.path(), "two-processes", 0);
    let mut second = second_process(
        "two_processes_share_one_server_which_ends_after_both",
        place.path(),
    )
    .spawn()
    .unwrap();
    assert_eq!(read_marked(&mut second, "joined "), first.server.url("postgres"));
    assert!(second.wait().unwrap().success());
    let mode = fs::metadata(first.server.socket_folder())
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o077, 0, "others could connect without a password");
    // The second has left, and the server stays for the first.
    assert_eq!(first.server.run_sql("postgres", "SELECT 1"), "1");
    let folder = first.server.socket_folder().to_owned();
    let all = processes_of(&first.server);
    drop(first);
    expect_gone(&folder, &all);
}

#[test]
fn a_server_stays_for_its_idle_time_and_is_joined_in_it() {
    let place = tempfile::tempdir().unwrap();
    let join = || join_or_start(place.path(), "idle", 600);
    let first = join();
    let url = first.server.url("postgres");
    drop(first);
    let again = join();
    assert_eq!(again.server.url("postgres"), url);
    let (folder, all) = (
        again.server.socket_folder().to_owned(),
        processes_of(&again.server),
    );
    drop(again);
    // As `scripts/postgres-server FOLDER stop` does.
    kill_process(Pid::from_raw(*all.last().unwrap()).unwrap(), Signal::TERM).unwrap();
    expect_gone(&folder, &all);
}

#[test]
fn a_killed_process_leaves_neither_its_private_nor_its_shared_server() {
    if let Some(place) = second_folder() {
        let private = PostgresServer::start_private();
        let shared = join_or_start(&place, "killed", 0);
        for server in [&*private, &shared.server] {
            let all = processes_of(server)
                .iter()
                .map(i32::to_string)
                .collect::<Vec<_>>();
            fs::write(
                place.join(all.join(" ")),
                server.socket_folder().to_str().unwrap(),
            )
            .unwrap();
        }
        println!("ready {}", private.url("postgres"));
        // Ends with a signal that leaves it no time to clean up.
        kill_process(rustix::process::getpid(), Signal::KILL).unwrap();
    }
    let place = tempfile::tempdir().unwrap();
    let mut second = second_process(
        "a_killed_process_leaves_neither_its_private_nor_its_shared_server",
        place.path(),
    )
    .spawn()
    .unwrap();
    assert!(read_marked(&mut second, "ready ").starts_with("postgresql://"));
    assert_eq!(second.wait().unwrap().code(), None);
    let mut servers = 0;
    for entry in fs::read_dir(place.path()).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Ok(all) = name.split(' ').map(str::parse).collect::<Result<Vec<i32>, _>>() else {
            continue;
        };
        servers += 1;
        expect_gone(Path::new(&fs::read_to_string(entry.path()).unwrap()), &all);
    }
    assert_eq!(servers, 2);
}

/// Starts a server, lets `harm` happen to it, and expects the next to get another one and the first to vanish.
fn expect_another_after(name: &str, harm: impl FnOnce(&PostgresServer)) {
    let place = tempfile::tempdir().unwrap();
    let join = || -> SharedPostgres { join_or_start(place.path(), name, 0) };
    let first = join();
    let (folder, all) = (
        first.server.socket_folder().to_owned(),
        processes_of(&first.server),
    );
    harm(&first.server);
    let second = join();
    assert_ne!(second.server.socket_folder(), folder);
    assert_eq!(second.server.run_sql("postgres", "SELECT 1"), "1");
    let second_folder = second.server.socket_folder().to_owned();
    let second_all = processes_of(&second.server);
    drop(first);
    expect_gone(&folder, &all);
    drop(second);
    expect_gone(&second_folder, &second_all);
}

#[test]
fn a_server_that_was_killed_is_replaced() {
    expect_another_after("server-killed", |server| {
        kill_and_wait(server.postmaster_pid().unwrap());
    });
}

#[test]
fn a_server_whose_guard_was_killed_is_ended_and_replaced() {
    expect_another_after("guard-killed", |server| kill_and_wait(guard_pid(server)));
}

#[test]
fn a_note_about_a_server_that_is_gone_does_no_harm() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("gone"), "/nowhere/loci-pg-gone").unwrap();
    let joined = join_or_start(place.path(), "gone", 0);
    assert_eq!(joined.server.run_sql("postgres", "SELECT 1"), "1");
}

#[test]
fn a_server_runs_from_a_folder_that_only_its_owner_may_enter() {
    if second_folder().is_some() {
        let plan = PostgresServer::plan_private();
        let answers = [plan.clone(), plan.with_tls_build()]
            .map(|plan| plan.start().run_sql("postgres", "SELECT 40 + 2"));
        println!("answers {}", answers.join(" "));
        return;
    }
    let owned = tempfile::tempdir().unwrap();
    fs::set_permissions(owned.path(), fs::Permissions::from_mode(0o700)).unwrap();
    let (from, to) = (postgres_folder(), owned.path().join("postgres"));
    fs::create_dir(&to).unwrap();
    for name in ["programs", "tls-programs", "template", "complete"] {
        let copied = Command::new("cp")
            .arg("-R")
            .arg(from.join(name))
            .arg(&to)
            .status();
        assert!(copied.unwrap().success());
    }
    assert!(!files::is_open_to_all(&to));
    let mut second = second_process("a_server_runs_from_a_folder_that_only_its_owner_may_enter", &to)
        .env("LOCI_TEST_POSTGRES", &to)
        .spawn()
        .unwrap();
    assert_eq!(read_marked(&mut second, "answers "), "42 42");
    assert!(second.wait().unwrap().success());
}
