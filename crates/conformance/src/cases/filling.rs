//! Filling a space: which drawers are pending, and which of the vectors made for them are stored.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DrawerContext, DrawerPatch, EmbedderIdentity, Error, ErrorKind, NewDrawer,
    OpenOptions, PendingRequest, QueryRequest, SwitchStep, VectorFill, VectorFillReport, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, delete_write, id, text_drawer};
use crate::scene::{default_collection, model_called};
use crate::switching::{
    embed_text, fill_all, list_answers, list_lacking, list_lacking_ids, make_filling, newer_model, open_house,
};
use crate::{CaseOutcome, CaseScene};

cases! { "filling":
    "drawers that lack a vector are pending with what is to be embedded, oldest version first" [+Spaces +EmbeddingsPassthrough -ReadOnly] => pending_lists;
    "pending goes on after the last version seen, each drawer once" [+Spaces +EmbeddingsPassthrough -ReadOnly] => pending_pages;
    "the version of a text is above the collection's seq of before it was filed" [+Spaces +EmbeddingsPassthrough -ReadOnly] => later_is_above;
    "a model that neither the active space nor the one being built is of is an identity mismatch" [+Spaces +EmbeddingsPassthrough -ReadOnly] => other_model_mismatches;
    "filling stores vectors and changes no answer yet" [+Spaces +EmbeddingsPassthrough -ReadOnly] => fill_stores;
    "a vector whose drawer is gone is stale" [+Spaces +EmbeddingsPassthrough -ReadOnly] => stale_when_gone;
    "a vector of a text that has changed since is stale and never answers" [+Spaces +EmbeddingsPassthrough -ReadOnly] => stale_when_changed;
    "a vector for a drawer that has one already is stale" [+Spaces +EmbeddingsPassthrough -ReadOnly] => stale_when_there;
    "vectors that no write would take are refused before anything is filled" [+Spaces +EmbeddingsPassthrough -ReadOnly] => bad_vectors;
    "drawers that lack a vector in the active space can be given one" [+Spaces +EmbeddingsPassthrough -ReadOnly] => fill_active;
    "those who fill at once store each vector once" [+Spaces +EmbeddingsPassthrough -ReadOnly] => fills_once;
}

fn later_is_above(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    // Versions and sequence numbers share one scale, so that a caller can list just the drawers filed after
    // a `seq` that it remembers.
    let before = drawers.info()?.seq;
    drawers.add_drawer(text_drawer("later", "filed later"))?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    let above = PendingRequest {
        identity: newer_model(),
        after: before.0,
        limit: 10,
    };
    let found = drawers.require_spaces()?.list_pending(&above)?;
    let ids: Vec<&str> = found.iter().map(|drawer| drawer.id.as_str()).collect();
    same!(ids, ["later"], "what was filed after that moment");
    Ok(())
}

fn pending_lists(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let around = DrawerContext {
        before: "above".into(),
        after: "below".into(),
    };
    // With context, because the text to embed is what the index sees, not the bare document.
    drawers.add_drawer(NewDrawer {
        context: Some(around.clone()),
        ..text_drawer("d", "text of d")
    })?;
    // A new text is a new version, so `a` moves from the first place to the last.
    drawers.apply_batch(&[Write::Update(DrawerPatch {
        document: Some("changed".into()),
        ..DrawerPatch::new(id("a"))
    })])?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    let found = list_lacking(drawers.as_ref(), &newer_model())?;
    let ids: Vec<&str> = found.iter().map(|drawer| drawer.id.as_str()).collect();
    same!(
        ids,
        ["b", "c", "d", "a"],
        "pending drawers, those whose text is newest last"
    );
    ensure!(
        found.is_sorted_by(|one, next| one.version < next.version),
        "expected ascending versions, found {found:?}"
    );
    let texts: Vec<&str> = found.iter().map(|drawer| drawer.text.as_str()).collect();
    let within = DrawerContext::indexed_text(Some(&around), "text of d");
    // A backend without room for context embeds the document alone.
    let bare = texts[2] == "text of d";
    ensure!(
        bare || texts[2] == within,
        "expected the text within its context, found {:?}",
        texts[2]
    );
    same!(
        [texts[0], texts[1], texts[3]],
        ["text of b", "text of c", "changed"],
        "texts"
    );
    let some = [make_filling(&found[1])];
    drawers.require_spaces()?.fill_vectors(&newer_model(), &some)?;
    same!(
        list_lacking_ids(drawers.as_ref(), &newer_model())?,
        ["b", "d", "a"],
        "pending after one was filled"
    );
    Ok(())
}

