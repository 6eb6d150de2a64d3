//! A model switch: begun, filled and finished while reads and writes continue.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, Cursor, EmbedderIdentity, ErrorKind, IdentityState, OpenOptions, QueryRequest,
    SpaceState, SwitchStep, VectorFill, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, hit_ids, read_fields, text_drawer, vector_drawer};
use crate::scene::{default_collection, model_called};
use crate::switching::{
    QUESTION, embed_text, fill_all, list_answers, list_lacking, list_lacking_ids, make_filling, newer_model,
    open_declaring, open_house, outline_line, outline_spaces, switch_over,
};
use crate::{CaseOutcome, CaseScene};

cases! { "switch":
    "beginning a switch leaves every answer as it is" [+Spaces +EmbeddingsPassthrough -ReadOnly] => begin_is_silent;
    "the active space is listed first, then the one being built, then older ones, newest first" [+Spaces +EmbeddingsPassthrough -ReadOnly] => lists_active_first;
    "no drawer counts as changed by filling or turning over" [+ChangeFeed +Spaces +EmbeddingsPassthrough -ReadOnly] => no_change;
    "while a drawer lacks a vector finish is a conflict that says how many, and nothing changes" [+Spaces +EmbeddingsPassthrough -ReadOnly] => refuses_to_finish_early;
    "a drawer filed during a switch is pending" [+Spaces +EmbeddingsPassthrough -ReadOnly] => filed_during;
    "finish turns every answer over at once, for every handle" [+Spaces +EmbeddingsPassthrough -ReadOnly] => finish_turns;
    "after finish the exact vectors are the new model's" [+EmbeddingsOut +Spaces +EmbeddingsPassthrough -ReadOnly] => vectors_out;
    "after finish a writer of the old model is refused and one of the new model is not" [+Spaces +EmbeddingsPassthrough -ReadOnly] => admits_new_writers;
    "a collection without vectors can be switched to a model" [+Spaces +EmbeddingsPassthrough -ReadOnly] => from_unset;
    "an unknown model can be switched away from" [+Spaces +EmbeddingsPassthrough -ReadOnly] => from_unknown;
    "an empty collection can be switched" [+Spaces +EmbeddingsPassthrough -ReadOnly] => from_empty;
    "the dimension may differ between spaces" [+Spaces +EmbeddingsPassthrough -ReadOnly] => dimensions_may_differ;
    "info says to which model a switch is under way" [+Spaces +EmbeddingsPassthrough -ReadOnly] => info_names_the_model;
    "other collections are untouched by a switch" [+Spaces +EmbeddingsPassthrough -ReadOnly] => others_untouched;
}

fn begin_is_silent(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let (answered, before) = (list_answers(drawers.as_ref())?, drawers.info()?);
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    for reader in [&drawers, &scene.open_elsewhere()?] {
        same!(list_answers(reader.as_ref())?, answered, "hits during a switch");
        let info = reader.info()?;
        same!(info.identity, before.identity, "identity during a switch");
        same!(
            info.coverage.nearest,
            before.coverage.nearest,
            "drawers with a vector"
        );
    }
    // Writers of the old model continue as before.
    drawers.add_drawer(vector_drawer("d", "more", &QUESTION))?;
    same!(list_answers(drawers.as_ref())?.len(), 4, "hits after a write");
    Ok(())
}

fn lists_active_first(scene: &CaseScene<'_>) -> CaseOutcome {
    use SpaceState::{Active, Building, Retired};
    let drawers = open_house(scene)?;
    same!(
        outline_spaces(&drawers.require_spaces()?.list_spaces()?),
        [outline_line("model-a", Active, 3)],
        "spaces"
    );
    let begun = drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    // A step returns the list, so that callers need no second call that might see another state.
    same!(
        begun,
        drawers.require_spaces()?.list_spaces()?,
        "what a step tells and what is listed"
    );
    switch_over(drawers.as_ref())?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(model_called("model-c")))?;
    fill_all(drawers.as_ref(), &model_called("model-c"))?;
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    let spaces = drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(model_called("model-d")))?;
    let expected = [
        outline_line("model-c", Active, 3),
        outline_line("model-d", Building, 0),
        outline_line("model-b", Retired, 3),
        outline_line("model-a", Retired, 3),
    ];
    same!(outline_spaces(&spaces), expected, "spaces");
    same!(
        outline_spaces(&scene.open_named("others")?.require_spaces()?.list_spaces()?).len(),
        1,
        "spaces of another collection"
    );
    same!(
        (spaces[1].drawers, spaces[1].missing_vectors()),
        (3, 3),
        "drawers of a space, and those it lacks"
    );
    Ok(())
}

