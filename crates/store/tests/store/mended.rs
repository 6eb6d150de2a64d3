//! Page 1 is known twice: a flipped bit of it, or one torn record of the log, costs nothing and is reported.

use std::path::Path;
use std::process::Command;

use crate::scene::raw::{self, PAGE};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::campaign_setting;
use tempfile::TempDir;

const DIMENSION: usize = 8;
/// The bytes at the end of the first two pages that hold the records of the log.
const ROOM: usize = 28;

fn write(collection: &dyn Collection, from: usize) {
    let batch: Vec<Write> = (from..from + 30)
        .map(|n| Write::Upsert(truth::drawer(n, 0, DIMENSION)))
        .collect();
    collection.apply_batch(&batch).unwrap();
}

/// A palace that was closed, or left by kill -9 with a log, and its content.
fn make_palace(killed: bool) -> (TempDir, Truth) {
    let living = tempfile::tempdir().unwrap();
    let first = EmbeddedBackend::new();
    write(
        truth::open(&first, living.path(), DIMENSION, true)
            .unwrap()
            .as_ref(),
        0,
    );
    first.close();
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, living.path(), DIMENSION, false).unwrap();
    write(collection.as_ref(), 20);
    write(collection.as_ref(), 40);
    let truth = Truth::read(collection.as_ref()).unwrap();
    drop(collection);
    if !killed {
        backend.close();
        return (living, truth);
    }
    let folder = copy_of(living.path());
    backend.close();
    (folder, truth)
}

/// A copy of a palace with its log, made by another process: a second descriptor here would drop SQLite's locks.
fn copy_of(folder: &Path) -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for name in raw::names(folder).iter().filter(|name| !name.ends_with("-shm")) {
        let copied = Command::new("cp")
            .arg(folder.join(name))
            .arg(copy.path())
            .status();
        assert!(copied.unwrap().success());
    }
    copy
}

fn change(folder: &Path, change: impl FnOnce(&mut Vec<u8>)) {
    let mut bytes = std::fs::read(raw::file(folder)).unwrap();
    change(&mut bytes);
    std::fs::write(raw::file(folder), bytes).unwrap();
}

/// Asserts that everything is read, and that the damage is reported by the doctor and with the collection.
fn assert_mended(what: &str, folder: &Path, truth: &Truth) {
    let codes = |findings: &[PalaceFinding]| -> Vec<String> {
        findings.iter().map(|finding| finding.code.clone()).collect()
    };
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, folder, DIMENSION, false).unwrap();
    assert_eq!(
        truth.difference(&Truth::read(collection.as_ref()).unwrap()),
        None,
        "{what}"
    );
    assert_eq!(
        codes(&collection.info().unwrap().warnings),
        ["page_mended"],
        "{what}"
    );
    let examined = EmbeddedBackend::new().examine(folder).unwrap();
    assert_eq!(codes(&examined.findings), ["page_mended"], "{what}");
    drop(collection);
    backend.close();
}

#[test]
fn a_flipped_bit_of_page_1_costs_nothing_and_is_reported() {
    let (palace, truth) = make_palace(false);
    let all = campaign_setting("LOCI_ALL_BITS", 0) == 1;
    let step = if all { 1 } else { 3203 };
    // The header decides how the file is read at all, so each of its fields is met.
    let header = [0, 15, 16, 17, 18, 19, 20, 21, 28, 31, 52, 60, 68, 96].map(|at| at * 8 + at % 8);
    let bits = (0..PAGE * 8).step_by(step).chain(header);
    let mut tried = 0;
    for bit in bits {
        let folder = copy_of(palace.path());
        change(folder.path(), |bytes| bytes[bit / 8] ^= 1 << (bit % 8));
        assert_mended(&format!("bit {bit}"), folder.path(), &truth);
        tried += 1;
    }
    println!("{tried} bits of page 1, each flipped: nothing lost");
}

#[test]
fn a_record_of_the_log_torn_at_any_byte_is_read_from_its_copy() {
    for killed in [true, false] {
        let (palace, truth) = make_palace(killed);
        for (end, at) in (0..ROOM).flat_map(|at| [(PAGE, at), (2 * PAGE, at)]) {
            // An older record up to the tear, the newer one behind it, or the other way round.
            let folder = copy_of(palace.path());
            change(folder.path(), |bytes| {
                bytes[end - ROOM..end - ROOM + at + 1]
                    .iter_mut()
                    .for_each(|byte| *byte ^= 0x5a)
            });
            let what = format!("killed {killed}, bytes {} to {at} before {end}", at + 1);
            let backend = EmbeddedBackend::new();
            let collection = truth::open(&backend, folder.path(), DIMENSION, false).unwrap();
            assert_eq!(
                truth.difference(&Truth::read(collection.as_ref()).unwrap()),
                None,
                "{what}"
            );
            // The next commit writes both anew.
            write(collection.as_ref(), 200);
            drop(collection);
            backend.close();
            let bytes = std::fs::read(raw::file(folder.path())).unwrap();
            assert_eq!(bytes[PAGE - 16..PAGE], bytes[2 * PAGE - 16..2 * PAGE], "{what}");
        }
    }
}

#[test]
fn a_log_that_is_gone_is_missed_although_the_first_record_of_it_is_torn() {
    let (palace, _) = make_palace(true);
    std::fs::remove_file(palace.path().join("palace.db-wal")).unwrap();
    change(palace.path(), |bytes| bytes[PAGE - 9] ^= 0xff);
    let backend = EmbeddedBackend::new();
    let collection = truth::open(&backend, palace.path(), DIMENSION, false).unwrap();
    let warnings = collection.info().unwrap().warnings;
    assert!(
        warnings.iter().any(|finding| finding.code == "log_lost"),
        "{warnings:?}"
    );
}

#[test]
fn without_either_record_the_palace_is_refused_and_rescue_is_named() {
    let (palace, truth) = make_palace(true);
    change(palace.path(), |bytes| {
        bytes[PAGE - 9] ^= 0xff;
        bytes[2 * PAGE - 9] ^= 0xff;
    });
    let error = truth::open(&EmbeddedBackend::new(), palace.path(), DIMENSION, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    assert!(error.hint_text().unwrap().contains("loci rescue"), "{error:?}");
    let found = EmbeddedBackend::new()
        .open_remains(palace.path(), &mut |_, _| {})
        .unwrap();
    assert_eq!(found.lost, []);
    let drawers = found.backend.collections(&found.palace).unwrap()[0].drawers;
    assert_eq!(drawers, truth.drawers.len() as u64);
}

#[test]
fn two_flipped_bits_of_page_1_are_refused() {
    let (palace, _) = make_palace(false);
    change(palace.path(), |bytes| {
        bytes[200] ^= 1;
        bytes[5000] ^= 1;
    });
    let error = truth::open(&EmbeddedBackend::new(), palace.path(), DIMENSION, false).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corrupt, "{error:?}");
    assert!(error.hint_text().unwrap().contains("loci rescue"), "{error:?}");
}
