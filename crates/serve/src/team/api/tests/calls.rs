//! Calls, their replies and their problems.

use loci_core::{Error, ErrorKind};
use loci_engine::AccessPolicy;
use loci_web::http_status;
use serde_json::{Value, json};

use super::scene::{ApiScene, call_in};
use crate::mcp::tools::{find_tool, list_tools};
use crate::team::api::problem::ApiProblem;
use crate::team::api::{ApiCall, ApiReply};

#[track_caller]
fn check_problem(reply: &ApiReply, status: u16, kind: &str) {
    assert_eq!(reply.status, status, "{}", reply.value);
    assert_eq!(reply.value["status"], status);
    assert_eq!(reply.value["kind"], kind);
    assert!(reply.failure.is_some_and(|failure| failure.name() == kind));
    assert_eq!(reply.media_type(), "application/problem+json");
    let written: Value = serde_json::from_slice(&reply.to_body()).unwrap();
    assert_eq!(written, reply.value);
}

#[test]
fn what_is_filed_is_found_and_read_whole() {
    let scene = ApiScene::new();
    let id = scene.add("garden", "The roses are cut back in March.");
    let reply = scene.call("search", &json!({"query": "when are roses cut?"}));
    assert_eq!((reply.status, reply.media_type()), (200, "application/json"));
    assert_eq!(reply.value["hits"][0]["id"], id);
    assert_eq!(
        reply.value["hits"][0]["speaker"], "anna",
        "the filer is the caller"
    );
    let read = scene.value("get", &json!({"ids": [id]}));
    assert_eq!(read["drawers"][0]["text"], "The roses are cut back in March.");
}

#[test]
fn a_withheld_operation_is_as_unknown_as_any_other_name() {
    let scene = ApiScene::new();
    scene.add("garden", "The roses are cut back in March.");
    let reader = scene.restricted_to(AccessPolicy::limited(true, vec!["garden".into()]));
    let unknown = call_in(&reader, "xxxxxx", &json!({}));
    check_problem(&unknown, 404, "not_found");
    for tool in ["delete", "add", "update", "move", "mine", "diary_write"] {
        let withheld = call_in(&reader, tool, &json!({"ids": ["a"]}));
        let same = withheld.value.to_string().replace(tool, "xxxxxx");
        assert_eq!(same, unknown.value.to_string(), "{tool}");
        assert!(find_tool(reader.access(), tool).is_none());
    }
    assert_eq!(call_in(&reader, "wings", &json!({})).status, 200);
    // Without its own reach, a caller learns of no operation that a name of any length could stand for.
    let long = call_in(&reader, &"x".repeat(100_000), &json!({}));
    assert!(long.to_body().len() < 500, "{} bytes", long.to_body().len());
}

#[test]
fn a_failure_is_a_problem_with_a_kind_and_a_hint() {
    let scene = ApiScene::new();
    check_problem(&scene.call("search", &json!({})), 400, "invalid");
    let unknown = scene.call("search", &json!({"query": "q", "wigs": 1}));
    check_problem(&unknown, 400, "invalid");
    assert_eq!(unknown.value["title"], "Bad Request");
    assert!(unknown.value["detail"].as_str().unwrap().contains("wigs"));
    assert!(
        unknown.value["hint"]
            .as_str()
            .unwrap()
            .contains("nothing was done")
    );
    scene.add("garden", "The roses are cut back in March.");
    check_problem(&scene.call("get", &json!({"ids": ["none"]})), 404, "not_found");
    let long = scene.call("search", &json!({"query": "q", "x".repeat(50_000): 1}));
    assert!(long.to_body().len() < 6_000, "{} bytes", long.to_body().len());
}

#[test]
fn every_kind_of_error_has_a_status_and_a_title() {
    for kind in ErrorKind::ALL {
        let reply = ApiReply::from_error(&Error::new(kind, "it failed"));
        assert!((400..600).contains(&http_status(kind)), "{kind:?}");
        check_problem(&reply, http_status(kind), kind.name());
        assert_ne!(reply.value["title"], "Problem");
        assert_eq!(reply.value.get("hint"), None);
    }
    let refusal = ApiProblem::new(429, "too_many", "too many requests", Some("try again")).to_value();
    assert_eq!(refusal["title"], "Too Many Requests");
}

#[test]
fn a_body_is_one_object_or_nothing() {
    let parse = |body: &[u8]| ApiCall::from_body("status", body);
    assert!(parse(b" \n").unwrap().arguments.is_empty());
    assert_eq!(parse(br#"{"limit": 2}"#).unwrap().arguments["limit"], 2);
    for body in [
        "[]",
        "null",
        "{",
        "{} {}",
        "secret",
        "\"secret\"",
        "{\"a\": secret}",
    ] {
        let error = parse(body.as_bytes()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{body}");
        assert!(!error.to_string().contains("secret"), "{error}");
    }
    assert!(parse(b"\xff\xfe").is_err());
    let deep = "[".repeat(100_000);
    assert!(parse(format!("{{\"a\": {deep}").as_bytes()).is_err());
}

#[test]
fn a_page_is_as_long_as_it_is_asked_to_be() {
    let scene = ApiScene::new();
    for number in 0..60 {
        let text = format!("Bed {number}. {}", "The soil is dug over. ".repeat(40));
        scene.add("garden", &text);
    }
    let page = scene.value("list", &json!({"limit": 50}));
    assert_eq!(page["drawers"].as_array().unwrap().len(), 50);
    let rest = scene.value("list", &json!({"limit": 50, "cursor": page["next"]}));
    assert_eq!(rest["drawers"].as_array().unwrap().len(), 10);
    // A caller that names a budget gets what fits it.
    let short = scene.value("list", &json!({"limit": 50, "tokens": 500}));
    assert!(short["drawers"].as_array().unwrap().len() < 50);
    assert!(short["next"].is_string());
}

#[test]
fn a_long_text_comes_in_bounded_parts_that_join_to_the_whole() {
    let scene = ApiScene::new();
    let text = "Every word is kept verbatim. ".repeat(30_000);
    let id = scene.add("garden", &text);
    let (mut joined, mut cursor, mut parts) = (String::new(), Value::Null, 0);
    loop {
        let reply = scene.call("get", &json!({"ids": [id], "cursor": cursor}));
        assert!(reply.to_body().len() < 1_000_000);
        joined.push_str(reply.value["drawers"][0]["text"].as_str().unwrap());
        cursor = reply.value["next"].clone();
        parts += 1;
        if cursor.is_null() {
            break;
        }
    }
    assert!(
        joined == text && parts > 1,
        "{parts} parts of {} bytes",
        joined.len()
    );
}

#[test]
fn every_tool_can_be_found() {
    let everything = AccessPolicy::default();
    for tool in list_tools(&everything) {
        assert!(find_tool(&everything, tool.name).is_some(), "{}", tool.name);
    }
}
