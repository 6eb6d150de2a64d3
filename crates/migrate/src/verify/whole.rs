//! Verifying a palace as a whole: its files by their doctor, its drawers one by one, and against another palace.

use loci_core::{Diagnosis, ErrorKind, Finding, Result, Severity};

use super::{VerifyReport, VerifyRequest, compare, verify};
use loci_engine::Palace;

/// Progress of a verification.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VerifyStep {
    /// So many drawers of so many were checked.
    Checked(u64, u64),
    /// So many drawers were compared with the other palace.
    Compared(u64),
}

/// Checks every drawer of every collection of a palace and, with `against`, compares it with another.
///
/// `sample` is the number of drawers of each collection that are looked up again; with `against` it is about how many are
/// compared, instead of all.
pub fn verify_palace(
    palace: &Palace,
    sample: Option<u64>,
    against: Option<&Palace>,
    watch: &mut dyn FnMut(VerifyStep),
) -> Result<VerifyReport> {
    let address = palace.existing_address()?;
    let other = against.map(Palace::existing_address).transpose()?;
    if let Some(against) = against {
        // Once its files were examined, whatever is damaged is no longer trusted when it is read.
        examine(against)?;
    }
    let diagnosis = examine(palace)?;
    let request = VerifyRequest {
        sample: sample.unwrap_or(VerifyRequest::default().sample),
    };
    let mut report = verify(
        address.as_borrowed(),
        diagnosis.as_ref(),
        request,
        &mut |done, total| watch(VerifyStep::Checked(done, total)),
    )?;
    if let (Some(against), Some(other)) = (against, other) {
        let sides = (address.as_borrowed(), other.as_borrowed());
        report.compared(compare(sides.0, sides.1, sample, &mut |done| {
            watch(VerifyStep::Compared(done));
        })?);
        report.add(damage_there(against)?);
    }
    Ok(report)
}

/// The findings of the doctor of a palace in files; damage that keeps it from looking is a finding, too.
pub fn examine(palace: &Palace) -> Result<Option<Diagnosis>> {
    let address = palace.address()?;
    let (Some(doctor), Some(folder)) = (address.backend.doctor(), &address.reference.local_path) else {
        return Ok(None);
    };
    match doctor.examine(folder) {
        Err(error) if error.kind() == ErrorKind::Corrupt => {
            let finding = Finding::new("unreadable", Severity::Error, error.to_string());
            let finding = match error.hint_text() {
                Some(hint) => finding.hint(hint),
                None => finding,
            };
            let backend = &address.backend.descriptor().name;
            Ok(Some(Diagnosis::of(backend, vec![finding])))
        }
        diagnosis => diagnosis.map(Some),
    }
}

/// Damage that a palace which another was compared with reports of itself: equal to it is then not whole.
fn damage_there(other: &Palace) -> Result<Vec<Finding>> {
    let warnings = other.collections()?.into_iter().flat_map(|info| info.warnings);
    let damage = warnings.filter(|warning| warning.severity == Severity::Error);
    let noted = damage.map(|warning| {
        let message = format!("the other palace: {}", warning.message);
        Finding::new("damaged_there", Severity::Note, message)
    });
    Ok(noted.collect())
}