fn pending_pages(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled((0..7).map(|n| text_drawer(&format!("d{n}"), &format!("text {n}"))))?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    let (mut seen, mut after) = (Vec::new(), 0);
    // Nothing is filled in between: paging must advance by version, not by the fact that filled drawers
    // disappear from the list, or a drawer that cannot be embedded would stop it.
    for size in [3, 3, 1, 0] {
        let page = drawers.require_spaces()?.list_pending(&PendingRequest {
            identity: newer_model(),
            after,
            limit: 3,
        })?;
        same!(page.len(), size, "drawers of a page");
        after = page.last().map_or(after, |last| last.version);
        seen.extend(page.into_iter().map(|drawer| drawer.id.to_string()));
    }
    same!(seen, all_ids(drawers.as_ref())?, "drawers over all pages");
    Ok(())
}

fn other_model_mismatches(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let asked = |of: &EmbedderIdentity| {
        drawers.require_spaces()?.list_pending(&PendingRequest {
            identity: of.clone(),
            after: 0,
            limit: 1,
        })
    };
    let kind = ErrorKind::IdentityMismatch;
    expect_refusal(asked(&newer_model()), kind, &["model-b"])?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    let given = [make_filling(&list_lacking(drawers.as_ref(), &newer_model())?[0])];
    same!(asked(&scene.model())?, Vec::new(), "pending in the active space");
    // Another name, and the same name with another revision; comparing only names would mix the vectors of
    // two models.
    for other in [
        model_called("model-c"),
        EmbedderIdentity {
            revision: "2".into(),
            ..newer_model()
        },
    ] {
        expect_refusal(asked(&other), kind, &[&other.model])?;
        expect_refusal(
            drawers.require_spaces()?.fill_vectors(&other, &given),
            kind,
            &[&other.model],
        )?;
    }
    // The abandoned space still exists, but a filler that did not notice the rollback must be stopped.
    drawers.require_spaces()?.take_step(&SwitchStep::Rollback)?;
    expect_refusal(
        drawers.require_spaces()?.fill_vectors(&newer_model(), &given),
        kind,
        &["model-b"],
    )
}

/// Begins a switch of the house, and returns it with a vector of the new model for each drawer.
fn begin_filling(scene: &CaseScene<'_>) -> CaseOutcome<(Arc<dyn Collection>, Vec<VectorFill>)> {
    let drawers = open_house(scene)?;
    drawers
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    let lacking = list_lacking(drawers.as_ref(), &newer_model())?;
    Ok((drawers, lacking.iter().map(make_filling).collect()))
}

fn fill_stores(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, given) = begin_filling(scene)?;
    let filled = drawers
        .require_spaces()?
        .fill_vectors(&newer_model(), &given[..2])?;
    same!(
        filled,
        VectorFillReport { stored: 2, stale: 0 },
        "what became of two vectors"
    );
    // Seen by another process: an acknowledged vector is durable, so that a switch can resume after a
    // crash.
    same!(
        scene.open_elsewhere()?.require_spaces()?.list_spaces()?[1].vectors,
        2,
        "vectors in another process"
    );
    // The new model would rank `b` first; until the switch is finished queries must not see a mixture.
    same!(
        list_answers(drawers.as_ref())?[0],
        "a",
        "the nearest by the old model"
    );
    same!(drawers.info()?.coverage.nearest, 3, "drawers with a vector");
    same!(
        drawers.require_spaces()?.fill_vectors(&newer_model(), &[])?,
        VectorFillReport::default(),
        "what became of nothing"
    );
    Ok(())
}

/// Makes vectors for three drawers, lets `change` happen, and then fills them.
fn fill_after_change(
    scene: &CaseScene<'_>,
    change: impl FnOnce(&dyn Collection) -> CaseOutcome,
) -> CaseOutcome<(Arc<dyn Collection>, VectorFillReport)> {
    let (drawers, given) = begin_filling(scene)?;
    change(drawers.as_ref())?;
    let filled = drawers.require_spaces()?.fill_vectors(&newer_model(), &given)?;
    Ok((drawers, filled))
}

fn stale_when_gone(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, filled) = fill_after_change(scene, |drawers| {
        drawers.apply_batch(&[delete_write("b")])?;
        Ok(())
    })?;
    same!(
        filled,
        VectorFillReport { stored: 2, stale: 1 },
        "what became of three vectors"
    );
    // A vector stored for a removed drawer would be counted and could make an incomplete space look
    // complete.
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(list_answers(drawers.as_ref())?, ["c", "a"], "hits");
    Ok(())
}

