//! What is filed comes back exactly: ids, texts, metadata, places and vectors.

use loci_core::{CollectionExt, Get, Include, Metadata, NewDrawer, Place, Scalar, Span, Value, Write};

use crate::samples::{all_ids, id, ids, one, plain, read, time, vectored};
use crate::{Failure, Outcome, Scene};

cases! { "verbatim":
    "an id is any non-empty text up to its limit: quotes, newlines, cjk, emoji and control characters" [] => any_id;
    "ids compare by bytes" [] => ids_by_bytes;
    "the text is kept verbatim; may be empty" [] => any_text;
    "a text of a megabyte is kept verbatim" [] => large_text;
    "a drawer without any text is kept apart from one with an empty text" [] => no_text;
    "metadata is kept exactly: integers, floats, booleans and texts apart" [] => metadata_types;
    "metadata is kept exactly: numbers at their limits" [] => metadata_limits;
    "metadata is kept exactly: arrays in their order" [] => metadata_arrays;
    "metadata keys may be any non-empty text" [] => metadata_keys;
    "a place is kept, with its span and its time to the microsecond" [] => places;
    "empty fields of a place are completed from metadata keys of the same name" [] => places_completed;
    "the exact vector as it was given comes back" [+EmbeddingsPassthrough +EmbeddingsOut] => exact_vectors;
}

fn any_id(scene: &Scene<'_>) -> Outcome {
    let longest = "x".repeat(1024);
    let longest_cjk = "抽".repeat(341);
    let odd = [
        "it's \"quoted\"",
        "line\nbreak\r\n",
        "抽屉",
        "🗄️",
        "\0",
        "a\0b",
        " ",
        "%_*?",
        "'; DROP TABLE drawers; --",
        "../../etc/passwd",
        "$and",
        "مرحبا",
        "\u{202e}abc",
        "a\tb",
        "\u{feff}",
        &longest,
        &longest_cjk,
    ];
    let drawers = scene.filled(odd.map(|called| plain(called, called)))?;
    for called in odd {
        let found = read(drawers.as_ref(), called)?;
        same!(
            found.document.as_deref(),
            Some(called),
            "text of the drawer called {called:?}"
        );
    }
    let mut expected = odd.map(str::to_owned);
    expected.sort();
    same!(all_ids(drawers.as_ref())?, expected, "ids");
    Ok(())
}

fn ids_by_bytes(scene: &Scene<'_>) -> Outcome {
    let alike = ["a", "A", "a ", "é", "e\u{301}", "a\0", "ａ"];
    let drawers = scene.filled(alike.map(|called| plain(called, called)))?;
    let mut expected = alike.map(str::to_owned);
    expected.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    same!(all_ids(drawers.as_ref())?, expected, "ids");
    for called in alike {
        let found = drawers.get(&Get::ids([id(called)]))?;
        same!(ids(&found), [called], "the drawers called {called:?}");
    }
    Ok(())
}

fn any_text(scene: &Scene<'_>) -> Outcome {
    let texts = [
        "",
        " ",
        "\0",
        "a\0b\0",
        "line\r\nline\n\n",
        "مرحبا \u{202e}بك",
        "👩‍👩‍👧‍👦🗄️",
        "e\u{301} is not é",
        "\u{feff}x\u{feff}",
        "'\"`\\%_",
        "{\"json\": [1, null]}",
        "\u{1}\u{7f}\u{85}",
        "抽屉里的记忆",
        "  trailing  ",
    ];
    let called = |at: usize| format!("drawer-{at}");
    let drawers = scene.filled(
        texts
            .iter()
            .enumerate()
            .map(|(at, text)| plain(&called(at), text)),
    )?;
    for (at, text) in texts.iter().enumerate() {
        let found = read(drawers.as_ref(), &called(at))?;
        same!(found.document.as_deref(), Some(*text), "text {at}");
    }
    Ok(())
}

fn large_text(scene: &Scene<'_>) -> Outcome {
    let text: String = (0..).map(|n| format!("word{n} 抽屉\n")).take(66_000).collect();
    ensure!(text.len() > 1_000_000, "the sample is too small");
    let drawers = scene.filled([plain("large", &text)])?;
    let found = read(drawers.as_ref(), "large")?.document.unwrap_or_default();
    ensure!(
        found == text,
        "expected {} bytes back unchanged, found {} bytes",
        text.len(),
        found.len()
    );
    Ok(())
}

fn keeps_metadata(scene: &Scene<'_>, metadata: Metadata) -> Outcome {
    let given = NewDrawer {
        metadata: metadata.clone(),
        ..plain("a", "text")
    };
    let found = read(scene.filled([given])?.as_ref(), "a")?.metadata;
    same!(found, Some(metadata), "metadata");
    Ok(())
}

fn metadata_types(scene: &Scene<'_>) -> Outcome {
    let metadata = Metadata::new()
        .with("int", 3_i64)
        .with("float", 3.0)
        .with("text", "3")
        .with("true", true)
        .with("one", 1_i64)
        .with("false", false)
        .with("zero", 0_i64)
        .with("empty", "");
    keeps_metadata(scene, metadata)
}

fn metadata_limits(scene: &Scene<'_>) -> Outcome {
    let metadata = Metadata::new()
        .with("max", i64::MAX)
        .with("min", i64::MIN)
        .with("past a float", 9_007_199_254_740_993_i64)
        .with("largest", f64::MAX)
        .with("smallest", 5e-324)
        .with("tenth", 0.1)
        .with("third", 1.0 / 3.0);
    keeps_metadata(scene, metadata)
}

