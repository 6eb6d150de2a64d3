//! Sessions of signed-in browsers, kept in the memory of the server.

use std::collections::HashMap;
use std::fmt;
use std::time::{Duration, Instant};

use loci_core::Result;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

use crate::accounts::UserStamp;
use crate::secret::{SecretHash, from_hex, random_bytes, to_hex};

/// The limits of sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLimits {
    /// The time without a request after which a session ends.
    pub idle: Duration,
    /// The time after which a session ends in any case.
    pub longest: Duration,
    /// The most sessions of one user; a new one ends the one that was not used for longest.
    pub most_of_user: usize,
    /// The most sessions of all; a new one ends the one that was not used for longest.
    pub most: usize,
}

impl Default for SessionLimits {
    /// Twelve hours without a request, seven days in all, 20 of one user, 10,000 of all.
    fn default() -> Self {
        Self {
            idle: Duration::from_secs(12 * 60 * 60),
            longest: Duration::from_secs(7 * 24 * 60 * 60),
            most_of_user: 20,
            most: 10_000,
        }
    }
}

/// The sessions of signed-in browsers.
///
/// - A session is known by a random id of 256 bits, which only the browser keeps. The server keeps its hash.
/// - It is bound to the state of its user's account. A new password, other rights, and disabling or removing the user end it
///   with the next request.
/// - Sessions end with the server.
///
/// The clock is handed in.
#[derive(Debug, Default)]
pub struct BrowserSessions {
    limits: SessionLimits,
    sessions: HashMap<[u8; 32], KnownSession>,
}

/// One session, as the server keeps it.
#[derive(Debug, Clone)]
struct KnownSession {
    user: String,
    stamp: UserStamp,
    begun: Instant,
    used: Instant,
}

/// The id of a session, for the cookie of one browser.
pub struct SessionCookie(Zeroizing<String>);

impl SessionCookie {
    /// Returns the text of the cookie: 64 hexadecimal digits.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for SessionCookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionCookie(..)")
    }
}

/// A session that was found for a cookie.
#[derive(Debug)]
pub struct FoundSession {
    /// The user who signed in.
    pub user: String,
    /// The secret of its forms.
    pub form_secret: FormSecret,
}

/// The secret that every form of a session carries, so that other sites cannot send them. It follows from the session's id
/// and tells nothing about it.
pub struct FormSecret(Zeroizing<String>);

impl FormSecret {
    /// Returns the text, to write it into a form: 64 hexadecimal digits.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Reports whether a form carries this secret, in a time that does not depend on how much of it is right.
    pub fn matches(&self, shown: &str) -> bool {
        self.0.as_bytes().ct_eq(shown.as_bytes()).into()
    }

    fn derive(id: &[u8; 32]) -> Self {
        let derived = Zeroizing::new(blake3::derive_key("loci 2026-11 secret of a session's forms", id));
        Self(Zeroizing::new(to_hex(&*derived)))
    }
}

impl fmt::Debug for FormSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("FormSecret(..)")
    }
}

impl BrowserSessions {
    /// Makes an empty table of sessions.
    pub fn new(limits: SessionLimits) -> Self {
        Self {
            limits,
            sessions: HashMap::new(),
        }
    }

    /// Begins a session of a user who has just signed in; `stamp` is that of the caller whom the accounts returned.
    pub fn begin(&mut self, user: &str, stamp: UserStamp, now: Instant) -> Result<SessionCookie> {
        let id = random_bytes::<32>()?;
        let limits = self.limits;
        self.sessions.retain(|_, session| session.is_alive(&limits, now));
        self.make_room(limits.most_of_user, Some(user));
        self.make_room(limits.most, None);
        let state = KnownSession {
            user: user.to_owned(),
            stamp,
            begun: now,
            used: now,
        };
        self.sessions.insert(hash_id(&id), state);
        Ok(SessionCookie(Zeroizing::new(to_hex(&*id))))
    }

