//! Add, upsert, update and delete, and the receipts they return.

use std::collections::BTreeSet;

use loci_core::{
    Capability, CollectionExt, CollectionReaderExt, DeleteSelection, DrawerCondition, DrawerFields,
    DrawerPatch, DrawerPlace, Filter, GetRequest, Metadata, MetadataValue, NewDrawer, Receipt, Timestamp,
    Write,
};

use crate::samples::{
    all_ids, delete_write, id, id_texts, parse_filter, read_drawer, read_fields, source_piece, text_drawer,
    vector_drawer, wing_drawer,
};
use crate::{CaseOutcome, CaseScene};

cases! { "writes":
    "add files a new drawer and lists it as added" [-ReadOnly] => add_files;
    "add never overwrites: an id that exists is left as it is and listed as kept" [-ReadOnly] => add_keeps;
    "upsert replaces whole whatever stood under its id" [-ReadOnly] => upsert_replaces_whole;
    "upsert of a new id lists it as added" [-ReadOnly] => upsert_adds;
    "update changes the given fields; what is not given stays" [-ReadOnly] => update_patches;
    "update sets and removes metadata keys; other keys stay" [-ReadOnly] => update_merges_metadata;
    "update keeps a place field and the metadata key of its name one thing" [-ReadOnly] => update_keeps_places_one;
    "update of a missing id is listed as missing and nothing is created" [-ReadOnly] => update_of_missing;
    "a new document without a new embedding removes the old vector" [+EmbeddingsPassthrough +EmbeddingsOut -ReadOnly] => new_text_takes_vector;
    "a patch with the document it has keeps the vector" [+EmbeddingsPassthrough +EmbeddingsOut -ReadOnly] => same_text_keeps_vector;
    "delete removes drawers; ids that are not there are listed as missing" [-ReadOnly] => delete_by_ids;
    "delete removes all that the filter accepts and nothing else" [-ReadOnly] => delete_by_filter;
    "a deleted id can be filed again" [-ReadOnly] => delete_then_add;
    "a batch of writes is applied in order" [-ReadOnly] => applied_in_order;
    "every id of the batch appears in exactly one list" [-ReadOnly] => each_id_in_one_list;
    "the receipt lists which of those added, replaced or updated have no vector now" [+EmbeddingsPassthrough -ReadOnly] => without_vector;
    "filed_at is now, if not given, and an update leaves it" [-ReadOnly] => filed_now;
    "filed_at and uses are kept as given" [-ReadOnly] => filed_as_given;
    "the receipt has the sequence number of the last change; unchanged if nothing changed" [+ChangeFeed -ReadOnly] => receipt_seq;
    "a large batch is filed whole" [-ReadOnly] => large_batch;
}

fn add_files(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let receipt = drawers.apply_batch(&[
        Write::Add(text_drawer("a", "one")),
        Write::Add(text_drawer("b", "two")),
    ])?;
    same!(id_texts(&receipt.added), ["a", "b"], "added");
    same!(all_ids(drawers.as_ref())?, ["a", "b"], "ids");
    same!(
        read_drawer(drawers.as_ref(), "b")?.document.as_deref(),
        Some("two"),
        "document"
    );
    Ok(())
}

fn add_keeps(scene: &CaseScene<'_>) -> CaseOutcome {
    let first = NewDrawer {
        metadata: Metadata::new().with_entry("n", 1_i64),
        ..scene.fit_drawer(vector_drawer("a", "first", &[1.0, 0.0, 0.0, 0.0]))
    };
    let drawers = scene.open_filled([first])?;
    let before = read_fields(drawers.as_ref(), "a", scene.every_field())?;
    // Text and vector differ from the stored ones, so any overwritten part shows.
    let again = scene.fit_drawer(vector_drawer("a", "second", &[0.0, 1.0, 0.0, 0.0]));
    let receipt = drawers.apply_batch(&[Write::Add(again), Write::Add(text_drawer("b", "new"))])?;
    same!(id_texts(&receipt.kept), ["a"], "kept");
    same!(id_texts(&receipt.added), ["b"], "added");
    same!(
        read_fields(drawers.as_ref(), "a", scene.every_field())?,
        before,
        "the drawer that was there"
    );
    Ok(())
}

