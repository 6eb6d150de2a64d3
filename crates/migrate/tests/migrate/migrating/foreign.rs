//! Sources of other software: contents that the contract cannot hold are carried as far as possible, and
//! named.

use super::*;
use crate::damaged::{Damaged, Harm};

fn foreign(harms: impl IntoIterator<Item = (&'static str, Harm)>) -> Damaged<Reference> {
    use Capability::{EmbeddingsOut, EmbeddingsPassthrough, Lexical, RangeFilters};
    let backend = Reference::with_capabilities([EmbeddingsOut, EmbeddingsPassthrough, Lexical, RangeFilters]);
    let drawers = made(address(&backend, &palace()), "drawers", Some(model()));
    let drawer = |called: &str, text: &str| NewDrawer {
        embedding: Some(vec![1.0, 2.0, 3.0, 4.0]),
        metadata: Metadata::new().with_entry("wing", "w"),
        ..NewDrawer::new(id(called), text)
    };
    let all = ["a", "b", "c", "d", "e"].map(|called| Write::Add(drawer(called, "text")));
    drawers.apply_batch(&all).unwrap();
    Damaged::new(backend, harms)
}

#[test]
fn what_other_software_leaves_out_is_carried_and_counted() {
    let backend = foreign([("a", Harm::Bare), ("b", Harm::Zero), ("c", Harm::Elsewhere)]);
    let there = palace();
    let from = address(&backend, &there);
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(from, to).go().unwrap();
    assert!(!report.ok && !report.lossless, "a vector is lost: {report:?}");
    let lists = &report.record.collections[0].lists;
    assert_eq!(lists.without_document.ids, ["a"]);
    assert_eq!(lists.without_filed_at.ids, ["a"]);
    assert_eq!(lists.unsound_vector.ids, ["b"]);
    assert_eq!(lists.place_conflict.ids, ["c"]);
    let moved = everything(to, "drawers");
    assert_eq!(
        moved[0].document, None,
        "a record without a text stays without one"
    );
    assert_eq!(moved[1].embedding, None);
    assert_eq!(
        moved[2].place.wing.as_deref(),
        Some("w"),
        "the metadata is kept exactly"
    );
    assert_eq!(report.record.hash.from, report.record.hash.to);
    let compared = compare_palaces(to, from, None, &mut |_| {}).unwrap();
    assert_eq!(compared.findings, []);
    assert_eq!(compared.against.hash, Some(hash(to)));
}

#[test]
fn what_no_backend_takes_is_named_and_does_not_stop_the_others() {
    let backend = foreign([("b", Harm::Infinite), ("d", Harm::Shown), ("e", Harm::Text)]);
    let there = palace();
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(address(&backend, &there), to).go().unwrap();
    assert!(!report.ok && !report.lossless, "{report:?}");
    let lists = &report.record.collections[0].lists;
    assert_eq!(lists.not_carried.count, 1);
    assert!(lists.not_carried.ids[0].starts_with("b: metadata.n"), "{lists:?}");
    assert_eq!(lists.damaged.ids, ["d"]);
    assert!(lists.unreadable.ids[0].contains("\"e\""), "{lists:?}");
    let moved: Vec<String> = everything(to, "drawers")
        .iter()
        .map(|drawer| drawer.id.to_string())
        .collect();
    assert_eq!(moved, ["a", "c", "d"]);
}

#[test]
fn a_vector_of_another_length_is_left_out_and_warned_of() {
    let backend = foreign([("c", Harm::Short)]);
    let there = palace();
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(address(&backend, &there), to).go().unwrap();
    assert!(!report.ok && !report.lossless, "{report:?}");
    assert_eq!(report.record.collections[0].lists.other_dimension.ids, ["c"]);
    assert_eq!((report.rows, report.collections[0].with_vector), (5, 4));
}

#[test]
fn one_drawer_that_the_target_refuses_leaves_only_itself_behind() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    made(from, "drawers", Some(model()))
        .apply_batch(&many(1200))
        .unwrap();
    let others = Reference::FULL.into_iter();
    let plain =
        others.filter(|one| ![Capability::Local, Capability::Sources, Capability::Spaces].contains(one));
    let goal = Damaged::new(Reference::with_capabilities(plain), [("d00007", Harm::Refused)]);
    let place = PalaceRef::from_id("there");
    let to = address(&goal, &place);
    let report = Moving::new(from, to).go().unwrap();
    assert!(!report.ok && report.rows == 1199, "{report:?}");
    assert_eq!(report.record.collections[0].lists.not_carried.count, 1);
    assert!(
        report.findings.iter().any(|one| one.code == "record_not_kept"),
        "{report:?}"
    );
}

