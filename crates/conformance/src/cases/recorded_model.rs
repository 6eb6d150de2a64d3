//! The model recorded when a handle was opened: the handle knows it, and can adopt it for its writes.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, EmbedderIdentity, ErrorKind, IdentityChange, IdentityState, OpenOptions,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, text_drawer, vector_drawer};
use crate::scene::{default_collection, model_called};
use crate::{CaseOutcome, CaseScene};

cases! { "recorded_model":
    "a handle that adopts the recorded model writes as if it had declared exactly that one" [+EmbeddingsPassthrough -ReadOnly] => writes_as_adopted;
    "where no model is recorded a handle that adopts it declares nothing" [+EmbeddingsPassthrough -ReadOnly] => adopts_nothing;
    "if the recorded model changes later a write that carries vectors is an identity mismatch" [+EmbeddingsPassthrough -ReadOnly] => changed_later;
    "a given embedder wins over the recorded model" [+EmbeddingsPassthrough -ReadOnly] => embedder_wins;
    "the model is the one that info tells when the handle is opened" [] => as_info_tells;
    "the model is the one recorded when the handle was opened, whatever is recorded later" [+EmbeddingsPassthrough -ReadOnly] => keeps_model_of_opening;
    "the model is answered without a look at the store, also once that is closed" [] => answers_when_closed;
}

const VECTOR: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

fn open_declaring(
    scene: &CaseScene<'_>,
    embedder: Option<EmbedderIdentity>,
    adopts_model: bool,
) -> loci_core::Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        adopts_model,
        ..OpenOptions::for_writing()
    };
    scene.make_collection(&default_collection(), &how)
}

fn open_adopting(scene: &CaseScene<'_>) -> loci_core::Result<Arc<dyn Collection>> {
    open_declaring(scene, None, true)
}

/// A collection that records the model, opened by a handle that declares nothing.
fn open_recording(scene: &CaseScene<'_>, called: &str) -> CaseOutcome<Arc<dyn Collection>> {
    let collection = open_declaring(scene, None, false)?;
    collection.set_identity(&model_called(called), IdentityChange::Confirm)?;
    Ok(collection)
}

fn writes_as_adopted(scene: &CaseScene<'_>) -> CaseOutcome {
    let undeclared = open_recording(scene, "model-a")?;
    let adopter = open_adopting(scene)?;
    adopter.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    // Through `open` as well as through `create`.
    let how = OpenOptions {
        adopts_model: true,
        ..OpenOptions::for_writing()
    };
    let opened = scene
        .backend()
        .open(&scene.palace(), &default_collection(), &how)?;
    opened.add_drawer(vector_drawer("b", "text", &VECTOR))?;
    // Adopting includes the dimension of the model.
    let short = adopter.add_drawer(vector_drawer("c", "text", &VECTOR[..3]));
    expect_refusal(short, ErrorKind::DimensionMismatch, &["3", "4"])?;
    // The handle that recorded the model but neither declared nor adopted it still may not write vectors.
    let silent = undeclared.add_drawer(vector_drawer("c", "text", &VECTOR));
    expect_refusal(silent, ErrorKind::IdentityMismatch, &["model-a"])?;
    same!(all_ids(adopter.as_ref())?, ["a", "b"], "ids");
    same!(
        adopter.info()?.identity,
        IdentityState::Known(model_called("model-a")),
        "identity"
    );
    Ok(())
}

fn adopts_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    // `early` is opened before any model exists and kept for the end.
    let (adopter, early) = (open_adopting(scene)?, open_adopting(scene)?);
    adopter.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    same!(
        adopter.info()?.identity,
        IdentityState::Unknown,
        "identity after vectors whose model was not declared"
    );
    let unknown = open_adopting(scene)?.add_drawer(vector_drawer("b", "text", &VECTOR));
    expect_refusal(unknown, ErrorKind::IdentityMismatch, &["unknown"])?;
    adopter.set_identity(&model_called("model-a"), IdentityChange::Confirm)?;
    // A model recorded after the handle was opened is not the one it adopted.
    let late = early.add_drawer(vector_drawer("b", "text", &VECTOR));
    expect_refusal(late, ErrorKind::IdentityMismatch, &["model-a"])?;
    same!(all_ids(adopter.as_ref())?, ["a"], "ids");
    Ok(())
}

fn changed_later(scene: &CaseScene<'_>) -> CaseOutcome {
    open_recording(scene, "model-a")?;
    let adopter = open_adopting(scene)?;
    adopter.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    adopter.set_identity(&model_called("model-b"), IdentityChange::Force)?;
    // Adopting happens once, when the handle is opened; otherwise vectors computed with the old model would
    // be filed under the new one.
    let stale = adopter.add_drawer(vector_drawer("b", "text", &VECTOR));
    expect_refusal(stale, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    adopter.add_drawer(text_drawer("c", "text"))?;
    // A handle opened now adopts the model that is recorded now.
    open_adopting(scene)?.add_drawer(vector_drawer("d", "text", &VECTOR))?;
    same!(all_ids(adopter.as_ref())?, ["a", "c", "d"], "ids");
    Ok(())
}

fn embedder_wins(scene: &CaseScene<'_>) -> CaseOutcome {
    open_recording(scene, "model-a")?;
    // If adoption won, a caller with the wrong embedder would file its vectors under another model's name.
    let other = open_declaring(scene, Some(model_called("model-b")), true);
    expect_refusal(other, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    open_declaring(scene, Some(model_called("model-a")), true)?
        .add_drawer(vector_drawer("a", "text", &VECTOR))?;
    Ok(())
}

fn as_info_tells(scene: &CaseScene<'_>) -> CaseOutcome {
    let check = |collection: Arc<dyn Collection>| -> CaseOutcome {
        same!(collection.model(), collection.info()?.identity, "model");
        Ok(())
    };
    check(scene.open()?)?;
    check(scene.open_filled([vector_drawer("a", "text", &VECTOR)])?)?;
    check(scene.open_elsewhere()?)?;
    Ok(())
}

fn keeps_model_of_opening(scene: &CaseScene<'_>) -> CaseOutcome {
    // One handle is opened in each state that the collection passes through; all are asked at the end.
    let unset = open_declaring(scene, None, false)?;
    unset.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    let unknown = open_declaring(scene, None, false)?;
    unknown.set_identity(&model_called("model-a"), IdentityChange::Confirm)?;
    let known = open_declaring(scene, None, false)?;
    known.set_identity(&model_called("model-b"), IdentityChange::Force)?;
    same!(unset.model(), IdentityState::Unset, "model of the first handle");
    same!(
        unknown.model(),
        IdentityState::Unknown,
        "model of the second handle"
    );
    for (handle, called) in [
        (known, "model-a"),
        (open_declaring(scene, None, false)?, "model-b"),
        (open_adopting(scene)?, "model-b"),
    ] {
        same!(
            handle.model(),
            IdentityState::Known(model_called(called)),
            "model"
        );
    }
    Ok(())
}

fn answers_when_closed(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = scene.open_filled([vector_drawer("a", "text", &VECTOR)])?;
    let before = collection.info()?.identity;
    scene.backend().close();
    // Proves that the store is out of reach, so the answer below cannot have come from it.
    expect_refusal(collection.info(), ErrorKind::Closed, &[])?;
    same!(collection.model(), before, "model after the backend was closed");
    Ok(())
}
