//! Facts about a collection that Chroma has no place for: the recorded model, and receipts under idempotency keys.

use std::collections::BTreeMap;

use loci_core::fingerprint::{feed_batch, key_conflict};
use loci_core::{
    EmbedderIdentity, Error, ErrorKind, IdempotencyKey, IdentityState, Metric, Receipt, Result, Timestamp,
    Visibility, Write,
};
use serde::{Deserialize, Serialize};

use crate::deadline::ChromaDeadline;
use crate::shelf::{ChromaShelf, ShelfPart};
use crate::wire::{DeleteQuestion, ExactVector, GetQuestion, UpsertQuestion};

/// The beginning of the ids of drawers in the collection beside another one; facts have other ids.
pub(crate) const DRAWER: &str = "d:";
/// The vector of everything in that collection, which is never compared.
pub(crate) const PLACEHOLDER: &[f32] = &[1.0];

const MODEL: &str = "m";
const RECEIPT: &str = "k:";
/// The key of the length of vectors that a new collection was given.
pub(crate) const DIMENSION: &str = "loci:dimension";

/// The time for which a key is remembered, in microseconds.
const KEPT_FOR: i64 = 24 * 60 * 60 * 1_000_000;

/// The model that is recorded, and those that were recorded by force.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct ModelFact {
    pub(crate) model: Option<EmbedderIdentity>,
    #[serde(default)]
    pub(crate) forced: Vec<EmbedderIdentity>,
}

/// A batch that was applied under a key.
#[derive(Debug, Serialize, Deserialize)]
struct ReceiptFact {
    batch: String,
    at: i64,
    receipt: Receipt,
}

/// Metric, dimension and model of a collection.
#[derive(Debug, Clone)]
pub(crate) struct ShelfFacts {
    pub(crate) metric: Metric,
    pub(crate) dimension: Option<usize>,
    pub(crate) model: ModelFact,
    /// The number of drawers with a vector.
    pub(crate) vectors: u64,
}

impl ShelfFacts {
    /// Reads the facts.
    pub(crate) fn read(shelf: &ChromaShelf, deadline: ChromaDeadline) -> Result<Self> {
        let described = shelf.describe(deadline)?;
        let facts = read_facts(shelf, &[MODEL], deadline)?;
        let model: ModelFact = facts
            .get(MODEL)
            .map_or_else(|| Ok(ModelFact::default()), |text| parse_fact(text))?;
        let recorded = model.model.as_ref().map(|model| model.dimension);
        Ok(Self {
            metric: described.metric(),
            dimension: described
                .dimension
                .or(recorded)
                .or_else(|| described.number(DIMENSION)),
            model,
            vectors: shelf.count_main(deadline)?,
        })
    }

    pub(crate) fn identity(&self) -> IdentityState {
        match &self.model.model {
            Some(model) => IdentityState::Known(model.clone()),
            None if self.vectors > 0 => IdentityState::Unknown,
            None => IdentityState::Unset,
        }
    }
}

impl ModelFact {
    pub(crate) fn store(&self, shelf: &ChromaShelf) -> Result<()> {
        store_fact(shelf, MODEL, self)
    }
}

/// A batch that is applied under an idempotency key.
#[derive(Debug)]
pub(crate) struct ChromaKeyedBatch<'a> {
    key: &'a IdempotencyKey,
    id: String,
    batch: String,
}

impl<'a> ChromaKeyedBatch<'a> {
    pub(crate) fn new(key: &'a IdempotencyKey, visible: &Visibility, writes: &[Write]) -> Self {
        // Callers who see different drawers have keys of their own: none may learn from a key what another has written.
        let scope = if visible.is_restricted() {
            visible.filter().to_string()
        } else {
            String::new()
        };
        let mut named = blake3::Hasher::new();
        named.update(&(scope.len() as u64).to_le_bytes());
        named.update(scope.as_bytes());
        named.update(key.as_str().as_bytes());
        let mut batch = blake3::Hasher::new();
        feed_batch(writes, &mut |bytes| {
            batch.update(bytes);
        });
        Self {
            key,
            id: format!("{RECEIPT}{}", named.finalize().to_hex()),
            batch: batch.finalize().to_hex().to_string(),
        }
    }

    /// Returns the receipt of the same batch if it was applied within the last day; another batch is `Conflict`.
    pub(crate) fn find_receipt(
        &self,
        shelf: &ChromaShelf,
        now: Timestamp,
        deadline: ChromaDeadline,
    ) -> Result<Option<Receipt>> {
        let facts = read_facts(shelf, &[&self.id], deadline)?;
        let Some(fact) = facts.get(&self.id) else {
            return Ok(None);
        };
        let fact: ReceiptFact = parse_fact(fact)?;
        if fact.at < now.as_micros() - KEPT_FOR {
            return Ok(None);
        }
        if fact.batch != self.batch {
            return Err(key_conflict(self.key));
        }
        Ok(Some(fact.receipt))
    }

    /// Stores a receipt, and removes those that have expired.
    pub(crate) fn store_receipt(self, shelf: &ChromaShelf, now: Timestamp, receipt: &Receipt) -> Result<()> {
        let fact = ReceiptFact {
            batch: self.batch,
            at: now.as_micros(),
            receipt: receipt.clone(),
        };
        store_fact(shelf, &self.id, &fact)?;
        let condition = serde_json::json!({"loci:expires": {"$lt": now.as_micros() - KEPT_FOR}});
        let question = GetQuestion {
            condition: Some(&condition),
            ..GetQuestion::default()
        };
        let expired = shelf.fetch(ShelfPart::Side, &question, ChromaDeadline::default())?;
        let ids = expired.into_iter().map(|record| record.id).collect();
        shelf.remove(ShelfPart::Side, &DeleteQuestion { ids })
    }
}

fn read_facts(
    shelf: &ChromaShelf,
    ids: &[&str],
    deadline: ChromaDeadline,
) -> Result<BTreeMap<String, String>> {
    let question = GetQuestion {
        ids: Some(ids.to_vec()),
        include: vec!["documents"],
        ..GetQuestion::default()
    };
    let records = shelf.fetch(ShelfPart::Side, &question, deadline)?;
    let facts = records
        .into_iter()
        .filter_map(|record| Some((record.id, record.document?)));
    Ok(facts.collect())
}

fn store_fact(shelf: &ChromaShelf, id: &str, fact: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string(fact).expect("facts are always JSON");
    let mut metadata = serde_json::Map::new();
    if id.starts_with(RECEIPT) {
        let at = serde_json::to_value(fact)
            .ok()
            .and_then(|fact| fact.get("at").cloned());
        metadata.insert("loci:expires".to_owned(), at.unwrap_or_default());
    } else {
        metadata.insert("loci:fact".to_owned(), serde_json::Value::from(id));
    }
    shelf.upsert(
        ShelfPart::Side,
        &UpsertQuestion {
            ids: vec![id.to_owned()],
            embeddings: vec![ExactVector {
                values: PLACEHOLDER,
                as_base64: false,
            }],
            documents: vec![&text],
            metadatas: vec![metadata],
        },
    )
}

fn parse_fact<T: serde::de::DeserializeOwned>(text: &str) -> Result<T> {
    serde_json::from_str(text).map_err(|cause| {
        Error::new(
            ErrorKind::Corrupt,
            "what Loci keeps beside a collection is damaged",
        )
        .caused_by(cause)
    })
}
