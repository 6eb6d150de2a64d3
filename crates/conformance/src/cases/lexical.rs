//! Lexical match: any of the words, best first, among the drawers that the filters accept.

use loci_core::{
    CollectionExt, DocumentFilter, DrawerFields, DrawerPatch, DrawerPlace, ErrorKind, Filter, LexicalRequest,
    NewDrawer, Write,
};

use crate::case::expect_refusal;
use crate::samples::{hit_ids, id, parse_filter, parse_time, text_drawer, vector_drawer, wing_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "lexical":
    "a drawer matches if it holds any of the words" [+Lexical] => any_word;
    "the drawers that best match come first" [+Lexical] => best_first;
    "words match whatever their case" [+Lexical] => any_case;
    "text without any word matches nothing" [+Lexical] => no_word;
    "empty text is refused" [+Lexical] => empty_text;
    "a match for no hits is refused" [+Lexical] => no_hits;
    "at most k hits are returned, the best" [+Lexical] => at_most_k;
    "signs in the words are no operators" [+Lexical] => no_operators;
    "words of other scripts are found" [+Lexical] => other_scripts;
    "a lexical match finds only drawers that both filters accept" [+Lexical] => finds_accepted_only;
    "a filtered match is the match of a collection that holds only what the filters accept" [+Lexical] => as_if_alone;
    "removed and replaced drawers count no more in the scores of a match" [+Lexical -ReadOnly] => removed_words_are_forgotten;
    "a drawer without a vector is found by its words" [+Lexical] => without_vector;
    "lexical hits hold the fields the request included" [+Lexical] => holds_included_fields;
    "a lexical match sees texts as they are now: replaced, changed and removed" [+Lexical -ReadOnly] => as_they_are;
    "a word deep in a long text is found" [+Lexical] => long_text;
}

fn find_ids(collection: &dyn loci_core::Collection, words: &str) -> CaseOutcome<Vec<String>> {
    let hits = collection.lexical(&LexicalRequest::for_words(words, 100))?;
    // Checked in every case that uses this; the ids are then sorted, because most cases are not about rank.
    ensure!(
        hits.is_sorted_by(|a, b| a.score >= b.score),
        "expected descending scores, found {hits:?}"
    );
    let mut ids: Vec<String> = hits.into_iter().map(|hit| hit.drawer.id.into()).collect();
    ids.sort();
    Ok(ids)
}

fn any_word(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        text_drawer("a", "alpha bravo"),
        text_drawer("b", "kilo lima"),
        text_drawer("c", "papa"),
    ])?;
    same!(find_ids(drawers.as_ref(), "alpha")?, ["a"], "hits of one word");
    // No drawer holds both words: a backend that requires all of them finds nothing.
    same!(
        find_ids(drawers.as_ref(), "bravo kilo")?,
        ["a", "b"],
        "hits of two words"
    );
    same!(
        find_ids(drawers.as_ref(), "nothing there")?,
        Vec::<String>::new(),
        "hits of words that no drawer holds"
    );
    same!(
        find_ids(scene.open_named("empty")?.as_ref(), "alpha")?,
        Vec::<String>::new(),
        "hits in an empty collection"
    );
    Ok(())
}

fn best_first(scene: &CaseScene<'_>) -> CaseOutcome {
    // `alpha` is common and `kilo` rare: by BM25 the rare word counts more, so `rare` beats the ten drawers
    // that hold only `alpha`. Texts are equally long, so length plays no part.
    let common = (0..10).map(|n| text_drawer(&format!("common-{n}"), "alpha golf hotel tango"));
    let rare = [
        text_drawer("both", "alpha kilo golf tango"),
        text_drawer("rare", "kilo golf hotel tango"),
    ];
    let drawers = scene.open_filled(common.chain(rare))?;
    let hits = drawers.lexical(&LexicalRequest::for_words("alpha kilo", 100))?;
    same!(hit_ids(&hits)[..2], ["both", "rare"], "the best hits");
    same!(hits.len(), 12, "hits");
    ensure!(
        hits.is_sorted_by(|a, b| a.score >= b.score),
        "expected descending scores, found {hits:?}"
    );
    Ok(())
}

