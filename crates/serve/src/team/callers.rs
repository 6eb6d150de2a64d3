//! Callers: who sent a request, by the token or the cookie it carries, and how people sign in and out.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use hyper::header::{AUTHORIZATION, HeaderMap};
use loci_core::Result;
use loci_team::{
    BrowserSessions, RetryAfter, SignInOutcome, SignInRefusal, SignInThrottle, TeamAccounts, TeamActor,
    TeamCaller, TokenIssuers,
};
use zeroize::Zeroizing;

use super::settings::TeamClock;
use crate::http::host_names::single_header;
use crate::web::visitors::list_cookies;

/// The name under which attempts with tokens are counted; no user can have it.
const TOKENS: &str = "(token)";
/// The most cookies of a request that are tried: another server at the same address may set one of the same name.
const MOST_COOKIES: usize = 4;
/// The most sessions that were opened with a token and are remembered as such.
const MOST_TOKEN_SESSIONS: usize = 10_000;

/// Users, tokens and sessions, as requests show them.
pub(super) struct CallerDesk {
    accounts: Arc<TeamAccounts>,
    sessions: Mutex<BrowserSessions>,
    throttle: Mutex<SignInThrottle>,
    /// The tokens by which sessions were opened, by the secret of their forms: such a session has the token's rights, for
    /// as long as the token has them.
    tokens: Mutex<HashMap<String, Zeroizing<String>>>,
    clock: TeamClock,
    /// The name of the cookie.
    cookie: &'static str,
    is_secure: bool,
}

/// A caller whose credentials were accepted.
#[derive(Debug, Clone)]
pub(super) struct KnownCaller {
    /// Who it is, with its rights at this moment.
    pub(super) caller: TeamCaller,
    /// The secret of the forms of its session, if it is a browser.
    pub(super) form_secret: Option<String>,
}

/// What a request showed.
#[derive(Debug)]
pub(super) enum ShownCredentials {
    /// Those of a caller.
    Right(Box<KnownCaller>),
    /// A token that is refused.
    Wrong(SignInRefusal),
    /// So many wrong ones lately that no more are looked at.
    Throttled(RetryAfter),
    /// None, or a session that has ended.
    Nothing,
}

impl CallerDesk {
    /// Makes the desk of a server; `is_secure` if browsers speak TLS.
    pub(super) fn new(accounts: Arc<TeamAccounts>, clock: TeamClock, is_secure: bool) -> Self {
        Self {
            accounts,
            sessions: Mutex::default(),
            throttle: Mutex::default(),
            tokens: Mutex::default(),
            clock,
            // A browser takes a cookie with this prefix only over TLS and from the server itself.
            cookie: if is_secure { "__Host-loci" } else { "loci-team" },
            is_secure,
        }
    }

    /// Returns the accounts.
    pub(super) fn accounts(&self) -> &TeamAccounts {
        &self.accounts
    }

    /// Returns the clock.
    pub(super) fn clock(&self) -> &TeamClock {
        &self.clock
    }

