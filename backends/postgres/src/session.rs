//! One connection: statements sent together, their answers, and transactions that end however the call ends.

use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::task::{Context, Waker};

use futures_util::future::join_all;
use futures_util::{TryStreamExt, pin_mut};
use loci_core::{Error, Result};
use tokio_postgres::types::ToSql;
use tokio_postgres::{Client, Row};

use crate::deadline::{ServerDeadline, timed_out_error};
use crate::driver::wait_until;
use crate::failure::{is_refusal, postgres_error};
use crate::pool::SessionPool;
use crate::rights;
use crate::statement::SqlStatement;

/// The rows of each statement of a pipeline, in order.
pub(crate) type PipelineRows = Vec<Vec<Row>>;

/// A connection to the server.
pub(crate) struct ServerSession {
    client: Client,
    /// Set once the state of the connection is not known any more: it is closed instead of being used again.
    broken: AtomicBool,
    /// The schema of the extension `vector`, quoted, if it is installed.
    vector_schema: Option<String>,
    /// How often calls have waited for the server, on all connections of the backend.
    waits: Arc<AtomicU64>,
    /// The pool, which opens another connection to find out what a role lacks.
    pool: Weak<SessionPool>,
}

impl ServerSession {
    /// Wraps a connected client.
    pub(crate) fn new(client: Client, waits: Arc<AtomicU64>) -> Self {
        Self {
            client,
            broken: AtomicBool::new(false),
            vector_schema: None,
            waits,
            pool: Weak::new(),
        }
    }

    /// Notes the pool of this connection.
    pub(crate) fn set_pool(&mut self, pool: Weak<SessionPool>) {
        self.pool = pool;
    }

    /// Notes where the extension `vector` is installed, as an identifier that is quoted already.
    pub(crate) fn set_vector_schema(&mut self, quoted: Option<String>) {
        self.vector_schema = quoted;
    }

    /// Returns the quoted schema of the extension `vector`, if it is installed.
    pub(crate) fn vector_schema(&self) -> Option<&str> {
        self.vector_schema.as_deref()
    }

    /// Returns whether the connection can be used again.
    pub(crate) fn is_usable(&self) -> bool {
        !self.broken.load(Ordering::SeqCst) && !self.client.is_closed()
    }

    /// Marks the connection as not to be used again.
    pub(crate) fn abandon(&self) {
        self.broken.store(true, Ordering::SeqCst);
    }

    /// Sends all statements at once and waits once for their answers; the first error decides.
    pub(crate) fn ask_all(
        &self,
        statements: &[SqlStatement],
        deadline: ServerDeadline,
    ) -> Result<PipelineRows> {
        let asked = statements.iter().map(|statement| {
            let values = statement.values();
            async move { self.client.query_typed(statement.text(), &values).await }
        });
        // All are polled in order before any answer is awaited, so they leave in order and in one piece.
        let answers = self.wait(join_all(asked), deadline)?;
        let answers: Result<PipelineRows> = answers
            .into_iter()
            .map(|answer| answer.map_err(|cause| self.fail(cause)))
            .collect();
        answers.map_err(|error| self.explain(error))
    }

    /// Sends one statement and waits for its rows.
    pub(crate) fn ask(&self, statement: SqlStatement, deadline: ServerDeadline) -> Result<Vec<Row>> {
        Ok(self.ask_all(&[statement], deadline)?.pop().unwrap_or_default())
    }

    /// Sends one statement and calls `each` with every row as it arrives.
    pub(crate) fn stream(
        &self,
        statement: &SqlStatement,
        deadline: ServerDeadline,
        each: &mut dyn FnMut(&Row) -> Result<()>,
    ) -> Result<()> {
        let values = statement.values();
        let streamed = async {
            let values = values
                .iter()
                .map(|(value, kind)| (*value as &(dyn ToSql + Sync), kind.clone()));
            let rows = self.client.query_typed_raw(statement.text(), values).await;
            let rows = rows.map_err(|cause| self.fail(cause))?;
            pin_mut!(rows);
            while let Some(row) = rows.try_next().await.map_err(|cause| self.fail(cause))? {
                each(&row)?;
            }
            Ok(())
        };
        let streamed = self.wait(streamed, deadline)?;
        // Rows that were not read are still on their way.
        if streamed.is_err() {
            self.abandon();
        }
        streamed.map_err(|error| self.explain(error))
    }

    /// Ends an open transaction without keeping anything of it. Does not wait: what is sent later comes after it.
    pub(crate) fn end_transaction(&self) {
        let ending = async { self.client.query_typed("ROLLBACK", &[]).await };
        let mut ending = pin!(ending);
        // The first poll sends the statement; its answer is of no interest.
        let _ = ending.as_mut().poll(&mut Context::from_waker(Waker::noop()));
    }

    fn wait<T>(&self, answer: impl Future<Output = T>, deadline: ServerDeadline) -> Result<T> {
        self.waits.fetch_add(1, Ordering::SeqCst);
        wait_until(answer, deadline.instant()).ok_or_else(|| {
            // The answer may still come, and would be taken for that of the next statement's transaction.
            self.abandon();
            timed_out_error()
        })
    }

    fn fail(&self, cause: tokio_postgres::Error) -> Error {
        if cause.is_closed() || self.client.is_closed() {
            self.abandon();
        }
        postgres_error(cause)
    }

    /// Returns an error with the grants that are missing, if it is about rights.
    fn explain(&self, error: Error) -> Error {
        let pool = Some(&self.pool)
            .filter(|_| is_refusal(&error))
            .and_then(Weak::upgrade);
        match pool.map(|pool| pool.connect()) {
            Some(Ok(other)) => rights::explain_refusal(&other, error),
            _ => error,
        }
    }
}

impl fmt::Debug for ServerSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerSession")
            .field("usable", &self.is_usable())
            .finish_non_exhaustive()
    }
}
