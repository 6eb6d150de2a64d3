//! The keys of one palace.

use loci_core::{PalaceId, Result};

use super::Palace;
use crate::keys::{KeyFolder, PalaceKey};

impl Palace {
    /// Returns the id of the palace, if its backend gives it one.
    pub fn palace_id(&self) -> Result<Option<PalaceId>> {
        let address = self.address()?;
        address.backend.palace_id(&address.reference)
    }

    /// Returns the folder of keys, if there is one.
    pub fn key_folder(&self) -> Option<&KeyFolder> {
        self.keys.as_ref()
    }

    /// Returns the key in use, made now if there is none; `None` for a palace that cannot have one.
    pub(crate) fn own_key(&self) -> Result<Option<PalaceKey>> {
        match (&self.keys, self.palace_id()?) {
            (Some(folder), Some(palace)) => folder.find_or_make(palace).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns the keys of the palace on this machine, the one in use first.
    pub(crate) fn find_own_keys(&self) -> Result<Vec<PalaceKey>> {
        match (&self.keys, self.palace_id()?) {
            (Some(folder), Some(palace)) => folder.find_keys(palace),
            _ => Ok(Vec::new()),
        }
    }

    /// Takes over the keys of another palace, whose records were brought here; one that has no key gives none.
    pub fn take_keys_of(&self, other: Option<PalaceId>) -> Result<()> {
        let (Some(folder), Some(palace), Some(other)) = (&self.keys, self.palace_id()?, other) else {
            return Ok(());
        };
        if palace == other {
            return Ok(());
        }
        let keys = folder.find_keys(other)?;
        folder.add_keys(palace, &keys, false).map(drop)
    }

    /// Returns the key with this fingerprint, if it is on this machine.
    pub(crate) fn find_key(&self, fingerprint: &str) -> Result<Option<PalaceKey>> {
        match (&self.keys, self.palace_id()?) {
            (Some(folder), Some(palace)) => folder.find_by_fingerprint(palace, fingerprint),
            _ => Ok(None),
        }
    }
}
