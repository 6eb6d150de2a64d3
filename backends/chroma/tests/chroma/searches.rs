//! Searches read the tables in one pass; the answers are those of looking up every record.

use std::collections::BTreeMap;
use std::path::Path;

use crate::fixes::real::python;
use crate::scene::folder::{Folder, releases};
use crate::scene::reading::{Drawers, walk};
use loci_chroma::ChromaBackend;
use loci_core::{
    Backend, Collection, CollectionName, DocumentFilter, DrawerCondition, Filter, FilterComparison,
    LexicalRequest, MetadataScalar, OpenOptions, PalaceRef,
};
use loci_index::bm25::{LexicalStatistics, term_gain};
use loci_index::tokenise::{for_each_token, query_tokens};

/// The best drawers by their ids, with the bits of their scores.
type Ranking = Vec<(String, u32)>;

/// Ranks drawers that were looked up one by one.
fn rank_looked_up(drawers: &Drawers, words: &str, accepts: impl Fn(&loci_core::Drawer) -> bool) -> Ranking {
    let mut statistics = LexicalStatistics::default();
    let mut counted: Vec<(&str, BTreeMap<String, u32>, u32)> = Vec::new();
    for (id, drawer) in drawers.iter().filter(|(_, drawer)| accepts(drawer)) {
        let (mut counts, mut length) = (BTreeMap::new(), 0);
        for_each_token(drawer.document.as_deref().unwrap_or_default(), &mut |token| {
            *counts.entry(token.to_owned()).or_default() += 1;
            length += 1;
        });
        statistics.add_drawer(length);
        counted.push((id, counts, length));
    }
    let mut scores: BTreeMap<&str, f32> = BTreeMap::new();
    for word in query_tokens(words) {
        let holding = || counted.iter().filter(|(_, counts, _)| counts.contains_key(&word));
        let rarity = statistics.term_rarity(holding().count() as u64);
        for (id, counts, length) in holding() {
            *scores.entry(id).or_default() +=
                term_gain(rarity, counts[&word], statistics.length_burden(*length));
        }
    }
    let mut ranked: Vec<(&str, f32)> = scores.into_iter().collect();
    ranked.sort_by(|one, other| other.1.total_cmp(&one.1).then(one.0.cmp(other.0)));
    ranked
        .iter()
        .map(|(id, score)| ((*id).to_owned(), score.to_bits()))
        .collect()
}

fn open(path: &Path, name: &str) -> std::sync::Arc<dyn Collection> {
    let name = CollectionName::new(name).unwrap();
    ChromaBackend::new()
        .open(&PalaceRef::local(path), &name, &OpenOptions::default())
        .unwrap()
}

/// Words of the first texts, and one that no text holds.
fn words_of(drawers: &Drawers) -> String {
    let texts = drawers.values().filter_map(|drawer| drawer.document.as_deref());
    let some: Vec<&str> = texts.take(5).flat_map(str::split_whitespace).take(12).collect();
    format!("{} zyzzyva", some.join(" "))
}

/// Filters by every scalar of the metadata of a few drawers.
fn filters_of(drawers: &Drawers) -> Vec<Filter> {
    let mut filters = vec![Filter::All];
    for metadata in drawers
        .values()
        .filter_map(|drawer| drawer.metadata.as_ref())
        .take(9)
    {
        for (key, value) in metadata.iter() {
            if let loci_core::MetadataValue::One(scalar) = value {
                let equals = FilterComparison::Eq(scalar.clone());
                filters.push(Filter::Compare(key.to_string(), equals));
            }
        }
    }
    filters.push(Filter::Compare(
        "wing".into(),
        FilterComparison::Ne(MetadataScalar::Text("nowhere".into())),
    ));
    filters
}

/// Asserts that searching and counting in every collection give what looking up every record gives.
fn answers_are_equal(folder: &Folder) -> usize {
    let mut hits = 0;
    let listed = ChromaBackend::new()
        .collections(&PalaceRef::local(folder.path()))
        .unwrap();
    for info in listed {
        let name = info.name.as_str();
        let drawers = walk(folder.path(), name);
        let words = words_of(&drawers);
        let opened = open(folder.path(), name);
        for filter in filters_of(&drawers) {
            let expected = rank_looked_up(&drawers, &words, |drawer| filter.accepts(drawer));
            let request = LexicalRequest {
                filter: filter.clone(),
                ..LexicalRequest::for_words(words.as_str(), usize::MAX >> 8)
            };
            let found = opened.lexical(&request).unwrap();
            let found: Ranking = found
                .iter()
                .map(|hit| (hit.drawer.id.to_string(), hit.score.to_bits()))
                .collect();
            assert_eq!(found, expected, "{} {name}: {filter:?}", folder.name);
            hits += found.len();
            let accepted = drawers.values().filter(|drawer| filter.accepts(drawer)).count() as u64;
            let condition = DrawerCondition::from(filter);
            assert_eq!(
                opened.count(&condition).unwrap(),
                accepted,
                "{} {name}: {condition:?}",
                folder.name
            );
        }
        let holding = DocumentFilter::Contains("e".into());
        let accepted =
            |drawer: &&loci_core::Drawer| holding.accepts(drawer.document.as_deref().unwrap_or_default());
        let accepted = drawers.values().filter(accepted).count() as u64;
        let condition = DrawerCondition {
            document: holding.clone(),
            ..DrawerCondition::default()
        };
        assert_eq!(
            opened.count(&condition).unwrap(),
            accepted,
            "{} {name}",
            folder.name
        );
    }
    hits
}

