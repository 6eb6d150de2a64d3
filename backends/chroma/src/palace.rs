//! A Chroma folder that is open: read when first asked, and read anew whenever its files change.

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{
    CollectionInfo, CollectionName, Coverage, Cursor, EmbedderIdentity, Error, ErrorKind, Finding,
    IdentityState, Metric, Result, Severity,
};

use crate::catalogue::{self, Listed, Schema};
use crate::database::{Database, Reading};
use crate::failure;
use crate::folder::{self, Format, Stamp};
use crate::identity::{self, Recorded};
use crate::shelf::Shelf;
use crate::sidecars::{self, Sidecars};
use crate::users;

/// How often, at least, something is read anew because the folder changed meanwhile.
const TRIES: usize = 20;
/// For how long, at least, and for how long a graph that stands half saved is left to whoever may be saving it.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long until such a graph is looked at again.
const PAUSE: Duration = Duration::from_millis(20);

/// A folder and what was read of it.
#[derive(Debug)]
pub(crate) struct Palace {
    /// Where it is.
    pub(crate) folder: PathBuf,
    loaded: Mutex<Option<Loaded>>,
    closed: AtomicBool,
}

/// What was read of a folder at one moment.
#[derive(Debug)]
pub(crate) struct Loaded {
    stamp: Stamp,
    /// What the database said it was when it was opened; another one after somebody committed.
    version: Option<i64>,
    /// The database.
    pub(crate) database: Database,
    /// Its tables.
    pub(crate) schema: Schema,
    /// The collections it lists.
    pub(crate) listed: Vec<Listed>,
    /// Those that were laid out, by name.
    shelves: BTreeMap<CollectionName, Shelf>,
    /// What MemPalace keeps beside the database, read when first asked for.
    sidecars: OnceCell<Sidecars>,
    /// What MemPalace recorded of models.
    recorded: Recorded,
    /// Who else has the folder open, looked for when first asked.
    users: OnceCell<Vec<users::User>>,
    folder: PathBuf,
}

/// What a name stands for.
pub(crate) enum Content<'a> {
    /// A collection of Chroma's.
    Shelf(&'a Loaded, &'a Shelf),
    /// The files beside the database.
    Sidecars(&'a Sidecars),
}

impl Palace {
    /// A folder nobody has looked at yet.
    pub(crate) fn new(folder: &Path) -> Self {
        Self {
            folder: folder.to_path_buf(),
            loaded: Mutex::new(None),
            closed: AtomicBool::new(false),
        }
    }

