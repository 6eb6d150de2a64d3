//! Lists in metadata: they are compared by their members, and only by `$in`, `$contains` and their negations.

use std::sync::Arc;

use loci_core::{
    Capability, Collection, CollectionExt, DeleteSelection, Drawer, DrawerPatch, FacetRequest, GetRequest,
    LexicalRequest, Metadata, MetadataScalar, MetadataValue, NewDrawer, QueryRequest, Write,
};

use crate::samples::{all_ids, hit_ids, id, id_texts, parse_filter, text_drawer, vector_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "members":
    "contains accepts a list with a member equal to its operand" [] => contains_a_member;
    "not_contains is the exact negation of contains: a list without it, a single value, or no value" [] => not_contains;
    "in accepts a list with a member equal to one of its operands" [] => in_lists;
    "nin is the exact negation of in, for lists too" [] => nin_lists;
    "members of different families are never equal; integers and floats compare by numeric value" [] => members_keep_families;
    "a member is compared whole, never by a part of its text" [] => whole_members;
    "lists are never equal to a value, and never less or greater" [] => never_equal;
    "a list under the key of a place field that is set is not looked at" [] => place_fields;
    "every question asks lists by their members" [] => every_question;
    "members follow the updates of their drawer" [-ReadOnly] => members_follow_updates;
    "drawers are removed by the members of their lists" [-ReadOnly] => removes_by_member;
}

fn list_value(members: impl IntoIterator<Item = MetadataScalar>) -> MetadataValue {
    MetadataValue::Many(members.into_iter().collect())
}

fn word_list<const N: usize>(words: [&str; N]) -> MetadataValue {
    list_value(words.map(|word| MetadataScalar::Text(word.into())))
}

fn tagged_drawer(called: &str, tags: MetadataValue) -> NewDrawer {
    NewDrawer {
        metadata: Metadata::new().with_entry("tags", tags),
        ..vector_drawer(called, "alpha text", &[1.0, 0.5, 0.0, 0.0])
    }
}

/// Lists of every type family, beside single values and a drawer without the key.
fn open_lists(scene: &CaseScene<'_>) -> CaseOutcome<Arc<dyn Collection>> {
    let mixed = [
        MetadataScalar::Text("x".into()),
        MetadataScalar::Int(7),
        MetadataScalar::Bool(true),
    ];
    let given = vec![
        tagged_drawer("words", word_list(["x", "y"])),
        // Members that contain "x" as a part, as a JSON string, in brackets and before a comma: a search in
        // the serialised list would find all of them.
        tagged_drawer("longer", word_list(["xyz", "x y", "\"x\"", "[x]", "x,y"])),
        tagged_drawer("ints", list_value([1, 2].map(MetadataScalar::Int))),
        tagged_drawer("floats", list_value([1.0, 2.5].map(MetadataScalar::Float))),
        tagged_drawer("digits", word_list(["1", "true"])),
        tagged_drawer("truths", list_value([true].map(MetadataScalar::Bool))),
        tagged_drawer("mixed", list_value(mixed)),
        // A single value is not a list of one: `$contains` must not find it, `$in` must.
        tagged_drawer("single", MetadataValue::from("x")),
        tagged_drawer("number", MetadataValue::from(1_i64)),
        text_drawer("none", "alpha text"),
    ];
    scene.open_filled(given.into_iter().map(|drawer| scene.fit_drawer(drawer)))
}

/// Checks that each filter finds exactly these drawers.
fn expect_found(collection: &dyn Collection, cases: &[(&str, &[&str])]) -> CaseOutcome {
    for (json, expected) in cases {
        let mut expected = expected.to_vec();
        expected.sort_unstable();
        let found = collection.get(&GetRequest::by_filter(parse_filter(json)))?;
        same!(crate::samples::drawer_ids(&found), expected, "ids under {json}");
    }
    Ok(())
}

