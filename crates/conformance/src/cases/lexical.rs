//! Lexical match: any of the words, best first, among what the filters accept.

use loci_core::{
    CollectionExt, DocumentFilter, ErrorKind, Filter, Include, Lexical, NewDrawer, Patch, Place, Write,
};

use crate::case::refused;
use crate::samples::{filter, hit_ids, id, plain, time, vectored, winged};
use crate::{Outcome, Scene};

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
    "a lexical match finds only drawers that both filters accept" [+Lexical] => filtered;
    "a filtered match is the match of a collection that holds only what the filters accept" [+Lexical] => as_if_alone;
    "removed and replaced drawers count no more in the scores of a match" [+Lexical -ReadOnly] => forgotten;
    "a drawer without a vector is found by its words" [+Lexical] => without_vector;
    "lexical hits hold the fields the request included" [+Lexical] => included;
    "a lexical match sees texts as they are now: replaced, changed and removed" [+Lexical -ReadOnly] => as_they_are;
    "a word deep in a long text is found" [+Lexical] => long_text;
}

fn found(collection: &dyn loci_core::Collection, words: &str) -> Outcome<Vec<String>> {
    let hits = collection.lexical(&Lexical::words(words, 100))?;
    ensure!(
        hits.is_sorted_by(|a, b| a.score >= b.score),
        "expected descending scores, found {hits:?}"
    );
    let mut ids: Vec<String> = hits.into_iter().map(|hit| hit.drawer.id.into()).collect();
    ids.sort();
    Ok(ids)
}

fn any_word(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        plain("a", "alpha bravo"),
        plain("b", "kilo lima"),
        plain("c", "papa"),
    ])?;
    same!(found(drawers.as_ref(), "alpha")?, ["a"], "hits of one word");
    same!(
        found(drawers.as_ref(), "bravo kilo")?,
        ["a", "b"],
        "hits of two words"
    );
    same!(
        found(drawers.as_ref(), "nothing there")?,
        Vec::<String>::new(),
        "hits of words nobody holds"
    );
    same!(
        found(scene.open_named("empty")?.as_ref(), "alpha")?,
        Vec::<String>::new(),
        "hits in an empty collection"
    );
    Ok(())
}

fn best_first(scene: &Scene<'_>) -> Outcome {
    let common = (0..10).map(|n| plain(&format!("common-{n}"), "alpha golf hotel tango"));
    let rare = [
        plain("both", "alpha kilo golf tango"),
        plain("rare", "kilo golf hotel tango"),
    ];
    let drawers = scene.filled(common.chain(rare))?;
    let hits = drawers.lexical(&Lexical::words("alpha kilo", 100))?;
    same!(hit_ids(&hits)[..2], ["both", "rare"], "the best hits");
    same!(hits.len(), 12, "hits");
    ensure!(
        hits.is_sorted_by(|a, b| a.score >= b.score),
        "expected descending scores, found {hits:?}"
    );
    Ok(())
}

fn any_case(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "Alpha BRAVO")])?;
    for words in ["alpha", "ALPHA", "bravo", "Bravo"] {
        same!(found(drawers.as_ref(), words)?, ["a"], "hits of {words:?}");
    }
    Ok(())
}

fn no_word(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha ... !"), plain("b", "")])?;
    for words in ["...", "!", "\"", "*", "- ?", "\u{0}"] {
        same!(
            found(drawers.as_ref(), words)?,
            Vec::<String>::new(),
            "hits of {words:?}"
        );
    }
    Ok(())
}

fn empty_text(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha")])?;
    for words in ["", " ", "\n\t"] {
        refused(
            drawers.lexical(&Lexical::words(words, 10)),
            ErrorKind::Invalid,
            &["words"],
        )?;
    }
    Ok(())
}

fn no_hits(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha")])?;
    refused(
        drawers.lexical(&Lexical::words("alpha", 0)),
        ErrorKind::Invalid,
        &["hit"],
    )
}

fn at_most_k(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        plain("one", "alpha golf hotel tango"),
        plain("two", "alpha alpha hotel tango"),
        plain("three", "alpha alpha alpha tango"),
    ])?;
    let hits = drawers.lexical(&Lexical::words("alpha", 2))?;
    same!(hit_ids(&hits), ["three", "two"], "the best two");
    Ok(())
}

