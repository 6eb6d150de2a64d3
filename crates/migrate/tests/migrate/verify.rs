//! Verifying: sound palaces pass, and every inconsistency is named.

use loci_core::{
    Backend, CollectionExt as _, CreateMode, ErrorKind, FindingSeverity, PalaceDiagnosis, PalaceFinding,
};
use loci_engine::OnConflict;
use loci_migrate::{VerifyReport, VerifyRequest, compare_palaces, verify_collections};

use super::damaged::{Damaged, Harm};
use super::*;

fn verified(backend: &dyn Backend, diagnosis: Option<&PalaceDiagnosis>) -> VerifyReport {
    let mut last = (0, 0);
    let report = verify_collections(
        address(backend, &palace()),
        diagnosis,
        VerifyRequest::default(),
        &mut |done, total| last = (done, total),
    )
    .unwrap();
    assert_eq!(last.0, report.drawers);
    report
}

fn codes(findings: &[PalaceFinding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.code.as_str()).collect()
}

#[test]
fn a_sound_palace_is_sound_and_equal_palaces_have_equal_hashes() {
    let one = reference();
    filled(&one, 100);
    import(&one, OnConflict::Keep, r#"{"collection":"notes","text":"x"}"#);
    let report = verified(&one, None);
    assert!(report.ok, "{report:?}");
    assert_eq!(report.drawers, 101);

    let two = reference();
    import(&two, OnConflict::Keep, &exported(&one, "notes"));
    import(&two, OnConflict::Keep, &exported(&one, "drawers"));
    assert_eq!(verified(&two, None).hash, report.hash);
    import(&two, OnConflict::Keep, r#"{"text":"more"}"#);
    assert_ne!(verified(&two, None).hash, report.hash);
}

#[test]
fn whatever_does_not_add_up_is_a_finding() {
    for (harm, expect) in [
        (Harm::Shown, &["damaged_drawer"][..]),
        (Harm::Text, &["unreadable_drawer"]),
        (Harm::Whole, &["unreadable_drawer"]),
        (Harm::Unindexed, &["not_found_by_vector"]),
        (Harm::Unnamed, &["not_found_by_id"]),
        (Harm::Unlisted, &["count_differs", "facets_differ"]),
    ] {
        let backend = reference();
        filled(&backend, 50);
        let report = verified(&Damaged::new(backend, [("d013", harm)]), None);
        assert!(!report.ok, "{harm:?}");
        assert_eq!(codes(&report.findings), expect, "{harm:?}: {report:?}");
    }
}

#[test]
fn what_others_write_meanwhile_is_no_finding() {
    let backend = reference();
    filled(&backend, 50);
    let late = |done: u64| format!(r#"{{"id":"a{done}","text":"filed while walking"}}"#);
    let report = verify_collections(
        address(&backend, &palace()),
        None,
        VerifyRequest::default(),
        &mut |done, _| drop(import(&backend, OnConflict::Keep, &late(done))),
    )
    .unwrap();
    assert!(report.ok, "{report:?}");
    assert_eq!(codes(&report.findings), ["changed_meanwhile"]);
}

#[test]
fn what_a_doctor_found_is_part_of_the_report() {
    let backend = reference();
    filled(&backend, 2);
    let note =
        PalaceDiagnosis::from_findings("x", vec![PalaceFinding::new("note", FindingSeverity::Note, "n")]);
    assert!(verified(&backend, Some(&note)).ok);
    let grave = PalaceDiagnosis::from_findings(
        "x",
        vec![PalaceFinding::new("torn", FindingSeverity::Warning, "t")],
    );
    let report = verified(&backend, Some(&grave));
    assert!(!report.ok);
    assert_eq!(codes(&report.findings), ["torn"]);
}

#[test]
fn a_missing_palace_is_an_error() {
    let error = verify_collections(
        address(&reference(), &palace()),
        None,
        VerifyRequest::default(),
        &mut |_, _| {},
    )
    .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
}

#[test]
fn two_palaces_are_compared_drawer_by_drawer() {
    let (one, two) = (reference(), reference());
    filled(&one, 60);
    import(&two, OnConflict::Keep, &exported(&one, "drawers"));
    let differences = |one: &dyn Backend, two: &dyn Backend| {
        let palace = palace();
        compare_palaces(address(one, &palace), address(two, &palace), None, &mut |_| {})
            .unwrap()
            .findings
    };
    assert_eq!(differences(&one, &two), []);

    import(&one, OnConflict::Keep, r#"{"id":"d0005","text":"only here"}"#);
    import(&two, OnConflict::Keep, r#"{"id":"zz","text":"only there"}"#);
    let changed = exported(&one, "drawers")
        .lines()
        .find(|line| line.contains("d040"))
        .unwrap()
        .to_owned();
    let changed = changed.replace("text 40", "other").replace("40.5", "40.25");
    import(&two, OnConflict::Replace, &changed);
    import(&two, OnConflict::Keep, r#"{"collection":"notes","text":"n"}"#);
    let findings = differences(&one, &two);
    assert_eq!(
        codes(&findings),
        ["only_here", "differs", "only_there", "only_there"],
        "{findings:?}"
    );
    assert!(
        findings[1].message.contains("document, embedding"),
        "{findings:?}"
    );
    assert_eq!(findings[3].collection.as_deref(), Some("notes"));
}

#[test]
fn many_differences_are_counted_beyond_the_first_twenty() {
    let (one, two) = (reference(), reference());
    filled(&one, 100);
    filled(&two, 10);
    let palace = palace();
    let findings = compare_palaces(address(&one, &palace), address(&two, &palace), None, &mut |_| {})
        .unwrap()
        .findings;
    let last = findings
        .iter()
        .find(|finding| finding.message.starts_with("and "))
        .unwrap();
    assert_eq!(last.message, "and 70 more of only_here", "{findings:?}");
}

/// A palace of one drawer whose vector is of `model`.
fn of_model(model: &str, vector: [f32; 3], count: &str) -> Reference {
    let backend = reference();
    let how = OpenOptions {
        embedder: Some(super::embedders::Bag::new(model, 3).0),
        ..OpenOptions::for_writing()
    };
    let drawers = backend
        .create(&palace(), &name("drawers"), CreateMode::OpenExisting, &how)
        .unwrap();
    let line =
        format!(r#"{{"id":"a","text":"text","filed_at":"2026-01-01T00:00:00Z","metadata":{{"n":{count}}}}}"#);
    let mut drawer = loci_engine::line::read_line(&line).unwrap().drawer;
    drawer.embedding = Some(vector.to_vec());
    drawers.apply_batch(&[Write::Add(drawer)]).unwrap();
    backend
}

#[test]
fn vectors_that_the_same_model_made_anew_are_told_and_others_are_a_difference() {
    let start = [1.0, 0.0, 0.0];
    for (model, other, expect) in [
        ("m", of_model("m", start, "1"), &[][..]),
        (
            "m",
            of_model("m", [1.0, 0.01, 0.0], "1"),
            &[("re_encoded", FindingSeverity::Note)],
        ),
        (
            "m",
            of_model("m", [1.0, 0.1, 0.0], "1"),
            &[("differs", FindingSeverity::Error)],
        ),
        (
            "m",
            of_model("n", [1.0, 0.01, 0.0], "1"),
            &[("differs", FindingSeverity::Error)],
        ),
        (
            "given",
            of_model("given", [1.0, 0.01, 0.0], "1"),
            &[("differs", FindingSeverity::Error)],
        ),
        (
            "m",
            of_model("m", start, "1.0"),
            &[("differs", FindingSeverity::Error)],
        ),
    ] {
        let one = of_model(model, start, "1");
        let palace = palace();
        let compared = compare_palaces(
            address(&one, &palace),
            address(&other, &palace),
            None,
            &mut |_| {},
        )
        .unwrap();
        let found: Vec<(&str, FindingSeverity)> = compared
            .findings
            .iter()
            .map(|finding| (finding.code.as_str(), finding.severity))
            .collect();
        assert_eq!(found, expect, "{compared:?}");
        assert_eq!(compared.against.hash, Some(verified(&other, None).hash));
    }
}

#[test]
fn a_sample_is_spread_over_the_other_palace_and_counts_are_compared() {
    let (one, two) = (reference(), reference());
    filled(&one, 50);
    filled(&two, 60);
    let palace = palace();
    let compared = compare_palaces(
        address(&one, &palace),
        address(&two, &palace),
        Some(6),
        &mut |_| {},
    )
    .unwrap();
    assert_eq!(compared.against.hash, None);
    assert_eq!(compared.against.drawers, 60);
    let messages: Vec<&str> = compared.findings.iter().map(|one| one.message.as_str()).collect();
    assert!(messages.iter().any(|one| one.contains("6 of 60")), "{messages:?}");
    assert!(
        messages
            .iter()
            .any(|one| one.contains("\"d050\" is only in the other")),
        "{messages:?}"
    );
    assert!(
        messages.iter().any(|one| one.contains("50 drawers here and 60")),
        "{messages:?}"
    );
}
