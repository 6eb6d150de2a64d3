//! Random drawers, patches and filters over a small world of values, so that they meet often.

use std::collections::BTreeMap;

use loci_core::{
    Comparison, Context, DocumentFilter, DrawerId, FilingDoor, Filter, Metadata, NewDrawer, OriginKind,
    Patch, Place, Provenance, Scalar, Timestamp, Value,
};
use proptest::collection::{btree_map, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::select;

use crate::samples::{id, span, time};

/// Words that no English stemmer changes.
const WORDS: [&str; 8] = ["alpha", "bravo", "golf", "kilo", "lima", "papa", "tango", "zulu"];
const IDS: [&str; 9] = ["a", "b", "A", "ab", "it's", "抽屉", "🗄️", "x\0y", "line\nbreak"];
const WINGS: [&str; 3] = ["w", "v", "W"];
const TIMES: [&str; 4] = [
    "2026-01-01T00:00:00Z",
    "2026-05-01T10:00:00.000001Z",
    "1969-07-20T20:17:40Z",
    "2026-05-01T10:00:00Z",
];
const NUMBERS: [f32; 8] = [-1.0, -0.5, -0.0, 0.0, 0.1, 0.25, 1.0, 3.0];

pub(super) fn an_id() -> impl Strategy<Value = DrawerId> + Clone {
    select(&IDS[..]).prop_map(id)
}

pub(super) fn words(n: std::ops::Range<usize>) -> impl Strategy<Value = String> + Clone {
    vec(select(&WORDS[..]), n).prop_map(|words| words.join(" "))
}

pub(super) fn a_time() -> impl Strategy<Value = Timestamp> + Clone {
    select(&TIMES[..]).prop_map(time)
}

fn text(from: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    select(from).prop_map(str::to_owned)
}

/// A vector of the usual length, never all zero.
pub(super) fn a_vector() -> impl Strategy<Value = Vec<f32>> + Clone {
    vec(select(&NUMBERS[..]), 4).prop_map(|mut vector| {
        if vector.iter().all(|value| *value == 0.0) {
            vector[0] = 1.0;
        }
        vector
    })
}

/// Mostly a vector, sometimes none, now and then one of another length.
fn an_embedding(vectors: bool) -> BoxedStrategy<Option<Vec<f32>>> {
    match vectors {
        false => Just(None).boxed(),
        true => prop_oneof![
            60 => a_vector().prop_map(Some),
            15 => Just(None),
            1 => Just(Some(vec![1.0; 5])),
        ]
        .boxed(),
    }
}

fn a_scalar() -> impl Strategy<Value = Scalar> + Clone {
    prop_oneof![
        (0..4_i64).prop_map(Scalar::Int),
        select(&[0.5, 1.0, 2.0, 3.0, -1.5][..]).prop_map(Scalar::Float),
        any::<bool>().prop_map(Scalar::Bool),
        text(&["x", "y", "X", "", "1", "2026-05-01T12:00:00.000001+02:00"]).prop_map(Scalar::Text),
        Just(Scalar::Int(9_007_199_254_740_993)),
        Just(Scalar::Float(9_007_199_254_740_992.0)),
    ]
}

fn a_value() -> impl Strategy<Value = Value> + Clone {
    prop_oneof![
        5 => a_scalar().prop_map(Value::One),
        2 => vec(a_scalar(), 0..3).prop_map(Value::Many),
    ]
}

/// A metadata key and a value for it; keys of places mostly hold what places hold.
fn an_entry() -> impl Strategy<Value = (String, Value)> + Clone {
    prop_oneof![
        8 => (text(&["n", "t", "flag", "odd 'key'", "抽"]), a_value()),
        1 => (Just("wing".to_owned()), text(&WINGS).prop_map(Value::from)),
        1 => (text(&["room", "wing", "said_at"]), a_value()),
        1 => (Just("said_at".to_owned()), text(&TIMES).prop_map(Value::from)),
    ]
}

fn some_metadata() -> impl Strategy<Value = Metadata> + Clone {
    vec(an_entry(), 0..4).prop_map(|entries| entries.into_iter().collect())
}

fn a_place() -> impl Strategy<Value = Place> + Clone {
    let filed = (weighted(0.3, text(&WINGS)), weighted(0.3, text(&["r", "s"])));
    let cut = (
        weighted(0.5, text(&["book", "page"])),
        weighted(0.6, select(&[0_u64, 10][..])),
    );
    let said = (
        weighted(0.2, text(&["p", "q"])),
        weighted(0.2, text(&["note", "turn"])),
        weighted(0.2, a_time()),
    );
    (filed, cut, said).prop_map(
        |((wing, room), (source, start), (speaker, kind, said_at))| Place {
            wing,
            room,
            source,
            span: start.map(span),
            speaker,
            kind,
            said_at,
        },
    )
}

fn a_context() -> impl Strategy<Value = Context> + Clone {
    (words(1..3), words(0..2)).prop_map(|(before, after)| Context { before, after })
}

fn a_provenance() -> impl Strategy<Value = Provenance> + Clone {
    let by = of(text(&["ada", "agent 抽", ""]));
    (select(FilingDoor::ALL), select(OriginKind::ALL), by).prop_map(|(door, origin, by)| Provenance {
        door,
        origin,
        by,
    })
}

/// Some drawer; every third is one of a few pieces of a source, so that twins meet.
pub(super) fn a_drawer(vectors: bool) -> impl Strategy<Value = NewDrawer> + Clone {
    let about = (some_metadata(), a_place(), a_time(), 0..3_u64, of(a_provenance()));
    let drawer = (
        an_id(),
        words(0..4),
        weighted(0.3, a_context()),
        about,
        an_embedding(vectors),
    )
        .prop_map(
            |(id, document, context, (metadata, place, filed_at, uses, provenance), embedding)| NewDrawer {
                // Of drawers with an empty text some have none at all.
                wordless: document.is_empty() && uses % 2 == 1,
                id,
                document,
                context,
                metadata,
                place,
                filed_at: Some(filed_at),
                provenance,
                uses,
                embedding,
            },
        );
    (
        drawer,
        weighted(0.35, (text(&["alpha", "bravo kilo"]), select(&[0_u64, 10][..]))),
    )
        .prop_map(|(mut drawer, piece)| {
            if let Some((document, start)) = piece {
                drawer.document = document;
                drawer.place.source = Some("book".into());
                drawer.place.span = Some(span(start));
            }
            drawer
        })
}

pub(super) fn a_patch(vectors: bool) -> impl Strategy<Value = Patch> + Clone {
    let keys: BoxedStrategy<BTreeMap<String, Option<Value>>> = prop_oneof![
        vec((an_entry(), any::<bool>()), 0..3).prop_map(|entries| {
            let patched = entries
                .into_iter()
                .map(|((key, value), set)| (key, set.then_some(value)));
            patched.collect()
        }),
        btree_map(text(&["n", "wing", "said_at"]), of(a_value()), 0..2),
    ]
    .boxed();
    let place = prop_oneof![2 => Just(Place::default()), 1 => a_place()];
    let embedding = match vectors {
        true => weighted(0.4, a_vector()).boxed(),
        false => Just(None).boxed(),
    };
    (
        an_id(),
        weighted(0.5, words(0..4)),
        weighted(0.2, a_context()),
        keys,
        place,
        (embedding, weighted(0.2, a_provenance())),
    )
        .prop_map(
            |(id, document, context, metadata, place, (embedding, provenance))| Patch {
                id,
                document,
                context,
                metadata,
                place,
                embedding,
                provenance,
            },
        )
}

fn a_comparison() -> impl Strategy<Value = Comparison> + Clone {
    let ordered = || {
        a_scalar().prop_filter("booleans have no order", |scalar| {
            !matches!(scalar, Scalar::Bool(_))
        })
    };
    let numbers = || vec((0..4_i64).prop_map(Scalar::Int), 1..3);
    let texts = || vec(text(&["x", "w", "v", "2026-01-01"]).prop_map(Scalar::Text), 1..3);
    prop_oneof![
        4 => a_scalar().prop_map(Comparison::Eq),
        2 => a_scalar().prop_map(Comparison::Ne),
        1 => prop_oneof![numbers(), texts()].prop_map(Comparison::In),
        1 => prop_oneof![numbers(), texts()].prop_map(Comparison::Nin),
        1 => a_scalar().prop_map(Comparison::Contains),
        1 => a_scalar().prop_map(Comparison::NotContains),
        1 => ordered().prop_map(Comparison::Gt),
        1 => ordered().prop_map(Comparison::Gte),
        1 => ordered().prop_map(Comparison::Lt),
        1 => ordered().prop_map(Comparison::Lte),
    ]
}

/// A filter that asks for something.
pub(super) fn a_filter() -> impl Strategy<Value = Filter> + Clone {
    let placed = (
        text(&["wing", "room", "source", "kind"]),
        text(&["w", "v", "r", "book", "note"]),
    );
    let leaf = prop_oneof![
        3 => (text(&["n", "t", "flag", "odd 'key'", "抽", "gone", "said_at", "filed_at", "wing"]), a_comparison())
            .prop_map(|(key, comparison)| Filter::Compare(key, comparison)),
        4 => placed.prop_map(|(key, value)| Filter::text(key, value)),
    ];
    leaf.prop_recursive(2, 6, 3, |inner| {
        prop_oneof![
            vec(inner.clone(), 1..3).prop_map(Filter::And),
            vec(inner, 1..3).prop_map(Filter::Or),
        ]
    })
}

pub(super) fn a_document_filter() -> impl Strategy<Value = DocumentFilter> + Clone {
    let leaf = prop_oneof![
        text(&["alpha", "lph", "a k", "zulu", "Alpha"]).prop_map(DocumentFilter::Contains),
        text(&["alpha", "o", "tango"]).prop_map(DocumentFilter::NotContains),
    ];
    let nested = prop_oneof![
        3 => leaf.clone(),
        1 => vec(leaf.clone(), 1..3).prop_map(DocumentFilter::And),
        1 => vec(leaf, 1..3).prop_map(DocumentFilter::Or),
    ];
    prop_oneof![4 => Just(DocumentFilter::All), 1 => nested]
}
