//! Filters: every way of asking answers like the oracle in core.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DocumentFilter, Drawer, ErrorKind, FacetKey, Facets, Filter, Get, Include,
    Lexical, Metadata, NewDrawer, Place, Query, Scalar, Selection, Value, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, filter, hit_ids, ids, plain, time};
use crate::{Outcome, Scene};

cases! { "filters":
    "equality follows type families: text, numbers and booleans are never equal" [] => equality;
    "negations accept missing keys" [] => negations;
    "comparisons by order follow type families" [+RangeFilters] => ranges;
    "integers and floats compare by numeric value, exactly" [+RangeFilters] => exact_numbers;
    "arrays match no comparison" [] => arrays;
    "places are attributes, one with the metadata key of their name" [] => places;
    "said_at and filed_at compare as times" [+RangeFilters] => times;
    "times are equal however they are written" [] => equal_times;
    "conjunctions and disjunctions nest" [] => nesting;
    "keys and values of any text are compared as they are" [] => hostile_text;
    "documents are matched by exact, case-sensitive substring" [] => documents;
    "document filters nest" [] => nested_documents;
    "an unknown operator is refused as an unsupported filter that names it" [] => unknown_operator;
    "a filter is pushed down the same in get, count, facets, query and lexical" [] => everywhere;
    "a delete by filter removes what the same filter gets" [-ReadOnly] => deletes;
}

fn with(called: &str, metadata: Metadata) -> NewDrawer {
    NewDrawer {
        metadata,
        embedding: Some(vec![1.0, called.len() as f32, 0.0, 0.0]),
        ..plain(called, &format!("alpha text of {called}"))
    }
}

/// Drawers with values of every family under the same keys.
fn palette() -> Vec<NewDrawer> {
    let one = |called: &str, value: Value| with(called, Metadata::new().with("v", value));
    let many = Value::Many(vec![Scalar::Int(3), Scalar::Text("x".into())]);
    let mut drawers = vec![
        one("int 3", 3_i64.into()),
        one("float 3", 3.0.into()),
        one("text 3", "3".into()),
        one("true", true.into()),
        one("false", false.into()),
        one("int 1", 1_i64.into()),
        one("int 0", 0_i64.into()),
        one("float 2.5", 2.5.into()),
        one("int -7", (-7_i64).into()),
        one("big", 9_007_199_254_740_993_i64.into()),
        one("big float", 9_007_199_254_740_992.0.into()),
        one("max", i64::MAX.into()),
        one("text x", "x".into()),
        one("text X", "X".into()),
        one("text empty", "".into()),
        one("text é", "é".into()),
        one("array", many),
        with("missing", Metadata::new()),
    ];
    for (called, wing, said) in [
        ("placed", "work", "2026-05-01T10:00:00Z"),
        ("later", "home", "2026-06-01"),
    ] {
        drawers.push(NewDrawer {
            place: Place {
                wing: Some(wing.into()),
                said_at: Some(time(said)),
                ..Place::default()
            },
            filed_at: Some(time(said)),
            ..with(called, Metadata::new().with("room", "r").with("v", 3_i64))
        });
    }
    drawers
}

/// The stored drawers, as the oracle needs them.
fn stored(collection: &dyn Collection) -> Outcome<Vec<Drawer>> {
    Ok(collection.get(&Get::default())?)
}

fn open_palette(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    scene.filled(palette())
}

/// Shows that get and count answer each filter as the oracle does, and that the oracle is not idle.
fn like_the_oracle(scene: &Scene<'_>, filters: &[&str]) -> Outcome {
    let collection = open_palette(scene)?;
    let all = stored(collection.as_ref())?;
    for json in filters {
        let filter = filter(json);
        let expected: Vec<&str> = all
            .iter()
            .filter(|drawer| filter.accepts(drawer))
            .map(|d| d.id.as_str())
            .collect();
        let found = collection.get(&Get {
            filter: filter.clone(),
            include: Include::NOTHING,
            ..Get::default()
        })?;
        same!(ids(&found), expected, "drawers that {json} accepts");
        if !scene.can(loci_core::Capability::EstimatedCount) {
            same!(
                collection.count(&filter.clone().into())?,
                expected.len() as u64,
                "how many drawers {json} accepts"
            );
        }
    }
    Ok(())
}

