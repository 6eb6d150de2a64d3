//! Handles that may not write: every write is refused, through every sub-trait.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, ErrorKind, Get, IdentityChange, OpenOptions, Patch, Switch, Write,
};

use crate::case::refused;
use crate::revising::{all, forgetting, remember, revision};
use crate::samples::{delete, id, plain, vectored};
use crate::scene::{drawers, model};
use crate::{Outcome, Scene};

cases! { "read_handles":
    "the default options open a handle that may not write" [-ReadOnly] => by_default;
    "through a handle that may not write every batch is unsupported and nothing is written" [-ReadOnly] => batches;
    "through a handle that may not write no model is recorded" [-ReadOnly] => models;
    "through a handle that may not write no step of a change of model is taken and no vector is stored" [+EmbeddingsPassthrough +Spaces -ReadOnly] => spaces;
    "through a handle that may not write no source is revised" [+Sources -ReadOnly] => sources;
    "through a handle that may not write no upkeep runs" [-ReadOnly] => upkeep;
    "through a handle that may not write nothing is erased" [+Erasure -ReadOnly] => erasure;
    "a handle that may not write sees what others write" [-ReadOnly] => sees;
}

/// A handle that may write and one that may not.
fn open_both(scene: &Scene<'_>) -> Outcome<(Arc<dyn Collection>, Arc<dyn Collection>)> {
    let drawer = vectored("a", "text", &[1.0, 0.0, 0.0, 0.0]);
    let whole = scene.filled([scene.fit(drawer)])?;
    let options = OpenOptions {
        writable: false,
        ..scene.how()
    };
    let reading = scene.backend().open(&scene.palace(), &drawers(), &options)?;
    Ok((whole, reading))
}

fn by_default(scene: &Scene<'_>) -> Outcome {
    scene.filled([plain("a", "text")])?;
    let reading = scene
        .backend()
        .open(&scene.palace(), &drawers(), &OpenOptions::default())?;
    refused(reading.add(plain("b", "text")), ErrorKind::Unsupported, &[])
}

fn batches(scene: &Scene<'_>) -> Outcome {
    let (whole, reading) = open_both(scene)?;
    let before = (whole.info()?, whole.get(&Get::default())?);
    let patch = Patch {
        document: Some("new".into()),
        ..Patch::new(id("a"))
    };
    for write in [
        Write::Add(plain("b", "text")),
        Write::Upsert(plain("a", "new")),
        Write::Update(patch),
        delete("a"),
        delete("never"),
    ] {
        refused(reading.apply_batch(&[write]), ErrorKind::Unsupported, &[])?;
    }
    same!(
        (whole.info()?, whole.get(&Get::default())?),
        before,
        "the collection"
    );
    Ok(())
}

fn models(scene: &Scene<'_>) -> Outcome {
    let (whole, reading) = open_both(scene)?;
    let before = whole.info()?;
    for why in [IdentityChange::Confirm, IdentityChange::Force] {
        refused(
            reading.set_identity(&model("model-b"), why),
            ErrorKind::Unsupported,
            &[],
        )?;
    }
    same!(whole.info()?, before, "what the collection says of itself");
    Ok(())
}

fn spaces(scene: &Scene<'_>) -> Outcome {
    let (whole, reading) = open_both(scene)?;
    let reading = reading.require_spaces()?;
    for step in [
        Switch::Begin(model("model-b")),
        Switch::Rollback,
        Switch::DropRetired,
    ] {
        refused(reading.take_step(&step), ErrorKind::Unsupported, &[])?;
    }
    let spaces = whole.require_spaces()?;
    let begun = spaces.take_step(&Switch::Begin(model("model-b")))?;
    let pending = crate::turning::lacking(whole.as_ref(), &model("model-b"))?;
    let given: Vec<_> = pending.iter().map(crate::turning::filling).collect();
    refused(
        reading.fill_vectors(&model("model-b"), &given),
        ErrorKind::Unsupported,
        &[],
    )?;
    same!(reading.list_spaces()?, begun, "spaces");
    Ok(())
}

fn sources(scene: &Scene<'_>) -> Outcome {
    let (whole, reading) = open_both(scene)?;
    remember(whole.as_ref(), &["a.md"])?;
    let before = whole.require_sources()?.find_records(&all())?;
    let reading = reading.require_sources()?;
    let add = vec![Write::Add(plain("b", "text"))];
    refused(
        reading.revise(vec![revision("b.md", None, "1", [add])]),
        ErrorKind::Unsupported,
        &[],
    )?;
    let expects = Some(before[0].revision);
    refused(
        reading.revise(vec![forgetting("a.md", expects)]),
        ErrorKind::Unsupported,
        &[],
    )?;
    same!(reading.find_records(&all())?, before, "records");
    same!(whole.info()?.drawers, 1, "drawers");
    Ok(())
}

fn upkeep(scene: &Scene<'_>) -> Outcome {
    let (_, reading) = open_both(scene)?;
    for kind in &scene.descriptor().maintenance {
        let upkeep = reading.require_upkeep()?;
        refused(upkeep.run(kind), ErrorKind::Unsupported, &[])?;
        same!(upkeep.state()?.running, [], "kinds running");
    }
    Ok(())
}

fn erasure(scene: &Scene<'_>) -> Outcome {
    let (whole, reading) = open_both(scene)?;
    let eraser = reading.eraser();
    let eraser = eraser.ok_or_else(|| crate::Failure::new("expected erasure, found none"))?;
    refused(eraser.erase(&[id("a")]), ErrorKind::Unsupported, &[])?;
    same!(whole.info()?.drawers, 1, "drawers");
    Ok(())
}

fn sees(scene: &Scene<'_>) -> Outcome {
    let (whole, reading) = open_both(scene)?;
    whole.add(plain("b", "text"))?;
    same!(
        reading.get(&Get::default())?,
        whole.get(&Get::default())?,
        "drawers"
    );
    same!(reading.info()?, whole.info()?, "info");
    Ok(())
}
