//! Graphs that make Chroma crash, hang, fail or answer wrongly: the doctor names each, `quarantine` sets it aside, and
//! the real package answers with everything afterwards.
//!
//! The damages were tried on the real package first. On 1.5.9 the links made it crash (SIGSEGV) or hang, on 0.6.3 it
//! crashed or failed with "cand error"; without `link_lists.bin` or `length.bin` neither opens the graph.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::time::{Duration, SystemTime};

use loci_chroma::ChromaBackend;
use loci_core::{Doctor, FixMode, FixReport, FixRequest};
use serde_json::Value as Json;

use super::real::{Truth, python};
use super::{apply, examine, fix, leaves_alone};
use crate::scene::folder::{Folder, both_kinds};
use crate::scene::graph::{GraphFiles, HEADER, LENGTHS, LEVEL0, LINKS};
use crate::scene::reading::{finds, floats, is_healthy, is_whole};

const STEP: &str = "quarantine";
/// The collection whose lengths matter.
const COSINE: &str = "by-cosine";

fn name_of(path: &std::path::Path) -> String {
    path.file_name().unwrap().to_str().unwrap().to_owned()
}

/// Expects that one folder was renamed, as other tools do it.
#[track_caller]
fn is_renamed(report: &FixReport, segment: &str) {
    let [renamed] = &*report.renamed else {
        panic!("{report:?}")
    };
    assert!(renamed.from.ends_with(segment) && !fs::exists(&renamed.from).unwrap());
    assert!(fs::exists(&renamed.to).unwrap(), "{renamed:?}");
    let (name, moment) = renamed.to.rsplit_once(".drift-").unwrap();
    assert_eq!(name, renamed.from);
    let pattern: String = moment
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(pattern, "00000000-000000", "{renamed:?}");
}

/// Expects that a damage to links is named as `code` and costs no vector.
#[track_caller]
fn is_named(release: &str, code: &str, says: &str, damage: impl Fn(&GraphFiles)) -> Folder {
    let folder = Folder::copy(release, "flushed");
    damage(&GraphFiles::new(&folder.segment()));
    let said = finds(&folder, code);
    assert!(said.contains(says), "{release}: {said}");
    assert!(said.contains(&name_of(&folder.segment())), "{release}: {said}");
    assert!(!examine(&folder).healthy, "{release}");
    is_whole(&folder);
    folder
}

/// Expects that a damage to links is also mended and undone.
#[track_caller]
fn is_named_and_mended(code: &str, says: &str, damage: impl Fn(&GraphFiles)) {
    for release in both_kinds() {
        let folder = is_named(release, code, says, &damage);
        let segment = name_of(&folder.segment());
        let mut truth = Truth::of(&folder, &BTreeSet::new());
        is_renamed(&apply(&folder, STEP), &segment);
        is_healthy(&folder);
        let undone = fix(folder.path(), STEP, FixMode::Undo).unwrap();
        assert!(undone.renamed[0].to.ends_with(&segment), "{undone:?}");
        finds(&folder, code);
        apply(&folder, STEP);
        truth.holds(&folder, 0);
        is_healthy(&folder);
    }
}

#[test]
fn links_of_one_element_that_lead_nowhere_are_named() {
    is_named_and_mended("links_dangling", "in 1 list, first", |graph| {
        graph.set_links(7..8, 32, |_| Some(0xdead_beef));
    });
}

#[test]
fn links_that_all_lead_nowhere_are_named() {
    is_named_and_mended("links_dangling", "in 1000 lists, first", |graph| {
        graph.set_links(0..graph.elements(), 32, |element| Some(0x7fff_ffff - element));
    });
}

#[test]
fn links_to_the_element_after_the_last_are_named() {
    is_named_and_mended("links_dangling", "to 1000 of 1000", |graph| {
        graph.set_links(0..graph.elements(), 32, |_| Some(graph.elements()));
    });
}

#[test]
fn counts_of_links_beyond_their_room_are_named() {
    is_named_and_mended("link_count_invalid", "60000 of at most 32", |graph| {
        graph.set_links(0..graph.elements(), 60_000, |_| None);
    });
}

#[test]
fn an_entry_point_that_does_not_exist_is_named() {
    let code = "entry_point_invalid";
    is_named_and_mended(code, "but the graph has 1000", |graph| {
        graph.set_entry_point(1_000_000)
    });
    is_named("1.5.9", code, "at element 1000", |graph| {
        graph.set_entry_point(graph.elements())
    });
}

