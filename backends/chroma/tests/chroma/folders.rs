//! Every row, text, metadata value and vector of folders that real releases of Chroma wrote.

use crate::fixes::real::python;
use crate::scene::folder::{Folder, both_kinds, releases};
use crate::scene::reading::{Lacks, examine, finds, is_healthy, is_there, is_whole, walk};
use loci_chroma::ChromaBackend;
use loci_core::{Backend, FindingSeverity, PalaceRef};

/// Reads the folder of this name of every release, and asks the doctor, who must be content.
fn in_every_release(name: &str) {
    let folders: Vec<Folder> = releases()
        .into_iter()
        .map(|release| Folder::copy(release, name))
        .collect();
    folders.iter().for_each(is_whole);
    folders.iter().for_each(is_healthy);
}

#[test]
fn folders_kept_in_the_tree_are_whole_whichever_python_is_at_hand() {
    for release in ["0.6.3", "1.5.9"] {
        let folder = Folder::kept(release);
        is_whole(&folder);
        is_healthy(&folder);
        // The graph was saved, and rows came after that.
        assert!(folder.segment().join("data_level0.bin").exists());
        assert!(folder.number("SELECT count(*) FROM embeddings") > 37);
    }
    in_every_release("kept");
}

#[test]
fn odd_ids_texts_and_metadata_come_back_as_they_are() {
    in_every_release("small");
}

#[test]
fn what_was_flushed_into_the_graph_comes_back_bit_by_bit() {
    in_every_release("flushed");
}

#[test]
fn rows_that_were_updated_deleted_and_added_again_are_the_newest() {
    in_every_release("changed");
}

#[test]
fn every_metric_gives_its_vectors_back() {
    in_every_release("metrics");
}

#[test]
fn what_was_dropped_stays_gone() {
    in_every_release("dropped");
}

#[test]
fn empty_collections_are_empty() {
    in_every_release("empty");
}

#[test]
fn a_folder_without_collections_lists_none() {
    in_every_release("nothing");
    for release in releases() {
        let folder = Folder::copy(release, "nothing");
        let listed = ChromaBackend::new()
            .collections(&PalaceRef::local(folder.path()))
            .unwrap();
        assert!(listed.is_empty(), "{release}: {listed:?}");
    }
}

#[test]
fn collections_of_one_name_in_several_databases_are_told_apart() {
    in_every_release("many");
}

#[test]
fn a_mempalace_palace_is_whole_and_its_drawers_are_placed() {
    in_every_release("mempalace");
    for release in releases() {
        let folder = Folder::copy(release, "mempalace");
        let drawers = walk(folder.path(), "mempalace_drawers");
        let mut placed = 0;
        for (id, drawer) in &drawers {
            let metadata = drawer.metadata.as_ref().unwrap();
            let text = |key: &str| metadata.get(key).and_then(loci_core::MetadataValue::as_text);
            assert_eq!(drawer.place.wing.as_deref(), text("wing"), "{release} {id}");
            assert_eq!(drawer.place.room.as_deref(), text("room"), "{release} {id}");
            assert_eq!(
                drawer.place.source.as_deref(),
                text("source_file"),
                "{release} {id}"
            );
            placed += usize::from(drawer.place.said_at.is_some());
            assert!(drawer.filed_at.is_some(), "{release} {id}");
        }
        assert!(placed > 0, "{release}: nobody knows when anything was said");
    }
}

#[test]
fn each_vector_says_whether_it_came_from_the_queue_or_the_graph() {
    for release in releases() {
        let folder = Folder::copy(release, "flushed");
        let items = folder.expected["collections"][0]["items"]
            .as_array()
            .unwrap()
            .clone();
        let drawers = walk(folder.path(), "flushed");
        let (mut queued, mut from_queue) = (0, 0);
        for item in items {
            let drawer = &drawers[item["id"].as_str().unwrap()];
            // The graph decides up to its position, whether or not the queue still has the write.
            queued += usize::from(item["queued"] == true);
            from_queue += usize::from(drawer.vector_from.0 == Some("queue"));
            let expected = item["queued"] == true || drawer.vector_from.0 == Some("graph");
            assert!(expected, "{release} {}: {:?}", drawer.id, drawer.vector_from);
        }
        assert!(
            0 < from_queue && from_queue < queued,
            "{release}: {from_queue} of {queued}"
        );
    }
}

#[test]
fn orphans_of_dropped_collections_are_only_notes() {
    let folder = Folder::copy("1.5.9", "dropped");
    let said = finds(&folder, "orphan_folder");
    assert!(said.contains("dropped collection"), "{said}");
    let Some(folder) = Folder::find("0.4.14", "dropped") else {
        return;
    };
    let said = finds(&folder, "orphan_rows");
    assert!(said.contains("1060 rows"), "{said}");
}

