//! Compares two palaces drawer by drawer in one merged walk, or a sample of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionName, Drawer, Finding, Include, OpenOptions, Result, Severity,
};
use serde::Serialize;

use super::findings::Findings;
use super::pardon::Pardon;
use super::sample;
use crate::canonical::{canonical, canonical_line, differing};
use crate::merge::{Merge, Pair};
use loci_engine::Walk;
use loci_engine::palace::BorrowedAddress;

/// What came of comparing two palaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// In what they differ.
    pub findings: Vec<Finding>,
    /// What the other one holds.
    pub against: Against,
}

/// What the palace that another is compared with holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Against {
    /// Its digest, where all of it was read.
    pub hash: Option<String>,
    /// How many drawers it holds.
    pub drawers: u64,
}

/// Lists in which drawers `here` and `there` differ: those only one has, and which fields differ in the others.
///
/// Metadata differs where a type does. Vectors are the same bit for bit; where both sides name one model, or a
/// migration's record says that texts were embedded anew, near enough is told and no difference. With `sample`, only
/// about so many drawers are compared, spread evenly. `progress` is told how many drawers were.
pub fn compare(
    here: BorrowedAddress<'_>,
    there: BorrowedAddress<'_>,
    sample: Option<u64>,
    progress: &mut dyn FnMut(u64),
) -> Result<Comparison> {
    let mut comparing = Comparing {
        here,
        there,
        vectors: [here, there]
            .iter()
            .all(|side| side.backend.descriptor().can(&Capability::EmbeddingsOut)),
        findings: Findings::default(),
        hasher: blake3::Hasher::new(),
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
    for name in names(here)?.union(&names(there)?) {
        comparing.collection(name, sample.map(|sample| (sample, total)))?;
    }
    if !comparing.vectors {
        let message = "one side does not hand vectors over, so they were not compared";
        comparing
            .findings
            .push(Finding::new("vectors_not_compared", Severity::Note, message));
    }
    if sample.is_some() {
        let message = format!(
            "only {} of {total} drawers of the other palace were compared, spread evenly",
            comparing.compared
        );
        let note = Finding::new("sampled", Severity::Note, message);
        comparing
            .findings
            .push(note.hint("leave --sample out to compare all of them"));
    }
    Ok(Comparison {
        findings: comparing.findings.into_vec(),
        against: Against {
            hash: sample
                .is_none()
                .then(|| comparing.hasher.finalize().to_hex().to_string()),
            drawers: if sample.is_some() {
                total
            } else {
                comparing.drawers
            },
        },
    })
}

fn names(
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

fn open(
    BorrowedAddress {
        backend,
        reference: palace,
    }: BorrowedAddress<'_>,
    name: &CollectionName,
) -> Result<Option<Arc<dyn Collection>>> {
    let there = backend.collections(palace)?.iter().any(|info| info.name == *name);
    match there {
        true => backend.open(palace, name, &OpenOptions::default()).map(Some),
        false => Ok(None),
    }
}

struct Comparing<'a> {
    here: BorrowedAddress<'a>,
    there: BorrowedAddress<'a>,
    /// Whether both sides hand vectors over.
    vectors: bool,
    findings: Findings,
    /// Of the other palace.
    hasher: blake3::Hasher,
    /// How many drawers of the other palace were read.
    drawers: u64,
    compared: u64,
    progress: &'a mut dyn FnMut(u64),
}

impl Comparing<'_> {
    fn collection(&mut self, name: &CollectionName, sample: Option<(u64, u64)>) -> Result<()> {
        let (mine, theirs) = (open(self.here, name)?, open(self.there, name)?);
        let mut pardon = Pardon::of(mine.as_deref(), theirs.as_deref())?;
        match (sample, &mine, &theirs) {
            (Some((sample, total)), Some(mine), Some(theirs)) => {
                let include = self.include(self.vectors);
                sample::pairs(
                    mine.as_ref(),
                    theirs.as_ref(),
                    sample,
                    total,
                    include,
                    &mut |pair| {
                        self.pair(name, pair, &mut pardon);
                    },
                )?;
                self.counts(name, mine.as_ref(), theirs.as_ref(), &pardon)?;
            }
            _ => self.whole(name, mine.as_deref(), theirs.as_deref(), &mut pardon)?,
        }
        for note in pardon.into_notes() {
            self.findings.push(note.collection(name.as_str()));
        }
        Ok(())
    }

    fn include(&self, embedding: bool) -> Include {
        Include {
            embedding,
            ..Include::EVERYTHING
        }
    }

    fn whole(
        &mut self,
        name: &CollectionName,
        mine: Option<&dyn Collection>,
        theirs: Option<&dyn Collection>,
        pardon: &mut Pardon,
    ) -> Result<()> {
        let their_vectors = self.there.backend.descriptor().can(&Capability::EmbeddingsOut);
        let (include, included) = (self.include(self.vectors), self.include(their_vectors));
        let mut merge = Merge::new(
            mine.map(|collection| Walk::new(collection, include)),
            theirs.map(|collection| Walk::new(collection, included)),
        );
        while let Some(pair) = merge.step()? {
            if let Pair::Both(_, theirs) | Pair::Second(theirs) = &pair {
                self.hasher.update(canonical_line(name, theirs).as_bytes());
                self.hasher.update(b"\n");
                self.drawers += 1;
            }
            self.pair(name, pair, pardon);
        }
        for left in merge.walks().flat_map(Walk::left_out) {
            let finding = Finding::new("unreadable_drawer", Severity::Error, left.message.clone());
            self.findings.push(finding.collection(name.as_str()));
        }
        Ok(())
    }

    fn pair(&mut self, name: &CollectionName, pair: Pair, pardon: &mut Pardon) {
        self.compared += 1;
        (self.progress)(self.compared);
        let (code, message) = match pair {
            Pair::First(one) => (
                "only_here",
                format!("{} is here and not in the other palace", called(&one)),
            ),
            Pair::Second(other) if pardon.gave_way(&other.id) => return,
            Pair::Second(other) => (
                "only_there",
                format!("{} is in the other palace and not here", called(&other)),
            ),
            Pair::Both(one, other) => {
                let (one, other) = (canonical(*one), canonical(*other));
                let mut fields = differing(&one, &other);
                fields.retain(|field| *field != "place" || !pardon.lost_its_span(&one, &other));
                if self.vectors && !pardon.vectors(&one, &other) {
                    fields.push("embedding");
                }
                if fields.is_empty() {
                    return;
                }
                (
                    "differs",
                    format!("{} differs in its {}", called(&one), fields.join(", ")),
                )
            }
        };
        let finding = Finding::new(code, Severity::Error, message);
        self.findings.push(finding.collection(name.as_str()));
    }

    /// Where not every drawer is looked at, at least their numbers must agree.
    fn counts(
        &mut self,
        name: &CollectionName,
        mine: &dyn Collection,
        theirs: &dyn Collection,
        pardon: &Pardon,
    ) -> Result<()> {
        let (here, there) = (mine.info()?.drawers, theirs.info()?.drawers);
        if here + pardon.collapsed() != there && here != there {
            let message = format!("{name} holds {here} drawers here and {there} in the other palace");
            let finding = Finding::new("count_differs", Severity::Error, message);
            self.findings.push(finding.collection(name.as_str()));
        }
        Ok(())
    }
}

fn called(drawer: &Drawer) -> String {
    format!("the drawer {:?}", drawer.id.as_str())
}