fn no_change(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let info = drawers.info()?;
    switch_over(drawers.as_ref())?;
    let after = drawers.require_feed()?.changes_since(info.seq, 10)?;
    same!(after.changes, Vec::new(), "changes by a switch");
    // A follower mirrors texts, which a switch does not change; thousands of changes would be noise.
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
    drawers.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    same!(
        drawers.require_feed()?.changes_since(info.seq, 10)?.changes,
        Vec::new(),
        "changes by a rollback"
    );
    Ok(())
}

fn refuses_to_finish_early(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    expect_refusal(
        drawers.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &[],
    )?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    // The number tells the user how far the switch is.
    expect_refusal(
        drawers.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &["3"],
    )?;
    let one = [make_filling(&list_lacking(drawers.as_ref(), &newer_model())?[0])];
    drawers.require_spaces()?.fill_vectors(&newer_model(), &one)?;
    let before = drawers.require_spaces()?.list_spaces()?;
    expect_refusal(
        drawers.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &["2"],
    )?;
    same!(
        drawers.require_spaces()?.list_spaces()?,
        before,
        "spaces after a refusal"
    );
    same!(
        list_answers(drawers.as_ref())?[0],
        "a",
        "the nearest by the old model"
    );
    Ok(())
}

fn filed_during(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    fill_all(drawers.as_ref(), &newer_model())?;
    // Its vector is of the old model and must not count for the new space.
    drawers.add_drawer(vector_drawer("d", "filed late", &QUESTION))?;
    drawers.add_drawer(text_drawer("e", "filed without a vector"))?;
    same!(
        list_lacking_ids(drawers.as_ref(), &newer_model())?,
        ["d", "e"],
        "pending drawers"
    );
    expect_refusal(
        drawers.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &["2"],
    )?;
    fill_all(drawers.as_ref(), &newer_model())?;
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(list_answers(drawers.as_ref())?.len(), 5, "hits");
    Ok(())
}

fn finish_turns(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    // Another process, a handle that declares nothing and the one that switches: all turn over without
    // being reopened.
    let handles = [
        scene.open_elsewhere()?,
        open_declaring(scene, None)?,
        Arc::clone(&drawers),
    ];
    for reader in &handles {
        same!(
            list_answers(reader.as_ref())?,
            ["a", "c", "b"],
            "hits by the old model"
        );
    }
    switch_over(drawers.as_ref())?;
    for reader in handles
        .iter()
        .chain([&open_declaring(scene, Some(newer_model()))?])
    {
        same!(
            list_answers(reader.as_ref())?,
            ["b", "c", "a"],
            "hits by the new model"
        );
        let info = reader.info()?;
        same!(info.identity, IdentityState::Known(newer_model()), "identity");
        same!(info.coverage.nearest, 3, "drawers with a vector");
        same!(
            outline_spaces(&reader.require_spaces()?.list_spaces()?)[0],
            outline_line("model-b", SpaceState::Active, 3),
            "the active space"
        );
    }
    Ok(())
}

fn vectors_out(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    fill_all(drawers.as_ref(), &newer_model())?;
    let vector = |drawers: &dyn Collection| -> CaseOutcome<Option<Vec<f32>>> {
        Ok(read_fields(drawers, "a", scene.every_field())?.embedding)
    };
    same!(
        vector(drawers.as_ref())?,
        Some(QUESTION.to_vec()),
        "the vector before"
    );
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    // The vector that comes out must match the recorded model, or a migration would copy the wrong one.
    same!(
        vector(drawers.as_ref())?,
        Some(embed_text("text of a")),
        "the vector after"
    );
    drawers.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    same!(
        vector(drawers.as_ref())?,
        Some(QUESTION.to_vec()),
        "the vector after turning back"
    );
    Ok(())
}

