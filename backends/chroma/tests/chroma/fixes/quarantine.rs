//! `quarantine`: graphs that disagree are set aside, sound ones stay, and no vector is lost.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use loci_core::FixMode;
use serde_json::Value as Json;

use super::real::Truth;
use super::{apply, codes, examine, fix, leaves_alone, named};
use crate::scene::folder::{Folder, both_kinds, releases};

const STEP: &str = "quarantine";

/// Removes the rows of some records behind the graph's back: most stand only there, two in the queue as well.
pub(crate) fn drift(folder: &Folder) -> BTreeSet<String> {
    let mut gone = BTreeSet::new();
    for collection in folder.expected["collections"].as_array().unwrap() {
        let items = collection["items"].as_array().unwrap();
        for (queued, count) in [(false, 7), (true, 2)] {
            let alike = items.iter().filter(|item| item["queued"] == queued);
            gone.extend(
                alike
                    .take(count)
                    .map(|item| item["id"].as_str().unwrap().to_owned()),
            );
        }
    }
    assert!(!gone.is_empty(), "{}", folder.name);
    for id in &gone {
        let id = id.replace('\'', "''");
        folder.sql(&format!(
            "DELETE FROM embedding_metadata WHERE id IN (SELECT id FROM embeddings WHERE embedding_id = '{id}'); \
             DELETE FROM embeddings WHERE embedding_id = '{id}'"
        ));
    }
    gone
}

fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    entries
        .map(|entry| {
            let name = entry.file_name().into_string().unwrap();
            (name, fs::read(entry.path()).unwrap())
        })
        .collect()
}

fn figure(folder: &Folder, name: &str) -> Vec<u64> {
    let collections = examine(folder).collections.into_iter();
    collections
        .map(|collection| collection.figures[name].as_u64().unwrap())
        .collect()
}

#[test]
fn a_graph_that_disagrees_is_renamed_and_keeps_its_files() {
    for release in releases().into_iter().filter(|release| *release > "0.5") {
        let folder = Folder::copy(release, "flushed");
        drift(&folder);
        let segment = folder.segment();
        let name = segment.file_name().unwrap().to_str().unwrap().to_owned();
        let before = contents(&segment);
        let look = folder.look();
        assert_eq!(codes(&folder)["orphan_labels"], 1, "{release}");

        let planned = fix(folder.path(), STEP, FixMode::DryRun).unwrap();
        assert!(!planned.applied && planned.undo.is_some(), "{planned:?}");
        assert!(planned.changes[0].contains(&name), "{planned:?}");
        assert_eq!(look, folder.look(), "{release}: a dry run writes nothing");

        // Which of the records that are gone is named first may differ.
        assert_eq!(apply(&folder, STEP).changes[1..], planned.changes[1..]);
        assert!(!segment.exists());
        let aside = named(&folder, &name, ".drift-");
        assert_eq!(aside.len(), 1, "{aside:?}");
        assert_eq!(contents(&folder.path().join(&aside[0])), before, "{release}");
        let found = codes(&folder);
        assert!(!found.contains_key("orphan_labels"), "{found:?}");
        assert!(examine(&folder).healthy, "{release}: {found:?}");
        assert_eq!(figure(&folder, "rows_without_vector"), [0], "{release}");
        assert_eq!(figure(&folder, "vectors_from_graph"), [0], "{release}");
        leaves_alone(&folder, STEP);
    }
}

#[test]
fn vectors_that_only_the_graph_holds_are_found_by_the_real_package_afterwards() {
    for release in both_kinds() {
        for name in ["changed", "metrics"] {
            let folder = Folder::copy(release, name);
            let mut truth = Truth::of(&folder, &drift(&folder));
            let report = apply(&folder, STEP);
            assert!(
                !report.changes.iter().any(|line| line.contains("in a file")),
                "{report:?}"
            );
            truth.holds(&folder, 0);
            truth.holds(&folder, 1100);
            truth.holds(&folder, 0);
            assert!(!codes(&folder).contains_key("orphan_labels"), "{}", folder.name);
        }
    }
}

#[test]
fn every_vector_of_a_whole_graph_has_a_place_in_the_queue() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let links = File::options()
            .write(true)
            .open(folder.segment().join("link_lists.bin"))
            .unwrap();
        links.set_len(1 << 40).unwrap();
        let mut truth = Truth::of(&folder, &BTreeSet::new());
        apply(&folder, STEP);
        assert_eq!(named(&folder, "", ".vectors-"), [""; 0], "{release}");
        truth.holds(&folder, 0);
    }
}

#[test]
fn a_sound_graph_stays_however_old_it_is() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let old = SystemTime::now() - Duration::from_secs(7200 * 24);
        for file in fs::read_dir(folder.segment()).unwrap() {
            let file = File::options().write(true).open(file.unwrap().path()).unwrap();
            file.set_modified(old).unwrap();
        }
        assert!(codes(&folder).contains_key("stale_mtime"), "{release}");
        leaves_alone(&folder, STEP);
    }
}

