//! Laws of every settings file: an undo gives the same bytes, a second edit changes nothing, and no other
//! byte moves.

mod any;
mod tables;

use crate::entries::{HookCommand, HookLayout, JsonEntry, add_entries, remove_entries};
use crate::json::{JsonKind, JsonNode, JsonValue, insert_item, parse_json};
use crate::splice::is_blank;

/// The entries of a tool that keeps server and hooks in one file.
fn both(command: &str) -> Vec<JsonEntry> {
    vec![server(command), hooks(HookLayout::Grouped, command)]
}

fn server(command: &str) -> JsonEntry {
    JsonEntry::Server {
        list: "mcpServers",
        fields: vec![
            ("type".to_owned(), JsonValue::text("stdio")),
            ("command".to_owned(), JsonValue::text(command)),
            ("args".to_owned(), JsonValue::texts(&["mcp".to_owned()])),
        ],
    }
}

fn hooks(layout: HookLayout, program: &str) -> JsonEntry {
    let hook = |event: &'static str| HookCommand {
        event,
        line: format!("{program} hook claude-code {event}"),
        timeout: 5,
    };
    JsonEntry::Hooks {
        layout,
        hooks: ["Stop", "PreCompact"].map(hook).into(),
    }
}

/// The file as a strict parser reads it, without comments and trailing commas.
fn parse_strictly(text: &str) -> serde_json::Value {
    fn plain(text: &str, node: &JsonNode, to: &mut String) {
        let (open, close) = match &node.kind {
            JsonKind::Object(_) => ('{', '}'),
            JsonKind::List(_) => ('[', ']'),
            _ => return to.push_str(&text[node.span.clone()]),
        };
        to.push(open);
        for (number, item) in node.items().iter().enumerate() {
            if number > 0 {
                to.push(',');
            }
            if let Some(name) = &item.name {
                to.push_str(&format!("{}:", serde_json::Value::from(name.as_str())));
            }
            plain(text, &item.value, to);
        }
        to.push(close);
    }
    let mut made = String::new();
    plain(text, &parse_json(text).unwrap(), &mut made);
    serde_json::from_str(&made).unwrap()
}

/// Adds the entries, checks that they are there and that a second time changes nothing, and removes them.
#[track_caller]
fn check(original: &str, parts: &[JsonEntry]) {
    let connected = add_entries(original, parts, Some(original)).unwrap();
    let again = add_entries(&connected, parts, Some(original)).unwrap();
    assert_eq!(again, connected, "a second edit changes nothing");
    let parted = remove_entries(&connected, parts, Some(original)).unwrap();
    assert_eq!(parted.as_deref(), Some(original), "\n{connected}");
    if !is_blank(original) {
        check_meaning(original, &connected, parts);
    }
}

/// The edited file means the original with our entries, and nothing else.
#[track_caller]
fn check_meaning(original: &str, connected: &str, parts: &[JsonEntry]) {
    let mut old = parse_strictly(original);
    let mut new = parse_strictly(connected);
    for part in parts {
        match part {
            JsonEntry::Server { list, .. } => {
                assert_eq!(new[list]["loci"]["args"][0], "mcp", "{connected}");
                new[list].as_object_mut().unwrap().remove("loci");
            }
            JsonEntry::Hooks { layout, hooks } => {
                for hook in hooks {
                    let list = new["hooks"][hook.event].as_array_mut().unwrap();
                    let last = list.pop().unwrap();
                    let last = if *layout == HookLayout::Flat {
                        &last
                    } else {
                        &last["hooks"][0]
                    };
                    assert_eq!(last["command"], hook.line.as_str(), "{connected}");
                }
            }
        }
    }
    // Containers of ours that are empty now would not be in the old one.
    for value in [&mut old, &mut new] {
        drop_empty(value);
    }
    assert_eq!(new, old, "{connected}");
}

fn drop_empty(value: &mut serde_json::Value) {
    let root = value.as_object_mut().unwrap();
    if let Some(events) = root.get_mut("hooks").and_then(|events| events.as_object_mut()) {
        events.retain(|_, list| list.as_array().is_none_or(|list| !list.is_empty()));
    }
    root.remove("version");
    root.retain(|_, value| value.as_object().is_none_or(|object| !object.is_empty()));
}

#[test]
fn odd_settings_come_back_byte_for_byte() {
    for original in [
        "",
        " \n",
        "\u{feff}",
        "{}",
        "{}\n",
        "{ }",
        "{\n}\n",
        "\u{feff}{\r\n\t\"a\": 1\r\n}",
        "// top\n{ // open\n}\n// end",
        "{\"a\":1}",
        "{ \"a\": 1, }",
        "{\"a\": 1 // one\n}",
        "{\"a\": 1 /* one */ , // two\n}",
        "{\"a\":1 /* x */ }",
        "{\n  \"mcpServers\": {},\n  \"hooks\": {}\n}",
        "{\"mcpServers\":{ },\"hooks\":{\"Stop\":[\n]}}",
        "{\n\t\"mcpServers\": {\n\t\t\"other\": {\"command\": \"x\"} // mine\n\t},\n}\n",
        "{\n    \"hooks\": {\n        \"Stop\": [\n            // first\n        ]\n    },\n    \"mcpServers\": { /* none */ }\n}",
        "{\"hooks\":{\"Stop\":[{\"matcher\":\"\",\"hooks\":[{\"type\":\"command\",\"command\":\"say done\"}]}],\"X\":[]}}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      { \"hooks\": [ { \"command\": \"other\" }, ], },\n    ],\n  },\n}\n",
        "   {\n   \"deep\": [[[[[[{\"a\": [{}]}]]]]]],\n\n\n   \"b\": \"\\\"{[//\"\n\n}\n\n",
        "{\"mcpServers\": {\"a\": {}}, \"mcpServers\": {}}",
    ] {
        check(original, &both("/bin/loci"));
        check(original, &[server("/bin/loci")]);
        check(original, &[hooks(HookLayout::Grouped, "/bin/loci")]);
        check(original, &[hooks(HookLayout::Flat, "/bin/loci")]);
    }
}