    /// Finds the session of a cookie and notes that it was used. `current_stamp` tells the state of its user's account now,
    /// `None` if the user may not sign in; a session that was begun in another state ends.
    pub fn find(
        &mut self,
        cookie: &str,
        current_stamp: impl FnOnce(&str) -> Result<Option<UserStamp>>,
        now: Instant,
    ) -> Result<Option<FoundSession>> {
        let Some(id) = from_hex::<32>(cookie).map(Zeroizing::new) else {
            return Ok(None);
        };
        let key = hash_id(&id);
        let Some(session) = self.sessions.get_mut(&key) else {
            return Ok(None);
        };
        let is_alive = session.is_alive(&self.limits, now);
        // An error of the accounts refuses the request and leaves the session alone.
        if !is_alive || current_stamp(&session.user)?.as_ref() != Some(&session.stamp) {
            self.sessions.remove(&key);
            return Ok(None);
        }
        session.used = session.used.max(now);
        Ok(Some(FoundSession {
            user: session.user.clone(),
            form_secret: FormSecret::derive(&id),
        }))
    }

    /// Ends the session of a cookie; false if there is none.
    pub fn end(&mut self, cookie: &str) -> bool {
        let id = from_hex::<32>(cookie).map(Zeroizing::new);
        id.is_some_and(|id| self.sessions.remove(&hash_id(&id)).is_some())
    }

    /// Ends every session of a user and returns how many there were.
    pub fn end_of_user(&mut self, user: &str) -> usize {
        let before = self.sessions.len();
        self.sessions.retain(|_, session| session.user != user);
        before - self.sessions.len()
    }

    /// Returns how many sessions are kept; some of them may have expired.
    pub fn count(&self) -> usize {
        self.sessions.len()
    }

    /// Ends the sessions that were not used for longest, of one user or of all, until one more fits.
    fn make_room(&mut self, most: usize, user: Option<&str>) {
        let concerned = |session: &KnownSession| user.is_none_or(|user| session.user == user);
        let mut kept: Vec<(Instant, [u8; 32])> = self
            .sessions
            .iter()
            .filter(|(_, session)| concerned(session))
            .map(|(key, session)| (session.used, *key))
            .collect();
        let surplus = (kept.len() + 1).saturating_sub(most.max(1));
        kept.sort_unstable();
        for (_, key) in kept.into_iter().take(surplus) {
            self.sessions.remove(&key);
        }
    }
}

impl KnownSession {
    fn is_alive(&self, limits: &SessionLimits, now: Instant) -> bool {
        now.saturating_duration_since(self.used) < limits.idle
            && now.saturating_duration_since(self.begun) < limits.longest
    }
}

