//! Verbatim storage: ids, texts, metadata, places and vectors come back exactly as they were filed.

use loci_core::{
    CollectionExt, DrawerFields, DrawerPlace, GetRequest, Metadata, MetadataScalar, MetadataValue, NewDrawer,
    SourceSpan, Write,
};

use crate::samples::{
    all_ids, drawer_ids, id, parse_time, read_drawer, read_fields, text_drawer, vector_drawer,
};
use crate::{CaseFailure, CaseOutcome, CaseScene};

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
    "a place is kept, with its span and its time to the microsecond" [] => places_are_kept;
    "empty fields of a place are completed from metadata keys of the same name" [] => places_completed;
    "the exact vector as it was given comes back" [+EmbeddingsPassthrough +EmbeddingsOut] => exact_vectors;
}

fn any_id(scene: &CaseScene<'_>) -> CaseOutcome {
    // The limit counts bytes, not characters: 341 characters of three bytes just fit.
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
    let drawers = scene.open_filled(odd.map(|called| text_drawer(called, called)))?;
    for called in odd {
        let found = read_drawer(drawers.as_ref(), called)?;
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

fn ids_by_bytes(scene: &CaseScene<'_>) -> CaseOutcome {
    // Equal under case folding, trimming, Unicode normalisation, C strings or width folding; each is a
    // different id.
    let alike = ["a", "A", "a ", "é", "e\u{301}", "a\0", "ａ"];
    let drawers = scene.open_filled(alike.map(|called| text_drawer(called, called)))?;
    let mut expected = alike.map(str::to_owned);
    expected.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    same!(all_ids(drawers.as_ref())?, expected, "ids");
    for called in alike {
        let found = drawers.get(&GetRequest::by_ids([id(called)]))?;
        same!(drawer_ids(&found), [called], "the drawers called {called:?}");
    }
    Ok(())
}

fn any_text(scene: &CaseScene<'_>) -> CaseOutcome {
    // NUL, mixed line ends, byte order marks, combining marks and trailing blanks: each is lost by some
    // well-meant clean-up.
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
    let drawers = scene.open_filled(
        texts
            .iter()
            .enumerate()
            .map(|(at, text)| text_drawer(&called(at), text)),
    )?;
    for (at, text) in texts.iter().enumerate() {
        let found = read_drawer(drawers.as_ref(), &called(at))?;
        same!(found.document.as_deref(), Some(*text), "text {at}");
    }
    Ok(())
}

fn large_text(scene: &CaseScene<'_>) -> CaseOutcome {
    let text: String = (0..).map(|n| format!("word{n} 抽屉\n")).take(66_000).collect();
    ensure!(text.len() > 1_000_000, "the sample is too small");
    let drawers = scene.open_filled([text_drawer("large", &text)])?;
    let found = read_drawer(drawers.as_ref(), "large")?
        .document
        .unwrap_or_default();
    ensure!(
        found == text,
        "expected {} bytes back unchanged, found {} bytes",
        text.len(),
        found.len()
    );
    Ok(())
}

fn keeps_metadata(scene: &CaseScene<'_>, metadata: Metadata) -> CaseOutcome {
    let given = NewDrawer {
        metadata: metadata.clone(),
        ..text_drawer("a", "text")
    };
    let found = read_drawer(scene.open_filled([given])?.as_ref(), "a")?.metadata;
    same!(found, Some(metadata), "metadata");
    Ok(())
}

fn metadata_types(scene: &CaseScene<'_>) -> CaseOutcome {
    let metadata = Metadata::new()
        // 3, 3.0 and "3" are three values; JSON parsers in other languages merge the first two.
        .with_entry("int", 3_i64)
        .with_entry("float", 3.0)
        .with_entry("text", "3")
        .with_entry("true", true)
        .with_entry("one", 1_i64)
        .with_entry("false", false)
        .with_entry("zero", 0_i64)
        .with_entry("empty", "");
    keeps_metadata(scene, metadata)
}

fn metadata_limits(scene: &CaseScene<'_>) -> CaseOutcome {
    let metadata = Metadata::new()
        .with_entry("max", i64::MAX)
        .with_entry("min", i64::MIN)
        // 2^53 + 1 is the first integer that a double cannot represent.
        .with_entry("past a float", 9_007_199_254_740_993_i64)
        .with_entry("largest", f64::MAX)
        .with_entry("smallest", 5e-324)
        .with_entry("tenth", 0.1)
        .with_entry("third", 1.0 / 3.0);
    keeps_metadata(scene, metadata)
}

fn metadata_arrays(scene: &CaseScene<'_>) -> CaseOutcome {
    let text = |text: &str| MetadataScalar::Text(text.into());
    let metadata = Metadata::new()
        .with_entry(
            "texts",
            MetadataValue::Many(vec![text("b"), text("a"), text("b")]),
        )
        .with_entry(
            "mixed",
            MetadataValue::Many(vec![
                MetadataScalar::Int(1),
                MetadataScalar::Float(1.0),
                MetadataScalar::Bool(true),
                text("1"),
            ]),
        )
        .with_entry("none", MetadataValue::Many(Vec::new()))
        // A list under the key of a place field is metadata only; a wing is a single text.
        .with_entry("wing", MetadataValue::Many(vec![text("not a wing")]));
    keeps_metadata(scene, metadata)
}

fn metadata_keys(scene: &CaseScene<'_>) -> CaseOutcome {
    let keys = [
        "a.b", "$and", "it's", "\"", "抽屉", "a b", "[0]", "id", "document", "seq", "_x", "🗄️", "a\nb",
    ];
    let metadata: Metadata = keys
        .iter()
        .map(|key| ((*key).to_owned(), MetadataValue::from(*key)))
        .collect();
    keeps_metadata(scene, metadata)
}

fn places_are_kept(scene: &CaseScene<'_>) -> CaseOutcome {
    let place = DrawerPlace {
        wing: Some("w'\"".into()),
        room: Some("房间".into()),
        source: Some("/a/b c.md".into()),
        span: Some(SourceSpan {
            // Beyond 32 bits, up to the largest value of a signed 64-bit column.
            start: 4_294_967_296,
            end: i64::MAX as u64,
            line_start: 7,
            line_end: 9,
        }),
        speaker: Some(String::new()),
        kind: Some("note".into()),
        said_at: Some(parse_time("1969-12-31T23:59:59.999999Z")),
    };
    let given = NewDrawer {
        place: place.clone(),
        ..text_drawer("a", "text")
    };
    let drawers = scene.open_filled([given])?;
    same!(
        read_fields(drawers.as_ref(), "a", DrawerFields::NOTHING)?.place,
        place,
        "place"
    );
    same!(
        read_drawer(drawers.as_ref(), "a")?.metadata,
        Some(Metadata::new()),
        "metadata"
    );
    Ok(())
}

fn no_text(scene: &CaseScene<'_>) -> CaseOutcome {
    let wordless = |called: &str| NewDrawer {
        wordless: true,
        ..text_drawer(called, "")
    };
    let drawers = scene.open_filled([
        wordless("none"),
        text_drawer("empty", ""),
        wordless("none either"),
    ])?;
    same!(read_drawer(drawers.as_ref(), "none")?.document, None, "no text");
    same!(
        read_drawer(drawers.as_ref(), "none either")?.document,
        None,
        "no text"
    );
    same!(
        read_drawer(drawers.as_ref(), "empty")?.document.as_deref(),
        Some(""),
        "the empty text"
    );
    if !scene.can(loci_core::Capability::ReadOnly) {
        let mut patch = loci_core::DrawerPatch::new(id("none"));
        // An update of something else must not turn no text into an empty one.
        patch
            .metadata
            .insert("n".into(), Some(MetadataValue::from(1_i64)));
        drawers.apply_batch(&[Write::Update(patch)])?;
        same!(
            read_drawer(drawers.as_ref(), "none")?.document,
            None,
            "no text, still"
        );
        drawers.apply_batch(&[Write::Upsert(text_drawer("none", "text"))])?;
        same!(
            read_drawer(drawers.as_ref(), "none")?.document.as_deref(),
            Some("text"),
            "the text it has now"
        );
    }
    Ok(())
}

fn places_completed(scene: &CaseScene<'_>) -> CaseOutcome {
    let metadata = Metadata::new()
        .with_entry("wing", "w")
        // Not a text, so it cannot be a room and stays in the metadata alone.
        .with_entry("room", 3_i64)
        .with_entry("kind", "note")
        .with_entry("said_at", "2026-05-01T10:00:00+02:00");
    let given = NewDrawer {
        metadata: metadata.clone(),
        place: DrawerPlace {
            kind: Some("note".into()),
            ..DrawerPlace::default()
        },
        ..text_drawer("a", "text")
    };
    let found = read_drawer(scene.open_filled([given])?.as_ref(), "a")?;
    let expected = DrawerPlace {
        wing: Some("w".into()),
        kind: Some("note".into()),
        said_at: Some(parse_time("2026-05-01T08:00:00Z")),
        ..DrawerPlace::default()
    };
    same!(found.place, expected, "place");
    same!(found.metadata, Some(metadata), "metadata");
    Ok(())
}

fn exact_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let vectors = [
        // Negative zero and subnormal numbers; the next row does not survive half precision, and the last
        // shows normalisation.
        [0.1, -0.0, f32::MIN_POSITIVE, 1.0e-45],
        [f32::MAX, f32::MIN, 1.0 / 3.0, 16_777_217.0],
        [3.0, 4.0, 0.0, 0.0],
    ];
    let called = |at: usize| format!("drawer-{at}");
    let given = vectors.iter().enumerate();
    let drawers = scene.open_filled(given.map(|(at, vector)| vector_drawer(&called(at), "text", vector)))?;
    for (at, vector) in vectors.iter().enumerate() {
        let found = read_fields(drawers.as_ref(), &called(at), DrawerFields::EVERYTHING)?;
        let bits = |vector: &[f32]| vector.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
        let embedding = found
            .embedding
            .ok_or_else(|| CaseFailure::new("expected a vector, found none"))?;
        same!(
            bits(&embedding),
            bits(vector),
            "the bits of vector {at} ({embedding:?})"
        );
    }
    if !scene.can(loci_core::Capability::ReadOnly) {
        // A vector kept in a table of its own may outlive the row it belonged to.
        drawers.apply_batch(&[Write::Upsert(text_drawer(&called(0), "text"))])?;
        let found = read_fields(drawers.as_ref(), &called(0), DrawerFields::EVERYTHING)?;
        same!(
            found.embedding,
            None,
            "the vector of a drawer replaced by one without"
        );
    }
    Ok(())
}
