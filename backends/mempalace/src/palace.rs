//! An open `sqlite_exact` palace: read on first use, and read again whenever its files change.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use loci_core::{
    CollectionInfo, CollectionName, Cursor, Drawer, DrawerFields, DrawerId, Error, ErrorKind,
    FindingSeverity, IdentityState, IndexCoverage, Metric, PalaceFinding, Result,
};
use loci_foreign::mempalace::{
    MempalaceInstallation, RecordedModels, SIDECAR_COLLECTION, SidecarFiles, SidecarSearch,
};
use loci_foreign::scan::{
    ForeignPalace, OpenedPalace, ScanMemory, ScannedPalace, ScannedRecords, strip_fields,
};

use crate::database::{self, ExactDatabase, read_text};
use crate::drawer::ExactView;
use crate::shelf::{ExactShelf, ListedExact};

/// The minimum number of attempts to read a file that keeps changing.
const TRIES: usize = 20;
/// The minimum time to keep trying.
const PATIENCE: Duration = Duration::from_secs(10);
/// The beginning of the keys under which MemPalace records the model of a collection.
const MODEL_KEY: &str = "embedder_model:";
/// The code of the finding for damage.
pub(crate) const DAMAGED: &str = "database_damaged";
/// The hint for damage.
pub(crate) const MOVE_HINT: &str =
    "move everything readable to a sound palace with `loci migrate --from PATH --to NEW`";

/// A folder and its content, once it was read.
#[derive(Debug)]
pub struct ExactPalace {
    pub(crate) opened: OpenedPalace<LoadedExact>,
}

/// The content of a palace at one moment.
#[derive(Debug)]
pub(crate) struct LoadedExact {
    /// The database.
    pub(crate) database: ExactDatabase,
    /// The number that a commit of another process changes, once a read began.
    version: Option<i64>,
    /// The collections it lists, by name.
    pub(crate) listed: Vec<ListedExact>,
    /// The damage that the doctor found.
    pub(crate) damage: Option<String>,
    shelves: BTreeMap<CollectionName, ExactShelf>,
    models: RecordedModels,
    sidecars: OnceCell<SidecarFiles>,
    folder: PathBuf,
    installation: Arc<MempalaceInstallation>,
}

impl ExactPalace {
    /// Creates the handle of a folder without reading it.
    pub(crate) fn new(folder: &Path, installation: Arc<MempalaceInstallation>) -> Self {
        Self {
            opened: OpenedPalace::new(folder, installation),
        }
    }

    /// Runs `act` on the current content of the palace, in one read transaction.
    pub(crate) fn with_loaded<T>(&self, act: impl Fn(&mut LoadedExact) -> Result<T>) -> Result<T> {
        let mut slot = self.opened.hold_content()?;
        let (began, mut tries) = (Instant::now(), 0);
        while tries < TRIES || began.elapsed() < PATIENCE {
            tries += 1;
            let loaded = self.load_current(&mut slot)?;
            let version = loaded.database.begin_read()?;
            // What was read before is of the state in which this read began, or it is read again.
            let same = *loaded.version.get_or_insert(version) == version;
            let done = same.then(|| act(loaded));
            // A file that is read in place without a log may have been written to meanwhile.
            let settled = loaded.database.is_isolated() || loaded.database.is_unchanged();
            loaded.database.end_read();
            match done {
                Some(done) if settled => return done,
                _ => *slot = None,
            }
        }
        Err(self.opened.changing_error())
    }

    fn load_current<'a>(&self, slot: &'a mut Option<LoadedExact>) -> Result<&'a mut LoadedExact> {
        let folder = self.opened.folder();
        if !database::database_path(folder).is_file() {
            let message = format!("no sqlite_exact palace exists at {}", folder.display());
            return Err(Error::new(ErrorKind::NotFound, message));
        }
        if slot
            .as_ref()
            .is_some_and(|loaded| !loaded.database.is_unchanged())
        {
            *slot = None;
        }
        match slot {
            Some(loaded) => Ok(loaded),
            None => Ok(slot.insert(LoadedExact::open(folder, self.opened.installation())?)),
        }
    }
}

impl ScannedPalace for ExactPalace {
    fn with_records(
        &self,
        name: &CollectionName,
        act: &dyn Fn(&dyn ScannedRecords) -> Result<()>,
    ) -> Result<()> {
        self.with_loaded(|loaded| {
            if loaded.is_sidecars(name) {
                return act(&SidecarView(loaded.sidecars()));
            }
            let (database, shelf) = loaded.lay_out_shelf(name)?;
            act(&ExactView { database, shelf })
        })
    }

