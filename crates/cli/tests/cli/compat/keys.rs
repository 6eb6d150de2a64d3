//! Every tool, and the keys of what it returns.

use serde_json::json;

use super::{keys, scene};

#[test]
fn what_reads_answers_with_mempalaces_keys() {
    let (_folder, mut client) = scene();
    let roses = client.add("garden", "roses", "The roses are pruned in March.");
    client.add("garden", "lawn", "The lawn is mown every week.");
    client.done(
        "add_drawer",
        json!({"wing": "kitchen", "room": "bread", "content": "Bread rises overnight in the cellar.",
            "source_file": "/notes/bread.md", "added_by": "baker"}),
    );
    assert_eq!(
        client.done("list_wings", json!({})),
        json!({"wings": {"garden": 2, "kitchen": 1}})
    );
    assert_eq!(
        client.done("list_rooms", json!({"wing": "garden"})),
        json!({"wing": "garden", "rooms": {"roses": 1, "lawn": 1}})
    );
    assert_eq!(
        client.done("list_rooms", json!({"wing": ""})),
        json!({"wing": "all", "rooms": {"roses": 1, "lawn": 1, "bread": 1}})
    );
    assert_eq!(
        client.done("get_taxonomy", json!({})),
        json!({"taxonomy": {"garden": {"roses": 1, "lawn": 1}, "kitchen": {"bread": 1}}})
    );
    let duplicate = client.done(
        "check_duplicate",
        json!({"content": "The roses are pruned in March."}),
    );
    keys(&duplicate, "is_duplicate matches");
    keys(&duplicate["matches"][0], "id wing room similarity content");
    assert_eq!(duplicate["is_duplicate"], true);
    assert_eq!(duplicate["matches"][0]["id"], roses.as_str());
    let new = client.done("check_duplicate", json!({"content": "Ships sail at dawn."}));
    assert_eq!(new, json!({"is_duplicate": false, "matches": []}));
    let one = client.done("get_drawer", json!({"drawer_id": roses}));
    keys(&one, "drawer_id content wing room metadata trust");
    assert_eq!(one["content"], "The roses are pruned in March.");
    assert_eq!(one["metadata"]["added_by"], "mcp");
    let many = client.done("get_drawers", json!({"drawer_ids": [roses, "nobody"]}));
    keys(&many, "results count errors");
    keys(&many["results"][1], "drawer_id error");
    assert_eq!((&many["count"], &many["errors"]), (&json!(2), &json!(1)));
    let listed = client.done(
        "list_drawers",
        json!({"wing": "kitchen", "since": "2020-01-01", "limit": 5}),
    );
    keys(&listed, "drawers total count offset limit");
    keys(
        &listed["drawers"][0],
        "drawer_id wing room content_preview metadata",
    );
    assert_eq!(listed["drawers"][0]["metadata"]["source_file"], "/notes/bread.md");
    assert_eq!(listed["drawers"][0]["metadata"]["added_by"], "baker");
    let none = client.done("list_drawers", json!({"before": "2020-01-01"}));
    assert_eq!((&none["total"], &none["count"]), (&json!(0), &json!(0)));
    let second = client.done("list_drawers", json!({"limit": 2, "offset": 2}));
    assert_eq!((&second["total"], &second["count"]), (&json!(3), &json!(1)));
    let again = client.done("reconnect", json!({}));
    keys(&again, "success message drawers vector_disabled");
    assert_eq!(again["drawers"], 3);
}

#[test]
fn a_search_answers_with_mempalaces_keys_and_honours_its_arguments() {
    let (_folder, mut client) = scene();
    client.add("garden", "lawn", "The lawn is mown every week.");
    client.done(
        "add_drawer",
        json!({"wing": "kitchen", "room": "bread", "content": "Bread rises overnight in the cellar.",
            "source_file": "/notes/bread.md"}),
    );
    let found = client.done("search", json!({"query": "where does the bread rise?"}));
    keys(&found, "query filters total_before_filter results");
    keys(&found["filters"], "wing room source_file since before");
    let best = &found["results"][0];
    keys(
        best,
        "drawer_id text wing room source_file source_path created_at filed_at authored_at similarity distance \
         effective_distance closet_boost matched_via bm25_score trust",
    );
    assert_eq!(best["source_file"], "bread.md");
    assert_eq!(best["source_path"], "/notes/bread.md");
    assert_eq!(best["created_at"], best["filed_at"]);
    let sum = best["similarity"].as_f64().unwrap() + best["distance"].as_f64().unwrap();
    assert!((sum - 1.0).abs() < 0.002, "{best}");
    assert_eq!(found["total_before_filter"], 2);
    let near = json!({"query": "where does the bread rise?", "max_distance": 0.6});
    let near = client.done("search", near);
    assert_eq!(near["total_before_filter"], 2);
    assert_eq!(near["results"].as_array().unwrap().len(), 1, "{near}");
    let off = client.done(
        "search",
        json!({"query": "bread", "max_distance": 0, "limit": 1000}),
    );
    assert_eq!(off["results"].as_array().unwrap().len(), 2);
    for narrow in [
        json!({"query": "bread", "wing": "garden"}),
        json!({"query": "bread", "room": "lawn"}),
        json!({"query": "lawn", "source_file": "/notes/bread.md"}),
        json!({"query": "bread", "limit": 0}),
    ] {
        let found = client.done("search", narrow);
        assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    }
    let early = client.done("search", json!({"query": "bread", "before": "2020-01-01"}));
    assert_eq!(early["results"], json!([]));
    let long = client.done(
        "search",
        json!({"query": "bread that rises ".repeat(100), "candidate_strategy": "union", "context": "asked before",
            "query_task": "search", "include_media": false, "cli_compatible": true, "wait_for_previous": true}),
    );
    assert_eq!(long["results"][0]["source_file"], "bread.md");
    assert_eq!(long["context_received"], true);
}

