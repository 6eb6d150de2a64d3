//! The same piece of the same source is filed once.

use loci_core::{CollectionExt, DrawerPatch, DrawerPlace, NewDrawer, Receipt, Write};

use crate::samples::{all_ids, id, id_texts, read_drawer, read_fields, source_piece, span, text_drawer};
use crate::{CaseOutcome, CaseScene};

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

fn list_twins(receipt: &Receipt) -> Vec<(&str, &str)> {
    let twins = receipt.twins.iter();
    twins
        .map(|twin| (twin.given.as_str(), twin.existing.as_str()))
        .collect()
}

fn added_twin(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([source_piece("a", "text", "book", 0)])?;
    let receipt = drawers.add_drawer(source_piece("b", "text", "book", 0))?;
    same!(list_twins(&receipt), [("b", "a")], "twins");
    same!(id_texts(&receipt.added), Vec::<&str>::new(), "added");
    same!(id_texts(&receipt.kept), Vec::<&str>::new(), "kept");
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn upserted_twin(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([source_piece("a", "text", "book", 0), text_drawer("b", "own")])?;
    let receipt = drawers.apply_batch(&[
        // Onto an existing drawer and onto a new id; both would make a second copy of the piece.
        Write::Upsert(source_piece("b", "text", "book", 0)),
        Write::Upsert(source_piece("c", "text", "book", 0)),
    ])?;
    same!(list_twins(&receipt), [("b", "a"), ("c", "a")], "twins");
    same!(all_ids(drawers.as_ref())?, ["a", "b"], "ids");
    same!(
        read_drawer(drawers.as_ref(), "b")?.document.as_deref(),
        Some("own"),
        "text of b"
    );
    Ok(())
}

fn updated_twin(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        source_piece("a", "text", "book", 0),
        source_piece("b", "own", "book", 0),
    ])?;
    let before = read_fields(drawers.as_ref(), "b", scene.every_field())?;
    let mut patch = DrawerPatch {
        document: Some("text".into()),
        ..DrawerPatch::new(id("b"))
    };
    // A second field in the same patch: it must not be applied while the text is rejected.
    patch.metadata.insert("n".into(), Some(1_i64.into()));
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(list_twins(&receipt), [("b", "a")], "twins");
    same!(id_texts(&receipt.updated), Vec::<&str>::new(), "updated");
    same!(
        read_fields(drawers.as_ref(), "b", scene.every_field())?,
        before,
        "the drawer b"
    );
    Ok(())
}

fn twins_in_one_batch(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    // None is stored when the batch begins, so a check against stored drawers alone finds no twin.
    let batch = ["a", "b", "c"].map(|called| Write::Add(source_piece(called, "text", "book", 0)));
    let receipt = drawers.apply_batch(&batch)?;
    same!(id_texts(&receipt.added), ["a"], "added");
    same!(list_twins(&receipt), [("b", "a"), ("c", "a")], "twins");
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    Ok(())
}

fn other_pieces(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([source_piece("a", "text", "book", 0)])?;
    let receipt = drawers.apply_batch(&[
        Write::Add(source_piece("b", "text", "other book", 0)),
        Write::Add(source_piece("c", "text", "book", 1)),
        Write::Add(source_piece("d", "Text", "book", 0)),
    ])?;
    same!(id_texts(&receipt.added), ["b", "c", "d"], "added");
    same!(list_twins(&receipt), Vec::new(), "twins");
    // Twins are a matter of one collection.
    let elsewhere = scene
        .open_named("others")?
        .add_drawer(source_piece("a2", "text", "book", 0))?;
    same!(id_texts(&elsewhere.added), ["a2"], "added to another collection");
    Ok(())
}

