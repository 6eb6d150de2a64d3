//! The backend: finding palaces by their URLs, and creating, opening and dropping their collections.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, Error, ErrorKind, Metric, OpenOptions, PalaceFinding, PalaceId, PalaceRef, Result,
    SPEC_VERSION, SnapshotStore,
};
use tokio_postgres::types::Type;

use crate::address::{PalaceUrl, ServerKey};
use crate::collection::ServerCollection;
use crate::deadline::ServerDeadline;
use crate::driver::ConnectionDriver;
use crate::failure::{closed_error, missing_collection, missing_palace};
use crate::maintain;
use crate::palace::{FoundPalace, ServerPalace, ServerPalaceName, find_palace, make_palace};
use crate::pool::SessionPool;
use crate::schema::TableVersion;
use crate::session::ServerSession;
use crate::shelf::ServerShelf;
use crate::statement::SqlStatement;
use crate::words::WordSealLimits;
use crate::{codes, schema, words};

/// Palaces in Postgres servers; see the crate's documentation.
pub struct PostgresBackend {
    descriptor: BackendDescriptor,
    /// The version of the tables that it makes, and brings older ones to.
    newest: TableVersion,
    closed: AtomicBool,
    waits: Arc<AtomicU64>,
    opened: Mutex<OpenedServers>,
    word_limits: WordSealLimits,
}

/// The connections and palaces that are in use.
#[derive(Debug, Default)]
struct OpenedServers {
    /// Started with the first connection: making a backend does no I/O.
    driver: Option<Arc<ConnectionDriver>>,
    /// The connections to each server, by the key of its URL.
    pools: HashMap<ServerKey, Arc<SessionPool>>,
    palaces: HashMap<PalaceRef, ServerPalace>,
    /// The URLs with their passwords, by the ids of the references made from them.
    urls: HashMap<String, PalaceUrl>,
}

impl PostgresBackend {
    /// The name of this backend.
    pub const NAME: &'static str = "postgres";

    /// The schemes of the URLs that address its palaces.
    pub const SCHEMES: [&'static str; 2] = ["postgres", "postgresql"];

    /// Creates a backend; does no I/O.
    pub fn new() -> Self {
        Self {
            descriptor: BackendDescriptor {
                name: Self::NAME.to_owned(),
                spec_version: SPEC_VERSION,
                capabilities: [
                    Capability::EmbeddingsPassthrough,
                    Capability::EmbeddingsOut,
                    Capability::AtomicBatch,
                    Capability::AtomicUpdate,
                    Capability::ConditionalBatch,
                    Capability::RangeFilters,
                    Capability::Lexical,
                    Capability::NamespaceIsolation,
                    Capability::ChangeFeed,
                    Capability::Export,
                    Capability::Server,
                    Capability::Spaces,
                    Capability::Sources,
                    Capability::MultiProcess,
                    Capability::Moment,
                    Capability::Erasure,
                ]
                .into_iter()
                .collect(),
                metrics: Metric::ALL.to_vec(),
                maintenance: maintain::KINDS.to_vec(),
            },
            newest: schema::SCHEMA_VERSION,
            closed: AtomicBool::new(false),
            waits: Arc::default(),
            opened: Mutex::default(),
            word_limits: WordSealLimits::default(),
        }
    }

    /// Creates a backend as a build of an earlier minor version of the tables would.
    #[cfg(test)]
    pub(crate) fn with_tables_of(newest: TableVersion) -> Self {
        Self {
            newest,
            ..Self::new()
        }
    }

    /// Seals words by other numbers of drawers: a tail of `tail` into a segment, and segments into one of `merged`. For
    /// tests; no answer depends on it.
    #[must_use]
    pub fn sealing_words_at(mut self, tail: u32, merged: u32) -> Self {
        self.word_limits = WordSealLimits::with_drawers(i64::from(tail), i64::from(merged));
        self
    }

    /// Returns the reference of the palace at a URL. A password in the URL stays in this backend: references are shown.
    pub fn adopt_url(&self, url: &str) -> Result<PalaceRef> {
        let parsed = PalaceUrl::parse(url)?;
        let shown = parsed.to_string();
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.urls.insert(shown.clone(), parsed);
        Ok(PalaceRef::from_id(shown))
    }

    fn find_url(&self, palace: &PalaceRef) -> Result<PalaceUrl> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        match opened.urls.get(&palace.id) {
            Some(url) => Ok(url.clone()),
            None => PalaceUrl::parse(&palace.id),
        }
    }

