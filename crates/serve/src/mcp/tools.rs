//! The tools, one file each, in the order in which agents see them.

mod add;
mod check_duplicate;
mod delete;
mod diary_read;
mod diary_write;
mod get;
mod list;
pub(crate) mod mine;
mod refile;
pub(crate) mod search;
mod status;
mod update;
mod wake_up;
mod wings;

use std::collections::HashSet;
use std::sync::LazyLock;

use loci_engine::AccessPolicy;
use serde_json::{Map, Value};

use super::tool::{ToolEffect, ToolEntry};

/// Every tool. Made once: a schema takes longer to make than most calls take.
static TOOLS: LazyLock<Vec<ToolEntry>> = LazyLock::new(make_tools);

/// Lists the tools that `access` allows.
pub(crate) fn list_tools(access: &AccessPolicy) -> Vec<&'static ToolEntry> {
    TOOLS.iter().filter(|tool| is_offered(tool, access)).collect()
}

/// Returns the tool of this name, if `access` allows it.
pub(crate) fn find_tool(access: &AccessPolicy, name: &str) -> Option<&'static ToolEntry> {
    let tool = TOOLS.iter().find(|tool| tool.name == name)?;
    is_offered(tool, access).then_some(tool)
}

fn make_tools() -> Vec<ToolEntry> {
    let mut tools = vec![
        ToolEntry::from_tool::<search::SearchTool>(),
        ToolEntry::from_tool::<get::GetTool>(),
        ToolEntry::from_tool::<list::ListTool>(),
        ToolEntry::from_tool::<add::AddTool>(),
        ToolEntry::from_tool::<update::UpdateTool>(),
        ToolEntry::from_tool::<refile::MoveTool>(),
        ToolEntry::from_tool::<delete::DeleteTool>(),
        ToolEntry::from_tool::<check_duplicate::CheckDuplicateTool>(),
        ToolEntry::from_tool::<mine::MineTool>(),
        ToolEntry::from_tool::<status::StatusTool>(),
        ToolEntry::from_tool::<wings::WingsTool>(),
        ToolEntry::from_tool::<wake_up::WakeUpTool>(),
        ToolEntry::from_tool::<diary_write::DiaryWriteTool>(),
        ToolEntry::from_tool::<diary_read::DiaryReadTool>(),
    ];
    // Descriptions are dropped before tools are withheld, so that a tool reads the same whatever the caller's
    // rights.
    let mut known = HashSet::new();
    for tool in &mut tools {
        drop_known_descriptions(&mut tool.input, &mut known);
    }
    tools
}

/// Removes descriptions of arguments that an earlier tool has word for word, or that repeat a name: agents
/// read the list as a whole.
fn drop_known_descriptions(schema: &mut Map<String, Value>, known: &mut HashSet<(String, String)>) {
    let Some(Value::Object(properties)) = schema.get_mut("properties") else {
        return;
    };
    for (name, property) in properties {
        let Value::Object(property) = property else {
            continue;
        };
        let words = property.get("description").and_then(Value::as_str);
        let words = words.map(|words| (name.clone(), words.to_owned()));
        if words
            .is_some_and(|(name, words)| name.eq_ignore_ascii_case(&words) || !known.insert((name, words)))
        {
            property.remove("description");
        }
    }
}

/// Returns whether a tool is offered: those that file or change drawers to callers who may do so somewhere, those that
/// remove to callers who may do that. Mining and sync read files of this machine and follow a source into every wing.
pub(crate) fn is_offered(tool: &ToolEntry, access: &AccessPolicy) -> bool {
    if reads_sources(tool) {
        return access.may_mine();
    }
    match tool.effect {
        ToolEffect::Reads => true,
        ToolEffect::Adds | ToolEffect::Changes | ToolEffect::Overwrites => access.may_write(),
        ToolEffect::Removes => access.may_delete(),
    }
}

/// Returns whether a tool reads sources, which may take long.
pub(crate) fn reads_sources(tool: &ToolEntry) -> bool {
    // By suffix, so that the MemPalace names (`mempalace_mine`) are covered.
    ["mine", "sync"].iter().any(|name| tool.name.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_described_once_and_taken_wherever_it_is() {
        let tools = list_tools(&AccessPolicy::default());
        let property = |tool: &str, name: &str| {
            let tool = tools.iter().find(|one| one.name == tool).unwrap();
            tool.input["properties"][name].clone()
        };
        for tool in ["search", "list", "delete", "move"] {
            for name in [
                "wing", "room", "source", "speaker", "kind", "since", "before", "contains", "where",
            ] {
                let described = property(tool, name).get("description").is_some();
                let is_first = tool == "search" && name != "speaker";
                assert_eq!(described, is_first, "{tool} {name}");
                assert!(!property(tool, name).is_null(), "{tool} {name}");
            }
        }
    }
}
