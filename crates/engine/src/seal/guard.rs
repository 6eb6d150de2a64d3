//! The guard at the doors: finds secrets in words that are about to be filed, and does with them what the policy says.

use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap};
use std::sync::LazyLock;

use loci_core::{Collection, Error, ErrorKind, FilingDoor, OpenOptions, Result};
use loci_secrets::{SecretScanner, SecretSpan};
use schemars::JsonSchema;
use serde::Serialize;

use super::DrawerSeals;
use super::cipher::{SealingKeys, decrypt, fingerprint_of};
use super::known::KnownSecrets;
use super::policy::SecretPolicy;
use super::records::{find_secrets, naming_fingerprints, put_naming_key, put_seals};
use super::span::{SealedSpan, describe_kinds, format_label};
use super::text::{SealMark, SealedText};
use crate::keys::PalaceKey;
use crate::palace::Palace;

static SCANNER: LazyLock<SecretScanner> = LazyLock::new(SecretScanner::new);

/// Returns whether the scanner finds a secret in a text.
pub(super) fn holds_secret(text: &str) -> bool {
    !SCANNER.scan(text).is_empty()
}

/// What became of secrets that were found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SecretDisposal {
    /// They were sealed.
    #[default]
    Sealed,
    /// They were filed as they are.
    InTheClear,
}

/// The secrets that were found in words.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SecretTally {
    /// What became of them.
    pub disposal: SecretDisposal,
    /// Their number by kind.
    pub kinds: BTreeMap<String, u64>,
}

impl SecretTally {
    /// Returns whether there was none.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// Returns their number.
    pub fn total(&self) -> u64 {
        self.kinds.values().sum()
    }

    /// Returns one sentence on them; `None` if there was none.
    pub fn describe(&self) -> Option<String> {
        let found = describe_kinds(&self.kinds);
        match self.disposal {
            _ if self.is_empty() => None,
            SecretDisposal::Sealed => Some(format!("sealed {found}; `loci unseal ID` shows them")),
            SecretDisposal::InTheClear => Some(format!(
                "filed {found} in the clear; `loci seal` seals what is filed, `loci seal --policy seal` what will be"
            )),
        }
    }

    /// Adds the secrets of another tally.
    pub(crate) fn add(&mut self, other: &Self) {
        self.disposal = other.disposal;
        for (kind, number) in &other.kinds {
            *self.kinds.entry(kind.clone()).or_default() += number;
        }
    }

    pub(super) fn count(&mut self, kind: &str) {
        *self.kinds.entry(kind.to_owned()).or_default() += 1;
    }
}

/// Guards the words of one operation.
#[derive(Debug)]
pub(crate) struct SecretGuard<'p> {
    palace: &'p Palace,
    /// Nothing may be written, so that a missing key is replaced by one for this operation alone.
    rehearses: bool,
    /// The policy for this operation, if it is not that of the palace.
    insists: Option<SecretPolicy>,
    policy: OnceCell<SecretPolicy>,
    keys: OnceCell<SealingKeys>,
    is_named: Cell<bool>,
}

impl<'p> SecretGuard<'p> {
    /// Creates a guard for words that are filed in a palace.
    pub(crate) fn new(palace: &'p Palace) -> Self {
        Self {
            palace,
            rehearses: false,
            insists: None,
            policy: OnceCell::new(),
            keys: OnceCell::new(),
            is_named: Cell::new(false),
        }
    }

    /// Makes nothing but the outcome: no key, no palace.
    #[must_use]
    pub(crate) fn rehearsing(mut self, rehearses: bool) -> Self {
        self.rehearses = rehearses;
        self
    }

    /// Follows another policy than that of the palace.
    #[must_use]
    pub(crate) fn insisting_on(mut self, policy: SecretPolicy) -> Self {
        self.insists = Some(policy);
        self
    }

    /// Returns the secrets of a text: what the scanner finds, unless the palace has no place for keys.
    pub(super) fn scan(&self, text: &str) -> Vec<SecretSpan> {
        // A program that gives the palace no folder of keys has decided to keep words as they are. People and agents
        // have not, if they merely have no home folder.
        if self.palace.key_folder().is_none() && self.palace.door() == FilingDoor::Library {
            return Vec::new();
        }
        SCANNER.scan(text)
    }

    /// Seals the secrets of a text; `None` if the text stays as it is.
    pub(crate) fn guard_text(&self, text: &str, tally: &mut SecretTally) -> Result<Option<SealedText>> {
        let found = self.scan(text);
        if found.is_empty() {
            return Ok(None);
        }
        let policy = self.policy()?;
        match policy {
            SecretPolicy::Keep => return Ok(None),
            SecretPolicy::Refuse => return Err(refuse_secret(text, &found)),
            SecretPolicy::Warn => tally.disposal = SecretDisposal::InTheClear,
            SecretPolicy::Seal => tally.disposal = SecretDisposal::Sealed,
        }
        for secret in &found {
            tally.count(secret.kind.name());
        }
        match policy {
            SecretPolicy::Seal => seal_text(self.keys()?, text, &found).map(Some),
            _ => Ok(None),
        }
    }

