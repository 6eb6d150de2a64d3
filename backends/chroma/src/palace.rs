//! An open Chroma folder: read on first use, and read again whenever its files change.

mod warnings;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use loci_core::{
    CollectionInfo, CollectionName, Cursor, EmbedderIdentity, Error, ErrorKind, FindingSeverity,
    IdentityState, IndexCoverage, PalaceFinding, Result,
};
use loci_foreign::mempalace::{
    MempalaceInstallation, RecordedModels, SIDECAR_COLLECTION, SidecarFiles, SidecarSearch,
    read_recorded_models,
};
use loci_foreign::scan::OpenedPalace;

use crate::catalogue::{self, ChromaSchema, ListedCollection};
use crate::database::ChromaDatabase;
use crate::failure;
use crate::folder::{self, FolderFormat, FolderStamp};
use crate::shelf::RecordShelf;
use crate::users;

/// The minimum number of attempts to read a folder that keeps changing.
const TRIES: usize = 20;
/// The minimum time to keep trying, and the maximum time that a half-saved graph is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// The pause between two looks at a half-saved graph.
const PAUSE: Duration = Duration::from_millis(20);

/// A folder and its content, once it was read.
#[derive(Debug)]
pub struct ChromaPalace {
    pub(crate) opened: OpenedPalace<LoadedFolder>,
}

/// The content of a folder at one moment.
#[derive(Debug)]
pub(crate) struct LoadedFolder {
    stamp: FolderStamp,
    /// The data version of the database when it was opened; another process's commit changes it.
    version: Option<i64>,
    /// The database.
    pub(crate) database: ChromaDatabase,
    /// Its tables.
    pub(crate) schema: ChromaSchema,
    /// The collections it lists.
    pub(crate) listed: Vec<ListedCollection>,
    /// The collections that were read, by name.
    shelves: BTreeMap<CollectionName, RecordShelf>,
    /// MemPalace's files beside the database, read on first use.
    sidecars: OnceCell<SidecarFiles>,
    /// The models that MemPalace recorded.
    recorded: RecordedModels,
    /// The other processes that have the folder open, determined on first use.
    users: OnceCell<Vec<users::FileUser>>,
    folder: PathBuf,
    installation: Arc<MempalaceInstallation>,
}

/// The content behind the name of a collection.
pub(crate) enum CollectionContent<'a> {
    /// A collection of Chroma's.
    Shelf(&'a LoadedFolder, &'a RecordShelf),
    /// The files beside the database.
    Sidecars(&'a SidecarFiles),
}

impl ChromaPalace {
    /// Creates the handle of a folder without reading it.
    pub(crate) fn new(folder: &Path) -> Self {
        Self::with_installation(folder, Arc::default())
    }

    /// Creates the handle of a folder that may belong to this installation of MemPalace.
    pub(crate) fn with_installation(folder: &Path, installation: Arc<MempalaceInstallation>) -> Self {
        Self {
            opened: OpenedPalace::new(folder, installation),
        }
    }

