//! A list of findings that names the first of each sort and counts the rest.

use std::collections::BTreeMap;

use loci_core::{Finding, Severity};

/// How many findings of one code and collection are listed before they are only counted.
const NAMED: u64 = 20;

/// Findings, each sort of them listed up to a limit and then counted.
#[derive(Debug, Default)]
pub(super) struct Findings {
    listed: Vec<Finding>,
    seen: BTreeMap<(String, Option<String>), (u64, Severity)>,
}

impl Findings {
    pub(super) fn push(&mut self, finding: Finding) {
        let sort = (finding.code.clone(), finding.collection.clone());
        let (count, gravest) = self.seen.entry(sort).or_insert((0, finding.severity));
        *count += 1;
        *gravest = (*gravest).max(finding.severity);
        if *count <= NAMED {
            self.listed.push(finding);
        }
    }

    /// What is listed, and for each sort that goes on how many more there are.
    pub(super) fn into_vec(self) -> Vec<Finding> {
        let mut all = self.listed;
        for ((code, collection), (count, gravest)) in self.seen {
            if count > NAMED {
                let message = format!("and {} more of {code}", count - NAMED);
                let mut more = Finding::new(code, gravest, message);
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
        let mut findings = Findings::default();
        for n in 0..25 {
            findings.push(Finding::new("a", Severity::Error, n.to_string()));
        }
        findings.push(Finding::new("b", Severity::Note, "b"));
        let all = findings.into_vec();
        assert_eq!(all.len(), 22);
        assert_eq!(all[21].message, "and 5 more of a");
        assert_eq!(all[21].severity, Severity::Error);
    }
}