    fn describe_collection(&self, name: &CollectionName) -> Result<CollectionInfo> {
        self.with_loaded(|loaded| loaded.collection_info(name))
    }

    fn refuse_write(&self) -> Error {
        self.opened.refuse_write(Self::NAME)
    }
}

impl LoadedExact {
    fn open(folder: &Path, installation: &Arc<MempalaceInstallation>) -> Result<Self> {
        let database = ExactDatabase::open(folder)?;
        if let Some(table) = database.check_tables()? {
            let message = format!(
                "{} lacks the table {table}",
                database::database_path(folder).display()
            );
            return Err(Error::new(ErrorKind::Corrupt, message).with_hint("nothing was changed"));
        }
        let listed = list_collections(&database)?;
        let models = read_models(&database, &listed)?;
        Ok(Self {
            database,
            version: None,
            listed,
            damage: None,
            shelves: BTreeMap::new(),
            models,
            sidecars: OnceCell::new(),
            folder: folder.to_path_buf(),
            installation: Arc::clone(installation),
        })
    }

    /// Lists the names of all collections.
    pub(crate) fn collection_names(&self) -> Vec<CollectionName> {
        let beside = (!self.sidecars().is_empty()).then(|| CollectionName::new(SIDECAR_COLLECTION).ok());
        let mut names: Vec<CollectionName> = self.listed.iter().map(|listed| listed.name.clone()).collect();
        names.extend(beside.flatten());
        names.sort_unstable();
        names
    }

    fn is_sidecars(&self, name: &CollectionName) -> bool {
        name.as_str() == SIDECAR_COLLECTION && !self.sidecars().is_empty()
    }

    /// Returns the records of a collection, and reads them on first use.
    pub(crate) fn lay_out_shelf(&mut self, name: &CollectionName) -> Result<(&ExactDatabase, &ExactShelf)> {
        if !self.shelves.contains_key(name) {
            let listed = self.listed.iter().find(|listed| listed.name == *name);
            let listed = listed.cloned().ok_or_else(|| missing_collection(name))?;
            let shelf = ExactShelf::read(&self.database, listed)?;
            self.shelves.insert(name.clone(), shelf);
        }
        let shelf = self.shelves.get(name).ok_or_else(|| missing_collection(name))?;
        Ok((&self.database, shelf))
    }

    /// Describes a collection.
    pub(crate) fn collection_info(&mut self, name: &CollectionName) -> Result<CollectionInfo> {
        if self.is_sidecars(name) {
            return Ok(self.sidecars().info(name));
        }
        self.lay_out_shelf(name)?;
        let shelf = self.shelves.get(name).ok_or_else(|| missing_collection(name))?;
        let drawers = shelf.records.len() as u64;
        Ok(CollectionInfo {
            name: name.clone(),
            metric: Metric::Cosine,
            dimension: shelf.listed.dimension,
            identity: self.model_identity(shelf),
            drawers,
            coverage: IndexCoverage {
                nearest: shelf.vectors,
                packed: 0,
                lexical: drawers,
            },
            approximate: false,
            seq: Cursor(shelf.newest),
            warnings: self.list_damage(),
        })
    }

    /// Returns the model that MemPalace recorded, or that it is unknown.
    pub(crate) fn model_identity(&self, shelf: &ExactShelf) -> IdentityState {
        let recorded = self
            .models
            .model_of(shelf.listed.name.as_str(), shelf.listed.dimension);
        match (recorded, shelf.vectors) {
            (Some(identity), _) => IdentityState::Known(identity),
            // Without a vector there is nothing that an unknown model could have made.
            (None, 0) => IdentityState::Unset,
            (None, _) => IdentityState::Unknown,
        }
    }

    /// Returns MemPalace's files around the palace.
    pub(crate) fn sidecars(&self) -> &SidecarFiles {
        self.sidecars.get_or_init(|| {
            let search = SidecarSearch {
                folder: &self.folder,
                installation: &self.installation,
                // No other program writes this kind of palace.
                is_mempalace: true,
                is_own: &database::is_own_entry,
            };
            search.read_sidecars()
        })
    }

