//! Lists in metadata: they are compared by their members, and only by `$in`, `$contains` and their negations.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, Drawer, Facets, Get, Lexical, Metadata, NewDrawer, Patch, Query,
    Scalar, Selection, Value, Write,
};

use crate::samples::{all_ids, filter, hit_ids, id, plain, texts, vectored};
use crate::{Outcome, Scene};

cases! { "members":
    "contains accepts a list with a member equal to its operand" [] => contains;
    "not_contains is the exact negation of contains: a list without it, a single value, or no value" [] => not_contains;
    "in accepts a list with a member equal to one of its operands" [] => in_lists;
    "nin is the exact negation of in, for lists too" [] => nin_lists;
    "members of different families are never equal; integers and floats compare by numeric value" [] => families;
    "a member is compared whole, never by a part of its text" [] => whole_members;
    "lists are never equal to a value, and never less or greater" [] => never_equal;
    "a list under the key of a place field that is set is not looked at" [] => place_fields;
    "every question asks lists by their members" [] => every_question;
    "members follow the updates of their drawer" [-ReadOnly] => updated;
    "drawers are removed by the members of their lists" [-ReadOnly] => removed;
}

fn many(members: impl IntoIterator<Item = Scalar>) -> Value {
    Value::Many(members.into_iter().collect())
}

fn words<const N: usize>(words: [&str; N]) -> Value {
    many(words.map(|word| Scalar::Text(word.into())))
}

fn tagged(called: &str, tags: Value) -> NewDrawer {
    NewDrawer {
        metadata: Metadata::new().with("tags", tags),
        ..vectored(called, "alpha text", &[1.0, 0.5, 0.0, 0.0])
    }
}

/// Lists of every family beside single values and no value at all.
fn lists(scene: &Scene<'_>) -> Outcome<Arc<dyn Collection>> {
    let mixed = [Scalar::Text("x".into()), Scalar::Int(7), Scalar::Bool(true)];
    let given = vec![
        tagged("words", words(["x", "y"])),
        tagged("longer", words(["xyz", "x y", "\"x\"", "[x]", "x,y"])),
        tagged("ints", many([1, 2].map(Scalar::Int))),
        tagged("floats", many([1.0, 2.5].map(Scalar::Float))),
        tagged("digits", words(["1", "true"])),
        tagged("truths", many([true].map(Scalar::Bool))),
        tagged("mixed", many(mixed)),
        tagged("single", Value::from("x")),
        tagged("number", Value::from(1_i64)),
        plain("none", "alpha text"),
    ];
    scene.filled(given.into_iter().map(|drawer| scene.fit(drawer)))
}

/// Shows that each filter finds just these drawers.
fn finds(collection: &dyn Collection, cases: &[(&str, &[&str])]) -> Outcome {
    for (json, expected) in cases {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let found = collection.get(&Get::matching(filter(json)))?;
        same!(crate::samples::ids(&found), expected, "ids under {json}");
    }
    Ok(())
}

