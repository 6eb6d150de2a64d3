//! Verify: walks every drawer through the contract and says whether everything adds up.

mod compare;
mod findings;
mod lookup;
mod pardon;
mod sample;
mod whole;

pub use compare::{Against, Comparison, compare};
pub use whole::{VerifyStep, examine, verify_palace};

use loci_core::{
    Backend, Capability, Collection, CollectionName, Cursor, Diagnosis, Error, ErrorKind, Facets, Filter,
    Finding, IdentityState, Include, OpenOptions, PalaceRef, Result, Severity,
};
use serde::Serialize;

use crate::canonical::canonical_line;
use findings::Findings;
use loci_engine::Walk;
use loci_engine::palace::BorrowedAddress;
use lookup::Lookup;

/// How closely to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyRequest {
    /// How many drawers of each collection to look up again by their id and by their own vector.
    pub sample: u64,
}

impl Default for VerifyRequest {
    fn default() -> Self {
        Self { sample: 1000 }
    }
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifyReport {
    /// Whether nothing graver than a note was found.
    pub ok: bool,
    /// What was found.
    pub findings: Vec<Finding>,
    /// How many drawers were walked, over all collections.
    pub drawers: u64,
    /// A digest of every drawer with its vector; equal palaces have equal digests.
    pub hash: String,
    /// The same of the palace it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<Against>,
}

impl VerifyReport {
    /// Adds what came of comparing it with another palace.
    pub fn compared(&mut self, comparison: Comparison) {
        self.add(comparison.findings);
        self.against = Some(comparison.against);
    }

    /// Adds what else was found, and what follows from it.
    pub fn add(&mut self, findings: Vec<Finding>) {
        for finding in findings {
            self.ok &= finding.severity == Severity::Note;
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }
}

/// Walks every drawer of every collection of `palace`, counts, looks some up again, and adds what a doctor found.
///
/// `progress` is told how many of how many drawers were walked. A collection that cannot be opened because it is
/// damaged is a finding; a palace that is not there is an error.
pub fn verify(
    address: BorrowedAddress<'_>,
    diagnosis: Option<&Diagnosis>,
    request: VerifyRequest,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerifyReport> {
    let BorrowedAddress {
        backend,
        reference: palace,
    } = address;
    let mut check = Check {
        backend,
        palace,
        request,
        progress,
        findings: Findings::default(),
        hasher: blake3::Hasher::new(),
        drawers: 0,
        total: 0,
    };
    match backend.collections(palace) {
        Ok(collections) => {
            check.total = collections.iter().map(|info| info.drawers).sum();
            for info in collections {
                check.collection(&info.name)?;
            }
        }
        Err(error) => check.findings.push(unreadable("the palace", error)?),
    }
    let mut report = VerifyReport {
        ok: true,
        findings: Vec::new(),
        drawers: check.drawers,
        hash: check.hasher.finalize().to_hex().to_string(),
        against: None,
    };
    if let Some(diagnosis) = diagnosis {
        report.add(diagnosis.findings.clone());
    }
    report.add(check.findings.into_vec());
    Ok(report)
}

/// Damage is a finding; everything else stays an error.
fn unreadable(what: &str, error: Error) -> Result<Finding> {
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::Format => {
            let finding = Finding::new(
                "unreadable",
                Severity::Error,
                format!("{what} cannot be read: {error}"),
            );
            Ok(match error.hint_text() {
                Some(hint) => finding.hint(hint),
                None => finding,
            })
        }
        _ => Err(error),
    }
}

struct Check<'a> {
    backend: &'a dyn Backend,
    palace: &'a PalaceRef,
    request: VerifyRequest,
    progress: &'a mut dyn FnMut(u64, u64),
    findings: Findings,
    hasher: blake3::Hasher,
    drawers: u64,
    total: u64,
}

impl Check<'_> {
    fn collection(&mut self, name: &CollectionName) -> Result<()> {
        let opened = self.backend.open(self.palace, name, &OpenOptions::default());
        let checked = opened.and_then(|collection| self.walk(name, collection.as_ref()));
        if let Err(error) = checked {
            let finding = unreadable(&format!("the collection {name}"), error)?;
            self.findings.push(finding.collection(name.as_str()));
        }
        Ok(())
    }

    fn walk(&mut self, name: &CollectionName, collection: &dyn Collection) -> Result<()> {
        let before = collection.info()?;
        let include = Include {
            embedding: self.backend.descriptor().can(&Capability::EmbeddingsOut),
            ..Include::EVERYTHING
        };
        let mut lookup = Lookup::new(collection, &before, include, self.request.sample);
        let mut walked = 0;
        let mut walk = Walk::new(collection, include);
        for drawer in walk.by_ref() {
            let drawer = drawer?;
            self.hasher.update(canonical_line(name, &drawer).as_bytes());
            self.hasher.update(b"\n");
            for damage in &drawer.damage {
                let message = format!("the drawer {:?} is damaged: {damage}", drawer.id.as_str());
                self.findings.push(found("damaged_drawer", message, name));
            }
            lookup.offer(walked, drawer)?;
            walked += 1;
            self.drawers += 1;
            (self.progress)(self.drawers, self.total.max(self.drawers));
        }
        lookup.settle()?;
        for left in walk.left_out() {
            self.findings
                .push(found("unreadable_drawer", left.message.clone(), name));
        }
        let left_out = !walk.left_out().is_empty();
        let mut doubts = lookup.into_findings(name);
        if !left_out {
            doubts.extend(sums(name, collection, walked)?);
        }
        self.settle(name, collection, before.seq, doubts)?;
        let after = collection.info()?;
        for mut warning in after.warnings {
            // Nobody knows the model: worth knowing, and no fault of what is stored.
            if after.identity == IdentityState::Unknown && warning.code == "embedder_unknown" {
                warning.severity = Severity::Note;
            }
            self.findings.push(warning);
        }
        Ok(())
    }

    /// What does not add up counts only if nobody wrote meanwhile.
    fn settle(
        &mut self,
        name: &CollectionName,
        collection: &dyn Collection,
        before: Cursor,
        doubts: Vec<Finding>,
    ) -> Result<()> {
        if doubts.is_empty() {
            return Ok(());
        }
        if collection.info()?.seq == before {
            doubts.into_iter().for_each(|doubt| self.findings.push(doubt));
            return Ok(());
        }
        let message =
            format!("the collection {name} was changed while it was walked, so counts could not be compared");
        self.findings.push(
            Finding::new("changed_meanwhile", Severity::Note, message)
                .hint("run `loci verify` again when nobody writes")
                .collection(name.as_str()),
        );
        Ok(())
    }
}

fn found(code: &str, message: String, name: &CollectionName) -> Finding {
    Finding::new(code, Severity::Error, message)
        .hint("`loci export` writes what is readable; `loci restore` brings a backup back")
        .collection(name.as_str())
}

/// Counts and facets must say what the walk saw.
fn sums(name: &CollectionName, collection: &dyn Collection, walked: u64) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    let counted = collection.count(&Filter::All.into())?;
    if counted != walked {
        let message = format!("{name} counts {counted} drawers, but {walked} can be read");
        findings.push(found("count_differs", message, name));
    }
    let sorted: u64 = collection
        .facets(&Facets::by_room())?
        .iter()
        .map(|facet| facet.drawers)
        .sum();
    if sorted != walked {
        let message =
            format!("the wings and rooms of {name} hold {sorted} drawers, but {walked} can be read");
        findings
            .push(found("facets_differ", message, name).hint("`loci maintain reindex` rebuilds every index"));
    }
    Ok(findings)
}
