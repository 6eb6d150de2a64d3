//! The keys of one palace.

use loci_core::{Error, ErrorKind, OpenOptions, PalaceId, Result};

use super::Palace;
use crate::keys::{KeyFolder, PalaceKey};
use crate::seal::naming_fingerprints;

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

    /// Returns the key in use, made now if there is none; `None` for a palace that cannot have one. While the palace holds
    /// secrets whose key is elsewhere, none is made: what it seals could not be opened there.
    pub fn own_key(&self) -> Result<Option<PalaceKey>> {
        let (Some(folder), Some(palace)) = (&self.keys, self.palace_id()?) else {
            return Ok(None);
        };
        if folder.find_keys(palace)?.is_empty()
            && let Some(elsewhere) = self.list_naming_keys()?.first()
        {
            return Err(Error::new(
                ErrorKind::Unavailable,
                format!("the key of this palace ({elsewhere}) is not on this machine"),
            )
            .with_hint("bring it with `loci key import FILE`, or, if it is lost, make a new one with `loci key rotate`"));
        }
        folder.find_or_make(palace).map(Some)
    }

    /// Returns the fingerprints of the keys that made the tags in all collections.
    fn list_naming_keys(&self) -> Result<Vec<String>> {
        let mut named = Vec::new();
        for info in self.collections()? {
            let one = self.clone().in_collection(Some(info.name));
            named.extend(naming_fingerprints(
                one.open_whole(&OpenOptions::default())?.as_ref(),
            )?);
        }
        Ok(named)
    }

    /// Returns the keys of the palace on this machine, the one in use first.
    pub(crate) fn find_own_keys(&self) -> Result<Vec<PalaceKey>> {
        match (&self.keys, self.palace_id()?) {
            (Some(folder), Some(palace)) => folder.find_keys(palace),
            _ => Ok(Vec::new()),
        }
    }

    /// Adds keys that were exported elsewhere; returns how many were not here yet. They come before the palace's own if
    /// they made what is sealed in it and its own did not: else what is filed here could not be opened there.
    pub fn import_keys(&self, keys: &[PalaceKey]) -> Result<usize> {
        let (Some(folder), Some(palace)) = (&self.keys, self.palace_id()?) else {
            return Ok(0);
        };
        let named = self.list_naming_keys()?;
        let made_it = |key: &PalaceKey| named.contains(&key.fingerprint());
        let own = folder.find_keys(palace)?;
        let first = keys.iter().any(made_it) && !own.iter().any(made_it);
        folder.add_keys(palace, keys, first)
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

    /// Takes over keys of other palaces on this machine that imported records need.
    pub(crate) fn take_named_keys(&self, fingerprints: &[String]) -> Result<()> {
        let (Some(folder), Some(palace)) = (&self.keys, self.palace_id()?) else {
            return Ok(());
        };
        for fingerprint in fingerprints {
            if let Some(key) = folder.find_by_fingerprint(palace, fingerprint)? {
                folder.add_keys(palace, &[key], false)?;
            }
        }
        Ok(())
    }

    /// Returns the key with this fingerprint, if it is on this machine.
    pub(crate) fn find_key(&self, fingerprint: &str) -> Result<Option<PalaceKey>> {
        match (&self.keys, self.palace_id()?) {
            (Some(folder), Some(palace)) => folder.find_by_fingerprint(palace, fingerprint),
            _ => Ok(None),
        }
    }
}
