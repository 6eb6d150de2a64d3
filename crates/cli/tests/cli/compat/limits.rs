//! Errors, restrictions, long texts, and what MemPalace itself filed.

use std::io::Write as _;
use std::process::Stdio;

use serde_json::{Value as Json, json};

use super::{Client, TOOLS, keys, loci, scene, text};

#[test]
fn errors_have_mempalaces_keys_and_say_what_to_do() {
    let (_folder, mut client) = scene();
    client.add("garden", "roses", "The roses are pruned in March.");
    let unknown = client.refused("search", json!({"query": "x", "wings": "garden", "top_k": 3}));
    keys(&unknown, "error kind hint");
    assert_eq!(unknown["error"], "unknown arguments: top_k, wings");
    assert!(text(&unknown["hint"]).contains("wing"), "{unknown}");
    let item = json!({"wing": "a", "room": "b", "content": "c", "colour": "red"});
    let unknown = client.refused("checkpoint", json!({"items": [item]}));
    assert!(text(&unknown["error"]).contains("colour"), "{unknown}");
    let missing = client.refused("add_drawer", json!({"wing": "w", "content": "c"}));
    keys(&missing, "success error kind hint");
    assert_eq!(
        (&missing["success"], &missing["error"]),
        (&json!(false), &json!("missing: room"))
    );
    let nobody = client.refused("get_drawer", json!({"drawer_id": "nobody"}));
    keys(&nobody, "error kind hint");
    assert_eq!(nobody["error"], "Drawer not found: nobody");
    for (tool, arguments) in [
        ("update_drawer", json!({"drawer_id": "nobody"})),
        ("update_drawer", json!({"drawer_id": "nobody", "room": "r"})),
        ("delete_drawer", json!({"drawer_id": "nobody"})),
        ("diary_write", json!({"agent_name": "claude"})),
        ("checkpoint", json!({"items": []})),
        ("delete_drawers", json!({"drawer_ids": []})),
        ("delete_by_source", json!({"source_file": " "})),
    ] {
        let said = client.refused(tool, arguments);
        keys(&said, "success error kind hint");
        assert_eq!(said["success"], false, "{tool}");
    }
    for (tool, arguments) in [
        ("search", json!({"query": " "})),
        ("search", json!({"query": "x", "since": "soon"})),
        (
            "list_drawers",
            json!({"since": "2026-02-01", "before": "2026-01-01"}),
        ),
    ] {
        client.refused(tool, arguments);
    }
    let no_tool = client.ask(
        "tools/call",
        &json!({"name": "mempalace_kg_add", "arguments": {}}),
    );
    assert!(
        text(&no_tool["error"]["message"]).contains("mempalace_kg_add"),
        "{no_tool}"
    );
    assert_eq!(
        client.done("status", json!({}))["total_drawers"],
        1,
        "nothing was changed"
    );
}

