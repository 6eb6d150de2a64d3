//! Keys of palaces: files outside the palaces, named by their ids, that only their owner may read.
//!
//! Without the key, the list of deletions in a palace or its copies cannot be read. A file may hold several keys: the
//! first is used, the others were imported and are still needed to read what was made with them.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{Error, ErrorKind, PalaceId, Result};

/// The first line of a key file.
const TITLE: &str = "loci palace key 1";

/// Numbers the unfinished files of this process.
static PARTIAL: AtomicU64 = AtomicU64::new(0);

/// The largest key file that is read.
const MOST_BYTES: u64 = 1 << 20;

/// The secret of a palace.
#[derive(Clone, PartialEq, Eq)]
pub struct PalaceKey([u8; 32]);

impl fmt::Debug for PalaceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PalaceKey({})", self.fingerprint())
    }
}

impl PalaceKey {
    /// Makes a new key from the system's random numbers.
    pub fn generate() -> Result<Self> {
        let mut bytes = [0; 32];
        File::open("/dev/urandom")
            .and_then(|mut random| random.read_exact(&mut bytes))
            .map_err(|cause| {
                Error::new(ErrorKind::Io, "the system gave no random numbers for a key").caused_by(cause)
            })?;
        Ok(Self(bytes))
    }

    /// Returns eight hexadecimal digits by which to tell keys apart; they reveal nothing about the key.
    pub fn fingerprint(&self) -> String {
        let hash = blake3::Hasher::new_derive_key("loci 2026-11 fingerprint of a palace key")
            .update(&self.0)
            .finalize();
        hash.to_hex().chars().take(8).collect()
    }

    /// Derives the bytes of another key, for one purpose.
    pub(crate) fn derive_bytes(&self, purpose: &'static str) -> [u8; 32] {
        blake3::derive_key(purpose, &self.0)
    }

    /// Returns the hash of some parts under this key, for one purpose.
    pub(crate) fn hash_parts(&self, purpose: &'static str, parts: &[&[u8]]) -> blake3::Hash {
        let mut hasher = blake3::Hasher::new_keyed(&self.derive_bytes(purpose));
        for part in parts {
            // The length before each part, so that different lists of parts never hash alike.
            hasher.update(&(part.len() as u64).to_le_bytes());
            hasher.update(part);
        }
        hasher.finalize()
    }

    fn to_line(&self) -> String {
        let digits: String = self.0.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("key {digits}")
    }

    fn from_line(line: &str) -> Option<Self> {
        let digits = line.strip_prefix("key ")?;
        let (first, second) = (digits.get(..32)?, digits.get(32..)?);
        let halves = [PalaceId::parse(first)?, PalaceId::parse(second)?];
        let mut bytes = [0; 32];
        for (to, from) in bytes.chunks_exact_mut(16).zip(halves) {
            to.copy_from_slice(&from.0);
        }
        Some(Self(bytes))
    }
}

/// The folder of the key files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyFolder(PathBuf);

impl KeyFolder {
    /// Names the folder; it is created with the first key.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Returns the file for the keys of a palace, whether it exists or not.
    pub fn file_of(&self, palace: PalaceId) -> PathBuf {
        self.0.join(format!("{palace}.key"))
    }

