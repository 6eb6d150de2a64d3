//! Pausing a switch, giving it up, rolling it back, and dropping retired spaces.

use loci_core::{
    CollectionExt, EmbedderIdentity, EmbeddingSpace, ErrorKind, IdentityState, OpenOptions, SpaceState,
    SwitchStep, VectorFillReport,
};

use crate::case::expect_refusal;
use crate::samples::{id, text_drawer, vector_drawer};
use crate::scene::{default_collection, model_called};
use crate::switching::{
    QUESTION, fill_all, list_answers, list_lacking, list_lacking_ids, make_filling, newer_model,
    open_declaring, open_house, outline_line, outline_spaces, switch_over,
};
use crate::{CaseOutcome, CaseScene};

cases! { "rollback":
    "begin with the active model or the one being built changes nothing" [+Spaces +EmbeddingsPassthrough -ReadOnly] => begin_again;
    "begin for a third model while one is being built or paused is a conflict that names it" [+Spaces +EmbeddingsPassthrough -ReadOnly] => third_model;
    "a model without dimensions is refused" [+Spaces +EmbeddingsPassthrough -ReadOnly] => no_dimensions;
    "pause stops those who fill, and begin goes on from there" [+Spaces +EmbeddingsPassthrough -ReadOnly] => pause_stops_filling;
    "a paused switch is not finished" [+Spaces +EmbeddingsPassthrough -ReadOnly] => paused_finish;
    "pause and finish are conflicts where no space is being built" [+Spaces +EmbeddingsPassthrough -ReadOnly] => nothing_built;
    "rollback before finish gives the new space up, and begin goes on from there" [+Spaces +EmbeddingsPassthrough -ReadOnly] => give_up;
    "rollback after finish returns the old answers at once" [+Spaces +EmbeddingsPassthrough -ReadOnly] => turn_back;
    "after a rollback drawers filed since are pending in the old space" [+Spaces +EmbeddingsPassthrough -ReadOnly] => filed_since;
    "after a rollback a writer of the old model is accepted and one of the new model is refused" [+Spaces +EmbeddingsPassthrough -ReadOnly] => writers_back;
    "rollback returns to the space that answered last" [+Spaces +EmbeddingsPassthrough -ReadOnly] => last_of_three;
    "rollback with nothing to go back to is a conflict" [+Spaces +EmbeddingsPassthrough -ReadOnly] => nothing_before;
    "begin with a retired model keeps the vectors it has" [+Spaces +EmbeddingsPassthrough -ReadOnly] => begin_retired;
    "dropping retired spaces leaves nothing to go back to" [+Spaces +EmbeddingsPassthrough -ReadOnly] => drop_retired;
    "dropping leaves the active space and the one being built" [+Spaces +EmbeddingsPassthrough -ReadOnly] => drop_spares;
}

fn begin_again(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    let before = house.require_spaces()?.list_spaces()?;
    let begun = house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(scene.model()))?;
    same!(begun, before, "spaces after begin with the active model");
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    // With vectors in it: beginning again must not empty the space that is being built.
    fill_all(house.as_ref(), &newer_model())?;
    let before = house.require_spaces()?.list_spaces()?;
    for again in [newer_model(), scene.model()] {
        same!(
            house.require_spaces()?.take_step(&SwitchStep::Begin(again))?,
            before,
            "spaces after begin again"
        );
    }
    Ok(())
}

fn third_model(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    let mut before = house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    // The second round finds the space paused: a pause does not give up the claim.
    for _ in 0..2 {
        let third = house
            .require_spaces()?
            .take_step(&SwitchStep::Begin(model_called("model-c")));
        expect_refusal(third, ErrorKind::Conflict, &["model-b", "model-c"])?;
        same!(
            house.require_spaces()?.list_spaces()?,
            before,
            "spaces after a refusal"
        );
        before = house.require_spaces()?.take_step(&SwitchStep::Pause)?;
    }
    Ok(())
}

fn no_dimensions(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    let none = EmbedderIdentity {
        dimension: 0,
        ..newer_model()
    };
    expect_refusal(
        house.require_spaces()?.take_step(&SwitchStep::Begin(none)),
        ErrorKind::Invalid,
        &["model-b"],
    )?;
    same!(house.require_spaces()?.list_spaces()?.len(), 1, "spaces");
    Ok(())
}

fn pause_stops_filling(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    // Made before the pause, as by a filler that does not know of it yet.
    let given = [make_filling(&list_lacking(house.as_ref(), &newer_model())?[0])];
    let elsewhere = scene.open_elsewhere()?;
    let paused = elsewhere.require_spaces()?.take_step(&SwitchStep::Pause)?;
    same!(
        outline_spaces(&paused)[1],
        outline_line("model-b", SpaceState::Paused, 0),
        "the space being built"
    );
    same!(
        elsewhere.require_spaces()?.take_step(&SwitchStep::Pause)?,
        paused,
        "spaces after another pause"
    );
    expect_refusal(
        house.require_spaces()?.fill_vectors(&newer_model(), &given),
        ErrorKind::Conflict,
        &["model-b"],
    )?;
    same!(
        house.require_spaces()?.list_spaces()?,
        paused,
        "spaces after a refusal"
    );
    same!(
        list_answers(house.as_ref())?[0],
        "a",
        "the nearest by the old model"
    );
    let resumed = house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    same!(
        outline_spaces(&resumed)[1],
        outline_line("model-b", SpaceState::Building, 0),
        "the space being built"
    );
    same!(
        house.require_spaces()?.fill_vectors(&newer_model(), &given)?,
        VectorFillReport { stored: 1, stale: 0 },
        "what became of the vector"
    );
    Ok(())
}

