//! Writes while a collection holds several spaces: all of them stay correct, not only the active one.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DrawerContext, DrawerPatch, MetadataValue, SwitchStep, Write,
};

use crate::samples::{delete_write, id, parse_filter, read_fields, text_drawer, vector_drawer};
use crate::switching::{
    QUESTION, fill_all, list_answers, list_lacking_ids, newer_model, open_declaring, open_house, switch_over,
};
use crate::{CaseOutcome, CaseScene};

cases! { "spaces":
    "a drawer removed during a switch is found in no space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => removed_from_every_space;
    "drawers removed by a filter are found in no space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => removed_by_filter;
    "a drawer replaced during a switch has no vector of the old text in any space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => replaced_loses_old_vectors;
    "a new text removes the vectors of the old one from every space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_text;
    "a new context removes the vectors from the spaces that do not answer" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_context;
    "new metadata keeps the vectors in every space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_metadata;
    "a new vector keeps the vectors in the other spaces" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_vector;
    "a retired space is kept right by every write" [+Spaces +EmbeddingsPassthrough -ReadOnly] => retired_space_kept_right;
    "an abandoned space is kept right by every write" [+Spaces +EmbeddingsPassthrough -ReadOnly] => abandoned_space_kept_right;
    "a drawer removed and filed again is pending in every other space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => filed_again;
    "maintenance leaves every space as it is" [+Spaces +EmbeddingsPassthrough -ReadOnly] => maintenance_leaves_spaces;
}

/// A house whose space for the new model is completely filled but not finished.
fn open_nearly_switched(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let house = open_house(scene)?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    fill_all(house.as_ref(), &newer_model())?;
    Ok(house)
}

/// Finishes the switch and returns the answers of the new model, then rolls back and returns those of the old one.
fn answers_of_both(house: &dyn Collection) -> CaseOutcome<[Vec<String>; 2]> {
    house.require_spaces()?.take_step(&SwitchStep::Finish)?;
    let new = list_answers(house)?;
    // Answers of an inactive space can only be seen by making it active.
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    Ok([new, list_answers(house)?])
}

fn count_vectors(house: &dyn Collection) -> CaseOutcome<Vec<u64>> {
    Ok(house
        .require_spaces()?
        .list_spaces()?
        .iter()
        .map(|space| space.vectors)
        .collect())
}

fn removed_from_every_space(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    house.delete_drawer(id("b"))?;
    // A vector left in either space would be a ghost: a hit without a drawer.
    same!(count_vectors(house.as_ref())?, [2, 2], "vectors of each space");
    same!(
        answers_of_both(house.as_ref())?,
        [["c", "a"], ["a", "c"]],
        "hits of both models"
    );
    Ok(())
}

fn removed_by_filter(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    // Deletes by filter run as one statement and may bypass the cleanup that deletes by id do.
    house.apply_batch(&[metadata_change("c")])?;
    house.apply_batch(&[Write::Delete(DeleteSelection::Matching(
        parse_filter(r#"{"mark":true}"#).into(),
    ))])?;
    same!(
        answers_of_both(house.as_ref())?,
        [["b", "a"], ["a", "b"]],
        "hits of both models"
    );
    Ok(())
}

/// A change of metadata alone.
fn metadata_change(called: &str) -> Write {
    Write::Update(DrawerPatch {
        metadata: BTreeMap::from([("mark".to_owned(), Some(MetadataValue::from(true)))]),
        ..DrawerPatch::new(id(called))
    })
}

/// A change of text alone.
fn text_change(called: &str) -> Write {
    Write::Update(DrawerPatch {
        document: Some("another".into()),
        ..DrawerPatch::new(id(called))
    })
}

fn replaced_loses_old_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    house.upsert_drawer(vector_drawer("b", "another", &[1.0, 0.05, 0.0, 0.0]))?;
    same!(
        list_lacking_ids(house.as_ref(), &newer_model())?,
        ["b"],
        "pending drawers"
    );
    // The new model ranks the new text last, so a vector of the old text would be seen in first place.
    fill_all(house.as_ref(), &newer_model())?;
    same!(
        answers_of_both(house.as_ref())?,
        [["c", "a", "b"], ["a", "b", "c"]],
        "hits of both models"
    );
    Ok(())
}

fn new_text(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    house.apply_batch(&[text_change("b")])?;
    same!(count_vectors(house.as_ref())?, [2, 2], "vectors of each space");
    // The active space loses its vector as well, since the update brought none.
    for of in [newer_model(), scene.model()] {
        same!(list_lacking_ids(house.as_ref(), &of)?, ["b"], "pending for {of}");
    }
    fill_all(house.as_ref(), &newer_model())?;
    let [new, old] = answers_of_both(house.as_ref())?;
    same!(new, ["c", "a", "b"], "hits by the new model");
    same!(old, ["a", "c"], "hits by the old model");
    Ok(())
}

