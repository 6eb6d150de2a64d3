//! The tools, one file each, in the order agents see them.

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

use loci_engine::AccessPolicy;
use serde_json::{Map, Value};

use super::tool::{Effect, Entry};

/// The tools that a caller with these rights has.
pub(crate) fn all(access: &AccessPolicy) -> Vec<Entry> {
    let mut tools = [
        Entry::of::<search::Search>(),
        Entry::of::<get::Get>(),
        Entry::of::<list::List>(),
        Entry::of::<add::Add>(),
        Entry::of::<update::Update>(),
        Entry::of::<refile::Move>(),
        Entry::of::<delete::Delete>(),
        Entry::of::<check_duplicate::CheckDuplicate>(),
        Entry::of::<mine::Mine>(),
        Entry::of::<status::Status>(),
        Entry::of::<wings::Wings>(),
        Entry::of::<wake_up::WakeUp>(),
        Entry::of::<diary_write::DiaryWrite>(),
        Entry::of::<diary_read::DiaryRead>(),
    ];
    let mut known = HashSet::new();
    for tool in &mut tools {
        drop_known_words(&mut tool.input, &mut known);
    }
    tools.into_iter().filter(|tool| offered(tool, access)).collect()
}

/// Takes out descriptions of arguments that an earlier tool has word for word, or that repeat a name: agents read the list
/// as a whole.
fn drop_known_words(schema: &mut Map<String, Value>, known: &mut HashSet<(String, String)>) {
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

/// Whether a tool is there at all: tools that write are withheld from readers, and those that go by source wherever it is
/// filed (mining, sync) from callers for whom only some wings exist.
pub(crate) fn offered(tool: &Entry, access: &AccessPolicy) -> bool {
    let withheld = if goes_by_source(tool) {
        access.read_only || access.is_restricted()
    } else {
        access.read_only && tool.effect != Effect::Reads
    };
    !withheld
}

/// Whether a tool reads sources, which takes as long as there are many.
pub(crate) fn goes_by_source(tool: &Entry) -> bool {
    ["mine", "sync"].iter().any(|name| tool.name.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_is_described_once_and_taken_wherever_it_is() {
        let tools = all(&AccessPolicy::default());
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
