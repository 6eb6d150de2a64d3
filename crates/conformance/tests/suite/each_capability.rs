//! The suite on references that lack one capability each, so that every refusal is tested next to everything that works.

use loci_conformance::{CaseVerdict, Reference, ReferenceHarness, all_cases, examine_case};
use loci_core::Capability;

#[test]
fn every_case_is_kept_whichever_capability_is_missing() {
    for missing in Reference::FULL {
        let without = missing.clone();
        let harness = ReferenceHarness::new(move || {
            let others = Reference::FULL.into_iter().filter(|one| *one != without);
            Reference::with_capabilities(others)
        });
        for case in all_cases() {
            let verdict = examine_case(&harness, case);
            let name = case.name();
            assert!(
                !matches!(verdict, CaseVerdict::Broken(_)),
                "without {missing}: {name}: {verdict:?}"
            );
        }
    }
}

#[test]
fn every_case_is_kept_by_a_reference_that_answers_approximately() {
    let harness = ReferenceHarness::new(|| {
        let capabilities = Reference::FULL.into_iter();
        Reference::with_capabilities(capabilities.chain([Capability::ApproximateQuery]))
    });
    let (mut approximate, mut broken) = (0, Vec::new());
    for case in all_cases() {
        let verdict = examine_case(&harness, case);
        if let CaseVerdict::Broken(words) = &verdict {
            broken.push(format!("{}: {words}", case.name()));
        }
        let needs = loci_conformance::CaseNeed::With(Capability::ApproximateQuery);
        approximate += usize::from(case.needs.contains(&needs) && verdict == CaseVerdict::Kept);
    }
    assert_eq!(broken, Vec::<String>::new());
    assert!(approximate > 0, "no case of approximate answers was shown");
}

#[test]
fn each_missing_capability_is_refused_by_a_case_of_its_own() {
    let silent = [
        // Without one of these a promise is dropped, but no call is refused.
        Capability::AtomicBatch,
        Capability::AtomicUpdate,
        Capability::ContainsFast,
        Capability::Local,
    ];
    for missing in Reference::FULL {
        let without = loci_conformance::CaseNeed::Without(missing.clone());
        let shown = all_cases().iter().any(|case| case.needs.contains(&without));
        assert_eq!(shown, !silent.contains(&missing), "{missing}");
    }
}
