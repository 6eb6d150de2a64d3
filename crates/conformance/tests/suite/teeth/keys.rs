//! Idempotency keys with one flaw.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use loci_core::{ApplyRequest, Collection, Error, ErrorKind, IdempotencyKey, Receipt, Result, Write};

use super::wrong::BackendFlaw;

#[derive(Debug)]
pub(crate) struct WrongKeys {
    inner: Arc<dyn Collection>,
    flaw: BackendFlaw,
    /// The batches applied through this handle.
    applied: Mutex<HashMap<IdempotencyKey, (Vec<Write>, Receipt)>>,
    /// The keys of batches that failed.
    used_up: Mutex<HashSet<IdempotencyKey>>,
}

impl WrongKeys {
    pub(crate) fn new(inner: Arc<dyn Collection>, flaw: BackendFlaw) -> Self {
        Self {
            inner,
            flaw,
            applied: Mutex::default(),
            used_up: Mutex::default(),
        }
    }

    pub(crate) fn apply(&self, request: &ApplyRequest<'_>) -> Result<Receipt> {
        let Some(key) = request.key else {
            return self.inner.apply(request);
        };
        match self.flaw {
            BackendFlaw::ForgetsKeysElsewhere => self.remember_here(request, key),
            BackendFlaw::ComparesRepetitions if !request.expects.is_empty() => {
                self.inner.apply(&ApplyRequest {
                    key: None,
                    ..*request
                })
            }
            BackendFlaw::UsesUpTheKeyOfAFailure => self.use_up(request, key),
            BackendFlaw::TakesAKeyForOtherWrites => match self.inner.apply(request) {
                Err(error) if error.kind() == ErrorKind::Conflict => self.inner.apply(&ApplyRequest {
                    key: None,
                    ..*request
                }),
                done => done,
            },
            _ => self.inner.apply(request),
        }
    }

    fn remember_here(&self, request: &ApplyRequest<'_>, key: &IdempotencyKey) -> Result<Receipt> {
        let mut applied = self.applied.lock().expect("no holder of this lock panics");
        match applied.get(key) {
            Some((writes, receipt)) if writes == request.writes => return Ok(receipt.clone()),
            Some(_) => {
                return Err(Error::new(
                    ErrorKind::Conflict,
                    format!("{} was used", key.as_ref()),
                ));
            }
            None => {}
        }
        let receipt = self.inner.apply(&ApplyRequest {
            key: None,
            ..*request
        })?;
        applied.insert(key.clone(), (request.writes.to_vec(), receipt.clone()));
        Ok(receipt)
    }

    fn use_up(&self, request: &ApplyRequest<'_>, key: &IdempotencyKey) -> Result<Receipt> {
        let mut used_up = self.used_up.lock().expect("no holder of this lock panics");
        if used_up.contains(key) {
            return Err(Error::new(ErrorKind::Conflict, "that key was used"));
        }
        let applied = self.inner.apply(request);
        if applied.is_err() {
            used_up.insert(key.clone());
        }
        applied
    }
}