fn any_case(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "Alpha BRAVO")])?;
    for words in ["alpha", "ALPHA", "bravo", "Bravo"] {
        same!(find_ids(drawers.as_ref(), words)?, ["a"], "hits of {words:?}");
    }
    Ok(())
}

fn no_word(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha ... !"), text_drawer("b", "")])?;
    // Not empty, so not refused, but without a token; some engines report a syntax error for these.
    for words in ["...", "!", "\"", "*", "- ?", "\u{0}"] {
        same!(
            find_ids(drawers.as_ref(), words)?,
            Vec::<String>::new(),
            "hits of {words:?}"
        );
    }
    Ok(())
}

fn empty_text(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha")])?;
    // White space asks for nothing, which is a mistake of the caller rather than a question without an
    // answer.
    for words in ["", " ", "\n\t"] {
        expect_refusal(
            drawers.lexical(&LexicalRequest::for_words(words, 10)),
            ErrorKind::Invalid,
            &["words"],
        )?;
    }
    Ok(())
}

fn no_hits(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha")])?;
    expect_refusal(
        drawers.lexical(&LexicalRequest::for_words("alpha", 0)),
        ErrorKind::Invalid,
        &["hit"],
    )
}

fn at_most_k(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        // In the order of filing the best comes last; cutting at k before ranking returns the wrong two.
        text_drawer("one", "alpha golf hotel tango"),
        text_drawer("two", "alpha alpha hotel tango"),
        text_drawer("three", "alpha alpha alpha tango"),
    ])?;
    let hits = drawers.lexical(&LexicalRequest::for_words("alpha", 2))?;
    same!(hit_ids(&hits), ["three", "two"], "the best two");
    Ok(())
}

fn no_operators(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "alpha bravo"), text_drawer("b", "kilo lima")])?;
    for (words, expected) in [
        // The query languages of FTS5 and Lucene: operators, phrases, prefixes, columns, NEAR, boosts and
        // unbalanced quotes are all plain words here.
        ("alpha AND kilo", vec!["a", "b"]),
        ("alpha NOT bravo", vec!["a"]),
        ("\"kilo alpha\"", vec!["a", "b"]),
        ("alpha*", vec!["a"]),
        // A prefix query would find `a`.
        ("alph*", vec![]),
        ("-alpha", vec!["a"]),
        ("document:alpha", vec!["a"]),
        ("NEAR(alpha kilo)", vec!["a", "b"]),
        ("alpha) OR (kilo", vec!["a", "b"]),
        ("it's \"alpha", vec!["a"]),
        ("alpha^2 + kilo", vec!["a", "b"]),
        ("'; DROP TABLE alpha; --", vec!["a"]),
    ] {
        same!(find_ids(drawers.as_ref(), words)?, expected, "hits of {words:?}");
    }
    Ok(())
}

fn other_scripts(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        // An ASCII tokeniser finds no word in these at all.
        text_drawer("cyrillic", "Привет мир"),
        text_drawer("greek", "Καλημέρα κόσμε"),
        text_drawer("latin", "hello world"),
    ])?;
    same!(
        find_ids(drawers.as_ref(), "мир")?,
        ["cyrillic"],
        "hits of a Cyrillic word"
    );
    same!(
        find_ids(drawers.as_ref(), "κόσμε")?,
        ["greek"],
        "hits of a Greek word"
    );
    Ok(())
}

fn finds_accepted_only(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(
        ["a", "b", "c", "d"].map(|called| wing_drawer(called, if called < "c" { "x" } else { "y" })),
    )?;
    // With k = 1 and a text shared by all, a backend that filters after cutting returns nothing.
    let request = LexicalRequest {
        filter: Filter::text_equals("wing", "y"),
        ..LexicalRequest::for_words("text", 1)
    };
    let hits = drawers.lexical(&request)?;
    same!(hits.len(), 1, "hits");
    same!(hits[0].drawer.place.wing.as_deref(), Some("y"), "wing of the hit");
    let both = LexicalRequest {
        document: DocumentFilter::NotContains("of c".into()),
        k: 10,
        ..request
    };
    same!(
        hit_ids(&drawers.lexical(&both)?),
        ["d"],
        "hits under both filters"
    );
    Ok(())
}

