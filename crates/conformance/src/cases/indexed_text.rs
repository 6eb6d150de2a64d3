//! Context beside the document: indexed with it, kept with the row, never returned as the document.

use loci_core::{CollectionExt, Context, DocumentFilter, Get, Include, Lexical, NewDrawer, Patch, Write};

use crate::samples::{hit_ids, id, ids, one, plain};
use crate::{Outcome, Scene};

cases! { "indexed_text":
    "context is never returned as the document" [] => never_the_document;
    "context is kept with the row, or not at all" [] => kept_or_not;
    "context that is kept is indexed with the document" [+Lexical] => indexed;
    "context that is changed is indexed anew" [+Lexical -ReadOnly] => indexed_anew;
    "document filters see the document, not its context" [] => not_filtered;
}

/// Text, metadata and context.
const WITH_CONTEXT: Include = Include {
    embedding: false,
    ..Include::EVERYTHING
};

fn around(called: &str) -> NewDrawer {
    NewDrawer {
        context: Some(Context {
            before: "Heading bravo".into(),
            after: "kilo follows".into(),
        }),
        ..plain(called, "alpha text")
    }
}

/// What the backend gives back of the context of a drawer; `None` where it has no room for it.
fn kept(scene: &Scene<'_>) -> Outcome<Option<Context>> {
    let drawers = scene.filled([around("a"), plain("b", "alpha text")])?;
    let context = one(drawers.as_ref(), "a", WITH_CONTEXT)?.context;
    same!(
        one(drawers.as_ref(), "b", WITH_CONTEXT)?.context,
        None,
        "context of a drawer without"
    );
    Ok(context)
}

fn never_the_document(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([around("a")])?;
    let found = one(drawers.as_ref(), "a", WITH_CONTEXT)?;
    same!(found.document.as_deref(), Some("alpha text"), "document");
    let found = one(drawers.as_ref(), "a", Include::default())?;
    same!(found.context, None, "context that was not asked for");
    Ok(())
}

fn kept_or_not(scene: &Scene<'_>) -> Outcome {
    if let Some(context) = kept(scene)? {
        same!(Some(context), around("a").context, "context");
    }
    Ok(())
}

fn indexed(scene: &Scene<'_>) -> Outcome {
    let expected: Vec<&str> = match kept(scene)? {
        Some(_) => vec!["a"],
        None => Vec::new(),
    };
    let drawers = scene.open()?;
    for word in ["bravo", "kilo"] {
        let found = drawers.lexical(&Lexical::words(word, 10))?;
        same!(
            hit_ids(&found),
            expected,
            "drawers found by the word {word:?} of the context"
        );
    }
    let found = drawers.lexical(&Lexical::words("alpha", 10))?;
    same!(found.len(), 2, "drawers found by a word of the document");
    let texts: Vec<_> = found.iter().map(|hit| hit.drawer.document.as_deref()).collect();
    same!(texts, [Some("alpha text"); 2], "documents");
    Ok(())
}

fn indexed_anew(scene: &Scene<'_>) -> Outcome {
    let keeps = kept(scene)?.is_some();
    let drawers = scene.open()?;
    let patch = Patch {
        context: Some(Context {
            before: "papa".into(),
            after: String::new(),
        }),
        ..Patch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(patch)])?;
    let found = |word: &str| drawers.lexical(&Lexical::words(word, 10)).map(|hits| hits.len());
    same!(
        found("papa")?,
        usize::from(keeps),
        "drawers found by the new context"
    );
    same!(found("bravo")?, 0, "drawers found by the old context");
    drawers.upsert(plain("a", "alpha text"))?;
    same!(
        found("papa")?,
        0,
        "drawers found by the context of a drawer replaced by one without"
    );
    Ok(())
}

fn not_filtered(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([around("a"), plain("b", "bravo")])?;
    let found = drawers.get(&Get {
        document: DocumentFilter::Contains("bravo".into()),
        ..Get::default()
    })?;
    same!(ids(&found), ["b"], "drawers whose text holds the word");
    Ok(())
}
