//! Compares two palaces drawer by drawer: all of them in one merged walk, or a sample.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionName, Drawer, DrawerFields, Error, FindingSeverity, Metric,
    OpenOptions, PalaceFinding, Result,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::findings::FindingList;
use super::known_differences::KnownDifferences;
use super::sample;
use crate::canonical::{list_differing_fields, to_canonical_by};
use crate::digests::PalaceDigest;
use crate::merge::{DrawerPair, MergedWalk};
use loci_engine::CollectionWalk;
use loci_engine::palace::BorrowedAddress;

/// The result of comparing two palaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PalaceComparison {
    /// The differences.
    pub findings: Vec<PalaceFinding>,
    /// The other palace.
    pub against: ComparedPalace,
}

/// The palace that another was compared with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ComparedPalace {
    /// Its digest, if all of it was read.
    pub hash: Option<String>,
    /// The number of its drawers.
    pub drawers: u64,
}

/// Lists the drawers in which `here` and `there` differ: those that only one has, and the fields that differ
/// in others.
///
/// Metadata differs if a type does. Vectors must be equal bit for bit. If both sides name the same model, or
/// the record of a migration says that texts were re-embedded, nearly equal ones are only noted. With
/// `sample`, about that many drawers are compared, spread evenly. `progress` receives the number of drawers
/// compared.
pub fn compare_palaces(
    here: BorrowedAddress<'_>,
    there: BorrowedAddress<'_>,
    sample: Option<u64>,
    progress: &mut dyn FnMut(u64),
) -> Result<PalaceComparison> {
    let mut comparing = ComparisonRun {
        here,
        there,
        vectors: [here, there].iter().all(|side| {
            side.backend
                .descriptor()
                .has_capability(&Capability::EmbeddingsOut)
        }),
        metrics: Default::default(),
        findings: FindingList::default(),
        digest: PalaceDigest::default(),
        drawers: 0,
        compared: 0,
        progress,
    };
    let total: u64 = there
        .backend
        .collections(there.reference)?
        .iter()
        .map(|info| info.drawers)
        .sum();
    for name in list_filled_collections(here)?.union(&list_filled_collections(there)?) {
        comparing.compare_collection(name, sample.map(|sample| (sample, total)))?;
    }
    if !comparing.vectors {
        let message = "one side does not return vectors, so vectors were not compared";
        comparing.findings.push(PalaceFinding::new(
            "vectors_not_compared",
            FindingSeverity::Note,
            message,
        ));
    }
    if sample.is_some() {
        let message = format!(
            "only {} of {total} drawers of the other palace were compared, evenly spread",
            comparing.compared
        );
        let note = PalaceFinding::new("sampled", FindingSeverity::Note, message);
        comparing
            .findings
            .push(note.with_hint("omit --sample to compare all of them"));
    }
    Ok(PalaceComparison {
        findings: comparing.findings.into_vec(),
        against: ComparedPalace {
            // A digest of a sample would look like one of the palace and never match it.
            hash: sample.is_none().then(|| comparing.digest.finish()),
            drawers: if sample.is_some() {
                total
            } else {
                comparing.drawers
            },
        },
    })
}

/// Lists the collections with drawers. An empty collection and a missing one count as equal.
fn list_filled_collections(
    BorrowedAddress {
        backend,
        reference: palace,
    }: BorrowedAddress<'_>,
) -> Result<BTreeSet<CollectionName>> {
    let with_drawers = backend
        .collections(palace)?
        .into_iter()
        .filter(|info| info.drawers > 0);
    Ok(with_drawers.map(|info| info.name).collect())
}

fn open_if_present(
    BorrowedAddress {
        backend,
        reference: palace,
    }: BorrowedAddress<'_>,
    name: &CollectionName,
) -> Result<Option<Arc<dyn Collection>>> {
    let there = backend.collections(palace)?.iter().any(|info| info.name == *name);
    if there {
        backend.open(palace, name, &OpenOptions::default()).map(Some)
    } else {
        Ok(None)
    }
}