    /// Returns a question with labels in place of secrets, so that it finds the drawers that hold the same secret, and
    /// no model sees it; `None` if it holds none, or if no key can name them.
    pub(crate) fn guard_question(palace: &'p Palace, question: &str) -> Result<Option<String>> {
        let guard = Self::new(palace).rehearsing(true);
        let found = guard.scan(question);
        if found.is_empty() {
            return Ok(None);
        }
        let (Ok(keys), Some(collection)) = (guard.keys(), guard.existing()?) else {
            return Ok(None);
        };
        let sealed = seal_text(keys, question, &found)?;
        let tags: Vec<String> = sealed.spans().into_iter().map(|span| span.tag).collect();
        // A secret that is filed in the clear is found by its own words.
        let is_sealed = !find_secrets(collection.as_ref(), tags.iter())?.is_empty();
        Ok(is_sealed.then_some(sealed.text))
    }

    /// Seals the secrets of a text that may repeat those of others, or a part of them.
    pub(crate) fn guard_repeated<'t>(
        &self,
        text: &str,
        others: impl Iterator<Item = &'t SealedText>,
    ) -> Result<Option<SealedText>> {
        let mut known = KnownSecrets::default();
        for (secret, kind) in others.flat_map(SealedText::secrets) {
            known.add(secret, kind);
        }
        let found = known.find_in(text, &self.scan(text));
        if found.is_empty() || self.policy()? != SecretPolicy::Seal {
            return Ok(None);
        }
        seal_text(self.keys()?, text, &found).map(Some)
    }

    /// Writes the records of drawers that are about to be filed.
    pub(crate) fn store_seals(&self, drawers: &[DrawerSeals<'_>]) -> Result<()> {
        if drawers.iter().all(|drawer| drawer.spans.is_empty()) {
            return Ok(());
        }
        let whole = self.palace.open_whole(&OpenOptions::for_writing())?;
        // Spans that an import brings may be sealed under keys that this machine lacks.
        if let Some(keys) = self.keys.get().filter(|_| !self.is_named.get()) {
            put_naming_key(whole.as_ref(), &keys.naming.fingerprint())?;
            self.is_named.set(true);
        }
        put_seals(whole.as_ref(), drawers, &|tag, sealed| self.opens(tag, sealed))
    }

    /// Returns whether a secret can be decrypted on this machine.
    fn opens(&self, tag: &str, sealed: &str) -> bool {
        self.open_secret(tag, sealed).is_some()
    }

    fn open_secret(&self, tag: &str, sealed: &str) -> Option<String> {
        let key = self.palace.find_key(fingerprint_of(sealed)?).ok()??;
        decrypt(&key, tag, sealed)
    }

    /// Keeps those of a foreign line's labels that bring their own secret, and drops those that would show another one
    /// that is stored here.
    pub(crate) fn keep_own_spans(&self, spans: &mut Vec<SealedSpan>) -> Result<()> {
        spans.retain(SealedSpan::is_plausible);
        if spans.is_empty() {
            return Ok(());
        }
        let stored = match self.existing()? {
            Some(collection) => find_secrets(collection.as_ref(), spans.iter().map(|span| &span.tag))?,
            None => HashMap::new(),
        };
        spans.retain(|span| match (&span.sealed, stored.get(&span.tag)) {
            (None, _) => false,
            (Some(_), None) => true,
            (Some(brought), Some(stored)) => {
                let same = || self.open_secret(&span.tag, brought) == self.open_secret(&span.tag, stored);
                brought == stored || (self.opens(&span.tag, brought) && same())
            }
        });
        Ok(())
    }

    /// Returns the policy.
    pub(crate) fn policy(&self) -> Result<SecretPolicy> {
        if let Some(known) = self.insists.or_else(|| self.policy.get().copied()) {
            return Ok(known);
        }
        let own = match self.existing()? {
            Some(collection) => SecretPolicy::load(collection.as_ref())?,
            None => None,
        };
        let loaded = match own {
            Some(own) => own,
            None => self.policy_of_others()?.unwrap_or_default(),
        };
        Ok(*self.policy.get_or_init(|| loaded))
    }

    /// Returns the policy of another collection of the palace: a new one follows it.
    fn policy_of_others(&self) -> Result<Option<SecretPolicy>> {
        let others = match self.palace.collections() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            others => others?,
        };
        for info in others {
            let other = self.palace.clone().in_collection(Some(info.name));
            let policy = SecretPolicy::load(other.open_whole(&OpenOptions::default())?.as_ref())?;
            if policy.is_some() {
                return Ok(policy);
            }
        }
        Ok(None)
    }

    /// Returns the collection without restrictions, if it exists.
    fn existing(&self) -> Result<Option<std::sync::Arc<dyn Collection>>> {
        match self.palace.open_whole(&OpenOptions::default()) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            opened => opened.map(Some),
        }
    }

    /// Returns the keys, made now if the palace has none.
    pub(super) fn keys(&self) -> Result<&SealingKeys> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let loaded = self.load_keys()?;
        Ok(self.keys.get_or_init(|| loaded))
    }

    fn load_keys(&self) -> Result<SealingKeys> {
        let named = match self.existing()? {
            Some(collection) => naming_fingerprints(collection.as_ref())?,
            None => Vec::new(),
        };
        let Some(first) = named.first() else {
            let own = self.own_key()?;
            return Ok(SealingKeys {
                naming: own.clone(),
                current: own,
            });
        };
        let own = self.palace.find_own_keys()?;
        // Of several keys that an import has brought together, the palace's own goes on.
        let mut naming = own.iter().find(|key| named.contains(&key.fingerprint())).cloned();
        for fingerprint in &named {
            naming = match naming {
                None => self.palace.find_key(fingerprint)?,
                found => found,
            };
        }
        let naming = naming.ok_or_else(|| missing_key_error(first))?;
        let current = own.into_iter().next().unwrap_or_else(|| naming.clone());
        Ok(SealingKeys { naming, current })
    }

    fn own_key(&self) -> Result<PalaceKey> {
        if self.palace.key_folder().is_none() {
            return Err(Error::new(
                ErrorKind::Unsupported,
                "the text holds a secret, and this user has no home folder to keep its key in",
            )
            .with_hint("nothing was filed; name a folder for keys in the variable LOCI_KEYS"));
        }
        if self.rehearses {
            let own = match self.existing()? {
                Some(_) => self.palace.find_own_keys()?.into_iter().next(),
                None => None,
            };
            return own.map_or_else(PalaceKey::generate, Ok);
        }
        if self.existing()?.is_none() {
            // The key is named by the palace's id, so that the palace must exist.
            drop(self.palace.open_filing(None)?);
        }
        self.palace.own_key()?.ok_or_else(|| {
            Error::new(
                ErrorKind::Unsupported,
                "the text holds a secret, and palaces of this backend have no id by which to name a key",
            )
            .with_hint("nothing was filed; leave the secret out")
        })
    }
}

