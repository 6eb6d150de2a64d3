//! The hooks in a JSON settings file: commands that a tool runs at its events.

use super::{find_object, parse_object, parse_original, remove_if_empty};
use crate::EditResult;
use crate::json::{JsonNode, JsonValue, insert_item, remove_item, replace_value};
use crate::shell_line::is_loci_hook;

/// The name of the object that lists events.
const HOOKS: &str = "hooks";
/// The name of a number that some tools require beside the hooks.
const VERSION: &str = "version";

/// The shape in which an event lists its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HookLayout {
    /// In groups: `[{"hooks": [{"type": "command", "command": …}]}]`.
    Grouped,
    /// One after the other: `[{"command": …}]`, with `"version": 1` beside the events.
    Flat,
}

/// A command to run at an event.
#[derive(Debug, Clone)]
pub(crate) struct HookCommand {
    /// The event, by the tool's own name.
    pub(crate) event: &'static str,
    /// The command line.
    pub(crate) line: String,
    /// The time after which the tool stops waiting, in the tool's own unit.
    pub(crate) timeout: u64,
}

impl HookCommand {
    /// The item that is added to the list of the event.
    fn to_item(&self, layout: HookLayout) -> JsonValue {
        let command = ("command", JsonValue::text(&self.line));
        let timeout = ("timeout", JsonValue::Number(self.timeout));
        match layout {
            HookLayout::Flat => JsonValue::object([command, timeout]),
            HookLayout::Grouped => {
                let handler = JsonValue::object([("type", JsonValue::text("command")), command, timeout]);
                JsonValue::object([(HOOKS, JsonValue::List(vec![handler]))])
            }
        }
    }
}

/// The position of a command of ours.
struct HookPosition {
    event: String,
    path: Vec<usize>,
}

/// Finds the commands of ours, in order.
fn find_commands(root: &JsonNode, layout: HookLayout) -> EditResult<Vec<HookPosition>> {
    let Some(at) = find_object(root, HOOKS)? else {
        return Ok(Vec::new());
    };
    let mut positions = Vec::new();
    let events = root.find_by_path(&[at]).map_or(&[][..], JsonNode::items);
    for (event, item) in events.iter().enumerate() {
        for (group, entry) in item.value.items().iter().enumerate() {
            let paths = match layout {
                HookLayout::Flat if runs_loci(&entry.value) => vec![vec![at, event, group]],
                HookLayout::Flat => Vec::new(),
                HookLayout::Grouped => find_handlers(&entry.value, &[at, event, group]),
            };
            positions.extend(paths.into_iter().map(|path| HookPosition {
                event: item.name.clone().unwrap_or_default(),
                path,
            }));
        }
    }
    Ok(positions)
}

/// Finds the handlers of ours in the group at `path`.
fn find_handlers(group: &JsonNode, path: &[usize]) -> Vec<Vec<usize>> {
    let Some(list) = group.position(HOOKS) else {
        return Vec::new();
    };
    let handlers = group.get(HOOKS).map_or(&[][..], JsonNode::items);
    let handlers = handlers.iter().enumerate();
    handlers
        .filter(|(_, handler)| runs_loci(&handler.value))
        .map(|(handler, _)| [path, &[list, handler]].concat())
        .collect()
}

fn runs_loci(handler: &JsonNode) -> bool {
    let command = handler.get("command").and_then(JsonNode::text);
    command.is_some_and(is_loci_hook)
}

/// Adds the commands or brings them up to date, one for each event, and removes those of other events.
pub(super) fn put_hooks(
    text: &str,
    layout: HookLayout,
    hooks: &[HookCommand],
    original: Option<&str>,
) -> EditResult<String> {
    let mut edited = text.to_owned();
    let root = parse_object(&edited)?;
    // Cursor's format has a version. One that is there stays, whatever its number.
    if layout == HookLayout::Flat && root.get(VERSION).is_none() {
        edited = insert_item(&edited, &root, &[], Some(VERSION), &JsonValue::Number(1));
    }
    edited = remove_hooks(edited, layout, original, |all, index| {
        let event = all.get(index).map(|position| &position.event);
        // Of several commands for one event the first stays and is updated, with what the user added to it.
        let first = all.iter().position(|position| Some(&position.event) == event);
        let is_wanted = hooks
            .iter()
            .any(|hook| Some(hook.event) == event.map(String::as_str));
        is_wanted && first == Some(index)
    })?;
    for hook in hooks {
        edited = put_hook(&edited, layout, hook)?;
    }
    Ok(edited)
}

