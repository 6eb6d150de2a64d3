//! Erasure: drawers that are removed so that no stored byte of them is left.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use loci_core::{
    ApplyRequest, Capability, ChangeKind, Collection, CollectionExt, Cursor, Erasure, ErasureReport,
    IdempotencyKey, Lexical, NewDrawer, Patch, Write,
};

use crate::samples::{all_ids, id, plain, texts, vectored};
use crate::{Failure, Outcome, Scene};

cases! { "erasure":
    "erased drawers are gone from every answer, and no other drawer is" [+Erasure -ReadOnly] => gone;
    "ids that are not there are listed as missing" [+Erasure -ReadOnly] => missing;
    "an erased drawer is listed among the changes as removed" [+Erasure +ChangeFeed -ReadOnly] => listed;
    "no byte of the text, metadata, words or vectors of an erased drawer is left in any file of the palace" [+Erasure +Local -ReadOnly] => no_byte;
}

/// Text, a metadata value and a vector that stand nowhere else.
const TEXT: &str = "quixoticxylophone";
const NOTE: &str = "zephyrjuxtaposed";
const VECTOR: [f32; 4] = [0.123_456_79, -0.876_543_2, 0.314_159_27, 0.271_828_2];

fn secret() -> NewDrawer {
    let mut drawer = vectored("secret", &format!("{TEXT} alpha"), &VECTOR);
    drawer.metadata.insert("note", NOTE);
    drawer
}

fn house(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let other = vectored("other", "alpha bravo", &[1.0, 0.0, 0.0, 0.0]);
    scene.filled([secret(), other].map(|drawer| scene.fit(drawer)))
}

fn erase(collection: &dyn Collection, called: &[&str]) -> Outcome<ErasureReport> {
    let eraser: Option<&dyn Erasure> = collection.eraser();
    let eraser = eraser.ok_or_else(|| Failure::new("expected erasure, found none"))?;
    let ids: Vec<_> = called.iter().map(|called| id(called)).collect();
    Ok(eraser.erase(&ids)?)
}

fn gone(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let report = erase(drawers.as_ref(), &["secret"])?;
    same!(texts(&report.erased), ["secret"], "erased");
    same!(all_ids(drawers.as_ref())?, ["other"], "ids");
    if scene.can(Capability::Lexical) {
        same!(
            drawers.lexical(&Lexical::words(TEXT, 9))?,
            [],
            "hits of an erased word"
        );
        same!(
            drawers.lexical(&Lexical::words("alpha", 9))?.len(),
            1,
            "hits of another word"
        );
    }
    drawers.add(plain("secret", "filed anew"))?;
    same!(
        all_ids(drawers.as_ref())?,
        ["other", "secret"],
        "ids after one was filed anew"
    );
    Ok(())
}

fn missing(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let report = erase(drawers.as_ref(), &["never", "secret", "gone"])?;
    same!(texts(&report.erased), ["secret"], "erased");
    same!(texts(&report.missing), ["never", "gone"], "missing");
    same!(all_ids(drawers.as_ref())?, ["other"], "ids");
    Ok(())
}

fn listed(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    let seen = drawers.info()?.seq;
    erase(drawers.as_ref(), &["secret"])?;
    let changes = drawers.require_feed()?.changes_since(seen, 10)?.changes;
    same!(changes.len(), 1, "changes");
    same!(
        (changes[0].op, changes[0].id.as_str()),
        (ChangeKind::Delete, "secret"),
        "the change"
    );
    let from_start = drawers.require_feed()?.changes_since(Cursor(0), 10)?.changes;
    same!(from_start.len(), 2, "changes from the beginning");
    Ok(())
}

fn no_byte(scene: &Scene<'_>) -> Outcome {
    let drawers = house(scene)?;
    // Older texts, and a batch remembered under its key, hold the same bytes.
    let patch = Patch {
        document: Some(format!("{TEXT} bravo")),
        ..Patch::new(id("secret"))
    };
    let key = IdempotencyKey::new("key 1")?;
    drawers.apply(&ApplyRequest::batch(&[Write::Update(patch)]).under_key(&key))?;
    erase(drawers.as_ref(), &["secret"])?;
    let palace = scene.palace();
    let mut needles: Vec<(&str, Vec<u8>)> = vec![
        ("its text", TEXT.as_bytes().to_vec()),
        ("its metadata", NOTE.as_bytes().to_vec()),
    ];
    if scene.can(Capability::EmbeddingsPassthrough) {
        needles.push((
            "its vector",
            VECTOR.iter().flat_map(|value| value.to_le_bytes()).collect(),
        ));
    }
    search_files(palace.folder()?, &needles)
}

fn search_files(folder: &Path, needles: &[(&str, Vec<u8>)]) -> Outcome {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            search_files(&path, needles)?;
            continue;
        }
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