fn no_operators(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha bravo"), plain("b", "kilo lima")])?;
    for (words, expected) in [
        ("alpha AND kilo", vec!["a", "b"]),
        ("alpha NOT bravo", vec!["a"]),
        ("\"kilo alpha\"", vec!["a", "b"]),
        ("alpha*", vec!["a"]),
        ("alph*", vec![]),
        ("-alpha", vec!["a"]),
        ("document:alpha", vec!["a"]),
        ("NEAR(alpha kilo)", vec!["a", "b"]),
        ("alpha) OR (kilo", vec!["a", "b"]),
        ("it's \"alpha", vec!["a"]),
        ("alpha^2 + kilo", vec!["a", "b"]),
        ("'; DROP TABLE alpha; --", vec!["a"]),
    ] {
        same!(found(drawers.as_ref(), words)?, expected, "hits of {words:?}");
    }
    Ok(())
}

fn other_scripts(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        plain("cyrillic", "Привет мир"),
        plain("greek", "Καλημέρα κόσμε"),
        plain("latin", "hello world"),
    ])?;
    same!(
        found(drawers.as_ref(), "мир")?,
        ["cyrillic"],
        "hits of a Cyrillic word"
    );
    same!(
        found(drawers.as_ref(), "κόσμε")?,
        ["greek"],
        "hits of a Greek word"
    );
    Ok(())
}

