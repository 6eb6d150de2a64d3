//! Invalid batches: every backend refuses them, and nothing of them is written.

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DrawerCondition, DrawerPatch, DrawerPlace, ErrorKind, Filter,
    Metadata, MetadataScalar, MetadataValue, NewDrawer, SourceSpan, Write,
};

use crate::case::expect_refusal;
use crate::samples::{
    all_ids, delete_write, id, parse_time, read_drawer, text_drawer, vector_drawer, wing_drawer,
};
use crate::{CaseOutcome, CaseScene};

cases! { "refusals":
    "an empty batch is refused" [-ReadOnly] => empty_batch;
    "an id that stands twice in one batch is refused" [-ReadOnly] => id_twice;
    "vectors that are not finite or, under the metric cosine, all zero are refused before anything is written" [+EmbeddingsPassthrough -ReadOnly] => bad_vectors;
    "a vector of another length than the collection's is a dimension mismatch" [+EmbeddingsPassthrough -ReadOnly] => wrong_dimension;
    "vectors of unequal length in one batch are a dimension mismatch" [+EmbeddingsPassthrough -ReadOnly] => unequal_vectors;
    "an update that changes nothing is refused" [-ReadOnly] => empty_update;
    "a delete by filter needs a filter that asks for something" [-ReadOnly] => unbounded_delete;
    "a delete that names no ids is refused" [-ReadOnly] => empty_delete;
    "a place given twice that differs is refused where they disagree" [-ReadOnly] => place_twice;
    "a span that ends before it starts is refused" [-ReadOnly] => bad_span;
    "metadata with an empty key or a number that is not finite is refused" [-ReadOnly] => bad_metadata;
    "a batch whose last write is refused leaves nothing" [-ReadOnly] => last_write_refused;
}

/// Checks that a batch is refused for its last write, and that the valid write before it was not applied either.
fn nothing_of(drawers: &dyn Collection, bad: Write, kind: ErrorKind, named: &[&str]) -> CaseOutcome {
    let before = all_ids(drawers)?;
    // A valid write first: a backend that validates while it applies would leave it behind.
    let sound = Write::Add(text_drawer("sound", "text"));
    expect_refusal(drawers.apply_batch(&[sound, bad]), kind, named)?;
    same!(all_ids(drawers)?, before, "ids after a refused batch");
    Ok(())
}

fn empty_batch(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_refusal(scene.open()?.apply_batch(&[]), ErrorKind::Invalid, &["empty"])
}

fn id_twice(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let text = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("x"))
    };
    // Every pairing of kinds: with an id twice, the receipt could not list it in exactly one place.
    let pairs = [
        [
            Write::Add(text_drawer("x", "1")),
            Write::Add(text_drawer("x", "1")),
        ],
        [
            Write::Add(text_drawer("x", "1")),
            Write::Upsert(text_drawer("x", "2")),
        ],
        [Write::Upsert(text_drawer("x", "1")), Write::Update(text)],
        [Write::Add(text_drawer("x", "1")), delete_write("x")],
        [delete_write("a"), delete_write("a")],
    ];
    for pair in pairs {
        expect_refusal(drawers.apply_batch(&pair), ErrorKind::Invalid, &["twice"])?;
    }
    let twice = DeleteSelection::Ids(vec![id("a"), id("a")]);
    expect_refusal(
        drawers.apply_batch(&[Write::Delete(twice)]),
        ErrorKind::Invalid,
        &["twice"],
    )?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids after refused batches");
    Ok(())
}

fn bad_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    for bad in [
        [f32::NAN, 0.0, 0.0, 0.0],
        [0.0, f32::INFINITY, 0.0, 0.0],
        [0.0, 0.0, f32::NEG_INFINITY, 0.0],
        [0.0; 4],
        // Negative zero is still zero; a comparison of bits would accept it.
        [0.0, -0.0, 0.0, 0.0],
    ] {
        let add = Write::Add(vector_drawer("bad", "text", &bad));
        nothing_of(drawers.as_ref(), add, ErrorKind::Invalid, &["vector"])?;
        let patch = DrawerPatch {
            embedding: Some(bad.to_vec()),
            ..DrawerPatch::new(id("a"))
        };
        nothing_of(
            drawers.as_ref(),
            Write::Update(patch),
            ErrorKind::Invalid,
            &["vector"],
        )?;
    }
    // Invalid or a dimension mismatch: both are right for a vector without values, so only the refusal
    // counts.
    let none = Write::Add(vector_drawer("bad", "text", &[]));
    let refusal = drawers.apply_batch(&[none]);
    ensure!(
        refusal.is_err(),
        "expected an empty vector to be refused, found {refusal:?}"
    );
    Ok(())
}

fn wrong_dimension(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    for bad in [vec![1.0; 3], vec![1.0; 5]] {
        // Both numbers, because the user has to find out which side is wrong.
        let named = [bad.len().to_string(), "4".to_owned()];
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let add = Write::Add(vector_drawer("bad", "text", &bad));
        nothing_of(drawers.as_ref(), add, ErrorKind::DimensionMismatch, &named)?;
        let patch = DrawerPatch {
            embedding: Some(bad),
            ..DrawerPatch::new(id("a"))
        };
        nothing_of(
            drawers.as_ref(),
            Write::Update(patch),
            ErrorKind::DimensionMismatch,
            &named,
        )?;
    }
    Ok(())
}

