//! Embedder identity: known, unknown, unset, and what each allows.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, EmbedderIdentity, ErrorKind, IdentityChange, IdentityState, OpenOptions,
    Patch, Query, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, id, plain, vectored};
use crate::scene::{drawers, model};
use crate::{Outcome, Scene};

cases! { "identity":
    "a collection without vectors whose model nobody named is unset" [+EmbeddingsPassthrough -ReadOnly] => unset;
    "the first write of vectors by a handle that declares its embedder records it" [+EmbeddingsPassthrough -ReadOnly] => recorded;
    "a declared embedder that is known not to be the stored one is refused, naming both" [+EmbeddingsPassthrough -ReadOnly] => mismatch_on_open;
    "the same model of another revision is another embedder" [+EmbeddingsPassthrough -ReadOnly] => other_revision;
    "into a known space only what declares itself the same is written" [+EmbeddingsPassthrough -ReadOnly] => undeclared_writer;
    "a writer that declared another model before it was known is refused when it writes" [+EmbeddingsPassthrough -ReadOnly] => late_mismatch;
    "vectors nobody declared make the model unknown, and reading warns" [+EmbeddingsPassthrough -ReadOnly] => unknown_warns;
    "into an unknown space no vectors are written until its model is confirmed" [+EmbeddingsPassthrough -ReadOnly] => unknown_refuses;
    "an unknown space takes drawers without vectors and answers queries" [+EmbeddingsPassthrough -ReadOnly] => unknown_goes_on;
    "a writer that carries a whole palace adds vectors of an unknown model, which stays unknown" [+EmbeddingsPassthrough -ReadOnly] => carried;
    "what carries a whole palace writes no vectors into a known space, nor under a name into an unknown one" [+EmbeddingsPassthrough -ReadOnly] => carried_nowhere_else;
    "confirm settles an unknown model" [+EmbeddingsPassthrough -ReadOnly] => confirm_unknown;
    "confirm settles an unset model" [+EmbeddingsPassthrough -ReadOnly] => confirm_unset;
    "confirm is refused on a model known to be another" [+EmbeddingsPassthrough -ReadOnly] => confirm_known;
    "force replaces what is recorded" [+EmbeddingsPassthrough -ReadOnly] => force;
    "an identity of a dimension other than the stored vectors' is a dimension mismatch" [+EmbeddingsPassthrough -ReadOnly] => wrong_dimension;
    "the identity is the same for every process" [+EmbeddingsPassthrough +MultiProcess -ReadOnly] => everywhere;
    "a batch with vectors that may not be written leaves nothing" [+EmbeddingsPassthrough +AtomicBatch -ReadOnly] => whole_or_nothing;
}

const VECTOR: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

fn declaring(
    scene: &Scene<'_>,
    embedder: Option<EmbedderIdentity>,
) -> loci_core::Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        ..OpenOptions::writable()
    };
    scene.make(&drawers(), &how)
}

/// A collection with one vector that nobody said what made.
fn unknown(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let undeclared = declaring(scene, None)?;
    undeclared.add(vectored("a", "text", &VECTOR))?;
    Ok(undeclared)
}

/// A handle of somebody who moves a whole palace.
fn carrying(scene: &Scene<'_>, embedder: Option<EmbedderIdentity>) -> loci_core::Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        carries_unknown: true,
        ..OpenOptions::writable()
    };
    scene.make(&drawers(), &how)
}

fn carried(scene: &Scene<'_>) -> Outcome {
    let carrier = carrying(scene, None)?;
    carrier.add(vectored("a", "text", &VECTOR))?;
    carrier.add(vectored("b", "text", &VECTOR))?;
    same!(carrier.info()?.identity, IdentityState::Unknown, "identity");
    let usual = declaring(scene, None)?.add(vectored("c", "text", &VECTOR));
    refused(usual, ErrorKind::IdentityMismatch, &["unknown"])?;
    carrier.set_identity(&model("model-a"), IdentityChange::Confirm)?;
    same!(
        carrier.info()?.identity,
        IdentityState::Known(model("model-a")),
        "identity once somebody confirmed it"
    );
    declaring(scene, Some(model("model-a")))?.add(vectored("c", "text", &VECTOR))?;
    same!(all_ids(carrier.as_ref())?, ["a", "b", "c"], "ids");
    Ok(())
}

