//! Verify: walks every drawer through the contract and checks that counts and indexes agree with it.

mod compare;
mod findings;
mod known_differences;
mod lookup;
mod sample;
mod whole;

pub use compare::{ComparedPalace, PalaceComparison, compare_palaces};
pub use whole::{VerifyStep, examine_palace, verify_palace};

use loci_core::{
    Backend, Capability, Collection, CollectionName, Cursor, DrawerFields, Error, ErrorKind, FacetRequest,
    Filter, FindingSeverity, IdentityState, OpenOptions, PalaceDiagnosis, PalaceFinding, PalaceRef, Result,
    format_count,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::digests::PalaceDigest;
use findings::FindingList;
use loci_engine::CollectionWalk;
use loci_engine::palace::BorrowedAddress;
use loci_engine::seal::count_lost_secrets;
use lookup::LookupSample;

/// The thoroughness of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyRequest {
    /// The number of drawers per collection that are looked up again, by their id and by their own vector.
    pub sample: u64,
}

impl Default for VerifyRequest {
    fn default() -> Self {
        Self { sample: 1000 }
    }
}

/// The result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VerifyReport {
    /// Whether all findings are notes.
    pub ok: bool,
    /// The findings.
    pub findings: Vec<PalaceFinding>,
    /// The number of drawers walked, over all collections.
    pub drawers: u64,
    /// A digest over every drawer with its vector; equal palaces have equal digests.
    pub hash: String,
    /// The palace it was compared with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub against: Option<ComparedPalace>,
}

impl VerifyReport {
    /// Adds the result of a comparison with another palace.
    pub fn add_comparison(&mut self, comparison: PalaceComparison) {
        self.add_findings(comparison.findings);
        self.against = Some(comparison.against);
    }

    /// Adds findings, without repeating any, and updates `ok`.
    pub fn add_findings(&mut self, findings: Vec<PalaceFinding>) {
        for finding in findings {
            self.ok &= finding.severity == FindingSeverity::Note;
            if !self.findings.contains(&finding) {
                self.findings.push(finding);
            }
        }
    }
}

/// Walks every drawer of every collection of a palace, compares counts, looks some drawers up again, and adds
/// the findings of a doctor.
///
/// `progress` receives the number of drawers walked and the total. A collection too damaged to open is a
/// finding; a missing palace is an error.
pub fn verify_collections(
    address: BorrowedAddress<'_>,
    diagnosis: Option<&PalaceDiagnosis>,
    request: VerifyRequest,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<VerifyReport> {
    verify_watched(address, diagnosis, request, &mut |done, total| {
        progress(done, total);
        Ok(())
    })
}

/// Verifies as [`verify_collections`] does, and ends with the error of `watch` as soon as it returns one.
fn verify_watched(
    address: BorrowedAddress<'_>,
    diagnosis: Option<&PalaceDiagnosis>,
    request: VerifyRequest,
    watch: &mut dyn FnMut(u64, u64) -> Result<()>,
) -> Result<VerifyReport> {
    let BorrowedAddress {
        backend,
        reference: palace,
    } = address;
    let mut check = VerifyRun {
        backend,
        palace,
        request,
        watch,
        findings: FindingList::default(),
        digest: PalaceDigest::default(),
        drawers: 0,
        total: 0,
    };
    match backend.collections(palace) {
        Ok(collections) => {
            check.total = collections.iter().map(|info| info.drawers).sum();
            for info in collections {
                check.verify_collection(&info.name)?;
            }
        }
        // Even then the doctor's findings are added below: they name the damage itself.
        Err(error) => check.findings.push(unreadable_finding("the palace", error)?),
    }
    let mut report = VerifyReport {
        ok: true,
        findings: Vec::new(),
        drawers: check.drawers,
        hash: check.digest.finish(),
        against: None,
    };
    if let Some(diagnosis) = diagnosis {
        report.add_findings(diagnosis.findings.clone());
    }
    report.add_findings(check.findings.into_vec());
    Ok(report)
}

/// Turns damage into a finding; any other error stays one.
fn unreadable_finding(what: &str, error: Error) -> Result<PalaceFinding> {
    // A verification must finish on a damaged palace and list the damage. Errors such as a lock say nothing
    // about it.
    match error.kind() {
        ErrorKind::Corrupt | ErrorKind::Format => {
            let finding = PalaceFinding::new(
                "unreadable",
                FindingSeverity::Error,
                format!("{what} cannot be read: {error}"),
            );
            Ok(match error.hint_text() {
                Some(hint) => finding.with_hint(hint),
                None => finding,
            })
        }
        _ => Err(error),
    }
}

struct VerifyRun<'a> {
    backend: &'a dyn Backend,
    palace: &'a PalaceRef,
    request: VerifyRequest,
    watch: &'a mut dyn FnMut(u64, u64) -> Result<()>,
    findings: FindingList,
    digest: PalaceDigest,
    drawers: u64,
    total: u64,
}

