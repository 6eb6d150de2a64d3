//! The model recorded at the moment of opening: what a handle knows of it, and writing as its own.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, EmbedderIdentity, ErrorKind, IdentityChange, IdentityState, OpenOptions,
};

use crate::case::refused;
use crate::samples::{all_ids, plain, vectored};
use crate::scene::{drawers, model};
use crate::{Outcome, Scene};

cases! { "recorded_model":
    "a handle that adopts the recorded model writes as if it had declared exactly that one" [+EmbeddingsPassthrough -ReadOnly] => adopted;
    "where no model is recorded a handle that adopts it declares nothing" [+EmbeddingsPassthrough -ReadOnly] => none_adopted;
    "if the recorded model changes later a write that carries vectors is an identity mismatch" [+EmbeddingsPassthrough -ReadOnly] => changed_later;
    "a given embedder wins over the recorded model" [+EmbeddingsPassthrough -ReadOnly] => embedder_wins;
    "the model is the one that info tells when the handle is opened" [] => as_info_tells;
    "the model is the one recorded when the handle was opened, whatever is recorded later" [+EmbeddingsPassthrough -ReadOnly] => whatever_comes;
    "the model is answered without a look at the store, also once that is closed" [] => closed;
}

const VECTOR: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

fn declaring(
    scene: &Scene<'_>,
    embedder: Option<EmbedderIdentity>,
    adopts_model: bool,
) -> loci_core::Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        adopts_model,
        ..OpenOptions::writable()
    };
    scene.make(&drawers(), &how)
}

fn adopting(scene: &Scene<'_>) -> loci_core::Result<Arc<dyn Collection>> {
    declaring(scene, None, true)
}

/// A collection that records the model, opened by a handle that declares nothing.
fn recording(scene: &Scene<'_>, called: &str) -> Outcome<Arc<dyn Collection>> {
    let collection = declaring(scene, None, false)?;
    collection.set_identity(&model(called), IdentityChange::Confirm)?;
    Ok(collection)
}

fn adopted(scene: &Scene<'_>) -> Outcome {
    let undeclared = recording(scene, "model-a")?;
    let adopter = adopting(scene)?;
    adopter.add(vectored("a", "text", &VECTOR))?;
    let how = OpenOptions {
        adopts_model: true,
        ..OpenOptions::writable()
    };
    let opened = scene.backend().open(&scene.palace(), &drawers(), &how)?;
    opened.add(vectored("b", "text", &VECTOR))?;
    let short = adopter.add(vectored("c", "text", &VECTOR[..3]));
    refused(short, ErrorKind::DimensionMismatch, &["3", "4"])?;
    let silent = undeclared.add(vectored("c", "text", &VECTOR));
    refused(silent, ErrorKind::IdentityMismatch, &["model-a"])?;
    same!(all_ids(adopter.as_ref())?, ["a", "b"], "ids");
    same!(
        adopter.info()?.identity,
        IdentityState::Known(model("model-a")),
        "identity"
    );
    Ok(())
}

fn none_adopted(scene: &Scene<'_>) -> Outcome {
    let (adopter, early) = (adopting(scene)?, adopting(scene)?);
    adopter.add(vectored("a", "text", &VECTOR))?;
    same!(
        adopter.info()?.identity,
        IdentityState::Unknown,
        "identity after vectors whose model nobody declared"
    );
    let unknown = adopting(scene)?.add(vectored("b", "text", &VECTOR));
    refused(unknown, ErrorKind::IdentityMismatch, &["unknown"])?;
    adopter.set_identity(&model("model-a"), IdentityChange::Confirm)?;
    // A model recorded after the handle was opened is not the one it adopted.
    let late = early.add(vectored("b", "text", &VECTOR));
    refused(late, ErrorKind::IdentityMismatch, &["model-a"])?;
    same!(all_ids(adopter.as_ref())?, ["a"], "ids");
    Ok(())
}

fn changed_later(scene: &Scene<'_>) -> Outcome {
    recording(scene, "model-a")?;
    let adopter = adopting(scene)?;
    adopter.add(vectored("a", "text", &VECTOR))?;
    adopter.set_identity(&model("model-b"), IdentityChange::Force)?;
    let stale = adopter.add(vectored("b", "text", &VECTOR));
    refused(stale, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    adopter.add(plain("c", "text"))?;
    adopting(scene)?.add(vectored("d", "text", &VECTOR))?;
    same!(all_ids(adopter.as_ref())?, ["a", "c", "d"], "ids");
    Ok(())
}

fn embedder_wins(scene: &Scene<'_>) -> Outcome {
    recording(scene, "model-a")?;
    let other = declaring(scene, Some(model("model-b")), true);
    refused(other, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    declaring(scene, Some(model("model-a")), true)?.add(vectored("a", "text", &VECTOR))?;
    Ok(())
}

fn as_info_tells(scene: &Scene<'_>) -> Outcome {
    let check = |collection: Arc<dyn Collection>| -> Outcome {
        same!(collection.model(), collection.info()?.identity, "model");
        Ok(())
    };
    check(scene.open()?)?;
    check(scene.filled([vectored("a", "text", &VECTOR)])?)?;
    check(scene.open_elsewhere()?)?;
    Ok(())
}

fn whatever_comes(scene: &Scene<'_>) -> Outcome {
    let unset = declaring(scene, None, false)?;
    unset.add(vectored("a", "text", &VECTOR))?;
    let unknown = declaring(scene, None, false)?;
    unknown.set_identity(&model("model-a"), IdentityChange::Confirm)?;
    let known = declaring(scene, None, false)?;
    known.set_identity(&model("model-b"), IdentityChange::Force)?;
    same!(unset.model(), IdentityState::Unset, "model of the first handle");
    same!(
        unknown.model(),
        IdentityState::Unknown,
        "model of the second handle"
    );
    for (handle, called) in [
        (known, "model-a"),
        (declaring(scene, None, false)?, "model-b"),
        (adopting(scene)?, "model-b"),
    ] {
        same!(handle.model(), IdentityState::Known(model(called)), "model");
    }
    Ok(())
}

fn closed(scene: &Scene<'_>) -> Outcome {
    let collection = scene.filled([vectored("a", "text", &VECTOR)])?;
    let before = collection.info()?.identity;
    scene.backend().close();
    refused(collection.info(), ErrorKind::Closed, &[])?;
    same!(collection.model(), before, "model after the backend was closed");
    Ok(())
}