    /// Returns how often its calls have waited for a server; statements that are sent together are waited for once.
    pub fn count_waits(&self) -> u64 {
        self.waits.load(Ordering::SeqCst)
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed_error("the backend \"postgres\""));
        }
        Ok(())
    }

    /// Returns the connections to the server that a URL names.
    fn find_pool(&self, url: &PalaceUrl) -> Result<Arc<SessionPool>> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let key = url.server_key();
        if let Some(pool) = opened.pools.get(&key) {
            return Ok(Arc::clone(pool));
        }
        let driver = match &opened.driver {
            Some(driver) => Arc::clone(driver),
            None => Arc::clone(opened.driver.insert(Arc::new(ConnectionDriver::start()?))),
        };
        let pool = Arc::new(SessionPool::new(driver, url.clone(), Arc::clone(&self.waits)));
        opened.pools.insert(key, Arc::clone(&pool));
        Ok(pool)
    }

    /// Returns the connections to the server of a palace, and its name there.
    pub(crate) fn find_server(&self, palace: &PalaceRef) -> Result<(Arc<SessionPool>, ServerPalaceName)> {
        self.check_open()?;
        let url = self.find_url(palace)?;
        let key = ServerPalaceName::new(palace, &url)?;
        Ok((self.find_pool(&url)?, key))
    }

    /// Returns a palace that was used before, or what `find` finds on its server.
    fn open_palace(
        &self,
        palace: &PalaceRef,
        find: impl Fn(&ServerSession, &ServerPalaceName) -> Result<Option<FoundPalace>>,
    ) -> Result<ServerPalace> {
        self.check_open()?;
        if let Some(opened) = self.find_opened(palace) {
            return Ok(opened);
        }
        let (pool, key) = self.find_server(palace)?;
        let (_, found) = pool.begin(|session| find(session, &key))?;
        let found = found.ok_or_else(|| missing_palace(palace))?;
        let opened = ServerPalace {
            pool,
            number: found.number,
            identity: found.identity,
            is_upgraded: Arc::new(AtomicBool::new(found.version.minor >= self.newest.minor)),
            closed: Arc::default(),
            word_limits: self.word_limits,
            damage: Arc::default(),
        };
        let mut all = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(all.palaces.entry(palace.clone()).or_insert(opened).clone())
    }

    /// Brings the tables to the minor version of this build before a palace is written to; tried once.
    fn upgrade(&self, palace: &ServerPalace) -> Result<()> {
        if palace.is_upgraded.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        let upgraded = palace.begin(|session| schema::upgrade_tables(session, self.newest));
        upgraded
            .map(drop)
            .inspect_err(|_| palace.is_upgraded.store(false, Ordering::SeqCst))
    }

    fn find_opened(&self, palace: &PalaceRef) -> Option<ServerPalace> {
        let opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        opened.palaces.get(palace).cloned()
    }

    fn open_handle(
        &self,
        palace: ServerPalace,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let question = || ServerShelf::select_by_name(palace.number, collection);
        let (_, rows) = palace.begin(|session| session.ask(question(), ServerDeadline::default()))?;
        let shelf = ServerShelf::read_one(&rows, collection)?;
        shelf.check_options(options)?;
        Ok(Arc::new(ServerCollection::new(palace, &shelf, options)))
    }
}

impl Default for PostgresBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for PostgresBackend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The addresses of palaces may hold passwords.
        f.debug_struct("PostgresBackend").finish_non_exhaustive()
    }
}

