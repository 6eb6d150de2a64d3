//! Receipts of batches that were applied under an idempotency key, kept for a day beside the drawers.

use loci_core::fingerprint::{erased_batch, feed_batch, key_conflict};
use loci_core::{IdempotencyKey, Receipt, Result, Timestamp, Visibility, Write};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::failure::corrupt_error;
use crate::statement::SqlStatement;

/// The time for which a key is remembered, in microseconds.
const KEPT_FOR: i64 = 24 * 60 * 60 * 1_000_000;

/// The most expired entries that one write removes, so that no writer pays for a long backlog.
const PRUNED_AT_ONCE: i64 = 64;

/// A batch that is applied under an idempotency key.
pub(crate) struct ServerKeyedBatch<'a> {
    key: &'a IdempotencyKey,
    /// Separates callers who see different drawers: none may learn from a key what another has written.
    scope: Vec<u8>,
    batch: Vec<u8>,
}

impl<'a> ServerKeyedBatch<'a> {
    pub(crate) fn new(key: &'a IdempotencyKey, visibility: &Visibility, writes: &[Write]) -> Self {
        let scope = if visibility.is_restricted() {
            let filter = visibility.filter().to_string();
            blake3::hash(filter.as_bytes()).as_bytes().to_vec()
        } else {
            Vec::new()
        };
        let mut hasher = blake3::Hasher::new();
        feed_batch(writes, &mut |bytes| {
            hasher.update(bytes);
        });
        Self {
            key,
            scope,
            batch: hasher.finalize().as_bytes().to_vec(),
        }
    }

    fn bind(&self, statement: &str, collection: i64) -> SqlStatement {
        SqlStatement::new(statement)
            .with_int(collection)
            .with_bytes(self.scope.clone())
            .with_bytes(self.key.as_str().as_bytes().to_vec())
    }

    /// Returns the question for the receipt of this key.
    pub(crate) fn question(&self, collection: i64) -> SqlStatement {
        let question =
            "SELECT batch, at, receipt FROM loci.receipts WHERE collection = $1 AND scope = $2 AND key = $3";
        self.bind(question, collection)
    }

    /// Returns the receipt of the same batch if it was applied under this key within the last day. Another batch under
    /// the key is `Conflict`.
    pub(crate) fn read_receipt(&self, rows: &[Row], now: Timestamp) -> Result<Option<Receipt>> {
        let Some(row) = rows.first() else {
            return Ok(None);
        };
        let (batch, at, receipt): (&[u8], i64, &str) = (row.get(0), row.get(1), row.get(2));
        if at < now.as_micros() - KEPT_FOR {
            return Ok(None);
        }
        if batch.is_empty() {
            return Err(erased_batch(self.key));
        }
        // A reused key is a mistake of the caller: the old receipt would claim that this batch was applied.
        if batch != self.batch {
            return Err(key_conflict(self.key));
        }
        serde_json::from_str(receipt).map(Some).map_err(|cause| {
            corrupt_error("a receipt kept for an idempotency key is damaged").caused_by(cause)
        })
    }

    /// Returns the statements that store a receipt, and remove some that have expired.
    pub(crate) fn store_receipt(
        &self,
        collection: i64,
        now: Timestamp,
        receipt: &Receipt,
    ) -> [SqlStatement; 2] {
        let text = serde_json::to_string(receipt).expect("ids and numbers are always JSON");
        let stored = self
            .bind(
                "INSERT INTO loci.receipts(collection, scope, key, batch, at, receipt) VALUES ($1, $2, $3, $4, $5, $6)
                 ON CONFLICT (collection, scope, key) DO UPDATE
                 SET batch = excluded.batch, at = excluded.at, receipt = excluded.receipt",
                collection,
            )
            .with_bytes(self.batch.clone())
            .with_int(now.as_micros())
            .with(text, Type::TEXT);
        // Only of this collection: its palace is locked, others are not.
        let pruned = SqlStatement::new(
            "DELETE FROM loci.receipts r USING (SELECT ctid FROM loci.receipts
                WHERE at < $2 AND collection = $1 ORDER BY at LIMIT $3) old WHERE r.ctid = old.ctid",
        )
        .with_int(collection)
        .with_int(now.as_micros() - KEPT_FOR)
        .with_int(PRUNED_AT_ONCE);
        [stored, pruned]
    }
}

/// Returns the statement that removes the hashes of batches of a palace whose drawers are not as those left them: they
/// are made of texts.
pub(crate) fn forget_batches(palace: i64) -> SqlStatement {
    SqlStatement::new(
        "UPDATE loci.receipts r SET batch = ''::bytea FROM loci.collections c
         WHERE c.collection = r.collection AND c.palace = $1 AND r.batch <> ''::bytea AND EXISTS (
            SELECT 1 FROM jsonb_array_elements_text((r.receipt::jsonb -> 'added') || (r.receipt::jsonb -> 'replaced')
                || (r.receipt::jsonb -> 'updated')) AS filed(id)
            WHERE NOT EXISTS (SELECT 1 FROM loci.drawers d WHERE d.collection = r.collection
                AND d.id = convert_to(filed.id, 'UTF8') AND d.seq <= (r.receipt::jsonb ->> 'seq')::bigint))",
    )
    .with_int(palace)
}
