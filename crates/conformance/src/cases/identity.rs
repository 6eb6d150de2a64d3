//! Embedder identity: known, unknown or unset, and the writes each state allows.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DrawerPatch, EmbedderIdentity, ErrorKind, IdentityChange, IdentityState,
    OpenOptions, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, id, text_drawer, vector_drawer};
use crate::scene::{default_collection, model_called};
use crate::{CaseOutcome, CaseScene};

cases! { "identity":
    "a collection without vectors whose model nobody named is unset" [+EmbeddingsPassthrough -ReadOnly] => unset_without_vectors;
    "the first write of vectors by a handle that declares its embedder records it" [+EmbeddingsPassthrough -ReadOnly] => first_write_records;
    "a declared embedder that is known not to be the stored one is refused, naming both" [+EmbeddingsPassthrough -ReadOnly] => mismatch_on_open;
    "the same model of another revision is another embedder" [+EmbeddingsPassthrough -ReadOnly] => other_revision;
    "into a known space only what declares itself the same is written" [+EmbeddingsPassthrough -ReadOnly] => undeclared_writer;
    "a writer that declared another model before it was known is refused when it writes" [+EmbeddingsPassthrough -ReadOnly] => late_mismatch;
    "vectors nobody declared make the model unknown, and reading warns" [+EmbeddingsPassthrough -ReadOnly] => unknown_warns;
    "into an unknown space no vectors are written until its model is confirmed" [+EmbeddingsPassthrough -ReadOnly] => unknown_refuses;
    "an unknown space takes drawers without vectors and answers queries" [+EmbeddingsPassthrough -ReadOnly] => unknown_goes_on;
    "a writer that carries a whole palace adds vectors of an unknown model, which stays unknown" [+EmbeddingsPassthrough -ReadOnly] => carrier_keeps_unknown;
    "what carries a whole palace writes no vectors into a known space, nor under a name into an unknown one" [+EmbeddingsPassthrough -ReadOnly] => carrier_writes_nowhere_else;
    "confirm settles an unknown model" [+EmbeddingsPassthrough -ReadOnly] => confirm_unknown;
    "confirm settles an unset model" [+EmbeddingsPassthrough -ReadOnly] => confirm_unset;
    "confirm is refused on a model known to be another" [+EmbeddingsPassthrough -ReadOnly] => confirm_known;
    "force replaces what is recorded" [+EmbeddingsPassthrough -ReadOnly] => force_replaces;
    "an identity of a dimension other than the stored vectors' is a dimension mismatch" [+EmbeddingsPassthrough -ReadOnly] => wrong_dimension;
    "the identity is the same for every process" [+EmbeddingsPassthrough +MultiProcess -ReadOnly] => same_for_every_process;
    "a batch with vectors that may not be written leaves nothing" [+EmbeddingsPassthrough +AtomicBatch -ReadOnly] => whole_or_nothing;
}

const VECTOR: [f32; 4] = [1.0, 0.0, 0.0, 0.0];

fn open_declaring(
    scene: &CaseScene<'_>,
    embedder: Option<EmbedderIdentity>,
) -> loci_core::Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        ..OpenOptions::for_writing()
    };
    scene.make_collection(&default_collection(), &how)
}

/// A collection with one vector whose model was never declared.
fn open_unknown(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let undeclared = open_declaring(scene, None)?;
    undeclared.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    Ok(undeclared)
}

/// A handle that carries a whole palace, vectors of unknown models included.
fn open_carrying(
    scene: &CaseScene<'_>,
    embedder: Option<EmbedderIdentity>,
) -> loci_core::Result<Arc<dyn Collection>> {
    let how = OpenOptions {
        embedder,
        carries_unknown: true,
        ..OpenOptions::for_writing()
    };
    scene.make_collection(&default_collection(), &how)
}

fn carrier_keeps_unknown(scene: &CaseScene<'_>) -> CaseOutcome {
    let carrier = open_carrying(scene, None)?;
    carrier.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    carrier.add_drawer(vector_drawer("b", "text", &VECTOR))?;
    same!(carrier.info()?.identity, IdentityState::Unknown, "identity");
    // The exception is for the carrier only: an ordinary writer without a model must not extend an unknown
    // space.
    let usual = open_declaring(scene, None)?.add_drawer(vector_drawer("c", "text", &VECTOR));
    expect_refusal(usual, ErrorKind::IdentityMismatch, &["unknown"])?;
    carrier.set_identity(&model_called("model-a"), IdentityChange::Confirm)?;
    same!(
        carrier.info()?.identity,
        IdentityState::Known(model_called("model-a")),
        "identity once it was confirmed"
    );
    // Once confirmed, the carried vectors are ordinary ones and the collection can be extended.
    open_declaring(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("c", "text", &VECTOR))?;
    same!(all_ids(carrier.as_ref())?, ["a", "b", "c"], "ids");
    Ok(())
}

