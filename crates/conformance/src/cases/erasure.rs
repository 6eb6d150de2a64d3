//! Erasure: drawers are removed so that no stored byte of them is left.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use loci_core::{
    ApplyRequest, Capability, ChangeKind, Collection, CollectionExt, Cursor, DrawerPatch, Erasure,
    ErasureReport, IdempotencyKey, LexicalRequest, NewDrawer, Write,
};

use crate::samples::{all_ids, id, id_texts, text_drawer, vector_drawer};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "erasure":
    "erased drawers are gone from every answer, and no other drawer is" [+Erasure -ReadOnly] => erased_are_gone;
    "ids that are not there are listed as missing" [+Erasure -ReadOnly] => absent_ids_are_missing;
    "an erased drawer is listed among the changes as removed" [+Erasure +ChangeFeed -ReadOnly] => erasure_is_listed;
    "no byte of the text, metadata, words or vectors of an erased drawer is left in any file of the palace" [+Erasure +Local -ReadOnly] => no_byte_is_left;
}

/// A text, a metadata value and a vector that occur nowhere else.
// A copy in a row, an index or a log is recognised by these bytes.
const TEXT: &str = "quixoticxylophone";
const NOTE: &str = "zephyrjuxtaposed";
// No round numbers: their bytes must not occur in the file by chance.
const VECTOR: [f32; 4] = [0.123_456_79, -0.876_543_2, 0.314_159_27, 0.271_828_2];

fn secret_drawer() -> NewDrawer {
    let mut drawer = vector_drawer("secret", &format!("{TEXT} alpha"), &VECTOR);
    drawer.metadata.insert("note", NOTE);
    drawer
}

fn open_house(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    // A drawer that shares a word and stays, to show that erasure does not simply drop the index.
    let other = vector_drawer("other", "alpha bravo", &[1.0, 0.0, 0.0, 0.0]);
    scene.open_filled([secret_drawer(), other].map(|drawer| scene.fit_drawer(drawer)))
}

fn erase_called(collection: &dyn Collection, called: &[&str]) -> CaseOutcome<ErasureReport> {
    let eraser: Option<&dyn Erasure> = collection.eraser();
    let eraser = eraser.ok_or_else(|| CaseFailure::new("expected erasure, found none"))?;
    let ids: Vec<_> = called.iter().map(|called| id(called)).collect();
    Ok(eraser.erase(&ids)?)
}

fn erased_are_gone(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let report = erase_called(drawers.as_ref(), &["secret"])?;
    same!(id_texts(&report.erased), ["secret"], "erased");
    same!(all_ids(drawers.as_ref())?, ["other"], "ids");
    if scene.can(Capability::Lexical) {
        same!(
            drawers.lexical(&LexicalRequest::for_words(TEXT, 9))?,
            [],
            "hits of an erased word"
        );
        same!(
            drawers.lexical(&LexicalRequest::for_words("alpha", 9))?.len(),
            1,
            "hits of another word"
        );
    }
    // An id that was erased is free again; a tombstone that blocks it would still say that it existed.
    drawers.add_drawer(text_drawer("secret", "filed anew"))?;
    same!(
        all_ids(drawers.as_ref())?,
        ["other", "secret"],
        "ids after one was filed anew"
    );
    Ok(())
}

fn absent_ids_are_missing(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    // Missing ids before and after one that exists: they must neither stop the erasure nor be reported as
    // erased.
    let report = erase_called(drawers.as_ref(), &["never", "secret", "gone"])?;
    same!(id_texts(&report.erased), ["secret"], "erased");
    same!(id_texts(&report.missing), ["never", "gone"], "missing");
    same!(all_ids(drawers.as_ref())?, ["other"], "ids");
    Ok(())
}

fn erasure_is_listed(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let seen = drawers.info()?.seq;
    erase_called(drawers.as_ref(), &["secret"])?;
    let changes = drawers.require_feed()?.changes_since(seen, 10)?.changes;
    same!(changes.len(), 1, "changes");
    same!(
        (changes[0].op, changes[0].id.as_str()),
        (ChangeKind::Delete, "secret"),
        "the change"
    );
    // The removal stays in the feed with its id, or followers would keep the text for ever; only content is
    // erased.
    let from_start = drawers.require_feed()?.changes_since(Cursor(0), 10)?.changes;
    same!(from_start.len(), 2, "changes from the beginning");
    Ok(())
}

fn no_byte_is_left(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    // Older texts, and a batch remembered under its key, hold the same bytes.
    let patch = DrawerPatch {
        document: Some(format!("{TEXT} bravo")),
        ..DrawerPatch::new(id("secret"))
    };
    let key = IdempotencyKey::new("key 1")?;
    drawers.apply(&ApplyRequest::from_writes(&[Write::Update(patch)]).under_key(&key))?;
    // No maintenance is run afterwards: the bytes must be gone when the call returns.
    erase_called(drawers.as_ref(), &["secret"])?;
    let palace = scene.palace();
    let mut needles: Vec<(&str, Vec<u8>)> = vec![
        ("its text", TEXT.as_bytes().to_vec()),
        ("its metadata", NOTE.as_bytes().to_vec()),
    ];
    if scene.can(Capability::EmbeddingsPassthrough) {
        needles.push((
            "its vector",
            // Little-endian floats, the plain encoding; a quantised copy cannot be recognised and is not
            // searched for.
            VECTOR.iter().flat_map(|value| value.to_le_bytes()).collect(),
        ));
    }
    search_files(palace.require_folder()?, &needles)
}

fn search_files(folder: &Path, needles: &[(&str, Vec<u8>)]) -> CaseOutcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            search_files(&path, needles)?;
            continue;
        }
        // Logs, journals and temporary files count as well, so every file below the folder is read.
        let bytes = fs::read(&path)?;
        for (what, needle) in needles {
            let found = bytes
                .windows(needle.len())
                .any(|window| window == needle.as_slice());
            ensure!(
                !found,
                "expected no byte of {what}, found it in {}",
                path.display()
            );
        }
    }
    Ok(())
}
