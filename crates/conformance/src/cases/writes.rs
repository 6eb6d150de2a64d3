//! Add, upsert, update and delete, and the receipts they return.

use std::collections::BTreeSet;

use loci_core::{
    Capability, CollectionExt, CollectionReaderExt, DrawerCondition, Filter, Get, Include, Metadata,
    NewDrawer, Patch, Place, Receipt, Selection, Timestamp, Value, Write,
};

use crate::samples::{all_ids, cut, delete, filter, id, one, plain, read, texts, vectored, winged};
use crate::{Outcome, Scene};

cases! { "writes":
    "add files a new drawer and lists it as added" [-ReadOnly] => add_files;
    "add never overwrites: an id that exists is left as it is and listed as kept" [-ReadOnly] => add_keeps;
    "upsert replaces whole whatever stood under its id" [-ReadOnly] => upsert_replaces_whole;
    "upsert of a new id lists it as added" [-ReadOnly] => upsert_adds;
    "update changes the given fields; what is not given stays" [-ReadOnly] => update_patches;
    "update sets and removes metadata keys; other keys stay" [-ReadOnly] => update_merges_metadata;
    "update keeps a place field and the metadata key of its name one thing" [-ReadOnly] => update_keeps_places_one;
    "update of a missing id is listed as missing and nothing is created" [-ReadOnly] => update_of_missing;
    "a new document without a new embedding takes the old vector away" [+EmbeddingsPassthrough +EmbeddingsOut -ReadOnly] => new_text_takes_vector;
    "a patch with the document it has keeps the vector" [+EmbeddingsPassthrough +EmbeddingsOut -ReadOnly] => same_text_keeps_vector;
    "delete removes drawers; ids that are not there are listed as missing" [-ReadOnly] => delete_by_ids;
    "delete removes all that the filter accepts and nothing else" [-ReadOnly] => delete_by_filter;
    "a deleted id can be filed again" [-ReadOnly] => delete_then_add;
    "a batch of writes is applied in order" [-ReadOnly] => applied_in_order;
    "every id of the batch stands in exactly one list" [-ReadOnly] => each_id_in_one_list;
    "the receipt lists which of those added, replaced or updated have no vector now" [+EmbeddingsPassthrough -ReadOnly] => without_vector;
    "filed_at is now, if not given, and an update leaves it" [-ReadOnly] => filed_now;
    "filed_at and uses are kept as given" [-ReadOnly] => filed_as_given;
    "the receipt has the sequence number of the last change; unchanged if nothing changed" [+ChangeFeed -ReadOnly] => receipt_seq;
    "a large batch is filed whole" [-ReadOnly] => large_batch;
}

fn add_files(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let receipt = drawers.apply_batch(&[Write::Add(plain("a", "one")), Write::Add(plain("b", "two"))])?;
    same!(texts(&receipt.added), ["a", "b"], "added");
    same!(all_ids(drawers.as_ref())?, ["a", "b"], "ids");
    same!(
        read(drawers.as_ref(), "b")?.document.as_deref(),
        Some("two"),
        "document"
    );
    Ok(())
}

fn add_keeps(scene: &Scene<'_>) -> Outcome {
    let first = NewDrawer {
        metadata: Metadata::new().with("n", 1_i64),
        ..scene.fit(vectored("a", "first", &[1.0, 0.0, 0.0, 0.0]))
    };
    let drawers = scene.filled([first])?;
    let before = one(drawers.as_ref(), "a", scene.everything())?;
    let again = scene.fit(vectored("a", "second", &[0.0, 1.0, 0.0, 0.0]));
    let receipt = drawers.apply_batch(&[Write::Add(again), Write::Add(plain("b", "new"))])?;
    same!(texts(&receipt.kept), ["a"], "kept");
    same!(texts(&receipt.added), ["b"], "added");
    same!(
        one(drawers.as_ref(), "a", scene.everything())?,
        before,
        "the drawer that was there"
    );
    Ok(())
}

