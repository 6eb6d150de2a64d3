//! Verifies a palace as a whole: its files by their doctor, its drawers one by one, and against another
//! palace.

use loci_core::{ErrorKind, FindingSeverity, PalaceDiagnosis, PalaceFinding, Result};

use super::{VerifyReport, VerifyRequest, compare_palaces, verify_watched};
use loci_engine::Palace;

/// Progress of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyStep {
    /// Drawers checked so far, and their total.
    Checked(u64, u64),
    /// Drawers compared with the other palace so far, and about their total.
    Compared(u64, u64),
}

/// Checks every drawer of every collection of a palace and, with `against`, compares it with another.
///
/// `sample` is the number of drawers per collection that are looked up again. With `against`, it is also
/// about the number of drawers that are compared; without it, all are. Collections of a sound palace that were open
/// before are closed then.
///
/// An error of `watch`, which is told every step, ends the verification with it.
pub fn verify_palace(
    palace: &Palace,
    sample: Option<u64>,
    against: Option<&Palace>,
    watch: &mut dyn FnMut(VerifyStep) -> Result<()>,
) -> Result<VerifyReport> {
    let address = palace.existing_address()?;
    let other = against.map(Palace::existing_address).transpose()?;
    let diagnosis = examine_palace(palace)?;
    let request = VerifyRequest {
        sample: sample.unwrap_or(VerifyRequest::default().sample),
    };
    let mut report = verify_watched(
        address.as_borrowed(),
        diagnosis.as_ref(),
        request,
        &mut |done, total| watch(VerifyStep::Checked(done, total)),
    )?;
    if let (Some(against), Some(other)) = (against, other) {
        // What was read to check one palace is not kept in memory while two are read. Of a damaged one the backend
        // knows parts that it must not trust.
        if report.ok && address.backend.list_damage(&address.reference).is_empty() {
            address.backend.close_palace(&address.reference);
        }
        // Examined for its effect: a backend no longer trusts damaged parts once its doctor has found them.
        examine_palace(against)?;
        let sides = (address.as_borrowed(), other.as_borrowed());
        let total: u64 = against.collections()?.iter().map(|info| info.drawers).sum();
        let total = sample.map_or(total, |sample| sample.min(total));
        let mut watched = Ok(());
        let comparison = compare_palaces(sides.0, sides.1, sample, &mut |done| {
            if watched.is_ok() {
                watched = watch(VerifyStep::Compared(done, total.max(done)));
            }
        })?;
        watched?;
        report.add_comparison(comparison);
        report.add_findings(list_other_damage(against)?);
    }
    Ok(report)
}

/// Returns the findings of a palace's doctor, if its backend has one. Damage that stops the doctor is a
/// finding as well.
pub fn examine_palace(palace: &Palace) -> Result<Option<PalaceDiagnosis>> {
    let address = palace.address()?;
    let (Some(doctor), Some(folder)) = (address.backend.doctor(), &address.reference.local_path) else {
        return Ok(None);
    };
    match doctor.examine(folder) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let finding = PalaceFinding::new("unreadable", FindingSeverity::Error, error.to_string());
            let finding = match error.hint_text() {
                Some(hint) => finding.with_hint(hint),
                None => finding,
            };
            let backend = &address.backend.descriptor().name;
            Ok(Some(PalaceDiagnosis::from_findings(backend, vec![finding])))
        }
        diagnosis => diagnosis.map(Some),
    }
}

/// Lists the damage that the other palace reports about itself: being equal to it does not mean being
/// complete.
fn list_other_damage(other: &Palace) -> Result<Vec<PalaceFinding>> {
    let warnings = other.collections()?.into_iter().flat_map(|info| info.warnings);
    let damage = warnings.filter(|warning| warning.severity == FindingSeverity::Error);
    let noted = damage.map(|warning| {
        let message = format!("the other palace: {}", warning.message);
        PalaceFinding::new("damaged_there", FindingSeverity::Note, message)
    });
    Ok(noted.collect())
}
