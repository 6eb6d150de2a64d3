//! Filters: every kind of request answers like the oracle in core, `Filter::accepts`.

use std::sync::Arc;

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DocumentFilter, Drawer, DrawerFields, DrawerPlace, ErrorKind,
    FacetKey, FacetRequest, Filter, GetRequest, LexicalRequest, Metadata, MetadataScalar, MetadataValue,
    NewDrawer, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, drawer_ids, hit_ids, parse_filter, parse_time, text_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "filters":
    "equality follows type families: text, numbers and booleans are never equal" [] => equality_by_family;
    "negations accept missing keys" [] => negations_accept_missing;
    "comparisons by order follow type families" [+RangeFilters] => ranges_by_family;
    "integers and floats compare by numeric value, exactly" [+RangeFilters] => exact_numbers;
    "arrays match no comparison" [] => arrays_match_nothing;
    "places are attributes, one with the metadata key of their name" [] => places_are_attributes;
    "said_at and filed_at compare as times" [+RangeFilters] => times_compare_as_times;
    "times are equal however they are written" [] => equal_times;
    "conjunctions and disjunctions nest" [] => filters_nest;
    "keys and values of any text are compared as they are" [] => hostile_text;
    "documents are matched by exact, case-sensitive substring" [] => documents_match_substrings;
    "document filters nest" [] => nested_documents;
    "an unknown operator is refused as an unsupported filter that names it" [] => unknown_operator;
    "a filter is pushed down the same in get, count, facets, query and lexical" [] => same_in_every_question;
    "a delete by filter removes what the same filter gets" [-ReadOnly] => delete_like_get;
}

fn drawer_with_metadata(called: &str, metadata: Metadata) -> NewDrawer {
    NewDrawer {
        metadata,
        // Any vector will do, but each drawer needs one so that queries see all of them.
        embedding: Some(vec![1.0, called.len() as f32, 0.0, 0.0]),
        ..text_drawer(called, &format!("alpha text of {called}"))
    }
}

/// Drawers with values of every type family under the same keys.
fn value_palette() -> Vec<NewDrawer> {
    let one = |called: &str, value: MetadataValue| {
        drawer_with_metadata(called, Metadata::new().with_entry("v", value))
    };
    let many = MetadataValue::Many(vec![MetadataScalar::Int(3), MetadataScalar::Text("x".into())]);
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
        // 2^53 + 1 is the first integer that a double cannot hold; converted to one it equals the next
        // line.
        one("big", 9_007_199_254_740_993_i64.into()),
        one("big float", 9_007_199_254_740_992.0.into()),
        one("max", i64::MAX.into()),
        one("text x", "x".into()),
        one("text X", "X".into()),
        one("text empty", "".into()),
        one("text é", "é".into()),
        // Holds members equal to operands of the filters, to tempt a comparison that looks into lists.
        one("array", many),
        drawer_with_metadata("missing", Metadata::new()),
    ];
    // A metadata key named after a place field, and fields that are set directly.
    for (called, wing, said) in [
        ("placed", "work", "2026-05-01T10:00:00Z"),
        ("later", "home", "2026-06-01"),
    ] {
        drawers.push(NewDrawer {
            place: DrawerPlace {
                wing: Some(wing.into()),
                said_at: Some(parse_time(said)),
                ..DrawerPlace::default()
            },
            filed_at: Some(parse_time(said)),
            ..drawer_with_metadata(
                called,
                Metadata::new().with_entry("room", "r").with_entry("v", 3_i64),
            )
        });
    }
    drawers
}

/// The stored drawers, as the oracle needs them.
fn read_stored(collection: &dyn Collection) -> CaseOutcome<Vec<Drawer>> {
    Ok(collection.get(&GetRequest::default())?)
}

fn open_palette(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    scene.open_filled(value_palette())
}

