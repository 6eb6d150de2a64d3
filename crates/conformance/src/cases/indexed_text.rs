//! Context beside the document: indexed with it, kept with the row, never returned as the document.

use loci_core::{
    CollectionExt, DocumentFilter, DrawerContext, DrawerFields, DrawerPatch, GetRequest, LexicalRequest,
    NewDrawer, Write,
};

use crate::samples::{drawer_ids, hit_ids, id, read_fields, text_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "indexed_text":
    "context is never returned as the document" [] => never_the_document;
    "context is kept with the row, or not at all" [] => kept_or_not;
    "context that is kept is indexed with the document" [+Lexical] => kept_context_is_indexed;
    "context that is changed is indexed anew" [+Lexical -ReadOnly] => indexed_anew;
    "document filters see the document, not its context" [] => not_filtered;
}

/// Text, metadata and context.
const WITH_CONTEXT: DrawerFields = DrawerFields {
    embedding: false,
    ..DrawerFields::EVERYTHING
};

fn drawer_with_context(called: &str) -> NewDrawer {
    NewDrawer {
        context: Some(DrawerContext {
            // Words that do not occur in the document, so that a hit can only come from the context.
            before: "Heading bravo".into(),
            after: "kilo follows".into(),
        }),
        ..text_drawer(called, "alpha text")
    }
}

/// Returns the context that the backend stored for a drawer; `None` if it does not store context.
fn read_kept_context(scene: &CaseScene<'_>) -> CaseOutcome<Option<DrawerContext>> {
    let drawers = scene.open_filled([drawer_with_context("a"), text_drawer("b", "alpha text")])?;
    let context = read_fields(drawers.as_ref(), "a", WITH_CONTEXT)?.context;
    // A drawer without context must not inherit that of its neighbour in the same batch.
    same!(
        read_fields(drawers.as_ref(), "b", WITH_CONTEXT)?.context,
        None,
        "context of a drawer without"
    );
    Ok(context)
}

fn never_the_document(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([drawer_with_context("a")])?;
    let found = read_fields(drawers.as_ref(), "a", WITH_CONTEXT)?;
    // A backend that concatenates context and text for its index must not return the concatenation as the
    // verbatim text.
    same!(found.document.as_deref(), Some("alpha text"), "document");
    let found = read_fields(drawers.as_ref(), "a", DrawerFields::default())?;
    same!(found.context, None, "context that was not asked for");
    Ok(())
}

fn kept_or_not(scene: &CaseScene<'_>) -> CaseOutcome {
    // Dropping context is allowed, changing it is not.
    if let Some(context) = read_kept_context(scene)? {
        same!(Some(context), drawer_with_context("a").context, "context");
    }
    Ok(())
}

fn kept_context_is_indexed(scene: &CaseScene<'_>) -> CaseOutcome {
    // The index and the row must agree: context that is searchable but not stored could not be rebuilt from
    // the rows.
    let expected: Vec<&str> = match read_kept_context(scene)? {
        Some(_) => vec!["a"],
        None => Vec::new(),
    };
    let drawers = scene.open()?;
    for word in ["bravo", "kilo"] {
        let found = drawers.lexical(&LexicalRequest::for_words(word, 10))?;
        same!(
            hit_ids(&found),
            expected,
            "drawers found by the word {word:?} of the context"
        );
    }
    let found = drawers.lexical(&LexicalRequest::for_words("alpha", 10))?;
    same!(found.len(), 2, "drawers found by a word of the document");
    let texts: Vec<_> = found.iter().map(|hit| hit.drawer.document.as_deref()).collect();
    same!(texts, [Some("alpha text"); 2], "documents");
    Ok(())
}

fn indexed_anew(scene: &CaseScene<'_>) -> CaseOutcome {
    let keeps = read_kept_context(scene)?.is_some();
    let drawers = scene.open()?;
    let patch = DrawerPatch {
        context: Some(DrawerContext {
            before: "papa".into(),
            after: String::new(),
        }),
        ..DrawerPatch::new(id("a"))
    };
    drawers.apply_batch(&[Write::Update(patch)])?;
    let found = |word: &str| {
        drawers
            .lexical(&LexicalRequest::for_words(word, 10))
            .map(|hits| hits.len())
    };
    same!(
        found("papa")?,
        usize::from(keeps),
        "drawers found by the new context"
    );
    // Words of the old context would be ghosts in the index.
    same!(found("bravo")?, 0, "drawers found by the old context");
    // The document stays the same, so a backend that reindexes only when the text changes keeps the old
    // words.
    drawers.upsert_drawer(text_drawer("a", "alpha text"))?;
    same!(
        found("papa")?,
        0,
        "drawers found by the context of a drawer replaced by one without"
    );
    Ok(())
}

fn not_filtered(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([drawer_with_context("a"), text_drawer("b", "bravo")])?;
    let found = drawers.get(&GetRequest {
        document: DocumentFilter::Contains("bravo".into()),
        ..GetRequest::default()
    })?;
    same!(drawer_ids(&found), ["b"], "drawers whose text holds the word");
    Ok(())
}