fn put_hook(text: &str, layout: HookLayout, hook: &HookCommand) -> EditResult<String> {
    let root = parse_object(text)?;
    let mut positions = find_commands(&root, layout)?.into_iter();
    if let Some(existing) = positions.find(|position| position.event == hook.event) {
        return Ok(update_line(text, &root, existing.path, &hook.line));
    }
    let item = hook.to_item(layout);
    let Some(at) = find_object(&root, HOOKS)? else {
        let events = JsonValue::object([(hook.event, JsonValue::List(vec![item]))]);
        return Ok(insert_item(text, &root, &[], Some(HOOKS), &events));
    };
    let events = root.find_by_path(&[at]);
    let event = events.and_then(|events| events.position(hook.event));
    let Some(event) = event else {
        let list = JsonValue::List(vec![item]);
        return Ok(insert_item(text, &root, &[at], Some(hook.event), &list));
    };
    let path = [at, event];
    if root.find_by_path(&path).is_some_and(JsonNode::is_list) {
        Ok(insert_item(text, &root, &path, None, &item))
    } else {
        Err(format!("does not hold a list under the hook {:?}", hook.event))
    }
}

/// Sets the command line of the handler at `path` and leaves what users added to it, such as another timeout.
fn update_line(text: &str, root: &JsonNode, mut path: Vec<usize>, line: &str) -> String {
    let handler = root.find_by_path(&path);
    path.extend(handler.and_then(|handler| handler.position("command")));
    let line = JsonValue::text(line);
    let is_current = root
        .find_by_path(&path)
        .is_some_and(|node| line.equals_node(node));
    if is_current {
        text.to_owned()
    } else {
        replace_value(text, root, &path, &line)
    }
}

/// Removes every command of ours, and the version that came with them.
pub(super) fn remove_all_hooks(
    text: String,
    layout: HookLayout,
    original: Option<&str>,
) -> EditResult<String> {
    let edited = remove_hooks(text.clone(), layout, original, |_, _| false)?;
    let root = parse_object(&edited)?;
    let version = root
        .position(VERSION)
        .filter(|_| layout == HookLayout::Flat && edited != text);
    let is_ours = match parse_original(original) {
        Some(original) => original.get(VERSION).is_none(),
        // A file we created keeps its version as long as hooks of others need it.
        None => root.items().len() == 1,
    };
    Ok(match version.filter(|_| is_ours) {
        Some(at) => remove_item(&edited, &root, &[at]),
        None => edited,
    })
}

/// Removes the commands of ours that `stays` does not keep, and the containers they leave empty.
fn remove_hooks(
    text: String,
    layout: HookLayout,
    original: Option<&str>,
    stays: impl Fn(&[HookPosition], usize) -> bool,
) -> EditResult<String> {
    let original = parse_original(original);
    let mut edited = text;
    loop {
        let root = parse_object(&edited)?;
        let all = find_commands(&root, layout)?;
        // One at a time: a removal moves every position behind it, so the rest is searched again.
        let Some(last) = (0..all.len()).rev().find(|index| !stays(&all, *index)) else {
            return Ok(edited);
        };
        let Some(HookPosition { event, path }) = all.into_iter().nth(last) else {
            return Ok(edited);
        };
        edited = remove_item(&edited, &root, &path);
        edited = remove_empty_parents(edited, &path, &event, original.as_ref())?;
    }
}

/// Removes the group, the event and the object of hooks that a removed command left empty, unless the
/// original had them.
fn remove_empty_parents(
    text: String,
    path: &[usize],
    event: &str,
    original: Option<&JsonNode>,
) -> EditResult<String> {
    let was_there = |names: &[&str]| original.is_some_and(|root| root.find_by_names(names).is_some());
    let mut edited = text;
    let root = parse_object(&edited)?;
    // The path of a handler in a group has five steps: hooks, event, group, its list, handler.
    if let Some(list) = path.get(..4)
        && root.find_by_path(list).is_some_and(JsonNode::is_empty_container)
    {
        edited = remove_item(&edited, &root, path.get(..3).unwrap_or_default());
    }
    // Inside out: the object of hooks is empty only once its last event is gone.
    for (depth, names) in [(2, &[HOOKS, event][..]), (1, &[HOOKS][..])] {
        if !was_there(names) {
            edited = remove_if_empty(edited, path.get(..depth).unwrap_or_default())?;
        }
    }
    Ok(edited)
}
