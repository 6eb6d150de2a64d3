//! Lexical match: any of the words, best first, over the whole collection.

use loci_core::{
    CollectionExt, DocumentFilter, ErrorKind, Filter, Include, Lexical, NewDrawer, Patch, Write,
};

use crate::case::refused;
use crate::samples::{hit_ids, id, plain, vectored, winged};
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
    drawers.apply(&[Write::Upsert(plain("a", "lima")), Write::Update(patch)])?;
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