fn new_context(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    let context = DrawerContext {
        before: "above".into(),
        after: String::new(),
    };
    house.apply_batch(&[Write::Update(DrawerPatch {
        context: Some(context),
        ..DrawerPatch::new(id("b"))
    })])?;
    if read_fields(house.as_ref(), "b", scene.every_field())?
        .context
        .is_none()
    {
        // A backend without room for context indexes the document, which is as it was.
        return Ok(());
    }
    expect_refill(house.as_ref(), ["c", "a", "b"])
}

/// Checks that only `b` lacks a vector, gives it one, and compares the hits by the new model.
fn expect_refill(house: &dyn Collection, hits: [&str; 3]) -> CaseOutcome {
    same!(list_lacking_ids(house, &newer_model())?, ["b"], "pending drawers");
    fill_all(house, &newer_model())?;
    same!(answers_of_both(house)?[0], hits, "hits by the new model");
    Ok(())
}

fn new_metadata(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    house.apply_batch(&[metadata_change("b")])?;
    // Embedding is expensive: metadata is not part of the embedded text, so nothing may be invalidated.
    same!(
        list_lacking_ids(house.as_ref(), &newer_model())?.len(),
        0,
        "pending drawers"
    );
    same!(
        answers_of_both(house.as_ref())?,
        [["b", "c", "a"], ["a", "c", "b"]],
        "hits of both models"
    );
    Ok(())
}

fn new_vector(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    house.apply_batch(&[Write::Update(DrawerPatch {
        // Written by a handle of the active model, so it says nothing about the other spaces.
        embedding: Some(vec![1.0, 0.05, 0.0, 0.0]),
        ..DrawerPatch::new(id("b"))
    })])?;
    same!(
        list_lacking_ids(house.as_ref(), &newer_model())?.len(),
        0,
        "pending drawers"
    );
    same!(
        answers_of_both(house.as_ref())?,
        [["b", "c", "a"], ["a", "b", "c"]],
        "hits of both models"
    );
    Ok(())
}

/// Changes each drawer in a different way, through a handle of the active model.
fn change_all(house: &dyn Collection) -> CaseOutcome {
    let new_vector = DrawerPatch {
        embedding: Some(QUESTION.to_vec()),
        ..DrawerPatch::new(id("c"))
    };
    // Removal, new text, new vector and a new drawer: after it only `c` may keep its vector in an inactive
    // space.
    house.apply_batch(&[
        delete_write("a"),
        text_change("b"),
        Write::Update(new_vector),
        Write::Add(text_drawer("d", "filed since")),
    ])?;
    Ok(())
}

fn retired_space_kept_right(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    switch_over(house.as_ref())?;
    change_all(open_declaring(scene, Some(newer_model()))?.as_ref())?;
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    same!(list_answers(house.as_ref())?, ["c"], "hits by the old model");
    same!(
        list_lacking_ids(house.as_ref(), &scene.model())?,
        ["b", "d"],
        "pending for the old model"
    );
    Ok(())
}

fn abandoned_space_kept_right(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    change_all(house.as_ref())?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    same!(
        list_lacking_ids(house.as_ref(), &newer_model())?,
        ["b", "d"],
        "pending for the new model"
    );
    fill_all(house.as_ref(), &newer_model())?;
    house.require_spaces()?.take_step(&SwitchStep::Finish)?;
    let mut found = list_answers(house.as_ref())?;
    same!(found.remove(0), "c", "the nearest by the new model");
    found.sort();
    same!(found, ["b", "d"], "the others");
    Ok(())
}

fn filed_again(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    house.delete_drawer(id("b"))?;
    // The same id and text: a vector kept by id would look right here and be wrong for any other text.
    house.add_drawer(vector_drawer("b", "text of b", &QUESTION))?;
    expect_refill(house.as_ref(), ["b", "c", "a"])
}

fn maintenance_leaves_spaces(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_nearly_switched(scene)?;
    // Leaves garbage in both spaces for a compaction to collect.
    house.delete_drawer(id("c"))?;
    let before = house.require_spaces()?.list_spaces()?;
    for kind in &scene.descriptor().maintenance {
        house.require_upkeep()?.run(kind)?;
        same!(
            house.require_spaces()?.list_spaces()?,
            before,
            "spaces after {}",
            kind.name()
        );
    }
    same!(
        answers_of_both(house.as_ref())?,
        [["b", "a"], ["a", "b"]],
        "hits of both models"
    );
    Ok(())
}
