//! `full-text`: made anew from the documents, whatever is left of the old one.

use super::real::python;
use super::{apply, codes, leaves_alone};
use crate::scene::folder::{Folder, both_kinds, releases};

const STEP: &str = "full-text";

/// Takes the table's entry out of the schema; what SQLite keeps it in stays.
const FORGET: &str = "PRAGMA writable_schema = ON; \
                      DELETE FROM sqlite_schema WHERE name = 'embedding_fulltext_search'";

const SEARCH: &str = "\
import sys, chromadb
collection = chromadb.PersistentClient(sys.argv[1]).get_collection('flushed')
collection.add(ids=['new'], embeddings=[[1.0] * 8], documents=['a zeppelin over the harbour'])
print(len(collection.get(where_document={'$contains': 'version 0'})['ids']),
      collection.get(where_document={'$contains': 'zeppelin'})['ids'])
";

#[track_caller]
fn mends(folder: &Folder, code: &str) {
    let before = codes(folder);
    assert!(before.contains_key(code), "{}: {before:?}", folder.name);
    apply(folder, STEP);
    let after = codes(folder);
    let left = after.keys().find(|code| code.starts_with("full_text"));
    assert_eq!(left, None, "{}", folder.name);
    let documents = "SELECT count(*) FROM embedding_fulltext_search JOIN embedding_metadata m \
                     ON m.id = embedding_fulltext_search.rowid AND m.key = 'chroma:document' \
                     AND m.string_value = embedding_fulltext_search.string_value";
    assert_eq!(folder.number(documents), 1060, "{}", folder.name);
    leaves_alone(folder, STEP);
}

#[track_caller]
fn searches(folder: &Folder) {
    let release = folder.name.split('/').next().unwrap();
    let said = python(release, &["-c", SEARCH, folder.path().to_str().unwrap()]);
    assert_eq!(said.trim(), "1060 ['new']", "{}", folder.name);
}

#[test]
fn one_that_was_dropped_is_made_again() {
    for release in releases() {
        let folder = Folder::copy(release, "flushed");
        leaves_alone(&folder, STEP);
        folder.sql("DROP TABLE embedding_fulltext_search");
        mends(&folder, "full_text_missing");
    }
}

#[test]
fn what_was_left_of_one_is_swept_away_first() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        folder.sql(FORGET);
        mends(&folder, "full_text_missing");
    }
}

#[test]
fn one_that_cannot_be_dropped_any_more_is_made_again() {
    for shadow in ["data", "idx", "content", "docsize", "config"] {
        for release in both_kinds() {
            let folder = Folder::copy(release, "flushed");
            folder.sql(&format!("DROP TABLE embedding_fulltext_search_{shadow}"));
            mends(&folder, "full_text_malformed");
            if shadow == "data" {
                searches(&folder);
            }
        }
    }
}

#[test]
fn damaged_pages_behind_it_do_not_hinder() {
    for release in both_kinds() {
        let folder = Folder::copy(release, "flushed");
        let root =
            folder.number("SELECT rootpage FROM sqlite_schema WHERE name = 'embedding_fulltext_search_data'");
        let start = (root as usize - 1) * 4096;
        folder.change(&folder.database(), |bytes| bytes[start..start + 4096].fill(0x5a));
        mends(&folder, "full_text_malformed");
        searches(&folder);
    }
}

#[test]
fn documents_that_were_not_in_it_are_found() {
    let folder = Folder::copy("1.5.9", "flushed");
    folder.sql("DELETE FROM embedding_fulltext_search WHERE rowid < 100");
    mends(&folder, "full_text_incomplete");
    searches(&folder);
}
