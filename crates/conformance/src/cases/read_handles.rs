//! Read-only handles: every write is refused, through every sub-trait.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DrawerPatch, ErrorKind, GetRequest, IdentityChange, OpenOptions, SwitchStep,
    Write,
};

use crate::case::expect_refusal;
use crate::revising::{every_record, forgetting_revision, new_revision, store_records};
use crate::samples::{delete_write, id, text_drawer, vector_drawer};
use crate::scene::{default_collection, model_called};
use crate::{CaseOutcome, CaseScene};

cases! { "read_handles":
    "the default options open a handle that may not write" [-ReadOnly] => default_may_not_write;
    "through a handle that may not write every batch is unsupported and nothing is written" [-ReadOnly] => refuses_batches;
    "through a handle that may not write no model is recorded" [-ReadOnly] => records_no_model;
    "through a handle that may not write no step of a change of model is taken and no vector is stored" [+EmbeddingsPassthrough +Spaces -ReadOnly] => takes_no_step;
    "through a handle that may not write no source is revised" [+Sources -ReadOnly] => revises_no_source;
    "through a handle that may not write no upkeep runs" [-ReadOnly] => runs_no_upkeep;
    "through a handle that may not write nothing is erased" [+Erasure -ReadOnly] => erases_nothing;
    "a handle that may not write sees what others write" [-ReadOnly] => sees_other_writes;
}

/// Returns a writable handle and a read-only one.
fn open_both(scene: &CaseScene<'_>) -> CaseOutcome<(Arc<dyn Collection>, Arc<dyn Collection>)> {
    let drawer = vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0]);
    let whole = scene.open_filled([scene.fit_drawer(drawer)])?;
    // Everything else as usual, so that a refusal can only be due to `writable`.
    let options = OpenOptions {
        writable: false,
        ..scene.usual_options()
    };
    let reading = scene
        .backend()
        .open(&scene.palace(), &default_collection(), &options)?;
    Ok((whole, reading))
}

fn default_may_not_write(scene: &CaseScene<'_>) -> CaseOutcome {
    scene.open_filled([text_drawer("a", "text")])?;
    let reading = scene
        .backend()
        .open(&scene.palace(), &default_collection(), &OpenOptions::default())?;
    expect_refusal(
        reading.add_drawer(text_drawer("b", "text")),
        ErrorKind::Unsupported,
        &[],
    )
}

fn refuses_batches(scene: &CaseScene<'_>) -> CaseOutcome {
    let (whole, reading) = open_both(scene)?;
    let before = (whole.info()?, whole.get(&GetRequest::default())?);
    let patch = DrawerPatch {
        document: Some("new".into()),
        ..DrawerPatch::new(id("a"))
    };
    for write in [
        Write::Add(text_drawer("b", "text")),
        Write::Upsert(text_drawer("a", "new")),
        Write::Update(patch),
        delete_write("a"),
        // Changes nothing, but is a write all the same; the answer must not depend on the content of the
        // store.
        delete_write("never"),
    ] {
        expect_refusal(reading.apply_batch(&[write]), ErrorKind::Unsupported, &[])?;
    }
    same!(
        (whole.info()?, whole.get(&GetRequest::default())?),
        before,
        "the collection"
    );
    Ok(())
}

fn records_no_model(scene: &CaseScene<'_>) -> CaseOutcome {
    let (whole, reading) = open_both(scene)?;
    let before = whole.info()?;
    for why in [IdentityChange::Confirm, IdentityChange::Force] {
        expect_refusal(
            reading.set_identity(&model_called("model-b"), why),
            ErrorKind::Unsupported,
            &[],
        )?;
    }
    same!(whole.info()?, before, "what the collection says of itself");
    Ok(())
}

fn takes_no_step(scene: &CaseScene<'_>) -> CaseOutcome {
    let (whole, reading) = open_both(scene)?;
    let reading = reading.require_spaces()?;
    for step in [
        SwitchStep::Begin(model_called("model-b")),
        SwitchStep::Rollback,
        SwitchStep::DropRetired,
    ] {
        expect_refusal(reading.take_step(&step), ErrorKind::Unsupported, &[])?;
    }
    let spaces = whole.require_spaces()?;
    // A space has to exist before filling it can be refused for the right reason.
    let begun = spaces.take_step(&SwitchStep::Begin(model_called("model-b")))?;
    let pending = crate::switching::list_lacking(whole.as_ref(), &model_called("model-b"))?;
    let given: Vec<_> = pending.iter().map(crate::switching::make_filling).collect();
    expect_refusal(
        reading.fill_vectors(&model_called("model-b"), &given),
        ErrorKind::Unsupported,
        &[],
    )?;
    same!(reading.list_spaces()?, begun, "spaces");
    Ok(())
}

fn revises_no_source(scene: &CaseScene<'_>) -> CaseOutcome {
    let (whole, reading) = open_both(scene)?;
    store_records(whole.as_ref(), &["a.md"])?;
    let before = whole.require_sources()?.find_records(&every_record())?;
    let reading = reading.require_sources()?;
    let add = vec![Write::Add(text_drawer("b", "text"))];
    expect_refusal(
        reading.revise(vec![new_revision("b.md", None, "1", [add])]),
        ErrorKind::Unsupported,
        &[],
    )?;
    // The right number, so that the revision is not merely overtaken.
    let expects = Some(before[0].revision);
    expect_refusal(
        reading.revise(vec![forgetting_revision("a.md", expects)]),
        ErrorKind::Unsupported,
        &[],
    )?;
    same!(reading.find_records(&every_record())?, before, "records");
    same!(whole.info()?.drawers, 1, "drawers");
    Ok(())
}

fn runs_no_upkeep(scene: &CaseScene<'_>) -> CaseOutcome {
    let (_, reading) = open_both(scene)?;
    for kind in &scene.descriptor().maintenance {
        let upkeep = reading.require_upkeep()?;
        expect_refusal(upkeep.run(kind), ErrorKind::Unsupported, &[])?;
        // A refused run must not be registered as running, or no other handle could start it.
        same!(upkeep.state()?.running, [], "kinds running");
    }
    Ok(())
}

fn erases_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let (whole, reading) = open_both(scene)?;
    let eraser = reading.eraser();
    let eraser = eraser.ok_or_else(|| crate::CaseFailure::new("expected erasure, found none"))?;
    expect_refusal(eraser.begin(), ErrorKind::Unsupported, &[])?;
    expect_refusal(eraser.purge(&mut |_, _| {}), ErrorKind::Unsupported, &[])?;
    ensure!(!eraser.is_unfinished()?, "expected no erasure to have begun");
    same!(whole.info()?.drawers, 1, "drawers");
    Ok(())
}

fn sees_other_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    let (whole, reading) = open_both(scene)?;
    // Written after the reader was opened: read-only must not mean a frozen copy.
    whole.add_drawer(text_drawer("b", "text"))?;
    same!(
        reading.get(&GetRequest::default())?,
        whole.get(&GetRequest::default())?,
        "drawers"
    );
    same!(reading.info()?, whole.info()?, "info");
    Ok(())
}
