//! The access token, kept in a file that only its owner can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use subtle::ConstantTimeEq as _;

use crate::http::random::random_hex;

/// The random bytes in a new token.
const RANDOM_BYTES: usize = 32;
/// The fewest characters of a token.
const SHORTEST: usize = 32;
/// The largest token file, in bytes.
const MAX_FILE_BYTES: u64 = 4096;

/// The secret that clients send. It is never printed.
pub(super) struct AccessToken(Vec<u8>);

impl AccessToken {
    /// Reads the token from a file, which is created with a new token if it is missing. Of several servers
    /// that start at once, one creates the file and all use it.
    pub(super) fn open(path: &Path) -> Result<Self> {
        match fs::metadata(path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => create_token_file(path)?,
            Err(cause) => return Err(unreadable_token_error(path, cause)),
            Ok(_) => {}
        }
        read_token(path)
    }

    /// Returns whether this is the token, in a time that does not depend on where they differ.
    pub(super) fn matches(&self, shown: &[u8]) -> bool {
        self.0.as_slice().ct_eq(shown).into()
    }
}

/// Creates the token file, unless another process was faster.
fn create_token_file(path: &Path) -> Result<()> {
    let failed = |cause: io::Error| {
        Error::new(
            ErrorKind::Io,
            format!("cannot create the token file {}", path.display()),
        )
        .with_hint("nothing was started; name another place with --token-file")
        .caused_by(cause)
    };
    let folder = parent_folder(path);
    create_private_folder(&folder).map_err(failed)?;
    let [token, name] = [random_hex(RANDOM_BYTES)?, random_hex(8)?];
    let draft = folder.join(format!(".mcp-token-{name}"));
    // A hard link fails if the file exists and puts a complete file in place otherwise. A rename would
    // replace the token of a server that already uses it.
    let placed = write_private_file(&draft, &token).and_then(|()| fs::hard_link(&draft, path));
    let _ = fs::remove_file(&draft);
    match placed {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        placed => placed.map_err(failed),
    }
}

fn parent_folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn create_private_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write_private_file(path: &Path, token: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    file.sync_all()
}

fn read_token(path: &Path) -> Result<AccessToken> {
    let about = fs::metadata(path).map_err(|cause| unreadable_token_error(path, cause))?;
    // Before opening it: opening a pipe would wait for a writer.
    if !about.is_file() {
        return Err(Error::invalid(format!("{} is not a file", path.display()))
            .with_hint("nothing was started; name a file with --token-file"));
    }
    let file = File::open(path).map_err(|cause| unreadable_token_error(path, cause))?;
    // The owner is checked on the open file, so that it cannot be exchanged between the check and the read.
    check_owner(path, &file)?;
    let mut text = Vec::new();
    file.take(MAX_FILE_BYTES + 1)
        .read_to_end(&mut text)
        .map_err(|cause| unreadable_token_error(path, cause))?;
    let token = text.trim_ascii();
    let fits = token.len() >= SHORTEST && text.len() as u64 <= MAX_FILE_BYTES;
    if !fits || !token.iter().all(u8::is_ascii_graphic) {
        return Err(invalid_token_error(path));
    }
    Ok(AccessToken(token.to_vec()))
}

fn unreadable_token_error(path: &Path, cause: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("cannot read the token file {}", path.display()),
    )
    .with_hint("nothing was started; name another with --token-file")
    .caused_by(cause)
}

fn invalid_token_error(path: &Path) -> Error {
    let message = format!(
        "{} does not hold a valid token, which has at least {SHORTEST} characters and no spaces",
        path.display()
    );
    Error::invalid(message).with_hint(format!(
        "nothing was started; `rm {}` and start again to create a new one",
        quote_for_shell(path)
    ))
}

/// Quotes a path for a shell.
fn quote_for_shell(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Refuses a token that other users can read or replace.
#[cfg(unix)]
fn check_owner(path: &Path, file: &File) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let about = file
        .metadata()
        .map_err(|cause| unreadable_token_error(path, cause))?;
    let shown = path.display();
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::invalid(format!("{shown} belongs to another user"))
            .with_hint("nothing was started; name a file of your own with --token-file"));
    }
    if about.mode() & 0o077 != 0 {
        let message = format!(
            "other users can read the token in {shown}: its mode is {:03o}",
            about.mode() & 0o777
        );
        let quoted = quote_for_shell(path);
        return Err(Error::invalid(message).with_hint(format!(
            "nothing was started; type `chmod 600 {quoted}`, or `rm {quoted}` for a new one if it may have been seen"
        )));
    }
    let folder = parent_folder(path);
    let mode = fs::metadata(&folder)
        .map_err(|cause| unreadable_token_error(path, cause))?
        .mode();
    // In a sticky folder such as /tmp others can create files but not replace this one.
    let sticky = mode & 0o1000 != 0;
    if mode & 0o022 != 0 && !sticky {
        let message =
            format!("other users can replace the token in {shown}: its folder is writable for them");
        return Err(Error::invalid(message).with_hint(format!(
            "nothing was started; type `chmod go-w {}`, or name another place with --token-file",
            quote_for_shell(&folder)
        )));
    }
    Ok(())
}

/// Accepts every file: elsewhere, a user's own folder is private by default.
#[cfg(not(unix))]
fn check_owner(_: &Path, _: &File) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_start_at_once_have_one_token() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep").join("token");
        let opened: Vec<Vec<u8>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| AccessToken::open(&path).unwrap().0))
                .collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(opened[0].len(), 64);
        assert!(opened.iter().all(|token| *token == opened[0]));
        let left: Vec<_> = fs::read_dir(path.parent().unwrap()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    #[test]
    fn a_token_is_itself_and_nothing_else() {
        let token = AccessToken(b"0123".to_vec());
        assert!(token.matches(b"0123"));
        for other in [&b""[..], b"012", b"01234", b"0124", b"1123"] {
            assert!(!token.matches(other), "{other:?}");
        }
    }
}
