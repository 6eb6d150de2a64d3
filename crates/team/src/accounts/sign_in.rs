//! Signing in: the callers that tokens, passwords and sessions stand for.

use loci_core::{Result, Timestamp};

use super::TeamAccounts;
use super::book::{TokenRecord, UserRecord};
use super::token_text::{TokenId, is_own_token, read_token};
use super::users::UserStamp;
use crate::caller::{SignInOutcome, SignInRefusal, TeamActor, TeamCaller};
use crate::secret::SecretHash;

impl TeamAccounts {
    /// Reports whether a text claims to be one of our tokens. Others may be tokens of another issuer.
    pub fn is_own_token(text: &str) -> bool {
        is_own_token(text)
    }

    /// Returns the caller whom the text of a token stands for.
    ///
    /// Fails only if the accounts cannot be read. The time it takes does not depend on how much of a secret is right.
    pub fn check_token(&self, text: &str, now: Timestamp) -> Result<SignInOutcome> {
        let book = self.current()?;
        let Some((id, shown)) = read_token(text) else {
            return Ok(SignInRefusal::Malformed.into());
        };
        let token = book.find_token(&id);
        let is_right = accepts_secret(token, &shown, now);
        let Some(token) = token.filter(|_| is_right) else {
            return Ok(SignInRefusal::UnknownToken.into());
        };
        // Only after the secret: whoever does not have it learns nothing about the token.
        if token.revoked.is_some() {
            return Ok(SignInRefusal::Revoked.into());
        }
        if token.expires.is_some_and(|expires| expires <= now) {
            return Ok(SignInRefusal::Expired.into());
        }
        let Some(user) = book.find_user(&token.user) else {
            return Ok(SignInRefusal::UnknownUser.into());
        };
        if user.disabled.is_some() {
            return Ok(SignInRefusal::Disabled.into());
        }
        let mut caller = caller_of(user, Some(token.id.clone()));
        if let Some(own) = &token.rights {
            caller.rights = caller.rights.narrow(own);
        }
        Ok(SignInOutcome::Granted(caller))
    }

    /// Returns the caller with this name and password. Unknown and disabled users, and those without a password, take as
    /// long as others.
    ///
    /// It takes tens of milliseconds and 19 MiB. Ask [`SignInThrottle::admit`](crate::SignInThrottle::admit) first.
    pub fn check_password(&self, name: &str, password: &str) -> Result<SignInOutcome> {
        let book = self.current()?;
        // People type their names as they like.
        let user = book.find_user(&name.to_ascii_lowercase());
        let stored = user.and_then(|user| user.password.as_deref());
        let is_right = self.gate.matches(password, stored)?;
        let Some(user) = user else {
            return Ok(SignInRefusal::UnknownUser.into());
        };
        if !is_right {
            return Ok(SignInRefusal::WrongPassword.into());
        }
        if user.disabled.is_some() {
            return Ok(SignInRefusal::Disabled.into());
        }
        // The account may have changed while the password was compared.
        let now = self.current()?;
        let same = now.find_user(&user.name).filter(|now| now.stamp == user.stamp);
        Ok(match same {
            Some(user) => SignInOutcome::Granted(caller_of(user, None)),
            None => SignInRefusal::WrongPassword.into(),
        })
    }

    /// Returns the state of a user's account, to which its sessions are bound; `None` if the user is unknown or disabled.
    pub fn find_stamp(&self, name: &str) -> Result<Option<UserStamp>> {
        Ok(self.resume_user(name)?.and_then(|caller| caller.stamp))
    }

    /// Returns the caller of a session that was found for this user; `None` if the user is unknown or disabled.
    pub fn resume_user(&self, name: &str) -> Result<Option<TeamCaller>> {
        let book = self.current()?;
        let user = book.find_user(name).filter(|user| user.disabled.is_none());
        Ok(user.map(|user| caller_of(user, None)))
    }
}

/// Compares a shown secret with those of a token, and with as many where there is no token.
fn accepts_secret(token: Option<&TokenRecord>, shown: &SecretHash, now: Timestamp) -> bool {
    let current = token.map_or(SecretHash::NONE, |token| token.secret.0);
    let previous = token.and_then(|token| token.previous.as_ref());
    let previous = previous.filter(|previous| previous.until > now);
    let previous = previous.map_or(SecretHash::NONE, |previous| previous.secret.0);
    // Both are compared in every case.
    let (is_current, is_previous) = (current.matches(shown), previous.matches(shown));
    token.is_some() && (is_current | is_previous)
}

fn caller_of(user: &UserRecord, token: Option<TokenId>) -> TeamCaller {
    TeamCaller {
        actor: TeamActor::User(user.name.clone()),
        token,
        rights: user.rights.clone(),
        stamp: Some(user.stamp.clone()),
    }
}
