//! Laws that hold for every config: what is put in comes out without a trace, twice is once, and nothing else moves.

mod any;
mod tables;

use super::entries::{self, Hook, Part, Shape};
use super::json::{self, Plain};

/// The parts of a tool that keeps both in one file.
fn both(command: &str) -> Vec<Part> {
    vec![server(command), hooks(Shape::Grouped, command)]
}

fn server(command: &str) -> Part {
    Part::Server {
        list: "mcpServers",
        entry: vec![
            ("type".to_owned(), Plain::text("stdio")),
            ("command".to_owned(), Plain::text(command)),
            ("args".to_owned(), Plain::texts(&["mcp".to_owned()])),
        ],
    }
}

fn hooks(shape: Shape, program: &str) -> Part {
    let hook = |event: &'static str| Hook {
        event,
        command: format!("{program} hook claude-code {event}"),
        timeout: 5,
    };
    Part::Hooks {
        shape,
        hooks: ["Stop", "PreCompact"].map(hook).into(),
    }
}

/// The same file read by a strict reader, once comments and trailing commas are out of the way.
fn meaning(text: &str) -> serde_json::Value {
    fn plain(text: &str, node: &json::Node, to: &mut String) {
        let (open, close) = match &node.kind {
            json::Kind::Object(_) => ('{', '}'),
            json::Kind::List(_) => ('[', ']'),
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
    plain(text, &json::parse(text).unwrap(), &mut made);
    serde_json::from_str(&made).unwrap()
}

/// Puts our entries in, checks that they are there and that a second time changes nothing, and takes them out.
#[track_caller]
fn check(original: &str, parts: &[Part]) {
    let connected = entries::connected(original, parts, Some(original)).unwrap();
    let again = entries::connected(&connected, parts, Some(original)).unwrap();
    assert_eq!(again, connected, "twice is once");
    let parted = entries::parted(&connected, parts, Some(original)).unwrap();
    assert_eq!(parted.as_deref(), Some(original), "\n{connected}");
    if !entries::is_blank(original) {
        check_meaning(original, &connected, parts);
    }
}

/// The new file means the old one and our entries, and nothing else.
#[track_caller]
fn check_meaning(original: &str, connected: &str, parts: &[Part]) {
    let mut old = meaning(original);
    let mut new = meaning(connected);
    for part in parts {
        match part {
            Part::Server { list, .. } => {
                assert_eq!(new[list]["loci"]["args"][0], "mcp", "{connected}");
                new[list].as_object_mut().unwrap().remove("loci");
            }
            Part::Hooks { shape, hooks } => {
                for hook in hooks {
                    let list = new["hooks"][hook.event].as_array_mut().unwrap();
                    let last = list.pop().unwrap();
                    let last = if *shape == Shape::Flat {
                        &last
                    } else {
                        &last["hooks"][0]
                    };
                    assert_eq!(last["command"], hook.command.as_str(), "{connected}");
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
fn odd_configs_come_back_byte_for_byte() {
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
        check(original, &[hooks(Shape::Grouped, "/bin/loci")]);
        check(original, &[hooks(Shape::Flat, "/bin/loci")]);
    }
}

#[test]
fn a_file_that_is_all_ours_goes_and_one_that_is_not_stays() {
    let parts = [hooks(Shape::Flat, "loci")];
    let made = entries::connected("", &parts, None).unwrap();
    assert!(made.contains("\"version\": 1"), "{made}");
    assert_eq!(entries::parted(&made, &parts, None).unwrap(), None);
    let used = made.replacen('{', "{\n  \"mine\": true,", 1);
    let left = entries::parted(&used, &parts, None).unwrap().unwrap();
    assert_eq!(meaning(&left), serde_json::json!({ "mine": true, "version": 1 }));
}

#[test]
fn an_entry_somebody_changed_is_still_taken_out() {
    let original = "{\n  \"mcpServers\": {\n    \"other\": {}\n  }\n}\n";
    let made = entries::connected(original, &both("/bin/loci"), Some(original)).unwrap();
    let changed = made
        .replace("\"/bin/loci\"", "\"/else/where\", \"env\": {\"A\": \"b\"}")
        .replace(
            "/bin/loci hook claude-code Stop",
            "LOCI_PALACE=/x '/my bin/loci' hook claude-code Stop || true",
        );
    assert_ne!(changed, made);
    let parted = entries::parted(&changed, &both("/bin/loci"), Some(original)).unwrap();
    assert_eq!(parted.as_deref(), Some(original));
}

#[test]
fn what_others_added_since_stays_where_they_put_it() {
    let original =
        "{\n  \"mcpServers\": {\n    \"a\": {}\n  },\n  \"hooks\": {\n    \"Stop\": [ {\"x\": 1} ]\n  }\n}\n";
    let made = entries::connected(original, &both("loci"), Some(original)).unwrap();
    let root = json::parse(&made).unwrap();
    let more = json::insert(&made, &root, &[0], Some("b"), &Plain::Number(2));
    let root = json::parse(&more).unwrap();
    let more = json::insert(&more, &root, &[1, 0], None, &Plain::Number(3));
    let left = entries::parted(&more, &both("loci"), Some(original))
        .unwrap()
        .unwrap();
    let expected = original
        .replace("\"a\": {}", "\"a\": {},\n    \"b\": 2")
        .replace("1} ]", "1}, 3 ]");
    assert_eq!(left, expected);
}

#[test]
fn a_second_program_takes_the_place_of_the_first_and_what_was_added_stays() {
    let made = entries::connected("", &both("/old/loci"), None).unwrap();
    let added = made.replace(
        "\"args\": [\"mcp\"]",
        "\"args\": [\"mcp\"], \"env\": {\"A\": \"b\"}",
    );
    let again = entries::connected(&added, &both("/new/loci"), None).unwrap();
    assert_eq!(again, added.replace("/old/loci", "/new/loci"));
}

#[test]
fn an_entry_that_is_laid_out_otherwise_is_the_same_entry() {
    let made = entries::connected("", &both("/bin/loci"), None).unwrap();
    let other = made
        .replace("[\"mcp\"]", "[\n  \"m\\u0063p\" // c\n]")
        .replace("/bin/", "\\/bin\\/");
    assert_ne!(other, made);
    assert_eq!(
        entries::connected(&other, &both("/bin/loci"), None).unwrap(),
        other
    );
}

#[test]
fn hooks_that_are_no_longer_wanted_go_and_doubled_ones_become_one() {
    let two = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"command\": \"loci hook codex Stop\"}]}, \
        {\"hooks\": [{\"command\": \"x\"}, {\"command\": \"/b/loci hook codex Stop\"}]}], \
        \"SessionStart\": [{\"hooks\": [{\"command\": \"loci hook codex SessionStart\"}]}]}}";
    let made = entries::connected(two, &[hooks(Shape::Grouped, "loci")], None).unwrap();
    let hooks = &meaning(&made)["hooks"];
    assert_eq!(hooks["SessionStart"], serde_json::Value::Null, "{made}");
    assert_eq!(
        hooks["Stop"][0]["hooks"][0]["command"],
        "loci hook claude-code Stop"
    );
    assert_eq!(hooks["Stop"][1]["hooks"], serde_json::json!([{ "command": "x" }]));
}

#[test]
fn our_item_is_taken_out_from_between_comments_without_breaking_them() {
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
        let made = entries::parted(text, &[server("loci")], Some("{\"b\":3}"))
            .unwrap()
            .unwrap();
        assert_eq!(meaning(&made), meaning(left), "{text}\n{made}");
    }
}

#[test]
fn what_has_another_shape_is_refused() {
    for (text, what) in [
        ("[]", "object"),
        ("{\"mcpServers\": []}", "mcpServers"),
        ("{\"hooks\": null}", "hooks"),
        ("{\"hooks\": {\"Stop\": {}}}", "Stop"),
        ("{", "JSON"),
        ("// only words", "JSON"),
    ] {
        let error = entries::connected(text, &both("loci"), None).unwrap_err();
        assert!(error.contains(what), "{text}: {error}");
    }
}
