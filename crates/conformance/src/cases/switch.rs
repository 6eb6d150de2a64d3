//! A change of model: begun, filled and finished while everybody goes on.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, Cursor, EmbedderIdentity, ErrorKind, Filling, IdentityState, OpenOptions,
    Query, SpaceState, Switch, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, hit_ids, one, plain, vectored};
use crate::scene::{drawers, model};
use crate::turning::{
    ASKED, answers, declaring, embed, fill_all, filling, house, lacking, lacking_ids, line, newer, outline,
    switch_over,
};
use crate::{Outcome, Scene};

cases! { "switch":
    "beginning a switch leaves every answer as it is" [+Spaces +EmbeddingsPassthrough -ReadOnly] => begin_is_silent;
    "the active space is listed first, then the one being built, then older ones, newest first" [+Spaces +EmbeddingsPassthrough -ReadOnly] => listed;
    "no drawer counts as changed by filling or turning over" [+ChangeFeed +Spaces +EmbeddingsPassthrough -ReadOnly] => no_change;
    "while a drawer lacks a vector finish is a conflict that says how many, and nothing changes" [+Spaces +EmbeddingsPassthrough -ReadOnly] => unfinished;
    "a drawer filed during a switch is pending" [+Spaces +EmbeddingsPassthrough -ReadOnly] => filed_during;
    "finish turns every answer over at once, for every handle" [+Spaces +EmbeddingsPassthrough -ReadOnly] => finish_turns;
    "after finish the exact vectors are the new model's" [+EmbeddingsOut +Spaces +EmbeddingsPassthrough -ReadOnly] => vectors_out;
    "after finish a writer of the old model is refused and one of the new model is not" [+Spaces +EmbeddingsPassthrough -ReadOnly] => writers;
    "a collection without vectors can be switched to a model" [+Spaces +EmbeddingsPassthrough -ReadOnly] => from_unset;
    "an unknown model can be switched away from" [+Spaces +EmbeddingsPassthrough -ReadOnly] => from_unknown;
    "an empty collection can be switched" [+Spaces +EmbeddingsPassthrough -ReadOnly] => from_empty;
    "the dimension may differ between spaces" [+Spaces +EmbeddingsPassthrough -ReadOnly] => dimensions;
    "info says to which model a switch is under way" [+Spaces +EmbeddingsPassthrough -ReadOnly] => told;
    "other collections are untouched by a switch" [+Spaces +EmbeddingsPassthrough -ReadOnly] => others_untouched;
}

fn begin_is_silent(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let (answered, before) = (answers(drawers.as_ref())?, drawers.info()?);
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    for reader in [&drawers, &scene.open_elsewhere()?] {
        same!(answers(reader.as_ref())?, answered, "hits during a switch");
        let info = reader.info()?;
        same!(info.identity, before.identity, "identity during a switch");
        same!(
            info.coverage.nearest,
            before.coverage.nearest,
            "drawers with a vector"
        );
    }
    drawers.add(vectored("d", "more", &ASKED))?;
    same!(answers(drawers.as_ref())?.len(), 4, "hits after a write");
    Ok(())
}

fn listed(scene: &Scene<'_>) -> Outcome {
    use SpaceState::{Active, Building, Retired};
    let drawers = house(scene)?;
    same!(
        outline(&drawers.require_spaces()?.list_spaces()?),
        [line("model-a", Active, 3)],
        "spaces"
    );
    let begun = drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    same!(
        begun,
        drawers.require_spaces()?.list_spaces()?,
        "what a step tells and what is listed"
    );
    switch_over(drawers.as_ref())?;
    drawers
        .require_spaces()?
        .take_step(&Switch::Begin(model("model-c")))?;
    fill_all(drawers.as_ref(), &model("model-c"))?;
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    let spaces = drawers
        .require_spaces()?
        .take_step(&Switch::Begin(model("model-d")))?;
    let expected = [
        line("model-c", Active, 3),
        line("model-d", Building, 0),
        line("model-b", Retired, 3),
        line("model-a", Retired, 3),
    ];
    same!(outline(&spaces), expected, "spaces");
    same!(
        outline(&scene.open_named("others")?.require_spaces()?.list_spaces()?).len(),
        1,
        "spaces of another collection"
    );
    same!(
        (spaces[1].drawers, spaces[1].missing()),
        (3, 3),
        "drawers of a space, and those it lacks"
    );
    Ok(())
}

