//! Pausing, giving up, turning back, and dropping what is no longer wanted.

use loci_core::{
    CollectionExt, EmbedderIdentity, ErrorKind, Filled, IdentityState, OpenOptions, Space, SpaceState, Switch,
};

use crate::case::refused;
use crate::samples::{id, plain, vectored};
use crate::scene::{drawers, model};
use crate::turning::{
    ASKED, answers, declaring, fill_all, filling, house, lacking, lacking_ids, line, newer, outline,
    switch_over,
};
use crate::{Outcome, Scene};

cases! { "rollback":
    "begin with the active model or the one being built changes nothing" [+Spaces +EmbeddingsPassthrough -ReadOnly] => begin_again;
    "begin for a third model while one is being built or paused is a conflict that names it" [+Spaces +EmbeddingsPassthrough -ReadOnly] => third_model;
    "a model without dimensions is refused" [+Spaces +EmbeddingsPassthrough -ReadOnly] => no_dimensions;
    "pause stops those who fill, and begin goes on from there" [+Spaces +EmbeddingsPassthrough -ReadOnly] => pause;
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

fn begin_again(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    let before = house.require_spaces()?.list_spaces()?;
    let begun = house.require_spaces()?.take_step(&Switch::Begin(scene.model()))?;
    same!(begun, before, "spaces after begin with the active model");
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    fill_all(house.as_ref(), &newer())?;
    let before = house.require_spaces()?.list_spaces()?;
    for again in [newer(), scene.model()] {
        same!(
            house.require_spaces()?.take_step(&Switch::Begin(again))?,
            before,
            "spaces after begin again"
        );
    }
    Ok(())
}

fn third_model(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    let mut before = house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    for _ in 0..2 {
        let third = house
            .require_spaces()?
            .take_step(&Switch::Begin(model("model-c")));
        refused(third, ErrorKind::Conflict, &["model-b", "model-c"])?;
        same!(
            house.require_spaces()?.list_spaces()?,
            before,
            "spaces after a refusal"
        );
        before = house.require_spaces()?.take_step(&Switch::Pause)?;
    }
    Ok(())
}

fn no_dimensions(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    let none = EmbedderIdentity {
        dimension: 0,
        ..newer()
    };
    refused(
        house.require_spaces()?.take_step(&Switch::Begin(none)),
        ErrorKind::Invalid,
        &["model-b"],
    )?;
    same!(house.require_spaces()?.list_spaces()?.len(), 1, "spaces");
    Ok(())
}

fn pause(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let given = [filling(&lacking(house.as_ref(), &newer())?[0])];
    let elsewhere = scene.open_elsewhere()?;
    let paused = elsewhere.require_spaces()?.take_step(&Switch::Pause)?;
    same!(
        outline(&paused)[1],
        line("model-b", SpaceState::Paused, 0),
        "the space being built"
    );
    same!(
        elsewhere.require_spaces()?.take_step(&Switch::Pause)?,
        paused,
        "spaces after another pause"
    );
    refused(
        house.require_spaces()?.fill_vectors(&newer(), &given),
        ErrorKind::Conflict,
        &["model-b"],
    )?;
    same!(
        house.require_spaces()?.list_spaces()?,
        paused,
        "spaces after a refusal"
    );
    same!(answers(house.as_ref())?[0], "a", "the nearest by the old model");
    let resumed = house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    same!(
        outline(&resumed)[1],
        line("model-b", SpaceState::Building, 0),
        "the space being built"
    );
    same!(
        house.require_spaces()?.fill_vectors(&newer(), &given)?,
        Filled { stored: 1, stale: 0 },
        "what became of the vector"
    );
    Ok(())
}

fn paused_finish(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    fill_all(house.as_ref(), &newer())?;
    house.require_spaces()?.take_step(&Switch::Pause)?;
    refused(
        house.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &["paused"],
    )?;
    same!(answers(house.as_ref())?[0], "a", "the nearest by the old model");
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    house.require_spaces()?.take_step(&Switch::Finish)?;
    same!(answers(house.as_ref())?[0], "b", "the nearest by the new model");
    Ok(())
}

fn nothing_built(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    let neither = || -> Outcome {
        let before = house.require_spaces()?.list_spaces()?;
        for step in [Switch::Pause, Switch::Finish] {
            refused(house.require_spaces()?.take_step(&step), ErrorKind::Conflict, &[])?;
        }
        same!(
            house.require_spaces()?.list_spaces()?,
            before,
            "spaces after a refusal"
        );
        Ok(())
    };
    neither()?;
    switch_over(house.as_ref())?;
    neither()?;
    house
        .require_spaces()?
        .take_step(&Switch::Begin(model("model-c")))?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    neither()
}

fn give_up(scene: &Scene<'_>) -> Outcome {
    use SpaceState::{Abandoned, Active, Building};
    let house = house(scene)?;
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let pending = lacking(house.as_ref(), &newer())?;
    let two: Vec<_> = pending.iter().map(filling).take(2).collect();
    house.require_spaces()?.fill_vectors(&newer(), &two)?;
    let given_up = house.require_spaces()?.take_step(&Switch::Rollback)?;
    same!(
        outline(&given_up)[1],
        line("model-b", Abandoned, 2),
        "the space given up"
    );
    same!(answers(house.as_ref())?, ["a", "c", "b"], "hits");
    refused(
        house.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &[],
    )?;
    house.delete(id("a"))?;
    let begun = outline(&house.require_spaces()?.take_step(&Switch::Begin(newer()))?);
    same!(
        begun,
        [line("model-a", Active, 2), line("model-b", Building, 1)],
        "spaces"
    );
    same!(lacking_ids(house.as_ref(), &newer())?, ["c"], "pending drawers");
    fill_all(house.as_ref(), &newer())?;
    house.require_spaces()?.take_step(&Switch::Finish)?;
    same!(answers(house.as_ref())?, ["b", "c"], "hits");
    Ok(())
}

fn turn_back(scene: &Scene<'_>) -> Outcome {
    use SpaceState::{Active, Retired};
    let house = house(scene)?;
    let elsewhere = scene.open_elsewhere()?;
    switch_over(house.as_ref())?;
    let back = outline(&house.require_spaces()?.take_step(&Switch::Rollback)?);
    same!(
        back,
        [line("model-a", Active, 3), line("model-b", Retired, 3)],
        "spaces"
    );
    for reader in [house, elsewhere] {
        same!(
            answers(reader.as_ref())?,
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

fn filed_since(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    switch_over(house.as_ref())?;
    let new = declaring(scene, Some(newer()))?;
    new.add(vectored("d", "filed since", &ASKED))?;
    new.upsert(vectored("b", "changed since", &ASKED))?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    same!(answers(house.as_ref())?, ["a", "c"], "hits by the old model");
    same!(house.info()?.coverage.nearest, 2, "drawers with a vector");
    same!(
        lacking_ids(house.as_ref(), &scene.model())?,
        ["d", "b"],
        "pending drawers"
    );
    same!(
        fill_all(house.as_ref(), &scene.model())?.stored,
        2,
        "vectors stored"
    );
    same!(answers(house.as_ref())?.len(), 4, "hits by the old model");
    Ok(())
}

fn writers_back(scene: &Scene<'_>) -> Outcome {
    let old = house(scene)?;
    switch_over(old.as_ref())?;
    let new = declaring(scene, Some(newer()))?;
    old.require_spaces()?.take_step(&Switch::Rollback)?;
    let late = || vectored("d", "text", &ASKED);
    refused(
        new.add(late()),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    old.add(late())?;
    same!(answers(new.as_ref())?.len(), 4, "hits");
    Ok(())
}

fn last_of_three(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    switch_over(house.as_ref())?;
    house
        .require_spaces()?
        .take_step(&Switch::Begin(model("model-c")))?;
    fill_all(house.as_ref(), &model("model-c"))?;
    house.require_spaces()?.take_step(&Switch::Finish)?;
    // One that was only begun is given up first, and has never answered.
    house
        .require_spaces()?
        .take_step(&Switch::Begin(model("model-d")))?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    let names = |spaces: Vec<Space>| -> Vec<String> {
        let lines = outline(&spaces).into_iter();
        lines.map(|(name, _, _)| name).collect()
    };
    let back = names(house.require_spaces()?.take_step(&Switch::Rollback)?);
    same!(
        back,
        ["model-b", "model-c", "model-d", "model-a"],
        "spaces, the latest first"
    );
    let forth = names(house.require_spaces()?.take_step(&Switch::Rollback)?);
    same!(
        forth[..2],
        ["model-c", "model-b"],
        "the space that answered last, again"
    );
    Ok(())
}

fn nothing_before(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    refused(
        house.require_spaces()?.take_step(&Switch::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    refused(
        house.require_spaces()?.take_step(&Switch::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    same!(answers(house.as_ref())?[0], "a", "the nearest by the old model");
    Ok(())
}

fn begin_retired(scene: &Scene<'_>) -> Outcome {
    use SpaceState::{Active, Building};
    let house = house(scene)?;
    switch_over(house.as_ref())?;
    declaring(scene, Some(newer()))?.add(vectored("d", "filed since", &ASKED))?;
    let begun = outline(&house.require_spaces()?.take_step(&Switch::Begin(scene.model()))?);
    same!(
        begun,
        [line("model-b", Active, 4), line("model-a", Building, 3)],
        "spaces"
    );
    same!(
        lacking_ids(house.as_ref(), &scene.model())?,
        ["d"],
        "pending drawers"
    );
    fill_all(house.as_ref(), &scene.model())?;
    house.require_spaces()?.take_step(&Switch::Finish)?;
    same!(answers(house.as_ref())?[0], "a", "the nearest by the first model");
    same!(answers(house.as_ref())?.len(), 4, "hits");
    Ok(())
}

fn drop_retired(scene: &Scene<'_>) -> Outcome {
    let house = house(scene)?;
    switch_over(house.as_ref())?;
    let left = house.require_spaces()?.take_step(&Switch::DropRetired)?;
    same!(outline(&left), [line("model-b", SpaceState::Active, 3)], "spaces");
    same!(
        house.require_spaces()?.take_step(&Switch::DropRetired)?,
        left,
        "spaces after dropping nothing"
    );
    refused(
        house.require_spaces()?.take_step(&Switch::Rollback),
        ErrorKind::Conflict,
        &[],
    )?;
    let other = scene.another()?;
    let elsewhere = other.open(&scene.palace(), &drawers(), &OpenOptions::default())?;
    same!(
        answers(elsewhere.as_ref())?,
        ["b", "c", "a"],
        "hits in another process"
    );
    house.require_spaces()?.take_step(&Switch::Begin(scene.model()))?;
    same!(
        lacking(house.as_ref(), &scene.model())?.len(),
        3,
        "pending in a space begun anew"
    );
    Ok(())
}

fn drop_spares(scene: &Scene<'_>) -> Outcome {
    use SpaceState::{Active, Building};
    let house = house(scene)?;
    house.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    house.require_spaces()?.take_step(&Switch::Rollback)?;
    house
        .require_spaces()?
        .take_step(&Switch::Begin(model("model-c")))?;
    fill_all(house.as_ref(), &model("model-c"))?;
    let left = outline(&house.require_spaces()?.take_step(&Switch::DropRetired)?);
    same!(
        left,
        [line("model-a", Active, 3), line("model-c", Building, 3)],
        "spaces"
    );
    house.add(plain("d", "text"))?;
    house.delete(id("d"))?;
    house.require_spaces()?.take_step(&Switch::Finish)?;
    same!(answers(house.as_ref())?, ["b", "c", "a"], "hits");
    Ok(())
}