fn paused_finish(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    // Complete, so only the pause can be the reason for the refusal.
    fill_all(house.as_ref(), &newer_model())?;
    house.require_spaces()?.take_step(&SwitchStep::Pause)?;
    expect_refusal(
        house.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &["paused"],
    )?;
    same!(
        list_answers(house.as_ref())?[0],
        "a",
        "the nearest by the old model"
    );
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    house.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(
        list_answers(house.as_ref())?[0],
        "b",
        "the nearest by the new model"
    );
    Ok(())
}

fn nothing_built(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    let neither = || -> CaseOutcome {
        let before = house.require_spaces()?.list_spaces()?;
        for step in [SwitchStep::Pause, SwitchStep::Finish] {
            expect_refusal(house.require_spaces()?.take_step(&step), ErrorKind::Conflict, &[])?;
        }
        same!(
            house.require_spaces()?.list_spaces()?,
            before,
            "spaces after a refusal"
        );
        Ok(())
    };
    // In three states: never switched, switched, and with an abandoned space that must not count as being
    // built.
    neither()?;
    switch_over(house.as_ref())?;
    neither()?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(model_called("model-c")))?;
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    neither()
}

fn give_up(scene: &CaseScene<'_>) -> CaseOutcome {
    use SpaceState::{Abandoned, Active, Building};
    let house = open_house(scene)?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    let pending = list_lacking(house.as_ref(), &newer_model())?;
    let two: Vec<_> = pending.iter().map(make_filling).take(2).collect();
    house.require_spaces()?.fill_vectors(&newer_model(), &two)?;
    let given_up = house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    same!(
        outline_spaces(&given_up)[1],
        outline_line("model-b", Abandoned, 2),
        "the space given up"
    );
    same!(list_answers(house.as_ref())?, ["a", "c", "b"], "hits");
    expect_refusal(
        house.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &[],
    )?;
    // Writes while the space is abandoned must reach it, or it would come back with a vector of a removed
    // drawer.
    house.delete_drawer(id("a"))?;
    let begun = outline_spaces(
        &house
            .require_spaces()?
            .take_step(&SwitchStep::Begin(newer_model()))?,
    );
    same!(
        begun,
        [
            outline_line("model-a", Active, 2),
            outline_line("model-b", Building, 1)
        ],
        "spaces"
    );
    same!(
        list_lacking_ids(house.as_ref(), &newer_model())?,
        ["c"],
        "pending drawers"
    );
    fill_all(house.as_ref(), &newer_model())?;
    house.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(list_answers(house.as_ref())?, ["b", "c"], "hits");
    Ok(())
}

fn turn_back(scene: &CaseScene<'_>) -> CaseOutcome {
    use SpaceState::{Active, Retired};
    let house = open_house(scene)?;
    // Opened before the switch: it has to follow there and back without being reopened.
    let elsewhere = scene.open_elsewhere()?;
    switch_over(house.as_ref())?;
    let back = outline_spaces(&house.require_spaces()?.take_step(&SwitchStep::Rollback)?);
    same!(
        back,
        [
            outline_line("model-a", Active, 3),
            outline_line("model-b", Retired, 3)
        ],
        "spaces"
    );
    for reader in [house, elsewhere] {
        same!(
            list_answers(reader.as_ref())?,
            ["a", "c", "b"],
            "hits by the old model"
        );
        same!(
            reader.info()?.identity,
            IdentityState::Known(scene.model()),
            "identity"
        );
    }
    Ok(())
}

fn filed_since(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    switch_over(house.as_ref())?;
    let new = open_declaring(scene, Some(newer_model()))?;
    new.add_drawer(vector_drawer("d", "filed since", &QUESTION))?;
    // The retired space held a vector for the old text of `b`, which must not answer for the new one.
    new.upsert_drawer(vector_drawer("b", "changed since", &QUESTION))?;
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    same!(list_answers(house.as_ref())?, ["a", "c"], "hits by the old model");
    same!(house.info()?.coverage.nearest, 2, "drawers with a vector");
    same!(
        list_lacking_ids(house.as_ref(), &scene.model())?,
        ["d", "b"],
        "pending drawers"
    );
    same!(
        fill_all(house.as_ref(), &scene.model())?.stored,
        2,
        "vectors stored"
    );
    same!(list_answers(house.as_ref())?.len(), 4, "hits by the old model");
    Ok(())
}