    /// Runs `act` on the current content of the folder.
    ///
    /// If the database turns out to be damaged, everything readable is salvaged page by page, once, and `act` runs
    /// again.
    pub(crate) fn with_loaded<T>(&self, act: impl Fn(&mut LoadedFolder, &Path) -> Result<T>) -> Result<T> {
        let mut slot = self.opened.hold_content()?;
        let began = Instant::now();
        let (mut trouble, mut tries) = (None, 0);
        // Trouble ends the loop after a number of tries; mere changes are also given time, since a busy
        // writer can use up twenty tries in a moment.
        while tries < TRIES || (trouble.is_none() && began.elapsed() < PATIENCE) {
            tries += 1;
            let loaded = self.load_current(&mut slot)?;
            // From here on no process can commit to a database that is read in
            // place. Content that was read before counts only if it is still
            // current, and the answer only if nothing changed until its end.
            let held = match loaded.database.begin_read() {
                Ok(held) => held,
                Err(error) if error.kind() == ErrorKind::Locked => return Err(error),
                Err(error) => {
                    (trouble, *slot) = (Some(error), None);
                    continue;
                }
            };
            // The stamp misses a commit within one tick of the
            // clock, the version misses a file that was replaced.
            let same = self.is_unchanged(loaded) && loaded.database.data_version() == loaded.version;
            let done = same.then(|| self.act_or_salvage(loaded, &act));
            // Asked after `act`, which may have read a graph for the first time.
            let half_saved = loaded.is_half_saved();
            let unchanged = self.is_unchanged(loaded);
            loaded.database.end_read(held);
            match done {
                Some(done) if unchanged && !half_saved => return done,
                _ => self.wait_for_saving(loaded),
            }
            // Whatever was read may mix two states of the folder.
            *slot = None;
        }
        Err(trouble.unwrap_or_else(|| self.opened.changing_error()))
    }

    /// Returns whether no file changed since it was read.
    fn is_unchanged(&self, loaded: &LoadedFolder) -> bool {
        stamp_folder(self.opened.folder()).is_ok_and(|now| loaded.stamp.is_same(&now))
    }

    /// Waits while a graph is half saved and no file changes.
    fn wait_for_saving(&self, loaded: &LoadedFolder) {
        while self.is_unchanged(loaded) && loaded.is_half_saved() {
            thread::sleep(PAUSE);
        }
    }

    fn act_or_salvage<T>(
        &self,
        loaded: &mut LoadedFolder,
        act: &impl Fn(&mut LoadedFolder, &Path) -> Result<T>,
    ) -> Result<T> {
        match act(loaded, self.opened.folder()) {
            Err(error) if error.kind() == ErrorKind::Corrupt && !loaded.database.is_salvaged() => {
                let database = ChromaDatabase::open_salvaged(self.opened.folder(), &error.to_string())?;
                // Everything read so far may come from damaged pages, so nothing of it is kept.
                *loaded = LoadedFolder::reload(self.opened.folder(), database, self.opened.installation())?;
                act(loaded, self.opened.folder())
            }
            done => done,
        }
    }

    fn load_current<'a>(&self, slot: &'a mut Option<LoadedFolder>) -> Result<&'a mut LoadedFolder> {
        check_folder(self.opened.folder())?;
        let now = stamp_folder(self.opened.folder())?;
        if slot.as_ref().is_some_and(|loaded| !loaded.stamp.is_same(&now)) {
            *slot = None;
        }
        match slot {
            Some(loaded) => Ok(loaded),
            None => Ok(slot.insert(LoadedFolder::open(
                self.opened.folder(),
                self.opened.installation(),
            )?)),
        }
    }

    /// Checks every page, and salvages the database if the check finds damage.
    pub(crate) fn examine_pages(&self) -> Result<()> {
        self.with_loaded(|loaded, _| {
            if loaded.database.is_salvaged() {
                return Ok(());
            }
            loaded.check_pages()
        })
    }
}

fn stamp_folder(folder: &Path) -> Result<FolderStamp> {
    let segments =
        folder::segment_folders(folder).map_err(|cause| failure::io_error("read", folder, cause))?;
    Ok(FolderStamp::read(folder, &segments))
}

/// Refuses folders that this backend does not read, with the reason.
pub(crate) fn check_folder(path: &Path) -> Result<()> {
    match folder::detect_format(path) {
        Some(FolderFormat::Sqlite) => Ok(()),
        Some(FolderFormat::DuckDb) => Err(Error::new(
            ErrorKind::Format,
            format!(
                "{} was written by ChromaDB before 0.4, which kept DuckDB and Parquet files; those are not read here",
                path.display()
            ),
        )
        .with_hint("nothing was changed; bring it to 0.4 or newer with Chroma's own migration tool first")),
        None => Err(Error::new(
            ErrorKind::NotFound,
            format!("no Chroma folder exists at {}", path.display()),
        )),
    }
}