#[test]
fn a_file_with_only_our_entries_is_removed_and_any_other_stays() {
    let parts = [hooks(HookLayout::Flat, "loci")];
    let made = add_entries("", &parts, None).unwrap();
    assert!(made.contains("\"version\": 1"), "{made}");
    assert_eq!(remove_entries(&made, &parts, None).unwrap(), None);
    let used = made.replacen('{', "{\n  \"mine\": true,", 1);
    let left = remove_entries(&used, &parts, None).unwrap().unwrap();
    assert_eq!(
        parse_strictly(&left),
        serde_json::json!({ "mine": true, "version": 1 })
    );
}

#[test]
fn an_entry_that_a_user_changed_is_still_removed() {
    let original = "{\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n";
    let made = add_entries(original, &both("/bin/loci"), Some(original)).unwrap();
    let changed = made
        .replace("\"/bin/loci\"", "\"/else/where\", \"env\": {\"A\": \"b\"}")
        .replace(
            "/bin/loci hook claude-code Stop",
            "LOCI_PALACE=/x '/my bin/loci' hook claude-code Stop || true",
        );
    assert_ne!(changed, made);
    let parted = remove_entries(&changed, &both("/bin/loci"), Some(original)).unwrap();
    assert_eq!(parted.as_deref(), Some(original));
}

#[test]
fn later_additions_by_others_stay_in_place() {
    let original =
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  },\n  \"hooks\": {\n    \"Stop\": [ {\"x\": 1} ]\n  }\n}\n";
    let made = add_entries(original, &both("loci"), Some(original)).unwrap();
    let root = parse_json(&made).unwrap();
    let more = insert_item(&made, &root, &[0], Some("b"), &JsonValue::Number(2));
    let root = parse_json(&more).unwrap();
    let more = insert_item(&more, &root, &[1, 0], None, &JsonValue::Number(3));
    let left = remove_entries(&more, &both("loci"), Some(original))
        .unwrap()
        .unwrap();
    let expected = original
        .replace("\"a\": {}", "\"a\": {},\n    \"b\": 2")
        .replace("1} ]", "1}, 3 ]");
    assert_eq!(left, expected);
}

#[test]
fn a_second_program_replaces_the_first_and_added_fields_stay() {
    let made = add_entries("", &both("/old/loci"), None).unwrap();
    let added = made.replace(
        "\"args\": [\"mcp\"]",
        "\"args\": [\"mcp\"], \"env\": {\"A\": \"b\"}",
    );
    let again = add_entries(&added, &both("/new/loci"), None).unwrap();
    assert_eq!(again, added.replace("/old/loci", "/new/loci"));
}

#[test]
fn an_entry_with_another_layout_is_the_same_entry() {
    let made = add_entries("", &both("/bin/loci"), None).unwrap();
    let other = made
        .replace("[\"mcp\"]", "[\n  \"m\\u0063p\" // c\n]")
        .replace("/bin/", "\\/bin\\/");
    assert_ne!(other, made);
    assert_eq!(add_entries(&other, &both("/bin/loci"), None).unwrap(), other);
}

#[test]
fn unwanted_and_doubled_hooks_are_removed() {
    let two = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"loci hook codex Stop\"}]}, \
        {\"hooks\": [{\"command\": \"x\"}, {\"command\": \"/b/loci hook codex Stop\"}]}], \
        \"SessionStart\": [{\"hooks\": [{\"command\": \"loci hook codex SessionStart\"}]}]}}";
    let made = add_entries(two, &[hooks(HookLayout::Grouped, "loci")], None).unwrap();
    let hooks = &parse_strictly(&made)["hooks"];
    assert_eq!(hooks["SessionStart"], serde_json::Value::Null, "{made}");
    assert_eq!(
        hooks["Stop"][0]["hooks"][0]["command"],
        "loci hook claude-code Stop"
    );
    assert_eq!(hooks["Stop"][1]["hooks"], serde_json::json!([{ "command": "x" }]));
}

#[test]
fn an_item_between_comments_is_removed_without_breaking_them() {
    for (text, left) in [
        (
            "{ // c\n \"mcpServers\": {\"loci\": 1}, \"b\": 2 }",
            "{ // c\n \"b\": 2 }",
        ),
        (
            "{\"a\": 1, // c\n \"mcpServers\": {\"loci\": 1} }",
            "{\"a\": 1 // c\n }",
        ),
        (
            "{\"mcpServers\": {\"loci\": 1} /* x */ , \"b\": 2}",
            "{ /* x */  \"b\": 2}",
        ),
        (
            "{\"mcpServers\": {/* mine */ \"loci\": 1}}",
            "{\"mcpServers\": {/* mine */}}",
        ),
    ] {
        let made = remove_entries(text, &[server("loci")], Some("{\"b\":3}"))
            .unwrap()
            .unwrap();
        assert_eq!(parse_strictly(&made), parse_strictly(left), "{text}\n{made}");
    }
}

#[test]
fn a_file_of_another_shape_is_refused() {
    for (text, what) in [
        ("[]", "object"),
        ("{\"mcpServers\": []}", "mcpServers"),
        ("{\"hooks\": null}", "hooks"),
        ("{\"hooks\": {\"Stop\": {}}}", "Stop"),
        ("{", "JSON"),
        ("// only words", "JSON"),
    ] {
        let error = add_entries(text, &both("loci"), None).unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
    }
}