fn writers_back(scene: &CaseScene<'_>) -> CaseOutcome {
    let old = open_house(scene)?;
    switch_over(old.as_ref())?;
    // Opened while the new model was active, and refused at the write after the rollback.
    let new = open_declaring(scene, Some(newer_model()))?;
    old.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    let late = || vector_drawer("d", "text", &QUESTION);
    expect_refusal(
        new.add_drawer(late()),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    old.add_drawer(late())?;
    same!(list_answers(new.as_ref())?.len(), 4, "hits");
    Ok(())
}

fn last_of_three(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    switch_over(house.as_ref())?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(model_called("model-c")))?;
    fill_all(house.as_ref(), &model_called("model-c"))?;
    house.require_spaces()?.take_step(&SwitchStep::Finish)?;
    // One that was only begun is given up first, and has never answered.
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(model_called("model-d")))?;
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    let names = |spaces: Vec<EmbeddingSpace>| -> Vec<String> {
        let lines = outline_spaces(&spaces).into_iter();
        lines.map(|(name, _, _)| name).collect()
    };
    let back = names(house.require_spaces()?.take_step(&SwitchStep::Rollback)?);
    // Rollback goes to the space that answered last, not to the one that was created last or the very
    // first.
    same!(
        back,
        ["model-b", "model-c", "model-d", "model-a"],
        "spaces, the latest first"
    );
    // A second rollback returns to where it came from, so that two of them cancel out.
    let forth = names(house.require_spaces()?.take_step(&SwitchStep::Rollback)?);
    same!(
        forth[..2],
        ["model-c", "model-b"],
        "the space that answered last, again"
    );
    Ok(())
}

fn nothing_before(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    expect_refusal(
        house.require_spaces()?.take_step(&SwitchStep::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    expect_refusal(
        house.require_spaces()?.take_step(&SwitchStep::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    same!(
        list_answers(house.as_ref())?[0],
        "a",
        "the nearest by the old model"
    );
    Ok(())
}

fn begin_retired(scene: &CaseScene<'_>) -> CaseOutcome {
    use SpaceState::{Active, Building};
    let house = open_house(scene)?;
    switch_over(house.as_ref())?;
    open_declaring(scene, Some(newer_model()))?.add_drawer(vector_drawer("d", "filed since", &QUESTION))?;
    let begun = outline_spaces(
        &house
            .require_spaces()?
            .take_step(&SwitchStep::Begin(scene.model()))?,
    );
    same!(
        begun,
        [
            outline_line("model-b", Active, 4),
            outline_line("model-a", Building, 3)
        ],
        "spaces"
    );
    // Only the drawer filed since has to be embedded; throwing the others away would cost a full run.
    same!(
        list_lacking_ids(house.as_ref(), &scene.model())?,
        ["d"],
        "pending drawers"
    );
    fill_all(house.as_ref(), &scene.model())?;
    house.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(
        list_answers(house.as_ref())?[0],
        "a",
        "the nearest by the first model"
    );
    same!(list_answers(house.as_ref())?.len(), 4, "hits");
    Ok(())
}

fn drop_retired(scene: &CaseScene<'_>) -> CaseOutcome {
    let house = open_house(scene)?;
    switch_over(house.as_ref())?;
    let left = house.require_spaces()?.take_step(&SwitchStep::DropRetired)?;
    same!(
        outline_spaces(&left),
        [outline_line("model-b", SpaceState::Active, 3)],
        "spaces"
    );
    same!(
        house.require_spaces()?.take_step(&SwitchStep::DropRetired)?,
        left,
        "spaces after dropping nothing"
    );
    expect_refusal(
        house.require_spaces()?.take_step(&SwitchStep::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    let other = scene.another_backend()?;
    let elsewhere = other.open(&scene.palace(), &default_collection(), &OpenOptions::default())?;
    same!(
        list_answers(elsewhere.as_ref())?,
        ["b", "c", "a"],
        "hits in another process"
    );
    // Begun anew it is empty: none of the dropped vectors may come back.
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(scene.model()))?;
    same!(
        list_lacking(house.as_ref(), &scene.model())?.len(),
        3,
        "pending in a space begun anew"
    );
    Ok(())
}

fn drop_spares(scene: &CaseScene<'_>) -> CaseOutcome {
    use SpaceState::{Active, Building};
    let house = open_house(scene)?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    house.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    house
        .require_spaces()?
        .take_step(&SwitchStep::Begin(model_called("model-c")))?;
    fill_all(house.as_ref(), &model_called("model-c"))?;
    let left = outline_spaces(&house.require_spaces()?.take_step(&SwitchStep::DropRetired)?);
    same!(
        left,
        [
            outline_line("model-a", Active, 3),
            outline_line("model-c", Building, 3)
        ],
        "spaces"
    );
    // A drawer that comes and goes: the counters of the space must balance, or finish would see one
    // missing.
    house.add_drawer(text_drawer("d", "text"))?;
    house.delete_drawer(id("d"))?;
    house.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(list_answers(house.as_ref())?, ["b", "c", "a"], "hits");
    Ok(())
}