fn carrier_writes_nowhere_else(scene: &CaseScene<'_>) -> CaseOutcome {
    let carrier = open_carrying(scene, None)?;
    carrier.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    // Naming a model and carrying unknown vectors contradict each other; the stricter rule wins.
    let named =
        open_carrying(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("b", "text", &VECTOR));
    expect_refusal(named, ErrorKind::IdentityMismatch, &["unknown"])?;
    carrier.set_identity(&model_called("model-a"), IdentityChange::Confirm)?;
    // The handle was opened while the model was unknown; it is checked at the write, not only when it is
    // opened.
    let late = carrier.add_drawer(vector_drawer("b", "text", &VECTOR));
    expect_refusal(late, ErrorKind::IdentityMismatch, &["model-a"])?;
    same!(all_ids(carrier.as_ref())?, ["a"], "ids");
    Ok(())
}

fn unset_without_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_declaring(scene, None)?;
    same!(collection.info()?.identity, IdentityState::Unset, "identity");
    // A drawer without a vector says nothing about a model.
    collection.add_drawer(text_drawer("a", "text"))?;
    same!(
        collection.info()?.identity,
        IdentityState::Unset,
        "identity after a drawer without a vector"
    );
    // A warning here would appear on every palace that has no embedder configured.
    same!(collection.info()?.warnings, Vec::new(), "warnings");
    Ok(())
}

fn first_write_records(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_declaring(scene, Some(model_called("model-a")))?;
    collection.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    let info = collection.info()?;
    same!(
        info.identity,
        IdentityState::Known(model_called("model-a")),
        "identity"
    );
    // The dimension becomes fixed together with the model.
    same!(info.dimension, Some(4), "dimension");
    collection.add_drawer(vector_drawer("b", "text", &VECTOR))?;
    open_declaring(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("c", "text", &VECTOR))?;
    Ok(())
}

