//! Tokens: making, rotating, revoking and listing them.

use loci_core::{Error, Result, Timestamp};
use serde::Serialize;

use super::book::{PreviousSecret, StoredHash, TokenRecord, missing_user};
use super::token_text::{TokenId, TokenText};
use super::{TeamAccounts, check_line};
use crate::rights::TeamRights;

/// The wishes for a new token. The default has no label, all rights of its user, and no end.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TokenRequest {
    /// A line by which its owner recognises it.
    pub label: String,
    /// Narrower rights than those of the user. What the user may not do is refused here, and stays refused if the user
    /// loses rights later.
    pub rights: Option<TeamRights>,
    /// The time from which on it is refused.
    pub expires: Option<Timestamp>,
}

/// A token, without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TeamToken {
    /// The id, which is part of its text.
    pub id: TokenId,
    /// The user.
    pub user: String,
    /// The line by which its owner recognises it.
    pub label: String,
    /// Its own rights; `None` if it has those of its user.
    pub rights: Option<TeamRights>,
    /// The time at which it was made.
    pub created: Timestamp,
    /// The time from which on it is refused.
    pub expires: Option<Timestamp>,
    /// The time at which it was revoked.
    pub revoked: Option<Timestamp>,
    /// The time until which the secret before the last rotation is accepted.
    pub previous_until: Option<Timestamp>,
}

/// A token that was just made or rotated.
#[derive(Debug)]
pub struct MadeToken {
    /// The token.
    pub token: TeamToken,
    /// Its text. This is the only time that it can be seen.
    pub text: TokenText,
}

impl From<&TokenRecord> for TeamToken {
    fn from(token: &TokenRecord) -> Self {
        Self {
            id: token.id.clone(),
            user: token.user.clone(),
            label: token.label.clone(),
            rights: token.rights.clone(),
            created: token.created,
            expires: token.expires,
            revoked: token.revoked,
            previous_until: token.previous.as_ref().map(|previous| previous.until),
        }
    }
}

impl TeamAccounts {
    /// Returns every token, by id; with `user`, only those of that user.
    pub fn list_tokens(&self, user: Option<&str>) -> Result<Vec<TeamToken>> {
        let book = self.current()?;
        let tokens = book.tokens.iter();
        let tokens = tokens.filter(|token| user.is_none_or(|user| token.user == user));
        Ok(tokens.map(TeamToken::from).collect())
    }

    /// Makes a token for a user.
    pub fn make_token(&self, user: &str, request: TokenRequest, now: Timestamp) -> Result<MadeToken> {
        check_line("the label of a token", &request.label)?;
        if request.expires.is_some_and(|expires| expires <= now) {
            let error = Error::invalid("the token would have expired already");
            return Err(error.with_hint("nothing was changed; give a time in the future"));
        }
        let id = TokenId::generate()?;
        let (text, secret) = TokenText::generate(&id)?;
        self.change(|book| {
            let owner = book.find_user(user).ok_or_else(|| missing_user(user))?;
            if let Some(rights) = &request.rights
                && !owner.rights.cover(rights)
            {
                return Err(wider_rights(user, &owner.rights, rights));
            }
            let record = TokenRecord {
                id: id.clone(),
                user: user.to_owned(),
                label: request.label,
                secret: StoredHash(secret),
                previous: None,
                rights: request.rights,
                created: now,
                expires: request.expires,
                revoked: None,
            };
            let token = TeamToken::from(&record);
            let place = book.tokens.partition_point(|token| token.id < id);
            book.tokens.insert(place, record);
            Ok(MadeToken { token, text })
        })
    }

    /// Gives a token a new secret. The old one is accepted until `old_until`, or no longer if that is `None`.
    ///
    /// Rotating again while an older secret is still accepted ends that one: at most two are accepted at a time.
    pub fn rotate_token(
        &self,
        id: &TokenId,
        old_until: Option<Timestamp>,
        now: Timestamp,
    ) -> Result<MadeToken> {
        let (text, secret) = TokenText::generate(id)?;
        self.change(|book| {
            let token = book.token_mut(id)?;
            let is_over = token.expires.is_some_and(|expires| expires <= now);
            if token.revoked.is_some() || is_over {
                let error = Error::invalid(format!("the token {id} has expired or was revoked"));
                return Err(error.with_hint("nothing was changed; make a new token"));
            }
            let old = std::mem::replace(&mut token.secret, StoredHash(secret));
            let until = old_until.filter(|until| *until > now);
            token.previous = until.map(|until| PreviousSecret { secret: old, until });
            let token = TeamToken::from(&*token);
            Ok(MadeToken { token, text })
        })
    }

    /// Refuses a token from now on, in every process. A token that was revoked already stays so since then.
    pub fn revoke_token(&self, id: &TokenId, now: Timestamp) -> Result<TeamToken> {
        self.change(|book| {
            let token = book.token_mut(id)?;
            token.revoked = token.revoked.or(Some(now));
            token.previous = None;
            Ok(TeamToken::from(&*token))
        })
    }
}

fn wider_rights(user: &str, held: &TeamRights, wanted: &TeamRights) -> Error {
    let is_wider = |grant: &&crate::rights::TeamGrant| {
        !TeamRights::new([(*grant).clone()]).is_ok_and(|one| held.cover(&one))
    };
    let wider: Vec<String> = wanted
        .grants()
        .iter()
        .filter(is_wider)
        .map(ToString::to_string)
        .collect();
    let message = format!("the user {user:?} does not have the right {}", wider.join(" "));
    Error::invalid(message).with_hint("nothing was changed; a token cannot have more rights than its user")
}
