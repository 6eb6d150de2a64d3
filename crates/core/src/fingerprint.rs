//! The bytes that tell batches apart, so that a repetition under an idempotency key is recognised.

use serde_json::{Value as Json, json};

use crate::{DeleteSelection, DrawerPatch, Error, ErrorKind, IdempotencyKey, NewDrawer, Write};

/// Calls `sink` with bytes that two batches share exactly if they ask for the same writes in the same order. Backends
/// hash them.
pub fn feed_batch(writes: &[Write], sink: &mut dyn FnMut(&[u8])) {
    let mut add = |bytes: &[u8]| {
        // The length in front keeps the fields apart: without it, bytes could move from one field to the next.
        sink(&(bytes.len() as u64).to_le_bytes());
        sink(bytes);
    };
    for write in writes {
        let (asked, vector) = match write {
            Write::Add(new) => (drawer_json("add", new), new.embedding.as_deref()),
            Write::Upsert(new) => (drawer_json("upsert", new), new.embedding.as_deref()),
            Write::Update(patch) => (patch_json(patch), patch.embedding.as_deref()),
            Write::Delete(selection) => (selection_json(selection), None),
        };
        add(asked.to_string().as_bytes());
        // Vectors are given as bits; as JSON, zero and minus zero could not be told apart reliably.
        let values = vector.unwrap_or_default().iter();
        add(&values.flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>());
    }
}

/// Returns the error for a key that was used for another batch.
pub fn key_conflict(key: &IdempotencyKey) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "the idempotency key {:?} was used for another batch within the last day",
            key.as_str()
        ),
    )
    .with_hint("nothing was written; give each batch a key of its own")
}

/// Returns the error for a key whose batch can no longer be compared, because its drawers were erased.
pub fn erased_batch(key: &IdempotencyKey) -> Error {
    Error::new(
        ErrorKind::Conflict,
        format!(
            "the idempotency key {:?} was used for a batch whose drawers were erased or changed since",
            key.as_str()
        ),
    )
    .with_hint("nothing was written; give the batch another key if it shall be applied once more")
}

fn drawer_json(kind: &str, new: &NewDrawer) -> Json {
    json!([
        kind,
        new.id,
        new.document,
        new.wordless,
        new.context,
        new.metadata,
        new.place,
        new.filed_at,
        new.provenance,
        new.uses,
        // An absent and an empty vector have the same bytes; this tells them apart.
        new.embedding.is_some(),
    ])
}

fn patch_json(patch: &DrawerPatch) -> Json {
    json!([
        "update",
        patch.id,
        patch.document,
        patch.context,
        patch.metadata,
        patch.place,
        patch.provenance,
        patch.embedding.is_some(),
    ])
}

fn selection_json(selection: &DeleteSelection) -> Json {
    match selection {
        DeleteSelection::Ids(ids) => json!(["delete", ids]),
        DeleteSelection::Matching(condition) => {
            json!([
                "delete matching",
                condition.filter.to_json(),
                condition.document.to_json()
            ])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DrawerId, Filter};

    fn id(text: &str) -> DrawerId {
        DrawerId::new(text).unwrap()
    }

    fn bytes_of(batch: &[Write]) -> Vec<u8> {
        let mut bytes = Vec::new();
        feed_batch(batch, &mut |part| bytes.extend(part));
        bytes
    }

    #[test]
    fn batches_that_differ_anywhere_have_different_bytes() {
        let plain = NewDrawer::new(id("a"), "text");
        let minus = NewDrawer {
            embedding: Some(vec![-0.0, 1.0]),
            ..plain.clone()
        };
        let zero = NewDrawer {
            embedding: Some(vec![0.0, 1.0]),
            ..plain.clone()
        };
        let worn = NewDrawer {
            uses: 1,
            ..plain.clone()
        };
        let batches = [
            vec![Write::Add(plain.clone())],
            vec![Write::Upsert(plain.clone())],
            vec![Write::Add(minus)],
            vec![Write::Add(zero)],
            vec![Write::Add(worn)],
            vec![Write::Add(plain.clone()), Write::Add(NewDrawer::new(id("b"), ""))],
            vec![Write::Add(NewDrawer::new(id("b"), "")), Write::Add(plain.clone())],
            vec![Write::Update(DrawerPatch::new(id("a")))],
            vec![Write::Delete(DeleteSelection::Ids(vec![id("a")]))],
            vec![Write::Delete(DeleteSelection::Matching(
                Filter::text_equals("a", "b").into(),
            ))],
            vec![Write::Delete(DeleteSelection::Matching(
                Filter::text_equals("a", "c").into(),
            ))],
        ];
        let shown: std::collections::BTreeSet<_> = batches.iter().map(|batch| bytes_of(batch)).collect();
        assert_eq!(shown.len(), batches.len());
        assert_eq!(bytes_of(&batches[0]), bytes_of(&[Write::Add(plain)]));
    }
}