fn contains_a_member(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    expect_found(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$contains":"x"}}"#, &["words", "mixed"]),
            (r#"{"tags":{"$contains":"y"}}"#, &["words"]),
            (r#"{"tags":{"$contains":"z"}}"#, &[]),
            (r#"{"tags":{"$contains":7}}"#, &["mixed"]),
            // A missing key has no members.
            (r#"{"gone":{"$contains":"x"}}"#, &[]),
        ],
    )
}

fn not_contains(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    // Everything that `$contains` does not accept, including single values and the drawer without the key.
    let others = [
        "longer", "ints", "floats", "digits", "truths", "single", "number", "none",
    ];
    expect_found(lists.as_ref(), &[(r#"{"tags":{"$not_contains":"x"}}"#, &others)])?;
    let all = all_ids(lists.as_ref())?;
    let all: Vec<&str> = all.iter().map(String::as_str).collect();
    expect_found(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$not_contains":"z"}}"#, &all),
            (r#"{"gone":{"$not_contains":"x"}}"#, &all),
        ],
    )
}

fn in_lists(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    expect_found(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$in":["x","q"]}}"#, &["words", "mixed", "single"]),
            (r#"{"tags":{"$in":[7,2.5]}}"#, &["mixed", "floats"]),
            (r#"{"tags":{"$in":["q"]}}"#, &[]),
        ],
    )
}

fn nin_lists(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    let stored = lists.get(&GetRequest::default())?;
    for operands in [r#"["x","q"]"#, "[7,2.5]", r#"["q"]"#, "[1]", "[true]"] {
        // The complement is computed from the oracle for `$in`, so the two operators cannot both be wrong
        // in the same way.
        let accepted = parse_filter(&format!(r#"{{"tags":{{"$in":{operands}}}}}"#));
        let others = stored.iter().filter(|drawer| !accepted.accepts(drawer));
        let others: Vec<&str> = others.map(|drawer| drawer.id.as_str()).collect();
        expect_found(
            lists.as_ref(),
            &[(&format!(r#"{{"tags":{{"$nin":{operands}}}}}"#), &others)],
        )?;
    }
    Ok(())
}

fn members_keep_families(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    expect_found(
        lists.as_ref(),
        &[
            // 1 and 1.0 are the same number, "1" is a text and `true` is not 1, although SQLite's JSON
            // functions return 1 for it.
            (r#"{"tags":{"$contains":1}}"#, &["ints", "floats"]),
            (r#"{"tags":{"$contains":1.0}}"#, &["ints", "floats"]),
            (r#"{"tags":{"$contains":"1"}}"#, &["digits"]),
            (r#"{"tags":{"$contains":true}}"#, &["truths", "mixed"]),
            (r#"{"tags":{"$contains":"true"}}"#, &["digits"]),
            (r#"{"tags":{"$in":[1.0]}}"#, &["ints", "floats", "number"]),
        ],
    )
}

fn whole_members(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    expect_found(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$contains":"xy"}}"#, &[]),
            (r#"{"tags":{"$contains":"X"}}"#, &[]),
            (r#"{"tags":{"$contains":"xyz"}}"#, &["longer"]),
            (r#"{"tags":{"$contains":"\"x\""}}"#, &["longer"]),
            (r#"{"tags":{"$contains":"x,y"}}"#, &["longer"]),
            // Would match the text of the list ["x","y"] if members were not compared one by one.
            (r#"{"tags":{"$contains":"x\",\"y"}}"#, &[]),
        ],
    )
}

fn never_equal(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    expect_found(
        lists.as_ref(),
        &[(r#"{"tags":"x"}"#, &["single"]), (r#"{"tags":1}"#, &["number"])],
    )?;
    // All lists and the drawer without the key: `$ne` is the exact negation of `$eq`, which matches no
    // list.
    let unequal = [
        "words", "longer", "ints", "floats", "digits", "truths", "mixed", "number", "none",
    ];
    expect_found(lists.as_ref(), &[(r#"{"tags":{"$ne":"x"}}"#, &unequal)])?;
    // A backend that stores members as rows of their own finds lists by order, too, unless it takes care.
    if scene.can(Capability::RangeFilters) {
        let ordered: [(&str, &[&str]); 2] = [
            (r#"{"tags":{"$gte":0}}"#, &["number"]),
            (r#"{"tags":{"$lte":"zzz"}}"#, &["single"]),
        ];
        expect_found(lists.as_ref(), &ordered)?;
    }
    Ok(())
}

fn place_fields(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut placed = text_drawer("placed", "text");
    placed.place.room = Some("x".into());
    // The field is set, so it alone answers for the key; without it the list in the metadata does.
    placed.metadata = Metadata::new().with_entry("room", word_list(["y"]));
    let unplaced = NewDrawer {
        metadata: Metadata::new().with_entry("room", word_list(["y", "z"])),
        ..text_drawer("unplaced", "text")
    };
    let drawers = scene.open_filled([placed, unplaced])?;
    expect_found(
        drawers.as_ref(),
        &[
            (r#"{"room":{"$contains":"y"}}"#, &["unplaced"]),
            (r#"{"room":{"$not_contains":"y"}}"#, &["placed"]),
            (r#"{"room":{"$in":["x","z"]}}"#, &["placed", "unplaced"]),
        ],
    )
}

fn every_question(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    let stored = lists.get(&GetRequest::default())?;
    for json in [
        r#"{"tags":{"$contains":"x"}}"#,
        r#"{"tags":{"$not_contains":1}}"#,
        r#"{"$or":[{"tags":{"$in":[2]}},{"tags":{"$contains":true}}]}"#,
    ] {
        let filter = parse_filter(json);
        let meant: Vec<&Drawer> = stored.iter().filter(|drawer| filter.accepts(drawer)).collect();
        let ids: Vec<&str> = meant.iter().map(|drawer| drawer.id.as_str()).collect();
        if !scene.can(Capability::EstimatedCount) {
            same!(
                lists.count(&filter.clone().into())?,
                ids.len() as u64,
                "count under {json}"
            );
        }
        let facets = lists.facets(&FacetRequest {
            filter: filter.clone(),
            ..FacetRequest::by_room()
        })?;
        same!(
            facets[0].drawers,
            ids.len() as u64,
            "drawers in facets under {json}"
        );
        if scene.can(Capability::EmbeddingsPassthrough) {
            let query = QueryRequest {
                filter: filter.clone(),
                ..QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], 9)
            };
            // The drawer without tags has no vector either, so no query can return it.
            let with_vector: Vec<&str> = ids.iter().copied().filter(|called| *called != "none").collect();
            same!(
                hit_ids(&lists.query(&query)?[0]),
                with_vector,
                "hits of a query under {json}"
            );
        }
        if scene.can(Capability::Lexical) {
            let lexical = LexicalRequest {
                filter,
                ..LexicalRequest::for_words("alpha", 20)
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

fn members_follow_updates(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    let set = |called: &str, tags: Option<MetadataValue>| {
        let mut patch = DrawerPatch::new(id(called));
        patch.metadata.insert("tags".into(), tags);
        Write::Update(patch)
    };
    // A list replaced, removed and added, a list turned into a single value, and a drawer replaced as a
    // whole: entries of a member index must follow each of them.
    lists.apply_batch(&[
        set("words", Some(word_list(["y", "new"]))),
        set("mixed", None),
        set("none", Some(word_list(["x"]))),
        set("ints", Some(MetadataValue::from("x"))),
        Write::Upsert(text_drawer("floats", "text")),
    ])?;
    expect_found(
        lists.as_ref(),
        &[
            (r#"{"tags":{"$contains":"x"}}"#, &["none"]),
            (r#"{"tags":{"$contains":"new"}}"#, &["words"]),
            (r#"{"tags":{"$in":["x"]}}"#, &["none", "ints", "single"]),
            (r#"{"tags":{"$contains":1}}"#, &[]),
        ],
    )
}

fn removes_by_member(scene: &CaseScene<'_>) -> CaseOutcome {
    let lists = open_lists(scene)?;
    let matching = |json| {
        [Write::Delete(DeleteSelection::Matching(
            parse_filter(json).into(),
        ))]
    };
    // Order among the drawers of one delete is not promised.
    let mut receipt = lists.apply_batch(&matching(r#"{"tags":{"$contains":1}}"#))?;
    receipt.deleted.sort();
    same!(
        id_texts(&receipt.deleted),
        ["floats", "ints"],
        "deleted by a member"
    );
    lists.apply_batch(&matching(r#"{"tags":{"$not_contains":"x"}}"#))?;
    same!(all_ids(lists.as_ref())?, ["mixed", "words"], "ids left");
    // Members of removed drawers must not stay behind in the index.
    expect_found(lists.as_ref(), &[(r#"{"tags":{"$contains":1}}"#, &[])])
}