fn stale_when_changed(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, filled) = fill_after_change(scene, |drawers| {
        drawers.apply_batch(&[Write::Update(DrawerPatch {
            document: Some("another text".into()),
            ..DrawerPatch::new(id("b"))
        })])?;
        // By an update and by a replacement: both change the text between listing and filling.
        drawers.upsert_drawer(text_drawer("c", "third text"))?;
        Ok(())
    })?;
    same!(
        filled,
        VectorFillReport { stored: 1, stale: 2 },
        "what became of three vectors"
    );
    let left = list_lacking(drawers.as_ref(), &newer_model())?;
    let texts: Vec<&str> = left.iter().map(|drawer| drawer.text.as_str()).collect();
    same!(
        texts,
        ["another text", "third text"],
        "texts still to be embedded"
    );
    expect_refusal(
        drawers.require_spaces()?.take_step(&SwitchStep::Finish),
        ErrorKind::Conflict,
        &["2"],
    )?;
    fill_all(drawers.as_ref(), &newer_model())?;
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    // Asking with the vector of the old text finds it if it was stored after all.
    let asked = QueryRequest::nearest_to(embed_text("text of b"), 1);
    let nearest = &drawers.query(&asked)?[0][0];
    ensure!(
        nearest.score > 0.5,
        "expected nothing near the text that is gone, found {nearest:?}"
    );
    Ok(())
}

fn stale_when_there(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, filled) =
        fill_after_change(scene, |drawers| Ok(fill_all(drawers, &newer_model()).map(drop)?))?;
    same!(
        filled,
        VectorFillReport { stored: 0, stale: 3 },
        "what became of three vectors"
    );
    // Two processes that fill the same page must not count a drawer twice.
    same!(drawers.require_spaces()?.list_spaces()?[1].vectors, 3, "vectors");
    drawers.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(list_answers(drawers.as_ref())?, ["b", "c", "a"], "hits");
    Ok(())
}

fn bad_vectors(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, sound) = begin_filling(scene)?;
    let bad = [
        (vec![f32::NAN, 0.0, 0.0, 0.0], ErrorKind::Invalid),
        (vec![0.0; 4], ErrorKind::Invalid),
        (vec![], ErrorKind::Invalid),
        (vec![1.0; 3], ErrorKind::DimensionMismatch),
    ];
    for (vector, kind) in bad {
        let mut given = sound.clone();
        // The last of three, so that a backend which checks while it stores leaves two behind.
        given[2].vector = vector;
        expect_refusal(
            drawers.require_spaces()?.fill_vectors(&newer_model(), &given),
            kind,
            &[],
        )?;
        same!(
            drawers.require_spaces()?.list_spaces()?[1].vectors,
            0,
            "vectors after a refusal"
        );
    }
    Ok(())
}

fn fill_active(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    // Filed without a vector, as by a process whose embedder was unavailable; filling repairs that without
    // a switch.
    drawers.add_drawer(text_drawer("d", "text of d"))?;
    let own = scene.model();
    same!(
        list_lacking_ids(drawers.as_ref(), &own)?,
        ["d"],
        "pending drawers"
    );
    let filled = fill_all(drawers.as_ref(), &own)?;
    same!(
        filled,
        VectorFillReport { stored: 1, stale: 0 },
        "what became of the vector"
    );
    same!(list_answers(drawers.as_ref())?.len(), 4, "hits");
    same!(drawers.info()?.coverage.nearest, 4, "drawers with a vector");
    Ok(())
}

fn fills_once(scene: &CaseScene<'_>) -> CaseOutcome {
    let filled =
        scene.open_filled((0..40).map(|n| text_drawer(&format!("d{n:02}"), &format!("text {n}"))))?;
    filled
        .require_spaces()?
        .take_step(&SwitchStep::Begin(newer_model()))?;
    let handles = (0..3)
        .map(|_| {
            Ok(scene.another_backend()?.open(
                &scene.palace(),
                &default_collection(),
                &OpenOptions::for_writing(),
            )?)
        })
        .collect::<CaseOutcome<Vec<_>>>()?;
    let stored: loci_core::Result<u64> = std::thread::scope(|threads| {
        let fill = |handle: &Arc<dyn Collection>| {
            let handle = Arc::clone(handle);
            threads.spawn(move || fill_all(handle.as_ref(), &newer_model()))
        };
        let running: Vec<_> = handles.iter().map(fill).collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|one| one.unwrap_or_else(|_| Err(Error::invalid("a filling thread panicked"))))
            .map(|one| one.map(|one| one.stored))
            .sum()
    });
    // All three list the same drawers; each vector must be counted as stored by exactly one of them.
    same!(stored?, 40, "vectors stored by all of them");
    filled.require_spaces()?.take_step(&SwitchStep::Finish)?;
    same!(filled.info()?.coverage.nearest, 40, "drawers with a vector");
    // An approximate index may miss some of the hits, which says nothing about filling.
    if !scene.can(loci_core::Capability::ApproximateQuery) {
        same!(list_answers(filled.as_ref())?.len(), 40, "hits");
    }
    Ok(())
}
