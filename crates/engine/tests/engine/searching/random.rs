//! Random drawers, filters and queries for the laws of search.

use loci_core::{DrawerPlace, Filter, FilterComparison, Metadata, MetadataScalar, NewDrawer, SourceSpan};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::{drawer, time};
use crate::embedders::Machine;

/// Words that every tokeniser leaves as they are.
const WORDS: [&str; 12] = [
    "ship", "dawn", "fox", "garden", "river", "stone", "bread", "owl", "hill", "moon", "lamp", "boat",
];
const WINGS: [&str; 3] = ["work", "home", "Zürich"];
const ROOMS: [&str; 2] = ["plans", "post"];
const SOURCES: [&str; 3] = ["a.md", "b.md", "chat.jsonl"];
const KINDS: [&str; 4] = ["human", "assistant", "tool_result", "file"];

/// A drawer, and whether it gets a vector.
pub(super) type Made = (NewDrawer, bool);

/// The drawers as they are filed: with the vectors of `machine`, where they get one.
pub(super) fn filed(made: &[Made], machine: &Machine) -> Vec<NewDrawer> {
    let embed = |(new, near): &Made| NewDrawer {
        embedding: near.then(|| machine.0[0].of(&new.document)),
        ..new.clone()
    };
    made.iter().map(embed).collect()
}

/// Up to `most` drawers called d000, d001 and so on.
pub(super) fn drawers(most: usize) -> impl Strategy<Value = Vec<Made>> {
    prop::collection::vec(one(), 0..most).prop_map(|list| {
        let numbered = list.into_iter().enumerate().map(|(at, (mut new, near))| {
            new.id = crate::id(&format!("d{at:03}"));
            let at = at as u64;
            new.place.span = new.place.source.is_some().then_some(SourceSpan {
                start: at * 10,
                end: at * 10 + 9,
                line_start: at + 1,
                line_end: at + 1,
            });
            (new, near)
        });
        numbered.collect()
    })
}

fn one() -> impl Strategy<Value = Made> {
    let places = (maybe(&WINGS), maybe(&ROOMS), maybe(&SOURCES), maybe(&KINDS));
    let said = prop::option::weighted(0.7, 1_u32..29);
    (text(), places, said, 0_i64..4, prop::bool::weighted(0.85)).prop_map(
        |(text, (wing, room, source, kind), said, n, near)| {
            let place = DrawerPlace {
                wing,
                room,
                source,
                kind,
                said_at: said.map(|day| time(&format!("2024-02-{day:02}T10:00:00Z"))),
                ..DrawerPlace::default()
            };
            let new = NewDrawer {
                place,
                metadata: Metadata::new().with_entry("n", n),
                ..drawer("unnamed", &text)
            };
            (new, near)
        },
    )
}

/// One to seven words.
pub(super) fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(select(&WORDS[..]), 1..8).prop_map(|words| words.join(" "))
}

/// Words, some of which stand in no drawer, among words that say nothing.
pub(super) fn query() -> impl Strategy<Value = String> {
    let words = subsequence(&WORDS[..], 0..4);
    (
        words,
        select(&["", "the", "zebra", "where is my", "last february"][..]),
    )
        .prop_map(|(words, more)| {
            if words.is_empty() && more.is_empty() {
                "ship".to_owned()
            } else {
                format!("{more} {}", words.join(" "))
            }
        })
}

fn maybe(of: &'static [&'static str]) -> impl Strategy<Value = Option<String>> {
    prop::option::weighted(0.8, select(of).prop_map(str::to_owned))
}

/// Filters on every field a search narrows by, with `$and`, `$or`, and every comparison.
pub(super) fn filter() -> impl Strategy<Value = Filter> {
    let leaf = prop_oneof![
        2 => Just(Filter::All),
        3 => comparison("wing", &WINGS),
        2 => comparison("room", &ROOMS),
        2 => comparison("source", &SOURCES),
        2 => comparison("kind", &KINDS),
        3 => said(),
        1 => (0_i64..4).prop_map(|n| Filter::Compare("n".into(), FilterComparison::Gte(MetadataScalar::Int(n)))),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 1..4).prop_map(Filter::And),
            prop::collection::vec(inner, 1..4).prop_map(Filter::Or),
        ]
    })
}

fn comparison(key: &'static str, of: &'static [&'static str]) -> impl Strategy<Value = Filter> {
    let text = |text: &str| MetadataScalar::Text(text.to_owned());
    (select(of), subsequence(of, 1..=of.len()), 0..4).prop_map(move |(one, some, how)| {
        let some = some.into_iter().map(text).collect();
        let comparison = match how {
            0 => FilterComparison::Eq(text(one)),
            1 => FilterComparison::Ne(text(one)),
            2 => FilterComparison::In(some),
            _ => FilterComparison::Nin(some),
        };
        Filter::Compare(key.into(), comparison)
    })
}

fn said() -> impl Strategy<Value = Filter> {
    (1_u32..29, 0..4).prop_map(|(day, how)| {
        let at = MetadataScalar::Int(time(&format!("2024-02-{day:02}T10:00:00Z")).as_micros());
        let comparison = match how {
            0 => FilterComparison::Gte(at),
            1 => FilterComparison::Lt(at),
            2 => FilterComparison::Gt(at),
            _ => FilterComparison::Lte(at),
        };
        Filter::Compare("said_at".into(), comparison)
    })
}
