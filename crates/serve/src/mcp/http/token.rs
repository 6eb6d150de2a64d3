//! The token that clients show: a file that only its owner can read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use subtle::ConstantTimeEq as _;

/// How many random bytes a token is made of.
const RANDOM: usize = 32;
/// The fewest characters a token may have.
const SHORTEST: usize = 32;
/// The most bytes of a token file that are read.
const LONGEST: u64 = 4096;

/// What a client has to know. It is never printed.
pub(super) struct Token(Vec<u8>);

impl Token {
    /// The token in a file, which is made with a new one if it is missing. Of servers that start at once, one makes it and
    /// all have the same.
    pub(super) fn open(path: &Path) -> Result<Self> {
        match fs::metadata(path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => make(path)?,
            Err(cause) => return Err(unreadable(path, cause)),
            Ok(_) => {}
        }
        read(path)
    }

    /// Whether this is the token, in a time that does not depend on where they differ.
    pub(super) fn is(&self, shown: &[u8]) -> bool {
        self.0.as_slice().ct_eq(shown).into()
    }
}

/// Puts a whole file in its place, unless somebody else was quicker.
fn make(path: &Path) -> Result<()> {
    let failed = |cause: io::Error| {
        Error::new(
            ErrorKind::Io,
            format!("cannot make the token file {}", path.display()),
        )
        .hint("nothing was started; name another place with --token-file")
        .caused_by(cause)
    };
    let folder = folder_of(path);
    make_folder(&folder).map_err(failed)?;
    let [token, name] = [hex(RANDOM)?, hex(8)?];
    let draft = folder.join(format!(".mcp-token-{name}"));
    let placed = write_new(&draft, &token).and_then(|()| fs::hard_link(&draft, path));
    let _ = fs::remove_file(&draft);
    match placed {
        Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        placed => placed.map_err(failed),
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

fn make_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

fn write_new(path: &Path, token: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(format!("{token}\n").as_bytes())?;
    file.sync_all()
}

/// As many random bytes, two digits each.
fn hex(bytes: usize) -> Result<String> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|cause| {
        Error::new(
            ErrorKind::Unavailable,
            "this system has no random numbers for a token",
        )
        .caused_by(cause)
    })?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn read(path: &Path) -> Result<Token> {
    let about = fs::metadata(path).map_err(|cause| unreadable(path, cause))?;
    if !about.is_file() {
        return Err(Error::invalid(format!("{} is no file", path.display()))
            .hint("nothing was started; name a file with --token-file"));
    }
    let file = File::open(path).map_err(|cause| unreadable(path, cause))?;
    check_owner(path, &file)?;
    let mut text = Vec::new();
    file.take(LONGEST + 1)
        .read_to_end(&mut text)
        .map_err(|cause| unreadable(path, cause))?;
    let token = text.trim_ascii();
    let fits = token.len() >= SHORTEST && text.len() as u64 <= LONGEST;
    if !fits || !token.iter().all(u8::is_ascii_graphic) {
        return Err(no_token(path));
    }
    Ok(Token(token.to_vec()))
}

fn unreadable(path: &Path, cause: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("cannot read the token file {}", path.display()),
    )
    .hint("nothing was started; name another with --token-file")
    .caused_by(cause)
}

fn no_token(path: &Path) -> Error {
    let message = format!(
        "{} holds no token: one has {SHORTEST} characters or more, without spaces",
        path.display()
    );
    Error::invalid(message).hint(format!(
        "nothing was started; `rm {}` and start again, which makes a new one",
        quoted(path)
    ))
}

/// A path as a shell reads it.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', r"'\''"))
}

/// Refuses a token that others can read or exchange.
#[cfg(unix)]
fn check_owner(path: &Path, file: &File) -> Result<()> {
    use std::os::unix::fs::MetadataExt as _;
    let about = file.metadata().map_err(|cause| unreadable(path, cause))?;
    let shown = path.display();
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::invalid(format!("{shown} belongs to another user"))
            .hint("nothing was started; name a file of your own with --token-file"));
    }
    if about.mode() & 0o077 != 0 {
        let message = format!(
            "others may read the token in {shown}: its mode is {:03o}",
            about.mode() & 0o777
        );
        let quoted = quoted(path);
        return Err(Error::invalid(message).hint(format!(
            "nothing was started; type `chmod 600 {quoted}`, or `rm {quoted}` for a new one if somebody has seen it"
        )));
    }
    let folder = folder_of(path);
    let mode = fs::metadata(&folder)
        .map_err(|cause| unreadable(path, cause))?
        .mode();
    let sticky = mode & 0o1000 != 0;
    if mode & 0o022 != 0 && !sticky {
        let message = format!("others may exchange the token in {shown}: they may write to its folder");
        return Err(Error::invalid(message).hint(format!(
            "nothing was started; type `chmod go-w {}`, or name another place with --token-file",
            quoted(&folder)
        )));
    }
    Ok(())
}

/// Elsewhere, what a user's own folder holds is the user's own.
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
                .map(|_| scope.spawn(|| Token::open(&path).unwrap().0))
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
        let token = Token(b"0123".to_vec());
        assert!(token.is(b"0123"));
        for other in [&b""[..], b"012", b"01234", b"0124", b"1123"] {
            assert!(!token.is(other), "{other:?}");
        }
    }
}
