//! What calls leave in the audit log.

use loci_engine::AccessPolicy;
use loci_team::{AuditAct, AuditSubject};
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::scene::ApiScene;
use crate::mcp::tool::{ToolEffect, ToolEntry};
use crate::mcp::tools::list_tools;
use crate::team::api::audit_subject;

/// Arguments whose words the log keeps, if they are texts.
const KEPT: [&str; 4] = ["id", "ids", "wing", "to_wing"];

fn record(tool: &str, arguments: Value, reply: Option<&Value>) -> (AuditAct, AuditSubject) {
    let Value::Object(arguments) = arguments else {
        unreachable!("arguments are objects")
    };
    audit_subject(tool, &arguments, reply)
}

#[test]
fn the_act_of_each_tool_is_its_effect() {
    for tool in list_tools(&AccessPolicy::default()) {
        let (act, _) = record(tool.name, json!({}), None);
        let expect: &[AuditAct] = match tool.effect {
            ToolEffect::Reads => &[AuditAct::READ, AuditAct::SEARCH],
            ToolEffect::Adds => &[AuditAct::ADD],
            ToolEffect::Changes | ToolEffect::Overwrites => &[AuditAct::UPDATE],
            ToolEffect::Removes => &[AuditAct::DELETE],
        };
        assert!(expect.contains(&act), "{}: {}", tool.name, act.name());
    }
    assert_eq!(record("search", json!({}), None).0, AuditAct::SEARCH);
    assert_eq!(record("no such tool", json!({}), None).0, AuditAct::READ);
}

#[test]
fn a_record_names_drawers_wings_and_numbers() {
    let scene = ApiScene::new();
    let note = json!({"text": "The roses are cut back.", "wing": "garden"});
    let filed = scene.value("add", &note);
    let id = filed["id"].as_str().unwrap().to_owned();
    let (act, subject) = record("add", note.clone(), Some(&filed));
    assert_eq!(
        (act, &subject.drawers, subject.count),
        (AuditAct::ADD, &vec![id.clone()], Some(1))
    );
    assert_eq!(subject.wings, ["garden"]);
    let again = scene.value("add", &note);
    assert_eq!(
        record("add", note, Some(&again)).1.count,
        Some(0),
        "it was there already"
    );

    let question = json!({"query": "rosés?", "wing": "garden"});
    let (act, subject) = record(
        "search",
        question.clone(),
        Some(&scene.value("search", &question)),
    );
    assert_eq!(
        (act, subject.query_chars, subject.count),
        (AuditAct::SEARCH, Some(6), Some(1))
    );
    assert!(subject.drawers.is_empty());

    let ids = json!({"ids": [filed["address"], id, "none", 7]});
    let (_, subject) = record("get", ids, None);
    assert_eq!(
        subject.drawers,
        [id.as_str(), "none"],
        "an address stands for the id in it"
    );
    let one = json!({"ids": id});
    let read = scene.value("get", &one);
    assert_eq!(record("get", one, Some(&read)).1.count, Some(1));

    let (act, subject) = record("move", json!({"wing": "garden", "to_wing": "attic"}), None);
    assert_eq!(
        (act, subject.wings, subject.count),
        (AuditAct::UPDATE, vec!["garden".into(), "attic".into()], None)
    );
    let delete = json!({"ids": [id]});
    let deleted = scene.value("delete", &delete);
    let (act, subject) = record("delete", delete, Some(&deleted));
    assert_eq!(
        (act, subject.drawers, subject.count),
        (AuditAct::DELETE, vec![id], Some(1))
    );
}

/// JSON with the word `secret` in every text.
fn secret_json() -> impl Strategy<Value = Value> {
    let text = "[ -~é\n]{0,12}";
    let leaf = prop_oneof![
        text.prop_map(|around| json!(format!("{around}secret{around}"))),
        any::<i64>().prop_map(Value::from),
        Just(Value::Null),
    ];
    leaf.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z_]{1,8}|text|id|ids|wing|hits", inner), 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

/// Arguments of a tool, with secrets wherever the log keeps no words.
fn secret_arguments(tool: &ToolEntry) -> impl Strategy<Value = Map<String, Value>> + use<> {
    let names: Vec<String> = tool.input["properties"]
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    let values: Vec<_> = names.iter().map(|_| secret_json()).collect();
    (Just(names), values).prop_map(|(names, values)| {
        let named = names.into_iter().zip(values);
        let kept = |name: &str, value: &Value| {
            let of_texts = |items: &Vec<Value>| items.iter().any(Value::is_string);
            KEPT.contains(&name) && (value.is_string() || value.as_array().is_some_and(of_texts))
        };
        named
            .map(|(name, value)| {
                if kept(&name, &value) {
                    (name, json!("garden"))
                } else {
                    (name, value)
                }
            })
            .collect()
    })
}

/// A reply with secrets in every text but its own id.
fn secret_reply() -> impl Strategy<Value = Value> {
    let fields = [
        "text", "hits", "drawers", "matches", "entries", "outcome", "moved", "deleted", "missing", "sample",
    ];
    let values: Vec<_> = fields.iter().map(|_| secret_json()).collect();
    values.prop_map(move |values| {
        let mut reply: Map<String, Value> = fields.iter().map(ToString::to_string).zip(values).collect();
        reply.insert("id".into(), "garden".into());
        Value::Object(reply)
    })
}

fn secret_call() -> impl Strategy<Value = (&'static str, Map<String, Value>, Value)> {
    let tools = list_tools(&AccessPolicy::default());
    (0..tools.len()).prop_flat_map(move |at| {
        let tool = &tools[at];
        (Just(tool.name), secret_arguments(tool), secret_reply())
    })
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn no_text_of_a_call_or_its_reply_is_recorded((tool, arguments, reply) in secret_call()) {
        let (act, subject) = audit_subject(tool, &arguments, Some(&reply));
        let written = format!("{} {}", act.name(), serde_json::to_string(&subject).unwrap());
        prop_assert!(!written.contains("secret"), "{tool} {arguments:?}: {written}");
    }
}
