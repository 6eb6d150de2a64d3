//! Rotating the key: every secret is encrypted again under a new one.
//!
//! The new key is on disk before the first secret depends on it, and each encrypted secret names its key, so that a
//! rotation may stop anywhere: what is done is done, and the rest opens with the old key, which stays in the key file
//! for the tags, for the list of deletions and for backups.

use std::collections::BTreeSet;

use loci_core::{Capability, Collection, CollectionExt, Error, ErrorKind, OpenOptions, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::cipher::{decrypt, encrypt_under, fingerprint_of};
use super::records::{SECRET_PREFIX, naming_fingerprints, put_naming_key, write_records};
use crate::keys::PalaceKey;
use crate::ledger::visit_under;
use crate::palace::Palace;
use crate::undo::begin_erasure;

/// The outcome of a rotation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RotationReport {
    /// The fingerprint of the key in use from now on.
    pub key: String,
    /// The number of secrets that were encrypted again.
    pub secrets: u64,
    /// The number of secrets that stay under keys that are not on this machine.
    pub left: u64,
    /// Whether the palace was rewritten, so that no byte is left that the old key opens.
    pub purged: bool,
}

impl Palace {
    /// Makes a new key and encrypts every secret of the palace under it.
    pub fn rotate_key(&self, watch: &mut dyn FnMut(u64, u64)) -> Result<RotationReport> {
        self.access().check_upkeep("rotating the key")?;
        let address = self.existing_address()?;
        let (Some(folder), Some(id)) = (self.key_folder(), self.palace_id()?) else {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "this palace cannot have a key: its backend gives it no id, or this user has no folder to keep keys in",
            )
            .with_hint("nothing was changed; name a folder for keys in the variable LOCI_KEYS"));
        };
        let key = PalaceKey::generate()?;
        folder.add_keys(id, std::slice::from_ref(&key), true)?;
        // Nothing may be encrypted under a key that is not on disk.
        if !folder.find_keys(id)?.contains(&key) {
            return Err(Error::new(
                ErrorKind::Conflict,
                "another process has replaced the key file at the same time",
            )
            .with_hint("nothing was changed; run the same command again"));
        }
        let mut report = RotationReport {
            key: key.fingerprint(),
            ..RotationReport::default()
        };
        let can_purge = address.backend.descriptor().has_capability(&Capability::Erasure);
        for info in self.collections()? {
            let palace = self.clone().in_collection(Some(info.name));
            let collection = palace.open_whole(&OpenOptions::for_writing())?;
            if can_purge {
                begin_erasure(collection.as_ref())?;
            }
            palace.encrypt_again(collection.as_ref(), &key, &mut report)?;
            palace.replace_lost_naming_key(collection.as_ref(), &key)?;
        }
        if can_purge {
            let collection = self.open_whole(&OpenOptions::for_writing())?;
            report.purged = collection.require_eraser()?.purge(watch)?.not_reached.is_empty();
        }
        Ok(report)
    }

    /// Lets a new key make the tags of a collection if none that did is on this machine: without one, no secret could
    /// be filed in it any more.
    fn replace_lost_naming_key(&self, collection: &dyn Collection, key: &PalaceKey) -> Result<()> {
        let named = naming_fingerprints(collection)?;
        for fingerprint in &named {
            if self.find_key(fingerprint)?.is_some() {
                return Ok(());
            }
        }
        if named.is_empty() {
            return Ok(());
        }
        put_naming_key(collection, &key.fingerprint())
    }

    fn encrypt_again(
        &self,
        collection: &dyn Collection,
        key: &PalaceKey,
        report: &mut RotationReport,
    ) -> Result<()> {
        visit_under(collection, SECRET_PREFIX, &mut |page| {
            let names: BTreeSet<String> = page.into_iter().map(|record| record.source).collect();
            let (mut left, mut problem, all) = (BTreeSet::new(), None, names.len());
            write_records(collection, names, &mut |name, old| {
                // Chosen from the stamp of the moment: another process may have removed or renewed the secret.
                let old = old?;
                match self.renew_secret(name, old, key) {
                    Ok(Some(sealed)) => return Some(sealed),
                    Ok(None) => drop(left.insert(name.to_owned())),
                    Err(error) => problem = Some(error),
                }
                Some(old.to_owned())
            })?;
            report.left += left.len() as u64;
            report.secrets += (all - left.len()) as u64;
            problem.map_or(Ok(()), Err)
        })
    }

    /// Encrypts a secret under another key; `None` if its own key is not on this machine.
    fn renew_secret(&self, name: &str, sealed: &str, key: &PalaceKey) -> Result<Option<String>> {
        let tag = name.strip_prefix(SECRET_PREFIX).unwrap_or_default();
        let Some(fingerprint) = fingerprint_of(sealed) else {
            return Ok(None);
        };
        let own = self.find_key(fingerprint)?;
        let secret = own.and_then(|own| decrypt(&own, tag, sealed));
        secret.map(|secret| encrypt_under(key, tag, &secret)).transpose()
    }
}