fn equality(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"v":3}"#,
            r#"{"v":3.0}"#,
            r#"{"v":"3"}"#,
            r#"{"v":true}"#,
            r#"{"v":false}"#,
            r#"{"v":1}"#,
            r#"{"v":0}"#,
            r#"{"v":"x"}"#,
            r#"{"v":"X"}"#,
            r#"{"v":""}"#,
            r#"{"v":"é"}"#,
            r#"{"v":{"$in":[1,3,2.5]}}"#,
            r#"{"v":{"$in":["x","3"]}}"#,
            r#"{"v":{"$in":[true,false]}}"#,
            r#"{"missing":1}"#,
        ],
    )
}

fn negations(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"v":{"$ne":3}}"#,
            r#"{"v":{"$ne":"x"}}"#,
            r#"{"v":{"$ne":true}}"#,
            r#"{"v":{"$nin":[3,1]}}"#,
            r#"{"v":{"$nin":["x"]}}"#,
            r#"{"gone":{"$ne":1}}"#,
            r#"{"gone":{"$nin":[1,2]}}"#,
            r#"{"wing":{"$ne":"work"}}"#,
            r#"{"said_at":{"$ne":"2026-06-01T00:00:00Z"}}"#,
        ],
    )
}

fn ranges(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"v":{"$gt":2}}"#,
            r#"{"v":{"$gte":3}}"#,
            r#"{"v":{"$lt":3}}"#,
            r#"{"v":{"$lte":2.5}}"#,
            r#"{"v":{"$gt":"3"}}"#,
            r#"{"v":{"$gte":"x"}}"#,
            r#"{"v":{"$lt":"x"}}"#,
            r#"{"v":{"$gte":0,"$lt":3}}"#,
            r#"{"gone":{"$lt":1}}"#,
            r#"{"wing":{"$gt":"home"}}"#,
            r#"{"v":{"$gt":-100}}"#,
        ],
    )
}

fn exact_numbers(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"v":9007199254740993}"#,
            r#"{"v":9007199254740992}"#,
            r#"{"v":9007199254740992.0}"#,
            r#"{"v":{"$gt":9007199254740992.0}}"#,
            r#"{"v":{"$gte":9007199254740993}}"#,
            r#"{"v":9223372036854775807}"#,
            r#"{"v":{"$lt":9223372036854775807}}"#,
            r#"{"v":{"$gt":9.3e18}}"#,
            r#"{"v":{"$ne":9007199254740993}}"#,
        ],
    )
}

fn arrays(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"v":3}"#,
            r#"{"v":"x"}"#,
            r#"{"v":{"$ne":3}}"#,
            r#"{"v":{"$in":[3]}}"#,
            r#"{"v":{"$nin":[3]}}"#,
        ],
    )
}

fn places(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"wing":"work"}"#,
            r#"{"room":"r"}"#,
            r#"{"wing":"home","room":"r"}"#,
            r#"{"source":"x"}"#,
            r#"{"wing":{"$in":["work","home"]}}"#,
        ],
    )
}

fn times(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"said_at":{"$gte":"2026-05-01T10:00:00Z"}}"#,
            r#"{"said_at":{"$gt":"2026-05-01T10:00:00Z"}}"#,
            r#"{"said_at":{"$lt":"2026-05-01T12:00:00.000001+02:00"}}"#,
            r#"{"said_at":{"$lt":"2026-05-02"}}"#,
            r#"{"filed_at":{"$lte":"2026-05-01T10:00:00Z"}}"#,
            r#"{"said_at":{"$gte":0}}"#,
            r#"{"said_at":{"$gt":"no time"}}"#,
        ],
    )
}

