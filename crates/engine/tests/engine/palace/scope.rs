//! Scopes mean the same to every operation.

use loci_core::Timestamp;
use serde_json::json;

use super::*;

#[test]
fn a_name_that_no_drawer_has_is_an_empty_answer_that_names_the_nearest() {
    let palace = furnished(&reference());
    let scope = |fields: serde_json::Value| {
        serde_json::from_value::<ScopeFields>(fields)
            .unwrap()
            .parse(Timestamp::from_micros(0).unwrap())
            .unwrap()
    };
    for (fields, expect) in [
        (
            json!({"wing": "wrok"}),
            r#"wing "wrok" does not exist; did you mean "work"?"#,
        ),
        (
            json!({"room": "plan"}),
            r#"room "plan" does not exist; did you mean "plans"?"#,
        ),
        (
            json!({"source": "/t/a/note.md"}),
            r#"source "/t/a/note.md" does not exist; did you mean "/t/a/notes.md"?"#,
        ),
        (
            json!({"speaker": "anne"}),
            r#"speaker "anne" does not exist; did you mean "ann"?"#,
        ),
        (json!({"kind": "poetry"}), r#"kind "poetry" does not exist"#),
    ] {
        for (operation, answer) in asked_everywhere(&palace, &scope(fields.clone())) {
            let (found, warnings) = answer.unwrap();
            let messages: Vec<&str> = warnings.iter().map(|warning| warning.message.as_str()).collect();
            assert_eq!((found, messages), (0, vec![expect]), "{operation} {fields}");
        }
    }
    // Names that exist but not together are no mistake.
    for (operation, answer) in asked_everywhere(&palace, &scope(json!({"wing": "work", "room": "hobbies"}))) {
        assert_eq!(answer.unwrap(), (0, vec![]), "{operation}");
    }
}

#[test]
fn names_out_of_sight_are_not_suggested() {
    let backend = reference();
    furnished(&backend);
    let palace =
        open_palace(&backend, &machine()).restricted_to(AccessPolicy::limited(false, vec!["HOME".into()]));
    let scope = DrawerScope {
        wing: Some("wrok".into()),
        ..DrawerScope::default()
    };
    for (operation, answer) in asked_everywhere(&palace, &scope) {
        let (found, warnings) = answer.unwrap();
        assert_eq!(
            (found, warnings[0].message.as_str()),
            (0, r#"wing "wrok" does not exist"#),
            "{operation}"
        );
    }
    let everything = palace.list(&listing(DrawerScope::default())).unwrap();
    assert_eq!(everything.drawers.len(), 1, "a wing is known by any case");
}

#[test]
fn a_time_that_cannot_be_is_invalid_everywhere() {
    let palace = furnished(&reference());
    let day = |text: &str| Some(text.parse().unwrap());
    for (since, before) in [("2026-05-02", "2026-05-01"), ("2026-05-01", "2026-05-01")] {
        let scope = DrawerScope {
            since: day(since),
            before: day(before),
            ..DrawerScope::default()
        };
        for (operation, answer) in asked_everywhere(&palace, &scope) {
            assert_eq!(answer.unwrap_err().kind(), ErrorKind::Invalid, "{operation}");
        }
        let fields = json!({"since": since, "before": before});
        let fields: ScopeFields = serde_json::from_value(fields).unwrap();
        assert_eq!(
            fields
                .parse(Timestamp::from_micros(0).unwrap())
                .unwrap_err()
                .kind(),
            ErrorKind::Invalid
        );
    }
}

#[test]
fn a_source_is_meant_by_its_path_its_end_or_the_file_around_it() {
    let palace = furnished(&reference());
    let of = |names: &[&str]| {
        let scope = DrawerScope {
            source: names.iter().map(|name| (*name).to_owned()).collect(),
            ..DrawerScope::default()
        };
        let drawers = palace.list(&listing(scope)).unwrap().drawers;
        drawers
            .into_iter()
            .map(|drawer| drawer.id.to_string())
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&["/t/a/notes.md"]), ["work-1"]);
    assert_eq!(of(&["notes.md"]), ["work-1"]);
    assert_eq!(of(&["./a/notes.md"]), ["work-1"]);
    assert_eq!(
        of(&["otes.md"]),
        [] as [&str; 0],
        "the end of a path begins at a name"
    );
    assert_eq!(of(&["/t/b/chats.json"]), ["home-1", "work-2"]);
    assert_eq!(of(&["chats.json"]), ["home-1", "work-2"]);
    assert_eq!(of(&["/t/b/chats.json#1"]), ["work-2"]);
    assert_eq!(
        of(&["/nowhere/notes.md", "notes.md"]),
        ["work-1"],
        "the first that means one"
    );
    assert_eq!(of(&[""]), [] as [&str; 0]);
}

#[test]
fn texts_and_members_of_lists_are_asked_for_at_every_operation() {
    let palace = furnished(&reference());
    let fields = json!({"contains": "apples", "where": {"tags": {"$contains": "red"}}});
    let fields: ScopeFields = serde_json::from_value(fields).unwrap();
    for (operation, answer) in asked_everywhere(
        &palace,
        &fields.parse(Timestamp::from_micros(0).unwrap()).unwrap(),
    ) {
        assert_eq!(answer.unwrap().0, 1, "{operation}");
    }
    let fields: ScopeFields =
        serde_json::from_value(json!({"where": r#"{"tags":{"$contains":"green"}}"#})).unwrap();
    for (operation, answer) in asked_everywhere(
        &palace,
        &fields.parse(Timestamp::from_micros(0).unwrap()).unwrap(),
    ) {
        assert_eq!(answer.unwrap().0, 0, "{operation}");
    }
}