    /// Lists the damage that was met so far.
    pub(crate) fn list_damage(&self) -> Vec<PalaceFinding> {
        let losses: u64 = self.shelves.values().map(|shelf| shelf.losses).sum();
        let mut damage = Vec::new();
        if let Some(wrong) = &self.damage {
            let message = format!("the database is damaged ({wrong}); every row that can be read is read");
            damage.push(PalaceFinding::new(DAMAGED, FindingSeverity::Error, message).with_hint(MOVE_HINT));
        }
        if losses > 0 {
            let message = format!(
                "rows were lost at {} of the database; all others are read",
                loci_core::format_count(losses, "damaged place")
            );
            damage
                .push(PalaceFinding::new("pages_lost", FindingSeverity::Error, message).with_hint(MOVE_HINT));
        }
        damage
    }
}

/// MemPalace's files around the palace, as records.
struct SidecarView<'a>(&'a SidecarFiles);

impl ScannedRecords for SidecarView<'_> {
    fn count(&self) -> usize {
        self.0.drawers.len()
    }

    fn in_row_order(&self) -> Box<dyn Iterator<Item = usize> + '_> {
        Box::new(0..self.0.drawers.len())
    }

    fn search_id(&self, id: &DrawerId) -> std::result::Result<usize, usize> {
        self.0.drawers.binary_search_by(|drawer| drawer.id.cmp(id))
    }

    fn read_drawer(&self, at: usize, include: DrawerFields) -> Result<Drawer> {
        let drawer = self.0.drawers.get(at).cloned();
        let drawer = drawer.ok_or_else(|| Error::invalid("the record does not exist"))?;
        Ok(strip_fields(drawer, include))
    }

    fn read_text(&self, at: usize) -> Result<Option<String>> {
        Ok(self.0.drawers.get(at).and_then(|drawer| drawer.document.clone()))
    }

    fn memory(&self) -> Option<&RefCell<ScanMemory>> {
        // A few files, read anew as fast as they are remembered.
        None
    }

    fn read_vector(&self, _at: usize) -> Result<Option<Vec<f32>>> {
        Ok(None)
    }

    fn dimension(&self) -> Option<usize> {
        None
    }

    fn metric(&self) -> Metric {
        Metric::default()
    }
}

fn list_collections(database: &ExactDatabase) -> Result<Vec<ListedExact>> {
    let mut listed = Vec::new();
    // The first releases did not record the dimension.
    let columns = "SELECT count(*) FROM pragma_table_info('collections') WHERE name = 'dimension'";
    let mut has_dimension = false;
    database.for_each_row("the schema", columns, &[], &mut |row| {
        has_dimension = row.get::<_, i64>(0)? > 0;
        Ok(())
    })?;
    let dimension = if has_dimension { "dimension" } else { "NULL" };
    let sql = format!("SELECT id, name, {dimension} FROM collections ORDER BY name");
    database.for_each_row("the collections", &sql, &[], &mut |row| {
        let own_name = read_text(row, 1)?.unwrap_or_default();
        let number = row.get(0)?;
        // MemPalace allows only names that are valid here; a damaged one is told by its number.
        let name = CollectionName::new(own_name.as_str())
            .or_else(|_| CollectionName::new(format!("collection_{number}")));
        listed.extend(name.ok().map(|name| ListedExact {
            number,
            name,
            dimension: None,
        }));
        let dimension = row.get::<_, Option<i64>>(2)?;
        if let Some(last) = listed.last_mut() {
            last.dimension = dimension.and_then(|n| usize::try_from(n).ok()).filter(|n| *n > 0);
        }
        Ok(())
    })?;
    Ok(listed)
}

fn read_models(database: &ExactDatabase, listed: &[ListedExact]) -> Result<RecordedModels> {
    let mut models = RecordedModels::default();
    let sql = "SELECT key, value FROM meta";
    database.for_each_row("the recorded models", sql, &[], &mut |row| {
        let (key, model) = (read_text(row, 0)?.unwrap_or_default(), read_text(row, 1)?);
        if let (Some(name), Some(model)) = (key.strip_prefix(MODEL_KEY), model) {
            let found = listed.iter().find(|listed| listed.name.as_str() == name);
            models.add_model(name, &model, found.and_then(|found| found.dimension));
        }
        Ok(())
    })?;
    Ok(models)
}

fn missing_collection(name: &CollectionName) -> Error {
    let message = format!("the collection {:?} does not exist", name.as_str());
    Error::new(ErrorKind::NotFound, message)
}
