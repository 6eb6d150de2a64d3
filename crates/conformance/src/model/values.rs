//! Random drawers, patches and filters over a small set of values, so that they collide often.

use std::collections::BTreeMap;

use loci_core::{
    DocumentFilter, DrawerContext, DrawerId, DrawerPatch, DrawerPlace, FilingDoor, Filter, FilterComparison,
    Metadata, MetadataScalar, MetadataValue, NewDrawer, OriginKind, Provenance, Timestamp,
};
use proptest::collection::{btree_map, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::select;

use crate::samples::{id, parse_time, span};

/// Words that no English stemmer changes.
const WORDS: [&str; 8] = ["alpha", "bravo", "golf", "kilo", "lima", "papa", "tango", "zulu"];
// Few ids, so that writes hit existing drawers; among them are ones that differ only by case, and hostile
// ones.
const IDS: [&str; 9] = ["a", "b", "A", "ab", "it's", "抽屉", "🗄️", "x\0y", "line\nbreak"];
const WINGS: [&str; 3] = ["w", "v", "W"];
// Two of them are a microsecond apart and one lies before 1970.
const TIMES: [&str; 4] = [
    "2026-01-01T00:00:00Z",
    "2026-05-01T10:00:00.000001Z",
    "1969-07-20T20:17:40Z",
    "2026-05-01T10:00:00Z",
];
// Small sets of values make ties and repeated vectors likely; negative zero must keep its sign.
const NUMBERS: [f32; 8] = [-1.0, -0.5, -0.0, 0.0, 0.1, 0.25, 1.0, 3.0];

pub(super) fn an_id() -> impl Strategy<Value = DrawerId> + Clone {
    select(&IDS[..]).prop_map(id)
}

pub(super) fn some_words(n: std::ops::Range<usize>) -> impl Strategy<Value = String> + Clone {
    vec(select(&WORDS[..]), n).prop_map(|words| words.join(" "))
}

pub(super) fn a_time() -> impl Strategy<Value = Timestamp> + Clone {
    select(&TIMES[..]).prop_map(parse_time)
}

fn some_text(from: &'static [&'static str]) -> impl Strategy<Value = String> + Clone {
    select(from).prop_map(str::to_owned)
}

/// A vector of the usual length, never all zero.
pub(super) fn a_vector() -> impl Strategy<Value = Vec<f32>> + Clone {
    vec(select(&NUMBERS[..]), 4).prop_map(|mut vector| {
        // A zero vector has no direction and would be refused.
        if vector.iter().all(|value| *value == 0.0) {
            vector[0] = 1.0;
        }
        vector
    })
}

/// Mostly a vector, sometimes none, and rarely one of the wrong length.
fn an_embedding(vectors: bool) -> BoxedStrategy<Option<Vec<f32>>> {
    if !vectors {
        return Just(None).boxed();
    }
    prop_oneof![
        60 => a_vector().prop_map(Some),
        15 => Just(None),
        1 => Just(Some(vec![1.0; 5])),
    ]
    .boxed()
}

fn a_scalar() -> impl Strategy<Value = MetadataScalar> + Clone {
    prop_oneof![
        (0..4_i64).prop_map(MetadataScalar::Int),
        select(&[0.5, 1.0, 2.0, 3.0, -1.5][..]).prop_map(MetadataScalar::Float),
        any::<bool>().prop_map(MetadataScalar::Bool),
        // Texts that look like a number or a time, to meet the rules about type families.
        some_text(&["x", "y", "X", "", "1", "2026-05-01T12:00:00.000001+02:00"])
            .prop_map(MetadataScalar::Text),
        // An integer and a float that are equal as doubles and different as numbers.
        Just(MetadataScalar::Int(9_007_199_254_740_993)),
        Just(MetadataScalar::Float(9_007_199_254_740_992.0)),
    ]
}

fn a_value() -> impl Strategy<Value = MetadataValue> + Clone {
    prop_oneof![
        5 => a_scalar().prop_map(MetadataValue::One),
        2 => vec(a_scalar(), 0..3).prop_map(MetadataValue::Many),
    ]
}

/// A metadata key and a value for it; keys named after place fields mostly hold valid values for them.
fn an_entry() -> impl Strategy<Value = (String, MetadataValue)> + Clone {
    prop_oneof![
        8 => (some_text(&["n", "t", "flag", "odd 'key'", "抽"]), a_value()),
        1 => (Just("wing".to_owned()), some_text(&WINGS).prop_map(MetadataValue::from)),
        // Values of any type under the names of place fields: not all of them complete the place.
        1 => (some_text(&["room", "wing", "said_at"]), a_value()),
        1 => (Just("said_at".to_owned()), some_text(&TIMES).prop_map(MetadataValue::from)),
    ]
}

fn some_metadata() -> impl Strategy<Value = Metadata> + Clone {
    vec(an_entry(), 0..4).prop_map(|entries| entries.into_iter().collect())
}