#[test]
fn a_folder_that_two_releases_wrote_is_whole() {
    let Some(folder) = Folder::find("1.5.9", "upgraded") else {
        return;
    };
    is_whole(&folder);
    assert!(folder.number("SELECT count(*) FROM embeddings WHERE typeof(seq_id) = 'blob'") > 1000);
    assert!(folder.number("SELECT count(*) FROM embeddings WHERE typeof(seq_id) = 'integer'") > 50);
    finds(&folder, "blob_seq_ids");
    // The newest release reads such rows well, so they are worth no more than a note.
    is_healthy(&folder);
}

#[test]
fn the_configuration_decides_on_the_metric_where_metadata_say_otherwise() {
    let place = tempfile::tempdir().unwrap();
    let script = "
import sys, chromadb
client = chromadb.PersistentClient(sys.argv[1])
for set in ('l2', 'cosine', 'ip'):
    for configured in ('l2', 'cosine', 'ip'):
        configuration = {'hnsw': {'space': configured}}
        made = client.create_collection(
            f'{set}-{configured}', metadata={'hnsw:space': set}, configuration=configuration
        )
        made.add(ids=['a', 'b'], embeddings=[[1.0, 0.0], [3.0, 4.0]])
        found = made.query(query_embeddings=[[2.0, 0.0]], n_results=2, include=['distances'])
        near = dict(zip(found['ids'][0], found['distances'][0]))
        print(made.name, {17.0: 'l2', 0.4: 'cosine', -5.0: 'ip'}[round(near['b'], 3)])
";
    let path = place.path().to_str().unwrap();
    let said = python("1.5.9", &["-c", script, path]);
    let palace = PalaceRef::local(place.path());
    let listed = ChromaBackend::new().collections(&palace).unwrap();
    let found: String = listed
        .iter()
        .map(|info| format!("{} {}\n", info.name, info.metric.name()))
        .collect();
    let mut compared: Vec<&str> = said.lines().collect();
    compared.sort_unstable();
    assert_eq!(found.lines().collect::<Vec<_>>(), compared);
    // Otherwise nothing would be shown: here the two differ.
    assert!(
        said.contains("cosine-ip ip") && said.contains("ip-cosine cosine"),
        "{said}"
    );
}

#[test]
fn a_writer_killed_between_graph_and_labels_loses_nothing() {
    for release in releases() {
        let folder = Folder::copy(release, "killed-graph");
        is_whole(&folder);
        finds(&folder, "pickle_missing");
    }
}

#[test]
fn a_writer_killed_before_the_first_label_was_written_loses_nothing() {
    for release in releases() {
        let folder = Folder::copy(release, "killed-pickle");
        is_whole(&folder);
        let codes: Vec<String> = examine(&folder)
            .findings
            .into_iter()
            .map(|finding| finding.code)
            .collect();
        assert!(
            codes.iter().any(|code| code.starts_with("pickle_")),
            "{release}: {codes:?}"
        );
    }
}

#[test]
fn a_writer_killed_in_its_second_save_loses_no_text_and_no_queued_vector() {
    for release in releases() {
        let folder = Folder::copy(release, "killed-again");
        let lacks = Lacks {
            graph_vectors: true,
            ..Lacks::default()
        };
        is_there(&folder, &lacks);
        let codes: Vec<String> = examine(&folder)
            .findings
            .into_iter()
            .map(|finding| finding.code)
            .collect();
        assert!(
            codes.iter().any(|code| code.starts_with("pickle_")),
            "{release}: {codes:?}"
        );
    }
}

#[test]
fn an_unfinished_transaction_is_taken_back() {
    for release in releases() {
        let folder = Folder::copy(release, "journal");
        is_whole(&folder);
        finds(&folder, "hot_journal");
    }
}

#[test]
fn writes_that_are_only_in_the_log_are_read() {
    for release in releases() {
        let folder = Folder::copy(release, "wal");
        is_whole(&folder);
        finds(&folder, "wal_pending");
    }
}

#[test]
fn a_palace_whose_model_nobody_recorded_says_so() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let found = examine(&folder).findings;
        let unknown = found.iter().find(|finding| finding.code == "embedder_unknown");
        assert_eq!(
            unknown.map(|finding| finding.severity),
            Some(FindingSeverity::Note),
            "{found:?}"
        );
        let found = examine(&Folder::copy(release, "mempalace")).findings;
        assert!(
            !found.iter().any(|finding| finding.code == "embedder_unknown"),
            "{found:?}"
        );
    }
}
