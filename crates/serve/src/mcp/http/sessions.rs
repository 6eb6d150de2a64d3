//! Which clients have a session, and when one is given up.
//!
//! A client over HTTP may be silent between two requests for hours, so a session outlives its connections. It ends when the
//! client says so, when nothing was heard of it for long, soon after it went away in the middle of an answer, or, where
//! there are too many, when it is the one that was silent for the longest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::Limits;
use super::refusal::Refusal;

/// The sessions of a server.
pub(super) struct Sessions {
    pub(super) inner: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, Seen>>,
    limits: Limits,
}

/// What is known of a session.
struct Seen {
    /// How many answers are being sent.
    open: usize,
    /// When it was heard of last.
    last: Instant,
    /// Whether the client went away in the middle of its last answer.
    vanished: bool,
}

impl Sessions {
    /// None yet.
    pub(super) fn new(limits: &Limits) -> Arc<Self> {
        let mut inner = LocalSessionManager::default();
        // The SDK's own clock would also end a session whose call takes long.
        inner.session_config.keep_alive = None;
        Arc::new(Self {
            inner: Arc::new(inner),
            known: Mutex::default(),
            limits: limits.clone(),
        })
    }

    fn known(&self) -> MutexGuard<'_, HashMap<String, Seen>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a new session.
    pub(super) fn adopt(&self, id: &str) {
        let seen = Seen {
            open: 0,
            last: Instant::now(),
            vanished: false,
        };
        self.known().insert(id.to_owned(), seen);
    }

    /// Notes that a session has ended.
    pub(super) fn forget(&self, id: &str) {
        self.known().remove(id);
    }

    /// Notes that a request of a session is being answered, until what is returned is dropped.
    pub(super) fn answering(self: &Arc<Self>, id: &str) -> Option<Answering> {
        let mut known = self.known();
        let seen = known.get_mut(id)?;
        seen.open += 1;
        seen.last = Instant::now();
        seen.vanished = false;
        Some(Answering {
            sessions: self.clone(),
            id: id.to_owned(),
            finished: false,
        })
    }

    /// Makes room for one more, in place of the one that was silent for the longest.
    pub(super) fn make_room(self: &Arc<Self>) -> Result<(), Refusal> {
        let mut known = self.known();
        if known.len() < self.limits.sessions {
            return Ok(());
        }
        let silent = known.iter().filter(|(_, seen)| seen.open == 0);
        let Some((id, _)) = silent.min_by_key(|(_, seen)| seen.last) else {
            let words = "every session there may be is at work";
            return Err(Refusal::later(StatusCode::SERVICE_UNAVAILABLE, words, 1));
        };
        let id = id.clone();
        known.remove(&id);
        self.close(id);
        Ok(())
    }

    /// Ends sessions that are over, again and again.
    pub(super) async fn sweep(self: Arc<Self>) {
        let shortest = self.limits.vanished.min(self.limits.idle);
        let pause = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(30));
        loop {
            tokio::time::sleep(pause).await;
            for id in self.over(Instant::now()) {
                self.close(id);
            }
        }
    }

    /// Takes out those that are over.
    fn over(&self, now: Instant) -> Vec<String> {
        let patience = |seen: &Seen| match seen.vanished {
            true => self.limits.vanished.min(self.limits.idle),
            false => self.limits.idle,
        };
        let over = |_: &String, seen: &mut Seen| {
            seen.open == 0 && now.saturating_duration_since(seen.last) >= patience(seen)
        };
        self.known().extract_if(over).map(|(id, _)| id).collect()
    }

    /// Ends a session for the SDK, which may take a while to let go of it.
    fn close(&self, id: String) {
        let inner = self.inner.clone();
        tokio::spawn(async move { inner.close_session(&id.into()).await });
    }
}

/// A request that is being answered.
pub(super) struct Answering {
    sessions: Arc<Sessions>,
    id: String,
    /// Whether all of the answer was sent.
    pub(super) finished: bool,
}

impl Drop for Answering {
    fn drop(&mut self) {
        if let Some(seen) = self.sessions.known().get_mut(&self.id) {
            seen.open = seen.open.saturating_sub(1);
            seen.last = Instant::now();
            seen.vanished |= !self.finished;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Arc<Sessions> {
        let limits = Limits {
            idle: Duration::from_secs(100),
            vanished: Duration::from_secs(10),
            ..Limits::default()
        };
        let sessions = Sessions::new(&limits);
        sessions.adopt("one");
        sessions
    }

    /// Which sessions are over after so many seconds.
    fn over(sessions: &Sessions, seconds: u64) -> Vec<String> {
        sessions.over(Instant::now() + Duration::from_secs(seconds))
    }

    #[test]
    fn a_silent_session_ends_once() {
        let sessions = sessions();
        assert!(over(&sessions, 90).is_empty());
        assert_eq!(over(&sessions, 110), ["one"]);
        assert!(over(&sessions, 110).is_empty());
        assert!(sessions.answering("one").is_none());
    }

    #[test]
    fn a_session_at_work_never_ends() {
        let sessions = sessions();
        let working = sessions.answering("one");
        assert!(over(&sessions, 1_000_000).is_empty());
        drop(working);
        assert_eq!(over(&sessions, 1_000_000), ["one"]);
    }

    #[test]
    fn a_session_whose_client_went_away_in_mid_answer_ends_soon() {
        let sessions = sessions();
        drop(sessions.answering("one"));
        assert!(over(&sessions, 5).is_empty());
        assert_eq!(over(&sessions, 20), ["one"]);
    }

    #[test]
    fn a_client_that_comes_back_keeps_its_session() {
        let sessions = sessions();
        drop(sessions.answering("one"));
        let mut back = sessions.answering("one").unwrap();
        back.finished = true;
        drop(back);
        assert!(over(&sessions, 20).is_empty());
        assert_eq!(over(&sessions, 110), ["one"]);
    }
}