fn no_change(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let info = drawers.info()?;
    switch_over(drawers.as_ref())?;
    let after = drawers.require_feed()?.changes_since(info.seq, 10)?;
    same!(after.changes, Vec::new(), "changes by a switch");
    same!(drawers.info()?.seq, info.seq, "the newest change");
    same!(
        drawers
            .require_feed()?
            .changes_since(Cursor(0), 10)?
            .changes
            .len(),
        3,
        "changes in all"
    );
    drawers.require_spaces()?.take_step(&Switch::Rollback)?;
    same!(
        drawers.require_feed()?.changes_since(info.seq, 10)?.changes,
        Vec::new(),
        "changes by a rollback"
    );
    Ok(())
}

fn unfinished(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    refused(
        drawers.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &[],
    )?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    refused(
        drawers.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &["3"],
    )?;
    let one = [filling(&lacking(drawers.as_ref(), &newer())?[0])];
    drawers.require_spaces()?.fill_vectors(&newer(), &one)?;
    let before = drawers.require_spaces()?.list_spaces()?;
    refused(
        drawers.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &["2"],
    )?;
    same!(
        drawers.require_spaces()?.list_spaces()?,
        before,
        "spaces after a refusal"
    );
    same!(answers(drawers.as_ref())?[0], "a", "the nearest by the old model");
    Ok(())
}

fn filed_during(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    fill_all(drawers.as_ref(), &newer())?;
    drawers.add(vectored("d", "filed late", &ASKED))?;
    drawers.add(plain("e", "filed without a vector"))?;
    same!(
        lacking_ids(drawers.as_ref(), &newer())?,
        ["d", "e"],
        "pending drawers"
    );
    refused(
        drawers.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &["2"],
    )?;
    fill_all(drawers.as_ref(), &newer())?;
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    same!(answers(drawers.as_ref())?.len(), 5, "hits");
    Ok(())
}

fn finish_turns(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let handles = [
        scene.open_elsewhere()?,
        declaring(scene, None)?,
        Arc::clone(&drawers),
    ];
    for reader in &handles {
        same!(
            answers(reader.as_ref())?,
            ["a", "c", "b"],
            "hits by the old model"
        );
    }
    switch_over(drawers.as_ref())?;
    for reader in handles.iter().chain([&declaring(scene, Some(newer()))?]) {
        same!(
            answers(reader.as_ref())?,
            ["b", "c", "a"],
            "hits by the new model"
        );
        let info = reader.info()?;
        same!(info.identity, IdentityState::Known(newer()), "identity");
        same!(info.coverage.nearest, 3, "drawers with a vector");
        same!(
            outline(&reader.require_spaces()?.list_spaces()?)[0],
            line("model-b", SpaceState::Active, 3),
            "the active space"
        );
    }
    Ok(())
}

fn vectors_out(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    fill_all(drawers.as_ref(), &newer())?;
    let vector = |drawers: &dyn Collection| -> Outcome<Option<Vec<f32>>> {
        Ok(one(drawers, "a", scene.everything())?.embedding)
    };
    same!(
        vector(drawers.as_ref())?,
        Some(ASKED.to_vec()),
        "the vector before"
    );
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    same!(
        vector(drawers.as_ref())?,
        Some(embed("text of a")),
        "the vector after"
    );
    drawers.require_spaces()?.take_step(&Switch::Rollback)?;
    same!(
        vector(drawers.as_ref())?,
        Some(ASKED.to_vec()),
        "the vector after turning back"
    );
    Ok(())
}

