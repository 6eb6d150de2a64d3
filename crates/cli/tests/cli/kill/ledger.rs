//! The independent ledger: what was acknowledged, and whether the palace still has it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use loci_core::*;
use loci_store::EmbeddedBackend;

use super::writer::{Ended, Sample, sample};

/// Every batch that was given and which of them were acknowledged.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    acknowledged: BTreeSet<String>,
    batches: Vec<Vec<String>>,
}

impl Ledger {
    /// Writes down what one writer was given and told; returns the ids acknowledged to it.
    pub(crate) fn record(&mut self, ended: Ended) -> Vec<String> {
        let told: Vec<String> = ended.acknowledged.into_iter().flatten().collect();
        self.acknowledged.extend(told.iter().cloned());
        self.batches.extend(ended.batches);
        told
    }

    pub(crate) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    /// Looks each of `ids` up by id, by its own vector and by its rare word.
    pub(crate) fn check_found(palace: &Path, ids: &[String]) {
        let collection = open(palace);
        for chunk in ids.chunks(500) {
            let wanted: Vec<DrawerId> = chunk
                .iter()
                .map(|id| DrawerId::new(id.clone()).unwrap())
                .collect();
            let include = DrawerFields::EVERYTHING;
            let found = collection
                .get(&GetRequest {
                    include,
                    ..GetRequest::by_ids(wanted)
                })
                .unwrap();
            assert_eq!(found.len(), chunk.len(), "acknowledged drawers are missing");
            for (drawer, id) in found.iter().zip(chunk) {
                let Sample { text, vector, .. } = sample(id);
                assert_eq!(drawer.document.as_deref(), Some(text.as_str()));
                assert_eq!(drawer.embedding.as_deref(), Some(vector.as_slice()));
            }
        }
        for id in ids.iter().step_by(1 + ids.len() / 300) {
            let Sample { word, vector, .. } = sample(id);
            let nearest = collection
                .query(&QueryRequest::nearest_to(vector, 1))
                .unwrap()
                .remove(0);
            assert_eq!(
                nearest[0].drawer.id.as_str(),
                id,
                "not the first hit of its own vector"
            );
            let matches = collection.lexical(&LexicalRequest::for_words(word, 2)).unwrap();
            assert_eq!(
                matches.len(),
                1,
                "{id} is not found by its rare word exactly once"
            );
            assert_eq!(matches[0].drawer.id.as_str(), id);
        }
    }

    /// Checks everything: nothing lost, nothing doubled, no batch in part, and the palace sound.
    pub(crate) fn check_all(&self, palace: &Path) -> u64 {
        let collection = open(palace);
        let request = GetRequest {
            include: DrawerFields::NOTHING,
            ..GetRequest::default()
        };
        let listed: Vec<String> = collection
            .get(&request)
            .unwrap()
            .into_iter()
            .map(|drawer| drawer.id.into())
            .collect();
        let stored: BTreeSet<&String> = listed.iter().collect();
        assert_eq!(stored.len(), listed.len(), "an id is listed twice");
        assert_eq!(
            collection.count(&Filter::All.into()).unwrap(),
            listed.len() as u64
        );
        let lost: Vec<_> = self
            .acknowledged
            .iter()
            .filter(|id| !stored.contains(id))
            .collect();
        assert!(lost.is_empty(), "acknowledged and lost: {lost:?}");
        for batch in &self.batches {
            let there = batch.iter().filter(|id| stored.contains(id)).count();
            assert!(
                there == 0 || there == batch.len(),
                "{there} of a batch of {}: {:?}",
                batch.len(),
                batch.first()
            );
        }
        let given: BTreeSet<&String> = self.batches.iter().flatten().collect();
        assert!(
            stored.iter().all(|id| given.contains(*id)),
            "a drawer nobody gave is stored"
        );
        let diagnosis = EmbeddedBackend::new().examine(palace).unwrap();
        assert!(diagnosis.healthy, "{:?}", diagnosis.findings);
        let info = collection.info().unwrap();
        assert!(info.warnings.is_empty(), "{:?}", info.warnings);
        listed.len() as u64
    }
}

fn open(palace: &Path) -> Arc<dyn Collection> {
    let name = CollectionName::new(CollectionName::DEFAULT).unwrap();
    EmbeddedBackend::new()
        .open(&PalaceRef::local(palace), &name, &OpenOptions::default())
        .unwrap()
}