fn upsert_replaces_whole(scene: &CaseScene<'_>) -> CaseOutcome {
    let first = NewDrawer {
        metadata: Metadata::new().with_entry("old", 1_i64).with_entry("wing", "w"),
        uses: 7,
        ..scene.fit_drawer(vector_drawer("a", "first", &[1.0, 0.0, 0.0, 0.0]))
    };
    let drawers = scene.open_filled([first])?;
    // Gives fewer fields than the first: a merge would keep the old key, the wing, the uses or the vector.
    let second = NewDrawer {
        metadata: Metadata::new().with_entry("new", true),
        ..text_drawer("a", "second")
    };
    let receipt = drawers.upsert_drawer(second.clone())?;
    same!(id_texts(&receipt.replaced), ["a"], "replaced");
    let found = read_fields(drawers.as_ref(), "a", scene.every_field())?;
    same!(found.document.as_deref(), Some("second"), "document");
    same!(found.metadata, Some(second.metadata), "metadata");
    same!(found.place, DrawerPlace::default(), "place");
    same!(found.uses, 0, "uses");
    // A backend that embeds by itself has made a vector of the second text.
    if !scene.can(loci_core::Capability::ServerEmbedder) {
        same!(found.embedding, None, "vector");
    }
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn upsert_adds(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let receipt = drawers.upsert_drawer(text_drawer("a", "text"))?;
    same!(id_texts(&receipt.added), ["a"], "added");
    same!(id_texts(&receipt.replaced), Vec::<&str>::new(), "replaced");
    same!(
        read_drawer(drawers.as_ref(), "a")?.document.as_deref(),
        Some("text"),
        "document"
    );
    Ok(())
}

fn update_patches(scene: &CaseScene<'_>) -> CaseOutcome {
    let given = NewDrawer {
        metadata: Metadata::new().with_entry("n", 1_i64),
        uses: 3,
        ..scene.fit_drawer(NewDrawer {
            embedding: Some(vec![1.0, 0.0, 0.0, 0.0]),
            ..source_piece("a", "text", "book", 0)
        })
    };
    let drawers = scene.open_filled([given])?;
    let before = read_fields(drawers.as_ref(), "a", scene.every_field())?;
    let patch = DrawerPatch {
        place: DrawerPlace {
            room: Some("r".into()),
            ..DrawerPlace::default()
        },
        ..DrawerPatch::new(id("a"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(id_texts(&receipt.updated), ["a"], "updated");
    // Compared as a whole, so that an update which resets an unrelated field is caught.
    let mut expected = before;
    expected.place.room = Some("r".into());
    same!(
        read_fields(drawers.as_ref(), "a", scene.every_field())?,
        expected,
        "the drawer"
    );
    Ok(())
}

fn update_merges_metadata(scene: &CaseScene<'_>) -> CaseOutcome {
    let given = NewDrawer {
        metadata: Metadata::new()
            .with_entry("stays", 1_i64)
            .with_entry("goes", "x")
            .with_entry("turns", 2.5),
        ..text_drawer("a", "text")
    };
    let drawers = scene.open_filled([given])?;
    let mut patch = DrawerPatch::new(id("a"));
    patch.metadata.insert("goes".into(), None);
    // Removing a missing key is not an error.
    patch.metadata.insert("never there".into(), None);
    patch
        .metadata
        .insert("turns".into(), Some(MetadataValue::from("text")));
    patch
        .metadata
        .insert("comes".into(), Some(MetadataValue::from(true)));
    drawers.apply_batch(&[Write::Update(patch)])?;
    let expected = Metadata::new()
        .with_entry("stays", 1_i64)
        .with_entry("turns", "text")
        .with_entry("comes", true);
    same!(
        read_drawer(drawers.as_ref(), "a")?.metadata,
        Some(expected),
        "metadata"
    );
    Ok(())
}

fn update_keeps_places_one(scene: &CaseScene<'_>) -> CaseOutcome {
    let given = NewDrawer {
        metadata: Metadata::new().with_entry("wing", "old").with_entry("room", "r"),
        ..text_drawer("a", "text")
    };
    let drawers = scene.open_filled([given])?;
    let by_place = DrawerPatch {
        place: DrawerPlace {
            wing: Some("new".into()),
            ..DrawerPlace::default()
        },
        ..DrawerPatch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(by_place)])?;
    let found = read_drawer(drawers.as_ref(), "a")?;
    same!(
        found.metadata,
        Some(Metadata::new().with_entry("wing", "new").with_entry("room", "r")),
        "metadata"
    );
    let mut by_metadata = DrawerPatch::new(id("a"));
    by_metadata
        .metadata
        .insert("wing".into(), Some(MetadataValue::from("newer")));
    by_metadata.metadata.insert("room".into(), None);
    drawers.apply_batch(&[Write::Update(by_metadata)])?;
    let found = read_drawer(drawers.as_ref(), "a")?;
    same!(found.place.wing.as_deref(), Some("newer"), "wing");
    same!(found.place.room, None, "room");
    // The index must follow as well as the row.
    let wings = |wing: &str| {
        drawers.get(&GetRequest {
            filter: Filter::text_equals("wing", wing),
            ..GetRequest::default()
        })
    };
    same!(wings("newer")?.len(), 1, "drawers in the new wing");
    same!(wings("new")?.len(), 0, "drawers in the wing it left");
    Ok(())
}

fn update_of_missing(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let patch = DrawerPatch {
        document: Some("x".into()),
        ..DrawerPatch::new(id("gone"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(id_texts(&receipt.missing), ["gone"], "missing");
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn new_text_takes_vector(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        vector_drawer("a", "old", &[1.0, 0.0, 0.0, 0.0]),
        vector_drawer("b", "old", &[0.0, 1.0, 0.0, 0.0]),
    ])?;
    let without = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("a"))
    };
    let with = DrawerPatch {
        document: Some("new".into()),
        embedding: Some(vec![0.0, 0.0, 1.0, 0.0]),
        ..DrawerPatch::new(id("b"))
    };
    // A vector that stays would answer for a text that is gone; the receipt lists what has to be embedded
    // again.
    let receipt = drawers.apply_batch(&[Write::Update(without), Write::Update(with)])?;
    same!(id_texts(&receipt.without_vector), ["a"], "without vector");
    same!(
        read_fields(drawers.as_ref(), "a", DrawerFields::EVERYTHING)?.embedding,
        None,
        "vector of a"
    );
    let b = read_fields(drawers.as_ref(), "b", DrawerFields::EVERYTHING)?;
    same!(b.embedding, Some(vec![0.0, 0.0, 1.0, 0.0]), "vector of b");
    Ok(())
}

fn same_text_keeps_vector(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    let patch = DrawerPatch {
        // Callers often send the whole drawer back; embedding it again for nothing would be expensive.
        document: Some("text".into()),
        ..DrawerPatch::new(id("a"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(id_texts(&receipt.updated), ["a"], "updated");
    same!(
        id_texts(&receipt.without_vector),
        Vec::<&str>::new(),
        "without vector"
    );
    let found = read_fields(drawers.as_ref(), "a", DrawerFields::EVERYTHING)?;
    same!(found.embedding, Some(vec![1.0, 0.0, 0.0, 0.0]), "vector");
    Ok(())
}

fn delete_by_ids(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        text_drawer("a", "1"),
        text_drawer("b", "2"),
        text_drawer("c", "3"),
    ])?;
    let chosen = DeleteSelection::Ids(vec![id("b"), id("gone"), id("a")]);
    let receipt = drawers.apply_batch(&[Write::Delete(chosen)])?;
    same!(sort_ids(&receipt.deleted), ["a", "b"], "deleted");
    same!(id_texts(&receipt.missing), ["gone"], "missing");
    same!(all_ids(drawers.as_ref())?, ["c"], "ids");
    Ok(())
}

fn delete_by_filter(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        wing_drawer("a", "x"),
        wing_drawer("b", "y"),
        wing_drawer("c", "x"),
    ])?;
    let matching = |wing: &str| {
        Write::Delete(DeleteSelection::Matching(
            Filter::text_equals("wing", wing).into(),
        ))
    };
    let receipt = drawers.apply_batch(&[matching("x")])?;
    same!(sort_ids(&receipt.deleted), ["a", "c"], "deleted");
    same!(all_ids(drawers.as_ref())?, ["b"], "ids");
    let receipt = drawers.apply_batch(&[matching("no such wing")])?;
    same!(
        id_texts(&receipt.deleted),
        Vec::<&str>::new(),
        "deleted by a filter that accepts nothing"
    );
    same!(all_ids(drawers.as_ref())?, ["b"], "ids");
    Ok(())
}

fn delete_then_add(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "first")])?;
    drawers.delete_drawer(id("a"))?;
    same!(drawers.find_drawer(&id("a"))?, None, "the deleted drawer");
    let receipt = drawers.add_drawer(text_drawer("a", "second"))?;
    same!(id_texts(&receipt.added), ["a"], "added");
    same!(
        read_drawer(drawers.as_ref(), "a")?.document.as_deref(),
        Some("second"),
        "document"
    );
    Ok(())
}

