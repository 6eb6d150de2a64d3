//! Storage shared between instances of the reference, and the marker file that ties a palace to a folder.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::io::{Error as IoError, ErrorKind as IoErrorKind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{CollectionName, Error, ErrorKind, MaintenanceKind, PalaceId, PalaceRef, Result};

use super::table::ReferenceTable;

/// The file that says which palace a folder holds.
const MARKER: &str = "palace.reference";

static MARKERS: AtomicU64 = AtomicU64::new(1);

/// The identity of a palace within a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ReferencePlace {
    address: ReferenceAddress,
    namespace: Option<String>,
}

impl ReferencePlace {
    /// Returns an id made of the place.
    pub(super) fn palace_id(&self) -> PalaceId {
        let mut id = [0; 16];
        for (half, salt) in id.chunks_exact_mut(8).zip(0_u8..) {
            let mut hasher = DefaultHasher::new();
            (self, salt).hash(&mut hasher);
            half.copy_from_slice(&hasher.finish().to_le_bytes());
        }
        PalaceId(id)
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum ReferenceAddress {
    /// A palace known by name.
    Name(String),
    /// A palace in a folder, identified by the number in its marker file, so that it survives a move of the folder.
    Marker(u64),
}

/// The collections of one palace and namespace, with one sequence of changes.
#[derive(Debug, Default)]
pub(super) struct PalaceTables {
    pub(super) tables: BTreeMap<CollectionName, ReferenceTable>,
    pub(super) seq: u64,
    pub(super) running: BTreeSet<MaintenanceKind>,
}

/// Everything stored, shared between instances.
#[derive(Debug, Default)]
pub(super) struct ReferenceStorage {
    spaces: Mutex<HashMap<ReferencePlace, PalaceTables>>,
    /// The instance that holds each palace, without `multi_process`.
    holders: Mutex<HashMap<ReferencePlace, u64>>,
}

impl ReferenceStorage {
    /// Returns the key of `palace`, if it exists.
    pub(super) fn find_palace(&self, palace: &PalaceRef, local: bool) -> Result<Option<ReferencePlace>> {
        let address = match (&palace.local_path, local) {
            (Some(folder), true) => match read_marker(folder)? {
                // By the number in the file and not by its path, so that replaced files are another palace.
                Some(marker) => ReferenceAddress::Marker(marker),
                None => return Ok(None),
            },
            _ => ReferenceAddress::Name(palace.id.clone()),
        };
        let key = ReferencePlace {
            address,
            namespace: palace.namespace.clone(),
        };
        Ok(self.with_lock(|spaces| spaces.contains_key(&key)).then_some(key))
    }

    /// Returns the key of `palace`, which is created if it is missing.
    pub(super) fn make_palace(&self, palace: &PalaceRef, local: bool) -> Result<ReferencePlace> {
        // Under the lock: two threads that create the same palace at once must get one palace, not two.
        self.with_lock(|spaces| {
            let address = match (&palace.local_path, local) {
                (Some(folder), true) => ReferenceAddress::Marker(make_marker(folder)?),
                _ => ReferenceAddress::Name(palace.id.clone()),
            };
            let key = ReferencePlace {
                address,
                namespace: palace.namespace.clone(),
            };
            spaces.entry(key.clone()).or_default();
            Ok(key)
        })
    }

    /// Reads or changes one palace; `None` if it does not exist.
    pub(super) fn with_palace<T>(
        &self,
        key: &ReferencePlace,
        act: impl FnOnce(&mut PalaceTables) -> T,
    ) -> Option<T> {
        self.with_lock(|spaces| spaces.get_mut(key).map(act))
    }

    pub(super) fn with_holders<T>(&self, act: impl FnOnce(&mut HashMap<ReferencePlace, u64>) -> T) -> T {
        act(&mut self.holders.lock().expect("no holder of this lock panics"))
    }

    fn with_lock<T>(&self, act: impl FnOnce(&mut HashMap<ReferencePlace, PalaceTables>) -> T) -> T {
        act(&mut self.spaces.lock().expect("no holder of this lock panics"))
    }
}

fn read_marker(folder: &Path) -> Result<Option<u64>> {
    match fs::read_to_string(folder.join(MARKER)) {
        Ok(text) => match text.parse() {
            Ok(marker) => Ok(Some(marker)),
            Err(_) => Err(Error::new(
                ErrorKind::Format,
                format!("{} is not a palace", folder.display()),
            )),
        },
        Err(error) if error.kind() == IoErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error("read", folder, error)),
    }
}

fn make_marker(folder: &Path) -> Result<u64> {
    // A folder that has a marker keeps it; a new number would hide the drawers already there.
    if let Some(marker) = read_marker(folder)? {
        return Ok(marker);
    }
    make_private(folder).map_err(|error| io_error("make", folder, error))?;
    let marker = MARKERS.fetch_add(1, Ordering::Relaxed);
    // Written beside and renamed, so that no other instance reads half a marker.
    let beside = folder.join(format!("{MARKER}.new"));
    fs::write(&beside, marker.to_string())
        .and_then(|()| fs::rename(&beside, folder.join(MARKER)))
        .map_err(|error| io_error("write", folder, error))?;
    Ok(marker)
}

#[cfg(unix)]
fn make_private(folder: &Path) -> std::io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_private(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder)
}

fn io_error(what: &str, folder: &Path, error: IoError) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {what} {}", folder.display())).caused_by(error)
}
