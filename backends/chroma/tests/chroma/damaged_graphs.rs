//! Graph files damaged on purpose in folders of real releases: each is named, and what still exists is read.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::scene::folder::{Folder, both_kinds};
use crate::scene::reading::{Drawers, Lacks, examine, finds, floats, is_there, is_whole, walk};

const LEVEL0: &str = "data_level0.bin";
const HEADER: &str = "header.bin";
const PICKLE: &str = "index_metadata.pickle";
const LINKS: &str = "link_lists.bin";

/// The number of vectors of the flushed folder that only the graph holds.
const IN_GRAPH: usize = 999;
/// The number of its vectors that the queue holds as well: the write at which the graph was saved is not purged.
const IN_BOTH: usize = 1;

/// A copy of the flushed folder of each kind of release.
fn flushed() -> Vec<Folder> {
    both_kinds()
        .into_iter()
        .map(|release| Folder::copy(release, "flushed"))
        .collect()
}

fn file(folder: &Folder, name: &str) -> PathBuf {
    folder.segment().join(name)
}

/// The layout of elements in `data_level0.bin`: the size of one, and the offsets of its label and its vector.
fn layout(folder: &Folder) -> (usize, usize, usize) {
    layout_in(&folder.segment())
}

fn layout_in(segment: &Path) -> (usize, usize, usize) {
    let header = fs::read(segment.join(HEADER)).unwrap();
    let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap()) as usize;
    (number(28), number(36), number(44))
}

/// The record whose vector an element holds: labels are not given in the order of adding, but no two vectors are equal.
fn owner(folder: &Folder, element: usize) -> String {
    let (size, label, vector) = layout(folder);
    let bytes = fs::read(file(folder, LEVEL0)).unwrap();
    let held = &bytes[size * element + vector..size * element + label];
    let items = folder.expected["collections"][0]["items"].as_array().unwrap();
    let owner = items.iter().find(|item| {
        let written = floats(&item["written_f32_b64"]).unwrap();
        written
            .iter()
            .flat_map(|value| value.to_le_bytes())
            .eq(held.iter().copied())
    });
    owner.unwrap()["id"].as_str().unwrap().to_owned()
}

fn without_graph_vectors() -> Lacks {
    Lacks {
        graph_vectors: true,
        ..Lacks::default()
    }
}

fn from_graph(drawers: &Drawers) -> usize {
    drawers
        .values()
        .filter(|drawer| drawer.embedding.is_some() && drawer.vector_from.0 == Some("graph"))
        .count()
}

/// The only segment as the doctor must name it.
fn segment_name(folder: &Folder) -> String {
    folder.segment().file_name().unwrap().to_str().unwrap().to_owned()
}

fn ids(numbers: std::ops::Range<usize>) -> BTreeSet<String> {
    numbers.map(|number| format!("record-{number:05}")).collect()
}

#[test]
fn the_folder_that_is_damaged_has_its_vectors_in_the_graph() {
    for folder in flushed() {
        let drawers = walk(folder.path(), "flushed");
        assert_eq!(from_graph(&drawers), IN_GRAPH + IN_BOTH, "{}", folder.name);
    }
}

#[test]
fn labels_whose_rows_are_gone_are_orphans() {
    for folder in flushed() {
        folder.sql(
            "DELETE FROM embedding_metadata WHERE id IN (SELECT id FROM embeddings WHERE embedding_id \
             BETWEEN 'record-00100' AND 'record-00109');
             DELETE FROM embeddings WHERE embedding_id BETWEEN 'record-00100' AND 'record-00109';",
        );
        let said = finds(&folder, "orphan_labels");
        assert!(
            said.contains("10 elements") && said.contains(&segment_name(&folder)),
            "{said}"
        );
        let lacks = Lacks {
            rows_of: ids(100..110),
            ..Lacks::default()
        };
        is_there(&folder, &lacks);
    }
}