fn unequal_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    // No dimension is fixed yet, so the two can only contradict each other.
    let drawers = scene.make_collection(
        &crate::scene::default_collection(),
        &loci_core::OpenOptions::for_writing(),
    )?;
    let batch = [
        Write::Add(vector_drawer("a", "text", &[1.0, 0.0, 0.0])),
        Write::Add(vector_drawer("b", "text", &[1.0, 0.0, 0.0, 0.0])),
    ];
    expect_refusal(drawers.apply_batch(&batch), ErrorKind::DimensionMismatch, &[])?;
    same!(
        all_ids(drawers.as_ref())?,
        Vec::<String>::new(),
        "ids after a refused batch"
    );
    Ok(())
}

fn empty_update(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    // Usually a bug of the caller, such as a misspelt field; a silent success would hide it.
    let empty = Write::Update(DrawerPatch::new(id("a")));
    nothing_of(drawers.as_ref(), empty, ErrorKind::Invalid, &["nothing"])
}

fn unbounded_delete(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    // An empty filter in other APIs means everything; here it must never delete a palace.
    let all = Write::Delete(DeleteSelection::Matching(DrawerCondition::default()));
    nothing_of(drawers.as_ref(), all, ErrorKind::Invalid, &["filter"])
}

fn empty_delete(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let none = Write::Delete(DeleteSelection::Ids(Vec::new()));
    nothing_of(drawers.as_ref(), none, ErrorKind::Invalid, &["no ids"])
}

fn place_twice(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    for key in DrawerPlace::TEXT_KEYS {
        let mut bad = text_drawer("bad", "text");
        // A field and the metadata key of its name are one thing, so two values are a contradiction that no
        // backend may resolve by itself.
        bad.metadata.insert(key, "one");
        if let Some(field) = bad.place.text_field_mut(key) {
            *field = Some("another".into());
        }
        nothing_of(
            drawers.as_ref(),
            Write::Upsert(bad.clone()),
            ErrorKind::Invalid,
            &[key],
        )?;
        let patch = DrawerPatch {
            place: bad.place,
            metadata: [(key.to_owned(), Some(MetadataValue::from("one")))].into(),
            ..DrawerPatch::new(id("a"))
        };
        nothing_of(drawers.as_ref(), Write::Update(patch), ErrorKind::Invalid, &[key])?;
    }
    let mut bad = text_drawer("bad", "text");
    bad.metadata.insert("said_at", "2026-01-01");
    bad.place.said_at = Some(parse_time("2026-01-02"));
    nothing_of(
        drawers.as_ref(),
        Write::Add(bad),
        ErrorKind::Invalid,
        &["said_at"],
    )
}

fn bad_span(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let lines = |start, end| SourceSpan {
        start: 0,
        end: 1,
        line_start: start,
        line_end: end,
    };
    let bytes = |start, end| SourceSpan {
        start,
        end,
        ..lines(1, 1)
    };
    // The last one does not fit a signed 64-bit column and would come back negative.
    for span in [bytes(2, 1), lines(2, 1), bytes(0, u64::MAX)] {
        let place = DrawerPlace {
            span: Some(span),
            ..DrawerPlace::default()
        };
        let bad = NewDrawer {
            place,
            ..text_drawer("bad", "text")
        };
        nothing_of(drawers.as_ref(), Write::Add(bad), ErrorKind::Invalid, &["span"])?;
    }
    Ok(())
}

fn bad_metadata(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let many = MetadataValue::Many(vec![MetadataScalar::Int(1), MetadataScalar::Float(f64::INFINITY)]);
    for (key, value) in [
        ("", MetadataValue::from(1_i64)),
        // JSON has no NaN or infinity; they would come back as null.
        ("n", MetadataValue::from(f64::NAN)),
        ("many", many),
    ] {
        let bad = NewDrawer {
            metadata: Metadata::new().with_entry(key, value.clone()),
            ..text_drawer("bad", "text")
        };
        nothing_of(
            drawers.as_ref(),
            Write::Add(bad),
            ErrorKind::Invalid,
            &["metadata", key],
        )?;
        let patch = DrawerPatch {
            metadata: [(key.to_owned(), Some(value))].into(),
            ..DrawerPatch::new(id("a"))
        };
        nothing_of(
            drawers.as_ref(),
            Write::Update(patch),
            ErrorKind::Invalid,
            &["metadata", key],
        )?;
    }
    Ok(())
}

fn last_write_refused(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([wing_drawer("a", "x"), wing_drawer("b", "y")])?;
    let patch = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("b"))
    };
    // Deletes by filter, updates and adds before the bad write: each would have to be undone by a backend
    // that does not check first.
    let batch = [
        Write::Delete(DeleteSelection::Matching(Filter::text_equals("wing", "x").into())),
        Write::Update(patch),
        Write::Add(text_drawer("c", "text")),
        Write::Update(DrawerPatch::new(id("d"))),
    ];
    expect_refusal(drawers.apply_batch(&batch), ErrorKind::Invalid, &[])?;
    same!(
        all_ids(drawers.as_ref())?,
        ["a", "b"],
        "ids after a refused batch"
    );
    same!(
        read_drawer(drawers.as_ref(), "b")?.document.as_deref(),
        Some("text of b"),
        "document"
    );
    Ok(())
}
