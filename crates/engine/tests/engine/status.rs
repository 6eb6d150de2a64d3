//! Status: figures by wing and room.

use loci_engine::OnConflict;

use super::*;

#[test]
fn status_sums_rooms_into_wings_and_lists_every_collection() {
    let backend = reference();
    filled(&backend, 5);
    import(
        &backend,
        OnConflict::Keep,
        "{\"text\":\"x\"}\n{\"text\":\"y\",\"wing\":\"w1\",\"room\":\"other\"}\n{\"collection\":\"notes\",\"text\":\"z\"}",
    );
    let report = open_palace(&backend, &NOBODY).report_status().unwrap();
    let wings: Vec<(Option<&str>, u64, usize)> = report
        .wings
        .iter()
        .map(|wing| (wing.wing.as_deref(), wing.drawers, wing.rooms.len()))
        .collect();
    assert_eq!(wings, [(Some("w0"), 3, 1), (Some("w1"), 3, 2), (None, 1, 1)]);
    assert_eq!(report.drawers, 7);
    assert_eq!(report.embedder.state, "known");
    assert_eq!(report.embedder.dimension, Some(2));
    let names: Vec<&str> = report.collections.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["drawers", "notes"]);
    assert_eq!(report.coverage.nearest, 5);
}

#[test]
fn a_palace_without_vectors_has_no_embedder() {
    let backend = reference();
    import(&backend, OnConflict::Keep, r#"{"text":"x"}"#);
    let report = open_palace(&backend, &NOBODY).report_status().unwrap();
    assert_eq!((report.embedder.state, report.embedder.model), ("none", None));
}