#[test]
fn a_graph_far_behind_the_queue_is_named_and_nothing_is_missing() {
    for folder in flushed() {
        let newest = folder.number("SELECT max(seq_id) FROM embeddings_queue");
        folder.sql(&format!(
            "INSERT INTO embeddings_queue (seq_id, operation, topic, id)
             WITH RECURSIVE more(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM more WHERE n < 2100)
             SELECT {newest} + n, 1, (SELECT topic FROM embeddings_queue LIMIT 1), 'record-01050' FROM more;
             UPDATE max_seq_id SET seq_id = CASE typeof(seq_id)
                 WHEN 'blob' THEN unhex(printf('%016x', {newest} + 2100)) ELSE {newest} + 2100 END
             WHERE segment_id = (SELECT id FROM segments WHERE scope = 'METADATA');"
        ));
        let said = finds(&folder, "graph_behind");
        assert!(said.contains("flushed"), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn a_list_of_labels_that_was_cut_short_is_named_wherever_it_was_cut() {
    for folder in flushed() {
        let path = file(&folder, PICKLE);
        let whole = fs::read(&path).unwrap();
        let mut most = 0;
        for cut in [
            0,
            1,
            2,
            17,
            200,
            whole.len() / 4,
            whole.len() / 2,
            whole.len() - 2,
            whole.len() - 1,
        ] {
            fs::write(&path, &whole[..cut]).unwrap();
            let found = examine(&folder).findings;
            let named = found.iter().find(|finding| finding.code.starts_with("pickle_"));
            let named = named.unwrap_or_else(|| panic!("{} cut at {cut}: {found:#?}", folder.name));
            assert_eq!(named.segment, Some(segment_name(&folder)));
            is_there(&folder, &without_graph_vectors());
            let saved = from_graph(&walk(folder.path(), "flushed"));
            assert!(
                saved >= most,
                "{} cut at {cut}: {saved} after {most}",
                folder.name
            );
            most = saved;
        }
        assert_eq!(
            most,
            IN_GRAPH + IN_BOTH,
            "{}: only the last byte is missing",
            folder.name
        );
    }
}

#[test]
fn half_a_list_of_labels_still_gives_vectors_back() {
    for folder in flushed() {
        folder.change(&file(&folder, PICKLE), |bytes| bytes.truncate(bytes.len() / 2));
        finds(&folder, "pickle_partial");
        let saved = from_graph(&walk(folder.path(), "flushed"));
        assert!(saved > IN_GRAPH / 4, "{}: {saved} vectors", folder.name);
    }
}

#[test]
fn a_list_of_labels_that_holds_something_else_is_refused() {
    for folder in flushed() {
        fs::write(file(&folder, PICKLE), b"cos\nsystem\n(S'echo'\ntR.").unwrap();
        let said = finds(&folder, "pickle_unreadable");
        assert!(said.contains(PICKLE), "{said}");
        is_there(&folder, &without_graph_vectors());
    }
}

#[test]
fn a_missing_list_of_labels_is_named() {
    for folder in flushed() {
        fs::remove_file(file(&folder, PICKLE)).unwrap();
        finds(&folder, "pickle_missing");
        let said = finds(&folder, "rows_without_vector");
        assert!(said.contains(&format!("{IN_GRAPH} of 1060")), "{said}");
        is_there(&folder, &without_graph_vectors());
    }
}

#[test]
fn half_the_elements_are_read_where_half_the_file_is_there() {
    for folder in flushed() {
        let (size, ..) = layout(&folder);
        folder.change(&file(&folder, LEVEL0), |bytes| bytes.truncate(size * 500 + 7));
        let said = finds(&folder, "level0_truncated");
        assert!(
            said.contains("500") && said.contains(&segment_name(&folder)),
            "{said}"
        );
        is_there(&folder, &without_graph_vectors());
        let saved = from_graph(&walk(folder.path(), "flushed"));
        assert!((499..=500).contains(&saved), "{}: {saved}", folder.name);
    }
}

#[test]
fn an_empty_file_of_elements_costs_only_vectors_of_the_graph() {
    for folder in flushed() {
        folder.change(&file(&folder, LEVEL0), Vec::clear);
        finds(&folder, "level0_truncated");
        finds(&folder, "rows_without_vector");
        is_there(&folder, &without_graph_vectors());
    }
}

#[test]
fn a_missing_file_of_elements_costs_only_vectors_of_the_graph() {
    for folder in flushed() {
        fs::remove_file(file(&folder, LEVEL0)).unwrap();
        finds(&folder, "level0_missing");
        is_there(&folder, &without_graph_vectors());
    }
}

#[test]
fn a_missing_folder_costs_only_vectors_of_the_graph() {
    for folder in flushed() {
        fs::remove_dir_all(folder.segment()).unwrap();
        let said = finds(&folder, "rows_without_vector");
        assert!(said.contains(&format!("{IN_GRAPH} of 1060")), "{said}");
        is_there(&folder, &without_graph_vectors());
    }
}

#[test]
fn a_vector_that_is_no_number_any_more_is_named() {
    for folder in flushed() {
        let (size, _, vector) = layout(&folder);
        let id = owner(&folder, 40);
        folder.change(&file(&folder, LEVEL0), |bytes| {
            bytes[size * 40 + vector..][..4].copy_from_slice(&f32::NAN.to_le_bytes());
        });
        let said = finds(&folder, "bad_vector");
        assert!(said.contains(&id), "{said}");
        let lacks = Lacks {
            vectors_of: BTreeSet::from([id]),
            ..Lacks::default()
        };
        is_there(&folder, &lacks);
    }
}

#[test]
fn a_vector_of_a_cosine_graph_that_lost_its_length_is_named() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "metrics");
        let segment = folder.segment_of("by-cosine");
        let place = folder.path().join(&segment);
        let (size, _, vector) = layout_in(&place);
        folder.change(&place.join(LEVEL0), |bytes| {
            for value in bytes[size * 7 + vector..][..32].as_chunks_mut::<4>().0 {
                *value = (f32::from_le_bytes(*value) * 2.0).to_le_bytes();
            }
        });
        let said = finds(&folder, "bad_vector");
        assert_eq!(said.lines().count(), 1, "{said}");
        assert!(said.contains("record-") && said.contains(&segment), "{said}");
    }
}

