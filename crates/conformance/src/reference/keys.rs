//! The batches that the reference applied under an idempotency key, with their receipts.

use std::collections::BTreeMap;

use loci_core::{Error, ErrorKind, IdempotencyKey, Receipt, Result, Timestamp, Visibility, Write};

/// The time for which a key is remembered, in microseconds: one day.
const REMEMBERED: i64 = 24 * 60 * 60 * 1_000_000;

/// The keys of one collection. Handles share keys only if their visibility filter is the same, so that a receipt never
/// reveals drawers out of sight.
#[derive(Debug, Clone, Default)]
pub(super) struct AppliedKeys(BTreeMap<(String, IdempotencyKey), AppliedBatch>);

#[derive(Debug, Clone)]
struct AppliedBatch {
    writes: Vec<Write>,
    receipt: Receipt,
    at: Timestamp,
}

impl AppliedKeys {
    /// Returns the receipt of the batch applied under `key`, if there is one; the key with other writes is refused.
    pub(super) fn find_receipt(
        &self,
        visible: &Visibility,
        key: &IdempotencyKey,
        writes: &[Write],
        now: Timestamp,
    ) -> Result<Option<Receipt>> {
        let applied = self.0.get(&(visible.filter().to_string(), key.clone()));
        // An expired key counts as unused, so the batch is applied again.
        match applied.filter(|applied| now.as_micros() - applied.at.as_micros() < REMEMBERED) {
            None => Ok(None),
            Some(applied) if applied.writes == writes => Ok(Some(applied.receipt.clone())),
            Some(_) => Err(Error::new(
                ErrorKind::Conflict,
                format!("the key {:?} was used for another batch", key.as_ref()),
            )
            .with_hint("nothing was written; give another key")),
        }
    }

    /// Forgets every batch.
    pub(super) fn forget_all(&mut self) {
        self.0.clear();
    }

    pub(super) fn remember_batch(
        &mut self,
        visible: &Visibility,
        key: &IdempotencyKey,
        writes: &[Write],
        receipt: &Receipt,
        now: Timestamp,
    ) {
        let applied = AppliedBatch {
            writes: writes.to_vec(),
            receipt: receipt.clone(),
            at: now,
        };
        self.0
            .insert((visible.filter().to_string(), key.clone()), applied);
    }
}