    /// Returns the name of the cookie of a session.
    pub(super) fn cookie_name(&self) -> &'static str {
        self.cookie
    }

    /// Finds who sent a request. May take a while if keys of an issuer are to be fetched.
    pub(super) fn identify(
        &self,
        headers: &HeaderMap,
        address: IpAddr,
        issuers: &TokenIssuers,
    ) -> Result<ShownCredentials> {
        match single_header(headers, &AUTHORIZATION) {
            Ok(None) => self.find_session(headers),
            Ok(Some(shown)) => match parse_bearer(shown) {
                Some(token) => self.check_token(token, address, issuers),
                None => Ok(ShownCredentials::Wrong(SignInRefusal::Malformed)),
            },
            Err(()) => Ok(ShownCredentials::Wrong(SignInRefusal::Malformed)),
        }
    }

    fn check_token(&self, token: &str, address: IpAddr, issuers: &TokenIssuers) -> Result<ShownCredentials> {
        let now = (self.clock)();
        let outcome = if TeamAccounts::is_own_token(token) {
            self.accounts.check_token(token, now)?
        } else {
            issuers.check_token(token, now)?
        };
        match outcome {
            SignInOutcome::Granted(caller) => Ok(ShownCredentials::Right(Box::new(KnownCaller {
                caller,
                form_secret: None,
            }))),
            // Counted after the fact: a client with the right token must never wait because of others at its address.
            SignInOutcome::Refused(refusal) => Ok(match self.count_failure(TOKENS, address) {
                Ok(()) => ShownCredentials::Wrong(refusal),
                Err(wait) => ShownCredentials::Throttled(wait),
            }),
        }
    }

    fn find_session(&self, headers: &HeaderMap) -> Result<ShownCredentials> {
        let cookies = list_cookies(headers).filter(|(name, _)| *name == self.cookie);
        for (_, cookie) in cookies.take(MOST_COOKIES) {
            let found = {
                let find_stamp = |user: &str| self.accounts.find_stamp(user);
                lock(&self.sessions).find(cookie, find_stamp, Instant::now())?
            };
            let Some(session) = found else { continue };
            let form_secret = session.form_secret.reveal().to_owned();
            let token = lock(&self.tokens).get(&form_secret).cloned();
            let caller = match token {
                Some(token) => self.accounts.check_token(&token, (self.clock)())?.granted(),
                None => self.accounts.resume_user(&session.user)?,
            };
            let Some(caller) = caller else {
                lock(&self.sessions).end(cookie);
                continue;
            };
            return Ok(ShownCredentials::Right(Box::new(KnownCaller {
                caller,
                form_secret: Some(form_secret),
            })));
        }
        Ok(ShownCredentials::Nothing)
    }

    /// Signs a browser in with a name and a password or token; returns the caller and the cookie, or why not.
    pub(super) fn sign_in(
        &self,
        name: &str,
        secret: &str,
        address: IpAddr,
    ) -> Result<std::result::Result<(TeamCaller, String), SignInProblem>> {
        if let Err(wait) = self.count_failure(name, address) {
            return Ok(Err(SignInProblem::Throttled(wait)));
        }
        let is_token = TeamAccounts::is_own_token(secret);
        let outcome = if is_token {
            self.accounts.check_token(secret, (self.clock)())?
        } else {
            self.accounts.check_password(name, secret)?
        };
        let caller = match outcome {
            SignInOutcome::Granted(caller) => caller,
            SignInOutcome::Refused(refusal) => return Ok(Err(SignInProblem::Refused(refusal))),
        };
        let (TeamActor::User(user), Some(stamp)) = (&caller.actor, &caller.stamp) else {
            return Ok(Err(SignInProblem::Refused(SignInRefusal::UnknownUser)));
        };
        // A token signs in its own user only: the name says who is meant.
        if !user.eq_ignore_ascii_case(name) {
            return Ok(Err(SignInProblem::Refused(SignInRefusal::UnknownToken)));
        }
        lock(&self.throttle).note_success(name, address);
        let now = Instant::now();
        let cookie = lock(&self.sessions).begin(user, stamp.clone(), now)?;
        if is_token {
            self.remember_token(cookie.reveal(), secret)?;
        }
        let header = self.write_cookie(cookie.reveal(), None);
        Ok(Ok((caller, header)))
    }

    /// Remembers that a session has the rights of a token.
    fn remember_token(&self, cookie: &str, token: &str) -> Result<()> {
        let find_stamp = |user: &str| self.accounts.find_stamp(user);
        let found = lock(&self.sessions).find(cookie, find_stamp, Instant::now())?;
        let mut tokens = lock(&self.tokens);
        if tokens.len() >= MOST_TOKEN_SESSIONS {
            // Without its token a session would have more rights than it was given, so all of them end.
            tokens.clear();
            *lock(&self.sessions) = BrowserSessions::default();
            return Ok(());
        }
        if let Some(session) = found {
            let token = Zeroizing::new(token.to_owned());
            tokens.insert(session.form_secret.reveal().to_owned(), token);
        }
        Ok(())
    }

    /// Ends the session of a browser; returns the header that makes it forget the cookie.
    pub(super) fn sign_out(&self, headers: &HeaderMap, form_secret: &str) -> String {
        for (name, cookie) in list_cookies(headers).take(MOST_COOKIES) {
            if name == self.cookie {
                lock(&self.sessions).end(cookie);
            }
        }
        lock(&self.tokens).remove(form_secret);
        self.write_cookie("", Some(0))
    }

    fn write_cookie(&self, value: &str, age: Option<u32>) -> String {
        let secure = if self.is_secure { "; Secure" } else { "" };
        let age = age.map_or_else(String::new, |age| format!("; Max-Age={age}"));
        // Lax, so that a link in a message opens a page; whatever acts needs the secret of a form besides.
        format!(
            "{}={value}; Path=/{secure}{age}; HttpOnly; SameSite=Lax",
            self.cookie
        )
    }

    fn count_failure(&self, name: &str, address: IpAddr) -> std::result::Result<(), RetryAfter> {
        lock(&self.throttle).admit(name, address, Instant::now())
    }
}

/// The reason a sign-in was refused.
#[derive(Debug, Clone, Copy)]
pub(super) enum SignInProblem {
    /// The credentials are wrong; the reason is for the audit log alone.
    Refused(SignInRefusal),
    /// There were too many attempts.
    Throttled(RetryAfter),
}

/// Returns the token of a bearer header.
fn parse_bearer(value: &str) -> Option<&str> {
    let (scheme, token) = value.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