#[test]
fn a_highest_level_that_does_not_exist_is_named() {
    let code = "max_level_invalid";
    is_named_and_mended(code, "highest level is 1000,", |graph| graph.set_max_level(1000));
    is_named("1.5.9", code, "misses nearly every record", |graph| {
        graph.set_max_level(-1)
    });
    is_named("1.5.9", code, "does not use the levels", |graph| {
        graph.set_max_level(0)
    });
}

#[test]
fn an_entry_point_below_the_highest_level_is_named() {
    is_named_and_mended("entry_point_invalid", "on no level above 0", |graph| {
        // The elements of level 0 alone have an empty entry in the file of links.
        let mut first = 0;
        graph.change(LINKS, |bytes| {
            let mut at = 0;
            while bytes[at..at + 4] != [0; 4] {
                at += 4 + u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
                first += 1;
            }
        });
        graph.set_entry_point(first);
    });
}

#[test]
fn missing_links_above_level_0_are_named() {
    is_named_and_mended("link_lists_missing", "cannot open", |graph| graph.delete(LINKS));
}

#[test]
fn links_above_level_0_that_are_cut_off_are_named() {
    let (code, says) = ("link_lists_truncated", "the file ends there");
    is_named_and_mended(code, says, |graph| {
        graph.change(LINKS, |bytes| bytes.truncate(4000))
    });
    for cut in [0, 3] {
        is_named("1.5.9", code, says, |graph| {
            graph.change(LINKS, |bytes| bytes.truncate(cut))
        });
    }
}

#[test]
fn links_above_level_0_that_lead_nowhere_are_named() {
    is_named_and_mended("links_dangling", "on level 1", |graph| {
        graph.change(LINKS, |bytes| {
            let mut at = 0;
            // The first element above level 0 has a list of sixteen links behind its length and its count.
            while bytes[at..at + 4] == [0; 4] {
                at += 4;
            }
            bytes[at + 8..at + 12].copy_from_slice(&0x7fff_ffff_u32.to_le_bytes());
        });
    });
}

#[test]
fn links_to_an_element_that_is_not_on_their_level_are_named() {
    is_named_and_mended("links_dangling", "on level 1", |graph| {
        graph.change(LINKS, |bytes| {
            let (mut at, mut element, mut first) = (0, 0_u32, None);
            let mut low = None;
            while at < bytes.len() {
                let length = u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()) as usize;
                if length == 0 {
                    low.get_or_insert(element);
                } else {
                    first.get_or_insert(at);
                }
                (at, element) = (at + 4 + length, element + 1);
            }
            bytes[first.unwrap() + 8..][..4].copy_from_slice(&low.unwrap().to_le_bytes());
        });
    });
}

#[test]
fn elements_without_links_to_others_are_named() {
    is_named_and_mended("elements_unreachable", "misses their records", |graph| {
        graph.set_links(0..graph.elements(), 1, Some);
    });
}

#[test]
fn settings_of_links_that_contradict_each_other_are_named() {
    let damage = |at: usize| move |graph: &GraphFiles| graph.change(HEADER, |bytes| bytes[at] ^= 0x10);
    is_named_and_mended("header_invalid", "impossible", damage(61));
    for at in [69, 77, 91] {
        is_named("1.5.9", "header_invalid", "impossible", damage(at));
    }
}

#[test]
fn missing_lengths_are_named_under_every_metric() {
    is_named_and_mended("lengths_missing", "cannot open", |graph| graph.delete(LENGTHS));
}

#[test]
fn lengths_that_a_metric_does_not_use_are_no_trouble() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        GraphFiles::new(&folder.segment()).change(LENGTHS, Vec::clear);
        is_healthy(&folder);
        leaves_alone(&folder, STEP);
    }
}