fn upsert_replaces_whole(scene: &Scene<'_>) -> Outcome {
    let first = NewDrawer {
        metadata: Metadata::new().with("old", 1_i64).with("wing", "w"),
        uses: 7,
        ..scene.fit(vectored("a", "first", &[1.0, 0.0, 0.0, 0.0]))
    };
    let drawers = scene.filled([first])?;
    let second = NewDrawer {
        metadata: Metadata::new().with("new", true),
        ..plain("a", "second")
    };
    let receipt = drawers.upsert(second.clone())?;
    same!(texts(&receipt.replaced), ["a"], "replaced");
    let found = one(drawers.as_ref(), "a", scene.everything())?;
    same!(found.document.as_deref(), Some("second"), "document");
    same!(found.metadata, Some(second.metadata), "metadata");
    same!(found.place, Place::default(), "place");
    same!(found.uses, 0, "uses");
    same!(found.embedding, None, "vector");
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn upsert_adds(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let receipt = drawers.upsert(plain("a", "text"))?;
    same!(texts(&receipt.added), ["a"], "added");
    same!(texts(&receipt.replaced), Vec::<&str>::new(), "replaced");
    same!(
        read(drawers.as_ref(), "a")?.document.as_deref(),
        Some("text"),
        "document"
    );
    Ok(())
}

fn update_patches(scene: &Scene<'_>) -> Outcome {
    let given = NewDrawer {
        metadata: Metadata::new().with("n", 1_i64),
        uses: 3,
        ..scene.fit(NewDrawer {
            embedding: Some(vec![1.0, 0.0, 0.0, 0.0]),
            ..cut("a", "text", "book", 0)
        })
    };
    let drawers = scene.filled([given])?;
    let before = one(drawers.as_ref(), "a", scene.everything())?;
    let patch = Patch {
        place: Place {
            room: Some("r".into()),
            ..Place::default()
        },
        ..Patch::new(id("a"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(texts(&receipt.updated), ["a"], "updated");
    let mut expected = before;
    expected.place.room = Some("r".into());
    same!(
        one(drawers.as_ref(), "a", scene.everything())?,
        expected,
        "the drawer"
    );
    Ok(())
}

fn update_merges_metadata(scene: &Scene<'_>) -> Outcome {
    let given = NewDrawer {
        metadata: Metadata::new()
            .with("stays", 1_i64)
            .with("goes", "x")
            .with("turns", 2.5),
        ..plain("a", "text")
    };
    let drawers = scene.filled([given])?;
    let mut patch = Patch::new(id("a"));
    patch.metadata.insert("goes".into(), None);
    patch.metadata.insert("never there".into(), None);
    patch.metadata.insert("turns".into(), Some(Value::from("text")));
    patch.metadata.insert("comes".into(), Some(Value::from(true)));
    drawers.apply_batch(&[Write::Update(patch)])?;
    let expected = Metadata::new()
        .with("stays", 1_i64)
        .with("turns", "text")
        .with("comes", true);
    same!(read(drawers.as_ref(), "a")?.metadata, Some(expected), "metadata");
    Ok(())
}

fn update_keeps_places_one(scene: &Scene<'_>) -> Outcome {
    let given = NewDrawer {
        metadata: Metadata::new().with("wing", "old").with("room", "r"),
        ..plain("a", "text")
    };
    let drawers = scene.filled([given])?;
    let by_place = Patch {
        place: Place {
            wing: Some("new".into()),
            ..Place::default()
        },
        ..Patch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(by_place)])?;
    let found = read(drawers.as_ref(), "a")?;
    same!(
        found.metadata,
        Some(Metadata::new().with("wing", "new").with("room", "r")),
        "metadata"
    );
    let mut by_metadata = Patch::new(id("a"));
    by_metadata
        .metadata
        .insert("wing".into(), Some(Value::from("newer")));
    by_metadata.metadata.insert("room".into(), None);
    drawers.apply_batch(&[Write::Update(by_metadata)])?;
    let found = read(drawers.as_ref(), "a")?;
    same!(found.place.wing.as_deref(), Some("newer"), "wing");
    same!(found.place.room, None, "room");
    let wings = |wing: &str| {
        drawers.get(&Get {
            filter: Filter::text("wing", wing),
            ..Get::default()
        })
    };
    same!(wings("newer")?.len(), 1, "drawers in the new wing");
    same!(wings("new")?.len(), 0, "drawers in the wing it left");
    Ok(())
}

fn update_of_missing(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let patch = Patch {
        document: Some("x".into()),
        ..Patch::new(id("gone"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(texts(&receipt.missing), ["gone"], "missing");
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn new_text_takes_vector(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        vectored("a", "old", &[1.0, 0.0, 0.0, 0.0]),
        vectored("b", "old", &[0.0, 1.0, 0.0, 0.0]),
    ])?;
    let without = Patch {
        document: Some("new".into()),
        ..Patch::new(id("a"))
    };
    let with = Patch {
        document: Some("new".into()),
        embedding: Some(vec![0.0, 0.0, 1.0, 0.0]),
        ..Patch::new(id("b"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(without), Write::Update(with)])?;
    same!(texts(&receipt.without_vector), ["a"], "without vector");
    same!(
        one(drawers.as_ref(), "a", Include::EVERYTHING)?.embedding,
        None,
        "vector of a"
    );
    let b = one(drawers.as_ref(), "b", Include::EVERYTHING)?;
    same!(b.embedding, Some(vec![0.0, 0.0, 1.0, 0.0]), "vector of b");
    Ok(())
}

fn same_text_keeps_vector(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([vectored("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    let patch = Patch {
        document: Some("text".into()),
        ..Patch::new(id("a"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(texts(&receipt.updated), ["a"], "updated");
    same!(
        texts(&receipt.without_vector),
        Vec::<&str>::new(),
        "without vector"
    );
    let found = one(drawers.as_ref(), "a", Include::EVERYTHING)?;
    same!(found.embedding, Some(vec![1.0, 0.0, 0.0, 0.0]), "vector");
    Ok(())
}

fn delete_by_ids(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "1"), plain("b", "2"), plain("c", "3")])?;
    let chosen = Selection::Ids(vec![id("b"), id("gone"), id("a")]);
    let receipt = drawers.apply_batch(&[Write::Delete(chosen)])?;
    same!(sorted(&receipt.deleted), ["a", "b"], "deleted");
    same!(texts(&receipt.missing), ["gone"], "missing");
    same!(all_ids(drawers.as_ref())?, ["c"], "ids");
    Ok(())
}

fn delete_by_filter(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([winged("a", "x"), winged("b", "y"), winged("c", "x")])?;
    let matching = |wing: &str| Write::Delete(Selection::Matching(Filter::text("wing", wing).into()));
    let receipt = drawers.apply_batch(&[matching("x")])?;
    same!(sorted(&receipt.deleted), ["a", "c"], "deleted");
    same!(all_ids(drawers.as_ref())?, ["b"], "ids");
    let receipt = drawers.apply_batch(&[matching("no such wing")])?;
    same!(
        texts(&receipt.deleted),
        Vec::<&str>::new(),
        "deleted by a filter that accepts nothing"
    );
    same!(all_ids(drawers.as_ref())?, ["b"], "ids");
    Ok(())
}

fn delete_then_add(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "first")])?;
    drawers.delete(id("a"))?;
    same!(drawers.find(&id("a"))?, None, "the deleted drawer");
    let receipt = drawers.add(plain("a", "second"))?;
    same!(texts(&receipt.added), ["a"], "added");
    same!(
        read(drawers.as_ref(), "a")?.document.as_deref(),
        Some("second"),
        "document"
    );
    Ok(())
}

fn applied_in_order(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let in_x = Write::Delete(Selection::Matching(filter(r#"{"wing":"x"}"#).into()));
    drawers.apply_batch(&[
        Write::Add(winged("before", "x")),
        in_x,
        Write::Add(winged("after", "x")),
    ])?;
    same!(all_ids(drawers.as_ref())?, ["after"], "ids");
    Ok(())
}

fn each_id_in_one_list(scene: &Scene<'_>) -> Outcome {
    let there = ["keep", "replace", "update", "delete"].map(|called| plain(called, "text"));
    let drawers = scene.filled(there.into_iter().chain([cut("twin", "same", "book", 0)]))?;
    let patch = |called: &str| {
        Write::Update(Patch {
            document: Some("new".into()),
            ..Patch::new(id(called))
        })
    };
    let receipt = drawers.apply_batch(&[
        Write::Add(plain("add", "text")),
        Write::Add(plain("keep", "text")),
        Write::Upsert(plain("replace", "text")),
        patch("update"),
        patch("no update"),
        delete("delete"),
        delete("no delete"),
        Write::Add(cut("other", "same", "book", 0)),
    ])?;
    same!(texts(&receipt.added), ["add"], "added");
    same!(texts(&receipt.kept), ["keep"], "kept");
    same!(texts(&receipt.replaced), ["replace"], "replaced");
    same!(texts(&receipt.updated), ["update"], "updated");
    same!(texts(&receipt.deleted), ["delete"], "deleted");
    same!(sorted(&receipt.missing), ["no delete", "no update"], "missing");
    same!(twins(&receipt), [("other", "twin")], "twins");
    Ok(())
}

fn without_vector(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([vectored("was", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    let receipt = drawers.apply_batch(&[
        Write::Add(plain("bare", "text")),
        Write::Add(vectored("full", "text", &[0.0, 1.0, 0.0, 0.0])),
        Write::Upsert(plain("was", "text")),
    ])?;
    same!(sorted(&receipt.without_vector), ["bare", "was"], "without vector");
    same!(scene.open()?.info()?.coverage.nearest, 1, "drawers with a vector");
    Ok(())
}

fn filed_now(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let filed = read(drawers.as_ref(), "a")?.filed_at;
    let Some(time) = filed else {
        return Err("expected a time of filing, found none".to_owned().into());
    };
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_micros() as i64);
    let apart = (now - time.as_micros()).abs();
    ensure!(
        apart < 3_600_000_000,
        "expected a time of filing within the hour, found {time}"
    );
    let patch = Patch {
        document: Some("new".into()),
        ..Patch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(patch)])?;
    same!(
        read(drawers.as_ref(), "a")?.filed_at,
        filed,
        "time of filing after an update"
    );
    Ok(())
}

fn filed_as_given(scene: &Scene<'_>) -> Outcome {
    let filed_at = Some(Timestamp::from_micros(1_234_567_890_123_456)?);
    let given = NewDrawer {
        filed_at,
        uses: 9_007_199_254_740_993,
        ..plain("a", "text")
    };
    let found = read(scene.filled([given])?.as_ref(), "a")?;
    same!(found.filed_at, filed_at, "time of filing");
    same!(found.uses, 9_007_199_254_740_993, "uses");
    Ok(())
}

fn receipt_seq(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let first = drawers.add(plain("a", "text"))?.seq;
    let second = drawers.upsert(plain("a", "new"))?.seq;
    ensure!(second > first, "expected a number above {first}, found {second}");
    same!(
        drawers.add(plain("a", "kept"))?.seq,
        second,
        "sequence number when nothing changed"
    );
    same!(
        drawers.delete(id("gone"))?.seq,
        second,
        "sequence number when nothing was there"
    );
    same!(drawers.info()?.seq.0, second, "sequence number of the collection");
    let third = drawers.delete(id("a"))?.seq;
    ensure!(third > second, "expected a number above {second}, found {third}");
    Ok(())
}

fn large_batch(scene: &Scene<'_>) -> Outcome {
    let names: Vec<String> = (0..2_500).map(|n| format!("drawer-{n:05}")).collect();
    let drawers = scene.open()?;
    let batch: Vec<Write> = names
        .iter()
        .map(|called| Write::Add(plain(called, called)))
        .collect();
    let receipt = drawers.apply_batch(&batch)?;
    same!(receipt.added.len(), names.len(), "added");
    same!(all_ids(drawers.as_ref())?, names, "ids");
    let asked: Vec<_> = names.iter().rev().map(|called| id(called)).collect();
    same!(
        drawers.get(&Get::ids(asked.clone()))?.len(),
        names.len(),
        "drawers by id"
    );
    let receipt = drawers.apply_batch(&[Write::Delete(Selection::Ids(asked))])?;
    same!(receipt.deleted.len(), names.len(), "deleted");
    if !scene.can(Capability::EstimatedCount) {
        same!(drawers.count(&DrawerCondition::default())?, 0, "drawers left");
    }
    Ok(())
}

/// The ids of a receipt's list, in byte order and each once.
fn sorted(ids: &[loci_core::DrawerId]) -> Vec<&str> {
    let sorted: BTreeSet<&str> = texts(ids).into_iter().collect();
    sorted.into_iter().collect()
}

fn twins(receipt: &Receipt) -> Vec<(&str, &str)> {
    let twins = receipt.twins.iter();
    twins
        .map(|twin| (twin.given.as_str(), twin.existing.as_str()))
        .collect()
}