/// Drawers of three wings that differ in the rarity of their words and the length of their texts.
fn uneven_drawers() -> Vec<NewDrawer> {
    // Lengths and word counts vary with n, so that average length and document frequency differ between any
    // two subsets; equal statistics would hide a score taken over the wrong set.
    let text = |n: usize| match n % 3 {
        0 => format!("alpha {} tango", "golf ".repeat(1 + n % 5)),
        1 => format!("kilo alpha {}", "alpha hotel ".repeat(n % 7)),
        _ => format!("bravo {} kilo kilo", "hotel ".repeat(n)),
    };
    let place = |n: usize| DrawerPlace {
        // Not aligned with the texts, which repeat every three.
        wing: Some(["x", "y", "z"][n * n % 7 % 3].to_owned()),
        ..DrawerPlace::default()
    };
    let drawer = |n: usize| NewDrawer {
        place: place(n),
        ..text_drawer(&format!("d{n:02}"), &text(n))
    };
    (0..40).map(drawer).collect()
}

/// Returns the ids and scores of a match; scores as bits, because they must be identical.
fn read_scores(
    collection: &dyn loci_core::Collection,
    request: &LexicalRequest,
) -> CaseOutcome<Vec<(String, u32)>> {
    let hits = collection.lexical(request)?;
    let mut told: Vec<(String, u32)> = hits
        .into_iter()
        .map(|hit| (hit.drawer.id.into(), hit.score.to_bits()))
        .collect();
    // Of equal scores either may come first.
    told.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(told)
}