fn contains(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    finds(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$contains":"x"}}"#, &["words", "mixed"]),
            (r#"{"tags":{"$contains":"y"}}"#, &["words"]),
            (r#"{"tags":{"$contains":"z"}}"#, &[]),
            (r#"{"tags":{"$contains":7}}"#, &["mixed"]),
            (r#"{"gone":{"$contains":"x"}}"#, &[]),
        ],
    )
}

fn not_contains(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    let others = [
        "longer", "ints", "floats", "digits", "truths", "single", "number", "none",
    ];
    finds(lists.as_ref(), &[(r#"{"tags":{"$not_contains":"x"}}"#, &others)])?;
    let all = all_ids(lists.as_ref())?;
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    finds(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$not_contains":"z"}}"#, &all),
            (r#"{"gone":{"$not_contains":"x"}}"#, &all),
        ],
    )
}

fn in_lists(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    finds(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$in":["x","q"]}}"#, &["words", "mixed", "single"]),
            (r#"{"tags":{"$in":[7,2.5]}}"#, &["mixed", "floats"]),
            (r#"{"tags":{"$in":["q"]}}"#, &[]),
        ],
    )
}

fn nin_lists(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    let stored = lists.get(&Get::default())?;
    for operands in [r#"["x","q"]"#, "[7,2.5]", r#"["q"]"#, "[1]", "[true]"] {
        let accepted = filter(&format!(r#"{{"tags":{{"$in":{operands}}}}}"#));
        let others = stored.iter().filter(|drawer| !accepted.accepts(drawer));
        let others: Vec<&str> = others.map(|drawer| drawer.id.as_str()).collect();
        finds(
            lists.as_ref(),
            &[(&format!(r#"{{"tags":{{"$nin":{operands}}}}}"#), &others)],
        )?;
    }
    Ok(())
}

fn families(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    finds(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$contains":1}}"#, &["ints", "floats"]),
            (r#"{"tags":{"$contains":1.0}}"#, &["ints", "floats"]),
            (r#"{"tags":{"$contains":"1"}}"#, &["digits"]),
            (r#"{"tags":{"$contains":true}}"#, &["truths", "mixed"]),
            (r#"{"tags":{"$contains":"true"}}"#, &["digits"]),
            (r#"{"tags":{"$in":[1.0]}}"#, &["ints", "floats", "number"]),
        ],
    )
}

fn whole_members(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    finds(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$contains":"xy"}}"#, &[]),
            (r#"{"tags":{"$contains":"X"}}"#, &[]),
            (r#"{"tags":{"$contains":"xyz"}}"#, &["longer"]),
            (r#"{"tags":{"$contains":"\"x\""}}"#, &["longer"]),
            (r#"{"tags":{"$contains":"x,y"}}"#, &["longer"]),
            (r#"{"tags":{"$contains":"x\",\"y"}}"#, &[]),
        ],
    )
}

fn never_equal(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    finds(
        lists.as_ref(),
        &[(r#"{"tags":"x"}"#, &["single"]), (r#"{"tags":1}"#, &["number"])],
    )?;
    let unequal = [
        "words", "longer", "ints", "floats", "digits", "truths", "mixed", "number", "none",
    ];
    finds(lists.as_ref(), &[(r#"{"tags":{"$ne":"x"}}"#, &unequal)])?;
    if scene.can(Capability::RangeFilters) {
        let ordered: [(&str, &[&str]); 2] = [
            (r#"{"tags":{"$gte":0}}"#, &["number"]),
            (r#"{"tags":{"$lte":"zzz"}}"#, &["single"]),
        ];
        finds(lists.as_ref(), &ordered)?;
    }
    Ok(())
}

fn place_fields(scene: &Scene<'_>) -> Outcome {
    let mut placed = plain("placed", "text");
    placed.place.room = Some("x".into());
    placed.metadata = Metadata::new().with("room", words(["y"]));
    let unplaced = NewDrawer {
        metadata: Metadata::new().with("room", words(["y", "z"])),
        ..plain("unplaced", "text")
    };
    let drawers = scene.filled([placed, unplaced])?;
    finds(
        drawers.as_ref(),
        &[
            (r#"{"room":{"$contains":"y"}}"#, &["unplaced"]),
            (r#"{"room":{"$not_contains":"y"}}"#, &["placed"]),
            (r#"{"room":{"$in":["x","z"]}}"#, &["placed", "unplaced"]),
        ],
    )
}

fn every_question(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    let stored = lists.get(&Get::default())?;
    for json in [
        r#"{"tags":{"$contains":"x"}}"#,
        r#"{"tags":{"$not_contains":1}}"#,
        r#"{"$or":[{"tags":{"$in":[2]}},{"tags":{"$contains":true}}]}"#,
    ] {
        let filter = filter(json);
        let meant: Vec<&Drawer> = stored.iter().filter(|drawer| filter.accepts(drawer)).collect();
        let ids: Vec<&str> = meant.iter().map(|drawer| drawer.id.as_str()).collect();
        if !scene.can(Capability::EstimatedCount) {
            same!(
                lists.count(&filter.clone().into())?,
                ids.len() as u64,
                "count under {json}"
            );
        }
        let facets = lists.facets(&Facets {
            filter: filter.clone(),
            ..Facets::by_room()
        })?;
        same!(
            facets[0].drawers,
            ids.len() as u64,
            "drawers in facets under {json}"
        );
        if scene.can(Capability::EmbeddingsPassthrough) {
            let query = Query {
                filter: filter.clone(),
                ..Query::nearest(vec![1.0, 0.0, 0.0, 0.0], 9)
            };
            let with_vector: Vec<&str> = ids.iter().copied().filter(|called| *called != "none").collect();
            same!(
                hit_ids(&lists.query(&query)?[0]),
                with_vector,
                "hits of a query under {json}"
            );
        }
        if scene.can(Capability::Lexical) {
            let lexical = Lexical {
                filter,
                ..Lexical::words("alpha", 20)
            };
            same!(
                hit_ids(&lists.lexical(&lexical)?),
                ids,
                "hits of a lexical match under {json}"
            );
        }
    }
    Ok(())
}

fn updated(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    let set = |called: &str, tags: Option<Value>| {
        let mut patch = Patch::new(id(called));
        patch.metadata.insert("tags".into(), tags);
        Write::Update(patch)
    };
    lists.apply_batch(&[
        set("words", Some(words(["y", "new"]))),
        set("mixed", None),
        set("none", Some(words(["x"]))),
        set("ints", Some(Value::from("x"))),
        Write::Upsert(plain("floats", "text")),
    ])?;
    finds(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$contains":"x"}}"#, &["none"]),
            (r#"{"tags":{"$contains":"new"}}"#, &["words"]),
            (r#"{"tags":{"$in":["x"]}}"#, &["none", "ints", "single"]),
            (r#"{"tags":{"$contains":1}}"#, &[]),
        ],
    )
}

fn removed(scene: &Scene<'_>) -> Outcome {
    let lists = lists(scene)?;
    let matching = |json| [Write::Delete(Selection::Matching(filter(json).into()))];
    let mut receipt = lists.apply_batch(&matching(r#"{"tags":{"$contains":1}}"#))?;
    receipt.deleted.sort();
    same!(texts(&receipt.deleted), ["floats", "ints"], "deleted by a member");
    lists.apply_batch(&matching(r#"{"tags":{"$not_contains":"x"}}"#))?;
    same!(all_ids(lists.as_ref())?, ["mixed", "words"], "ids left");
    finds(lists.as_ref(), &[(r#"{"tags":{"$contains":1}}"#, &[])])
}
