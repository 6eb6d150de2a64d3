//! Real Chroma servers on loopback for tests: one of each release that all tests share, and private ones.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::net::TcpStream;
use std::os::unix::process::CommandExt as _;
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Mutex;
use std::time::Duration;

use crate::prepared::{chroma_python, chroma_server_folder};

/// The seconds that a shared server stays after the last test that uses it.
const IDLE_SECONDS: u32 = 20;

/// A running Chroma server; a private one ends with the value.
#[derive(Debug)]
pub struct ChromaServer {
    port: u16,
    /// The guard of the server waits until this is closed.
    user: Option<TcpStream>,
    /// The guard of a private server.
    guard: Option<Child>,
}

/// The ports of a server and of its guard, and the word by which the guard is known.
#[derive(Debug, Clone)]
struct ServerNote {
    port: u16,
    guard_port: u16,
    word: String,
}

impl ServerNote {
    fn parse(line: &str) -> Option<Self> {
        let mut parts = line.split_whitespace();
        Some(Self {
            port: parts.next()?.parse().ok()?,
            guard_port: parts.next()?.parse().ok()?,
            word: parts.next()?.to_owned(),
        })
    }

    /// Connects to the guard; `None` if it has ended, also if another program has its port now.
    fn join(&self) -> Option<TcpStream> {
        let user = TcpStream::connect(("127.0.0.1", self.guard_port)).ok()?;
        user.set_read_timeout(Some(Duration::from_secs(10))).ok()?;
        let mut greeting = String::new();
        BufReader::new(&user).read_line(&mut greeting).ok()?;
        (greeting.trim_end() == self.word).then_some(user)
    }
}

impl ChromaServer {
    /// The releases whose servers run here: the oldest with the second interface, and the newest.
    pub const RELEASES: [&'static str; 2] = ["0.6.3", "1.5.9"];

    /// Returns the server of a release that all tests share, also those in other processes; the first of them starts it.
    ///
    /// It stops a while after the last test that uses it has ended, however that test ended. Tests must not disturb each
    /// other: each uses a database of its own.
    #[track_caller]
    pub fn shared(release: &str) -> u16 {
        static JOINED: Mutex<Vec<(String, ChromaServer)>> = Mutex::new(Vec::new());
        let mut joined = JOINED.lock().unwrap();
        if let Some((_, server)) = joined.iter().find(|(known, _)| known == release) {
            return server.port;
        }
        let server = join_or_start(release);
        let port = server.port;
        joined.push((release.to_owned(), server));
        port
    }

    /// Starts a server for this test alone, with these environment variables.
    #[track_caller]
    pub fn start_private(release: &str, variables: &[(&str, &str)]) -> Self {
        let (note, guard) = start(release, 0, variables);
        let user = note
            .join()
            .expect("a guard that has just started waits for users");
        Self {
            port: note.port,
            user: Some(user),
            guard: Some(guard),
        }
    }

    /// Returns its port of 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Ends a private server at once.
    pub fn stop(&mut self) {
        drop(self.user.take());
        if let Some(mut guard) = self.guard.take() {
            guard.wait().unwrap();
        }
    }
}

impl Drop for ChromaServer {
    fn drop(&mut self) {
        self.stop();
    }
}

#[track_caller]
fn join_or_start(release: &str) -> ChromaServer {
    let place = chroma_server_folder();
    // One process looks and starts, the others wait and join. The system releases the lock of a killed process.
    let lock = File::create(place.join(format!("{release}.lock"))).unwrap();
    lock.lock().unwrap();
    let path = place.join(format!("{release}.note"));
    let noted = fs::read_to_string(&path).ok();
    let joined = noted
        .and_then(|line| ServerNote::parse(&line))
        .and_then(|note| Some((note.port, note.join()?)));
    let (port, user) = joined.unwrap_or_else(|| {
        // The guard outlives this process: it is not waited for.
        let (note, _guard) = start(release, IDLE_SECONDS, &[]);
        let user = note
            .join()
            .expect("a guard that has just started waits for users");
        let unfinished = place.join(format!("{release}.new"));
        fs::write(
            &unfinished,
            format!("{} {} {}\n", note.port, note.guard_port, note.word),
        )
        .unwrap();
        fs::rename(unfinished, &path).unwrap();
        (note.port, user)
    });
    ChromaServer {
        port,
        user: Some(user),
        guard: None,
    }
}

#[track_caller]
fn start(release: &str, idle_seconds: u32, variables: &[(&str, &str)]) -> (ServerNote, Child) {
    let place = chroma_server_folder();
    // The guard removes the folder of the server.
    let folder: PathBuf = tempfile::Builder::new()
        .prefix("loci-chroma-")
        .tempdir()
        .unwrap()
        .keep();
    let log = place.join(format!("{release}.log"));
    let mut command = chroma_python(release);
    command
        .args(["-c", include_str!("chroma_server/serve.py")])
        .arg(&folder)
        .arg(place.join("packages"))
        .arg(idle_seconds.to_string())
        .envs(variables.iter().copied())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(File::options().create(true).append(true).open(&log).unwrap())
        // A shared server is not ended with the test that started it.
        .process_group(0);
    let mut guard = command.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(guard.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let note = ServerNote::parse(&line)
        .unwrap_or_else(|| panic!("Chroma {release} does not start; see {}", log.display()));
    (note, guard)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_private_server_listens_until_it_is_dropped() {
        let server = ChromaServer::start_private("1.5.9", &[]);
        let port = server.port();
        assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
        drop(server);
        assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
    }

    #[test]
    fn a_shared_server_is_started_once() {
        let port = ChromaServer::shared("1.5.9");
        assert_eq!(join_or_start("1.5.9").port, port);
    }
}
