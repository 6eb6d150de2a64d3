//! The backend: finding palaces by their URLs, and creating, opening and dropping their collections.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use loci_core::{
    Backend, BackendDescriptor, BackendHealth, Capability, Collection, CollectionInfo, CollectionName,
    CreateMode, Doctor, Error, ErrorKind, Metric, OpenOptions, PalaceFinding, PalaceId, PalaceRef, Result,
    SPEC_VERSION, SnapshotStore, Visibility,
};
use serde_json::{Map, Value as Json, json};

use crate::address::{ChromaUrl, encode_percent};
use crate::client::ChromaClient;
use crate::collection::{ChromaCollection, check_filter};
use crate::deadline::ChromaDeadline;
use crate::failure::{closed_error, missing_collection, missing_palace};
use crate::names::{server_name, shown_name};
use crate::read;
use crate::shelf::{ChromaShelf, drop_both};
use crate::side::DIMENSION;
use crate::wire::CollectionAnswer;

/// The environment variable with the token.
const TOKEN: &str = "CHROMA_TOKEN";

/// The metadata key of the name of a collection whose own the server refuses.
const NAME: &str = "loci:name";

/// The most vectors that a search compares one by one instead of asking the server's index (decision 035).
const SCAN_LIMIT: u64 = 1000;

/// Palaces in Chroma servers; see the crate's documentation.
pub struct ChromaServerBackend {
    descriptor: BackendDescriptor,
    token: Option<String>,
    scan_limit: u64,
    closed: Arc<AtomicBool>,
    opened: Mutex<OpenedTenants>,
}

/// The palaces and connections that are in use.
#[derive(Debug, Default)]
struct OpenedTenants {
    clients: HashMap<ChromaUrl, Arc<ChromaClient>>,
    /// The flag that closes the handles on each palace.
    flags: HashMap<PalaceRef, Arc<AtomicBool>>,
}

/// A palace on a server: a database of a tenant.
#[derive(Debug)]
struct TenantDatabase {
    client: Arc<ChromaClient>,
    tenant: String,
    database: String,
}

impl TenantDatabase {
    fn path(&self) -> String {
        let (tenant, database) = (encode_percent(&self.tenant), encode_percent(&self.database));
        format!("/tenants/{tenant}/databases/{database}")
    }