#[test]
fn one_pass_finds_what_looking_up_every_record_finds() {
    for release in ["0.6.3", "1.5.9"] {
        assert!(answers_are_equal(&Folder::kept(release)) > 100, "{release}");
    }
    for release in releases() {
        for name in ["small", "changed", "many", "mempalace", "flushed"] {
            answers_are_equal(&Folder::copy(release, name));
        }
    }
}

#[test]
fn rows_of_a_record_that_lie_apart_are_put_together() {
    for release in ["0.6.3", "1.5.9"] {
        let folder = Folder::kept(release);
        // As an upgrade or another tool would: some rows of every record go to the end of the table.
        folder.sql(
            "CREATE TEMP TABLE moved AS SELECT * FROM embedding_metadata WHERE key IN ('number', 'chroma:document');
             DELETE FROM embedding_metadata WHERE key IN ('number', 'chroma:document');
             INSERT INTO embedding_metadata SELECT * FROM moved ORDER BY id % 7, id DESC",
        );
        assert!(answers_are_equal(&folder) > 100, "{release}");
        // Records that have lost every row of metadata are still there.
        folder.sql("DELETE FROM embedding_metadata WHERE id % 3 = 0");
        answers_are_equal(&folder);
    }
}

#[test]
fn a_damaged_full_text_changes_no_answer() {
    for damage in [
        "DELETE FROM embedding_fulltext_search_content WHERE id % 2 = 0",
        "UPDATE embedding_fulltext_search_content SET c0 = 'zyzzyva zyzzyva'",
        "DELETE FROM embedding_fulltext_search_data WHERE id > 10",
        "UPDATE embedding_fulltext_search_data SET block = x'00ff00ff'",
        "DROP TABLE embedding_fulltext_search",
    ] {
        for release in ["0.6.3", "1.5.9"] {
            let folder = Folder::kept(release);
            let sound = answers_are_equal(&folder);
            folder.sql(damage);
            assert_eq!(answers_are_equal(&folder), sound, "{release}: {damage}");
        }
    }
}

#[test]
fn writes_that_wait_in_the_queue_are_found() {
    let folder = Folder::kept("1.5.9");
    // The rows fall back behind the queue, as after a writer that was killed.
    let before = folder.number("SELECT count(*) FROM embeddings_queue");
    assert!(before > 3);
    folder.sql(
        "UPDATE max_seq_id SET seq_id = (SELECT max(seq_id) - 4 FROM embeddings_queue);
         UPDATE embeddings_queue SET operation = 1,
         metadata = json_set(metadata, '$.\"chroma:document\"', 'zyzzyva at last')",
    );
    let drawers = walk(folder.path(), "kept");
    let changed = |drawer: &&loci_core::Drawer| drawer.document.as_deref() == Some("zyzzyva at last");
    let changed = drawers.values().filter(changed).count();
    assert!(changed > 0, "no write is pending");
    answers_are_equal(&folder);
    let found = open(folder.path(), "kept").lexical(&LexicalRequest::for_words("zyzzyva", 99));
    assert_eq!(found.unwrap().len(), changed);
}

#[test]
fn a_small_collection_beside_a_large_one_is_searched_like_any_other() {
    let place = tempfile::tempdir().unwrap();
    let script = "
import sys, chromadb
client = chromadb.PersistentClient(sys.argv[1])
for name, number in (('large', 900), ('small', 7), ('half', 300)):
    made = client.create_collection(name)
    made.add(ids=[f'{name}{n}' for n in range(number)], embeddings=[[1.0, n] for n in range(number)],
             documents=[f'{name} words of number {n % 50}' for n in range(number)],
             metadatas=[{'part': n % 3, 'wing': f'w{n % 2}'} for n in range(number)])
";
    python("1.5.9", &["-c", script, place.path().to_str().unwrap()]);
    let folder = Folder::at(place, "three collections");
    assert!(answers_are_equal(&folder) > 900);
}