    /// Lets go of everything; later calls are `Closed`.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::SeqCst);
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Loaded>> {
        // What was read is only ever replaced whole, so a panic elsewhere leaves nothing half done.
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does something with what the folder holds now.
    ///
    /// Where the database turns out to be damaged, everything that can be saved of it is read page by page, once,
    /// and `act` is asked again.
    pub(crate) fn with<T>(&self, act: impl Fn(&mut Loaded, &Path) -> Result<T>) -> Result<T> {
        if self.closed.load(Ordering::SeqCst) {
            return Err(Error::new(ErrorKind::Closed, "this palace was closed").hint("open it again"));
        }
        let mut slot = self.lock();
        let began = Instant::now();
        let (mut trouble, mut tries) = (None, 0);
        while tries < TRIES || (trouble.is_none() && began.elapsed() < PATIENCE) {
            tries += 1;
            let loaded = self.fresh(&mut slot)?;
            // From here on nobody commits to a database that is read where it lies. What was read before counts only if
            // it is still the same, and what is done now only if nothing changed to its end.
            let held = match loaded.database.hold() {
                Ok(held) => held,
                Err(error) if error.kind() == ErrorKind::Locked => return Err(error),
                Err(error) => {
                    (trouble, *slot) = (Some(error), None);
                    continue;
                }
            };
            let same = self.is_still(loaded) && loaded.database.version() == loaded.version;
            let done = same.then(|| self.act(loaded, &act));
            let half_saved = loaded.is_half_saved();
            let unchanged = self.is_still(loaded);
            loaded.database.release(held);
            match done {
                Some(done) if unchanged && !half_saved => return done,
                _ => self.outlast_saving(loaded),
            }
            *slot = None;
        }
        let message = format!("{} changes faster than it can be read", self.folder.display());
        let changing = Error::new(ErrorKind::Locked, message);
        Err(trouble
            .unwrap_or_else(|| changing.hint("nothing was changed; try again when nobody writes to it")))
    }

    /// Whether no file changed since it was read.
    fn is_still(&self, loaded: &Loaded) -> bool {
        stamp(&self.folder).is_ok_and(|now| loaded.stamp.is(&now))
    }

    /// Waits as long as a graph stands half saved and nothing happens.
    fn outlast_saving(&self, loaded: &Loaded) {
        while self.is_still(loaded) && loaded.is_half_saved() {
            thread::sleep(PAUSE);
        }
    }

    fn act<T>(&self, loaded: &mut Loaded, act: &impl Fn(&mut Loaded, &Path) -> Result<T>) -> Result<T> {
        match act(loaded, &self.folder) {
            Err(error) if error.kind() == ErrorKind::Corrupt && !loaded.database.is_salvaged() => {
                let database = Database::salvage(&self.folder, &error.to_string())?;
                *loaded = Loaded::of(&self.folder, database)?;
                act(loaded, &self.folder)
            }
            done => done,
        }
    }

    fn fresh<'a>(&self, slot: &'a mut Option<Loaded>) -> Result<&'a mut Loaded> {
        check_folder(&self.folder)?;
        let now = stamp(&self.folder)?;
        if slot.as_ref().is_some_and(|loaded| !loaded.stamp.is(&now)) {
            *slot = None;
        }
        match slot {
            Some(loaded) => Ok(loaded),
            None => Ok(slot.insert(Loaded::open(&self.folder)?)),
        }
    }

    /// Reads the database page by page if a check of every page finds damage, and says what was found.
    pub(crate) fn examine_pages(&self) -> Result<()> {
        self.with(|loaded, _| match loaded.database.is_salvaged() {
            true => Ok(()),
            false => loaded.check_pages(),
        })
    }
}

fn stamp(folder: &Path) -> Result<Stamp> {
    let segments = folder::segment_folders(folder).map_err(|cause| failure::io("read", folder, cause))?;
    Ok(Stamp::of(folder, &segments))
}

/// Refuses folders that hold nothing this backend reads, each by what it is.
pub(crate) fn check_folder(path: &Path) -> Result<()> {
    match folder::format(path) {
        Some(Format::Sqlite) => Ok(()),
        Some(Format::DuckDb) => Err(Error::new(
            ErrorKind::Format,
            format!(
                "{} was written by ChromaDB before 0.4, which kept DuckDB and Parquet files; those are not read here",
                path.display()
            ),
        )
        .hint("nothing was changed; bring it to 0.4 or newer with Chroma's own migration tool first")),
        None => Err(Error::new(
            ErrorKind::NotFound,
            format!("there is no Chroma folder at {}", path.display()),
        )),
    }
}

