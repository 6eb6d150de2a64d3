//! Findings of one kind: the first few in full, the rest as a number.

use loci_core::PalaceFinding;

/// The most findings of one kind that are listed; the rest are counted.
const LISTED: usize = 20;

/// Findings of one kind, in bounded memory: a damaged file can have one for every drawer.
#[derive(Debug, Default)]
pub(super) struct ListedFindings {
    listed: Vec<PalaceFinding>,
    count: usize,
}

impl ListedFindings {
    /// Adds a finding, which is made only if it is listed.
    pub(super) fn push(&mut self, make: impl FnOnce() -> PalaceFinding) {
        self.count += 1;
        if self.listed.len() < LISTED {
            self.listed.push(make());
        }
    }

    /// Returns the number of findings, listed or not.
    pub(super) fn count(&self) -> usize {
        self.count
    }

    /// Returns the findings listed, and one that counts the rest.
    pub(super) fn into_vec(self) -> Vec<PalaceFinding> {
        let mut all = self.listed;
        let more = self.count - all.len();
        let rest = all.last().filter(|_| more > 0).map(|last| PalaceFinding {
            message: format!("and {more} more of {}", last.code),
            segment: None,
            ..last.clone()
        });
        all.extend(rest);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::FindingSeverity;

    #[test]
    fn any_number_of_findings_takes_the_room_of_a_few() {
        let mut findings = ListedFindings::default();
        let mut made = 0;
        for n in 0..300_000 {
            findings.push(|| {
                made += 1;
                PalaceFinding::new("page_damaged", FindingSeverity::Error, n.to_string())
            });
        }
        assert_eq!(
            (made, findings.count()),
            (LISTED, 300_000),
            "the others are not even made"
        );
        let all = findings.into_vec();
        assert_eq!(all.len(), LISTED + 1);
        assert_eq!(all[LISTED].message, "and 299980 more of page_damaged");
        let mut one = ListedFindings::default();
        one.push(|| PalaceFinding::new("a", FindingSeverity::Error, "a"));
        assert_eq!(one.into_vec().len(), 1);
    }
}
