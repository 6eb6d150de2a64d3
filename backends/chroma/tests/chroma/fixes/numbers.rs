//! `seq-ids` and `max-seq-id`: sequence numbers that the real package can read, and positions that let it write.

use std::collections::BTreeSet;

use super::real::{Truth, python};
use super::{apply, codes, leaves_alone, named};
use crate::scene::folder::{Folder, both_kinds};

/// Adds a few records and says how many there are, and which of these are found by id and by vector.
const WRITE: &str = "\
import sys, chromadb
collection = chromadb.PersistentClient(sys.argv[1]).get_collection('flushed')
name, vector = sys.argv[2], [1.0] * 8
if sys.argv[3] == 'add':
    collection.add(ids=[name + str(n) for n in range(5)], embeddings=[vector] * 5, documents=['late'] * 5)
nearest = collection.query(query_embeddings=[vector], n_results=50)['ids'][0]
print(collection.count(), len(collection.get(ids=[name + str(n) for n in range(5)])['ids']),
      sum(found.startswith(name) and found[len(name):].isdigit() for found in nearest))
";

fn write(release: &str, folder: &Folder, name: &str, how: &str) -> String {
    let said = python(
        release,
        &["-c", WRITE, folder.path().to_str().unwrap(), name, how],
    );
    said.trim().to_owned()
}

fn types(folder: &Folder, kind: &str) -> i64 {
    folder.number(&format!(
        "SELECT (SELECT count(*) FROM embeddings WHERE typeof(seq_id) = '{kind}') \
         + (SELECT count(*) FROM max_seq_id WHERE typeof(seq_id) = '{kind}')"
    ))
}

#[test]
fn bytes_become_the_numbers_they_hold() {
    let Some(folder) = Folder::find("1.5.9", "upgraded") else {
        return;
    };
    folder.sql("UPDATE max_seq_id SET seq_id = x'0000000000000443' WHERE rowid = (SELECT min(rowid) FROM max_seq_id)");
    let (blobs, all) = (
        types(&folder, "blob"),
        types(&folder, "blob") + types(&folder, "integer"),
    );
    assert!(blobs > 1000, "{blobs}");
    let row = folder
        .number("SELECT id FROM embeddings WHERE typeof(seq_id) = 'blob' ORDER BY id LIMIT 1 OFFSET 41");
    let hex: String = rusqlite::Connection::open(folder.database())
        .unwrap()
        .query_row("SELECT hex(seq_id) FROM embeddings WHERE id = ?1", [row], |row| {
            row.get(0)
        })
        .unwrap();
    let expected = i64::from_str_radix(&hex, 16).unwrap();
    assert_eq!(codes(&folder)["blob_seq_ids"], 2);
    let report = apply(&folder, "seq-ids");
    assert_eq!(report.changes.len(), 2, "{report:?}");
    assert_eq!((types(&folder, "blob"), types(&folder, "integer")), (0, all));
    let turned = format!("SELECT seq_id FROM embeddings WHERE id = {row}");
    assert_eq!(folder.number(&turned), expected);
    assert_eq!(
        folder.number("SELECT seq_id FROM max_seq_id ORDER BY rowid LIMIT 1"),
        0x443
    );
    assert!(!codes(&folder).contains_key("blob_seq_ids"));
    leaves_alone(&folder, "seq-ids");
}

#[test]
fn the_real_package_opens_what_was_turned_into_numbers() {
    let Some(folder) = Folder::find("1.5.9", "upgraded") else {
        return;
    };
    apply(&folder, "seq-ids");
    let mut truth = Truth::of(&folder, &BTreeSet::new());
    truth.holds(&folder, 0);
    truth.holds(&folder, 100);
}

#[test]
fn numbers_are_left_alone() {
    leaves_alone(&Folder::copy("1.5.9", "flushed"), "seq-ids");
}

#[test]
fn the_bytes_of_an_old_release_are_turned_with_a_warning() {
    let Some(folder) = Folder::find("0.6.3", "flushed") else {
        return;
    };
    let report = apply(&folder, "seq-ids");
    assert!(
        report.changes.iter().any(|line| line.contains("before 1.0")),
        "{report:?}"
    );
    assert_eq!(types(&folder, "blob"), 0);
}

#[test]
fn bytes_that_are_no_number_are_left_and_named() {
    let Some(folder) = Folder::find("1.5.9", "upgraded") else {
        return;
    };
    folder.sql("UPDATE embeddings SET seq_id = x'ffffffffffffffffff' WHERE id = 7");
    let report = apply(&folder, "seq-ids");
    assert!(
        report.changes.iter().any(|line| line.contains("row 7")),
        "{report:?}"
    );
    assert_eq!(types(&folder, "blob"), 1);
}

/// Sets positions beyond every write, as a shim did that read bytes wrongly.
fn set_absurd(folder: &Folder, scopes: &str) {
    let kept = if folder.name.starts_with('1') {
        "1200000000000000000"
    } else {
        "x'10A741A462780000'"
    };
    folder.sql(&format!(
        "UPDATE max_seq_id SET seq_id = {kept} WHERE segment_id IN (SELECT id FROM segments WHERE scope IN ({scopes}))"
    ));
}

#[test]
fn writes_behind_an_absurd_position_appear_and_new_ones_count() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        set_absurd(&folder, "'METADATA'");
        assert!(
            write(release, &folder, "late", "add").starts_with("1060 0 "),
            "{release}"
        );
        assert_eq!(codes(&folder)["absurd_max_seq_id"], 1, "{release}");
        let report = apply(&folder, "max-seq-id");
        assert_eq!(report.changes.len(), 1, "{report:?}");
        assert!(
            report.changes[0].ends_with("from 1200000000000000000 to 1060"),
            "{report:?}"
        );
        assert!(!codes(&folder).contains_key("absurd_max_seq_id"), "{release}");
        assert_eq!(write(release, &folder, "late", "look"), "1065 5 5", "{release}");
        assert_eq!(write(release, &folder, "later", "add"), "1070 5 5", "{release}");
        leaves_alone(&folder, "max-seq-id");
    }
}

#[test]
fn numbers_go_on_where_the_whole_queue_was_lost_to_absurd_positions() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        set_absurd(&folder, "'METADATA', 'VECTOR'");
        assert!(
            write(release, &folder, "late", "add").starts_with("1060 0 "),
            "{release}"
        );
        assert_eq!(
            folder.number("SELECT count(*) FROM embeddings_queue"),
            0,
            "the package threw it away"
        );
        apply(&folder, "max-seq-id");
        assert_eq!(write(release, &folder, "later", "add"), "1065 5 5", "{release}");
        assert_eq!(write(release, &folder, "later", "look"), "1065 5 5", "{release}");
    }
}

#[test]
fn a_graph_goes_on_from_where_it_says_it_stopped() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        set_absurd(&folder, "'VECTOR'");
        apply(&folder, "max-seq-id");
        let mut truth = Truth::of(&folder, &BTreeSet::new());
        truth.holds(&folder, 0);
        truth.holds(&folder, 1000);
        assert_eq!(named(&folder, "loci-fix-max-seq-id-", ".json").len(), 1);
    }
}