/// Checks that get and count answer each filter as the oracle does.
fn expect_oracle_answers(scene: &CaseScene<'_>, filters: &[&str]) -> CaseOutcome {
    let collection = open_palette(scene)?;
    let all = read_stored(collection.as_ref())?;
    for json in filters {
        // `Filter::accepts` on the stored drawers is the definition; any index must give the same answer.
        let filter = parse_filter(json);
        let expected: Vec<&str> = all
            .iter()
            .filter(|drawer| filter.accepts(drawer))
            .map(|d| d.id.as_str())
            .collect();
        let found = collection.get(&GetRequest {
            filter: filter.clone(),
            include: DrawerFields::NOTHING,
            ..GetRequest::default()
        })?;
        same!(drawer_ids(&found), expected, "drawers that {json} accepts");
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

fn equality_by_family(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
        scene,
        &[
            // Integers and floats are one family; the text "3" is not in it.
            r#"{"v":3}"#,
            r#"{"v":3.0}"#,
            r#"{"v":"3"}"#,
            r#"{"v":true}"#,
            r#"{"v":false}"#,
            // SQLite stores booleans as 0 and 1: a filter for the number must not find `true`.
            r#"{"v":1}"#,
            r#"{"v":0}"#,
            r#"{"v":"x"}"#,
            r#"{"v":"X"}"#,
            // The empty text is a value, unlike a missing key.
            r#"{"v":""}"#,
            r#"{"v":"é"}"#,
            r#"{"v":{"$in":[1,3,2.5]}}"#,
            r#"{"v":{"$in":["x","3"]}}"#,
            r#"{"v":{"$in":[true,false]}}"#,
            r#"{"missing":1}"#,
        ],
    )
}

fn negations_accept_missing(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
        scene,
        &[
            r#"{"v":{"$ne":3}}"#,
            r#"{"v":{"$ne":"x"}}"#,
            r#"{"v":{"$ne":true}}"#,
            r#"{"v":{"$nin":[3,1]}}"#,
            r#"{"v":{"$nin":["x"]}}"#,
            // In SQL `NULL <> 1` is not true, so a naive translation loses the drawers without the key.
            r#"{"gone":{"$ne":1}}"#,
            r#"{"gone":{"$nin":[1,2]}}"#,
            r#"{"wing":{"$ne":"work"}}"#,
            r#"{"said_at":{"$ne":"2026-06-01T00:00:00Z"}}"#,
        ],
    )
}

