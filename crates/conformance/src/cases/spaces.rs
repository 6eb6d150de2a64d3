//! Writes while a collection holds several spaces: each is kept right, whichever of them answers.

use std::collections::BTreeMap;
use std::sync::Arc;

use loci_core::{Collection, CollectionExt, Context, Patch, Selection, Switch, Value, Write};

use crate::samples::{delete, filter, id, one, plain, vectored};
use crate::turning::{ASKED, answers, declaring, fill_all, house, lacking_ids, newer, switch_over};
use crate::{Outcome, Scene};

cases! { "spaces":
    "a drawer removed during a switch is found in no space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => removed;
    "drawers removed by a filter are found in no space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => removed_by_filter;
    "a drawer replaced during a switch has no vector of the old text in any space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => replaced;
    "a new text removes the vectors of the old one from every space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_text;
    "a new context removes the vectors from the spaces that do not answer" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_context;
    "new metadata keeps the vectors in every space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_metadata;
    "a new vector keeps the vectors in the other spaces" [+Spaces +EmbeddingsPassthrough -ReadOnly] => new_vector;
    "a retired space is kept right by every write" [+Spaces +EmbeddingsPassthrough -ReadOnly] => retired;
    "an abandoned space is kept right by every write" [+Spaces +EmbeddingsPassthrough -ReadOnly] => abandoned;
    "a drawer removed and filed again is pending in every other space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => filed_again;
    "maintenance leaves every space as it is" [+Spaces +EmbeddingsPassthrough -ReadOnly] => maintained;
}

/// A house with a space for the new model that has every vector and is not finished.
fn nearly(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let house = house(scene)?;
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    fill_all(house.as_ref(), &newer())?;
    Ok(house)
}

/// What the new model answers, once it may, and then the old one again.
fn both(house: &dyn Collection) -> Outcome<[Vec<String>; 2]> {
    house.require_spaces()?.take_step(&Switch::Finish)?;
    let new = answers(house)?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    Ok([new, answers(house)?])
}

fn vectors(house: &dyn Collection) -> Outcome<Vec<u64>> {
    Ok(house
        .require_spaces()?
        .list_spaces()?
        .iter()
        .map(|space| space.vectors)
        .collect())
}

fn removed(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.delete(id("b"))?;
    same!(vectors(house.as_ref())?, [2, 2], "vectors of each space");
    same!(
        both(house.as_ref())?,
        [["c", "a"], ["a", "c"]],
        "hits of both models"
    );
    Ok(())
}

fn removed_by_filter(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.apply_batch(&[marked("c")])?;
    house.apply_batch(&[Write::Delete(Selection::Matching(
        filter(r#"{"mark":true}"#).into(),
    ))])?;
    same!(
        both(house.as_ref())?,
        [["b", "a"], ["a", "b"]],
        "hits of both models"
    );
    Ok(())
}

/// A change of metadata alone.
fn marked(called: &str) -> Write {
    Write::Update(Patch {
        metadata: BTreeMap::from([("mark".to_owned(), Some(Value::from(true)))]),
        ..Patch::new(id(called))
    })
}

/// A change of text alone.
fn reworded(called: &str) -> Write {
    Write::Update(Patch {
        document: Some("another".into()),
        ..Patch::new(id(called))
    })
}

fn replaced(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.upsert(vectored("b", "another", &[1.0, 0.05, 0.0, 0.0]))?;
    same!(lacking_ids(house.as_ref(), &newer())?, ["b"], "pending drawers");
    fill_all(house.as_ref(), &newer())?;
    same!(
        both(house.as_ref())?,
        [["c", "a", "b"], ["a", "b", "c"]],
        "hits of both models"
    );
    Ok(())
}

fn new_text(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.apply_batch(&[reworded("b")])?;
    same!(vectors(house.as_ref())?, [2, 2], "vectors of each space");
    for of in [newer(), scene.model()] {
        same!(lacking_ids(house.as_ref(), &of)?, ["b"], "pending for {of}");
    }
    fill_all(house.as_ref(), &newer())?;
    let [new, old] = both(house.as_ref())?;
    same!(new, ["c", "a", "b"], "hits by the new model");
    same!(old, ["a", "c"], "hits by the old model");
    Ok(())
}

fn new_context(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    let context = Context {
        before: "above".into(),
        after: String::new(),
    };
    house.apply_batch(&[Write::Update(Patch {
        context: Some(context),
        ..Patch::new(id("b"))
    })])?;
    if one(house.as_ref(), "b", scene.everything())?.context.is_none() {
        // A backend without room for context indexes the document, which is as it was.
        return Ok(());
    }
    same!(lacking_ids(house.as_ref(), &newer())?, ["b"], "pending drawers");
    fill_all(house.as_ref(), &newer())?;
    same!(both(house.as_ref())?[0], ["c", "a", "b"], "hits by the new model");
    Ok(())
}

fn new_metadata(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.apply_batch(&[marked("b")])?;
    same!(lacking_ids(house.as_ref(), &newer())?.len(), 0, "pending drawers");
    same!(
        both(house.as_ref())?,
        [["b", "c", "a"], ["a", "c", "b"]],
        "hits of both models"
    );
    Ok(())
}

fn new_vector(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.apply_batch(&[Write::Update(Patch {
        embedding: Some(vec![1.0, 0.05, 0.0, 0.0]),
        ..Patch::new(id("b"))
    })])?;
    same!(lacking_ids(house.as_ref(), &newer())?.len(), 0, "pending drawers");
    same!(
        both(house.as_ref())?,
        [["b", "c", "a"], ["a", "b", "c"]],
        "hits of both models"
    );
    Ok(())
}

/// Changes every drawer in a way of its own, by a handle of the active model.
fn change_all(house: &dyn Collection) -> Outcome {
    let new_vector = Patch {
        embedding: Some(ASKED.to_vec()),
        ..Patch::new(id("c"))
    };
    house.apply_batch(&[
        delete("a"),
        reworded("b"),
        Write::Update(new_vector),
        Write::Add(plain("d", "filed since")),
    ])?;
    Ok(())
}

fn retired(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    switch_over(house.as_ref())?;
    change_all(declaring(scene, Some(newer()))?.as_ref())?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    same!(answers(house.as_ref())?, ["c"], "hits by the old model");
    same!(
        lacking_ids(house.as_ref(), &scene.model())?,
        ["b", "d"],
        "pending for the old model"
    );
    Ok(())
}

fn abandoned(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    change_all(house.as_ref())?;
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    same!(
        lacking_ids(house.as_ref(), &newer())?,
        ["b", "d"],
        "pending for the new model"
    );
    fill_all(house.as_ref(), &newer())?;
    house.require_spaces()?.take_step(&Switch::Finish)?;
    let mut found = answers(house.as_ref())?;
    same!(found.remove(0), "c", "the nearest by the new model");
    found.sort();
    same!(found, ["b", "d"], "the others");
    Ok(())
}

fn filed_again(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.delete(id("b"))?;
    house.add(vectored("b", "text of b", &ASKED))?;
    same!(lacking_ids(house.as_ref(), &newer())?, ["b"], "pending drawers");
    fill_all(house.as_ref(), &newer())?;
    same!(both(house.as_ref())?[0], ["b", "c", "a"], "hits by the new model");
    Ok(())
}

fn maintained(scene: &Scene<'_>) -> Outcome {
    let house = nearly(scene)?;
    house.delete(id("c"))?;
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
        both(house.as_ref())?,
        [["b", "a"], ["a", "b"]],
        "hits of both models"
    );
    Ok(())
}