fn applied_in_order(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let in_x = Write::Delete(DeleteSelection::Matching(parse_filter(r#"{"wing":"x"}"#).into()));
    // Grouping writes by kind would delete both drawers or neither.
    drawers.apply_batch(&[
        Write::Add(wing_drawer("before", "x")),
        in_x,
        Write::Add(wing_drawer("after", "x")),
    ])?;
    same!(all_ids(drawers.as_ref())?, ["after"], "ids");
    Ok(())
}

fn each_id_in_one_list(scene: &CaseScene<'_>) -> CaseOutcome {
    let there = ["keep", "replace", "update", "delete"].map(|called| text_drawer(called, "text"));
    let drawers = scene.open_filled(there.into_iter().chain([source_piece("twin", "same", "book", 0)]))?;
    let patch = |called: &str| {
        Write::Update(DrawerPatch {
            document: Some("new".into()),
            ..DrawerPatch::new(id(called))
        })
    };
    let receipt = drawers.apply_batch(&[
        Write::Add(text_drawer("add", "text")),
        Write::Add(text_drawer("keep", "text")),
        Write::Upsert(text_drawer("replace", "text")),
        patch("update"),
        patch("no update"),
        delete_write("delete"),
        delete_write("no delete"),
        Write::Add(source_piece("other", "same", "book", 0)),
    ])?;
    same!(id_texts(&receipt.added), ["add"], "added");
    same!(id_texts(&receipt.kept), ["keep"], "kept");
    same!(id_texts(&receipt.replaced), ["replace"], "replaced");
    same!(id_texts(&receipt.updated), ["update"], "updated");
    same!(id_texts(&receipt.deleted), ["delete"], "deleted");
    same!(sort_ids(&receipt.missing), ["no delete", "no update"], "missing");
    same!(list_twins(&receipt), [("other", "twin")], "twins");
    Ok(())
}

fn without_vector(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([vector_drawer("was", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    let receipt = drawers.apply_batch(&[
        Write::Add(text_drawer("bare", "text")),
        Write::Add(vector_drawer("full", "text", &[0.0, 1.0, 0.0, 0.0])),
        Write::Upsert(text_drawer("was", "text")),
    ])?;
    same!(
        sort_ids(&receipt.without_vector),
        ["bare", "was"],
        "without vector"
    );
    same!(scene.open()?.info()?.coverage.nearest, 1, "drawers with a vector");
    Ok(())
}

fn filed_now(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let filed = read_drawer(drawers.as_ref(), "a")?.filed_at;
    let Some(time) = filed else {
        return Err("expected a time of filing, found none".to_owned().into());
    };
    let since = std::time::SystemTime::now().duration_since(std::time::SystemTime::UNIX_EPOCH);
    let now = since.map_or(0, |since| since.as_micros() as i64);
    let apart = (now - time.as_micros()).abs();
    // An hour in microseconds: wide enough for a slow machine and a server with its own clock, narrow
    // enough for a wrong unit or zone.
    ensure!(
        apart < 3_600_000_000,
        "expected a time of filing within the hour, found {time}"
    );
    let patch = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(patch)])?;
    same!(
        read_drawer(drawers.as_ref(), "a")?.filed_at,
        filed,
        "time of filing after an update"
    );
    Ok(())
}

fn filed_as_given(scene: &CaseScene<'_>) -> CaseOutcome {
    let filed_at = Some(Timestamp::from_micros(1_234_567_890_123_456)?);
    let given = NewDrawer {
        filed_at,
        // Does not survive a detour through a double.
        uses: 9_007_199_254_740_993,
        ..text_drawer("a", "text")
    };
    let found = read_drawer(scene.open_filled([given])?.as_ref(), "a")?;
    same!(found.filed_at, filed_at, "time of filing");
    same!(found.uses, 9_007_199_254_740_993, "uses");
    Ok(())
}

fn receipt_seq(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let first = drawers.add_drawer(text_drawer("a", "text"))?.seq;
    let second = drawers.upsert_drawer(text_drawer("a", "new"))?.seq;
    ensure!(second > first, "expected a number above {first}, found {second}");
    same!(
        drawers.add_drawer(text_drawer("a", "kept"))?.seq,
        second,
        "sequence number when nothing changed"
    );
    // Numbers advance with changes, not with calls, or a follower could not tell that it is up to date.
    same!(
        drawers.delete_drawer(id("gone"))?.seq,
        second,
        "sequence number when nothing was there"
    );
    same!(drawers.info()?.seq.0, second, "sequence number of the collection");
    let third = drawers.delete_drawer(id("a"))?.seq;
    ensure!(third > second, "expected a number above {second}, found {third}");
    Ok(())
}

fn large_batch(scene: &CaseScene<'_>) -> CaseOutcome {
    // Above the 999 parameters that older versions of SQLite allow in a statement.
    let names: Vec<String> = (0..2_500).map(|n| format!("drawer-{n:05}")).collect();
    let drawers = scene.open()?;
    let batch: Vec<Write> = names
        .iter()
        .map(|called| Write::Add(text_drawer(called, called)))
        .collect();
    let receipt = drawers.apply_batch(&batch)?;
    same!(receipt.added.len(), names.len(), "added");
    same!(all_ids(drawers.as_ref())?, names, "ids");
    let asked: Vec<_> = names.iter().rev().map(|called| id(called)).collect();
    same!(
        drawers.get(&GetRequest::by_ids(asked.clone()))?.len(),
        names.len(),
        "drawers by id"
    );
    let receipt = drawers.apply_batch(&[Write::Delete(DeleteSelection::Ids(asked))])?;
    same!(receipt.deleted.len(), names.len(), "deleted");
    if !scene.can(Capability::EstimatedCount) {
        same!(drawers.count(&DrawerCondition::default())?, 0, "drawers left");
    }
    Ok(())
}

/// The ids of a receipt's list, in byte order and each once.
fn sort_ids(ids: &[loci_core::DrawerId]) -> Vec<&str> {
    let sorted: BTreeSet<&str> = id_texts(ids).into_iter().collect();
    sorted.into_iter().collect()
}

fn list_twins(receipt: &Receipt) -> Vec<(&str, &str)> {
    let twins = receipt.twins.iter();
    twins
        .map(|twin| (twin.given.as_str(), twin.existing.as_str()))
        .collect()
}
