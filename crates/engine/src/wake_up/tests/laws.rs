//! Laws of a page, whatever is filed.

use proptest::prelude::*;

use super::*;
use crate::snippet::{escape_quotes, flatten_line};

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "\\PC{0,60}",
        3 => "[a-zA-Z0-9 .,\\n\\t]{0,400}",
        1 => "[抽屉가나ก-ฮа-я😀-😏 \\x00-\\x1f\u{202e}\u{2028}]{0,80}",
        1 => Just(String::new()),
        1 => ("[a-z😀抽 ]{1,9}", 1_usize..4000).prop_map(|(text, times)| text.repeat(times)),
    ]
}

fn any_drawer() -> impl Strategy<Value = NewDrawer> {
    const KINDS: [&str; 7] = [
        "human",
        "assistant",
        "tool_result",
        "thinking",
        "file",
        "diary",
        "note",
    ];
    let place = (
        proptest::option::of(prop_oneof![Just("boat".to_owned()), any_text()]),
        proptest::option::of(prop_oneof![
            Just("identity".to_owned()),
            Just("diary".to_owned()),
            any_text()
        ]),
        proptest::option::of("s[0-3]|\\PC{1,300}"),
        proptest::option::of(proptest::sample::select(&KINDS[..])),
        proptest::option::of(1_600_000_000_i64..1_900_000_000),
        0_u64..5,
    );
    (
        any_text(),
        place,
        proptest::option::of(0_i64..7),
        any::<bool>(),
        0_u64..3,
    )
        .prop_map(
            |(text, (wing, room, source, kind, said_at, piece), importance, mined, uses)| {
                let mut drawer = NewDrawer::new(DrawerId::new("x").unwrap(), text);
                let nonempty = |text: Option<String>| text.filter(|text| !text.is_empty());
                drawer.place = DrawerPlace {
                    wing: nonempty(wing),
                    room: nonempty(room),
                    source: nonempty(source),
                    kind: kind.map(str::to_owned),
                    said_at: said_at.map(|at| Timestamp::from_micros(at * 1_000_000).unwrap()),
                    span: Some(SourceSpan {
                        start: piece,
                        end: piece + 1,
                        line_start: 1,
                        line_end: 1,
                    }),
                    ..DrawerPlace::default()
                };
                drawer.uses = uses;
                drawer.filed_at = Some("2026-05-01T00:00:00Z".parse().unwrap());
                if let Some(importance) = importance {
                    drawer.metadata.insert("importance", importance);
                }
                if mined {
                    drawer.metadata.insert("format", "text");
                }
                drawer
            },
        )
}

/// Whether a line holds these words, whole or from their beginning to where they were cut.
fn is_quoted(words: &str, text: &str) -> bool {
    let cut = |line: &str, end: usize| {
        let begins = line.match_indices([' ', '"']).map(|(at, _)| at + 1);
        begins
            .filter(|at| *at < end)
            .any(|at| words.starts_with(&line[at..end]))
    };
    let mut lines = text.lines().skip(1);
    !words.is_empty()
        && lines.any(|line| line.contains(words) || line.match_indices('…').any(|(end, _)| cut(line, end)))
}

fn any_id() -> impl Strategy<Value = String> {
    prop_oneof!["[0-9a-f]{32}", "\\PC{1,40}", "note-[0-9]{1,4}"]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_page_never_exceeds_its_budget_and_quotes_what_it_names(
        drawers in proptest::collection::btree_map(any_id(), any_drawer(), 1..24),
        tokens in 0_usize..2000,
        in_boat in any::<bool>(),
    ) {
        let named = drawers.into_iter().map(|(id, drawer)| NewDrawer { id: DrawerId::new(id).unwrap(), ..drawer });
        let (_backend, collection) = filed(named.collect());
        let request = asked(in_boat.then_some("boat"), tokens);
        let report = match write_wake_up(collection.as_ref(), &request) {
            Ok(report) => report,
            Err(error) => {
                prop_assert!(tokens < FEWEST_TOKENS && error.kind() == ErrorKind::Invalid, "{error}");
                return Ok(());
            }
        };
        prop_assert!(report.tokens <= tokens);
        prop_assert_eq!(report.tokens, estimate_tokens(&report.text));
        prop_assert!(!report.text.contains(|c: char| c.is_control() && c != '\n'));
        prop_assert_eq!(&report, &write_wake_up(collection.as_ref(), &request).unwrap());
        let mut seen = HashSet::new();
        for id in &report.drawers {
            prop_assert!(seen.insert(id), "{} is named twice", id);
            let drawer = collection.find_drawer(id).unwrap().unwrap();
            let (words, _) = flatten_line(drawer.document.as_deref().unwrap(), usize::MAX);
            let words = escape_quotes(&words);
            prop_assert!(is_quoted(&words, &report.text), "{:?} is not in {}", words, report.text);
        }
    }
}