fn carried_nowhere_else(scene: &Scene<'_>) -> Outcome {
    let carrier = carrying(scene, None)?;
    carrier.add(vectored("a", "text", &VECTOR))?;
    let named = carrying(scene, Some(model("model-a")))?.add(vectored("b", "text", &VECTOR));
    refused(named, ErrorKind::IdentityMismatch, &["unknown"])?;
    carrier.set_identity(&model("model-a"), IdentityChange::Confirm)?;
    let late = carrier.add(vectored("b", "text", &VECTOR));
    refused(late, ErrorKind::IdentityMismatch, &["model-a"])?;
    same!(all_ids(carrier.as_ref())?, ["a"], "ids");
    Ok(())
}

fn unset(scene: &Scene<'_>) -> Outcome {
    let collection = declaring(scene, None)?;
    same!(collection.info()?.identity, IdentityState::Unset, "identity");
    collection.add(plain("a", "text"))?;
    same!(
        collection.info()?.identity,
        IdentityState::Unset,
        "identity after a drawer without a vector"
    );
    same!(collection.info()?.warnings, Vec::new(), "warnings");
    Ok(())
}

fn recorded(scene: &Scene<'_>) -> Outcome {
    let collection = declaring(scene, Some(model("model-a")))?;
    collection.add(vectored("a", "text", &VECTOR))?;
    let info = collection.info()?;
    same!(info.identity, IdentityState::Known(model("model-a")), "identity");
    same!(info.dimension, Some(4), "dimension");
    collection.add(vectored("b", "text", &VECTOR))?;
    declaring(scene, Some(model("model-a")))?.add(vectored("c", "text", &VECTOR))?;
    Ok(())
}

