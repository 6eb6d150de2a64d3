//! The server that tests in all processes share: found or started under a lock, and ended by its guard.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::fs::OFlags;
use rustix::process::{Pid, Signal, kill_process};

use super::files::PostgresBuild;
use super::{PostgresServer, USUAL_PORT, files, launch, processes};
use crate::prepared::postgres_folder;

/// The seconds that the server stays at least after the last test that uses it, and twice that at most: a test may join
/// and leave while the guard waits.
const IDLE_SECONDS: u32 = 30;

/// The share of one process in the server, which stays at least as long as this.
#[derive(Debug)]
pub(super) struct SharedPostgres {
    pub(super) server: PostgresServer,
    /// The guard waits until every process has closed its end.
    _user: File,
}

#[track_caller]
pub(super) fn shared_server() -> &'static PostgresServer {
    static SHARED: OnceLock<SharedPostgres> = OnceLock::new();
    let joined = SHARED.get_or_init(|| join_or_start(&postgres_folder(), "shared", IDLE_SECONDS));
    &joined.server
}

/// Joins the server that `place/name` names, or starts one if there is none.
#[track_caller]
pub(super) fn join_or_start(place: &Path, name: &str, idle_seconds: u32) -> SharedPostgres {
    // One process looks and starts, the others wait and join. The system releases the lock of a killed process.
    let lock = File::create(place.join(format!("{name}.lock"))).unwrap_or_else(|error| {
        panic!(
            "{} cannot be written, and tests share a server through it: {error}",
            place.display()
        )
    });
    lock.lock().unwrap();
    let note = place.join(name);
    let noted = fs::read_to_string(&note).ok().map(PathBuf::from);
    if let Some(folder) = &noted {
        if let Some(joined) = join_server(folder, name) {
            return joined;
        }
        remove_abandoned(folder);
    }
    let started = start_server(name, idle_seconds);
    // Renamed into place, so that no other test reads half a path.
    let unfinished = place.join(format!("{name}.new"));
    fs::write(&unfinished, started.server.folder.as_os_str().as_encoded_bytes()).unwrap();
    fs::rename(unfinished, note).unwrap();
    started
}

/// Joins the server in `folder` if its guard waits for users and it takes connections.
fn join_server(folder: &Path, name: &str) -> Option<SharedPostgres> {
    let user = open_user_end(&folder.join("users"))?;
    let prepared = postgres_folder();
    let server = PostgresServer {
        log: prepared.join("logs").join(format!("{name}.log")),
        prepared,
        folder: folder.to_owned(),
        port: USUAL_PORT,
    };
    // The socket of a killed server still takes connections while its last child has it open.
    server.postmaster_pid().filter(|id| processes::is_running(*id))?;
    UnixStream::connect(server.socket()).ok()?;
    Some(SharedPostgres { server, _user: user })
}

/// Opens a pipe for writing and tells its guard of a new user; none if no guard reads it.
fn open_user_end(pipe: &Path) -> Option<File> {
    let mut options = File::options();
    // Without blocking: opening fails if there is no reader.
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
    let mut user = options.write(true).custom_flags(flags).open(pipe).ok()?;
    user.write_all(b"joined\n").ok()?;
    Some(user)
}

fn start_server(name: &str, idle_seconds: u32) -> SharedPostgres {
    let server = launch::make_server(name, USUAL_PORT);
    let pipe = launch::make_pipe(&server.folder.join("users"));
    let flags = i32::try_from(OFlags::NONBLOCK.bits()).unwrap();
    // Opening one end waits for the other, unless it must not block; the guard's end must block as it reads. So the
    // first end only lets the second be opened, and the second the third.
    let first = File::options()
        .read(true)
        .custom_flags(flags)
        .open(&pipe)
        .unwrap();
    let user = open_user_end(&pipe).expect("a pipe with a reader can be opened for writing");
    let guard_end = File::open(&pipe).unwrap();
    drop(first);
    // Not waited for: both end after this process.
    drop(launch::start_guard(
        &server.folder,
        guard_end.into(),
        idle_seconds,
    ));
    launch::fill_folder(&server, PostgresBuild::WithVector);
    drop(launch::start_process(&server, PostgresBuild::WithVector, &[]));
    SharedPostgres { server, _user: user }
}

/// Ends a server whose guard was killed, and removes its folder. If its guard lives, the server is dead and the guard
/// removes the folder.
fn remove_abandoned(folder: &Path) {
    if !folder.exists() || open_user_end(&folder.join("users")).is_some() {
        return;
    }
    let data = folder.join("data");
    if let Some(id) = files::postmaster_pid(folder) {
        // The number may belong to another process by now; the server's working folder is its data folder. On systems
        // without /proc the server ends itself within a minute of the removal of its folder.
        let is_ours = fs::read_link(format!("/proc/{id}/cwd")).is_ok_and(|cwd| cwd == data);
        if let Some(id) = Pid::from_raw(id).filter(|_| is_ours) {
            let _ = kill_process(id, Signal::QUIT);
        }
    }
    let _ = fs::remove_dir_all(folder);
}
