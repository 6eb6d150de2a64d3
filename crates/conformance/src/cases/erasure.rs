//! Erasure: drawers are removed so that no stored byte of them is left.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use loci_core::{
    ApplyRequest, Capability, ChangeKind, Collection, CollectionExt, Cursor, DrawerPatch, Erasure,
    ErasureExt, ErasureReport, GetRequest, IdempotencyKey, LexicalRequest, NewDrawer, Write,
};

use crate::samples::{all_ids, id, id_texts, text_drawer, vector_drawer};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "erasure":
    "erased drawers are gone from every answer, and no other drawer is" [+Erasure -ReadOnly] => erased_are_gone;
    "ids that are not there are listed as missing" [+Erasure -ReadOnly] => absent_ids_are_missing;
    "an erased drawer is listed among the changes as removed" [+Erasure +ChangeFeed -ReadOnly] => erasure_is_listed;
    "an erasure is unfinished from its beginning until a purge" [+Erasure -ReadOnly] => unfinished_until_purged;
    "texts that are stored are found, erased ones are not" [+Erasure -ReadOnly] => traces_are_found;
    "no byte of what a write has replaced is left in any file of the palace after a purge" [+Erasure +Local -ReadOnly] => no_replaced_byte_is_left;
    "a purge takes no other drawer and no other collection with it" [+Erasure -ReadOnly] => others_stay;
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
    Ok(eraser.erase_drawers(collection, &ids)?)
}

fn require_eraser(collection: &dyn Collection) -> CaseOutcome<&dyn Erasure> {
    let eraser = collection.eraser();
    eraser.ok_or_else(|| CaseFailure::new("expected erasure, found none"))
}

fn unfinished_until_purged(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let eraser = require_eraser(drawers.as_ref())?;
    ensure!(!eraser.is_unfinished()?, "expected no erasure at first");
    eraser.begin()?;
    // A process may die here: any other must see that something is left to do.
    let other = scene.open()?;
    ensure!(
        require_eraser(other.as_ref())?.is_unfinished()?,
        "expected another handle to see the erasure"
    );
    let report = require_eraser(other.as_ref())?.purge(&mut |_, _| {})?;
    if scene.descriptor().has_capability(&Capability::Server) {
        // Copies that the server or its owner keeps are out of reach, and said to be.
        let reasons = report.not_reached.iter().all(|part| !part.reason.is_empty());
        ensure!(reasons, "expected a reason for each of {:?}", report.not_reached);
    } else {
        same!(report.not_reached, [], "parts not reached");
    }
    ensure!(!eraser.is_unfinished()?, "expected the purge to finish it");
    same!(all_ids(drawers.as_ref())?, ["other", "secret"], "ids");
    Ok(())
}

fn traces_are_found(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let eraser = require_eraser(drawers.as_ref())?;
    let texts = [TEXT, NOTE, "nowhere-to-be-found", "bravo"].map(str::to_owned);
    let numbers = |collection: &dyn Collection| -> CaseOutcome<Vec<usize>> {
        let traces = require_eraser(collection)?.find_traces(&texts, &mut |_, _| {})?;
        let mut numbers: Vec<usize> = traces.into_iter().map(|trace| trace.text).collect();
        numbers.dedup();
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    };
    same!(numbers(drawers.as_ref())?, [0, 1, 3], "texts found");
    eraser.erase_drawers(drawers.as_ref(), &[id("secret")])?;
    same!(
        numbers(drawers.as_ref())?,
        [3],
        "texts found after one was erased"
    );
    Ok(())
}

fn no_replaced_byte_is_left(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let eraser = require_eraser(drawers.as_ref())?;
    eraser.begin()?;
    let patch = DrawerPatch {
        document: Some("nothing to hide".to_owned()),
        ..DrawerPatch::new(id("secret"))
    };
    drawers.apply(&ApplyRequest::from_writes(&[Write::Update(patch)]))?;
    eraser.purge(&mut |_, _| {})?;
    search_files(
        scene.palace().require_folder()?,
        &[("the replaced text", TEXT.as_bytes().to_vec())],
    )?;
    same!(
        require_eraser(drawers.as_ref())?.find_traces(&[TEXT.to_owned()], &mut |_, _| {})?,
        [],
        "traces"
    );
    Ok(())
}

fn others_stay(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_house(scene)?;
    let everything = GetRequest {
        include: scene.every_field(),
        ..GetRequest::default()
    };
    let before: Vec<_> = drawers
        .get(&everything)?
        .into_iter()
        .filter(|drawer| drawer.id.as_str() == "other")
        .collect();
    let second = scene.open_named("second")?;
    second.add_drawer(text_drawer("a", "second alpha"))?;
    let there = second.get(&everything)?;
    erase_called(drawers.as_ref(), &["secret"])?;
    same!(drawers.get(&everything)?, before, "the drawer that stays");
    same!(second.get(&everything)?, there, "the other collection");
    if scene.can(Capability::Lexical) {
        same!(
            second.lexical(&LexicalRequest::for_words("alpha", 9))?.len(),
            1,
            "its hits"
        );
    }
    Ok(())
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
