//! Users: adding, removing, disabling them, their passwords and rights.

use loci_core::{Error, ErrorKind, Result, Timestamp};
use serde::{Deserialize, Serialize};

use super::TeamAccounts;
use super::book::{UserRecord, missing_user};
use super::password::hash_password;
use crate::caller::RESERVED_NAMES;
use crate::rights::TeamRights;
use crate::secret::{random_bytes, to_hex};

/// The most characters of a user's name.
const LONGEST_NAME: usize = 64;

/// The state of a user's account. It changes with the password, the rights, and when the user is disabled or enabled.
///
/// It is random, so that a user who is removed and added again has another one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UserStamp(String);

impl UserStamp {
    pub(crate) fn generate() -> Result<Self> {
        Ok(Self(to_hex(&*random_bytes::<8>()?)))
    }
}

/// A user, without any secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TeamUser {
    /// The name.
    pub name: String,
    /// Whether the user can sign in with a password.
    pub has_password: bool,
    /// The rights.
    pub rights: TeamRights,
    /// The time at which the user was added.
    pub created: Timestamp,
    /// The time since which the user may not sign in and its tokens are refused.
    pub disabled: Option<Timestamp>,
}

impl From<&UserRecord> for TeamUser {
    fn from(user: &UserRecord) -> Self {
        Self {
            name: user.name.clone(),
            has_password: user.password.is_some(),
            rights: user.rights.clone(),
            created: user.created,
            disabled: user.disabled,
        }
    }
}

impl TeamAccounts {
    /// Returns every user, by name.
    pub fn list_users(&self) -> Result<Vec<TeamUser>> {
        let book = self.current()?;
        Ok(book.users.iter().map(TeamUser::from).collect())
    }

    /// Returns one user.
    pub fn find_user(&self, name: &str) -> Result<Option<TeamUser>> {
        Ok(self.current()?.find_user(name).map(TeamUser::from))
    }

    /// Adds a user without a password. A name that is taken is a conflict.
    pub fn add_user(&self, name: &str, rights: TeamRights, now: Timestamp) -> Result<()> {
        check_user_name(name)?;
        let stamp = UserStamp::generate()?;
        self.change(|book| {
            if book.find_user(name).is_some() {
                let message = format!("there is a user {name:?} already");
                return Err(Error::new(ErrorKind::Conflict, message).with_hint("nothing was changed"));
            }
            let place = book.users.partition_point(|user| user.name.as_str() < name);
            let user = UserRecord {
                name: name.to_owned(),
                password: None,
                rights,
                created: now,
                disabled: None,
                stamp,
            };
            book.users.insert(place, user);
            Ok(())
        })
    }

    /// Removes a user and all its tokens; returns how many tokens that were. Its sessions end.
    pub fn remove_user(&self, name: &str) -> Result<usize> {
        self.change(|book| {
            let place = book.users.iter().position(|user| user.name == name);
            book.users.remove(place.ok_or_else(|| missing_user(name))?);
            let before = book.tokens.len();
            // A user of the same name who is added later must not get them.
            book.tokens.retain(|token| token.user != name);
            Ok(before - book.tokens.len())
        })
    }

    /// Keeps a user from signing in, refuses its tokens and ends its sessions, until it is enabled. A user who is disabled
    /// already stays so since then.
    pub fn disable_user(&self, name: &str, now: Timestamp) -> Result<()> {
        self.change_user(name, |user| {
            user.disabled = user.disabled.or(Some(now));
            Ok(())
        })
    }

    /// Lets a user who was disabled sign in again. Its tokens work again; its sessions do not.
    pub fn enable_user(&self, name: &str) -> Result<()> {
        self.change_user(name, |user| {
            user.disabled = None;
            Ok(())
        })
    }

    /// Sets the password of a user, or takes it away, and ends its sessions.
    pub fn set_password(&self, name: &str, password: Option<&str>) -> Result<()> {
        // Before the lock: hashing takes time.
        let hashed = password.map(hash_password).transpose()?;
        self.change_user(name, |user| {
            user.password = hashed;
            Ok(())
        })
    }

    /// Sets the rights of a user and ends its sessions. Its tokens are narrowed at once.
    pub fn set_rights(&self, name: &str, rights: TeamRights) -> Result<()> {
        self.change_user(name, |user| {
            user.rights = rights;
            Ok(())
        })
    }

    fn change_user(&self, name: &str, change: impl FnOnce(&mut UserRecord) -> Result<()>) -> Result<()> {
        let stamp = UserStamp::generate()?;
        self.change(|book| {
            let user = book.user_mut(name)?;
            user.stamp = stamp;
            change(user)
        })
    }
}

/// Refuses a name that a user cannot have. Few characters are allowed, so that no two names look alike, and so that none
/// is taken for a subject of another issuer in the audit log.
pub(super) fn check_user_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_valid = name.starts_with(is_plain)
        && name.len() <= LONGEST_NAME
        && name.chars().all(|c| is_plain(c) || "._-+@".contains(c));
    let hint = format!(
        "nothing was changed; use 1 to {LONGEST_NAME} of a-z, 0-9 and . _ - + @, beginning with a letter or digit"
    );
    if !is_valid {
        return Err(Error::invalid(format!("{name:?} is not a valid user name")).with_hint(hint));
    }
    if RESERVED_NAMES.contains(&name) {
        return Err(Error::invalid(format!("the name {name:?} is reserved")).with_hint(hint));
    }
    Ok(())
}
