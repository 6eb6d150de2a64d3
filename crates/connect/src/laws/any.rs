//! The laws for random settings files.

use proptest::prelude::*;

use super::both;
use super::tables;
use crate::entries::{add_entries, remove_entries};
use crate::toml_server::{add_server, remove_server};

/// White space and comments as people write them.
fn gap() -> impl Strategy<Value = String> + Clone {
    prop::collection::vec(
        prop::sample::select(vec![
            "", " ", "\t", "\n", "\r\n", "  ", "// c\n", "/* c */", "//\r\n", "\n\n    ",
        ]),
        0..4,
    )
    .prop_map(|parts| parts.concat())
}

/// Names as settings have them, without ours.
fn name() -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(vec![
        "a",
        "mcpServers",
        "hooks",
        "Stop",
        "PreCompact",
        "other",
        "\\u0061",
        "version",
        "é",
    ])
}

fn leaf() -> impl Strategy<Value = String> + Clone {
    let words = vec![
        "1",
        "-0.5e3",
        "true",
        "null",
        "\"\"",
        "\"x // y\"",
        "\"\\\"}\"",
        "\"loci\"",
        "{}",
        "[]",
        "[ ]",
        "{\n}",
    ];
    prop::sample::select(words).prop_map(str::to_owned)
}

fn value() -> impl Strategy<Value = String> + Clone {
    leaf().prop_recursive(4, 24, 4, |inner| {
        let item = (gap(), inner.clone(), gap()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let list = (prop::collection::vec(item, 0..4), any::<bool>(), gap())
            .prop_map(|(items, comma, end)| bracketed('[', &items, comma, &end, ']'));
        prop_oneof![list, object(inner)]
    })
}

fn object(value: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> + Clone {
    let item = (gap(), name(), gap(), value, gap())
        .prop_map(|(a, name, b, value, c)| format!("{a}\"{name}\"{b}:{value}{c}"));
    (prop::collection::vec(item, 0..5), any::<bool>(), gap())
        .prop_map(|(items, comma, end)| bracketed('{', &items, comma, &end, '}'))
}

fn bracketed(open: char, items: &[String], comma: bool, end: &str, close: char) -> String {
    let last = if comma && !items.is_empty() { "," } else { "" };
    format!("{open}{}{last}{end}{close}", items.join(","))
}

/// A whole settings file; the parts we edit mostly have the shape that tools read.
fn settings() -> impl Strategy<Value = String> {
    let handler = (gap(), gap()).prop_map(|(a, b)| {
        format!("{a}{{\"hooks\":{b}[{{\"type\": \"command\", \"command\": \"say hook\"}}]}}{b}")
    });
    let groups = (prop::collection::vec(handler, 0..3), any::<bool>(), gap())
        .prop_map(|(items, comma, end)| bracketed('[', &items, comma, &end, ']'));
    let event = (
        gap(),
        prop::sample::select(vec!["Stop", "PreCompact", "Other"]),
        groups,
    )
        .prop_map(|(a, name, list)| format!("{a}\"{name}\": {list}"));
    let events = (prop::collection::vec(event, 0..3), any::<bool>(), gap())
        .prop_map(|(items, comma, end)| bracketed('{', &items, comma, &end, '}'));
    let hooks = (gap(), events).prop_map(|(a, events)| format!("{a}\"hooks\":{events}"));
    let servers = (gap(), object(leaf())).prop_map(|(a, servers)| format!("{a}\"mcpServers\": {servers}"));
    let other = (gap(), value(), gap()).prop_map(|(a, value, b)| format!("{a}\"other\":{value}{b}"));
    let member = prop_oneof![hooks, servers, other];
    let bom = prop::sample::select(vec!["", "\u{feff}"]);
    (
        bom,
        gap(),
        prop::collection::vec(member, 0..4),
        any::<bool>(),
        gap(),
        gap(),
    )
        .prop_map(|(bom, before, items, comma, end, after)| {
            format!("{bom}{before}{}{after}", bracketed('{', &items, comma, &end, '}'))
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_settings_come_back_byte_for_byte(original in settings()) {
        let parts = both("/bin/loci");
        let connected = add_entries(&original, &parts, Some(&original)).unwrap();
        prop_assert_eq!(&add_entries(&connected, &parts, Some(&original)).unwrap(), &connected);
        let parted = remove_entries(&connected, &parts, Some(&original)).unwrap();
        prop_assert_eq!(parted.as_deref(), Some(original.as_str()), "\n{}", connected);
    }

    #[test]
    fn any_object_is_edited_reversibly_or_refused(original in object(value())) {
        let parts = both("/bin/loci");
        if let Ok(connected) = add_entries(&original, &parts, Some(&original)) {
            let parted = remove_entries(&connected, &parts, Some(&original)).unwrap();
            prop_assert_eq!(parted.as_deref(), Some(original.as_str()), "\n{}", connected);
        }
    }

    #[test]
    fn no_bytes_make_it_panic(original in "[\\PC\n{}\\[\\]\",:/*]{0,60}") {
        let _ = add_entries(&original, &both("loci"), None);
        let _ = remove_entries(&original, &both("loci"), Some(&original));
        let _ = add_server(&original, &tables::wanted());
        let _ = remove_server(&original, None);
    }

    #[test]
    fn every_table_comes_back_byte_for_byte(
        lines in prop::collection::vec(
            prop::sample::select(vec!["", "# c", "[b]", "x = 1", "y = '''\nz'''", "[mcp_servers.a]", "  "]), 0..6),
        crlf in any::<bool>(),
        ended in any::<bool>(),
    ) {
        let mut original = lines.join("\n");
        if ended {
            original.push('\n');
        }
        if crlf {
            original = original.replace('\n', "\r\n");
        }
        if toml_edit::Document::parse(original.as_str()).is_ok() {
            tables::check(&original);
        }
    }
}
