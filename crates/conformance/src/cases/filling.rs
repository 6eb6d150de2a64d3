//! Filling a space: what is pending in it, and what becomes of the vectors that were made.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, Context, EmbedderIdentity, Error, ErrorKind, Filled, Filling, NewDrawer,
    OpenOptions, Patch, Pending, Query, Switch, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, delete, id, plain};
use crate::scene::{drawers, model};
use crate::turning::{answers, embed, fill_all, filling, house, lacking, lacking_ids, newer};
use crate::{Outcome, Scene};

cases! { "filling":
    "drawers that lack a vector are pending with what is to be embedded, oldest version first" [+Spaces +EmbeddingsPassthrough -ReadOnly] => pending_lists;
    "pending goes on after the last version seen, each drawer once" [+Spaces +EmbeddingsPassthrough -ReadOnly] => pending_pages;
    "the version of a text is above the collection's seq of before it was filed" [+Spaces +EmbeddingsPassthrough -ReadOnly] => later_is_above;
    "a model that neither the active space nor the one being built is of is an identity mismatch" [+Spaces +EmbeddingsPassthrough -ReadOnly] => mismatch;
    "filling stores vectors and changes no answer yet" [+Spaces +EmbeddingsPassthrough -ReadOnly] => fill_stores;
    "a vector whose drawer is gone is stale" [+Spaces +EmbeddingsPassthrough -ReadOnly] => stale_when_gone;
    "a vector of a text that has changed since is stale and never answers" [+Spaces +EmbeddingsPassthrough -ReadOnly] => stale_when_changed;
    "a vector for a drawer that has one already is stale" [+Spaces +EmbeddingsPassthrough -ReadOnly] => stale_when_there;
    "vectors that no write would take are refused before anything is filled" [+Spaces +EmbeddingsPassthrough -ReadOnly] => bad_vectors;
    "drawers that lack a vector in the active space can be given one" [+Spaces +EmbeddingsPassthrough -ReadOnly] => fill_active;
    "those who fill at once store each vector once" [+Spaces +EmbeddingsPassthrough -ReadOnly] => at_once;
}

fn later_is_above(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let before = drawers.info()?.seq;
    drawers.add(plain("later", "filed later"))?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let above = Pending {
        identity: newer(),
        after: before.0,
        limit: 10,
    };
    let found = drawers.require_spaces()?.list_pending(&above)?;
    let ids: Vec<&str> = found.iter().map(|drawer| drawer.id.as_str()).collect();
    same!(ids, ["later"], "what was filed after that moment");
    Ok(())
}

fn pending_lists(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let around = Context {
        before: "above".into(),
        after: "below".into(),
    };
    drawers.add(NewDrawer {
        context: Some(around.clone()),
        ..plain("d", "text of d")
    })?;
    drawers.apply_batch(&[Write::Update(Patch {
        document: Some("changed".into()),
        ..Patch::new(id("a"))
    })])?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let found = lacking(drawers.as_ref(), &newer())?;
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
    let within = Context::indexed(Some(&around), "text of d");
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
    let some = [filling(&found[1])];
    drawers.require_spaces()?.fill_vectors(&newer(), &some)?;
    same!(
        lacking_ids(drawers.as_ref(), &newer())?,
        ["b", "d", "a"],
        "pending after one was filled"
    );
    Ok(())
}

