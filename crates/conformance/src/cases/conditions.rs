//! Conditions on metadata and text together: in counts, facets and deletes.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DocumentFilter, DrawerCondition, ErrorKind, Facet, Facets, Filter, Selection,
    Write,
};

use crate::case::refused;
use crate::samples::{all_ids, texts, winged};
use crate::{Outcome, Scene};

cases! { "conditions":
    "count counts the drawers that both filters accept" [-EstimatedCount] => counted;
    "facets count the drawers that both filters accept" [] => faceted;
    "a delete by condition removes the drawers that both filters accept" [-ReadOnly] => deleted;
    "a condition on the text alone asks for something" [-ReadOnly] => text_alone;
    "a delete by a condition that asks nothing, however it is written, is refused" [-ReadOnly] => asks_nothing;
}

fn shelf(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let named = |called: &str, wing: &str, text: &str| {
        let mut drawer = winged(called, wing);
        drawer.document = text.into();
        drawer
    };
    scene.filled([
        named("a", "x", "100% Alpha"),
        named("b", "x", "alpha_bravo"),
        named("c", "y", "alpha"),
        named("d", "y", ""),
    ])
}

fn condition(wing: Option<&str>, document: DocumentFilter) -> DrawerCondition {
    DrawerCondition {
        filter: wing.map_or(Filter::All, |wing| Filter::text("wing", wing)),
        document,
    }
}

fn holds(text: &str) -> DocumentFilter {
    DocumentFilter::Contains(text.into())
}

fn counted(scene: &Scene<'_>) -> Outcome {
    let drawers = shelf(scene)?;
    let lacks = DocumentFilter::NotContains("alpha".into());
    for (condition, expected) in [
        (condition(None, holds("alpha")), 2),
        (condition(Some("x"), holds("alpha")), 1),
        (condition(Some("x"), holds("0%")), 1),
        (condition(Some("x"), holds("_")), 1),
        (condition(None, lacks.clone()), 2),
        (condition(Some("y"), lacks), 1),
        (
            condition(None, DocumentFilter::Or(vec![holds("Alpha"), holds("bravo")])),
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

fn faceted(scene: &Scene<'_>) -> Outcome {
    let drawers = shelf(scene)?;
    let by_wing = |filter: Filter, document: DocumentFilter| Facets {
        by: vec![loci_core::FacetKey::Wing],
        filter,
        document,
    };
    let facet = |wing: &str, drawers| Facet {
        values: vec![Some(wing.to_owned())],
        drawers,
    };
    let found = drawers.facets(&by_wing(Filter::All, holds("alpha")))?;
    same!(
        found,
        [facet("x", 1), facet("y", 1)],
        "facets of drawers with a word"
    );
    let found = drawers.facets(&by_wing(
        Filter::text("wing", "x"),
        DocumentFilter::NotContains("_".into()),
    ))?;
    same!(found, [facet("x", 1)], "facets under both filters");
    Ok(())
}

fn deleted(scene: &Scene<'_>) -> Outcome {
    let drawers = shelf(scene)?;
    let receipt = drawers.apply_batch(&[Write::Delete(Selection::Matching(condition(
        Some("x"),
        holds("alpha"),
    )))])?;
    same!(texts(&receipt.deleted), ["b"], "deleted");
    same!(all_ids(drawers.as_ref())?, ["a", "c", "d"], "ids left");
    Ok(())
}

fn text_alone(scene: &Scene<'_>) -> Outcome {
    let drawers = shelf(scene)?;
    let receipt =
        drawers.apply_batch(&[Write::Delete(Selection::Matching(condition(None, holds("lpha"))))])?;
    same!(receipt.deleted.len(), 3, "deleted");
    same!(all_ids(drawers.as_ref())?, ["d"], "ids left");
    Ok(())
}

fn asks_nothing(scene: &Scene<'_>) -> Outcome {
    let drawers = shelf(scene)?;
    for document in [
        DocumentFilter::And(Vec::new()),
        DocumentFilter::Or(vec![holds("alpha"), DocumentFilter::All]),
    ] {
        let batch = [Write::Delete(Selection::Matching(condition(None, document)))];
        refused(drawers.apply_batch(&batch), ErrorKind::Invalid, &[])?;
    }
    same!(all_ids(drawers.as_ref())?.len(), 4, "drawers");
    Ok(())
}
