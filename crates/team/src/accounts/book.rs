//! The text of an accounts file.

use std::path::Path;

use loci_core::{Error, ErrorKind, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::password::check_stored;
use super::token_text::TokenId;
use super::users::{UserStamp, check_user_name};
use crate::rights::TeamRights;
use crate::secret::SecretHash;

/// The first field of every accounts file.
const FORMAT: &str = "loci-accounts";

/// The version that this build reads and writes.
const VERSION: u32 = 1;

/// The content of an accounts file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AccountsBook {
    format: String,
    version: u32,
    pub(super) users: Vec<UserRecord>,
    pub(super) tokens: Vec<TokenRecord>,
}

/// A user as it is stored.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct UserRecord {
    pub(super) name: String,
    /// The hash of the password as a PHC string.
    pub(super) password: Option<String>,
    pub(super) rights: TeamRights,
    pub(super) created: Timestamp,
    pub(super) disabled: Option<Timestamp>,
    pub(super) stamp: UserStamp,
}

/// A token as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TokenRecord {
    pub(super) id: TokenId,
    pub(super) user: String,
    pub(super) label: String,
    pub(super) secret: StoredHash,
    /// The secret before the last rotation, while it is still accepted.
    pub(super) previous: Option<PreviousSecret>,
    /// The rights of the token alone; those of its user if `None`.
    pub(super) rights: Option<TeamRights>,
    pub(super) created: Timestamp,
    pub(super) expires: Option<Timestamp>,
    pub(super) revoked: Option<Timestamp>,
}

/// A secret that is accepted for a while after its rotation.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PreviousSecret {
    pub(super) secret: StoredHash,
    pub(super) until: Timestamp,
}

/// The hash of a token's secret, as hexadecimal digits in the file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct StoredHash(pub(super) SecretHash);

/// The fields by which a file is recognised before the rest of it is read.
#[derive(Deserialize)]
struct BookHead {
    format: String,
    version: u32,
}

impl Default for AccountsBook {
    fn default() -> Self {
        Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            users: Vec::new(),
            tokens: Vec::new(),
        }
    }
}

impl AccountsBook {
    /// Reads the bytes of the file at `path` and checks that they make sense as a whole.
    pub(super) fn parse(path: &Path, bytes: &[u8]) -> Result<Self> {
        let damaged = |what: String| {
            let message = format!("the accounts file {} is damaged: {what}", path.display());
            Error::new(ErrorKind::Corrupt, message)
                .with_hint("nothing was changed, and no sign-in is accepted; restore the file from a backup")
        };
        // The parser's own message could repeat a hash; its line and column are enough to find the place.
        let describe =
            |error: serde_json::Error| damaged(format!("line {}, column {}", error.line(), error.column()));
        let head: BookHead = serde_json::from_slice(bytes).map_err(describe)?;
        if head.format != FORMAT {
            return Err(damaged("it is not a file of accounts".to_owned()));
        }
        if head.version > VERSION {
            let message = format!(
                "the accounts file {} has version {}, and this build knows {VERSION}",
                path.display(),
                head.version
            );
            return Err(Error::new(ErrorKind::Format, message)
                .with_hint("the file is unchanged; use the newer loci that wrote it"));
        }
        let book: Self = serde_json::from_slice(bytes).map_err(describe)?;
        book.check().map_err(damaged)?;
        Ok(book)
    }

    /// Writes the text of the file.
    pub(super) fn to_bytes(&self) -> Result<Vec<u8>> {
        let written = serde_json::to_vec_pretty(self);
        let mut bytes = written.map_err(|cause| {
            Error::new(ErrorKind::Internal, "the accounts cannot be written as JSON").caused_by(cause)
        })?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    pub(super) fn find_user(&self, name: &str) -> Option<&UserRecord> {
        let place = self.users.binary_search_by(|user| user.name.as_str().cmp(name));
        self.users.get(place.ok()?)
    }

    pub(super) fn find_token(&self, id: &TokenId) -> Option<&TokenRecord> {
        let place = self.tokens.binary_search_by(|token| token.id.cmp(id));
        self.tokens.get(place.ok()?)
    }

    /// Returns a user to change it, or the error that names it.
    pub(super) fn user_mut(&mut self, name: &str) -> Result<&mut UserRecord> {
        let user = self.users.iter_mut().find(|user| user.name == name);
        user.ok_or_else(|| missing_user(name))
    }

    /// Returns a token to change it, or the error that names it.
    pub(super) fn token_mut(&mut self, id: &TokenId) -> Result<&mut TokenRecord> {
        let token = self.tokens.iter_mut().find(|token| token.id == *id);
        token.ok_or_else(|| {
            Error::new(ErrorKind::NotFound, format!("token {id} does not exist"))
                .with_hint("nothing was changed")
        })
    }

    /// Checks what every operation keeps: sorted names, no name twice, and tokens of users that exist.
    fn check(&self) -> std::result::Result<(), String> {
        let names = self.users.iter().map(|user| &user.name);
        if !names.is_sorted_by(|one, next| one < next) {
            return Err("its users are not sorted by name, each once".to_owned());
        }
        if !self
            .tokens
            .iter()
            .map(|token| &token.id)
            .is_sorted_by(|a, b| a < b)
        {
            return Err("its tokens are not sorted by id, each once".to_owned());
        }
        for user in &self.users {
            check_user_name(&user.name).map_err(|_| format!("{:?} is not a user's name", user.name))?;
            if let Some(stored) = &user.password {
                check_stored(stored).map_err(|what| format!("the password of {:?} {what}", user.name))?;
            }
        }
        match self
            .tokens
            .iter()
            .find(|token| self.find_user(&token.user).is_none())
        {
            Some(orphan) => Err(format!("the token {} has no user", orphan.id)),
            None => Ok(()),
        }
    }
}

pub(super) fn missing_user(name: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("user {name:?} does not exist")).with_hint("nothing was changed")
}

impl std::fmt::Debug for UserRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Without the hash of the password, which could be guessed from it.
        f.debug_struct("UserRecord")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

impl TryFrom<String> for StoredHash {
    type Error = &'static str;
    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        SecretHash::from_hex(&text)
            .map(Self)
            .ok_or("a hash has 64 hexadecimal digits")
    }
}

impl From<StoredHash> for String {
    fn from(hash: StoredHash) -> Self {
        hash.0.to_hex()
    }
}
