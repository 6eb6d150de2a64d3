//! What instances of the reference share: spaces by palace and namespace, and the marker that ties one to a folder.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs;
use std::io::{Error as IoError, ErrorKind as IoErrorKind};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use loci_core::{CollectionName, Error, ErrorKind, MaintenanceKind, PalaceRef, Result};

use super::table::Table;

/// The file that says which space a folder holds.
const MARKER: &str = "palace.reference";

static MARKERS: AtomicU64 = AtomicU64::new(1);

/// Which palace, through which namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct SpaceKey {
    address: Address,
    namespace: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Address {
    /// A palace known by name.
    Name(String),
    /// A palace in a folder, known by the number in its marker file, wherever the folder is moved to.
    Marker(u64),
}

/// The collections of one palace and namespace, with one sequence of changes.
#[derive(Debug, Default)]
pub(super) struct Space {
    pub(super) tables: BTreeMap<CollectionName, Table>,
    pub(super) seq: u64,
    pub(super) running: BTreeSet<MaintenanceKind>,
}

/// Everything stored, shared between instances.
#[derive(Debug, Default)]
pub(super) struct Storage {
    spaces: Mutex<HashMap<SpaceKey, Space>>,
    /// Which instance holds a palace, where only one may.
    holders: Mutex<HashMap<SpaceKey, u64>>,
}

impl Storage {
    /// The space of `palace`, if it is there.
    pub(super) fn find(&self, palace: &PalaceRef, local: bool) -> Result<Option<SpaceKey>> {
        let address = match (&palace.local_path, local) {
            (Some(folder), true) => match read_marker(folder)? {
                Some(marker) => Address::Marker(marker),
                None => return Ok(None),
            },
            _ => Address::Name(palace.id.clone()),
        };
        let key = SpaceKey {
            address,
            namespace: palace.namespace.clone(),
        };
        Ok(self.locked(|spaces| spaces.contains_key(&key)).then_some(key))
    }

    /// The space of `palace`, made if it is missing.
    pub(super) fn make(&self, palace: &PalaceRef, local: bool) -> Result<SpaceKey> {
        // Under the lock, so that two who make the same palace at once make one.
        self.locked(|spaces| {
            let address = match (&palace.local_path, local) {
                (Some(folder), true) => Address::Marker(make_marker(folder)?),
                _ => Address::Name(palace.id.clone()),
            };
            let key = SpaceKey {
                address,
                namespace: palace.namespace.clone(),
            };
            spaces.entry(key.clone()).or_default();
            Ok(key)
        })
    }

    /// Looks at or changes one space; `None` if it is not there.
    pub(super) fn space<T>(&self, key: &SpaceKey, act: impl FnOnce(&mut Space) -> T) -> Option<T> {
        self.locked(|spaces| spaces.get_mut(key).map(act))
    }

    pub(super) fn holders<T>(&self, act: impl FnOnce(&mut HashMap<SpaceKey, u64>) -> T) -> T {
        act(&mut self.holders.lock().expect("no holder of this lock panics"))
    }

    fn locked<T>(&self, act: impl FnOnce(&mut HashMap<SpaceKey, Space>) -> T) -> T {
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
        Err(error) => Err(cannot("read", folder, error)),
    }
}

fn make_marker(folder: &Path) -> Result<u64> {
    if let Some(marker) = read_marker(folder)? {
        return Ok(marker);
    }
    make_private(folder).map_err(|error| cannot("make", folder, error))?;
    let marker = MARKERS.fetch_add(1, Ordering::Relaxed);
    // Written beside and renamed, so that nobody reads half a marker.
    let beside = folder.join(format!("{MARKER}.new"));
    fs::write(&beside, marker.to_string())
        .and_then(|()| fs::rename(&beside, folder.join(MARKER)))
        .map_err(|error| cannot("write", folder, error))?;
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

fn cannot(what: &str, folder: &Path, error: IoError) -> Error {
    Error::new(ErrorKind::Io, format!("cannot {what} {}", folder.display())).caused_by(error)
}