fn mismatch_on_open(scene: &Scene<'_>) -> Outcome {
    declaring(scene, Some(model("model-a")))?.add(vectored("a", "text", &VECTOR))?;
    let other = declaring(scene, Some(model("model-b")));
    refused(other, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    let undeclared = declaring(scene, None)?;
    same!(
        all_ids(undeclared.as_ref())?,
        ["a"],
        "ids for a reader who declares nothing"
    );
    Ok(())
}

fn other_revision(scene: &Scene<'_>) -> Outcome {
    declaring(scene, Some(model("model-a")))?.add(vectored("a", "text", &VECTOR))?;
    let newer = EmbedderIdentity {
        revision: "2".into(),
        ..model("model-a")
    };
    refused(
        declaring(scene, Some(newer)),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )
}

fn undeclared_writer(scene: &Scene<'_>) -> Outcome {
    declaring(scene, Some(model("model-a")))?.add(vectored("a", "text", &VECTOR))?;
    let undeclared = declaring(scene, None)?;
    refused(
        undeclared.add(vectored("b", "text", &VECTOR)),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )?;
    let patch = Patch {
        embedding: Some(VECTOR.to_vec()),
        ..Patch::new(id("a"))
    };
    refused(
        undeclared.apply_batch(&[Write::Update(patch)]),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )?;
    undeclared.add(plain("c", "text"))?;
    same!(all_ids(undeclared.as_ref())?, ["a", "c"], "ids");
    Ok(())
}

fn late_mismatch(scene: &Scene<'_>) -> Outcome {
    let one = declaring(scene, Some(model("model-a")))?;
    let Ok(other) = declaring(scene, Some(model("model-b"))) else {
        // Recording the model on open already is as strict.
        return Ok(());
    };
    one.add(vectored("a", "text", &VECTOR))?;
    let late = other.add(vectored("b", "text", &VECTOR));
    refused(late, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    same!(all_ids(one.as_ref())?, ["a"], "ids");
    Ok(())
}

fn unknown_warns(scene: &Scene<'_>) -> Outcome {
    let collection = unknown(scene)?;
    let declared = declaring(scene, Some(model("model-a")))?;
    for reader in [collection, declared, scene.open_elsewhere()?] {
        let info = reader.info()?;
        same!(info.identity, IdentityState::Unknown, "identity");
        let told = info
            .warnings
            .iter()
            .any(|warning| warning.message.contains("model"));
        ensure!(
            told,
            "expected a warning that names the model, found {:?}",
            info.warnings
        );
    }
    Ok(())
}

fn unknown_refuses(scene: &Scene<'_>) -> Outcome {
    let undeclared = unknown(scene)?;
    let declared = declaring(scene, Some(model("model-a")))?;
    for writer in [&undeclared, &declared] {
        refused(
            writer.add(vectored("b", "text", &VECTOR)),
            ErrorKind::IdentityMismatch,
            &["unknown"],
        )?;
        let patch = Patch {
            embedding: Some(VECTOR.to_vec()),
            ..Patch::new(id("a"))
        };
        refused(
            writer.apply_batch(&[Write::Update(patch)]),
            ErrorKind::IdentityMismatch,
            &["unknown"],
        )?;
    }
    same!(all_ids(undeclared.as_ref())?, ["a"], "ids");
    Ok(())
}

fn unknown_goes_on(scene: &Scene<'_>) -> Outcome {
    let collection = unknown(scene)?;
    collection.add(plain("b", "text"))?;
    same!(all_ids(collection.as_ref())?, ["a", "b"], "ids");
    let lists = collection.query(&Query::nearest(VECTOR.to_vec(), 5))?;
    same!(crate::samples::hit_ids(&lists[0]), ["a"], "hits");
    collection.delete(id("b"))?;
    Ok(())
}

fn confirm_unknown(scene: &Scene<'_>) -> Outcome {
    let collection = unknown(scene)?;
    collection.set_identity(&model("model-a"), IdentityChange::Confirm)?;
    let info = collection.info()?;
    same!(info.identity, IdentityState::Known(model("model-a")), "identity");
    same!(info.warnings, Vec::new(), "warnings");
    refused(
        declaring(scene, Some(model("model-b"))),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    declaring(scene, Some(model("model-a")))?.add(vectored("b", "text", &VECTOR))?;
    Ok(())
}

fn confirm_unset(scene: &Scene<'_>) -> Outcome {
    let collection = declaring(scene, None)?;
    collection.set_identity(&model("model-a"), IdentityChange::Confirm)?;
    same!(
        collection.info()?.identity,
        IdentityState::Known(model("model-a")),
        "identity"
    );
    refused(
        collection.add(vectored("a", "text", &VECTOR)),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )?;
    declaring(scene, Some(model("model-a")))?.add(vectored("a", "text", &VECTOR))?;
    Ok(())
}

fn confirm_known(scene: &Scene<'_>) -> Outcome {
    let collection = declaring(scene, Some(model("model-a")))?;
    collection.add(vectored("a", "text", &VECTOR))?;
    let other = collection.set_identity(&model("model-b"), IdentityChange::Confirm);
    refused(other, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    collection.set_identity(&model("model-a"), IdentityChange::Confirm)?;
    same!(
        collection.info()?.identity,
        IdentityState::Known(model("model-a")),
        "identity"
    );
    Ok(())
}

fn force(scene: &Scene<'_>) -> Outcome {
    let collection = declaring(scene, Some(model("model-a")))?;
    collection.add(vectored("a", "text", &VECTOR))?;
    collection.set_identity(&model("model-b"), IdentityChange::Force)?;
    same!(
        collection.info()?.identity,
        IdentityState::Known(model("model-b")),
        "identity"
    );
    refused(
        declaring(scene, Some(model("model-a"))),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    declaring(scene, Some(model("model-b")))?.add(vectored("b", "text", &VECTOR))?;
    same!(all_ids(collection.as_ref())?, ["a", "b"], "ids");
    Ok(())
}

fn wrong_dimension(scene: &Scene<'_>) -> Outcome {
    let collection = unknown(scene)?;
    let smaller = EmbedderIdentity {
        dimension: 3,
        ..model("model-a")
    };
    for why in [IdentityChange::Confirm, IdentityChange::Force] {
        let refusal = collection.set_identity(&smaller, why);
        refused(refusal, ErrorKind::DimensionMismatch, &["3", "4"])?;
    }
    same!(collection.info()?.identity, IdentityState::Unknown, "identity");
    Ok(())
}

fn everywhere(scene: &Scene<'_>) -> Outcome {
    let here = scene.open()?;
    let there = scene.open_elsewhere()?;
    here.add(vectored("a", "text", &VECTOR))?;
    same!(
        there.info()?.identity,
        IdentityState::Known(scene.model()),
        "identity in another process"
    );
    there.set_identity(&model("model-b"), IdentityChange::Force)?;
    same!(
        here.info()?.identity,
        IdentityState::Known(model("model-b")),
        "identity set by another process"
    );
    let stale = here.add(vectored("b", "text", &VECTOR));
    refused(stale, ErrorKind::IdentityMismatch, &["model-a", "model-b"])
}

fn whole_or_nothing(scene: &Scene<'_>) -> Outcome {
    let collection = unknown(scene)?;
    let patch = Patch {
        document: Some("changed".into()),
        ..Patch::new(id("a"))
    };
    let batch = [
        Write::Add(plain("b", "text")),
        Write::Update(patch),
        Write::Add(vectored("c", "text", &VECTOR)),
    ];
    refused(collection.apply_batch(&batch), ErrorKind::IdentityMismatch, &[])?;
    same!(all_ids(collection.as_ref())?, ["a"], "ids");
    same!(
        crate::samples::read(collection.as_ref(), "a")?
            .document
            .as_deref(),
        Some("text"),
        "text"
    );
    Ok(())
}
