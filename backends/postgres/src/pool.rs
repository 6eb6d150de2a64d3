//! The connections to one server, reused by every call and opened as needed.

use std::ops::Deref;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{ErrorKind, Result};

use crate::address::PalaceUrl;
use crate::connect::{self, ConnectionEnvironment, ConnectionSettings};
use crate::deadline::ServerDeadline;
use crate::driver::ConnectionDriver;
use crate::failure::closed_error;
use crate::session::ServerSession;
use crate::statement::SqlStatement;

/// The most idle connections that are kept; more are opened while more are needed, and closed afterwards.
const MOST_IDLE: usize = 8;

/// Settings of a session: durable commits, no compilation of short statements, and no transaction that a stopped
/// client leaves open for ever.
const SESSION_SETTINGS: &str = "SELECT
    CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END,
    set_config('jit', 'off', false),
    set_config('search_path', 'pg_catalog', false),
    set_config('idle_in_transaction_session_timeout', '120s', false),
    (SELECT quote_ident(n.nspname) FROM pg_extension e JOIN pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'vector' AND EXISTS (SELECT 1 FROM pg_type t WHERE t.typname = 'halfvec' AND t.typnamespace = n.oid))";

/// The connections to one server as one user.
#[derive(Debug)]
pub(crate) struct SessionPool {
    driver: Arc<ConnectionDriver>,
    url: PalaceUrl,
    idle: Mutex<Vec<ServerSession>>,
    closed: AtomicBool,
    waits: Arc<AtomicU64>,
}

impl SessionPool {
    /// Creates a pool that connects where `url` says; does not connect yet.
    pub(crate) fn new(driver: Arc<ConnectionDriver>, url: PalaceUrl, waits: Arc<AtomicU64>) -> Self {
        Self {
            driver,
            url,
            idle: Mutex::default(),
            closed: AtomicBool::new(false),
            waits,
        }
    }

    /// Returns a connection for one operation.
    pub(crate) fn lease(self: &Arc<Self>) -> Result<SessionLease> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed_error("the backend \"postgres\""));
        }
        let session = match self.take_idle() {
            Some(session) => session,
            None => {
                let mut session = self.connect()?;
                session.set_pool(Arc::downgrade(self));
                session
            }
        };
        Ok(SessionLease {
            pool: Arc::clone(self),
            session: Some(session),
        })
    }

    /// Runs the first step of an operation. If a connection that was idle turns out to be dead, the step is repeated on
    /// another: nothing of it can have been kept, since it never commits.
    pub(crate) fn begin<T>(
        self: &Arc<Self>,
        mut step: impl FnMut(&ServerSession) -> Result<T>,
    ) -> Result<(SessionLease, T)> {
        let mut tries = MOST_IDLE + 1;
        loop {
            let lease = self.lease()?;
            tries -= 1;
            match step(&lease) {
                Ok(answer) => return Ok((lease, answer)),
                Err(error) if error.kind() == ErrorKind::Unavailable && !lease.is_usable() && tries > 0 => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn take_idle(&self) -> Option<ServerSession> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(session) = idle.pop() {
            if session.is_usable() {
                return Some(session);
            }
        }
        None
    }

    /// Opens a connection that belongs to no lease.
    pub(crate) fn connect(&self) -> Result<ServerSession> {
        let settings = ConnectionSettings::resolve(&self.url, &ConnectionEnvironment::from_process()?)?;
        let connection = self
            .driver
            .run(async move { connect::connect(&settings).await })?;
        let mut session = ServerSession::new(connection.client, Arc::clone(&self.waits));
        let settings = session.ask(SqlStatement::new(SESSION_SETTINGS), ServerDeadline::default())?;
        session.set_vector_schema(settings.first().and_then(|row| row.get(4)));
        Ok(session)
    }

    fn give_back(&self, session: ServerSession) {
        if !session.is_usable() || self.closed.load(Ordering::SeqCst) {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(session);
        }
    }

    /// Closes every connection; later leases are refused.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// A connection that returns to its pool when it is dropped.
#[derive(Debug)]
pub(crate) struct SessionLease {
    pool: Arc<SessionPool>,
    /// Taken only by the drop.
    session: Option<ServerSession>,
}

impl Deref for SessionLease {
    type Target = ServerSession;

    fn deref(&self) -> &ServerSession {
        self.session
            .as_ref()
            .expect("the session is taken only when the lease is dropped")
    }
}

impl Drop for SessionLease {
    fn drop(&mut self) {
        if let Some(session) = self.session.take() {
            self.pool.give_back(session);
        }
    }
}
