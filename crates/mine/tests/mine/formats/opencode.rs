//! A storage of OpenCode: read as it is written down, and survived when it is damaged.

use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;

use super::{beside, bundle_format, check, folder, read_bundle, render};

pub(crate) fn storage() -> PathBuf {
    folder().join("opencode/storage")
}

#[test]
fn a_storage_is_read_as_written_beside_it() {
    let files = (bundle_format("opencode").files)(&storage()).unwrap();
    assert_eq!(files.len(), 15, "{files:?}");
    let (conversations, notes) = read_bundle(bundle_format("opencode"), &storage());
    check(
        &beside(&storage(), ".txt"),
        &render::columns(&conversations, &notes),
    );
}

#[test]
fn empty_folders_of_the_right_names_are_none() {
    let empty = tempfile::tempdir().unwrap();
    for name in ["session", "message", "part"] {
        assert!((bundle_format("opencode").files)(empty.path()).is_none());
        fs::create_dir(empty.path().join(name)).unwrap();
    }
    assert!(
        (bundle_format("opencode").files)(empty.path()).is_none(),
        "there is nothing in it"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_storage_is_survived(
        which in any::<prop::sample::Index>(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8),
    ) {
        let to = tempfile::tempdir().unwrap();
        let files = (bundle_format("opencode").files)(&storage()).unwrap();
        let damaged = which.index(files.len());
        for (at, file) in files.iter().enumerate() {
            let mut bytes = fs::read(file).unwrap();
            for (place, byte) in flips.iter().filter(|_| at == damaged) {
                let place = place.index(bytes.len());
                bytes[place] = *byte;
            }
            let copy = to.path().join(file.strip_prefix(storage()).unwrap());
            fs::create_dir_all(copy.parent().unwrap()).unwrap();
            fs::write(copy, bytes).unwrap();
        }
        read_bundle(bundle_format("opencode"), to.path());
    }
}

#[test]
fn a_part_of_a_kind_that_is_not_known_is_kept_by_its_text_or_noted() {
    let root = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = root.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("session/p/s.json", r#"{"id":"s"}"#);
    write("message/s/m.json", r#"{"id":"m","role":"assistant"}"#);
    write("part/m/1.json", r#"{"type":"hologram","shape":"cube"}"#);
    write("part/m/2.json", r#"{"type":"poem","text":"roses"}"#);
    write("part/m/3.json", r#"{"text":"no type at all"}"#);
    write("part/m/4.json", r#"{"type":"step-start"}"#);
    let (conversations, notes) = read_bundle(bundle_format("opencode"), root.path());
    let messages = conversations.into_iter().flat_map(|one| one.messages);
    let texts: Vec<String> = messages.map(|one| one.text).collect();
    assert_eq!(texts, ["roses", "no type at all"]);
    let notes: Vec<String> = notes.into_iter().map(|note| note.text).collect();
    assert_eq!(notes, [r#"a block of the kind "hologram" is not kept"#]);
}
