//! A list of findings that keeps the first of each kind and counts the rest.

use std::collections::BTreeMap;

use loci_core::{FindingSeverity, PalaceFinding};

/// The most findings of one code and collection that are listed; further ones are counted.
const NAMED: u64 = 20;

/// Findings, listed up to a limit for each code and collection, and then counted.
#[derive(Debug, Default)]
pub(super) struct FindingList {
    listed: Vec<PalaceFinding>,
    seen: BTreeMap<(String, Option<String>), (u64, FindingSeverity)>,
}

impl FindingList {
    pub(super) fn push(&mut self, finding: PalaceFinding) {
        // A damaged palace can have one finding per drawer; a report of millions of lines would help no one.
        let sort = (finding.code.clone(), finding.collection.clone());
        let (count, gravest) = self.seen.entry(sort).or_insert((0, finding.severity));
        *count += 1;
        *gravest = (*gravest).max(finding.severity);
        if *count <= NAMED {
            self.listed.push(finding);
        }
    }

    /// Returns the listed findings, and one more for each kind that says how many were not listed.
    pub(super) fn into_vec(self) -> Vec<PalaceFinding> {
        let mut all = self.listed;
        for ((code, collection), (count, gravest)) in self.seen {
            if count > NAMED {
                let message = format!("and {} more of {code}", count - NAMED);
                let mut more = PalaceFinding::new(code, gravest, message);
                more.collection = collection;
                all.push(more);
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_twenty_are_named_and_the_rest_counted() {
        let mut findings = FindingList::default();
        for n in 0..25 {
            findings.push(PalaceFinding::new("a", FindingSeverity::Error, n.to_string()));
        }
        findings.push(PalaceFinding::new("b", FindingSeverity::Note, "b"));
        let all = findings.into_vec();
        assert_eq!(all.len(), 22);
        assert_eq!(all[21].message, "and 5 more of a");
        assert_eq!(all[21].severity, FindingSeverity::Error);
    }
}