fn no_piece(scene: &CaseScene<'_>) -> CaseOutcome {
    let only = |called: &str, source: Option<&str>, start: Option<u64>| NewDrawer {
        place: DrawerPlace {
            source: source.map(str::to_owned),
            span: start.map(span),
            ..DrawerPlace::default()
        },
        ..text_drawer(called, "text")
    };
    let drawers = scene.open()?;
    let receipt = drawers.apply_batch(&[
        // Without both a source and a start nothing says that equal texts are the same piece; two equal
        // notes are two notes.
        Write::Add(only("a", Some("book"), None)),
        Write::Add(only("b", Some("book"), None)),
        Write::Add(only("c", None, Some(0))),
        Write::Add(only("d", None, Some(0))),
        Write::Add(only("e", None, None)),
        Write::Add(only("f", None, None)),
    ])?;
    same!(receipt.added.len(), 6, "added");
    same!(list_twins(&receipt), Vec::new(), "twins");
    Ok(())
}

fn source_in_metadata(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([source_piece("a", "text", "book", 0)])?;
    let mut same_piece = source_piece("b", "text", "book", 0);
    // The place is completed from metadata before twins are looked for.
    same_piece.place.source = None;
    same_piece.metadata.insert("source", "book");
    same!(
        list_twins(&drawers.add_drawer(same_piece)?),
        [("b", "a")],
        "twins"
    );
    Ok(())
}

fn own_id(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        source_piece("a", "text", "book", 0),
        source_piece("b", "text", "book", 5),
    ])?;
    // An id that exists is kept before anything else is compared, so this is not a twin.
    let receipt = drawers.add_drawer(source_piece("a", "text", "book", 5))?;
    same!(id_texts(&receipt.kept), ["a"], "kept although b has that piece");
    same!(list_twins(&receipt), Vec::new(), "twins");
    let receipt = drawers.upsert_drawer(source_piece("a", "text", "book", 0))?;
    same!(id_texts(&receipt.replaced), ["a"], "replaced");
    let mut patch = DrawerPatch::new(id("a"));
    patch.metadata.insert("n".into(), Some(1_i64.into()));
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(id_texts(&receipt.updated), ["a"], "updated");
    Ok(())
}

fn twin_gone(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([source_piece("a", "text", "book", 0)])?;
    drawers.delete_drawer(id("a"))?;
    let receipt = drawers.add_drawer(source_piece("b", "text", "book", 0))?;
    same!(id_texts(&receipt.added), ["b"], "added");
    let moved = DrawerPatch {
        document: Some("changed".into()),
        ..DrawerPatch::new(id("b"))
    };
    // A new text is another piece; an index of pieces that is not updated would still block the old one.
    drawers.apply_batch(&[Write::Update(moved)])?;
    let receipt = drawers.add_drawer(source_piece("a", "text", "book", 0))?;
    same!(
        id_texts(&receipt.added),
        ["a"],
        "added after the other changed its text"
    );
    Ok(())
}

fn racing_writers(scene: &CaseScene<'_>) -> CaseOutcome {
    const PIECES: u64 = 12;
    scene.open()?;
    let writers = ["one", "two", "three", "four"]
        .into_iter()
        .map(|writer| Ok((writer, scene.open_elsewhere()?)))
        .collect::<CaseOutcome<Vec<_>>>()?;
    let filed = std::thread::scope(|threads| {
        let running: Vec<_> = writers
            .iter()
            .map(|(writer, drawers)| {
                threads.spawn(move || {
                    let mut added = 0;
                    for n in 0..PIECES {
                        let piece = source_piece(&format!("{writer}-{n}"), &format!("piece {n}"), "book", n);
                        let receipt = drawers.add_drawer(piece)?;
                        added += receipt.added.len();
                        // Either this writer filed the piece or another one did; an error from a unique
                        // index is neither.
                        same!(receipt.added.len() + receipt.twins.len(), 1, "lists for one id");
                    }
                    Ok(added)
                })
            })
            .collect();
        let ended = running.into_iter().map(|one| one.join());
        ended
            .map(|one| one.unwrap_or_else(|_| Err("a writer panicked".to_owned().into())))
            .collect::<CaseOutcome<Vec<usize>>>()
    })?;
    same!(
        filed.iter().sum::<usize>() as u64,
        PIECES,
        "pieces filed by all writers together"
    );
    same!(all_ids(scene.open()?.as_ref())?.len() as u64, PIECES, "drawers");
    Ok(())
}