    /// Returns the keys of a palace, the one in use first; none if it has no key yet.
    pub fn find_keys(&self, palace: PalaceId) -> Result<Vec<PalaceKey>> {
        let file = self.file_of(palace);
        match File::open(&file) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(cause) => Err(file_error("read", &file, cause)),
            Ok(opened) => {
                let mut text = String::new();
                opened
                    .take(MOST_BYTES)
                    .read_to_string(&mut text)
                    .map_err(|cause| file_error("read", &file, cause))?;
                parse_keys(&text).ok_or_else(|| no_key_error(&file))
            }
        }
    }

    /// Returns the key in use of a palace, made now if it has none.
    pub fn find_or_make(&self, palace: PalaceId) -> Result<PalaceKey> {
        if let Some(key) = self.find_keys(palace)?.into_iter().next() {
            return Ok(key);
        }
        let _lock = self.lock(palace)?;
        let key = PalaceKey::generate()?;
        match self.write_new(palace, std::slice::from_ref(&key)) {
            Ok(()) => Ok(key),
            // Another process has made one meanwhile; both must use the same.
            Err(cause) if cause.kind() == io::ErrorKind::AlreadyExists => self
                .find_keys(palace)?
                .into_iter()
                .next()
                .ok_or_else(|| no_key_error(&self.file_of(palace))),
            Err(cause) => Err(file_error("write", &self.file_of(palace), cause)),
        }
    }

    /// Returns the key with this fingerprint, of this palace or of any other on this machine.
    pub fn find_by_fingerprint(&self, palace: PalaceId, fingerprint: &str) -> Result<Option<PalaceKey>> {
        let matches = |key: &PalaceKey| key.fingerprint() == fingerprint;
        if let Some(key) = self.find_keys(palace)?.into_iter().find(matches) {
            return Ok(Some(key));
        }
        let entries = fs::read_dir(&self.0).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let stem = name.to_str().and_then(|name| name.strip_suffix(".key"));
            let Some(other) = stem.and_then(PalaceId::parse) else {
                continue;
            };
            // A file of another palace that cannot be read is not this palace's problem.
            let keys = self.find_keys(other).unwrap_or_default();
            if let Some(key) = keys.into_iter().find(matches) {
                return Ok(Some(key));
            }
        }
        Ok(None)
    }

    /// Adds keys to those of a palace and returns how many it did not have. With `first` they come before its own.
    pub fn add_keys(&self, palace: PalaceId, keys: &[PalaceKey], first: bool) -> Result<usize> {
        // Two processes that add keys at once must not take those of the other away.
        let _lock = self.lock(palace)?;
        let own = self.find_keys(palace)?;
        let new: Vec<PalaceKey> = keys.iter().filter(|key| !own.contains(key)).cloned().collect();
        if new.is_empty() {
            return Ok(0);
        }
        let all = if first {
            [new.clone(), own].concat()
        } else {
            [own, new.clone()].concat()
        };
        let file = self.file_of(palace);
        self.replace(palace, &all)
            .map_err(|cause| file_error("write", &file, cause))?;
        Ok(new.len())
    }

    /// Keeps other processes from changing the key file of a palace until the file is dropped.
    fn lock(&self, palace: PalaceId) -> Result<File> {
        let file = self.0.join(format!("{palace}.key.lock"));
        let locked = self.create_folder().and_then(|()| {
            let opened = File::options().create(true).append(true).open(&file)?;
            opened.lock()?;
            Ok(opened)
        });
        locked.map_err(|cause| file_error("lock", &file, cause))
    }

    fn create_folder(&self) -> io::Result<()> {
        use std::os::unix::fs::DirBuilderExt;
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.0)
    }

    /// Writes a file that must not exist yet.
    fn write_new(&self, palace: PalaceId, keys: &[PalaceKey]) -> io::Result<()> {
        let (partial, file) = self.write_partial(palace, keys)?;
        // A link never replaces a file that appeared meanwhile, as a rename would.
        let linked = fs::hard_link(&partial, file);
        let _ = fs::remove_file(partial);
        linked.and_then(|()| File::open(&self.0)?.sync_all())
    }

    fn replace(&self, palace: PalaceId, keys: &[PalaceKey]) -> io::Result<()> {
        let (partial, file) = self.write_partial(palace, keys)?;
        fs::rename(partial, file)?;
        File::open(&self.0)?.sync_all()
    }

    fn write_partial(&self, palace: PalaceId, keys: &[PalaceKey]) -> io::Result<(PathBuf, PathBuf)> {
        use std::os::unix::fs::OpenOptionsExt;
        self.create_folder()?;
        let file = self.file_of(palace);
        let (process, nth) = (std::process::id(), PARTIAL.fetch_add(1, Ordering::Relaxed));
        let partial = file.with_extension(format!("key.{process}-{nth}.partial"));
        let _ = fs::remove_file(&partial);
        let mut opened = File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&partial)?;
        opened.write_all(write_keys(palace, keys).as_bytes())?;
        opened.sync_all()?;
        Ok((partial, file))
    }
}

/// Writes keys as the text of a key file.
pub fn write_keys(palace: PalaceId, keys: &[PalaceKey]) -> String {
    let lines = keys.iter().map(PalaceKey::to_line);
    let head = [TITLE.to_owned(), format!("palace {palace}")];
    head.into_iter().chain(lines).map(|line| line + "\n").collect()
}