#[test]
fn what_was_set_aside_or_belongs_to_nobody_stays_where_it_is() {
    let folder = Folder::copy("1.5.9", "flushed");
    for name in [
        "0f579090-6c91-45c4-9815-035e2a1e6d42.drift-20260101-000000",
        "0f579090-6c91-45c4-9815-035e2a1e6d42",
    ] {
        let place = folder.path().join(name);
        fs::create_dir(&place).unwrap();
        fs::write(place.join("data_level0.bin"), b"").unwrap();
    }
    leaves_alone(&folder, STEP);
    drift(&folder);
    apply(&folder, STEP);
    assert_eq!(named(&folder, "0f579090", "").len(), 2);
}

#[test]
fn a_name_that_is_taken_in_this_second_is_not_given_again() {
    let folder = Folder::copy("1.5.9", "flushed");
    drift(&folder);
    let segment = folder.segment();
    let name = segment.file_name().unwrap().to_str().unwrap().to_owned();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_micros() as i64;
    let mut taken = BTreeSet::new();
    for second in 0..300 {
        let time = loci_core::Timestamp::from_micros(now / 1_000_000 * 1_000_000 + second * 1_000_000);
        let digits: String = time
            .unwrap()
            .to_string()
            .chars()
            .filter(char::is_ascii_digit)
            .collect();
        let name = format!("{name}.drift-{}-{}", &digits[..8], &digits[8..]);
        fs::create_dir(folder.path().join(&name)).unwrap();
        taken.insert(name);
    }
    apply(&folder, STEP);
    let aside = named(&folder, &name, ".drift-");
    let new: Vec<&String> = aside.iter().filter(|name| !taken.contains(*name)).collect();
    assert_eq!(new.len(), 1, "{aside:?}");
    assert!(folder.path().join(new[0]).join("header.bin").exists());
}

/// The numbers in a base64 text, largest digit first.
fn floats(text: &str) -> Vec<u32> {
    let digit = |byte: u8| match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        _ => 63,
    };
    let mut bytes = Vec::new();
    for four in text.trim_end_matches('=').as_bytes().chunks(4) {
        let bits = four
            .iter()
            .fold(0_u32, |bits, byte| bits << 6 | u32::from(digit(*byte)));
        let bits = bits << (6 * (4 - four.len()) + 8);
        bytes.extend(&bits.to_be_bytes()[..four.len() * 6 / 8]);
    }
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| u32::from_le_bytes(*number)).collect()
}

fn saved(folder: &Folder) -> Vec<Json> {
    let files = named(folder, "", ".vectors-");
    assert_eq!(files.len(), 1, "{files:?}");
    let text = fs::read_to_string(folder.path().join(&files[0])).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn bits(line: &Json) -> Vec<u32> {
    let numbers = line["embedding"].as_array().unwrap().iter();
    numbers
        .map(|number| (number.as_f64().unwrap() as f32).to_bits())
        .collect()
}

/// The vectors that only the graph holds, by id.
fn in_graph(folder: &Folder) -> BTreeMap<String, Vec<u32>> {
    let items = folder.expected["collections"][0]["items"].as_array().unwrap();
    let items = items.iter().filter(|item| item["queued"] == false);
    items
        .map(|item| {
            let text = |key: &str| item[key].as_str().unwrap();
            (text("id").to_owned(), floats(text("embedding_f32_b64")))
        })
        .collect()
}

#[test]
fn vectors_that_nobody_can_name_are_saved_exactly() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        fs::write(folder.segment().join("index_metadata.pickle"), b"\x80\x03}(X").unwrap();
        apply(&folder, STEP);
        let lines = saved(&folder);
        assert!(
            lines
                .iter()
                .all(|line| line["label"].is_u64() && line.get("id").is_none())
        );
        let found: BTreeSet<Vec<u32>> = lines.iter().map(bits).collect();
        for (id, vector) in in_graph(&folder) {
            assert!(
                found.contains(&vector),
                "{release}: the vector of {id} was not saved"
            );
        }
    }
}

#[test]
fn vectors_for_which_the_queue_has_no_place_are_saved_by_name() {
    let folder = Folder::copy("1.5.9", "flushed");
    let gone = drift(&folder);
    folder
        .sql("DELETE FROM max_seq_id WHERE segment_id IN (SELECT id FROM segments WHERE scope = 'METADATA')");
    apply(&folder, STEP);
    let lines = saved(&folder);
    let mut expected = in_graph(&folder);
    expected.retain(|id, _| !gone.contains(id));
    let found: BTreeMap<String, Vec<u32>> = lines
        .iter()
        .map(|line| (line["id"].as_str().unwrap().to_owned(), bits(line)))
        .collect();
    assert_eq!(found, expected);
}

#[test]
fn half_a_graph_gives_back_its_half() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let file = folder.segment().join("data_level0.bin");
        // The file has room for more elements than there are; half of those that are there remain.
        let size = u64::from_le_bytes(
            fs::read(folder.segment().join("header.bin")).unwrap()[28..36]
                .try_into()
                .unwrap(),
        );
        File::options()
            .write(true)
            .open(file)
            .unwrap()
            .set_len(size * 500)
            .unwrap();
        let before = figure(&folder, "rows_without_vector");
        apply(&folder, STEP);
        assert_eq!(figure(&folder, "rows_without_vector"), before, "{release}");
        assert_eq!(figure(&folder, "vectors_from_graph"), [0], "{release}");
    }
}