fn pending_pages(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled((0..7).map(|n| plain(&format!("d{n}"), &format!("text {n}"))))?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let (mut seen, mut after) = (Vec::new(), 0);
    for size in [3, 3, 1, 0] {
        let page = drawers.require_spaces()?.list_pending(&Pending {
            identity: newer(),
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

fn mismatch(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let asked = |of: &EmbedderIdentity| {
        drawers.require_spaces()?.list_pending(&Pending {
            identity: of.clone(),
            after: 0,
            limit: 1,
        })
    };
    let kind = ErrorKind::IdentityMismatch;
    refused(asked(&newer()), kind, &["model-b"])?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let given = [filling(&lacking(drawers.as_ref(), &newer())?[0])];
    same!(asked(&scene.model())?, Vec::new(), "pending in the active space");
    for other in [
        model("model-c"),
        EmbedderIdentity {
            revision: "2".into(),
            ..newer()
        },
    ] {
        refused(asked(&other), kind, &[&other.model])?;
        refused(
            drawers.require_spaces()?.fill_vectors(&other, &given),
            kind,
            &[&other.model],
        )?;
    }
    drawers.require_spaces()?.take_step(&Switch::Rollback)?;
    refused(
        drawers.require_spaces()?.fill_vectors(&newer(), &given),
        kind,
        &["model-b"],
    )
}

fn fill_stores(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let given: Vec<Filling> = lacking(drawers.as_ref(), &newer())?.iter().map(filling).collect();
    let filled = drawers.require_spaces()?.fill_vectors(&newer(), &given[..2])?;
    same!(
        filled,
        Filled { stored: 2, stale: 0 },
        "what became of two vectors"
    );
    same!(
        scene.open_elsewhere()?.require_spaces()?.list_spaces()?[1].vectors,
        2,
        "vectors in another process"
    );
    same!(answers(drawers.as_ref())?[0], "a", "the nearest by the old model");
    same!(drawers.info()?.coverage.nearest, 3, "drawers with a vector");
    same!(
        drawers.require_spaces()?.fill_vectors(&newer(), &[])?,
        Filled::default(),
        "what became of nothing"
    );
    Ok(())
}

/// What becomes of vectors for three drawers when `change` comes between.
fn overtaken(
    scene: &Scene<'_>,
    change: impl FnOnce(&dyn Collection) -> Outcome,
) -> Outcome<(Arc<dyn Collection>, Filled)> {
    let drawers = house(scene)?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let given: Vec<Filling> = lacking(drawers.as_ref(), &newer())?.iter().map(filling).collect();
    change(drawers.as_ref())?;
    let filled = drawers.require_spaces()?.fill_vectors(&newer(), &given)?;
    Ok((drawers, filled))
}

fn stale_when_gone(scene: &Scene<'_>) -> Outcome {
    let (drawers, filled) = overtaken(scene, |drawers| {
        drawers.apply_batch(&[delete("b")])?;
        Ok(())
    })?;
    same!(
        filled,
        Filled { stored: 2, stale: 1 },
        "what became of three vectors"
    );
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    same!(answers(drawers.as_ref())?, ["c", "a"], "hits");
    Ok(())
}

fn stale_when_changed(scene: &Scene<'_>) -> Outcome {
    let (drawers, filled) = overtaken(scene, |drawers| {
        drawers.apply_batch(&[Write::Update(Patch {
            document: Some("another text".into()),
            ..Patch::new(id("b"))
        })])?;
        drawers.upsert(plain("c", "third text"))?;
        Ok(())
    })?;
    same!(
        filled,
        Filled { stored: 1, stale: 2 },
        "what became of three vectors"
    );
    let left = lacking(drawers.as_ref(), &newer())?;
    let texts: Vec<&str> = left.iter().map(|drawer| drawer.text.as_str()).collect();
    same!(
        texts,
        ["another text", "third text"],
        "texts still to be embedded"
    );
    refused(
        drawers.require_spaces()?.take_step(&Switch::Finish),
        ErrorKind::Conflict,
        &["2"],
    )?;
    fill_all(drawers.as_ref(), &newer())?;
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    let asked = Query::nearest(embed("text of b"), 1);
    let nearest = &drawers.query(&asked)?[0][0];
    ensure!(
        nearest.score > 0.5,
        "expected nothing near the text that is gone, found {nearest:?}"
    );
    Ok(())
}

fn stale_when_there(scene: &Scene<'_>) -> Outcome {
    let (drawers, filled) = overtaken(scene, |drawers| Ok(fill_all(drawers, &newer()).map(drop)?))?;
    same!(
        filled,
        Filled { stored: 0, stale: 3 },
        "what became of three vectors"
    );
    same!(drawers.require_spaces()?.list_spaces()?[1].vectors, 3, "vectors");
    drawers.require_spaces()?.take_step(&Switch::Finish)?;
    same!(answers(drawers.as_ref())?, ["b", "c", "a"], "hits");
    Ok(())
}

fn bad_vectors(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    drawers.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let sound: Vec<Filling> = lacking(drawers.as_ref(), &newer())?.iter().map(filling).collect();
    let bad = [
        (vec![f32::NAN, 0.0, 0.0, 0.0], ErrorKind::Invalid),
        (vec![0.0; 4], ErrorKind::Invalid),
        (vec![], ErrorKind::Invalid),
        (vec![1.0; 3], ErrorKind::DimensionMismatch),
    ];
    for (vector, kind) in bad {
        let mut given = sound.clone();
        given[2].vector = vector;
        refused(
            drawers.require_spaces()?.fill_vectors(&newer(), &given),
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

fn fill_active(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    drawers.add(plain("d", "text of d"))?;
    let own = scene.model();
    same!(lacking_ids(drawers.as_ref(), &own)?, ["d"], "pending drawers");
    let filled = fill_all(drawers.as_ref(), &own)?;
    same!(
        filled,
        Filled { stored: 1, stale: 0 },
        "what became of the vector"
    );
    same!(answers(drawers.as_ref())?.len(), 4, "hits");
    same!(drawers.info()?.coverage.nearest, 4, "drawers with a vector");
    Ok(())
}

fn at_once(scene: &Scene<'_>) -> Outcome {
    let filled = scene.filled((0..40).map(|n| plain(&format!("d{n:02}"), &format!("text {n}"))))?;
    filled.require_spaces()?.take_step(&Switch::Begin(newer()))?;
    let handles = (0..3)
        .map(|_| {
            Ok(scene
                .another()?
                .open(&scene.palace(), &drawers(), &OpenOptions::writable())?)
        })
        .collect::<Outcome<Vec<_>>>()?;
    let stored: loci_core::Result<u64> = std::thread::scope(|threads| {
        let fill = |handle: &Arc<dyn Collection>| {
            let handle = Arc::clone(handle);
            threads.spawn(move || fill_all(handle.as_ref(), &newer()))
        };
        let running: Vec<_> = handles.iter().map(fill).collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|one| one.unwrap_or_else(|_| Err(Error::invalid("one who fills panicked"))))
            .map(|one| one.map(|one| one.stored))
            .sum()
    });
    same!(stored?, 40, "vectors stored by all of them");
    filled.require_spaces()?.take_step(&Switch::Finish)?;
    same!(filled.info()?.coverage.nearest, 40, "drawers with a vector");
    if !scene.can(loci_core::Capability::ApproximateQuery) {
        same!(answers(filled.as_ref())?.len(), 40, "hits");
    }
    Ok(())
}
