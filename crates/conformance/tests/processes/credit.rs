//! Large answers come in pieces, and no piece comes that the host has not made room for.

use serde_json::{Value as Json, json};

use crate::raw::RawSession;

const CALL: u8 = 2;
const CREDIT: u8 = 4;
const PIECE: u8 = 7;
const ANSWER: u8 = 8;

/// The number of pieces that may be on the way without a credit returned.
const WINDOW: usize = 4;

/// The number of drawers that are read at once: about ten pieces.
const DRAWERS: usize = 2000;

fn call(session: &mut RawSession, number: u32, call: Json) {
    session.say(CALL, number, &json!({"deadline_ms": 60000, "call": call}), &[]);
}

/// Starts a session whose collection holds many drawers, and returns the handle.
fn fill_session(session: &mut RawSession) -> Json {
    let hello = json!({"protocol": [1, 0], "spec": [2, 0], "frame_limit": 67108864});
    session.say(1, 0, &hello, &[]);
    session.hear();
    let options = json!({"visible": ["all"], "writable": true, "adopts_model": false,
        "carries_unknown": false, "wait_ms": 30000});
    let create = json!({"create": {"palace": {"id": "p"}, "collection": "drawers",
        "mode": "open_existing", "options": options}});
    call(session, 1, create);
    let handle = session.hear().1["value"]["handle"].clone();
    let text = "x".repeat(1000);
    let add = |n: usize| json!({"add": {"id": format!("{n:05}"), "document": text, "metadata": {}}});
    let writes: Vec<Json> = (0..DRAWERS).map(add).collect();
    call(session, 2, json!({"apply": {"handle": handle, "writes": writes}}));
    session.hear();
    handle
}

#[test]
fn a_large_answer_waits_until_the_host_has_taken_what_is_on_the_way() {
    let mut session = RawSession::start();
    let handle = fill_session(&mut session);
    let get = json!({"get": {"handle": handle, "request": {"order": "id", "offset": 0,
        "filter": ["all"], "document": ["all"], "include": ["document"]}}});
    call(&mut session, 3, get);
    let mut rows = 0;
    let mut take = |header: &Json| rows += header["rows"].as_array().unwrap().len();
    for _ in 0..WINDOW {
        let (kind, header) = session.hear();
        assert_eq!(kind, PIECE);
        take(&header);
    }
    // Another call is answered meanwhile: the next frame is its answer and not a fifth piece.
    call(&mut session, 4, json!({"info": {"handle": handle}}));
    let (kind, header) = session.hear();
    assert_eq!(
        (kind, header["value"]["drawers"].as_u64()),
        (ANSWER, Some(DRAWERS as u64))
    );
    let mut last = PIECE;
    while last == PIECE {
        session.say(CREDIT, 3, &Json::Null, &[]);
        let (kind, header) = session.hear();
        take(&header);
        last = kind;
    }
    assert_eq!((last, rows), (ANSWER, DRAWERS));
}