#[test]
fn a_reader_has_only_what_reads() {
    let (folder, mut client) = scene();
    client.add("garden", "roses", "The roses are pruned in March.");
    let mut reader = Client::start(folder.path(), &["--read-only"]);
    let reads: Vec<&str> = TOOLS
        .iter()
        .filter(|(_, reads)| *reads)
        .map(|(name, _)| *name)
        .collect();
    assert_eq!(reader.names(), reads);
    let refused = reader.ask(
        "tools/call",
        &json!({"name": "mempalace_delete_by_source", "arguments": {"source_file": "/a"}}),
    );
    assert!(refused["error"].is_object(), "{refused}");
    assert_eq!(
        reader.done("search", json!({"query": "roses"}))["results"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    assert_eq!(reader.done("status", json!({}))["read_only"], true);
}

#[test]
fn other_wings_do_not_exist_for_a_server_of_one() {
    let (folder, mut client) = scene();
    let hidden = client.add("cellar", "wine", "The wine lies in the cellar.");
    client.add("garden", "roses", "The roses are pruned in March.");
    client.done(
        "diary_write",
        json!({"agent_name": "Claude", "entry": "Hid the wine."}),
    );
    let mut gardener = Client::start(folder.path(), &["--wing", "garden"]);
    let names = gardener.names();
    assert!(
        !names.iter().any(|name| name == "mine" || name == "sync"),
        "{names:?}"
    );
    assert_eq!(names.len(), TOOLS.len() - 2);
    assert_eq!(
        gardener.done("list_wings", json!({})),
        json!({"wings": {"garden": 1}})
    );
    let status = gardener.done("status", json!({}));
    assert_eq!(
        (&status["total_drawers"], &status["rooms"]),
        (&json!(1), &json!({"roses": 1}))
    );
    let found = gardener.done(
        "search",
        json!({"query": "wine in the cellar", "max_distance": 0}),
    );
    assert_eq!(found["results"].as_array().unwrap().len(), 1);
    assert_eq!(found["results"][0]["wing"], "garden");
    gardener.refused("get_drawer", json!({"drawer_id": hidden}));
    gardener.refused("delete_drawer", json!({"drawer_id": hidden}));
    gardener.refused("update_drawer", json!({"drawer_id": hidden, "wing": "garden"}));
    gardener.refused(
        "add_drawer",
        json!({"wing": "cellar", "room": "r", "content": "More wine."}),
    );
    let twin = gardener.done(
        "check_duplicate",
        json!({"content": "The wine lies in the cellar."}),
    );
    assert_eq!(twin["is_duplicate"], false);
    let diary = gardener.done("diary_read", json!({"agent_name": "claude"}));
    assert_eq!(diary["entries"], json!([]), "that is in a wing of its own");
    gardener.done("diary_write", json!({"agent_name": "claude", "entry": "Pruned."}));
    let diary = gardener.done("diary_read", json!({"agent_name": "claude"}));
    assert_eq!(diary["entries"][0]["content"], "Pruned.");
    let all = client.done("list_wings", json!({}));
    assert_eq!(
        all,
        json!({"wings": {"cellar": 1, "garden": 2, "wing_claude": 1}})
    );
}

#[test]
fn replies_stay_within_reason_and_say_what_was_cut() {
    let (_folder, mut client) = scene();
    let mut ids = Vec::new();
    for n in 0..40 {
        let content = format!(
            "Chapter {n} of the long book. {}",
            format!("word{n} ").repeat(800)
        );
        ids.push(client.add("books", "long", &content));
    }
    for (tool, arguments, list) in [
        ("search", json!({"query": "long book", "limit": 40}), "results"),
        ("get_drawers", json!({"drawer_ids": ids}), "results"),
    ] {
        let cut = client.done(tool, arguments);
        let size = cut.to_string().len();
        assert!(size < 45_000, "{tool}: {size} bytes");
        assert_eq!(cut["truncated"], true);
        assert!(text(&cut["note"]).contains("mempalace_get_drawer"), "{tool}");
        let items = cut[list].as_array().unwrap();
        assert_eq!(items.len(), 40, "{tool}: texts are cut before hits are left out");
        assert!(items.iter().all(|item| item["truncated"] == true));
    }
    let few = client.done("search", json!({"query": "long book", "limit": 3}));
    assert_eq!(few["truncated"], Json::Null);
    assert!(
        few["results"][0]["text"].as_str().unwrap().len() > 4000,
        "whole while it fits"
    );
}

#[test]
fn a_long_text_is_read_whole_part_by_part() {
    let (_folder, mut client) = scene();
    let long: String = (0..10_000).map(|n| format!("{n} häuser, ")).collect();
    let id = client.add("books", "long", &long);
    let (mut read, mut offset, mut parts) = (String::new(), json!(0), 0);
    while !offset.is_null() {
        let part = client.done("get_drawer", json!({"drawer_id": id, "offset": offset}));
        assert!(part.to_string().len() < 45_000);
        assert_eq!(part["truncated"], true);
        read.push_str(part["content"].as_str().unwrap());
        offset = part["next_offset"].clone();
        parts += 1;
        assert!(parts < 100, "it never ends");
    }
    assert!(read == long, "{} bytes of {}", read.len(), long.len());
    assert!(parts > 2);
}

/// What a palace that came from MemPalace holds: its ids, and long texts in pieces.
fn brought_over() -> String {
    let place = json!({"wing": "wing_claude", "room": "diary", "said_at": "2026-03-04T00:00:00Z"});
    let line = |id: &str, text: &str, place: &Json, metadata: Json, filed_at: &str| {
        let mut line = json!({"collection": "drawers", "id": id, "document": text, "metadata": metadata,
            "filed_at": filed_at});
        line.as_object_mut()
            .unwrap()
            .extend(place.as_object().unwrap().clone());
        format!("{line}\n")
    };
    let piece =
        |parent: &str, n: u64| json!({parent: "drawer_oz_farm_1", "chunk_index": n, "added_by": "mcp"});
    let entry = |n: u64| json!({"type": "diary_entry", "agent": "claude", "topic": "oz", "parent_entry_id": "diary_1", "chunk_index": n});
    let farm = json!({"wing": "oz", "room": "farm", "source": "/oz/ch1.txt"});
    [
        line(
            "drawer_oz_farm_1_a",
            "of Kansas.",
            &farm,
            piece("parent_drawer_id", 1),
            "2026-03-01T10:00:00Z",
        ),
        line(
            "drawer_oz_farm_1_b",
            "In the midst ",
            &farm,
            piece("parent_drawer_id", 0),
            "2026-03-01T10:00:00Z",
        ),
        line(
            "drawer_oz_farm_2",
            "A cyclone came.",
            &farm,
            json!({}),
            "2026-03-01T10:00:01Z",
        ),
        line(
            "diary_1_chunk_000000",
            "Read about ",
            &place,
            entry(0),
            "2026-03-04T09:30:00Z",
        ),
        line(
            "diary_1_chunk_000001",
            "Kansas.",
            &place,
            entry(1),
            "2026-03-04T09:30:00Z",
        ),
    ]
    .concat()
}

#[test]
fn what_mempalace_filed_is_reached_by_its_own_ids() {
    let folder = tempfile::tempdir().unwrap();
    let mut import = loci(folder.path())
        .args(["import", "-"])
        .stdin(Stdio::piped())
        .spawn()
        .unwrap();
    import
        .stdin
        .take()
        .unwrap()
        .write_all(brought_over().as_bytes())
        .unwrap();
    assert!(import.wait().unwrap().success());
    let mut client = Client::start(folder.path(), &[]);
    let one = client.done("get_drawer", json!({"drawer_id": "drawer_oz_farm_2"}));
    assert_eq!(one["content"], "A cyclone came.");
    let whole = client.done("get_drawer", json!({"drawer_id": "drawer_oz_farm_1"}));
    keys(
        &whole,
        "drawer_id content wing room metadata trust chunks chunk_ids",
    );
    assert_eq!(whole["content"], "In the midst of Kansas.");
    assert_eq!(whole["chunks"], 2);
    let diary = client.done("diary_read", json!({"agent_name": "Claude"}));
    assert_eq!(
        (&diary["total"], &diary["entries"][0]["content"]),
        (&json!(1), &json!("Read about Kansas."))
    );
    assert_eq!(diary["entries"][0]["timestamp"], "2026-03-04T09:30:00Z");
    client.done(
        "update_drawer",
        json!({"drawer_id": "drawer_oz_farm_1", "content": "In Omaha.", "room": "city"}),
    );
    let whole = client.done("get_drawer", json!({"drawer_id": "drawer_oz_farm_1"}));
    assert_eq!(
        (&whole["content"], &whole["room"]),
        (&json!("In Omaha."), &json!("city"))
    );
    let gone = client.done("delete_drawer", json!({"drawer_id": "drawer_oz_farm_1"}));
    assert_eq!(gone["deleted_ids"], json!(["drawer_oz_farm_1_b"]));
    client.refused("get_drawer", json!({"drawer_id": "drawer_oz_farm_1"}));
}