fn equal_times(scene: &Scene<'_>) -> Outcome {
    like_the_oracle(
        scene,
        &[
            r#"{"said_at":"2026-05-01T10:00:00Z"}"#,
            r#"{"said_at":"2026-05-01T12:00:00+02:00"}"#,
            r#"{"said_at":"2026-06-01"}"#,
            r#"{"filed_at":"2026-06-01"}"#,
            r#"{"said_at":{"$in":["2026-06-01","2026-05-01T10:00:00.0Z"]}}"#,
            r#"{"said_at":"x"}"#,
        ],
    )
}

fn nesting(scene: &Scene<'_>) -> Outcome {
    let deep = format!("{}{}{}", r#"{"$and":["#.repeat(30), r#"{"v":3}"#, "]}".repeat(30));
    like_the_oracle(
        scene,
        &[
            "{}",
            r#"{"v":3,"wing":"work"}"#,
            r#"{"$or":[{"v":1},{"wing":"home"}]}"#,
            r#"{"$and":[{"$or":[{"v":3},{"v":"x"}]},{"wing":{"$ne":"work"}}]}"#,
            r#"{"$or":[{"$and":[{"v":3},{"room":"r"}]},{"$and":[{"v":{"$nin":[3]}},{"v":{"$in":[1,0]}}]}]}"#,
            &deep,
        ],
    )
}

fn hostile_text(scene: &Scene<'_>) -> Outcome {
    let odd = [
        "it's",
        "\"",
        "a.b",
        "$v",
        "抽屉",
        "a\\b",
        "%",
        "a\0b",
        "[0]",
        "🗄️",
        "' OR 1=1 --",
    ];
    let given = odd.map(|odd| with(odd, Metadata::new().with(odd, odd).with("value", odd)));
    let collection = scene.filled(given)?;
    for text in odd {
        for key in [text, "value"] {
            let found = collection.get(&Get {
                filter: Filter::text(key, text),
                ..Get::default()
            })?;
            same!(ids(&found), [text], "drawers whose {key:?} is {text:?}");
        }
    }
    Ok(())
}

fn texts(scene: &Scene<'_>, filters: &[&str]) -> Outcome {
    let given = [
        "",
        "It's 100% 抽屉 fun",
        "it's 100 fun",
        "a\0b",
        "line\nbreak",
        "ÉCOLE école",
        "_",
    ];
    let collection = scene.filled(
        given
            .iter()
            .enumerate()
            .map(|(at, text)| plain(&format!("d{at}"), text)),
    )?;
    for json in filters {
        let document = DocumentFilter::parse_str(json)?;
        let accepted = given
            .iter()
            .enumerate()
            .filter(|(_, text)| document.accepts(text));
        let expected: Vec<String> = accepted.map(|(at, _)| format!("d{at}")).collect();
        let found = collection.get(&Get {
            document,
            ..Get::default()
        })?;
        same!(ids(&found), expected, "drawers whose text {json} accepts");
    }
    Ok(())
}

fn documents(scene: &Scene<'_>) -> Outcome {
    texts(
        scene,
        &[
            "{}",
            r#"{"$contains":"100%"}"#,
            r#"{"$contains":"抽"}"#,
            r#"{"$contains":"it's"}"#,
            r#"{"$not_contains":"it's"}"#,
            r#"{"$contains":"fun"}"#,
            r#"{"$contains":"\u0000b"}"#,
            r#"{"$contains":"e\nb"}"#,
            r#"{"$contains":"école"}"#,
            r#"{"$contains":"_"}"#,
            r#"{"$contains":"no such text"}"#,
            r#"{"$not_contains":"no such text"}"#,
            r#"{"$contains":"t"}"#,
        ],
    )
}

fn nested_documents(scene: &Scene<'_>) -> Outcome {
    texts(
        scene,
        &[
            r#"{"$or":[{"$contains":"抽"},{"$contains":"_"}]}"#,
            r#"{"$and":[{"$contains":"fun"},{"$not_contains":"%"}]}"#,
            r#"{"$or":[{"$and":[{"$contains":"100"},{"$contains":"It"}]},{"$and":[{"$not_contains":"1"},{"$contains":"b"}]}]}"#,
        ],
    )
}

fn unknown_operator(scene: &Scene<'_>) -> Outcome {
    // A filter reaches a backend as the one AST, so what cannot be read never does; nothing is dropped on the way.
    for (json, named) in [
        (r#"{"$regex":"foo"}"#, "$regex"),
        (r#"{"wing":{"$near":"x"}}"#, "$near"),
        (r#"{"$and":[{"wing":"x"},{"$not":{"wing":"y"}}]}"#, "$not"),
    ] {
        refused(Filter::parse_str(json), ErrorKind::UnsupportedFilter, &[named])?;
    }
    refused(
        DocumentFilter::parse_str(r#"{"$regex":"foo"}"#),
        ErrorKind::UnsupportedFilter,
        &["$regex"],
    )?;
    open_palette(scene).map(drop)
}

fn everywhere(scene: &Scene<'_>) -> Outcome {
    use loci_core::Capability::{ApproximateQuery, EmbeddingsPassthrough, Lexical as Words};
    let collection = open_palette(scene)?;
    let all = stored(collection.as_ref())?;
    let document = DocumentFilter::NotContains("float".into());
    for json in [
        r#"{"v":3}"#,
        r#"{"v":{"$ne":3}}"#,
        r#"{"wing":"work"}"#,
        r#"{"$or":[{"v":"x"},{"v":true},{"room":"r"}]}"#,
    ] {
        let filter = filter(json);
        let meant: Vec<&Drawer> = all.iter().filter(|drawer| filter.accepts(drawer)).collect();
        let by_wing = collection.facets(&Facets {
            by: vec![FacetKey::Wing],
            filter: filter.clone(),
            document: DocumentFilter::All,
        })?;
        same!(
            by_wing.iter().map(|facet| facet.drawers).sum::<u64>(),
            meant.len() as u64,
            "drawers in facets under {json}"
        );
        let text = |drawer: &Drawer| drawer.document.clone().unwrap_or_default();
        let both: Vec<&str> = meant
            .iter()
            .filter(|d| document.accepts(&text(d)))
            .map(|d| d.id.as_str())
            .collect();
        if scene.can(EmbeddingsPassthrough) && !scene.can(ApproximateQuery) {
            let mut lists = collection.query(&Query {
                filter: filter.clone(),
                document: document.clone(),
                ..Query::nearest(vec![1.0, 0.0, 0.0, 0.0], 1_000)
            })?;
            let hits = lists.pop().unwrap_or_default();
            same!(sorted(hit_ids(&hits)), both, "hits of a query under {json}");
        }
        if scene.can(Words) {
            let hits = collection.lexical(&Lexical {
                filter,
                document: document.clone(),
                ..Lexical::words("alpha", 1_000)
            })?;
            same!(
                sorted(hit_ids(&hits)),
                both,
                "hits of a lexical match under {json}"
            );
        }
    }
    Ok(())
}

fn sorted(mut ids: Vec<&str>) -> Vec<&str> {
    ids.sort_unstable();
    ids
}

fn deletes(scene: &Scene<'_>) -> Outcome {
    let collection = open_palette(scene)?;
    for json in [
        r#"{"v":"3"}"#,
        r#"{"v":true}"#,
        r#"{"v":{"$in":[3,1]},"wing":{"$ne":"work"}}"#,
        r#"{"v":{"$ne":3}}"#,
    ] {
        let filter = filter(json);
        let all = stored(collection.as_ref())?;
        let (gone, left): (Vec<&Drawer>, Vec<&Drawer>) =
            all.iter().partition(|drawer| filter.accepts(drawer));
        let receipt = collection.apply_batch(&[Write::Delete(Selection::Matching(filter.into()))])?;
        same!(receipt.deleted.len(), gone.len(), "drawers deleted by {json}");
        let left: Vec<&str> = left.iter().map(|drawer| drawer.id.as_str()).collect();
        same!(all_ids(collection.as_ref())?, left, "ids left by {json}");
    }
    Ok(())
}