fn ranges_by_family(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
        scene,
        &[
            r#"{"v":{"$gt":2}}"#,
            r#"{"v":{"$gte":3}}"#,
            r#"{"v":{"$lt":3}}"#,
            r#"{"v":{"$lte":2.5}}"#,
            // Texts compare with texts only: in SQLite every text is greater than every number.
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

fn exact_numbers(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
        scene,
        &[
            r#"{"v":9007199254740993}"#,
            r#"{"v":9007199254740992}"#,
            r#"{"v":9007199254740992.0}"#,
            // The integer one above must be found: comparing as doubles makes the two equal.
            r#"{"v":{"$gt":9007199254740992.0}}"#,
            r#"{"v":{"$gte":9007199254740993}}"#,
            r#"{"v":9223372036854775807}"#,
            r#"{"v":{"$lt":9223372036854775807}}"#,
            // Beyond every i64, where a cast of the operand to an integer saturates or wraps.
            r#"{"v":{"$gt":9.3e18}}"#,
            r#"{"v":{"$ne":9007199254740993}}"#,
        ],
    )
}

fn arrays_match_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
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

fn places_are_attributes(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
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

fn times_compare_as_times(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
        scene,
        &[
            r#"{"said_at":{"$gte":"2026-05-01T10:00:00Z"}}"#,
            r#"{"said_at":{"$gt":"2026-05-01T10:00:00Z"}}"#,
            // One microsecond after the stored time, in another zone: neither a comparison as text nor one
            // in seconds is right.
            r#"{"said_at":{"$lt":"2026-05-01T12:00:00.000001+02:00"}}"#,
            r#"{"said_at":{"$lt":"2026-05-02"}}"#,
            r#"{"filed_at":{"$lte":"2026-05-01T10:00:00Z"}}"#,
            // A number and a text that is not a time: neither may be read as a time stamp.
            r#"{"said_at":{"$gte":0}}"#,
            r#"{"said_at":{"$gt":"no time"}}"#,
        ],
    )
}

fn equal_times(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_oracle_answers(
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

fn filters_nest(scene: &CaseScene<'_>) -> CaseOutcome {
    // Thirty levels: a translation to SQL may meet a limit on expression depth long before the parser does.
    let deep = format!("{}{}{}", r#"{"$and":["#.repeat(30), r#"{"v":3}"#, "]}".repeat(30));
    expect_oracle_answers(
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

fn hostile_text(scene: &CaseScene<'_>) -> CaseOutcome {
    // Quotes, JSON path syntax, operators, LIKE wildcards, NUL and an injection, each as a key and as a
    // value.
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
    let given = odd
        .map(|odd| drawer_with_metadata(odd, Metadata::new().with_entry(odd, odd).with_entry("value", odd)));
    let collection = scene.open_filled(given)?;
    for text in odd {
        for key in [text, "value"] {
            let found = collection.get(&GetRequest {
                filter: Filter::text_equals(key, text),
                ..GetRequest::default()
            })?;
            same!(drawer_ids(&found), [text], "drawers whose {key:?} is {text:?}");
        }
    }
    Ok(())
}

fn expect_text_matches(scene: &CaseScene<'_>, filters: &[&str]) -> CaseOutcome {
    // NUL ends a C string, `%` and `_` are LIKE wildcards, and two of the texts differ mainly by case.
    let given = [
        "",
        "It's 100% 抽屉 fun",
        "it's 100 fun",
        "a\0b",
        "line\nbreak",
        "ÉCOLE école",
        "_",
    ];
    let collection = scene.open_filled(
        given
            .iter()
            .enumerate()
            .map(|(at, text)| text_drawer(&format!("d{at}"), text)),
    )?;
    for json in filters {
        let document = DocumentFilter::parse_str(json)?;
        let accepted = given
            .iter()
            .enumerate()
            .filter(|(_, text)| document.accepts(text));
        let expected: Vec<String> = accepted.map(|(at, _)| format!("d{at}")).collect();
        let found = collection.get(&GetRequest {
            document,
            ..GetRequest::default()
        })?;
        same!(drawer_ids(&found), expected, "drawers whose text {json} accepts");
    }
    Ok(())
}

fn documents_match_substrings(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_text_matches(
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

fn nested_documents(scene: &CaseScene<'_>) -> CaseOutcome {
    expect_text_matches(
        scene,
        &[
            r#"{"$or":[{"$contains":"抽"},{"$contains":"_"}]}"#,
            r#"{"$and":[{"$contains":"fun"},{"$not_contains":"%"}]}"#,
            r#"{"$or":[{"$and":[{"$contains":"100"},{"$contains":"It"}]},{"$and":[{"$not_contains":"1"},{"$contains":"b"}]}]}"#,
        ],
    )
}

fn unknown_operator(scene: &CaseScene<'_>) -> CaseOutcome {
    // A filter reaches a backend as the one AST, so what cannot be read never does; nothing is dropped on the way.
    for (json, named) in [
        (r#"{"$regex":"foo"}"#, "$regex"),
        (r#"{"wing":{"$near":"x"}}"#, "$near"),
        (r#"{"$and":[{"wing":"x"},{"$not":{"wing":"y"}}]}"#, "$not"),
    ] {
        expect_refusal(Filter::parse_str(json), ErrorKind::UnsupportedFilter, &[named])?;
    }
    expect_refusal(
        DocumentFilter::parse_str(r#"{"$regex":"foo"}"#),
        ErrorKind::UnsupportedFilter,
        &["$regex"],
    )?;
    open_palette(scene).map(drop)
}

fn same_in_every_question(scene: &CaseScene<'_>) -> CaseOutcome {
    use loci_core::Capability::{ApproximateQuery, EmbeddingsPassthrough, Lexical as Words};
    let collection = open_palette(scene)?;
    let all = read_stored(collection.as_ref())?;
    // Combined with a document filter, because backends often push down one of them and apply the other too
    // late, after cutting at k.
    let document = DocumentFilter::NotContains("float".into());
    for json in [
        r#"{"v":3}"#,
        r#"{"v":{"$ne":3}}"#,
        r#"{"wing":"work"}"#,
        r#"{"$or":[{"v":"x"},{"v":true},{"room":"r"}]}"#,
    ] {
        let filter = parse_filter(json);
        let meant: Vec<&Drawer> = all.iter().filter(|drawer| filter.accepts(drawer)).collect();
        let by_wing = collection.facets(&FacetRequest {
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
        // Every drawer has a vector and k exceeds their number, so an exact query must return all that are
        // accepted.
        if scene.can(EmbeddingsPassthrough) && !scene.can(ApproximateQuery) {
            let mut lists = collection.query(&QueryRequest {
                filter: filter.clone(),
                document: document.clone(),
                ..QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], 1_000)
            })?;
            let hits = lists.pop().unwrap_or_default();
            same!(sort_ids(hit_ids(&hits)), both, "hits of a query under {json}");
        }
        if scene.can(Words) {
            let hits = collection.lexical(&LexicalRequest {
                filter,
                document: document.clone(),
                ..LexicalRequest::for_words("alpha", 1_000)
            })?;
            same!(
                sort_ids(hit_ids(&hits)),
                both,
                "hits of a lexical match under {json}"
            );
        }
    }
    Ok(())
}

fn sort_ids(mut ids: Vec<&str>) -> Vec<&str> {
    ids.sort_unstable();
    ids
}

fn delete_like_get(scene: &CaseScene<'_>) -> CaseOutcome {
    let collection = open_palette(scene)?;
    // From narrow to broad on the same collection: each delete meets the index as the one before left it.
    for json in [
        r#"{"v":"3"}"#,
        r#"{"v":true}"#,
        r#"{"v":{"$in":[3,1]},"wing":{"$ne":"work"}}"#,
        r#"{"v":{"$ne":3}}"#,
    ] {
        let filter = parse_filter(json);
        let all = read_stored(collection.as_ref())?;
        let (gone, left): (Vec<&Drawer>, Vec<&Drawer>) =
            all.iter().partition(|drawer| filter.accepts(drawer));
        let receipt = collection.apply_batch(&[Write::Delete(DeleteSelection::Matching(filter.into()))])?;
        same!(receipt.deleted.len(), gone.len(), "drawers deleted by {json}");
        let left: Vec<&str> = left.iter().map(|drawer| drawer.id.as_str()).collect();
        same!(all_ids(collection.as_ref())?, left, "ids left by {json}");
    }
    Ok(())
}
