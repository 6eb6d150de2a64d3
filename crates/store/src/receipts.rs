//! Receipts of batches that were applied under an idempotency key, kept for a day in the same file as the drawers.

use std::borrow::Cow;

use loci_core::fingerprint::{erased_batch, feed_batch, key_conflict};
use loci_core::{IdempotencyKey, Receipt, Result, Timestamp, Visibility, Write};
use rusqlite::{OptionalExtension, Transaction, params};

use crate::failure::{corrupt_error, sqlite_error};

/// The table of receipts. Numbers grow, so the oldest entry has the lowest.
pub(crate) const TABLE: &str = "CREATE TABLE receipts (
    entry INTEGER PRIMARY KEY,
    collection INTEGER NOT NULL REFERENCES collections(collection),
    scope BLOB NOT NULL,
    key TEXT NOT NULL,
    batch BLOB NOT NULL,
    at INTEGER NOT NULL,
    receipt TEXT NOT NULL,
    UNIQUE (collection, scope, key)
) STRICT";

/// The same, always empty, for a file of an earlier format that may not be changed.
pub(crate) const VIEW: &str = "CREATE TEMP VIEW IF NOT EXISTS receipts AS
    SELECT 0 AS entry, 0 AS collection, x'' AS scope, '' AS key, x'' AS batch, 0 AS at, '' AS receipt WHERE 0";

/// The time for which a key is remembered, in microseconds.
const KEPT_FOR: i64 = 24 * 60 * 60 * 1_000_000;

/// The most expired entries that one write removes, so that no writer pays for a long backlog.
const PRUNED_AT_ONCE: i64 = 64;

/// A batch that is applied under an idempotency key.
#[derive(Debug)]
pub(crate) struct KeyedBatch<'a> {
    key: Cow<'a, IdempotencyKey>,
    /// Separates callers who see different drawers: none may learn from a key what another has written.
    scope: Vec<u8>,
    batch: [u8; 32],
}

impl<'a> KeyedBatch<'a> {
    pub(crate) fn new(key: &'a IdempotencyKey, visibility: &Visibility, writes: &[Write]) -> Self {
        let scope = if visibility.is_restricted() {
            blake3::hash(visibility.filter().to_string().as_bytes())
                .as_bytes()
                .to_vec()
        } else {
            Vec::new()
        };
        Self {
            key: Cow::Borrowed(key),
            scope,
            batch: batch_hash(writes),
        }
    }

    /// Returns the same with a key of its own.
    pub(crate) fn into_owned(self) -> KeyedBatch<'static> {
        KeyedBatch {
            key: Cow::Owned(self.key.into_owned()),
            scope: self.scope,
            batch: self.batch,
        }
    }

    /// Returns the receipt of the same batch if it was applied under this key within the last day. Another batch under
    /// the key is `Conflict`.
    pub(crate) fn find_receipt(
        &self,
        transaction: &Transaction<'_>,
        collection: i64,
        now: Timestamp,
    ) -> Result<Option<Receipt>> {
        let found: Option<(i64, Vec<u8>, i64, String)> = transaction
            .prepare_cached(
                "SELECT entry, batch, at, receipt FROM receipts WHERE collection = ?1 AND scope = ?2 AND key = ?3",
            )
            .and_then(|mut statement| {
                statement
                    .query_row(params![collection, self.scope, self.key.as_str()], |row| {
                        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
                    })
                    .optional()
            })
            .map_err(sqlite_error)?;
        let Some((entry, batch, at, receipt)) = found else {
            return Ok(None);
        };
        if at < now.as_micros() - KEPT_FOR {
            transaction
                // Removed now, since the batch is about to store a new entry under the same unique key.
                .execute("DELETE FROM receipts WHERE entry = ?1", [entry])
                .map_err(sqlite_error)?;
            return Ok(None);
        }
        // An erasure has removed the hash: whether this is the same batch cannot be told, and it must not bring back
        // what was erased.
        if batch.is_empty() {
            return Err(erased_batch(&self.key));
        }
        // A reused key is a mistake of the caller: the old receipt would claim that this batch was applied.
        if batch != self.batch {
            return Err(key_conflict(&self.key));
        }
        serde_json::from_str(&receipt).map(Some).map_err(|cause| {
            corrupt_error("a receipt kept for an idempotency key is damaged").caused_by(cause)
        })
    }

    /// Stores the receipt, and removes some that have expired.
    pub(crate) fn store_receipt(
        &self,
        transaction: &Transaction<'_>,
        collection: i64,
        now: Timestamp,
        receipt: &Receipt,
    ) -> Result<()> {
        let text = serde_json::to_string(receipt).expect("ids and numbers are always JSON");
        transaction
            .prepare_cached(
                "INSERT INTO receipts(collection, scope, key, batch, at, receipt) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )
            .and_then(|mut statement| {
                statement.execute(params![
                    collection,
                    self.scope,
                    self.key.as_str(),
                    self.batch,
                    now.as_micros(),
                    text
                ])
            })
            .map_err(sqlite_error)?;
        crate::crash::point("receipt-kept");
        prune_expired(transaction, now)
    }
}

/// Removes the oldest entries that have expired.
fn prune_expired(transaction: &Transaction<'_>, now: Timestamp) -> Result<()> {
    transaction
        .prepare_cached(
            "DELETE FROM receipts WHERE entry IN (SELECT entry FROM receipts ORDER BY entry LIMIT ?1) AND at < ?2",
        )
        .and_then(|mut statement| statement.execute([PRUNED_AT_ONCE, now.as_micros() - KEPT_FOR]))
        .map(drop)
        .map_err(sqlite_error)
}

/// Removes the hashes of batches whose drawers no longer are as those filed them: they are made of texts.
pub(crate) fn forget_batches(transaction: &Transaction<'_>) -> Result<()> {
    let remembered: Vec<(i64, i64, String)> = transaction
        .prepare("SELECT entry, collection, receipt FROM receipts WHERE batch <> x''")
        .and_then(|mut statement| {
            let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.collect()
        })
        .map_err(sqlite_error)?;
    for (entry, collection, receipt) in remembered {
        let stands = match serde_json::from_str::<Receipt>(&receipt) {
            Ok(receipt) => stands_as_filed(transaction, collection, &receipt)?,
            Err(_) => false,
        };
        if !stands {
            transaction
                .execute("UPDATE receipts SET batch = x'' WHERE entry = ?1", [entry])
                .map_err(sqlite_error)?;
        }
    }
    Ok(())
}

/// Returns whether every drawer that a batch has written is as it left it.
fn stands_as_filed(transaction: &Transaction<'_>, collection: i64, receipt: &Receipt) -> Result<bool> {
    let mut statement = transaction
        .prepare_cached("SELECT 1 FROM drawers WHERE collection = ?1 AND id = ?2 AND seq <= ?3")
        .map_err(sqlite_error)?;
    let seq = i64::try_from(receipt.seq).unwrap_or(i64::MAX);
    for id in receipt
        .added
        .iter()
        .chain(&receipt.replaced)
        .chain(&receipt.updated)
    {
        if !statement
            .exists(params![collection, id.as_str(), seq])
            .map_err(sqlite_error)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns a hash that two batches share exactly if they ask for the same writes in the same order.
fn batch_hash(writes: &[Write]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    feed_batch(writes, &mut |bytes| {
        hasher.update(bytes);
    });
    *hasher.finalize().as_bytes()
}