impl VerifyRun<'_> {
    fn verify_collection(&mut self, name: &CollectionName) -> Result<()> {
        let opened = self.backend.open(self.palace, name, &OpenOptions::default());
        let checked = opened.and_then(|collection| self.walk_collection(name, collection.as_ref()));
        if let Err(error) = checked {
            let finding = unreadable_finding(&format!("the collection {name}"), error)?;
            self.findings.push(finding.in_collection(name.as_str()));
        }
        Ok(())
    }

    fn walk_collection(&mut self, name: &CollectionName, collection: &dyn Collection) -> Result<()> {
        // Taken before the walk: the sequence number tells afterwards whether another process wrote
        // meanwhile.
        let before = collection.info()?;
        let include = DrawerFields {
            embedding: self
                .backend
                .descriptor()
                .has_capability(&Capability::EmbeddingsOut),
            ..DrawerFields::EVERYTHING
        };
        let mut lookup = LookupSample::new(collection, &before, include, self.request.sample);
        let mut walked = 0;
        let mut walk = CollectionWalk::new(collection, include);
        for drawer in walk.by_ref() {
            let drawer = drawer?;
            self.digest.add_drawer(name, before.metric, &drawer);
            for damage in &drawer.damage {
                let message = format!("the drawer {:?} is damaged: {damage}", drawer.id.as_str());
                self.findings.push(error_finding("damaged_drawer", message, name));
            }
            // During the walk and not after it, so that no second copy of the sample is held in memory.
            lookup.offer_drawer(walked, drawer)?;
            walked += 1;
            self.drawers += 1;
            (self.watch)(self.drawers, self.total.max(self.drawers))?;
        }
        lookup.look_up_waiting()?;
        for left in walk.left_out() {
            self.findings
                .push(error_finding("unreadable_drawer", left.message.clone(), name));
        }
        // With drawers left out the counts cannot agree; reporting that as well would only hide the cause.
        let left_out = !walk.left_out().is_empty();
        let mut doubts = lookup.into_findings(name);
        if !left_out {
            doubts.extend(check_sums(name, collection, walked)?);
        }
        doubts.extend(check_secrets(name, collection)?);
        self.push_doubts(name, collection, before.seq, doubts)?;
        let after = collection.info()?;
        for mut warning in after.warnings {
            // Vectors of an unknown model are worth a note, but nothing stored is wrong. They are usual after
            // a migration.
            if after.identity == IdentityState::Unknown && warning.code == "embedder_unknown" {
                warning.severity = FindingSeverity::Note;
            }
            self.findings.push(warning);
        }
        Ok(())
    }

    /// Reports doubts, unless another process wrote meanwhile: then a note says that they could not be
    /// settled.
    fn push_doubts(
        &mut self,
        name: &CollectionName,
        collection: &dyn Collection,
        before: Cursor,
        doubts: Vec<PalaceFinding>,
    ) -> Result<()> {
        if doubts.is_empty() {
            return Ok(());
        }
        if collection.info()?.seq == before {
            doubts.into_iter().for_each(|doubt| self.findings.push(doubt));
            return Ok(());
        }
        let message =
            format!("the collection {name} changed during the walk, so counts could not be compared");
        self.findings.push(
            PalaceFinding::new("changed_meanwhile", FindingSeverity::Note, message)
                .with_hint("run `loci verify` again while no other process writes")
                .in_collection(name.as_str()),
        );
        Ok(())
    }
}

/// Checks that every label stands for a secret that is stored.
fn check_secrets(name: &CollectionName, collection: &dyn Collection) -> Result<Option<PalaceFinding>> {
    // Asked twice, because another process may have removed a drawer and its secret between two pages.
    let lost = count_lost_secrets(collection)?.min(count_lost_secrets(collection)?);
    let message = format!(
        "{} that labels stand for are not stored any more",
        format_count(lost, "secret")
    );
    Ok((lost > 0).then(|| error_finding("secret_missing", message, name)))
}

fn error_finding(code: &str, message: String, name: &CollectionName) -> PalaceFinding {
    PalaceFinding::new(code, FindingSeverity::Error, message)
        .with_hint("`loci export` writes everything that is readable; `loci restore` restores a backup")
        .in_collection(name.as_str())
}

/// Checks that counts and facets agree with the number of drawers walked.
fn check_sums(name: &CollectionName, collection: &dyn Collection, walked: u64) -> Result<Vec<PalaceFinding>> {
    let mut findings = Vec::new();
    let counted = collection.count(&Filter::All.into())?;
    if counted != walked {
        let message = format!("{name} reports {counted} drawers, but {walked} can be read");
        findings.push(error_finding("count_differs", message, name));
    }
    let sorted: u64 = collection
        .facets(&FacetRequest::by_room())?
        .iter()
        .map(|facet| facet.drawers)
        .sum();
    if sorted != walked {
        let message =
            format!("the wings and rooms of {name} hold {sorted} drawers, but {walked} can be read");
        findings.push(
            error_finding("facets_differ", message, name)
                .with_hint("`loci maintain reindex` rebuilds every index"),
        );
    }
    Ok(findings)
}
