//! The accounts of a server: one file of users and tokens, which the server and the commands may change at once.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{Error, ErrorKind, Result};

use crate::private_file::{FileSnapshot, OthersMay, create_file, lock_beside, replace_file};

mod book;
mod password;
mod sign_in;
mod token_text;
mod tokens;
mod users;

use book::AccountsBook;
use password::PasswordGate;

pub use password::{LONGEST_PASSWORD, SHORTEST_PASSWORD};
pub use token_text::{TokenId, TokenText};
pub use tokens::{MadeToken, TeamToken, TokenRequest};
pub use users::{TeamUser, UserStamp};

/// The most bytes of an accounts file that are read.
const MOST_BYTES: u64 = 32 << 20;

/// The users and tokens of a server, in one file.
///
/// - The file belongs to this user and no other can read it (mode 0600), or it is refused.
/// - Each change is made under a lock, in one step, and is durable when its call returns. Several processes may make
///   changes at once.
/// - Each lookup sees every change that was finished before it, also by another process. So a revoked token is refused
///   from the next request on.
/// - A file that is damaged, missing or of a newer version is an error of every call, and is never written to.
///
/// ```
/// # let folder = tempfile::tempdir().unwrap();
/// use loci_core::Timestamp;
/// use loci_team::{TeamAccounts, TeamRights, TokenRequest};
///
/// let now: Timestamp = "2026-05-01T09:00:00Z".parse()?;
/// let accounts = TeamAccounts::open_or_create(folder.path().join("accounts.json"))?;
/// accounts.add_user("anna", TeamRights::parse(["work/garden:write"])?, now)?;
/// let made = accounts.make_token("anna", TokenRequest::default(), now)?;
/// let caller = accounts.check_token(made.text.reveal(), now)?.granted().expect("it is new");
/// assert_eq!(caller.actor.to_string(), "anna");
/// # Ok::<(), loci_core::Error>(())
/// ```
#[derive(Debug)]
pub struct TeamAccounts {
    path: PathBuf,
    loaded: Mutex<Option<LoadedBook>>,
    gate: PasswordGate,
}

/// The parsed file, and the state of the file it was parsed from.
#[derive(Debug)]
struct LoadedBook {
    snapshot: FileSnapshot,
    book: Arc<AccountsBook>,
}

impl TeamAccounts {
    /// Opens the accounts in the file at `path`, which must exist.
    pub fn open(path: impl Into<PathBuf>) -> Result<Self> {
        let accounts = Self {
            path: path.into(),
            loaded: Mutex::default(),
            gate: PasswordGate::default(),
        };
        accounts.current()?;
        Ok(accounts)
    }

    /// Opens the accounts in the file at `path`, which is made, without users, if it does not exist.
    pub fn open_or_create(path: impl Into<PathBuf>) -> Result<Self> {
        let path = path.into();
        if !path.exists() {
            // Of two processes that make it at once, one makes it.
            create_file(&path, &AccountsBook::default().to_bytes()?)?;
        }
        Self::open(path)
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the accounts as they are in the file now.
    fn current(&self) -> Result<Arc<AccountsBook>> {
        let mut loaded = self.lock_loaded();
        if let Some(known) = loaded.as_ref()
            && known.snapshot.is_current(&self.path)?
        {
            return Ok(known.book.clone());
        }
        // Until the new state is read there is none: an old one must not come back after an error.
        *loaded = None;
        let fresh = self.read_book()?;
        let book = fresh.book.clone();
        *loaded = Some(fresh);
        Ok(book)
    }

    /// Changes the accounts in one step, under the lock of the file. Nothing is written if `change` fails.
    fn change<T>(&self, change: impl FnOnce(&mut AccountsBook) -> Result<T>) -> Result<T> {
        let _lock = lock_beside(&self.path)?;
        let fresh = self.read_book()?;
        let mut book = AccountsBook::clone(&fresh.book);
        let report = change(&mut book)?;
        let bytes = book.to_bytes()?;
        if bytes.len() as u64 > MOST_BYTES {
            let error = Error::invalid(format!("{} would become too large", self.path.display()));
            return Err(error.with_hint("nothing was changed; remove users that are no longer needed"));
        }
        replace_file(&self.path, &bytes)?;
        Ok(report)
    }

    fn read_book(&self) -> Result<LoadedBook> {
        let snapshot = FileSnapshot::read(&self.path, OthersMay::Nothing, MOST_BYTES)?;
        let snapshot = snapshot.ok_or_else(|| {
            let message = format!("the accounts file {} does not exist", self.path.display());
            Error::new(ErrorKind::NotFound, message).with_hint("make it by adding a user")
        })?;
        let book = AccountsBook::parse(&self.path, &snapshot.bytes)?;
        Ok(LoadedBook {
            snapshot: snapshot.without_bytes(),
            book: Arc::new(book),
        })
    }

    fn lock_loaded(&self) -> MutexGuard<'_, Option<LoadedBook>> {
        // The value is whole after a panic: it is replaced in one step.
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl FileSnapshot {
    /// Forgets the bytes, which hold hashes of secrets and are parsed by now.
    fn without_bytes(mut self) -> Self {
        zeroize::Zeroize::zeroize(&mut self.bytes);
        self.bytes = Vec::new();
        self
    }
}

/// Refuses a text that is shown in lists and logs and is not a short line.
fn check_line(what: &str, text: &str) -> Result<()> {
    let is_line = text.chars().count() <= 100 && !text.chars().any(char::is_control);
    if is_line {
        return Ok(());
    }
    Err(
        Error::invalid(format!("{what} is one line of at most 100 characters"))
            .with_hint("nothing was changed"),
    )
}

#[cfg(test)]
mod tests;
