//! An open palace: its number on a server, the connections to it, and whether it was closed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{Error, PalaceFinding, PalaceId, PalaceRef, Result};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::address::PalaceUrl;
use crate::deadline::ServerDeadline;
use crate::failure::{closed_error, corrupt_error, is_missing_table};
use crate::pool::{SessionLease, SessionPool};
use crate::schema::{self, TableVersion};
use crate::session::ServerSession;
use crate::statement::SqlStatement;
use crate::words::WordSealLimits;

/// A palace that was found on a server.
#[derive(Debug, Clone)]
pub(crate) struct ServerPalace {
    pub(crate) pool: Arc<SessionPool>,
    pub(crate) number: i64,
    pub(crate) identity: PalaceId,
    /// Set once its tables are of the newest minor version, or stay as they are for now.
    pub(crate) is_upgraded: Arc<AtomicBool>,
    /// Set when the palace or its backend is closed.
    pub(crate) closed: Arc<AtomicBool>,
    pub(crate) word_limits: WordSealLimits,
    /// The damage that its reads have met and gone round.
    pub(crate) damage: Arc<Mutex<Vec<PalaceFinding>>>,
}

impl ServerPalace {
    /// Refuses calls after a close.
    pub(crate) fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed_error("this palace"));
        }
        Ok(())
    }

    /// Remembers damage that did not fail a read, once.
    pub(crate) fn note_damage(&self, finding: PalaceFinding) {
        let mut damage = self.damage.lock().unwrap_or_else(PoisonError::into_inner);
        if !damage.contains(&finding) {
            damage.push(finding);
        }
    }

    /// Returns the damage that was noted.
    pub(crate) fn list_damage(&self) -> Vec<PalaceFinding> {
        self.damage.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Runs the first step of an operation on a connection; see [`SessionPool::begin`].
    pub(crate) fn begin<T>(
        &self,
        step: impl FnMut(&ServerSession) -> Result<T>,
    ) -> Result<(SessionLease, T)> {
        self.check_open()?;
        self.pool.begin(step)
    }
}

/// A palace that was looked up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FoundPalace {
    pub(crate) number: i64,
    pub(crate) identity: PalaceId,
    /// The version of the tables.
    pub(crate) version: TableVersion,
}

/// The name of a palace on its server.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct ServerPalaceName {
    pub(crate) namespace: Option<String>,
    pub(crate) name: String,
}

impl ServerPalaceName {
    /// The longest name, in bytes: a name is part of an index entry.
    const LONGEST: usize = 512;

    /// Returns the name that a reference with this URL means.
    pub(crate) fn new(palace: &PalaceRef, url: &PalaceUrl) -> Result<Self> {
        let namespace = palace.namespace.as_deref().or(url.namespace());
        let key = Self {
            namespace: namespace.map(str::to_owned),
            name: url.palace().to_owned(),
        };
        check_name("palace", &key.name)?;
        key.namespace
            .as_deref()
            .map_or(Ok(()), |namespace| check_name("namespace", namespace))?;
        Ok(key)
    }

    fn bind(&self, statement: SqlStatement) -> SqlStatement {
        statement
            .with(self.namespace.clone(), Type::TEXT)
            .with(self.name.clone(), Type::TEXT)
    }
}

fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() || name.len() > ServerPalaceName::LONGEST || name.contains('\0') {
        return Err(Error::invalid(format!(
            "a {what} needs a name of 1 to {} bytes without a NUL, not of {} bytes",
            ServerPalaceName::LONGEST,
            name.len()
        ))
        .with_hint("nothing was changed; give another name"));
    }
    Ok(())
}

/// Looks a palace up; `None` if it, or every table, is missing.
pub(crate) fn find_palace(session: &ServerSession, key: &ServerPalaceName) -> Result<Option<FoundPalace>> {
    let version = SqlStatement::new("SELECT value FROM loci.settings WHERE key = 'version'");
    let palace = key.bind(SqlStatement::new(
        "SELECT palace, identity FROM loci.palaces WHERE coalesce(namespace, '') = coalesce($1, '') AND name = $2",
    ));
    let answers = match session.ask_all(&[version, palace], ServerDeadline::default()) {
        Ok(answers) => answers,
        // A database in which no palace was ever made.
        Err(error) if is_missing_table(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    let first = |answer: usize| answers.get(answer).and_then(|rows| rows.first());
    let version = match first(0) {
        Some(version) => schema::parse_version(version.get(0))?,
        None => return Ok(None),
    };
    schema::check_version(version)?;
    first(1).map(|row| read_palace(row, version)).transpose()
}

/// Makes a palace, and the tables if they are missing; an existing one is found.
pub(crate) fn make_palace(
    session: &ServerSession,
    key: &ServerPalaceName,
    newest: TableVersion,
) -> Result<FoundPalace> {
    if let Some(found) = find_palace(session, key)? {
        return Ok(found);
    }
    schema::ensure_tables(session, newest)?;
    let made = key.bind(SqlStatement::new(
        "INSERT INTO loci.palaces(namespace, name, identity, created_at)
         VALUES ($1, $2, uuid_send(gen_random_uuid()), (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
         ON CONFLICT DO NOTHING",
    ));
    session.ask(made, ServerDeadline::default())?;
    // Read back in any case: another process may have made it first.
    find_palace(session, key)?.ok_or_else(|| corrupt_error("a palace that was just made cannot be found"))
}

fn read_palace(row: &Row, version: TableVersion) -> Result<FoundPalace> {
    let identity: &[u8] = row.get(1);
    let identity = identity
        .try_into()
        .map_err(|_| corrupt_error("the id of a palace is damaged"))?;
    Ok(FoundPalace {
        number: row.get(0),
        identity: PalaceId(identity),
        version,
    })
}