/// Expects that a damage to the lengths of a cosine graph is named, and that directions stay.
#[track_caller]
fn lengths_are_named_and_mended(code: &str, damage: impl Fn(&GraphFiles)) {
    for release in both_kinds() {
        let folder = Folder::copy(release, "metrics");
        let segment = folder.segment_of(COSINE);
        let lost = in_cosine_graph(&folder);
        damage(&GraphFiles::new(&folder.path().join(&segment)));
        let said = finds(&folder, code);
        assert!(said.contains(&segment), "{release}: {said}");
        let mut truth = Truth::of(&folder, &BTreeSet::new()).by_direction();
        let report = apply(&folder, STEP);
        is_renamed(&report, &segment);
        let mut told = report
            .changes
            .iter()
            .filter_map(|change| change.split_once(" of them with length 1")?.0.rsplit(' ').next());
        let shortened: u64 = told.next().unwrap().parse().unwrap();
        // The last write that the graph contains may still be in the queue, with its length.
        assert!((lost - 1..=lost).contains(&shortened), "{release}: {report:?}");
        is_healthy(&folder);
        truth.holds(&folder, 0);
    }
}

/// The number of vectors that only the cosine graph holds.
fn in_cosine_graph(folder: &Folder) -> u64 {
    let figures = examine(folder).collections.into_iter();
    let mut cosine = figures.filter(|collection| collection.name == COSINE);
    cosine.next().unwrap().figures["vectors_from_graph"]
        .as_u64()
        .unwrap()
}

#[test]
fn missing_lengths_of_a_cosine_graph_leave_directions() {
    lengths_are_named_and_mended("lengths_missing", |graph| graph.delete(LENGTHS));
}

#[test]
fn lengths_that_are_cut_off_leave_directions() {
    lengths_are_named_and_mended("lengths_truncated", |graph| {
        graph.change(LENGTHS, Vec::clear);
    });
}

#[test]
fn lengths_with_flipped_bytes_leave_directions() {
    lengths_are_named_and_mended("lengths_invalid", |graph| {
        graph.change(LENGTHS, |bytes| bytes.iter_mut().for_each(|byte| *byte ^= 0xff));
    });
}

#[test]
fn a_damaged_vector_is_not_written_back_as_a_good_one() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let graph = GraphFiles::new(&folder.segment());
        graph.set_value(40, f32::NAN);
        graph.set_value(41, 3e38);
        let segment = name_of(&folder.segment());
        let ids = damaged_ids(&folder);
        assert_eq!(ids.len(), 2, "{release}");
        let report = apply(&folder, STEP);
        is_renamed(&report, &segment);
        let line = report
            .changes
            .iter()
            .find(|line| line.contains("2 vectors are damaged"));
        assert!(line.unwrap().contains("\"record-"), "{report:?}");
        let said = finds(&folder, "rows_without_vector");
        assert!(said.contains("2 of 1060"), "{release}: {said}");
        leaves_alone(&folder, STEP);
        // Once the two are there again, the real package has everything.
        upsert_again(&folder, release, &ids);
        Truth::of(&folder, &BTreeSet::new()).holds(&folder, 0);
    }
}

/// The ids of the records whose vectors the doctor calls damaged.
fn damaged_ids(folder: &Folder) -> Vec<String> {
    let findings = examine(folder).findings.into_iter();
    let damaged = findings.filter(|finding| finding.code == "bad_vector");
    let quoted = damaged.map(|finding| finding.message.split('"').nth(1).unwrap().to_owned());
    quoted.collect()
}

/// Has the real package write records again as they were.
fn upsert_again(folder: &Folder, release: &str, ids: &[String]) {
    let script = "import base64, json, sys, chromadb, numpy\n\
        client = chromadb.PersistentClient(sys.argv[1])\n\
        for item in json.loads(sys.argv[2]):\n\
        \x20   vector = numpy.frombuffer(base64.b64decode(item['embedding_f32_b64']), dtype='<f4')\n\
        \x20   client.get_collection('flushed').upsert(ids=[item['id']], embeddings=[vector.tolist()],\n\
        \x20       documents=[item['document']], metadatas=[item['metadata']])";
    let told = folder.expected["collections"][0]["items"].as_array().unwrap();
    let items: Vec<&Json> = told
        .iter()
        .filter(|item| ids.iter().any(|id| item["id"] == id.as_str()))
        .collect();
    assert_eq!(items.len(), ids.len());
    let items = serde_json::to_string(&items).unwrap();
    python(release, &["-c", script, folder.path().to_str().unwrap(), &items]);
}

