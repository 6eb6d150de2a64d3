//! The keys of an issuer in memory, and when they are read or fetched again.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use loci_core::{Error, ErrorKind, Result};

use super::SharedKeys;
use super::algorithm::TokenAlgorithm;
use super::fetch::KeyAddress;
use super::jwks::{IssuerKeys, LONGEST_KEY_SET, VerifyKey};
use crate::private_file::{FileSnapshot, OthersMay};

/// The age at which fetched keys are fetched again.
const REFRESHED_AFTER: Duration = Duration::from_secs(10 * 60);

/// The age until which keys are used while their server cannot be reached.
const KEPT_FOR: Duration = Duration::from_secs(24 * 60 * 60);

/// The shortest time between two fetches: tokens with made-up keys must not make us ask more often.
const FETCH_PAUSE: Duration = Duration::from_secs(60);

/// The same while there are no keys at all.
const FIRST_FETCH_PAUSE: Duration = Duration::from_secs(5);

/// The place of an issuer's keys.
#[derive(Debug)]
pub(super) enum KeySource {
    /// A file, read again when it changes.
    File(PathBuf),
    /// An address.
    Url(KeyAddress),
}

/// The keys of one issuer.
#[derive(Debug)]
pub(super) struct KeyCache {
    source: KeySource,
    state: Mutex<CacheState>,
    /// Held by the one thread that fetches. The others go on with the keys that there are.
    fetching: Mutex<()>,
}

#[derive(Debug, Default)]
struct CacheState {
    keys: Option<SharedKeys>,
    /// The moment at which the keys were fetched.
    fetched: Option<Instant>,
    /// The moment of the last attempt.
    tried: Option<Instant>,
    /// The file that they were read from.
    snapshot: Option<FileSnapshot>,
}

impl KeyCache {
    pub(super) fn new(source: KeySource) -> Self {
        Self {
            source,
            state: Mutex::default(),
            fetching: Mutex::default(),
        }
    }

    /// Reads or fetches the keys now.
    pub(super) fn load(&self, now: Instant) -> Result<()> {
        match &self.source {
            KeySource::File(path) => self.read_file(path).map(|_| ()),
            KeySource::Url(address) => self.fetch(address, now).map(|_| ()),
        }
    }

    /// Returns the key that a token names. Fails if there are no keys at all.
    pub(super) fn find_key(
        &self,
        id: Option<&str>,
        algorithm: TokenAlgorithm,
        now: Instant,
    ) -> Result<Option<Arc<VerifyKey>>> {
        let address = match &self.source {
            KeySource::File(path) => return Ok(self.read_file(path)?.find(id, algorithm)),
            KeySource::Url(address) => address,
        };
        if self.is_due(REFRESHED_AFTER, now) {
            // Old keys go on while their server cannot be reached.
            let _ = self.fetch(address, now);
        }
        if let Some(key) = self.fresh_keys(now).and_then(|keys| keys.find(id, algorithm)) {
            return Ok(Some(key));
        }
        // A key that the issuer has begun to use since the last fetch.
        let fetched = if self.is_due(Duration::ZERO, now) {
            self.fetch(address, now)
        } else {
            Ok(())
        };
        match self.fresh_keys(now) {
            Some(keys) => Ok(keys.find(id, algorithm)),
            None => Err(fetched.err().unwrap_or_else(|| no_keys(address))),
        }
    }

    /// Returns the keys unless they are too old to be trusted.
    fn fresh_keys(&self, now: Instant) -> Option<SharedKeys> {
        let state = self.lock();
        let age = now.saturating_duration_since(state.fetched?);
        state.keys.clone().filter(|_| age < KEPT_FOR)
    }

    /// Reports whether keys of this age are to be fetched, and the last attempt was long enough ago.
    fn is_due(&self, age: Duration, now: Instant) -> bool {
        let state = self.lock();
        let since = |then: Option<Instant>| then.map(|then| now.saturating_duration_since(then));
        let pause = if state.keys.is_some() {
            FETCH_PAUSE
        } else {
            FIRST_FETCH_PAUSE
        };
        since(state.fetched).is_none_or(|passed| passed >= age)
            && since(state.tried).is_none_or(|passed| passed >= pause)
    }

    fn fetch(&self, address: &KeyAddress, now: Instant) -> Result<()> {
        // A slow server must hold up one request, not all of them.
        let Ok(_fetching) = self.fetching.try_lock() else {
            return Ok(());
        };
        self.lock().tried = Some(now);
        let keys = parse_keys(&address.to_string(), &address.fetch()?)?;
        let mut state = self.lock();
        state.keys = Some(keys);
        state.fetched = Some(now);
        Ok(())
    }

    fn read_file(&self, path: &Path) -> Result<SharedKeys> {
        let mut state = self.lock();
        if let (Some(keys), Some(snapshot)) = (&state.keys, &state.snapshot)
            && snapshot.is_current(path)?
        {
            return Ok(keys.clone());
        }
        state.keys = None;
        let snapshot = FileSnapshot::read(path, OthersMay::Read, LONGEST_KEY_SET)?;
        let snapshot = snapshot.ok_or_else(|| {
            Error::new(
                ErrorKind::NotFound,
                format!("the key set {} does not exist", path.display()),
            )
            .with_hint("save the issuer's public keys there")
        })?;
        let keys = parse_keys(&path.display().to_string(), &snapshot.bytes)?;
        state.keys = Some(keys.clone());
        state.snapshot = Some(snapshot);
        Ok(keys)
    }

    fn lock(&self) -> MutexGuard<'_, CacheState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn parse_keys(place: &str, bytes: &[u8]) -> Result<SharedKeys> {
    let keys = IssuerKeys::parse(bytes).map_err(|what| {
        Error::new(ErrorKind::Format, format!("the key set {place} {what}"))
            .with_hint("its keys are not used; save or publish the public keys of the issuer")
    })?;
    Ok(Arc::new(keys))
}

fn no_keys(address: &KeyAddress) -> Error {
    let message = format!("the keys of the token's issuer are not there: {address} could not be fetched");
    Error::new(ErrorKind::Unavailable, message).with_hint("try again; its tokens are refused until then")
}
