//! A proxy in front of a server's socket that cuts connections after a number of bytes.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use loci_testkit::PostgresServer;
use tempfile::TempDir;

/// The bytes that count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutDirection {
    ToServer,
    ToClient,
}

/// A proxy whose first connections are cut; later ones are not, or are refused.
pub(crate) struct CuttingProxy {
    folder: TempDir,
    state: Arc<ProxyState>,
}

struct ProxyState {
    direction: CutDirection,
    /// The bytes that may still pass before the cut.
    left: AtomicI64,
    /// The bytes that have passed in this direction.
    passed: AtomicI64,
    /// Whether connections are refused after the cut.
    refuses: bool,
    open: Mutex<Vec<UnixStream>>,
}

impl CuttingProxy {
    /// Starts a proxy in front of `server` that cuts after `bytes` in one direction.
    pub(crate) fn start(server: &PostgresServer, direction: CutDirection, bytes: i64, refuses: bool) -> Self {
        let folder = tempfile::Builder::new().prefix("lp").tempdir_in("/tmp").unwrap();
        let name = server.socket().file_name().unwrap().to_owned();
        let listener = UnixListener::bind(folder.path().join(name)).unwrap();
        let state = Arc::new(ProxyState {
            direction,
            left: AtomicI64::new(bytes),
            passed: AtomicI64::new(0),
            refuses,
            open: Mutex::default(),
        });
        let (shared, target) = (Arc::clone(&state), server.socket());
        // Ends with the process: a thread that waits in `accept` cannot be told to stop.
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                shared.serve(client, &target);
            }
        });
        Self { folder, state }
    }

    /// Returns the URL of a database through the proxy.
    pub(crate) fn url(&self, server: &PostgresServer, database: &str) -> String {
        let direct = server.url(database);
        let real = server.socket_folder().display().to_string();
        direct.replace(&real, &self.folder.path().display().to_string())
    }

    /// Returns the bytes that have passed.
    pub(crate) fn passed(&self) -> i64 {
        self.state.passed.load(Ordering::SeqCst)
    }

    /// Returns whether a connection was cut.
    pub(crate) fn has_cut(&self) -> bool {
        self.state.left.load(Ordering::SeqCst) <= 0
    }
}

impl ProxyState {
    fn serve(self: &Arc<Self>, client: UnixStream, target: &Path) {
        let was_cut = self.left.load(Ordering::SeqCst) <= 0;
        if was_cut && self.refuses {
            return;
        }
        let Ok(server) = UnixStream::connect(target) else {
            return;
        };
        if !was_cut {
            let mut open = self.open.lock().unwrap();
            open.extend([client.try_clone().unwrap(), server.try_clone().unwrap()]);
        }
        let copies = [
            (
                client.try_clone().unwrap(),
                server.try_clone().unwrap(),
                CutDirection::ToServer,
            ),
            (server, client, CutDirection::ToClient),
        ];
        for (from, to, direction) in copies {
            let state = Arc::clone(self);
            thread::spawn(move || state.copy(from, to, direction, was_cut));
        }
    }

    fn copy(&self, mut from: UnixStream, mut to: UnixStream, direction: CutDirection, freely: bool) {
        let mut bytes = [0; 4096];
        while let Ok(read) = from.read(&mut bytes) {
            if read == 0 {
                break;
            }
            let mut allowed = read;
            if direction == self.direction && !freely {
                let left = self.left.fetch_sub(read as i64, Ordering::SeqCst);
                allowed = read.min(usize::try_from(left.max(0)).unwrap());
                self.passed.fetch_add(allowed as i64, Ordering::SeqCst);
            }
            if to.write_all(&bytes[..allowed]).is_err() {
                break;
            }
            if allowed < read
                || (direction == self.direction && !freely && self.left.load(Ordering::SeqCst) <= 0)
            {
                // Everything that was open is cut, in both directions.
                for stream in self.open.lock().unwrap().drain(..) {
                    let _ = stream.shutdown(Shutdown::Both);
                }
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    }
}