fn as_if_alone(scene: &CaseScene<'_>) -> CaseOutcome {
    // Scores over the whole collection would reveal, by their size, how often a word occurs in drawers that
    // the filter hides.
    let all = scene.open_filled(uneven_drawers())?;
    let filters = [
        (Filter::text_equals("wing", "x"), DocumentFilter::All),
        (Filter::text_equals("wing", "y"), DocumentFilter::All),
        (parse_filter(r#"{"wing": {"$ne": "x"}}"#), DocumentFilter::All),
        (
            parse_filter(r#"{"wing": {"$in": ["x", "z"]}}"#),
            DocumentFilter::NotContains("tango".into()),
        ),
        (Filter::All, DocumentFilter::Contains("kilo".into())),
    ];
    for (n, (filter, document)) in filters.into_iter().enumerate() {
        let accepted: Vec<NewDrawer> = uneven_drawers()
            .into_iter()
            // Filters are defined on stored drawers; the time of filing is irrelevant to these.
            .filter(|new| {
                new.to_filed_drawer(parse_time("2026-01-01T00:00:00Z"))
                    .is_ok_and(|drawer| filter.accepts(&drawer))
            })
            .filter(|new| document.accepts(&new.document))
            .collect();
        // A filter that takes all or nothing would make the comparison trivial.
        ensure!(
            !accepted.is_empty() && accepted.len() < 40,
            "the filters take some"
        );
        let alone = scene.fill_in(&scene.palace(), &format!("alone-{n}"), accepted)?;
        for words in ["alpha", "kilo golf", "alpha kilo hotel bravo tango"] {
            let request = LexicalRequest {
                filter: filter.clone(),
                document: document.clone(),
                ..LexicalRequest::for_words(words, 100)
            };
            let found = read_scores(all.as_ref(), &request)?;
            same!(
                found,
                read_scores(alone.as_ref(), &LexicalRequest::for_words(words, 100))?,
                "ids and scores of {words:?} under {filter:?} and {document:?}"
            );
            ensure!(!found.is_empty() || words == "kilo golf", "some drawers match");
        }
    }
    Ok(())
}

fn removed_words_are_forgotten(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(uneven_drawers())?;
    let gone = |n: usize| n % 4 == 1;
    for n in (0..40).filter(|n| gone(*n)) {
        drawers.delete_drawer(id(&format!("d{n:02}")))?;
    }
    // One replaced drawer besides the removed ones: its old length and words must leave the statistics,
    // too.
    drawers.apply_batch(&[Write::Upsert(text_drawer("d02", "alpha lima"))])?;
    let stay = uneven_drawers()
        .into_iter()
        .enumerate()
        .filter(|(n, _)| !gone(*n));
    let stay = stay.map(|(n, drawer)| {
        if n == 2 {
            text_drawer("d02", "alpha lima")
        } else {
            drawer
        }
    });
    // A collection that never held the others is the measure, since statistics are otherwise invisible.
    let alone = scene.fill_in(&scene.palace(), "alone", stay)?;
    for words in ["alpha", "kilo hotel", "lima alpha bravo"] {
        let request = LexicalRequest::for_words(words, 100);
        same!(
            read_scores(drawers.as_ref(), &request)?,
            read_scores(alone.as_ref(), &request)?,
            "ids and scores of {words:?}"
        );
    }
    Ok(())
}

fn without_vector(scene: &CaseScene<'_>) -> CaseOutcome {
    // A join of the word index with the vectors would lose `b`.
    let given = [
        scene.fit_drawer(vector_drawer("a", "alpha", &[1.0, 0.0, 0.0, 0.0])),
        text_drawer("b", "alpha"),
    ];
    same!(
        find_ids(scene.open_filled(given)?.as_ref(), "alpha")?,
        ["a", "b"],
        "hits"
    );
    Ok(())
}

fn holds_included_fields(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([NewDrawer {
        metadata: loci_core::Metadata::new().with_entry("n", 1_i64),
        ..text_drawer("a", "alpha")
    }])?;
    let usual = drawers.lexical(&LexicalRequest::for_words("alpha", 1))?;
    same!(usual[0].drawer.document.as_deref(), Some("alpha"), "document");
    ensure!(
        usual[0].drawer.metadata.is_some(),
        "expected metadata, found none"
    );
    let bare = drawers.lexical(&LexicalRequest {
        include: DrawerFields::NOTHING,
        ..LexicalRequest::for_words("alpha", 1)
    })?;
    let bare = &bare[0].drawer;
    same!(
        (&bare.document, &bare.metadata),
        (&None, &None),
        "fields that were not asked for"
    );
    Ok(())
}

fn as_they_are(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        text_drawer("a", "alpha"),
        text_drawer("b", "bravo"),
        text_drawer("c", "kilo"),
    ])?;
    let patch = DrawerPatch {
        document: Some("papa".into()),
        ..DrawerPatch::new(id("b"))
    };
    drawers.apply_batch(&[Write::Upsert(text_drawer("a", "lima")), Write::Update(patch)])?;
    drawers.delete_drawer(id("c"))?;
    for (words, expected) in [
        // None of the old words may be left: the first was replaced, the second changed, the third removed.
        ("alpha bravo kilo", vec![]),
        ("lima", vec!["a"]),
        ("papa", vec!["b"]),
    ] {
        same!(find_ids(drawers.as_ref(), words)?, expected, "hits of {words:?}");
        same!(
            find_ids(scene.open_elsewhere()?.as_ref(), words)?,
            expected,
            "hits of {words:?} in another process"
        );
    }
    Ok(())
}

fn long_text(scene: &CaseScene<'_>) -> CaseOutcome {
    // The word stands after some 240 kB: an index that reads only the beginning of a text loses it.
    let text = format!(
        "{} kilo {}",
        "alpha bravo ".repeat(20_000),
        "golf hotel ".repeat(20_000)
    );
    let drawers = scene.open_filled([text_drawer("long", &text), text_drawer("short", "lima")])?;
    same!(find_ids(drawers.as_ref(), "kilo")?, ["long"], "hits");
    Ok(())
}