impl LoadedFolder {
    fn open(folder: &Path, installation: &Arc<MempalaceInstallation>) -> Result<Self> {
        // The stamp comes first, so that a change during this read shows and leads to another.
        let stamp = stamp_folder(folder)?;
        let database = ChromaDatabase::open(folder)?;
        match Self::read(folder, stamp.clone(), database, installation) {
            Err(error) if error.kind() == ErrorKind::Corrupt => Self::read(
                folder,
                stamp,
                ChromaDatabase::open_salvaged(folder, &error.to_string())?,
                installation,
            ),
            loaded => loaded,
        }
    }

    fn reload(
        folder: &Path,
        database: ChromaDatabase,
        installation: &Arc<MempalaceInstallation>,
    ) -> Result<Self> {
        Self::read(folder, stamp_folder(folder)?, database, installation)
    }

    fn read(
        folder: &Path,
        stamp: FolderStamp,
        database: ChromaDatabase,
        installation: &Arc<MempalaceInstallation>,
    ) -> Result<Self> {
        let version = database.data_version();
        // SQLite answers from the first half of a file that was cut as long as a query needs no more.
        database.check_length(folder)?;
        let schema = ChromaSchema::read(&database.connection)?;
        // A lost schema reads as an empty one; as damage it
        // leads to salvaging, which finds tables without it.
        if !schema.has_table("collections") && !schema.has_table("embeddings") && !database.is_salvaged() {
            return Err(Error::new(
                ErrorKind::Corrupt,
                "the database has none of the tables Chroma makes",
            ));
        }
        let listed = catalogue::list_collections(&database.connection, &schema)?;
        Ok(Self {
            recorded: read_recorded_models(folder),
            installation: Arc::clone(installation),
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

    /// Fails if SQLite finds damaged pages, except in the full text.
    fn check_pages(&self) -> Result<()> {
        self.database.check_length(&self.folder)?;
        // The full text is left out: it can be rebuilt from the
        // rows, and must not cause a salvage that may lose some.
        for table in [
            "collections",
            "segments",
            "embeddings",
            "embedding_metadata",
            "embeddings_queue",
        ] {
            if !self.schema.has_table(table) {
                continue;
            }
            let sql = format!("PRAGMA integrity_check({table})");
            let mut wrong = None;
            catalogue::for_each_row(&self.database.connection, table, &sql, &[], |row| {
                let line = catalogue::read_text(row, 0)?.unwrap_or_default();
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

    /// Returns the content of the collection `name`, and reads it on first use.
    pub(crate) fn lay_out_content(
        &mut self,
        folder: &Path,
        name: &CollectionName,
    ) -> Result<CollectionContent<'_>> {
        if name.as_str() == SIDECAR_COLLECTION && !self.sidecars().is_empty() {
            return Ok(CollectionContent::Sidecars(self.sidecars()));
        }
        if !self.shelves.contains_key(name) {
            let listed = self.listed.iter().find(|listed| listed.name == *name);
            let listed = listed.cloned().ok_or_else(|| missing_collection(name))?;
            let shelf = RecordShelf::read(folder, &self.database, &self.schema, listed)?;
            self.shelves.insert(name.clone(), shelf);
        }
        let shelf = self.shelves.get(name).ok_or_else(|| missing_collection(name))?;
        Ok(CollectionContent::Shelf(self, shelf))
    }

    /// Lists the names of all collections.
    pub(crate) fn collection_names(&self) -> Vec<CollectionName> {
        let beside = (!self.sidecars().is_empty()).then(|| CollectionName::new(SIDECAR_COLLECTION).ok());
        let mut names: Vec<CollectionName> = self.listed.iter().map(|listed| listed.name.clone()).collect();
        names.extend(beside.flatten());
        names.sort_unstable();
        names
    }

    /// Describes a collection.
    pub(crate) fn collection_info(&mut self, folder: &Path, name: &CollectionName) -> Result<CollectionInfo> {
        match self.lay_out_content(folder, name)? {
            CollectionContent::Sidecars(sidecars) => Ok(sidecars.info(name)),
            CollectionContent::Shelf(loaded, shelf) => Ok(loaded.describe_shelf(shelf)),
        }
    }

    fn describe_shelf(&self, shelf: &RecordShelf) -> CollectionInfo {
        let whence = shelf.tally_vectors();
        let identity = self.model_identity(shelf, whence.found_count());
        let drawers = shelf.records.len() as u64;
        let mut warnings = self.warnings();
        if whence.nowhere > 0 {
            let message = format!(
                "{} of {drawers} records of {:?} no longer have a vector",
                whence.nowhere,
                shelf.listed.name.as_str()
            );
            warnings.push(
                // An error to whoever moves them: the vectors existed and are lost.
                PalaceFinding::new(PalaceFinding::LOST_VECTORS, FindingSeverity::Error, message)
                    .with_hint("`loci migrate --embed-missing` re-embeds their texts"),
            );
        }
        CollectionInfo {
            name: shelf.listed.name.clone(),
            metric: shelf.listed.metric,
            dimension: shelf.dimension,
            identity,
            drawers,
            coverage: IndexCoverage {
                nearest: whence.found_count(),
                packed: 0,
                lexical: drawers,
            },
            approximate: false,
            seq: Cursor(shelf.tally.newest.unsigned_abs()),
            warnings,
        }
    }

    /// Returns the model that MemPalace recorded, or that it is unknown.
    pub(crate) fn model_identity(&self, shelf: &RecordShelf, vectors: u64) -> IdentityState {
        let recorded: Option<EmbedderIdentity> =
            self.recorded.model_of(&shelf.listed.own_name, shelf.dimension);
        match (recorded, vectors) {
            (Some(identity), _) => IdentityState::Known(identity),
            // Without a vector there is nothing that an unknown model could have made.
            (None, 0) => IdentityState::Unset,
            (None, _) => IdentityState::Unknown,
        }
    }

    /// Returns whether another process may be in the middle of saving a graph that was read.
    ///
    /// Chroma truncates the pickle and fills it again without a lock. Until it is done, no file changes, and every
    /// vector that was purged from the queue seems lost. A pickle that stays incomplete, or that no process has open,
    /// is damaged.
    fn is_half_saved(&self) -> bool {
        let graphs = self.shelves.values().filter_map(|shelf| shelf.graph.as_ref());
        let mut torn = graphs.filter(|graph| graph.is_cut_short());
        torn.any(|graph| graph.facts.age().is_some_and(|age| age < PATIENCE))
            && users::may_write(&folder::database_path(&self.folder))
    }

    /// Returns whether another process has the folder open.
    pub(crate) fn is_in_use(&self) -> bool {
        !self.users().is_empty()
    }

    fn users(&self) -> &[users::FileUser] {
        self.users
            .get_or_init(|| users::find_users(&folder::database_path(&self.folder)))
    }

    /// Returns MemPalace's files beside the database.
    pub(crate) fn sidecars(&self) -> &SidecarFiles {
        self.sidecars.get_or_init(|| {
            let is_mempalace = |listed: &ListedCollection| listed.own_name.starts_with("mempalace_");
            let search = SidecarSearch {
                folder: &self.folder,
                installation: &self.installation,
                is_mempalace: self.listed.iter().any(is_mempalace),
                is_own: &folder::is_own_entry,
            };
            search.read_sidecars()
        })
    }
}

fn missing_collection(name: &CollectionName) -> Error {
    Error::new(
        ErrorKind::NotFound,
        format!("the collection {:?} does not exist", name.as_str()),
    )
}