#[test]
fn the_same_piece_under_several_ids_is_carried_under_all_of_them() {
    let backend = foreign([("b", Harm::Begins), ("c", Harm::Begins), ("e", Harm::Begins)]);
    let there = palace();
    let from = address(&backend, &there);
    let home = Home::new();
    let place = home.local("new");
    let to = address(&home.embedded, &place);
    let report = Moving::new(from, to).go().unwrap();
    assert!(report.ok && report.lossless, "{report:?}");
    let record = &report.record.collections[0];
    assert_eq!((record.duplicates.groups, record.duplicates.rows), (1, 3));
    assert_eq!(record.lists.span_left_out.ids, ["c", "e"]);
    assert_eq!(record.lists.spans.len(), 2, "the spans are in the record");
    let spans: Vec<bool> = everything(to, "drawers")
        .iter()
        .map(|drawer| drawer.place.span.is_some())
        .collect();
    assert_eq!(spans, [false, true, false, false, false]);
    let compared = compare_palaces(to, from, None, &mut |_| {}).unwrap();
    let codes: Vec<&str> = compared.findings.iter().map(|one| one.code.as_str()).collect();
    assert_eq!(codes, ["span_left_out"], "{compared:?}");
}

/// Drawers of one source and text, with uses and times of filing.
fn repeated(side: BorrowedAddress<'_>) {
    let drawers = made(side, "drawers", Some(model()));
    let copy = |called: &str, uses: u64, filed_at: &str| NewDrawer {
        uses,
        filed_at: Some(filed_at.parse().unwrap()),
        place: DrawerPlace {
            source: Some("book".into()),
            ..DrawerPlace::default()
        },
        ..NewDrawer::new(id(called), "the same")
    };
    let all = [
        copy("a", 1, "2020-01-01"),
        copy("b", 5, "2022-01-01"),
        copy("c", 5, "2021-01-01"),
        copy("d", 5, "2021-01-01"),
        NewDrawer::new(id("e"), "the same"),
    ];
    drawers.apply_batch(&all.map(Write::Add)).unwrap();
}

#[test]
fn duplicates_are_carried_as_they_are_and_collapsed_only_on_request() {
    let backend = reference();
    let there = palace();
    let from = address(&backend, &there);
    repeated(from);
    let home = Home::new();
    let place = home.local("all");
    let report = Moving::new(from, address(&home.embedded, &place)).go().unwrap();
    assert_eq!((report.rows, report.lossless), (5, true));
    let duplicates = report.record.collections[0].duplicates;
    assert_eq!((duplicates.groups, duplicates.rows), (1, 4));

    let place = home.local("one");
    let to = address(&home.embedded, &place);
    let mut moving = Moving::new(from, to);
    moving.flags.collapse_duplicates = true;
    let report = moving.go().unwrap();
    assert!(report.ok && !report.lossless, "{report:?}");
    assert_eq!(report.record.collections[0].lists.collapsed.ids, ["a", "b", "d"]);
    let kept: Vec<String> = everything(to, "drawers")
        .iter()
        .map(|drawer| drawer.id.to_string())
        .collect();
    assert_eq!(
        kept,
        ["c", "e"],
        "most uses, then the oldest, then the smallest id"
    );
    for sample in [None, Some(3)] {
        let compared = compare_palaces(to, from, sample, &mut |_| {}).unwrap();
        assert!(
            compared
                .findings
                .iter()
                .all(|one| one.severity == loci_core::FindingSeverity::Note),
            "{compared:?}"
        );
        assert!(compared.findings.iter().any(|one| one.code == "collapsed"));
    }
}