fn hash_id(id: &[u8; 32]) -> [u8; 32] {
    SecretHash::hash_secret("loci session", id).bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stamp() -> UserStamp {
        UserStamp::generate().unwrap()
    }

    fn hours(count: u64) -> Duration {
        Duration::from_secs(count * 60 * 60)
    }

    fn find(
        sessions: &mut BrowserSessions,
        cookie: &SessionCookie,
        stamp: &UserStamp,
        now: Instant,
    ) -> Option<String> {
        let found = sessions.find(cookie.reveal(), |_| Ok(Some(stamp.clone())), now);
        found.unwrap().map(|found| found.user)
    }

    #[test]
    fn a_session_is_found_until_it_is_idle_or_old() {
        let (begun, stamp) = (Instant::now(), stamp());
        let mut sessions = BrowserSessions::default();
        let cookie = sessions.begin("anna", stamp.clone(), begun).unwrap();
        let mut now = begun;
        for _ in 0..15 {
            now += hours(11);
            assert_eq!(find(&mut sessions, &cookie, &stamp, now).as_deref(), Some("anna"));
        }
        // Used all the time, but seven days old.
        assert_eq!(find(&mut sessions, &cookie, &stamp, begun + hours(7 * 24)), None);
        let idle = sessions.begin("anna", stamp.clone(), begun).unwrap();
        assert_eq!(find(&mut sessions, &idle, &stamp, begun + hours(12)), None);
        assert_eq!(sessions.count(), 0);
    }

    #[test]
    fn a_session_ends_when_the_account_changes_and_stays_ended() {
        let (now, first) = (Instant::now(), stamp());
        let mut sessions = BrowserSessions::default();
        let cookie = sessions.begin("anna", first.clone(), now).unwrap();
        assert_eq!(find(&mut sessions, &cookie, &stamp(), now), None);
        assert_eq!(
            find(&mut sessions, &cookie, &first, now),
            None,
            "it does not come back"
        );
        let cookie = sessions.begin("anna", first.clone(), now).unwrap();
        assert!(
            sessions
                .find(cookie.reveal(), |_| Ok(None), now)
                .unwrap()
                .is_none()
        );
        let cookie = sessions.begin("anna", first.clone(), now).unwrap();
        let unread = sessions.find(cookie.reveal(), |_| Err(loci_core::Error::invalid("unread")), now);
        assert!(unread.is_err());
        assert!(find(&mut sessions, &cookie, &first, now).is_some());
    }

    #[test]
    fn a_cookie_that_was_not_given_out_finds_nothing() {
        let (now, stamp) = (Instant::now(), stamp());
        let mut sessions = BrowserSessions::default();
        let cookie = sessions.begin("anna", stamp.clone(), now).unwrap();
        let upper = cookie.reveal().to_uppercase();
        let longer = format!("{}0", cookie.reveal());
        for wrong in ["", "0", &cookie.reveal()[1..], &longer, &upper, &"0".repeat(64)] {
            let found = sessions.find(wrong, |_| Ok(Some(stamp.clone())), now).unwrap();
            assert!(found.is_none(), "{wrong}");
        }
        assert!(!format!("{sessions:?} {cookie:?}").contains(cookie.reveal()));
        assert!(sessions.end(cookie.reveal()) && !sessions.end(cookie.reveal()));
        assert_eq!(find(&mut sessions, &cookie, &stamp, now), None);
    }

    #[test]
    fn each_session_has_its_own_form_secret() {
        let (now, stamp) = (Instant::now(), stamp());
        let mut sessions = BrowserSessions::default();
        let mut secret_of = || {
            let cookie = sessions.begin("anna", stamp.clone(), now).unwrap();
            let mut find = || {
                sessions
                    .find(cookie.reveal(), |_| Ok(Some(stamp.clone())), now)
                    .unwrap()
                    .unwrap()
            };
            let (secret, again) = (find().form_secret, find().form_secret);
            assert!(secret.matches(again.reveal()) && secret.reveal() != cookie.reveal());
            assert!(!format!("{secret:?}").contains(secret.reveal()));
            secret
        };
        let (one, other) = (secret_of(), secret_of());
        assert!(!one.matches(other.reveal()) && !one.matches("") && !one.matches(&one.reveal()[1..]));
    }

    #[test]
    fn the_oldest_sessions_make_room() {
        let (begun, stamp) = (Instant::now(), stamp());
        let limits = SessionLimits {
            most_of_user: 2,
            most: 3,
            ..SessionLimits::default()
        };
        let mut sessions = BrowserSessions::new(limits);
        let mut nth = 0;
        let mut begin = |sessions: &mut BrowserSessions, user: &str| {
            nth += 1;
            sessions
                .begin(user, stamp.clone(), begun + Duration::from_secs(nth))
                .unwrap()
        };
        let ben = begin(&mut sessions, "ben");
        let annas = [0; 3].map(|_| begin(&mut sessions, "anna"));
        let now = begun + Duration::from_secs(10);
        assert_eq!(find(&mut sessions, &annas[0], &stamp, now), None);
        assert!(find(&mut sessions, &annas[1], &stamp, now).is_some());
        assert!(find(&mut sessions, &ben, &stamp, now + Duration::from_secs(1)).is_some());
        begin(&mut sessions, "carla");
        assert_eq!(sessions.count(), 3);
        assert_eq!(
            find(&mut sessions, &annas[2], &stamp, now),
            None,
            "not used for longest"
        );
        assert_eq!(sessions.end_of_user("anna"), 1);
    }
}