/// Creates a collection with its first space; does nothing if it exists. The second answer has a row if it was created.
fn create_statements(palace: i64, name: &CollectionName, options: &OpenOptions) -> [SqlStatement; 5] {
    let declared = options.embedder.as_ref();
    let dimension = declared.map(|embedder| embedder.dimension).or(options.dimension);
    let dimension = dimension.map(|dimension| i32::try_from(dimension).unwrap_or(i32::MAX));
    let text = |text: &String| text.as_bytes().to_vec();
    let key = |statement: &str| {
        SqlStatement::new(statement)
            .with_int(palace)
            .with(name.as_str().to_owned(), Type::TEXT)
    };
    let insert = "INSERT INTO loci.collections(palace, name, metric, space, created_at)
         VALUES ($1, $2, $3, 0, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
         ON CONFLICT (palace, name) DO NOTHING RETURNING collection";
    // A statement of its own: row-level security looks for the collection among those that were there before it.
    let insert_space = "INSERT INTO loci.spaces(collection, dimension, model, revision, state, near)
         SELECT collection, $3, $4, $5, 'active', CASE WHEN $6 AND to_regclass('loci.near') IS NOT NULL THEN 0 END
         FROM loci.collections WHERE palace = $1 AND name = $2 AND space = 0";
    // Numbers come from the server alone: a role of one namespace must not choose them.
    let link = "UPDATE loci.collections c SET space = s.space FROM loci.spaces s
         WHERE c.palace = $1 AND c.name = $2 AND c.space = 0 AND s.collection = c.collection";
    let metric = options.metric.unwrap_or_default();
    [
        SqlStatement::new("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
        key(insert).with(metric.name(), Type::TEXT),
        key(insert_space)
            .with(dimension, Type::INT4)
            .with(declared.map(|embedder| text(&embedder.model)), Type::BYTEA)
            .with(declared.map(|embedder| text(&embedder.revision)), Type::BYTEA)
            .with(codes::are_coded(metric, None), Type::BOOL),
        key(link),
        SqlStatement::new("COMMIT"),
    ]
}

/// Removes a collection with everything it holds, under the lock of its palace.
fn drop_statements(palace: i64, name: &CollectionName, has_codes: bool) -> Vec<SqlStatement> {
    let name = name.as_str().to_owned();
    let own = "(SELECT collection FROM loci.collections WHERE palace = $1 AND name = $2)";
    let mut statements = vec![
        SqlStatement::new("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
        SqlStatement::new("SELECT 1 FROM loci.palaces WHERE palace = $1 FOR NO KEY UPDATE").with_int(palace),
    ];
    let codes = has_codes.then_some("near");
    for table in std::iter::once("vectors").chain(codes) {
        statements.push(
            SqlStatement::new(format!(
                "DELETE FROM loci.{table} WHERE space IN (SELECT space FROM loci.spaces WHERE collection = {own})"
            ))
            .with_int(palace)
            .with(name.clone(), Type::TEXT),
        );
    }
    for table in words::TABLES
        .into_iter()
        .chain(["tombstones", "sources", "receipts", "drawers", "spaces"])
    {
        statements.push(
            SqlStatement::new(format!("DELETE FROM loci.{table} WHERE collection = {own}"))
                .with_int(palace)
                .with(name.clone(), Type::TEXT),
        );
    }
    statements.push(
        SqlStatement::new(
            "DELETE FROM loci.collections WHERE palace = $1 AND name = $2 RETURNING collection",
        )
        .with_int(palace)
        .with(name, Type::TEXT),
    );
    statements.push(SqlStatement::new("COMMIT"));
    statements
}

impl Backend for PostgresBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let palace = self.open_palace(palace, find_palace)?;
        if options.writable {
            self.upgrade(&palace)?;
        }
        self.open_handle(palace, collection, options)
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let palace = self.open_palace(palace, |session, key| {
            make_palace(session, key, self.newest).map(Some)
        })?;
        self.upgrade(&palace)?;
        let made = || create_statements(palace.number, collection, options);
        let (_, answers) = palace.begin(|session| {
            let made = session.ask_all(&made(), ServerDeadline::default());
            made.inspect_err(|_| session.end_transaction())
        })?;
        let made = answers.get(1).is_some_and(|rows| !rows.is_empty());
        if !made && mode == CreateMode::Exclusive {
            return Err(Error::new(
                ErrorKind::Conflict,
                format!("the collection {:?} exists already", collection.as_str()),
            )
            .with_hint("nothing was changed; give another name, or open it"));
        }
        let options = OpenOptions {
            writable: true,
            ..options.clone()
        };
        self.open_handle(palace, collection, &options)
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        let palace = self.open_palace(palace, find_palace)?;
        let none = ServerDeadline::default();
        let (_, answers) = palace.begin(|session| {
            let has_codes = schema::has_table(session, "near")?;
            session.ask_all(&drop_statements(palace.number, collection, has_codes), none)
        })?;
        let dropped = answers.iter().rev().nth(1).is_some_and(|rows| !rows.is_empty());
        if dropped {
            return Ok(());
        }
        Err(missing_collection(collection))
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let palace = self.open_palace(palace, find_palace)?;
        let question = || ServerShelf::select_all(palace.number);
        let (_, rows) = palace.begin(|session| session.ask(question(), ServerDeadline::default()))?;
        Ok(ServerShelf::read_all(&rows)?
            .iter()
            .map(ServerShelf::info)
            .collect())
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        Ok(Some(self.open_palace(palace, find_palace)?.identity))
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let seen = self.check_open().and_then(|()| {
            let Some(palace) = palace else { return Ok(()) };
            let opened = self.open_palace(palace, find_palace)?;
            let ask = |session: &ServerSession| {
                session.ask(SqlStatement::new("SELECT 1"), ServerDeadline::default())
            };
            opened.begin(ask).map(drop)
        });
        BackendHealth {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".to_owned(), |error| error.to_string()),
        }
    }

    fn list_damage(&self, palace: &PalaceRef) -> Vec<PalaceFinding> {
        // The server refuses damaged pages by itself, and what it reports is the error of the call that met it. This is
        // about projections, which a read does without.
        self.find_opened(palace)
            .map_or_else(Vec::new, |palace| palace.list_damage())
    }

    fn close_palace(&self, palace: &PalaceRef) {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(palace) = opened.palaces.remove(palace) {
            palace.closed.store(true, Ordering::SeqCst);
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        let opened = std::mem::take(&mut *self.opened.lock().unwrap_or_else(PoisonError::into_inner));
        for palace in opened.palaces.values() {
            palace.closed.store(true, Ordering::SeqCst);
        }
        opened.pools.values().for_each(|pool| pool.close());
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        Some(self)
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}
