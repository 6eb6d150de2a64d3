//! The sessions of clients, and their expiry.
//!
//! A client over HTTP may be idle between two requests for hours, so a session outlives its connections. It
//! ends when the client deletes it, after a long idle time, soon after its client disconnected in the middle
//! of an answer, or, where there are too many sessions, if it was idle for the longest.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hyper::StatusCode;
use rmcp::transport::streamable_http_server::SessionManager as _;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;

use super::HttpLimits;
use crate::http::refusal::HttpRefusal;

/// The sessions of a server.
pub(crate) struct HttpSessions {
    pub(crate) inner: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, SessionActivity>>,
    limits: HttpLimits,
}

/// The activity of one session.
struct SessionActivity {
    /// The number of answers in progress.
    open_answers: usize,
    /// The time of its last activity.
    last_active: Instant,
    /// Whether the client disconnected in the middle of its last answer.
    vanished: bool,
}

impl HttpSessions {
    /// Makes an empty set.
    pub(crate) fn new(limits: &HttpLimits) -> Arc<Self> {
        let mut inner = LocalSessionManager::default();
        // The SDK's own idle timeout would also end a session in the middle of a long call.
        inner.session_config.keep_alive = None;
        Arc::new(Self {
            inner: Arc::new(inner),
            known: Mutex::default(),
            limits: limits.clone(),
        })
    }

    fn lock_known(&self) -> MutexGuard<'_, HashMap<String, SessionActivity>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a new session.
    pub(crate) fn add_session(&self, id: &str) {
        let seen = SessionActivity {
            open_answers: 0,
            last_active: Instant::now(),
            vanished: false,
        };
        self.lock_known().insert(id.to_owned(), seen);
    }

    /// Removes a session that has ended.
    pub(crate) fn forget_session(&self, id: &str) {
        self.lock_known().remove(id);
    }

    /// Marks a session as active until the returned guard is dropped. `None` for an unknown session.
    pub(crate) fn begin_answer(self: &Arc<Self>, id: &str) -> Option<AnswerInProgress> {
        let mut known = self.lock_known();
        let seen = known.get_mut(id)?;
        seen.open_answers += 1;
        seen.last_active = Instant::now();
        seen.vanished = false;
        Some(AnswerInProgress {
            sessions: self.clone(),
            id: id.to_owned(),
            finished: false,
        })
    }

    /// Makes room for one more session by ending the one that was idle for the longest.
    pub(crate) fn make_room(self: &Arc<Self>) -> Result<(), HttpRefusal> {
        let mut known = self.lock_known();
        if known.len() < self.limits.sessions {
            return Ok(());
        }
        // A session with an answer in progress is never ended: its client would lose that answer.
        let silent = known.iter().filter(|(_, seen)| seen.open_answers == 0);
        let Some((id, _)) = silent.min_by_key(|(_, seen)| seen.last_active) else {
            let words = "too many sessions, all of them active";
            return Err(HttpRefusal::retry_later(
                StatusCode::SERVICE_UNAVAILABLE,
                words,
                1,
            ));
        };
        let id = id.clone();
        known.remove(&id);
        self.close_session(id);
        Ok(())
    }

    /// Ends expired sessions, forever.
    pub(crate) async fn sweep_expired(self: Arc<Self>) {
        let shortest = self.limits.vanished.min(self.limits.idle);
        // A quarter of the shortest limit: a session outlives its limit by that much at most.
        let pause = (shortest / 4).clamp(Duration::from_millis(10), Duration::from_secs(30));
        loop {
            tokio::time::sleep(pause).await;
            for id in self.take_expired(Instant::now()) {
                self.close_session(id);
            }
        }
    }

    /// Removes the expired sessions and returns their ids.
    fn take_expired(&self, now: Instant) -> Vec<String> {
        let patience = |seen: &SessionActivity| {
            if seen.vanished {
                self.limits.vanished.min(self.limits.idle)
            } else {
                self.limits.idle
            }
        };
        let over = |_: &String, seen: &mut SessionActivity| {
            seen.open_answers == 0 && now.saturating_duration_since(seen.last_active) >= patience(seen)
        };
        self.lock_known().extract_if(over).map(|(id, _)| id).collect()
    }

    /// Ends a session in the SDK, in the background: that may wait for the session's task.
    fn close_session(&self, id: String) {
        let inner = self.inner.clone();
        tokio::spawn(async move { inner.close_session(&id.into()).await });
    }
}

/// An answer in progress.
pub(crate) struct AnswerInProgress {
    sessions: Arc<HttpSessions>,
    id: String,
    /// Whether the whole answer was sent.
    pub(crate) finished: bool,
}

impl Drop for AnswerInProgress {
    fn drop(&mut self) {
        if let Some(seen) = self.sessions.lock_known().get_mut(&self.id) {
            seen.open_answers = seen.open_answers.saturating_sub(1);
            seen.last_active = Instant::now();
            // Of several answers in progress, one that broke off is enough; the next request of the client
            // clears it.
            seen.vanished |= !self.finished;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sessions() -> Arc<HttpSessions> {
        let limits = HttpLimits {
            idle: Duration::from_secs(100),
            vanished: Duration::from_secs(10),
            ..HttpLimits::default()
        };
        let sessions = HttpSessions::new(&limits);
        sessions.add_session("one");
        sessions
    }

    /// Which sessions are over after so many seconds.
    fn over(sessions: &HttpSessions, seconds: u64) -> Vec<String> {
        sessions.take_expired(Instant::now() + Duration::from_secs(seconds))
    }

    #[test]
    fn a_silent_session_ends_once() {
        let sessions = sessions();
        assert!(over(&sessions, 90).is_empty());
        assert_eq!(over(&sessions, 110), ["one"]);
        assert!(over(&sessions, 110).is_empty());
        assert!(sessions.begin_answer("one").is_none());
    }

    #[test]
    fn a_session_at_work_never_ends() {
        let sessions = sessions();
        let working = sessions.begin_answer("one");
        assert!(over(&sessions, 1_000_000).is_empty());
        drop(working);
        assert_eq!(over(&sessions, 1_000_000), ["one"]);
    }

    #[test]
    fn a_session_whose_client_went_away_in_mid_answer_ends_soon() {
        let sessions = sessions();
        drop(sessions.begin_answer("one"));
        assert!(over(&sessions, 5).is_empty());
        assert_eq!(over(&sessions, 20), ["one"]);
    }

    #[test]
    fn a_client_that_comes_back_keeps_its_session() {
        let sessions = sessions();
        drop(sessions.begin_answer("one"));
        let mut back = sessions.begin_answer("one").unwrap();
        back.finished = true;
        drop(back);
        assert!(over(&sessions, 20).is_empty());
        assert_eq!(over(&sessions, 110), ["one"]);
    }
}
