//! The same piece of the same source is filed once.

use loci_core::{CollectionExt, NewDrawer, Patch, Place, Receipt, Write};

use crate::samples::{all_ids, cut, id, one, plain, read, span, texts};
use crate::{Outcome, Scene};

cases! { "twins":
    "add of the same piece of the same source under another id is not filed and listed as a twin" [-ReadOnly] => added_twin;
    "upsert that would become a twin of another drawer changes nothing and is listed as a twin" [-ReadOnly] => upserted_twin;
    "update that would become a twin of another drawer changes nothing and is listed as a twin" [-ReadOnly] => updated_twin;
    "two of the same piece in one batch are filed once" [-ReadOnly] => twins_in_one_batch;
    "another source, another start or another text is another piece" [-ReadOnly] => other_pieces;
    "drawers without a source or a span are never twins" [-ReadOnly] => no_piece;
    "a source given in metadata makes a twin as well" [-ReadOnly] => source_in_metadata;
    "the same piece under the id it has is kept, replaced or updated, not a twin" [-ReadOnly] => own_id;
    "a piece can be filed under another id once its twin is gone" [-ReadOnly] => twin_gone;
    "writers that file the same pieces at the same moment leave one set of drawers" [-ReadOnly] => racing_writers;
}

fn listed(receipt: &Receipt) -> Vec<(&str, &str)> {
    let twins = receipt.twins.iter();
    twins
        .map(|twin| (twin.given.as_str(), twin.existing.as_str()))
        .collect()
}

fn added_twin(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0)])?;
    let receipt = drawers.add(cut("b", "text", "book", 0))?;
    same!(listed(&receipt), [("b", "a")], "twins");
    same!(texts(&receipt.added), Vec::<&str>::new(), "added");
    same!(texts(&receipt.kept), Vec::<&str>::new(), "kept");
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn upserted_twin(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0), plain("b", "own")])?;
    let receipt = drawers.apply_batch(&[
        Write::Upsert(cut("b", "text", "book", 0)),
        Write::Upsert(cut("c", "text", "book", 0)),
    ])?;
    same!(listed(&receipt), [("b", "a"), ("c", "a")], "twins");
    same!(all_ids(drawers.as_ref())?, ["a", "b"], "ids");
    same!(
        read(drawers.as_ref(), "b")?.document.as_deref(),
        Some("own"),
        "text of b"
    );
    Ok(())
}

fn updated_twin(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0), cut("b", "own", "book", 0)])?;
    let before = one(drawers.as_ref(), "b", scene.everything())?;
    let mut patch = Patch {
        document: Some("text".into()),
        ..Patch::new(id("b"))
    };
    patch.metadata.insert("n".into(), Some(1_i64.into()));
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(listed(&receipt), [("b", "a")], "twins");
    same!(texts(&receipt.updated), Vec::<&str>::new(), "updated");
    same!(
        one(drawers.as_ref(), "b", scene.everything())?,
        before,
        "the drawer b"
    );
    Ok(())
}

fn twins_in_one_batch(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let batch = ["a", "b", "c"].map(|called| Write::Add(cut(called, "text", "book", 0)));
    let receipt = drawers.apply_batch(&batch)?;
    same!(texts(&receipt.added), ["a"], "added");
    same!(listed(&receipt), [("b", "a"), ("c", "a")], "twins");
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn other_pieces(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0)])?;
    let receipt = drawers.apply_batch(&[
        Write::Add(cut("b", "text", "other book", 0)),
        Write::Add(cut("c", "text", "book", 1)),
        Write::Add(cut("d", "Text", "book", 0)),
    ])?;
    same!(texts(&receipt.added), ["b", "c", "d"], "added");
    same!(listed(&receipt), Vec::new(), "twins");
    let elsewhere = scene.open_named("others")?.add(cut("a2", "text", "book", 0))?;
    same!(texts(&elsewhere.added), ["a2"], "added to another collection");
    Ok(())
}

fn no_piece(scene: &Scene<'_>) -> Outcome {
    let only = |called: &str, source: Option<&str>, start: Option<u64>| NewDrawer {
        place: Place {
            source: source.map(str::to_owned),
            span: start.map(span),
            ..Place::default()
        },
        ..plain(called, "text")
    };
    let drawers = scene.open()?;
    let receipt = drawers.apply_batch(&[
        Write::Add(only("a", Some("book"), None)),
        Write::Add(only("b", Some("book"), None)),
        Write::Add(only("c", None, Some(0))),
        Write::Add(only("d", None, Some(0))),
        Write::Add(only("e", None, None)),
        Write::Add(only("f", None, None)),
    ])?;
    same!(receipt.added.len(), 6, "added");
    same!(listed(&receipt), Vec::new(), "twins");
    Ok(())
}

fn source_in_metadata(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0)])?;
    let mut same_piece = cut("b", "text", "book", 0);
    same_piece.place.source = None;
    same_piece.metadata.insert("source", "book");
    same!(listed(&drawers.add(same_piece)?), [("b", "a")], "twins");
    Ok(())
}

fn own_id(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0), cut("b", "text", "book", 5)])?;
    let receipt = drawers.add(cut("a", "text", "book", 5))?;
    same!(texts(&receipt.kept), ["a"], "kept although b has that piece");
    same!(listed(&receipt), Vec::new(), "twins");
    let receipt = drawers.upsert(cut("a", "text", "book", 0))?;
    same!(texts(&receipt.replaced), ["a"], "replaced");
    let mut patch = Patch::new(id("a"));
    patch.metadata.insert("n".into(), Some(1_i64.into()));
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(texts(&receipt.updated), ["a"], "updated");
    Ok(())
}

fn twin_gone(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([cut("a", "text", "book", 0)])?;
    drawers.delete(id("a"))?;
    let receipt = drawers.add(cut("b", "text", "book", 0))?;
    same!(texts(&receipt.added), ["b"], "added");
    let moved = Patch {
        document: Some("changed".into()),
        ..Patch::new(id("b"))
    };
    drawers.apply_batch(&[Write::Update(moved)])?;
    let receipt = drawers.add(cut("a", "text", "book", 0))?;
    same!(
        texts(&receipt.added),
        ["a"],
        "added after the other changed its text"
    );
    Ok(())
}

fn racing_writers(scene: &Scene<'_>) -> Outcome {
    const PIECES: u64 = 12;
    scene.open()?;
    let writers = ["one", "two", "three", "four"]
        .into_iter()
        .map(|writer| Ok((writer, scene.open_elsewhere()?)))
        .collect::<Outcome<Vec<_>>>()?;
    let filed = std::thread::scope(|threads| {
        let running: Vec<_> = writers
            .iter()
            .map(|(writer, drawers)| {
                threads.spawn(move || {
                    let mut added = 0;
                    for n in 0..PIECES {
                        let piece = cut(&format!("{writer}-{n}"), &format!("piece {n}"), "book", n);
                        let receipt = drawers.add(piece)?;
                        added += receipt.added.len();
                        same!(receipt.added.len() + receipt.twins.len(), 1, "lists for one id");
                    }
                    Ok(added)
                })
            })
            .collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|one| one.unwrap_or_else(|_| Err("a writer panicked".to_owned().into())))
            .collect::<Outcome<Vec<usize>>>()
    })?;
    same!(
        filed.iter().sum::<usize>() as u64,
        PIECES,
        "pieces filed by all writers together"
    );
    same!(all_ids(scene.open()?.as_ref())?.len() as u64, PIECES, "drawers");
    Ok(())
}