/// Replaces secrets by labels.
pub(super) fn seal_text(keys: &SealingKeys, text: &str, found: &[SecretSpan]) -> Result<SealedText> {
    let mut sealed = SealedText {
        text: String::with_capacity(text.len()),
        plain: text.to_owned(),
        marks: Vec::with_capacity(found.len()),
    };
    let (mut done, mut lines) = (0, 0);
    for secret in found {
        let words = text.get(secret.start..secret.end).unwrap_or_default();
        let (kind, tag) = (secret.kind.name(), keys.make_tag(words));
        sealed
            .text
            .push_str(text.get(done..secret.start).unwrap_or_default());
        let start = sealed.text.len();
        lines += words.bytes().filter(|byte| *byte == b'\n').count() as u64;
        sealed.text.push_str(&format_label(kind, &tag));
        sealed.marks.push(SealMark {
            label: start..sealed.text.len(),
            plain: secret.start..secret.end,
            lines,
            sealed: keys.encrypt(&tag, words)?,
            kind: secret.kind,
            tag,
        });
        done = secret.end;
    }
    sealed.text.push_str(text.get(done..).unwrap_or_default());
    Ok(sealed)
}

fn refuse_secret(text: &str, found: &[SecretSpan]) -> Error {
    let mut kinds = BTreeMap::new();
    for secret in found {
        *kinds.entry(secret.kind.name().to_owned()).or_default() += 1;
    }
    let first = found.first().map_or(0, |secret| secret.start);
    let line = 1 + text.get(..first).unwrap_or_default().matches('\n').count();
    Error::invalid(format!(
        "the text holds {}, the first in line {line}, and this palace refuses secrets",
        describe_kinds(&kinds)
    ))
    .with_hint(
        "nothing was filed; leave the secrets out, or change the policy with `loci seal --policy seal`",
    )
}

fn missing_key_error(fingerprint: &str) -> Error {
    Error::new(
        ErrorKind::Unavailable,
        format!(
            "the text holds a secret, and the key that seals the secrets of this palace ({fingerprint}) is not on this machine"
        ),
    )
    .with_hint(
        "nothing was filed; bring the key with `loci key import FILE`, or, if it is lost, make a new one with `loci key rotate`",
    )
}
