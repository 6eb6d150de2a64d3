//! Conditions on metadata and text together: in counts, facets and deletes.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DocumentFilter, DrawerCondition, ErrorKind, FacetCount,
    FacetRequest, Filter, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, id_texts, wing_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "conditions":
    "count counts the drawers that both filters accept" [-EstimatedCount] => count_meets_both;
    "facets count the drawers that both filters accept" [] => facets_meet_both;
    "a delete by condition removes the drawers that both filters accept" [-ReadOnly] => delete_meets_both;
    "a condition on the text alone asks for something" [-ReadOnly] => text_alone_is_enough;
    "a delete by a condition that asks nothing, however it is written, is refused" [-ReadOnly] => refuses_empty_condition;
}

fn open_shelf(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let named = |called: &str, wing: &str, text: &str| {
        let mut drawer = wing_drawer(called, wing);
        drawer.document = text.into();
        drawer
    };
    // `%` and `_` are wildcards in SQL's LIKE, and `Alpha` differs from `alpha` only by case: substring
    // filters that are pushed down to LIKE fail on these.
    scene.open_filled([
        named("a", "x", "100% Alpha"),
        named("b", "x", "alpha_bravo"),
        named("c", "y", "alpha"),
        named("d", "y", ""),
    ])
}

fn wing_condition(wing: Option<&str>, document: DocumentFilter) -> DrawerCondition {
    DrawerCondition {
        filter: wing.map_or(Filter::All, |wing| Filter::text_equals("wing", wing)),
        document,
    }
}

fn text_contains(text: &str) -> DocumentFilter {
    DocumentFilter::Contains(text.into())
}

fn count_meets_both(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_shelf(scene)?;
    let lacks = DocumentFilter::NotContains("alpha".into());
    for (condition, expected) in [
        // Case-sensitive: the `Alpha` of the first drawer does not count.
        (wing_condition(None, text_contains("alpha")), 2),
        (wing_condition(Some("x"), text_contains("alpha")), 1),
        (wing_condition(Some("x"), text_contains("0%")), 1),
        // As a wildcard, `_` would match both drawers of the wing.
        (wing_condition(Some("x"), text_contains("_")), 1),
        // A negation accepts the empty text too; a backend that stores it as NULL would lose it.
        (wing_condition(None, lacks.clone()), 2),
        (wing_condition(Some("y"), lacks), 1),
        (
            wing_condition(
                None,
                DocumentFilter::Or(vec![text_contains("Alpha"), text_contains("bravo")]),
            ),
            2,
        ),
    ] {
        same!(
            drawers.count(&condition)?,
            expected,
            "drawers that meet {condition:?}"
        );
    }
    Ok(())
}

fn facets_meet_both(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_shelf(scene)?;
    let by_wing = |filter: Filter, document: DocumentFilter| FacetRequest {
        by: vec![loci_core::FacetKey::Wing],
        filter,
        document,
    };
    let facet = |wing: &str, drawers| FacetCount {
        values: vec![Some(wing.to_owned())],
        drawers,
    };
    // Facets usually come from precomputed counts, which know nothing of texts; a backend that uses them
    // here ignores the document filter.
    let found = drawers.facets(&by_wing(Filter::All, text_contains("alpha")))?;
    same!(
        found,
        [facet("x", 1), facet("y", 1)],
        "facets of drawers with a word"
    );
    let found = drawers.facets(&by_wing(
        Filter::text_equals("wing", "x"),
        DocumentFilter::NotContains("_".into()),
    ))?;
    same!(found, [facet("x", 1)], "facets under both filters");
    Ok(())
}

fn delete_meets_both(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_shelf(scene)?;
    // `a` meets only the first condition and `c` only the second: a delete that applies one of them removes
    // too much.
    let receipt = drawers.apply_batch(&[Write::Delete(DeleteSelection::Matching(wing_condition(
        Some("x"),
        text_contains("alpha"),
    )))])?;
    same!(id_texts(&receipt.deleted), ["b"], "deleted");
    same!(all_ids(drawers.as_ref())?, ["a", "c", "d"], "ids left");
    Ok(())
}

fn text_alone_is_enough(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_shelf(scene)?;
    // The metadata filter is `All` here, so a check that looks at it alone would refuse the delete as
    // unbounded.
    let receipt = drawers.apply_batch(&[Write::Delete(DeleteSelection::Matching(wing_condition(
        None,
        text_contains("lpha"),
    )))])?;
    same!(receipt.deleted.len(), 3, "deleted");
    same!(all_ids(drawers.as_ref())?, ["d"], "ids left");
    Ok(())
}

fn refuses_empty_condition(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_shelf(scene)?;
    for document in [
        // An empty conjunction and a disjunction with `All` accept every text, so such a delete would empty
        // the collection.
        DocumentFilter::And(Vec::new()),
        DocumentFilter::Or(vec![text_contains("alpha"), DocumentFilter::All]),
    ] {
        let batch = [Write::Delete(DeleteSelection::Matching(wing_condition(
            None, document,
        )))];
        expect_refusal(drawers.apply_batch(&batch), ErrorKind::Invalid, &[])?;
    }
    same!(all_ids(drawers.as_ref())?.len(), 4, "drawers");
    Ok(())
}