fn filtered(scene: &Scene<'_>) -> Outcome {
    let drawers = scene
        .filled(["a", "b", "c", "d"].map(|called| winged(called, if called < "c" { "x" } else { "y" })))?;
    let request = Lexical {
        filter: Filter::text("wing", "y"),
        ..Lexical::words("text", 1)
    };
    let hits = drawers.lexical(&request)?;
    same!(hits.len(), 1, "hits");
    same!(hits[0].drawer.place.wing.as_deref(), Some("y"), "wing of the hit");
    let both = Lexical {
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

/// Drawers of three wings in which no word is as rare, and no drawer as long, as in any other.
fn uneven() -> Vec<NewDrawer> {
    let text = |n: usize| match n % 3 {
        0 => format!("alpha {} tango", "golf ".repeat(1 + n % 5)),
        1 => format!("kilo alpha {}", "alpha hotel ".repeat(n % 7)),
        _ => format!("bravo {} kilo kilo", "hotel ".repeat(n)),
    };
    let place = |n: usize| Place {
        wing: Some(["x", "y", "z"][n * n % 7 % 3].to_owned()),
        ..Place::default()
    };
    let drawer = |n: usize| NewDrawer {
        place: place(n),
        ..plain(&format!("d{n:02}"), &text(n))
    };
    (0..40).map(drawer).collect()
}

/// Ids and scores of a match, which must be the same to the last bit.
fn scored(collection: &dyn loci_core::Collection, request: &Lexical) -> Outcome<Vec<(String, u32)>> {
    let hits = collection.lexical(request)?;
    let mut told: Vec<(String, u32)> = hits
        .into_iter()
        .map(|hit| (hit.drawer.id.into(), hit.score.to_bits()))
        .collect();
    // Of equal scores either may come first.
    told.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    Ok(told)
}

fn as_if_alone(scene: &Scene<'_>) -> Outcome {
    let all = scene.filled(uneven())?;
    let filters = [
        (Filter::text("wing", "x"), DocumentFilter::All),
        (Filter::text("wing", "y"), DocumentFilter::All),
        (filter(r#"{"wing": {"$ne": "x"}}"#), DocumentFilter::All),
        (
            filter(r#"{"wing": {"$in": ["x", "z"]}}"#),
            DocumentFilter::NotContains("tango".into()),
        ),
        (Filter::All, DocumentFilter::Contains("kilo".into())),
    ];
    for (n, (filter, document)) in filters.into_iter().enumerate() {
        let accepted: Vec<NewDrawer> = uneven()
            .into_iter()
            .filter(|new| {
                new.filed(time("2026-01-01T00:00:00Z"))
                    .is_ok_and(|drawer| filter.accepts(&drawer))
            })
            .filter(|new| document.accepts(&new.document))
            .collect();
        ensure!(
            !accepted.is_empty() && accepted.len() < 40,
            "the filters take some"
        );
        let alone = scene.fill_in(&scene.palace(), &format!("alone-{n}"), accepted)?;
        for words in ["alpha", "kilo golf", "alpha kilo hotel bravo tango"] {
            let request = Lexical {
                filter: filter.clone(),
                document: document.clone(),
                ..Lexical::words(words, 100)
            };
            let found = scored(all.as_ref(), &request)?;
            same!(
                found,
                scored(alone.as_ref(), &Lexical::words(words, 100))?,
                "ids and scores of {words:?} under {filter:?} and {document:?}"
            );
            ensure!(!found.is_empty() || words == "kilo golf", "some drawers match");
        }
    }
    Ok(())
}

fn forgotten(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(uneven())?;
    let gone = |n: usize| n % 4 == 1;
    for n in (0..40).filter(|n| gone(*n)) {
        drawers.delete(id(&format!("d{n:02}")))?;
    }
    drawers.apply_batch(&[Write::Upsert(plain("d02", "alpha lima"))])?;
    let stay = uneven().into_iter().enumerate().filter(|(n, _)| !gone(*n));
    let stay = stay.map(|(n, drawer)| {
        if n == 2 {
            plain("d02", "alpha lima")
        } else {
            drawer
        }
    });
    let alone = scene.fill_in(&scene.palace(), "alone", stay)?;
    for words in ["alpha", "kilo hotel", "lima alpha bravo"] {
        let request = Lexical::words(words, 100);
        same!(
            scored(drawers.as_ref(), &request)?,
            scored(alone.as_ref(), &request)?,
            "ids and scores of {words:?}"
        );
    }
    Ok(())
}

fn without_vector(scene: &Scene<'_>) -> Outcome {
    let given = [
        scene.fit(vectored("a", "alpha", &[1.0, 0.0, 0.0, 0.0])),
        plain("b", "alpha"),
    ];
    same!(found(scene.filled(given)?.as_ref(), "alpha")?, ["a", "b"], "hits");
    Ok(())
}

fn included(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([NewDrawer {
        metadata: loci_core::Metadata::new().with("n", 1_i64),
        ..plain("a", "alpha")
    }])?;
    let usual = drawers.lexical(&Lexical::words("alpha", 1))?;
    same!(usual[0].drawer.document.as_deref(), Some("alpha"), "document");
    ensure!(
        usual[0].drawer.metadata.is_some(),
        "expected metadata, found none"
    );
    let bare = drawers.lexical(&Lexical {
        include: Include::NOTHING,
        ..Lexical::words("alpha", 1)
    })?;
    let bare = &bare[0].drawer;
    same!(
        (&bare.document, &bare.metadata),
        (&None, &None),
        "fields that were not asked for"
    );
    Ok(())
}

fn as_they_are(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "alpha"), plain("b", "bravo"), plain("c", "kilo")])?;
    let patch = Patch {
        document: Some("papa".into()),
        ..Patch::new(id("b"))
    };
    drawers.apply_batch(&[Write::Upsert(plain("a", "lima")), Write::Update(patch)])?;
    drawers.delete(id("c"))?;
    for (words, expected) in [
        ("alpha bravo kilo", vec![]),
        ("lima", vec!["a"]),
        ("papa", vec!["b"]),
    ] {
        same!(found(drawers.as_ref(), words)?, expected, "hits of {words:?}");
        same!(
            found(scene.open_elsewhere()?.as_ref(), words)?,
            expected,
            "hits of {words:?} in another process"
        );
    }
    Ok(())
}

fn long_text(scene: &Scene<'_>) -> Outcome {
    let text = format!(
        "{} kilo {}",
        "alpha bravo ".repeat(20_000),
        "golf hotel ".repeat(20_000)
    );
    let drawers = scene.filled([plain("long", &text), plain("short", "lima")])?;
    same!(found(drawers.as_ref(), "kilo")?, ["long"], "hits");
    Ok(())
}
