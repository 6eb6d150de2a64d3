//! The suite on references that lack one capability each, so that every refusal is shown beside all that works.

use loci_conformance::{Reference, ReferenceHarness, Verdict, cases, examine};
use loci_core::Capability;

#[test]
fn every_case_is_kept_whichever_capability_is_missing() {
    for missing in Reference::FULL {
        let without = missing.clone();
        let harness = ReferenceHarness::new(move || {
            let others = Reference::FULL.into_iter().filter(|one| *one != without);
            Reference::with(others)
        });
        for case in cases() {
            let verdict = examine(&harness, case);
            let name = case.name();
            assert!(
                !matches!(verdict, Verdict::Broken(_)),
                "without {missing}: {name}: {verdict:?}"
            );
        }
    }
}

#[test]
fn every_case_is_kept_by_a_reference_that_answers_approximately() {
    let harness = ReferenceHarness::new(|| {
        let capabilities = Reference::FULL.into_iter();
        Reference::with(capabilities.chain([Capability::ApproximateQuery]))
    });
    let (mut approximate, mut broken) = (0, Vec::new());
    for case in cases() {
        let verdict = examine(&harness, case);
        if let Verdict::Broken(words) = &verdict {
            broken.push(format!("{}: {words}", case.name()));
        }
        let needs = loci_conformance::Need::With(Capability::ApproximateQuery);
        approximate += usize::from(case.needs.contains(&needs) && verdict == Verdict::Kept);
    }
    assert_eq!(broken, Vec::<String>::new());
    assert!(approximate > 0, "no case of approximate answers was shown");
}

#[test]
fn each_missing_capability_is_refused_by_a_case_of_its_own() {
    let silent = [
        // What these allow, their absence only no longer promises.
        Capability::AtomicBatch,
        Capability::AtomicUpdate,
        Capability::ContainsFast,
        Capability::Local,
    ];
    for missing in Reference::FULL {
        let without = loci_conformance::Need::Without(missing.clone());
        let shown = cases().iter().any(|case| case.needs.contains(&without));
        assert_eq!(shown, !silent.contains(&missing), "{missing}");
    }
}
