//! What no backend accepts, and that nothing of it is written.

use loci_core::{
    Collection, CollectionExt, DrawerCondition, ErrorKind, Filter, Metadata, NewDrawer, Patch, Place, Scalar,
    Selection, Span, Value, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, delete, id, plain, read, time, vectored, winged};
use crate::{Outcome, Scene};

cases! { "refusals":
    "an empty batch is refused" [-ReadOnly] => empty_batch;
    "an id that stands twice in one batch is refused" [-ReadOnly] => id_twice;
    "vectors that are not finite or all zero are refused before anything is written" [+EmbeddingsPassthrough -ReadOnly] => bad_vectors;
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

/// Shows that the last write of a batch is refused, and that a sound one before it was not written either.
fn nothing_of(drawers: &dyn Collection, bad: Write, kind: ErrorKind, named: &[&str]) -> Outcome {
    let before = all_ids(drawers)?;
    let sound = Write::Add(plain("sound", "text"));
    refused(drawers.apply_batch(&[sound, bad]), kind, named)?;
    same!(all_ids(drawers)?, before, "ids after a refused batch");
    Ok(())
}

fn empty_batch(scene: &Scene<'_>) -> Outcome {
    refused(scene.open()?.apply_batch(&[]), ErrorKind::Invalid, &["empty"])
}

fn id_twice(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let text = Patch {
        document: Some("new".into()),
        ..Patch::new(id("x"))
    };
    let pairs = [
        [Write::Add(plain("x", "1")), Write::Add(plain("x", "1"))],
        [Write::Add(plain("x", "1")), Write::Upsert(plain("x", "2"))],
        [Write::Upsert(plain("x", "1")), Write::Update(text)],
        [Write::Add(plain("x", "1")), delete("x")],
        [delete("a"), delete("a")],
    ];
    for pair in pairs {
        refused(drawers.apply_batch(&pair), ErrorKind::Invalid, &["twice"])?;
    }
    let twice = Selection::Ids(vec![id("a"), id("a")]);
    refused(
        drawers.apply_batch(&[Write::Delete(twice)]),
        ErrorKind::Invalid,
        &["twice"],
    )?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids after refused batches");
    Ok(())
}

fn bad_vectors(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([vectored("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    for bad in [
        [f32::NAN, 0.0, 0.0, 0.0],
        [0.0, f32::INFINITY, 0.0, 0.0],
        [0.0, 0.0, f32::NEG_INFINITY, 0.0],
        [0.0; 4],
        [0.0, -0.0, 0.0, 0.0],
    ] {
        let add = Write::Add(vectored("bad", "text", &bad));
        nothing_of(drawers.as_ref(), add, ErrorKind::Invalid, &["vector"])?;
        let patch = Patch {
            embedding: Some(bad.to_vec()),
            ..Patch::new(id("a"))
        };
        nothing_of(
            drawers.as_ref(),
            Write::Update(patch),
            ErrorKind::Invalid,
            &["vector"],
        )?;
    }
    let none = Write::Add(vectored("bad", "text", &[]));
    let refusal = drawers.apply_batch(&[none]);
    ensure!(
        refusal.is_err(),
        "expected an empty vector to be refused, found {refusal:?}"
    );
    Ok(())
}

fn wrong_dimension(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([vectored("a", "text", &[1.0, 0.0, 0.0, 0.0])])?;
    for bad in [vec![1.0; 3], vec![1.0; 5]] {
        let named = [bad.len().to_string(), "4".to_owned()];
        let named: Vec<&str> = named.iter().map(String::as_str).collect();
        let add = Write::Add(vectored("bad", "text", &bad));
        nothing_of(drawers.as_ref(), add, ErrorKind::DimensionMismatch, &named)?;
        let patch = Patch {
            embedding: Some(bad),
            ..Patch::new(id("a"))
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

fn unequal_vectors(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.make(&crate::scene::drawers(), &loci_core::OpenOptions::writable())?;
    let batch = [
        Write::Add(vectored("a", "text", &[1.0, 0.0, 0.0])),
        Write::Add(vectored("b", "text", &[1.0, 0.0, 0.0, 0.0])),
    ];
    refused(drawers.apply_batch(&batch), ErrorKind::DimensionMismatch, &[])?;
    same!(
        all_ids(drawers.as_ref())?,
        Vec::<String>::new(),
        "ids after a refused batch"
    );
    Ok(())
}

fn empty_update(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let empty = Write::Update(Patch::new(id("a")));
    nothing_of(drawers.as_ref(), empty, ErrorKind::Invalid, &["nothing"])
}

fn unbounded_delete(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let all = Write::Delete(Selection::Matching(DrawerCondition::default()));
    nothing_of(drawers.as_ref(), all, ErrorKind::Invalid, &["filter"])
}

fn empty_delete(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let none = Write::Delete(Selection::Ids(Vec::new()));
    nothing_of(drawers.as_ref(), none, ErrorKind::Invalid, &["no ids"])
}

fn place_twice(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    for key in Place::TEXT_KEYS {
        let mut bad = plain("bad", "text");
        bad.metadata.insert(key, "one");
        if let Some(field) = bad.place.text_mut(key) {
            *field = Some("another".into());
        }
        nothing_of(
            drawers.as_ref(),
            Write::Upsert(bad.clone()),
            ErrorKind::Invalid,
            &[key],
        )?;
        let patch = Patch {
            place: bad.place,
            metadata: [(key.to_owned(), Some(Value::from("one")))].into(),
            ..Patch::new(id("a"))
        };
        nothing_of(drawers.as_ref(), Write::Update(patch), ErrorKind::Invalid, &[key])?;
    }
    let mut bad = plain("bad", "text");
    bad.metadata.insert("said_at", "2026-01-01");
    bad.place.said_at = Some(time("2026-01-02"));
    nothing_of(
        drawers.as_ref(),
        Write::Add(bad),
        ErrorKind::Invalid,
        &["said_at"],
    )
}

fn bad_span(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let lines = |start, end| Span {
        start: 0,
        end: 1,
        line_start: start,
        line_end: end,
    };
    let bytes = |start, end| Span {
        start,
        end,
        ..lines(1, 1)
    };
    for span in [bytes(2, 1), lines(2, 1), bytes(0, u64::MAX)] {
        let place = Place {
            span: Some(span),
            ..Place::default()
        };
        let bad = NewDrawer {
            place,
            ..plain("bad", "text")
        };
        nothing_of(drawers.as_ref(), Write::Add(bad), ErrorKind::Invalid, &["span"])?;
    }
    Ok(())
}

fn bad_metadata(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let many = Value::Many(vec![Scalar::Int(1), Scalar::Float(f64::INFINITY)]);
    for (key, value) in [
        ("", Value::from(1_i64)),
        ("n", Value::from(f64::NAN)),
        ("many", many),
    ] {
        let bad = NewDrawer {
            metadata: Metadata::new().with(key, value.clone()),
            ..plain("bad", "text")
        };
        nothing_of(
            drawers.as_ref(),
            Write::Add(bad),
            ErrorKind::Invalid,
            &["metadata", key],
        )?;
        let patch = Patch {
            metadata: [(key.to_owned(), Some(value))].into(),
            ..Patch::new(id("a"))
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

fn last_write_refused(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([winged("a", "x"), winged("b", "y")])?;
    let patch = Patch {
        document: Some("new".into()),
        ..Patch::new(id("b"))
    };
    let batch = [
        Write::Delete(Selection::Matching(Filter::text("wing", "x").into())),
        Write::Update(patch),
        Write::Add(plain("c", "text")),
        Write::Update(Patch::new(id("d"))),
    ];
    refused(drawers.apply_batch(&batch), ErrorKind::Invalid, &[])?;
    same!(
        all_ids(drawers.as_ref())?,
        ["a", "b"],
        "ids after a refused batch"
    );
    same!(
        read(drawers.as_ref(), "b")?.document.as_deref(),
        Some("text of b"),
        "document"
    );
    Ok(())
}