fn metadata_arrays(scene: &Scene<'_>) -> Outcome {
    let text = |text: &str| Scalar::Text(text.into());
    let metadata = Metadata::new()
        .with("texts", Value::Many(vec![text("b"), text("a"), text("b")]))
        .with(
            "mixed",
            Value::Many(vec![
                Scalar::Int(1),
                Scalar::Float(1.0),
                Scalar::Bool(true),
                text("1"),
            ]),
        )
        .with("none", Value::Many(Vec::new()))
        .with("wing", Value::Many(vec![text("not a wing")]));
    keeps_metadata(scene, metadata)
}

fn metadata_keys(scene: &Scene<'_>) -> Outcome {
    let keys = [
        "a.b", "$and", "it's", "\"", "抽屉", "a b", "[0]", "id", "document", "seq", "_x", "🗄️", "a\nb",
    ];
    let metadata: Metadata = keys
        .iter()
        .map(|key| ((*key).to_owned(), Value::from(*key)))
        .collect();
    keeps_metadata(scene, metadata)
}

fn places(scene: &Scene<'_>) -> Outcome {
    let place = Place {
        wing: Some("w'\"".into()),
        room: Some("房间".into()),
        source: Some("/a/b c.md".into()),
        span: Some(Span {
            start: 4_294_967_296,
            end: i64::MAX as u64,
            line_start: 7,
            line_end: 9,
        }),
        speaker: Some(String::new()),
        kind: Some("note".into()),
        said_at: Some(time("1969-12-31T23:59:59.999999Z")),
    };
    let given = NewDrawer {
        place: place.clone(),
        ..plain("a", "text")
    };
    let drawers = scene.filled([given])?;
    same!(
        one(drawers.as_ref(), "a", Include::NOTHING)?.place,
        place,
        "place"
    );
    same!(
        read(drawers.as_ref(), "a")?.metadata,
        Some(Metadata::new()),
        "metadata"
    );
    Ok(())
}

fn no_text(scene: &Scene<'_>) -> Outcome {
    let wordless = |called: &str| NewDrawer {
        wordless: true,
        ..plain(called, "")
    };
    let drawers = scene.filled([wordless("none"), plain("empty", ""), wordless("none either")])?;
    same!(read(drawers.as_ref(), "none")?.document, None, "no text");
    same!(read(drawers.as_ref(), "none either")?.document, None, "no text");
    same!(
        read(drawers.as_ref(), "empty")?.document.as_deref(),
        Some(""),
        "the empty text"
    );
    if !scene.can(loci_core::Capability::ReadOnly) {
        let mut patch = loci_core::Patch::new(id("none"));
        patch.metadata.insert("n".into(), Some(Value::from(1_i64)));
        drawers.apply_batch(&[Write::Update(patch)])?;
        same!(read(drawers.as_ref(), "none")?.document, None, "no text, still");
        drawers.apply_batch(&[Write::Upsert(plain("none", "text"))])?;
        same!(
            read(drawers.as_ref(), "none")?.document.as_deref(),
            Some("text"),
            "the text it has now"
        );
    }
    Ok(())
}

fn places_completed(scene: &Scene<'_>) -> Outcome {
    let metadata = Metadata::new()
        .with("wing", "w")
        .with("room", 3_i64)
        .with("kind", "note")
        .with("said_at", "2026-05-01T10:00:00+02:00");
    let given = NewDrawer {
        metadata: metadata.clone(),
        place: Place {
            kind: Some("note".into()),
            ..Place::default()
        },
        ..plain("a", "text")
    };
    let found = read(scene.filled([given])?.as_ref(), "a")?;
    let expected = Place {
        wing: Some("w".into()),
        kind: Some("note".into()),
        said_at: Some(time("2026-05-01T08:00:00Z")),
        ..Place::default()
    };
    same!(found.place, expected, "place");
    same!(found.metadata, Some(metadata), "metadata");
    Ok(())
}

fn exact_vectors(scene: &Scene<'_>) -> Outcome {
    let vectors = [
        [0.1, -0.0, f32::MIN_POSITIVE, 1.0e-45],
        [f32::MAX, f32::MIN, 1.0 / 3.0, 16_777_217.0],
        [3.0, 4.0, 0.0, 0.0],
    ];
    let called = |at: usize| format!("drawer-{at}");
    let given = vectors.iter().enumerate();
    let drawers = scene.filled(given.map(|(at, vector)| vectored(&called(at), "text", vector)))?;
    for (at, vector) in vectors.iter().enumerate() {
        let found = one(drawers.as_ref(), &called(at), Include::EVERYTHING)?;
        let bits = |vector: &[f32]| vector.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let embedding = found
            .embedding
            .ok_or_else(|| Failure::new("expected a vector, found none"))?;
        same!(
            bits(&embedding),
            bits(vector),
            "the bits of vector {at} ({embedding:?})"
        );
    }
    if !scene.can(loci_core::Capability::ReadOnly) {
        drawers.apply_batch(&[Write::Upsert(plain(&called(0), "text"))])?;
        let found = one(drawers.as_ref(), &called(0), Include::EVERYTHING)?;
        same!(
            found.embedding,
            None,
            "the vector of a drawer replaced by one without"
        );
    }
    Ok(())
}