impl Loaded {
    fn open(folder: &Path) -> Result<Self> {
        // The stamp comes first: what changes while this reads is read again.
        let stamp = stamp(folder)?;
        let database = Database::open(folder)?;
        match Self::read(folder, stamp.clone(), database) {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                Self::read(folder, stamp, Database::salvage(folder, &error.to_string())?)
            }
            loaded => loaded,
        }
    }

    fn of(folder: &Path, database: Database) -> Result<Self> {
        Self::read(folder, stamp(folder)?, database)
    }

    fn read(folder: &Path, stamp: Stamp, database: Database) -> Result<Self> {
        let version = database.version();
        let schema = Schema::read(&database.connection)?;
        if !schema.has("collections") && !schema.has("embeddings") && !database.is_salvaged() {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "the database has none of the tables Chroma makes",
            ));
        }
        let listed = catalogue::collections(&database.connection, &schema)?;
        Ok(Self {
            recorded: identity::read(folder),
            sidecars: OnceCell::new(),
            users: OnceCell::new(),
            folder: folder.to_path_buf(),
            version,
            stamp,
            database,
            schema,
            listed,
            shelves: BTreeMap::new(),
        })
    }

    /// Refuses to go on with pages SQLite finds wrong; those of the full text do not count.
    fn check_pages(&self) -> Result<()> {
        self.database.check_length(&self.folder)?;
        for table in [
            "collections",
            "segments",
            "embeddings",
            "embedding_metadata",
            "embeddings_queue",
        ] {
            if !self.schema.has(table) {
                continue;
            }
            let sql = format!("PRAGMA integrity_check({table})");
            let mut wrong = None;
            catalogue::rows(&self.database.connection, table, &sql, &[], |row| {
                let line = catalogue::text(row, 0)?.unwrap_or_default();
                wrong = wrong.take().or((line != "ok").then_some(line));
                Ok(())
            })?;
            if let Some(line) = wrong {
                return Err(Error::new(
                    ErrorKind::Corrupt,
                    format!("the table {table}: {line}"),
                ));
            }
        }
        Ok(())
    }

    /// What `name` stands for, laid out.
    pub(crate) fn content(&mut self, folder: &Path, name: &CollectionName) -> Result<Content<'_>> {
        if name.as_str() == sidecars::NAME && !self.sidecars().is_empty() {
            return Ok(Content::Sidecars(self.sidecars()));
        }
        if !self.shelves.contains_key(name) {
            let listed = self.listed.iter().find(|listed| listed.name == *name);
            let listed = listed.cloned().ok_or_else(|| missing(name))?;
            let shelf = Shelf::read(folder, &self.database, &self.schema, listed)?;
            self.shelves.insert(name.clone(), shelf);
        }
        let shelf = self.shelves.get(name).ok_or_else(|| missing(name))?;
        Ok(Content::Shelf(self, shelf))
    }

    /// The names of everything that can be opened.
    pub(crate) fn names(&self) -> Vec<CollectionName> {
        let beside = (!self.sidecars().is_empty()).then(|| CollectionName::new(sidecars::NAME).ok());
        let mut names: Vec<CollectionName> = self.listed.iter().map(|listed| listed.name.clone()).collect();
        names.extend(beside.flatten());
        names.sort_unstable();
        names
    }

    /// What a collection says of itself.
    pub(crate) fn info(&mut self, folder: &Path, name: &CollectionName) -> Result<CollectionInfo> {
        match self.content(folder, name)? {
            Content::Sidecars(sidecars) => Ok(sidecars.info(name)),
            Content::Shelf(loaded, shelf) => Ok(loaded.describe(shelf)),
        }
    }

    fn describe(&self, shelf: &Shelf) -> CollectionInfo {
        let whence = shelf.vectors();
        let identity = self.identity(shelf, whence.found());
        let drawers = shelf.records.len() as u64;
        let mut warnings = self.warnings();
        if whence.nowhere > 0 {
            let message = format!(
                "{} of {drawers} records of {:?} have no vector any more",
                whence.nowhere,
                shelf.listed.name.as_str()
            );
            warnings.push(
                Finding::new("rows_without_vector", Severity::Warning, message).hint("see `loci doctor`"),
            );
        }
        CollectionInfo {
            name: shelf.listed.name.clone(),
            metric: shelf.listed.metric,
            dimension: shelf.dimension,
            identity,
            drawers,
            coverage: Coverage {
                nearest: whence.found(),
                packed: 0,
                lexical: drawers,
            },
            seq: Cursor(shelf.tally.newest.unsigned_abs()),
            warnings,
        }
    }

    /// What is known of the model: what MemPalace recorded, or that nobody did.
    pub(crate) fn identity(&self, shelf: &Shelf, vectors: u64) -> IdentityState {
        let recorded: Option<EmbedderIdentity> = self.recorded.of(&shelf.listed.own_name, shelf.dimension);
        match (recorded, vectors) {
            (Some(identity), _) => IdentityState::Known(identity),
            (None, 0) => IdentityState::Unset,
            (None, _) => IdentityState::Unknown,
        }
    }

    /// Whether somebody may be in the middle of saving a graph that was read.
    ///
    /// Chroma empties the pickle and fills it again under no lock. Until it has, no file changes, and every vector that
    /// was purged from the queue seems lost. One that stays so, or that nobody has open, is damaged.
    fn is_half_saved(&self) -> bool {
        let graphs = self.shelves.values().filter_map(|shelf| shelf.graph.as_ref());
        let mut torn = graphs.filter(|graph| graph.is_cut_short());
        torn.any(|graph| graph.facts.age().is_some_and(|age| age < PATIENCE))
            && users::may_write(&folder::database(&self.folder))
    }

    /// Whether another process has the folder open.
    pub(crate) fn is_in_use(&self) -> bool {
        !self.users().is_empty()
    }

    fn users(&self) -> &[users::User] {
        self.users
            .get_or_init(|| users::of(&folder::database(&self.folder)))
    }

    /// What MemPalace keeps beside the database.
    pub(crate) fn sidecars(&self) -> &Sidecars {
        self.sidecars.get_or_init(|| sidecars::read(&self.folder))
    }

    /// What a reader of any collection should know.
    pub(crate) fn warnings(&self) -> Vec<Finding> {
        let mut warnings: Vec<Finding> = self.users().iter().map(users::User::finding).collect();
        match &self.database.reading {
            Reading::InPlace => {}
            Reading::Copied { beside, .. } => warnings.push(unfinished(beside)),
            Reading::Salvaged { salvage, why } => {
                let message = format!(
                    "the database is damaged ({why}); what could be saved of it is read, and {} things were lost",
                    salvage.losses.len()
                );
                let hint =
                    "`loci doctor` lists what was lost; `loci migrate` moves the rest to a sound palace";
                warnings.push(Finding::new("database_damaged", Severity::Error, message).hint(hint));
            }
        }
        warnings
    }
}

