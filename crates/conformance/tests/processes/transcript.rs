//! The transcript in `docs/backend-protocol.md` is what the reference plug-in says.

use std::fs;
use std::path::Path;

use loci_core::{Capability, ErrorKind};
use serde_json::{Value as Json, json};

use crate::raw::RawSession;

const BYE: u8 = 6;
const BEGIN: &str = "<!-- transcript -->\n```text\n";
const END: &str = "```\n<!-- /transcript -->";

fn call(session: &mut RawSession, number: u32, call: Json, values: &[f32]) -> Json {
    session.say(2, number, &json!({"deadline_ms": 60000, "call": call}), values);
    session.hear().1
}

/// Opens a collection, files two drawers, finds one, revises a source and says goodbye.
fn play_session() -> String {
    let mut session = RawSession::start();
    session.say(
        1,
        0,
        &json!({"protocol": [1, 0], "spec": [2, 0], "frame_limit": 67108864}),
        &[],
    );
    session.hear();
    let options = json!({"visible": ["all"], "writable": true, "adopts_model": false,
        "carries_unknown": false, "wait_ms": 30000});
    let create = json!({"create": {"palace": {"id": "garden"}, "collection": "drawers",
        "mode": "open_existing", "options": options}});
    let opened = call(&mut session, 1, create, &[]);
    let handle = opened["value"]["handle"].clone();
    let beans = json!({"add": {"id": "a", "document": "Plant the beans in May.", "values": 2,
        "metadata": {"depth": {"f": "2.5"}, "rows": 3}, "place": {"wing": "garden", "room": "beans"},
        "filed_at": 1_777_626_000_000_000_i64}});
    let peas = json!({"add": {"id": "b", "document": "Peas like it cold.", "values": 2,
        "metadata": {}, "place": {"wing": "garden"}, "filed_at": 1_777_626_000_000_000_i64}});
    let apply = json!({"apply": {"handle": handle, "key": "monday", "writes": [beans, peas]}});
    call(&mut session, 2, apply, &[1.0, 0.0, 0.0, 1.0]);
    let query = json!({"query": {"handle": handle, "request": {"vectors": [2], "k": 1,
        "filter": ["eq", "wing", "garden"], "document": ["all"], "include": ["document"]}}});
    call(&mut session, 3, query, &[1.0, 0.5]);
    let revise = json!({"revise": {"handle": handle,
        "revisions": [{"source": "notes.md", "expects": null, "stamp": "v1"}]}});
    call(&mut session, 4, revise, &[]);
    let leeks = json!({"add": {"id": "c", "document": "Leeks in rows.", "metadata": {},
        "place": {"source": "notes.md"}, "filed_at": 1_777_626_000_000_000_i64}});
    session.say(3, 4, &json!({"writes": [leeks]}), &[]);
    session.say(4, 4, &Json::Null, &[]);
    session.hear();
    session.say(3, 4, &json!({"writes": null}), &[]);
    session.say(4, 4, &Json::Null, &[]);
    session.hear();
    let missing = json!({"get": {"handle": 99, "request": {"order": "id", "offset": 0,
        "filter": ["all"], "document": ["all"], "include": []}}});
    call(&mut session, 5, missing, &[]);
    session.say(BYE, 0, &Json::Null, &[]);
    assert!(session.process.wait().unwrap().success(), "an orderly end");
    session.spoken
}

#[test]
fn the_transcript_in_the_documentation_is_what_the_reference_says() {
    let spoken = play_session();
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/backend-protocol.md");
    let text = fs::read_to_string(&page).unwrap();
    let (before, rest) = text.split_once(BEGIN).unwrap();
    let (shown, after) = rest.split_once(END).unwrap();
    if std::env::var_os("LOCI_UPDATE").is_some() {
        fs::write(&page, format!("{before}{BEGIN}{spoken}{END}{after}")).unwrap();
        return;
    }
    assert_eq!(shown, spoken, "run this test with LOCI_UPDATE=1 to write it anew");
}

#[test]
fn the_documentation_names_every_capability_and_every_kind_of_failure() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/backend-protocol.md");
    let text = fs::read_to_string(page).unwrap();
    let kinds = ErrorKind::ALL.iter().map(|kind| kind.name());
    let capabilities = Capability::KNOWN.iter().map(|capability| capability.name());
    for name in kinds.chain(capabilities) {
        assert!(text.contains(&format!("`{name}`")), "{name} is missing");
    }
}

#[test]
fn a_plug_in_whose_host_is_gone_ends_at_once_and_not_in_order() {
    let mut session = RawSession::start();
    session.say(
        1,
        0,
        &json!({"protocol": [1, 0], "spec": [2, 0], "frame_limit": 67108864}),
        &[],
    );
    session.hear();
    drop(session.process.stdin.take());
    assert_eq!(session.process.wait().unwrap().code(), Some(1));
}