/// Reads the keys in the text of a key file; `None` if it is none.
pub fn parse_keys(text: &str) -> Option<Vec<PalaceKey>> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    if lines.next() != Some(TITLE) {
        return None;
    }
    let keys = lines
        .filter(|line| !line.starts_with("palace "))
        .map(PalaceKey::from_line)
        .collect::<Option<Vec<_>>>()?;
    (!keys.is_empty()).then_some(keys)
}

fn file_error(act: &str, file: &Path, cause: io::Error) -> Error {
    Error::new(
        ErrorKind::Io,
        format!("cannot {act} the key file {}", file.display()),
    )
    .caused_by(cause)
}

fn no_key_error(file: &Path) -> Error {
    Error::new(
        ErrorKind::Format,
        format!("{} is not a key file, or is damaged", file.display()),
    )
    .with_hint("it was left untouched; put back a copy of it with `loci key import FILE`")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const PALACE: PalaceId = PalaceId([0xab; 16]);

    fn folder() -> (tempfile::TempDir, KeyFolder) {
        let folder = tempfile::tempdir().unwrap();
        let keys = KeyFolder::new(folder.path().join("keys"));
        (folder, keys)
    }

    #[test]
    fn a_key_is_made_once_and_only_its_owner_may_read_it() {
        let (_held, keys) = folder();
        assert_eq!(keys.find_keys(PALACE).unwrap(), []);
        let key = keys.find_or_make(PALACE).unwrap();
        assert_eq!(keys.find_or_make(PALACE).unwrap(), key);
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&keys.file_of(PALACE)), 0o600);
        assert_eq!(mode(&keys.0), 0o700);
        let mut names: Vec<_> = fs::read_dir(&keys.0)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected = [format!("{PALACE}.key"), format!("{PALACE}.key.lock")];
        assert_eq!(names, expected, "no partial file is left");
        assert!(!format!("{key:?}").contains(&key.to_line()[4..]));
    }

    #[test]
    fn of_many_processes_that_make_a_key_at_once_all_get_the_same() {
        let (_held, keys) = folder();
        let made: Vec<PalaceKey> = std::thread::scope(|threads| {
            let makers: Vec<_> = (0..8)
                .map(|_| threads.spawn(|| keys.find_or_make(PALACE)))
                .collect();
            makers
                .into_iter()
                .map(|maker| maker.join().unwrap().unwrap())
                .collect()
        });
        assert!(made.windows(2).all(|pair| pair[0] == pair[1]), "{made:?}");
        assert_eq!(keys.find_keys(PALACE).unwrap(), made[..1]);
    }

    #[test]
    fn an_imported_key_is_kept_beside_the_own_one_and_found_by_its_fingerprint() {
        let (_held, keys) = folder();
        let own = keys.find_or_make(PALACE).unwrap();
        let other = PalaceKey::generate().unwrap();
        assert_eq!(
            keys.add_keys(PALACE, std::slice::from_ref(&other), false)
                .unwrap(),
            1
        );
        assert_eq!(
            keys.add_keys(PALACE, std::slice::from_ref(&other), false)
                .unwrap(),
            0
        );
        assert_eq!(keys.find_keys(PALACE).unwrap(), [own, other.clone()]);
        let elsewhere = PalaceId([1; 16]);
        let found = keys.find_by_fingerprint(elsewhere, &other.fingerprint()).unwrap();
        assert_eq!(found, Some(other));
        assert_eq!(keys.find_by_fingerprint(elsewhere, "00000000").unwrap(), None);
    }

    #[test]
    fn what_is_no_key_file_is_refused_and_left_alone() {
        let (_held, keys) = folder();
        keys.find_or_make(PALACE).unwrap();
        for wrong in [
            "",
            "loci palace key 1\n",
            "loci palace key 1\nkey 12\n",
            "something else",
        ] {
            fs::write(keys.file_of(PALACE), wrong).unwrap();
            assert_eq!(
                keys.find_or_make(PALACE).unwrap_err().kind(),
                ErrorKind::Format,
                "{wrong:?}"
            );
            assert_eq!(fs::read_to_string(keys.file_of(PALACE)).unwrap(), wrong);
        }
        let key = PalaceKey::generate().unwrap();
        let text = write_keys(PALACE, std::slice::from_ref(&key));
        assert_eq!(parse_keys(&text), Some(vec![key]));
    }
}