/// Puts the purged writes back into the queue, as if the folder kept them all.
fn leave_writes(folder: &Folder) {
    let told = folder.expected["collections"][0]["items"].as_array().unwrap();
    let inserts: String = told
        .iter()
        .map(|item| {
            let id = item["id"].as_str().unwrap();
            let vector = floats(&item["embedding_f32_b64"]).unwrap().into_iter();
            let bytes = vector.flat_map(f32::to_le_bytes);
            let hex: String = bytes.map(|byte| format!("{byte:02x}")).collect();
            // Rows and writes of this folder have the same numbers, and releases store the latter in different ways.
            format!(
                "INSERT OR IGNORE INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding) \
                 SELECT row.id, 0, (SELECT topic FROM embeddings_queue LIMIT 1), row.embedding_id, x'{hex}', 'FLOAT32' \
                 FROM embeddings AS row WHERE row.embedding_id = '{id}';"
            )
        })
        .collect();
    folder.sql(&format!("BEGIN; {inserts} COMMIT"));
}

#[test]
fn a_damaged_vector_whose_write_is_left_comes_back() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        GraphFiles::new(&folder.segment()).set_value(40, f32::NAN);
        let ids = damaged_ids(&folder);
        assert_eq!(ids.len(), 1, "{release}");
        leave_writes(&folder);
        assert_eq!(damaged_ids(&folder), ids, "{release}");
        let report = apply(&folder, STEP);
        assert!(
            !report
                .changes
                .iter()
                .any(|line| line.contains("damaged and not written back")),
            "{report:?}"
        );
        is_healthy(&folder);
        is_whole(&folder);
        Truth::of(&folder, &BTreeSet::new()).holds(&folder, 0);
    }
}

#[test]
fn vectors_in_a_folder_that_was_set_aside_are_written_back() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let segment = folder.segment();
        let aside = format!("{}.drift-20260101-000000", segment.display());
        fs::rename(&segment, &aside).unwrap();
        let mut truth = Truth::of(&folder, &BTreeSet::new());
        finds(&folder, "vectors_set_aside");
        let report = apply(&folder, STEP);
        assert!(
            report.renamed.is_empty() && fs::exists(&aside).unwrap(),
            "{report:?}"
        );
        is_healthy(&folder);
        truth.holds(&folder, 0);
        leaves_alone(&folder, STEP);
    }
}

#[test]
fn vectors_set_aside_and_those_of_the_graph_that_came_after_are_found_together() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let segment = folder.segment();
        fs::rename(&segment, format!("{}.drift-20260101-000000", segment.display())).unwrap();
        let script = "import sys, chromadb; c = chromadb.PersistentClient(sys.argv[1]).get_collection('flushed'); \
             [c.add(ids=[f'late-{a}-{b}' for b in range(100)], embeddings=[[a, b] + [0.5] * 6 for b in range(100)]) \
             for a in range(12)]";
        python(release, &["-c", script, folder.path().to_str().unwrap()]);
        assert!(segment.join(LEVEL0).exists(), "{release}: no new graph was saved");
        finds(&folder, "vectors_set_aside");
        let mut truth = Truth::of(&folder, &BTreeSet::new());
        truth.note_added(1200);
        is_renamed(&apply(&folder, STEP), &name_of(&segment));
        truth.holds(&folder, 0);
        leaves_alone(&folder, STEP);
    }
}

#[test]
fn an_old_graph_is_set_aside_only_where_its_age_is_given() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let segment = folder.segment();
        let level0 = File::options().write(true).open(segment.join(LEVEL0)).unwrap();
        level0
            .set_modified(SystemTime::now() - Duration::from_secs(7200))
            .unwrap();
        leaves_alone(&folder, STEP);
        let take = |mode, seconds| {
            let request = FixRequest {
                step: STEP,
                mode,
                older_than: Some(Duration::from_secs(seconds)),
            };
            ChromaBackend::new().fix(folder.path(), &request).unwrap()
        };
        assert!(!take(FixMode::Apply, 9000).applied, "{release}");
        let planned = take(FixMode::DryRun, 3600);
        assert!(
            planned.undo.is_some() && planned.renamed.is_empty(),
            "{planned:?}"
        );
        let mut truth = Truth::of(&folder, &BTreeSet::new());
        is_renamed(&take(FixMode::Apply, 3600), &name_of(&segment));
        is_healthy(&folder);
        truth.holds(&folder, 0);
    }
}