#[test]
fn what_files_answers_with_mempalaces_keys_and_files_once() {
    let (_folder, mut client) = scene();
    let note = json!({"wing": "garden", "room": "roses", "content": "The roses are pruned in March."});
    let added = client.done("add_drawer", note.clone());
    keys(&added, "success drawer_id wing room chunks");
    let again = client.done("add_drawer", note);
    keys(&again, "success drawer_id wing room chunks reason");
    assert_eq!(again["reason"], "already_exists");
    assert_eq!(again["drawer_id"], added["drawer_id"]);
    let saved = client.done(
        "checkpoint",
        json!({"items": [
                {"wing": "garden", "room": "roses", "content": "The roses are pruned in March."},
                {"wing": "garden", "room": "lawn", "content": "The lawn is mown every week."},
                {"wing": "garden", "room": "lawn", "content": " "},
            ],
            "diary": {"agent_name": "Claude", "entry": "Saved the session."}}),
    );
    keys(&saved, "success added duplicates errors diary");
    keys(&saved["added"][0], "index drawer_id wing room");
    keys(&saved["duplicates"][0], "index wing room drawer_id matches");
    keys(&saved["errors"][0], "index error");
    assert_eq!(saved["success"], false, "one of them was not saved");
    assert_eq!(saved["duplicates"][0]["drawer_id"], added["drawer_id"]);
    let filed = client.done("get_drawer", json!({"drawer_id": saved["added"][0]["drawer_id"]}));
    assert_eq!(filed["content"], "The lawn is mown every week.");
    assert_eq!(filed["metadata"]["added_by"], "Claude");
    let entry = client.done("get_drawer", json!({"drawer_id": saved["diary"]["entry_id"]}));
    assert_eq!(entry["wing"], "wing_claude");
    assert_eq!(client.done("status", json!({}))["total_drawers"], 3);
}

#[test]
fn what_changes_and_removes_answers_with_mempalaces_keys() {
    let (_folder, mut client) = scene();
    let id = client.add("garden", "roses", "The roses are pruned in March.");
    let moved = client.done(
        "update_drawer",
        json!({"drawer_id": id, "room": "shrubs", "content": "The roses are pruned in April."}),
    );
    keys(&moved, "success drawer_id wing room closets_deleted");
    assert_eq!(
        (&moved["wing"], &moved["room"]),
        (&json!("garden"), &json!("shrubs"))
    );
    let changed = client.done("get_drawer", json!({"drawer_id": id}));
    assert_eq!(changed["content"], "The roses are pruned in April.");
    let same = client.done("update_drawer", json!({"drawer_id": id}));
    assert_eq!(same["noop"], true);
    let gone = client.done("delete_drawer", json!({"drawer_id": id}));
    keys(
        &gone,
        "success drawer_id deleted_ids chunks_deleted closets_deleted",
    );
    assert_eq!(gone["deleted_ids"], json!([id]));
    let two = [
        client.add("a", "b", "One of two."),
        client.add("a", "b", "Another thing."),
    ];
    let gone = client.done(
        "delete_drawers",
        json!({"drawer_ids": [two[0], "nobody", two[1]]}),
    );
    keys(&gone, "success results count deleted errors");
    keys(
        &gone["results"][0],
        "drawer_id deleted_ids chunks_deleted closets_deleted",
    );
    keys(&gone["results"][1], "drawer_id error");
    assert_eq!(
        (
            &gone["success"],
            &gone["count"],
            &gone["deleted"],
            &gone["errors"]
        ),
        (&json!(false), &json!(3), &json!(2), &json!(1))
    );
    assert_eq!(client.done("status", json!({}))["total_drawers"], 0);
}
