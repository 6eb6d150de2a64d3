//! Databases damaged on purpose in folders of real releases: each is named, and what still exists is read.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::scene::folder::{Folder, both_kinds, releases};
use crate::scene::reading::{examine, finds, is_whole, walk};
use loci_core::{MetadataScalar, MetadataValue};
use loci_testkit::chroma_python;
use serde_json::Value as Json;

const ABSURD: i64 = 1_229_822_654_365_970_487;

fn flushed() -> Vec<Folder> {
    both_kinds()
        .into_iter()
        .map(|release| Folder::copy(release, "flushed"))
        .collect()
}

/// The bytes of a page, as the database's header says.
fn page_size(bytes: &[u8]) -> usize {
    match u16::from_be_bytes([bytes[16], bytes[17]]) {
        1 => 65536,
        size => usize::from(size),
    }
}

/// Asserts that what is read is true and in what share it is there; rows that are gone are counted, not guessed at.
fn is_partly_there(folder: &Folder, least: usize) {
    let before = folder.look();
    let expected = &folder.expected["collections"][0];
    let items: BTreeMap<&str, &Json> = expected["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| (item["id"].as_str().unwrap(), item))
        .collect();
    let drawers = walk(folder.path(), expected["name"].as_str().unwrap());
    let mut texts = 0;
    for (id, drawer) in &drawers {
        let item = items
            .get(id.as_str())
            .unwrap_or_else(|| panic!("{}: {id:?} never was", folder.name));
        if let Some(document) = &drawer.document {
            assert_eq!(
                Some(document.as_str()),
                item["document"].as_str(),
                "{} {id:?}",
                folder.name
            );
            texts += 1;
        }
    }
    assert!(
        drawers.len() >= least && texts >= least,
        "{}: {} rows, {texts} texts",
        folder.name,
        drawers.len()
    );
    assert_eq!(
        before,
        folder.look(),
        "{}: reading changed the folder",
        folder.name
    );
}

#[test]
fn sequence_numbers_kept_as_bytes_under_a_new_release_are_named() {
    for release in releases().into_iter().filter(|release| release.starts_with('1')) {
        let folder = Folder::copy(release, "flushed");
        folder.sql("UPDATE max_seq_id SET seq_id = unhex(printf('%016x', seq_id))");
        let said = finds(&folder, "blob_seq_ids");
        assert!(said.contains("max_seq_id"), "{said}");
        folder.sql("UPDATE embeddings SET seq_id = unhex(printf('%016x', seq_id))");
        let said = finds(&folder, "blob_seq_ids");
        assert!(said.contains("1060 sequence numbers in embeddings"), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn sequence_numbers_kept_as_bytes_are_as_they_should_be_under_an_old_release() {
    let Some(folder) = Folder::find("0.6.3", "flushed") else {
        return;
    };
    let found = examine(&folder).findings;
    assert!(
        !found.iter().any(|finding| finding.code == "blob_seq_ids"),
        "{found:?}"
    );
}

#[test]
fn an_absurd_position_is_named_and_the_writes_behind_it_are_read() {
    for folder in flushed() {
        let newest = folder.number("SELECT max(seq_id) FROM embeddings_queue");
        folder.sql(&format!(
            "UPDATE max_seq_id SET seq_id = CASE typeof(seq_id)
                 WHEN 'blob' THEN unhex(printf('%016x', {ABSURD})) ELSE {ABSURD} END;
             INSERT INTO embeddings_queue (seq_id, operation, topic, id, vector, encoding, metadata)
             SELECT {newest} + 1, 0, topic, 'behind', vector, encoding,
                 '{{\"chroma:document\": \"written behind\", \"number\": 7}}'
             FROM embeddings_queue WHERE seq_id = {newest};"
        ));
        let said = finds(&folder, "absurd_max_seq_id");
        assert!(said.contains(&ABSURD.to_string()), "{said}");
        let drawers = walk(folder.path(), "flushed");
        assert_eq!(drawers.len(), 1061, "{}", folder.name);
        let behind = &drawers["behind"];
        assert_eq!(behind.document.as_deref(), Some("written behind"));
        assert_eq!(
            behind.metadata.as_ref().unwrap().get("number"),
            Some(&MetadataValue::One(MetadataScalar::Int(7)))
        );
        assert!(behind.embedding.is_some());
    }
}

#[test]
fn writes_the_rows_have_not_seen_are_read_from_the_queue() {
    for folder in flushed() {
        let newest = folder.number("SELECT max(seq_id) FROM embeddings_queue");
        folder.sql(&format!(
            "DELETE FROM embedding_metadata WHERE id IN
                 (SELECT id FROM embeddings WHERE embedding_id >= 'record-01050');
             DELETE FROM embeddings WHERE embedding_id >= 'record-01050';
             UPDATE max_seq_id SET seq_id = CASE typeof(seq_id)
                 WHEN 'blob' THEN unhex(printf('%016x', {newest} - 10)) ELSE {newest} - 10 END
             WHERE segment_id = (SELECT id FROM segments WHERE scope = 'METADATA');"
        ));
        let said = finds(&folder, "metadata_backlog");
        assert!(said.contains("10 writes"), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn a_missing_full_text_is_named_and_costs_nothing() {
    for folder in flushed() {
        folder.sql("DROP TABLE embedding_fulltext_search");
        finds(&folder, "full_text_missing");
        is_whole(&folder);
    }
}

#[test]
fn a_full_text_of_which_only_the_tables_behind_are_left_is_named() {
    for folder in flushed() {
        folder.sql(
            "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE name = 'embedding_fulltext_search'",
        );
        let said = finds(&folder, "full_text_missing");
        assert!(said.contains("shadow tables remain"), "{said}");
        is_whole(&folder);
    }
}

#[test]
fn a_full_text_without_its_tables_is_malformed_and_costs_nothing() {
    for shadow in ["data", "idx", "content", "docsize", "config"] {
        for folder in flushed() {
            let named = format!("embedding_fulltext_search_{shadow}");
            folder.sql(&format!(
                "PRAGMA writable_schema = ON; DELETE FROM sqlite_master WHERE tbl_name = '{named}'"
            ));
            let said = finds(&folder, "full_text_malformed");
            assert!(said.contains(&named), "{said}");
            is_whole(&folder);
        }
    }
}

#[test]
fn a_full_text_with_overwritten_pages_is_malformed_and_costs_nothing() {
    for folder in flushed() {
        let page =
            folder.number("SELECT rootpage FROM sqlite_master WHERE name = 'embedding_fulltext_search_data'");
        folder.change(&folder.database(), |bytes| {
            let size = page_size(bytes);
            bytes[(page as usize - 1) * size..page as usize * size].fill(0xa5);
        });
        finds(&folder, "full_text_malformed");
        is_whole(&folder);
    }
}

#[test]
fn a_full_text_whose_blocks_are_nonsense_is_malformed_and_costs_nothing() {
    for folder in flushed() {
        folder.sql("UPDATE embedding_fulltext_search_data SET block = x'ffffffffffff' WHERE id > 10");
        finds(&folder, "full_text_malformed");
        is_whole(&folder);
    }
}

#[test]
fn keys_without_values_are_named_and_read_as_absent() {
    for folder in flushed() {
        folder.sql(
            "UPDATE embedding_metadata SET string_value = NULL, int_value = NULL, float_value = NULL, bool_value = NULL
             WHERE key IN ('half', 'chroma:document') AND id = (SELECT id FROM embeddings
                 WHERE embedding_id = 'record-00500')",
        );
        let said = finds(&folder, "null_metadata");
        assert!(said.contains("2 metadata keys"), "{said}");
        let drawers = walk(folder.path(), "flushed");
        let drawer = &drawers["record-00500"];
        assert_eq!(drawer.document, None);
        assert_eq!(drawer.metadata.as_ref().unwrap().get("half"), None);
        assert_eq!(
            drawer.metadata.as_ref().unwrap().get("number"),
            Some(&MetadataValue::One(MetadataScalar::Int(500)))
        );
    }
}

#[test]
fn a_database_that_was_cut_gives_back_what_is_left() {
    for folder in flushed() {
        folder.change(&folder.database(), |bytes| bytes.truncate(bytes.len() * 6 / 10));
        finds(&folder, "database_damaged");
        is_partly_there(&folder, 100);
    }
}

#[test]
fn a_database_cut_in_the_middle_of_a_page_gives_back_what_is_left() {
    for folder in flushed() {
        folder.change(&folder.database(), |bytes| bytes.truncate(bytes.len() - 1000));
        finds(&folder, "database_damaged");
        is_partly_there(&folder, 900);
    }
}

#[test]
fn a_database_whose_first_page_is_zeros_gives_back_its_rows() {
    for folder in flushed() {
        folder.change(&folder.database(), |bytes| {
            let size = page_size(bytes);
            bytes[..size].fill(0);
        });
        finds(&folder, "database_damaged");
        is_partly_there(&folder, 1060);
    }
}

#[test]
fn a_damaged_page_of_texts_costs_no_more_than_its_own() {
    for folder in flushed() {
        let page = folder.number(
            "SELECT pageno FROM dbstat WHERE name = 'embedding_metadata' AND pagetype = 'leaf' \
             ORDER BY pageno LIMIT 1 OFFSET 3",
        );
        folder.change(&folder.database(), |bytes| {
            let size = page_size(bytes);
            bytes[(page as usize - 1) * size..page as usize * size].fill(0xa5);
        });
        finds(&folder, "database_damaged");
        is_partly_there(&folder, 1000);
    }
}

#[test]
fn a_folder_that_a_real_process_has_open_is_said_to_be_in_use() {
    let folder = Folder::copy("1.5.9", "flushed");
    let script = "import chromadb, sys; client = chromadb.PersistentClient(path=sys.argv[1]); \
                  client.get_collection('flushed', embedding_function=None).count(); \
                  print('open', flush=True); sys.stdin.readline()";
    let mut child = chroma_python("1.5.9")
        .args(["-c", script])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line.trim(), "open");
    let said = finds(&folder, "in_use");
    assert!(said.contains(&child.id().to_string()), "{said}");
    assert_eq!(walk(folder.path(), "flushed").len(), 1060);
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// The numbers of the pages in the log beside a database of pages with 4,096 bytes.
fn pages_in_log(log: &[u8]) -> BTreeSet<usize> {
    let frames = log[32..].chunks_exact(24 + 4096);
    frames
        .map(|frame| u32::from_be_bytes(frame[..4].try_into().unwrap()) as usize)
        .collect()
}

/// Folders whose last writes are only in the log, with a torn leaf of a table in the database itself.
fn torn_beside_a_log() -> Vec<Folder> {
    let torn = |release| {
        let folder = Folder::copy(release, "wal");
        let logged = pages_in_log(&fs::read(folder.path().join("chroma.sqlite3-wal")).unwrap());
        folder.change(&folder.database(), |bytes| {
            let pages = bytes.chunks_exact_mut(4096).enumerate();
            let mut leaves = pages.filter(|(at, page)| page[0] == 13 && !logged.contains(&(at + 1)));
            leaves
                .find(|(_, page)| page.windows(9).any(|text| text == b"Record 25"))
                .unwrap()
                .1[..2048]
                .fill(0xa5);
        });
        folder
    };
    both_kinds().into_iter().map(torn).collect()
}

#[test]
fn a_torn_page_does_not_cost_the_rows_that_are_in_the_log() {
    for folder in torn_beside_a_log() {
        let name = folder.expected["collections"][0]["name"].as_str().unwrap();
        finds(&folder, "database_damaged");
        finds(&folder, "wal_pending");
        let drawers = walk(folder.path(), name);
        for number in 300..350 {
            let id = format!("record-{number:05}");
            assert!(drawers.contains_key(&id), "{}: {id} is in the log", folder.name);
        }
        assert!(
            !drawers.contains_key("record-00003"),
            "{}: it was deleted",
            folder.name
        );
    }
}

#[test]
fn a_log_with_a_damaged_frame_is_used_and_the_loss_is_named() {
    for folder in torn_beside_a_log() {
        folder.change(&folder.path().join("chroma.sqlite3-wal"), |log| {
            let last = (log.len() - 32) / (24 + 4096) - 1;
            log[32 + last * (24 + 4096) + 1000] ^= 1;
        });
        let said = finds(&folder, "pages_lost");
        assert!(said.contains("damaged at frame"), "{said}");
    }
}
