//! What goes by source: removing, mining, and what became of mined files.

use std::fs;

use serde_json::json;

use super::{keys, scene, text};

#[test]
fn a_source_is_removed_only_by_whoever_asks_twice() {
    let (_folder, mut client) = scene();
    for content in ["First of the source.", "Another from there."] {
        client.done(
            "add_drawer",
            json!({"wing": "w", "room": "r", "content": content, "source_file": "/notes/a.md"}),
        );
    }
    client.add("w", "r", "Of no source at all.");
    let counted = client.done("delete_by_source", json!({"source_file": "/notes/a.md"}));
    keys(
        &counted,
        "success dry_run source_file match_count closet_match_count sample hint",
    );
    assert_eq!(
        (&counted["dry_run"], &counted["match_count"]),
        (&json!(true), &json!(2))
    );
    assert_eq!(counted["sample"], json!([{"wing": "w", "room": "r"}]));
    assert_eq!(client.done("status", json!({}))["total_drawers"], 3);
    let gone = client.done(
        "delete_by_source",
        json!({"source_file": "/notes/a.md", "dry_run": false}),
    );
    keys(&gone, "success dry_run source_file deleted closets_deleted");
    assert_eq!(gone["deleted"], 2);
    assert_eq!(client.done("status", json!({}))["total_drawers"], 1);
}

#[test]
fn files_are_mined_and_those_that_vanish_are_removed_when_told() {
    let (folder, mut client) = scene();
    let notes = folder.path().join("notes");
    fs::create_dir(&notes).unwrap();
    for (name, words) in [
        ("bread.md", "Bread rises overnight."),
        ("lawn.md", "The lawn is mown weekly."),
    ] {
        fs::write(notes.join(name), words).unwrap();
    }
    let planned = client.done(
        "mine",
        json!({"source": notes, "mode": "projects", "wing": "house", "agent": "me", "limit": 0, "dry_run": true}),
    );
    assert_eq!(
        (&planned["dry_run"], &planned["success"]),
        (&json!(true), &json!(true))
    );
    assert_eq!(client.done("status", json!({}))["total_drawers"], 0);
    let mined = client.done("mine", json!({"source": notes, "wing": "house"}));
    keys(&mined, "success mode dry_run output drawers_added");
    assert_eq!(
        (&mined["mode"], &mined["drawers_added"]),
        (&json!("projects"), &json!(2))
    );
    assert!(text(&mined["output"]).contains("2 mined"), "{mined}");
    let found = client.done("search", json!({"query": "bread", "wing": "house", "limit": 1}));
    assert_eq!(found["results"][0]["source_file"], "bread.md");

    fs::remove_file(notes.join("bread.md")).unwrap();
    let looked = client.done("sync", json!({"project_dir": notes}));
    keys(
        &looked,
        "success dry_run scanned kept missing unresolved missing_drawers missing_sources removed_sources \
         removed_drawers hint",
    );
    assert_eq!(
        (
            &looked["scanned"],
            &looked["kept"],
            &looked["missing"],
            &looked["removed_drawers"]
        ),
        (&json!(2), &json!(1), &json!(1), &json!(0))
    );
    client.refused("sync", json!({"apply": true}));
    client.refused("sync", json!({"apply": true, "wing": "house"}));
    assert_eq!(client.done("status", json!({}))["total_drawers"], 2);
    let removed = client.done("sync", json!({"project_dir": notes, "apply": true}));
    assert_eq!(
        (
            &removed["dry_run"],
            &removed["removed_sources"],
            &removed["removed_drawers"]
        ),
        (&json!(false), &json!(1), &json!(1))
    );
    assert_eq!(client.done("status", json!({}))["total_drawers"], 1);
}

#[test]
fn a_mine_that_cannot_be_as_asked_mines_nothing() {
    let (folder, mut client) = scene();
    for refused in [
        json!({"source": "notes"}),
        json!({"source": folder.path().join("nowhere")}),
        json!({"source": folder.path(), "limit": 3}),
        json!({"source": folder.path(), "mode": "dreams"}),
    ] {
        let said = client.refused("mine", refused);
        keys(&said, "success error kind hint");
        assert!(text(&said["hint"]).contains("nothing was mined"), "{said}");
    }
}
