//! The record that a call of a tool leaves in the audit log: ids, wings and numbers, and never a text.

use loci_core::DrawerId;
use loci_engine::view::address::{self, AddressTarget};
use loci_team::{AuditAct, AuditSubject};
use serde_json::{Map, Value};

/// Returns the act and the subject of a call, over this interface or MCP. `reply` is the tool's value, once there is one.
///
/// Only ids, names of wings and numbers are taken over. Queries, texts, topics, sources, speakers, filters and cursors
/// are not: people search for and file what must not stand in a log.
pub(crate) fn audit_subject(
    tool: &str,
    arguments: &Map<String, Value>,
    reply: Option<&Value>,
) -> (AuditAct, AuditSubject) {
    let query = arguments.get("query").and_then(Value::as_str);
    let subject = AuditSubject {
        drawers: list_drawers(tool, arguments, reply),
        count: reply.and_then(|reply| count_drawers(tool, reply)),
        wings: list_wings(arguments),
        query_chars: query
            .filter(|_| tool == "search")
            .map(|query| query.chars().count() as u64),
        name: None,
    };
    (act_of(tool), subject)
}

/// Returns the act that a tool is.
fn act_of(tool: &str) -> AuditAct {
    match tool {
        "search" => AuditAct::SEARCH,
        "add" | "diary_write" | "mine" => AuditAct::ADD,
        "update" | "move" => AuditAct::UPDATE,
        "delete" => AuditAct::DELETE,
        // The tools that read, and names that are no tool's: asking for one changes nothing.
        _ => AuditAct::READ,
    }
}

/// Returns the drawers that a call names, or that it filed.
fn list_drawers(tool: &str, arguments: &Map<String, Value>, reply: Option<&Value>) -> Vec<String> {
    let named: &[Value] = match (tool, arguments.get("ids"), arguments.get("id")) {
        ("get" | "delete" | "move", Some(Value::Array(ids)), _) => ids,
        // One text is taken for a list of one.
        ("get" | "delete" | "move", Some(one @ Value::String(_)), _) => std::slice::from_ref(one),
        ("update", _, Some(one)) => std::slice::from_ref(one),
        _ => &[],
    };
    let filed = match tool {
        "add" | "diary_write" => reply.and_then(|reply| reply.get("id")),
        _ => None,
    };
    let mut drawers: Vec<String> = Vec::new();
    for id in named.iter().chain(filed).filter_map(read_id) {
        if !drawers.contains(&id) {
            drawers.push(id);
        }
    }
    drawers
}

/// Reads an id as tools do: an address stands for the id in it.
fn read_id(given: &Value) -> Option<String> {
    let given = given.as_str()?;
    let id = match address::parse_address(given) {
        Ok(AddressTarget::Drawer(id)) => id,
        _ => given.to_owned(),
    };
    DrawerId::new(id).ok().map(|id| id.as_str().to_owned())
}

fn list_wings(arguments: &Map<String, Value>) -> Vec<String> {
    let named = ["wing", "to_wing"]
        .into_iter()
        .filter_map(|name| arguments.get(name));
    let mut wings: Vec<String> = Vec::new();
    for wing in named.filter_map(Value::as_str) {
        if !wing.is_empty() && !wings.iter().any(|known| known == wing) {
            wings.push(wing.to_owned());
        }
    }
    wings
}

/// Returns how many drawers a reply shows, or tells to have been changed.
fn count_drawers(tool: &str, reply: &Value) -> Option<u64> {
    let length = |name: &str| reply.get(name)?.as_array().map(|list| list.len() as u64);
    let number = |name: &str| reply.get(name)?.as_u64();
    match tool {
        "search" => length("hits"),
        "get" | "list" | "wake_up" => length("drawers"),
        "check_duplicate" => length("matches"),
        "diary_read" => length("entries"),
        "add" | "diary_write" => {
            let outcome = reply.get("outcome").and_then(Value::as_str)?;
            // Text that was there already is kept and not filed again.
            Some(u64::from(outcome == "added"))
        }
        "update" => Some(1),
        "move" => number("moved"),
        "delete" => number("deleted"),
        "mine" => number("drawers_added"),
        _ => None,
    }
}