    fn exists(&self) -> Result<bool> {
        match self.client.get::<Json>(&self.path(), ChromaDeadline::default()) {
            Ok(_) => Ok(true),
            Err(refusal) if refusal.is_missing() => Ok(false),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Makes the tenant and the database where they are missing.
    fn make(&self) -> Result<()> {
        if self.exists()? {
            return Ok(());
        }
        let tenant = encode_percent(&self.tenant);
        let steps = [
            ("/tenants".to_owned(), &self.tenant),
            (format!("/tenants/{tenant}/databases"), &self.database),
        ];
        for (path, name) in steps {
            match self.client.post_once(&path, &json!({"name": name})) {
                Ok(_) => {}
                // Another process, or another palace of this tenant, has made it.
                Err(refusal) if refusal.error.kind() == ErrorKind::Conflict => {}
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Ok(())
    }
}

impl ChromaServerBackend {
    /// The name of this backend.
    pub const NAME: &'static str = "chroma-server";

    /// The schemes of the URLs that address its palaces.
    pub const SCHEMES: [&'static str; 2] = ChromaUrl::SCHEMES;

    /// Creates a backend with the token of the environment variable `CHROMA_TOKEN`, if it is set; does no I/O.
    pub fn new() -> Self {
        let token = std::env::var(TOKEN).ok();
        Self::with_token(
            token
                .map(|token| token.trim().to_owned())
                .filter(|token| !token.is_empty()),
        )
    }

    /// Creates a backend with a token, or without any; does no I/O.
    pub fn with_token(token: Option<String>) -> Self {
        Self {
            descriptor: BackendDescriptor {
                name: Self::NAME.to_owned(),
                spec_version: SPEC_VERSION,
                capabilities: [
                    Capability::EmbeddingsPassthrough,
                    Capability::EmbeddingsOut,
                    // Within one process, as everything here: another may write between the comparison and the write.
                    Capability::ConditionalBatch,
                    Capability::RangeFilters,
                    Capability::Lexical,
                    Capability::NamespaceIsolation,
                    Capability::Export,
                    Capability::Server,
                    Capability::ApproximateQuery,
                ]
                .into_iter()
                .collect(),
                metrics: Metric::ALL.to_vec(),
                maintenance: Vec::new(),
            },
            token,
            scan_limit: SCAN_LIMIT,
            closed: Arc::default(),
            opened: Mutex::default(),
        }
    }

    /// Compares at most this many vectors one by one, and asks the server's index beyond that.
    #[must_use]
    pub fn scanning_at_most(mut self, vectors: u64) -> Self {
        self.scan_limit = vectors;
        self
    }

    /// Returns the reference of the palace at a URL.
    pub fn adopt_url(&self, url: &str) -> Result<PalaceRef> {
        Ok(PalaceRef::from_id(ChromaUrl::parse(url)?.to_string()))
    }

    fn lock_opened(&self) -> MutexGuard<'_, OpenedTenants> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_open(&self) -> Result<()> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(closed_error("the backend \"chroma-server\""));
        }
        Ok(())
    }

    /// Returns the database that a reference means: the namespace is the tenant.
    fn find_database(&self, palace: &PalaceRef) -> Result<TenantDatabase> {
        self.check_open()?;
        let url = ChromaUrl::parse(&palace.id)?;
        let tenant = server_name(palace.namespace.as_deref().unwrap_or(&url.tenant));
        let database = server_name(&url.database);
        let mut opened = self.lock_opened();
        let client = match opened.clients.get(&url) {
            Some(client) => Arc::clone(client),
            None => {
                let client = Arc::new(ChromaClient::new(url.clone(), self.token.clone())?);
                opened.clients.insert(url, Arc::clone(&client));
                client
            }
        };
        Ok(TenantDatabase {
            client,
            tenant,
            database,
        })
    }

    fn require_database(&self, palace: &PalaceRef) -> Result<TenantDatabase> {
        let found = self.find_database(palace)?;
        if found.exists()? {
            return Ok(found);
        }
        Err(missing_palace(palace))
    }

    fn open_handle(
        &self,
        database: &TenantDatabase,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        let shelf = ChromaShelf::find(Arc::clone(&database.client), database.path(), collection)?;
        let flag = Arc::clone(self.lock_opened().flags.entry(palace.clone()).or_default());
        let closed = [Arc::clone(&self.closed), flag];
        let handle = ChromaCollection::open(shelf, options, self.scan_limit, closed)?;
        Ok(Arc::new(handle))
    }
}

impl Default for ChromaServerBackend {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for ChromaServerBackend {
    // The token is never shown.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChromaServerBackend")
            .field("closed", &self.closed)
            .finish_non_exhaustive()
    }
}

fn collection_metadata(name: &CollectionName, options: &OpenOptions) -> Map<String, Json> {
    let metric = options.metric.unwrap_or_default();
    let mut metadata = Map::new();
    metadata.insert("hnsw:space".to_owned(), Json::from(metric.name()));
    if server_name(name.as_str()) != name.as_str() {
        metadata.insert(NAME.to_owned(), Json::from(name.as_str()));
    }
    if let Some(dimension) = options.dimension {
        metadata.insert(DIMENSION.to_owned(), Json::from(dimension));
    }
    metadata
}

impl Backend for ChromaServerBackend {
    fn descriptor(&self) -> &BackendDescriptor {
        &self.descriptor
    }

    fn open(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.check_open()?;
        check_filter(&self.descriptor, options)?;
        let database = self.require_database(palace)?;
        self.open_handle(&database, palace, collection, options)
    }

    fn create(
        &self,
        palace: &PalaceRef,
        collection: &CollectionName,
        mode: CreateMode,
        options: &OpenOptions,
    ) -> Result<Arc<dyn Collection>> {
        self.check_open()?;
        check_filter(&self.descriptor, options)?;
        let database = self.find_database(palace)?;
        database.make()?;
        let question = json!({
            "name": server_name(collection.as_str()),
            "get_or_create": false,
            "metadata": collection_metadata(collection, options),
        });
        let path = format!("{}/collections", database.path());
        match database.client.post_once(&path, &question) {
            Ok(_) => {}
            Err(refusal) if refusal.error.kind() == ErrorKind::Conflict => {
                if mode == CreateMode::Exclusive {
                    return Err(exists_error(collection));
                }
            }
            Err(refusal) => return Err(refusal.into()),
        }
        let options = OpenOptions {
            writable: true,
            ..options.clone()
        };
        self.open_handle(&database, palace, collection, &options)
    }

    fn drop_collection(&self, palace: &PalaceRef, collection: &CollectionName) -> Result<()> {
        let database = self.require_database(palace)?;
        let name = server_name(collection.as_str());
        drop_both(&database.client, &database.path(), &name).map_err(|refusal| {
            if refusal.is_missing() {
                missing_collection(collection)
            } else {
                refusal.error
            }
        })
    }

    fn collections(&self, palace: &PalaceRef) -> Result<Vec<CollectionInfo>> {
        let database = self.require_database(palace)?;
        let path = format!("{}/collections", database.path());
        let found: Vec<CollectionAnswer> = database.client.get(&path, ChromaDeadline::default())?;
        let mut names: Vec<CollectionName> = found
            .iter()
            .filter_map(|found| shown_name(&found.name, found.text(NAME)))
            .collect();
        names.sort_unstable();
        let mut infos = Vec::new();
        for name in names {
            let described = ChromaShelf::find(Arc::clone(&database.client), database.path(), &name)
                .and_then(|shelf| read::describe_collection(&shelf, &Visibility::default()));
            match described {
                Ok(info) => infos.push(info),
                // Dropped since it was listed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(infos)
    }

    fn palace_id(&self, palace: &PalaceRef) -> Result<Option<PalaceId>> {
        // A database has an id, but the default database of every server has the same.
        self.require_database(palace).map(|_| None)
    }

    fn health(&self, palace: Option<&PalaceRef>) -> BackendHealth {
        let seen = self.check_open().and_then(|()| match palace {
            Some(palace) => self.require_database(palace).map(drop),
            None => Ok(()),
        });
        BackendHealth {
            ok: seen.is_ok(),
            detail: seen
                .err()
                .map_or_else(|| "ready".to_owned(), |error| error.to_string()),
        }
    }

    fn list_damage(&self, _palace: &PalaceRef) -> Vec<PalaceFinding> {
        // The server's files are its own; a damaged record is reported with the drawer.
        Vec::new()
    }

    fn close_palace(&self, palace: &PalaceRef) {
        if let Some(flag) = self.lock_opened().flags.remove(palace) {
            flag.store(true, Ordering::SeqCst);
        }
    }

    fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        *self.lock_opened() = OpenedTenants::default();
    }

    fn doctor(&self) -> Option<&dyn Doctor> {
        None
    }

    fn snapshots(&self) -> Option<&dyn SnapshotStore> {
        None
    }
}

fn exists_error(collection: &CollectionName) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!("the collection {:?} exists already", collection.as_str()),
    )
    .with_hint("nothing was changed; give another name, or open it")
}