fn writers(scene: &Scene<'_>) -> Outcome {
    let old = house(scene)?;
    switch_over(old.as_ref())?;
    let new = declaring(scene, Some(newer()))?;
    let late = || vectored("d", "text", &ASKED);
    refused(
        old.add(late()),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    same!(all_ids(old.as_ref())?.len(), 3, "drawers after a refusal");
    old.add(plain("e", "without a vector"))?;
    new.add(late())?;
    same!(answers(old.as_ref())?.len(), 4, "hits");
    Ok(())
}

/// The collection, made by somebody who names no model.
fn undeclared(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    Ok(scene.make(&drawers(), &OpenOptions::writable())?)
}

fn from_unset(scene: &Scene<'_>) -> Outcome {
    let drawers = undeclared(scene)?;
    drawers.apply_batch(&[
        Write::Add(plain("a", "text of a")),
        Write::Add(plain("b", "text of b")),
    ])?;
    same!(drawers.info()?.identity, IdentityState::Unset, "identity");
    switch_over(drawers.as_ref())?;
    same!(answers(drawers.as_ref())?, ["b", "a"], "hits");
    same!(
        drawers.info()?.identity,
        IdentityState::Known(newer()),
        "identity"
    );
    Ok(())
}

fn from_unknown(scene: &Scene<'_>) -> Outcome {
    let drawers = undeclared(scene)?;
    drawers.add(vectored("a", "text of a", &ASKED))?;
    same!(
        outline(&drawers.require_spaces()?.list_spaces()?),
        [line("unknown", SpaceState::Active, 1)],
        "spaces"
    );
    switch_over(drawers.as_ref())?;
    same!(
        drawers.info()?.identity,
        IdentityState::Known(newer()),
        "identity"
    );
    same!(drawers.info()?.warnings, Vec::new(), "warnings");
    same!(
        outline(&drawers.require_spaces()?.list_spaces()?)[1],
        line("unknown", SpaceState::Retired, 1),
        "the old space"
    );
    Ok(())
}

fn from_empty(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    same!(
        lacking(drawers.as_ref(), &newer())?,
        Vec::new(),
        "pending drawers"
    );
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    declaring(scene, Some(newer()))?.add(vectored("a", "text", &ASKED))?;
    same!(answers(drawers.as_ref())?, ["a"], "hits");
    Ok(())
}

fn dimensions(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let small = EmbedderIdentity {
        dimension: 2,
        ..newer()
    };
    drawers
        .require_spaces()?
        .take_step(&Switch::Begin(small.clone()))?;
    let short = |drawer: &loci_core::Unembedded| Filling {
        vector: embed(&drawer.text)[..2].iter().map(|value| value + 0.1).collect(),
        ..filling(drawer)
    };
    let given: Vec<Filling> = lacking(drawers.as_ref(), &small)?.iter().map(short).collect();
    drawers.require_spaces()?.fill_vectors(&small, &given)?;
    same!(answers(drawers.as_ref())?.len(), 3, "hits by the old model");
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    same!(drawers.info()?.dimension, Some(2), "dimension");
    let hits = &drawers.query(&Query::nearest(vec![1.0, 0.0], 3))?[0];
    same!(hit_ids(hits)[0], "b", "the nearest by the new model");
    let old_question = drawers.query(&Query::nearest(ASKED.to_vec(), 1));
    refused(old_question, ErrorKind::DimensionMismatch, &["2", "4"])?;
    let old_writer = drawers.add(vectored("d", "text", &ASKED));
    refused(old_writer, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    drawers.require_spaces()?.take_step(&Switch::Rollback)?;
    same!(answers(drawers.as_ref())?[0], "a", "the nearest by the old model");
    Ok(())
}

fn told(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    same!(drawers.info()?.warnings, Vec::new(), "warnings before");
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    for step in [None, Some(Switch::Pause)] {
        step.map_or(Ok(Vec::new()), |step| drawers.require_spaces()?.take_step(&step))?;
        let warnings = scene.open_elsewhere()?.info()?.warnings;
        ensure!(
            warnings.iter().any(|warning| warning.message.contains("model-b")),
            "expected a warning that names the new model, found {warnings:?}"
        );
    }
    drawers.require_spaces()?.take_step(&Switch::Rollback)?;
    same!(drawers.info()?.warnings, Vec::new(), "warnings after");
    Ok(())
}

fn others_untouched(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let other = scene.fill_in(&scene.palace(), "others", [vectored("a", "text of a", &ASKED)])?;
    let before = (other.require_spaces()?.list_spaces()?, answers(other.as_ref())?);
    switch_over(drawers.as_ref())?;
    refused(
        other.require_spaces()?.take_step(&Switch::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    refused(
        other.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &[],
    )?;
    same!(
        (other.require_spaces()?.list_spaces()?, answers(other.as_ref())?),
        before,
        "another collection after a switch"
    );
    drawers.require_spaces()?.take_step(&Switch::DropRetired)?;
    other.add(vectored("b", "text of b", &ASKED))?;
    same!(answers(other.as_ref())?.len(), 2, "hits in another collection");
    Ok(())
}
