//! Files of earlier formats, and files that are hardly a palace any more or never were.

use std::path::PathBuf;

use super::{assert_whole, campaign, remains, rescued};
use crate::scene::raw::{self, PAGE};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;

#[test]
fn files_of_every_earlier_format_come_back_whole() {
    for name in [
        "duplicates-1",
        "version-1",
        "version-2",
        "version-3",
        "version-4",
        "version-4-lists",
        "version-5",
    ] {
        let kept: PathBuf = [
            env!("CARGO_MANIFEST_DIR"),
            "tests/fixtures",
            name,
            EmbeddedBackend::FILE,
        ]
        .iter()
        .collect();
        let folder = raw::folder_with(&std::fs::read(kept).unwrap());
        let found = remains(folder.path());
        assert_eq!(
            (&found.lost, &found.doubtful),
            (&Vec::new(), &Vec::new()),
            "{name}"
        );
        let backend = EmbeddedBackend::new();
        let palace = PalaceRef::local(folder.path());
        for info in backend.collections(&palace).unwrap() {
            let opened = backend
                .open(&palace, &info.name, &OpenOptions::default())
                .unwrap();
            // Opening collapses duplicates that the first files could hold; a rescue returns them all.
            let mut truth = Truth::read(opened.as_ref()).unwrap();
            let mut came = rescued(&found, info.name.as_str());
            came.drawers
                .retain(|id, _| name != "duplicates-1" || truth.drawers.contains_key(id));
            truth.drawers.values_mut().for_each(|drawer| drawer.uses = 0);
            came.drawers.values_mut().for_each(|drawer| drawer.uses = 0);
            assert_eq!(truth.difference(&came), None, "{name}, {}", info.name);
        }
        backend.close();
        // Upgraded by now: rows of the old shape stay as they were.
        let again = remains(folder.path());
        assert_eq!(
            (&again.lost, &again.doubtful),
            (&Vec::new(), &Vec::new()),
            "{name}, upgraded"
        );
    }
}

#[test]
fn rows_that_an_upgraded_file_has_rewritten_keep_their_provenance_behind_the_text() {
    let kept: PathBuf = [
        env!("CARGO_MANIFEST_DIR"),
        "tests/fixtures/version-3",
        EmbeddedBackend::FILE,
    ]
    .iter()
    .collect();
    let folder = raw::folder_with(&std::fs::read(kept).unwrap());
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder.path(), 4, false).unwrap();
    let changed = DrawerPatch {
        metadata: [("tag".to_owned(), Some(MetadataValue::from("new")))].into(),
        ..DrawerPatch::new(truth::id(3))
    };
    let known = NewDrawer {
        provenance: Some(Provenance {
            door: FilingDoor::Terminal,
            origin: OriginKind::ALL[0],
            by: Some("ada".into()),
        }),
        ..truth::drawer(70, 0, 4)
    };
    let wordless = NewDrawer {
        wordless: true,
        document: String::new(),
        provenance: known.provenance.clone(),
        ..truth::drawer(71, 0, 4)
    };
    let batch = [Write::Update(changed), Write::Add(known), Write::Add(wordless)];
    collection.apply_batch(&batch).unwrap();
    let truth = Truth::read(collection.as_ref()).unwrap();
    drop(collection);
    backend.close();
    assert_whole(&remains(folder.path()), &truth);
}

#[test]
fn a_file_that_is_not_a_palace_is_refused() {
    let zeros = vec![0; 20 * PAGE];
    let noise: Vec<u8> = (0..20 * PAGE).map(|n| (n * 7919 % 251) as u8).collect();
    for bytes in [&b""[..], b"SQLite format 3\0", b"some text", &zeros, &noise] {
        let folder = raw::folder_with(bytes);
        let error = EmbeddedBackend::new()
            .open_remains(folder.path(), &mut |_, _| {})
            .unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Format, "{error:?}");
    }
    let empty = tempfile::tempdir().unwrap();
    let missing = EmbeddedBackend::new().open_remains(empty.path(), &mut |_, _| {});
    assert_eq!(missing.unwrap_err().kind(), ErrorKind::NotFound);
}

#[test]
fn a_file_cut_anywhere_gives_what_is_before_the_cut() {
    let sound = campaign::sound();
    let pages = sound.bytes.len() / PAGE;
    let mut before = 0;
    for keep in [3, pages / 4, pages / 2, pages - 1, pages] {
        let folder = raw::folder_with(&sound.bytes[..keep * PAGE]);
        let found = remains(folder.path());
        let infos = found.backend.collections(&found.palace).unwrap();
        let drawers: u64 = infos.iter().map(|info| info.drawers).sum();
        assert!(drawers >= before, "{keep} pages");
        let all = drawers as usize == sound.truth.drawers.len();
        assert_eq!(found.lost.is_empty(), all, "{keep} pages: {:?}", found.lost);
        before = drawers;
    }
    assert_eq!(before as usize, sound.truth.drawers.len());
}

#[test]
fn a_backup_is_read_like_a_palace() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("palace-20260501.db");
    std::fs::write(&file, &campaign::sound().bytes).unwrap();
    assert_whole(&remains(&file), &campaign::sound().truth);
    let living = raw::folder_with(&campaign::sound().bytes);
    let made = folder.path().join("made.db");
    let backend = EmbeddedBackend::new();
    let palace = PalaceRef::local(living.path());
    backend.backup(&palace, &made, &mut |_| {}).unwrap();
    backend.close();
    let found = remains(&made);
    assert_whole(&found, &campaign::sound().truth);
    assert_eq!(found.findings, []);
}