#[test]
fn a_label_that_was_changed_gives_nobody_the_wrong_vector() {
    for folder in flushed() {
        let (size, label, _) = layout(&folder);
        let id = owner(&folder, 40);
        folder.change(&file(&folder, LEVEL0), |bytes| {
            bytes[size * 40 + label + 6] ^= 0x55
        });
        finds(&folder, "label_mismatch");
        let lacks = Lacks {
            vectors_of: BTreeSet::from([id]),
            ..Lacks::default()
        };
        is_there(&folder, &lacks);
    }
}

#[test]
fn two_elements_with_one_label_give_nobody_the_wrong_vector() {
    for folder in flushed() {
        let (size, label, _) = layout(&folder);
        let owners = [40, 41].map(|element| owner(&folder, element));
        folder.change(&file(&folder, LEVEL0), |bytes| {
            bytes.copy_within(size * 40 + label..size * 40 + label + 8, size * 41 + label);
        });
        finds(&folder, "label_mismatch");
        let lacks = Lacks {
            vectors_of: owners.into(),
            ..Lacks::default()
        };
        is_there(&folder, &lacks);
    }
}

#[test]
fn a_missing_header_is_made_up_for_from_what_the_database_knows() {
    for folder in flushed() {
        fs::remove_file(file(&folder, HEADER)).unwrap();
        let said = finds(&folder, "header_missing");
        assert!(said.contains(&segment_name(&folder)), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn a_flipped_byte_of_a_header_is_named_or_harmless_and_costs_no_row() {
    let folder = Folder::copy("1.5.9", "flushed");
    let path = file(&folder, HEADER);
    let whole = fs::read(&path).unwrap();
    let mut named = 0;
    for at in (0..whole.len()).step_by(4) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        fs::write(&path, &bytes).unwrap();
        assert_eq!(walk(folder.path(), "flushed").len(), 1060, "byte {at}");
        let found = examine(&folder).findings;
        named += usize::from(found.iter().any(|finding| finding.code == "header_invalid"));
    }
    assert!(named >= 10, "only {named} of the bytes that matter were noticed");
}

#[test]
fn a_header_of_zeros_is_invalid_and_costs_nothing() {
    for folder in flushed() {
        folder.change(&file(&folder, HEADER), |bytes| bytes.fill(0));
        finds(&folder, "header_invalid");
        is_whole(&folder);
    }
}

#[test]
fn a_file_of_links_with_a_terabyte_of_holes_costs_nothing() {
    for folder in flushed() {
        let path = file(&folder, LINKS);
        File::options()
            .write(true)
            .open(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let said = finds(&folder, "link_lists_sparse");
        assert!(said.contains("1099511627776"), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn a_broken_folder_set_aside_is_noticed_and_harms_nothing() {
    for folder in flushed() {
        let aside = format!("{}.drift-20260101-000000", segment_name(&folder));
        fs::create_dir(folder.path().join(&aside)).unwrap();
        fs::write(folder.path().join(&aside).join(PICKLE), b"not a pickle").unwrap();
        let said = finds(&folder, "set_aside_folder");
        assert!(said.contains(&aside), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn vectors_that_only_a_folder_set_aside_still_has_are_read_from_it() {
    for folder in flushed() {
        let segment = folder.segment();
        let aside = format!("{}.drift-20260101-000000", segment_name(&folder));
        fs::rename(&segment, folder.path().join(&aside)).unwrap();
        let said = finds(&folder, "vectors_set_aside");
        assert!(said.contains(&IN_GRAPH.to_string()), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn an_old_graph_that_agrees_with_its_rows_is_only_a_note() {
    for folder in flushed() {
        let file = File::options().write(true).open(file(&folder, LEVEL0)).unwrap();
        let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(3 * 3600);
        file.set_modified(long_ago).unwrap();
        drop(file);
        let said = finds(&folder, "stale_mtime");
        assert!(said.contains("would be wrong"), "{said}");
        crate::scene::reading::is_healthy(&folder);
        is_whole(&folder);
    }
}