fn mismatch_on_open(scene: &CaseScene<'_>) -> CaseOutcome {
    open_declaring(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    let other = open_declaring(scene, Some(model_called("model-b")));
    expect_refusal(other, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    // Reading by id or words needs no embedder, so a handle that declares none is welcome.
    let undeclared = open_declaring(scene, None)?;
    same!(
        all_ids(undeclared.as_ref())?,
        ["a"],
        "ids for a reader that declares nothing"
    );
    Ok(())
}

fn other_revision(scene: &CaseScene<'_>) -> CaseOutcome {
    open_declaring(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    // Same name and dimension, so only the revision tells them apart; vectors of two revisions are not
    // comparable.
    let newer = EmbedderIdentity {
        revision: "2".into(),
        ..model_called("model-a")
    };
    expect_refusal(
        open_declaring(scene, Some(newer)),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )
}

fn undeclared_writer(scene: &CaseScene<'_>) -> CaseOutcome {
    open_declaring(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    let undeclared = open_declaring(scene, None)?;
    expect_refusal(
        undeclared.add_drawer(vector_drawer("b", "text", &VECTOR)),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )?;
    // An update carries a vector as well and takes another path than add.
    let patch = DrawerPatch {
        embedding: Some(VECTOR.to_vec()),
        ..DrawerPatch::new(id("a"))
    };
    expect_refusal(
        undeclared.apply_batch(&[Write::Update(patch)]),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )?;
    // The rule is about vectors; text alone may always be filed.
    undeclared.add_drawer(text_drawer("c", "text"))?;
    same!(all_ids(undeclared.as_ref())?, ["a", "c"], "ids");
    Ok(())
}

fn late_mismatch(scene: &CaseScene<'_>) -> CaseOutcome {
    let one = open_declaring(scene, Some(model_called("model-a")))?;
    let Ok(other) = open_declaring(scene, Some(model_called("model-b"))) else {
        // Recording the model on open already is as strict.
        return Ok(());
    };
    // Both handles were opened on an unset space, so neither open could be refused; the first write decides
    // and the second must notice.
    one.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    let late = other.add_drawer(vector_drawer("b", "text", &VECTOR));
    expect_refusal(late, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    same!(all_ids(one.as_ref())?, ["a"], "ids");
    Ok(())
}

fn unknown_warns(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_unknown(scene)?;
    let declared = open_declaring(scene, Some(model_called("model-a")))?;
    // The writer itself, a handle that declares a model, and another process: the warning belongs to the
    // store, not to a handle.
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

fn unknown_refuses(scene: &CaseScene<'_>) -> CaseOutcome {
    let undeclared = open_unknown(scene)?;
    let declared = open_declaring(scene, Some(model_called("model-a")))?;
    // A declared model does not help: it is unknown whether the vectors already stored are of that model.
    for writer in [&undeclared, &declared] {
        expect_refusal(
            writer.add_drawer(vector_drawer("b", "text", &VECTOR)),
            ErrorKind::IdentityMismatch,
            &["unknown"],
        )?;
        let patch = DrawerPatch {
            embedding: Some(VECTOR.to_vec()),
            ..DrawerPatch::new(id("a"))
        };
        expect_refusal(
            writer.apply_batch(&[Write::Update(patch)]),
            ErrorKind::IdentityMismatch,
            &["unknown"],
        )?;
    }
    same!(all_ids(undeclared.as_ref())?, ["a"], "ids");
    Ok(())
}

fn unknown_goes_on(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_unknown(scene)?;
    collection.add_drawer(text_drawer("b", "text"))?;
    same!(all_ids(collection.as_ref())?, ["a", "b"], "ids");
    // Vectors of an unknown model are still comparable with each other.
    let lists = collection.query(&QueryRequest::nearest_to(VECTOR.to_vec(), 5))?;
    same!(crate::samples::hit_ids(&lists[0]), ["a"], "hits");
    collection.delete_drawer(id("b"))?;
    Ok(())
}

fn confirm_unknown(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_unknown(scene)?;
    collection.set_identity(&model_called("model-a"), IdentityChange::Confirm)?;
    let info = collection.info()?;
    same!(
        info.identity,
        IdentityState::Known(model_called("model-a")),
        "identity"
    );
    // The warning must go with its cause.
    same!(info.warnings, Vec::new(), "warnings");
    expect_refusal(
        open_declaring(scene, Some(model_called("model-b"))),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    open_declaring(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("b", "text", &VECTOR))?;
    Ok(())
}

fn confirm_unset(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_declaring(scene, None)?;
    collection.set_identity(&model_called("model-a"), IdentityChange::Confirm)?;
    same!(
        collection.info()?.identity,
        IdentityState::Known(model_called("model-a")),
        "identity"
    );
    // The handle that confirmed the model did not declare it as its own embedder, so its vectors still come
    // without a model.
    expect_refusal(
        collection.add_drawer(vector_drawer("a", "text", &VECTOR)),
        ErrorKind::IdentityMismatch,
        &["model-a"],
    )?;
    open_declaring(scene, Some(model_called("model-a")))?.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    Ok(())
}

fn confirm_known(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_declaring(scene, Some(model_called("model-a")))?;
    collection.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    let other = collection.set_identity(&model_called("model-b"), IdentityChange::Confirm);
    expect_refusal(other, ErrorKind::IdentityMismatch, &["model-a", "model-b"])?;
    // Confirming what is recorded is harmless and must stay so, because scripts repeat it.
    collection.set_identity(&model_called("model-a"), IdentityChange::Confirm)?;
    same!(
        collection.info()?.identity,
        IdentityState::Known(model_called("model-a")),
        "identity"
    );
    Ok(())
}

fn force_replaces(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_declaring(scene, Some(model_called("model-a")))?;
    collection.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    collection.set_identity(&model_called("model-b"), IdentityChange::Force)?;
    same!(
        collection.info()?.identity,
        IdentityState::Known(model_called("model-b")),
        "identity"
    );
    expect_refusal(
        open_declaring(scene, Some(model_called("model-a"))),
        ErrorKind::IdentityMismatch,
        &["model-a", "model-b"],
    )?;
    // The recorded model is the only one that counts from now on, although the stored vector is of the old
    // one.
    open_declaring(scene, Some(model_called("model-b")))?.add_drawer(vector_drawer("b", "text", &VECTOR))?;
    same!(all_ids(collection.as_ref())?, ["a", "b"], "ids");
    Ok(())
}

fn wrong_dimension(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_unknown(scene)?;
    let smaller = EmbedderIdentity {
        dimension: 3,
        ..model_called("model-a")
    };
    // Even by force: a model of three dimensions cannot have made vectors of four.
    for why in [IdentityChange::Confirm, IdentityChange::Force] {
        let refusal = collection.set_identity(&smaller, why);
        expect_refusal(refusal, ErrorKind::DimensionMismatch, &["3", "4"])?;
    }
    same!(collection.info()?.identity, IdentityState::Unknown, "identity");
    Ok(())
}

fn same_for_every_process(scene: &CaseScene<'_>) -> CaseOutcome {
    let here = scene.open()?;
    let there = scene.open_elsewhere()?;
    here.add_drawer(vector_drawer("a", "text", &VECTOR))?;
    same!(
        there.info()?.identity,
        IdentityState::Known(scene.model()),
        "identity in another process"
    );
    // Changed by the other process while this one keeps its handle open; a cached identity would let the
    // next write through.
    there.set_identity(&model_called("model-b"), IdentityChange::Force)?;
    same!(
        here.info()?.identity,
        IdentityState::Known(model_called("model-b")),
        "identity set by another process"
    );
    let stale = here.add_drawer(vector_drawer("b", "text", &VECTOR));
    expect_refusal(stale, ErrorKind::IdentityMismatch, &["model-a", "model-b"])
}

fn whole_or_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_unknown(scene)?;
    let patch = DrawerPatch {
        document: Some("changed".into()),
        ..DrawerPatch::new(id("a"))
    };
    // The forbidden vector comes last, after two writes that are fine by themselves.
    let batch = [
        Write::Add(text_drawer("b", "text")),
        Write::Update(patch),
        Write::Add(vector_drawer("c", "text", &VECTOR)),
    ];
    expect_refusal(collection.apply_batch(&batch), ErrorKind::IdentityMismatch, &[])?;
    same!(all_ids(collection.as_ref())?, ["a"], "ids");
    same!(
        crate::samples::read_drawer(collection.as_ref(), "a")?
            .document
            .as_deref(),
        Some("text"),
        "text"
    );
    Ok(())
}