struct ComparisonRun<'a> {
    here: BorrowedAddress<'a>,
    there: BorrowedAddress<'a>,
    /// Whether both sides return vectors.
    vectors: bool,
    /// The metrics of the collection that is compared, here and there.
    metrics: (Metric, Metric),
    findings: FindingList,
    /// The digest of the other palace.
    digest: PalaceDigest,
    /// The number of drawers of the other palace that were read.
    drawers: u64,
    compared: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl ComparisonRun<'_> {
    fn compare_collection(&mut self, name: &CollectionName, sample: Option<(u64, u64)>) -> Result<()> {
        let (mine, theirs) = (
            open_if_present(self.here, name)?,
            open_if_present(self.there, name)?,
        );
        let metric_of = |side: &Option<Arc<dyn Collection>>| match side {
            Some(collection) => Ok(collection.info()?.metric),
            None => Ok::<_, Error>(Metric::default()),
        };
        self.metrics = (metric_of(&mine)?, metric_of(&theirs)?);
        let mut pardon = KnownDifferences::from_collections(mine.as_deref(), theirs.as_deref())?;
        match (sample, &mine, &theirs) {
            (Some((sample, total)), Some(mine), Some(theirs)) => {
                let include = self.include_all(self.vectors);
                sample::sample_pairs(
                    mine.as_ref(),
                    theirs.as_ref(),
                    sample,
                    total,
                    include,
                    &mut |pair| {
                        self.compare_pair(name, pair, &mut pardon);
                    },
                )?;
                self.compare_counts(name, mine.as_ref(), theirs.as_ref(), &pardon)?;
            }
            // A collection that only one side has is walked whole even in a sample: every drawer in it is a
            // difference.
            _ => self.compare_all(name, mine.as_deref(), theirs.as_deref(), &mut pardon)?,
        }
        for note in pardon.into_notes() {
            self.findings.push(note.in_collection(name.as_str()));
        }
        Ok(())
    }

    fn include_all(&self, embedding: bool) -> DrawerFields {
        DrawerFields {
            embedding,
            ..DrawerFields::EVERYTHING
        }
    }

    fn compare_all(
        &mut self,
        name: &CollectionName,
        mine: Option<&dyn Collection>,
        theirs: Option<&dyn Collection>,
        pardon: &mut KnownDifferences,
    ) -> Result<()> {
        // Their vectors are read even if ours cannot be, because their digest includes them.
        let their_vectors = self
            .there
            .backend
            .descriptor()
            .has_capability(&Capability::EmbeddingsOut);
        let (include, included) = (self.include_all(self.vectors), self.include_all(their_vectors));
        let mut merge = MergedWalk::new(
            mine.map(|collection| CollectionWalk::new(collection, include)),
            theirs.map(|collection| CollectionWalk::new(collection, included)),
        );
        while let Some(pair) = merge.next_pair()? {
            if let DrawerPair::Both(_, theirs) | DrawerPair::Second(theirs) = &pair {
                self.digest.add_drawer(name, self.metrics.1, theirs);
                self.drawers += 1;
            }
            self.compare_pair(name, pair, pardon);
        }
        for left in merge.walks().flat_map(CollectionWalk::left_out) {
            let finding =
                PalaceFinding::new("unreadable_drawer", FindingSeverity::Error, left.message.clone());
            self.findings.push(finding.in_collection(name.as_str()));
        }
        Ok(())
    }

    fn compare_pair(&mut self, name: &CollectionName, pair: DrawerPair, pardon: &mut KnownDifferences) {
        self.compared += 1;
        (self.progress)(self.compared);
        let (code, message) = match pair {
            DrawerPair::First(one) => (
                "only_here",
                format!("{} is only here, not in the other palace", name_drawer(&one)),
            ),
            // Collapsed by a migration at the user's request; counted, and reported as one note.
            DrawerPair::Second(other) if pardon.excuse_collapsed(&other.id) => return,
            DrawerPair::Second(other) => (
                "only_there",
                format!("{} is only in the other palace, not here", name_drawer(&other)),
            ),
            DrawerPair::Both(one, other) => {
                let (here, there) = self.metrics;
                let (one, other) = (to_canonical_by(here, *one), to_canonical_by(there, *other));
                let mut fields = list_differing_fields(&one, &other);
                fields.retain(|field| *field != "place" || !pardon.excuse_lost_span(&one, &other));
                fields.retain(|field| *field != "damage" || !pardon.excuse_damage(&one, &other));
                if self.vectors && !pardon.excuse_vectors(&one, &other) {
                    fields.push("embedding");
                }
                if fields.is_empty() {
                    return;
                }
                (
                    "differs",
                    format!("{} differs in its {}", name_drawer(&one), fields.join(", ")),
                )
            }
        };
        let finding = PalaceFinding::new(code, FindingSeverity::Error, message);
        self.findings.push(finding.in_collection(name.as_str()));
    }

    /// Compares the numbers of drawers: in a sample, drawers that only one side has may go unseen.
    fn compare_counts(
        &mut self,
        name: &CollectionName,
        mine: &dyn Collection,
        theirs: &dyn Collection,
        pardon: &KnownDifferences,
    ) -> Result<()> {
        let (here, there) = (mine.info()?.drawers, theirs.info()?.drawers);
        // Equal numbers are fine as well: the other palace need not be the one that the record was written
        // about.
        if here + pardon.count_collapsed() != there && here != there {
            let message = format!("{name} holds {here} drawers here and {there} in the other palace");
            let finding = PalaceFinding::new("count_differs", FindingSeverity::Error, message);
            self.findings.push(finding.in_collection(name.as_str()));
        }
        Ok(())
    }
}

fn name_drawer(drawer: &Drawer) -> String {
    format!("the drawer {:?}", drawer.id.as_str())
}