fn admits_new_writers(scene: &CaseScene<'_>) -> CaseOutcome {
    let old = open_house(scene)?;
    switch_over(old.as_ref())?;
    let new = open_declaring(scene, Some(newer_model()))?;
    let late = || vector_drawer("d", "text", &QUESTION);
    expect_refusal(
        old.add_drawer(late()),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    same!(all_ids(old.as_ref())?.len(), 3, "drawers after a refusal");
    // A process that runs through the switch can go on filing text.
    old.add_drawer(text_drawer("e", "without a vector"))?;
    new.add_drawer(late())?;
    same!(list_answers(old.as_ref())?.len(), 4, "hits");
    Ok(())
}

/// The collection, created without a declared model.
fn open_undeclared(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    Ok(scene.make_collection(&default_collection(), &OpenOptions::for_writing())?)
}

fn from_unset(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_undeclared(scene)?;
    drawers.apply_batch(&[
        Write::Add(text_drawer("a", "text of a")),
        Write::Add(text_drawer("b", "text of b")),
    ])?;
    same!(drawers.info()?.identity, IdentityState::Unset, "identity");
    switch_over(drawers.as_ref())?;
    same!(list_answers(drawers.as_ref())?, ["b", "a"], "hits");
    same!(
        drawers.info()?.identity,
        IdentityState::Known(newer_model()),
        "identity"
    );
    Ok(())
}

fn from_unknown(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_undeclared(scene)?;
    drawers.add_drawer(vector_drawer("a", "text of a", &QUESTION))?;
    same!(
        outline_spaces(&drawers.require_spaces()?.list_spaces()?),
        [outline_line("unknown", SpaceState::Active, 1)],
        "spaces"
    );
    switch_over(drawers.as_ref())?;
    same!(
        drawers.info()?.identity,
        IdentityState::Known(newer_model()),
        "identity"
    );
    // Switching is the way out of an unknown model, so the warning ends here.
    same!(drawers.info()?.warnings, Vec::new(), "warnings");
    same!(
        outline_spaces(&drawers.require_spaces()?.list_spaces()?)[1],
        outline_line("unknown", SpaceState::Retired, 1),
        "the old space"
    );
    Ok(())
}

fn from_empty(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    same!(
        list_lacking(drawers.as_ref(), &newer_model())?,
        Vec::new(),
        "pending drawers"
    );
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    open_declaring(scene, Some(newer_model()))?.add_drawer(vector_drawer("a", "text", &QUESTION))?;
    same!(list_answers(drawers.as_ref())?, ["a"], "hits");
    Ok(())
}

fn dimensions_may_differ(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let small = EmbedderIdentity {
        dimension: 2,
        ..newer_model()
    };
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(small.clone()))?;
    // Shifted by 0.1, since the first two values may both be zero, which no space accepts.
    let short = |drawer: &loci_core::UnembeddedDrawer| VectorFill {
        vector: embed_text(&drawer.text)[..2]
            .iter()
            .map(|value| value + 0.1)
            .collect(),
        ..make_filling(drawer)
    };
    let given: Vec<VectorFill> = list_lacking(drawers.as_ref(), &small)?
        .iter()
        .map(short)
        .collect();
    drawers.require_spaces()?.fill_vectors(&small, &given)?;
    same!(list_answers(drawers.as_ref())?.len(), 3, "hits by the old model");
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(drawers.info()?.dimension, Some(2), "dimension");
    let hits = &drawers.query(&QueryRequest::nearest_to(vec![1.0, 0.0], 3))?[0];
    same!(hit_ids(hits)[0], "b", "the nearest by the new model");
    let old_question = drawers.query(&QueryRequest::nearest_to(QUESTION.to_vec(), 1));
    expect_refusal(old_question, ErrorKind::DimensionMismatch, &["2", "4"])?;
    // The dimension is wrong as well, but that the model is another one says more.
    let old_writer = drawers.add_drawer(vector_drawer("d", "text", &QUESTION));
    expect_refusal(old_writer, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    drawers.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    same!(
        list_answers(drawers.as_ref())?[0],
        "a",
        "the nearest by the old model"
    );
    Ok(())
}

fn info_names_the_model(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    same!(drawers.info()?.warnings, Vec::new(), "warnings before");
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    // A paused switch is easily forgotten, so the warning stays.
    for step in [None, Some(SwitchStep::Pause)] {
        step.map_or(Ok(Vec::new()), |step| drawers.require_spaces()?.take_step(&step))?;
        let warnings = scene.open_elsewhere()?.info()?.warnings;
        ensure!(
            warnings.iter().any(|warning| warning.message.contains("model-b")),
            "expected a warning that names the new model, found {warnings:?}"
        );
    }
    drawers.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    same!(drawers.info()?.warnings, Vec::new(), "warnings after");
    Ok(())
}

fn others_untouched(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let other = scene.fill_in(
        &scene.palace(),
        "others",
        [vector_drawer("a", "text of a", &QUESTION)],
    )?;
    let before = (
        other.require_spaces()?.list_spaces()?,
        list_answers(other.as_ref())?,
    );
    switch_over(drawers.as_ref())?;
    // Spaces belong to a collection: there is nothing here to roll back or to finish.
    expect_refusal(
        other.require_spaces()?.take_step(&SwitchStep::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    expect_refusal(
        other.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &[],
    )?;
    same!(
        (
            other.require_spaces()?.list_spaces()?,
            list_answers(other.as_ref())?
        ),
        before,
        "another collection after a switch"
    );
    drawers.require_spaces()?.take_step(&SwitchStep::DropRetired)?;
    other.add_drawer(vector_drawer("b", "text of b", &QUESTION))?;
    same!(
        list_answers(other.as_ref())?.len(),
        2,
        "hits in another collection"
    );
    Ok(())
}