fn a_place() -> impl Strategy<Value = DrawerPlace> + Clone {
    let filed = (
        weighted(0.3, some_text(&WINGS)),
        weighted(0.3, some_text(&["r", "s"])),
    );
    let cut = (
        weighted(0.5, some_text(&["book", "page"])),
        weighted(0.6, select(&[0_u64, 10][..])),
    );
    let said = (
        weighted(0.2, some_text(&["p", "q"])),
        weighted(0.2, some_text(&["note", "turn"])),
        weighted(0.2, a_time()),
    );
    (filed, cut, said).prop_map(
        |((wing, room), (source, start), (speaker, kind, said_at))| DrawerPlace {
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

fn a_context() -> impl Strategy<Value = DrawerContext> + Clone {
    (some_words(1..3), some_words(0..2)).prop_map(|(before, after)| DrawerContext { before, after })
}

fn a_provenance() -> impl Strategy<Value = Provenance> + Clone {
    let by = of(some_text(&["ada", "agent 抽", ""]));
    (select(FilingDoor::ALL), select(OriginKind::ALL), by).prop_map(|(door, origin, by)| Provenance {
        door,
        origin,
        by,
    })
}

/// A random drawer; about a third are one of a few pieces of one source, so that twins occur.
pub(super) fn a_drawer(vectors: bool) -> impl Strategy<Value = NewDrawer> + Clone {
    let about = (some_metadata(), a_place(), a_time(), 0..3_u64, of(a_provenance()));
    let drawer = (
        an_id(),
        some_words(0..4),
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
        // Two texts at two starts of one source: pieces repeat often enough to make twins.
        weighted(
            0.35,
            (some_text(&["alpha", "bravo kilo"]), select(&[0_u64, 10][..])),
        ),
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

pub(super) fn a_patch(vectors: bool) -> impl Strategy<Value = DrawerPatch> + Clone {
    let keys: BoxedStrategy<BTreeMap<String, Option<MetadataValue>>> = prop_oneof![
        vec((an_entry(), any::<bool>()), 0..3).prop_map(|entries| {
            let patched = entries
                .into_iter()
                .map(|((key, value), set)| (key, set.then_some(value)));
            patched.collect()
        }),
        btree_map(some_text(&["n", "wing", "said_at"]), of(a_value()), 0..2),
    ]
    .boxed();
    let place = prop_oneof![2 => Just(DrawerPlace::default()), 1 => a_place()];
    let embedding = if vectors {
        weighted(0.4, a_vector()).boxed()
    } else {
        Just(None).boxed()
    };
    (
        an_id(),
        weighted(0.5, some_words(0..4)),
        weighted(0.2, a_context()),
        keys,
        place,
        (embedding, weighted(0.2, a_provenance())),
    )
        .prop_map(
            |(id, document, context, metadata, place, (embedding, provenance))| DrawerPatch {
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

fn a_comparison() -> impl Strategy<Value = FilterComparison> + Clone {
    let ordered = || {
        // The parser refuses such a filter, so a backend never sees one.
        a_scalar().prop_filter("booleans have no order", |scalar| {
            !matches!(scalar, MetadataScalar::Bool(_))
        })
    };
    let numbers = || vec((0..4_i64).prop_map(MetadataScalar::Int), 1..3);
    let texts = || {
        vec(
            some_text(&["x", "w", "v", "2026-01-01"]).prop_map(MetadataScalar::Text),
            1..3,
        )
    };
    prop_oneof![
        4 => a_scalar().prop_map(FilterComparison::Eq),
        2 => a_scalar().prop_map(FilterComparison::Ne),
        1 => prop_oneof![numbers(), texts()].prop_map(FilterComparison::In),
        1 => prop_oneof![numbers(), texts()].prop_map(FilterComparison::Nin),
        1 => a_scalar().prop_map(FilterComparison::Contains),
        1 => a_scalar().prop_map(FilterComparison::NotContains),
        1 => ordered().prop_map(FilterComparison::Gt),
        1 => ordered().prop_map(FilterComparison::Gte),
        1 => ordered().prop_map(FilterComparison::Lt),
        1 => ordered().prop_map(FilterComparison::Lte),
    ]
}

/// A filter other than `Filter::All`, so that a delete by it is valid.
pub(super) fn a_filter() -> impl Strategy<Value = Filter> + Clone {
    let placed = (
        some_text(&["wing", "room", "source", "kind"]),
        some_text(&["w", "v", "r", "book", "note"]),
    );
    let leaf = prop_oneof![
        3 => (some_text(&["n", "t", "flag", "odd 'key'", "抽", "gone", "said_at", "filed_at", "wing"]), a_comparison())
            .prop_map(|(key, comparison)| Filter::Compare(key, comparison)),
        4 => placed.prop_map(|(key, value)| Filter::text_equals(key, value)),
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
        some_text(&["alpha", "lph", "a k", "zulu", "Alpha"]).prop_map(DocumentFilter::Contains),
        some_text(&["alpha", "o", "tango"]).prop_map(DocumentFilter::NotContains),
    ];
    let nested = prop_oneof![
        3 => leaf.clone(),
        1 => vec(leaf.clone(), 1..3).prop_map(DocumentFilter::And),
        1 => vec(leaf, 1..3).prop_map(DocumentFilter::Or),
    ];
    prop_oneof![4 => Just(DocumentFilter::All), 1 => nested]
}