/// What lies beside the database and was settled in a private copy.
fn unfinished(beside: &str) -> Finding {
    match beside {
        "-wal" => Finding::new(
            "wal_pending",
            Severity::Note,
            "writes that lie in the log beside the database are read with it; the folder stays as it is",
        ),
        _ => Finding::new(
            "hot_journal",
            Severity::Warning,
            "a process died while it wrote; the database is read as it was before that write",
        ),
    }
}

fn missing(name: &CollectionName) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the collection {:?} does not exist", name.as_str()),
    )
}

/// Refuses to open a collection as something it is not.
pub(crate) fn check_options(info: &CollectionInfo, how: &loci_core::OpenOptions) -> Result<()> {
    info.identity.check_open(how.embedder.as_ref())?;
    let asked = how
        .dimension
        .or(how.embedder.as_ref().map(|embedder| embedder.dimension));
    if let (Some(asked), Some(stored)) = (asked, info.dimension)
        && asked != stored
    {
        let message = format!(
            "the vectors of {:?} have {stored} values, not {asked}",
            info.name.as_str()
        );
        return Err(Error::new(ErrorKind::DimensionMismatch, message));
    }
    match how.metric {
        Some(metric) if metric != info.metric => Err(other_metric(info, metric)),
        _ => Ok(()),
    }
}

fn other_metric(info: &CollectionInfo, asked: Metric) -> Error {
    Error::invalid(format!(
        "{:?} compares by {}, not by {}",
        info.name.as_str(),
        info.metric.name(),
        asked.name()
    ))
}
