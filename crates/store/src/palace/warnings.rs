//! The warnings this process has found about a palace's file, and the damage among them.

use std::collections::BTreeMap;

use loci_core::{FindingSeverity, PalaceFinding};

use super::PalaceFile;
use crate::failure::RESCUE_HINT;
use crate::vfs;

/// The most warnings of one code that are kept, and the most damaged pages that are named.
const KEPT: usize = 20;

/// Warnings, each kept once, and of each code only the first few.
#[derive(Debug, Default)]
pub(super) struct WarningList {
    by_code: BTreeMap<String, Vec<PalaceFinding>>,
}

impl WarningList {
    fn add(&mut self, finding: PalaceFinding) {
        let kept = self.by_code.entry(finding.code.clone()).or_default();
        // Every query meets the same damage again, and a damaged page can hold thousands of rows; neither may fill
        // the memory of a long-running server.
        if kept.len() > KEPT || kept.iter().any(|known| known.message == finding.message) {
            return;
        }
        if kept.len() < KEPT {
            kept.push(finding);
            return;
        }
        kept.push(PalaceFinding {
            message: format!("and more of {}; `loci verify` counts them", finding.code),
            ..finding
        });
    }

    fn to_findings(&self) -> Vec<PalaceFinding> {
        self.by_code.values().flatten().cloned().collect()
    }
}

impl PalaceFile {
    /// Keeps a warning for `info`; one of the same code and message is kept once.
    pub(crate) fn warn(&self, finding: PalaceFinding) {
        self.lock_state().warnings.add(finding);
    }

    /// Returns the warnings this process has found about the file so far.
    pub(crate) fn warnings(&self) -> Vec<PalaceFinding> {
        let mut warnings = self.lock_state().warnings.to_findings();
        warnings.extend(self.exchange_warnings());
        warnings
    }

    /// Returns the damage this process has met in the file so far: grave warnings, and pages that failed their check.
    pub(crate) fn list_damage(&self) -> Vec<PalaceFinding> {
        let mut damage = self.warnings();
        damage.retain(|finding| finding.severity == FindingSeverity::Error);
        // A page may be skipped where its content is found elsewhere, so that no other warning mentions it.
        damage.extend(pages_finding(&vfs::damaged_pages(&self.file)));
        damage
    }
}

fn pages_finding(pages: &[u32]) -> Option<PalaceFinding> {
    let named: Vec<String> = pages.iter().take(KEPT).map(u32::to_string).collect();
    let message = match pages.len() {
        0 => return None,
        1 => format!("page {} of the file is damaged", named.concat()),
        all if all > KEPT => format!(
            "{all} pages of the file are damaged, the first: {}",
            named.join(", ")
        ),
        all => format!("{all} pages of the file are damaged: {}", named.join(", ")),
    };
    Some(PalaceFinding::new("page_damaged", FindingSeverity::Error, message).with_hint(RESCUE_HINT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_warning_is_kept_once_and_of_each_code_only_the_first_few() {
        let mut warnings = WarningList::default();
        let finding = |code: &str, n: usize| PalaceFinding::new(code, FindingSeverity::Error, n.to_string());
        for n in (0..100).chain(0..100) {
            warnings.add(finding("a", n));
        }
        warnings.add(finding("b", 0));
        warnings.add(finding("b", 0));
        let found = warnings.to_findings();
        assert_eq!(found.len(), KEPT + 2, "{found:?}");
        assert!(found[KEPT].message.contains("more of a"), "{found:?}");
    }

    #[test]
    fn many_damaged_pages_are_one_finding() {
        assert_eq!(pages_finding(&[]), None);
        assert_eq!(
            pages_finding(&[7]).unwrap().message,
            "page 7 of the file is damaged"
        );
        let all: Vec<u32> = (1..=1000).collect();
        let message = pages_finding(&all).unwrap().message;
        assert!(
            message.starts_with("1000 pages") && message.len() < 200,
            "{message}"
        );
    }
}
