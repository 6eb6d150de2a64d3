//! Our entries in a JSON config: put in, brought up to date, taken out.

use super::json::{self, Node, Plain, insert, remove, replace, tightened};
use super::line::is_ours;

/// What the server is called in every tool.
pub(super) const NAME: &str = "loci";
/// Where hooks stand.
const HOOKS: &str = "hooks";
/// A number some tools want beside the hooks.
const VERSION: &str = "version";

/// One kind of entry in a config.
#[derive(Debug, Clone)]
pub(super) enum Part {
    /// The server, in the object called `list`.
    Server {
        /// What the object is called.
        list: &'static str,
        /// What is said of the server.
        entry: Vec<(String, Plain)>,
    },
    /// Commands to run at events.
    Hooks {
        /// How an event lists its commands.
        shape: Shape,
        /// The commands.
        hooks: Vec<Hook>,
    },
}

/// How an event lists its commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    /// In groups: `[{"hooks": [{"type": "command", "command": …}]}]`.
    Grouped,
    /// One after the other: `[{"command": …}]`, with `"version": 1` beside the events.
    Flat,
}

/// A command to run at an event.
#[derive(Debug, Clone)]
pub(super) struct Hook {
    /// The event, by the tool's own name.
    pub(super) event: &'static str,
    /// The command line.
    pub(super) command: String,
    /// After how long the tool gives up on it, in the tool's own unit.
    pub(super) timeout: u64,
}

/// What may go wrong: the config is not of the shape the tool reads.
type Made<T> = Result<T, String>;

/// The config with our entries in it. `original` is what it was before we came.
pub(super) fn connected(text: &str, parts: &[Part], original: Option<&str>) -> Made<String> {
    let mut made = match is_blank(text) {
        true => format!("{}{{}}\n", bom(text)),
        false => text.to_owned(),
    };
    for part in parts {
        made = match part {
            Part::Server { list, entry } => put_server(&made, list, entry)?,
            Part::Hooks { shape, hooks } => put_hooks(&made, *shape, hooks, original)?,
        };
    }
    Ok(made)
}

/// The config without our entries; `None` if nothing is left that was not ours. `original` is what it was before
/// we came.
pub(super) fn parted(text: &str, parts: &[Part], original: Option<&str>) -> Made<Option<String>> {
    if is_blank(text) {
        return Ok(Some(text.to_owned()));
    }
    let mut made = text.to_owned();
    for part in parts {
        made = match part {
            Part::Server { list, .. } => take_server(made, list, original)?,
            Part::Hooks { shape, .. } => take_all_hooks(made, *shape, original)?,
        };
    }
    match made == text {
        true => Ok(Some(made)),
        false => settled(made, original),
    }
}

/// What is left, in the very bytes of the original where only space between empty brackets differs.
fn settled(made: String, original: Option<&str>) -> Made<Option<String>> {
    let root = object(&made)?;
    let outside = [made.get(..root.span.start), made.get(root.span.end..)];
    let nothing = root.is_bare_container() && outside.iter().flatten().all(|text| is_blank(text));
    Ok(match original {
        None if nothing => None,
        Some(original) if nothing && is_blank(original) => Some(original.to_owned()),
        Some(original) if tightened(original) == tightened(&made) => Some(original.to_owned()),
        _ => Some(made),
    })
}

fn bom(text: &str) -> &str {
    match text.starts_with('\u{feff}') {
        true => "\u{feff}",
        false => "",
    }
}

/// Whether a config says nothing at all.
pub(super) fn is_blank(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').trim().is_empty()
}

/// Reads a config, whose whole must be an object.
fn object(text: &str) -> Made<Node> {
    let root = json::parse(text).map_err(|what| format!("is not JSON: {what}"))?;
    match root.is_object() {
        true => Ok(root),
        false => Err("does not hold an object".to_owned()),
    }
}

/// Reads what was there before we came, as far as that can be read.
fn before(original: Option<&str>) -> Option<Node> {
    original.and_then(|text| json::parse(text).ok())
}

/// The number of the object called `name` at the top, if there is one.
fn list_of(root: &Node, name: &str) -> Made<Option<usize>> {
    match root.position(name) {
        Some(at) if root.at(&[at]).is_some_and(Node::is_object) => Ok(Some(at)),
        Some(_) => Err(format!("holds something else than an object under {name:?}")),
        None => Ok(None),
    }
}

fn put_server(text: &str, list: &str, entry: &[(String, Plain)]) -> Made<String> {
    let root = object(text)?;
    let whole = Plain::Object(entry.to_vec());
    let Some(at) = list_of(&root, list)? else {
        return Ok(insert(
            text,
            &root,
            &[],
            Some(list),
            &Plain::object([(NAME, whole)]),
        ));
    };
    let there = root
        .at(&[at])
        .and_then(|list| Some((list.position(NAME)?, list.get(NAME)?)));
    match there {
        None => Ok(insert(text, &root, &[at], Some(NAME), &whole)),
        Some((server, node)) if node.is_object() => updated(text, &[at, server], entry),
        Some((server, _)) => Ok(replace(text, &root, &[at, server], &whole)),
    }
}

/// Sets what we say of the server and leaves what others say of it.
fn updated(text: &str, path: &[usize], entry: &[(String, Plain)]) -> Made<String> {
    let mut made = text.to_owned();
    for (name, value) in entry {
        let root = object(&made)?;
        let node = root.at(path);
        let there = node.and_then(|node| Some((node.position(name)?, node.get(name)?)));
        made = match there {
            None => insert(&made, &root, path, Some(name), value),
            Some((_, found)) if value.is(found) => continue,
            Some((at, _)) => replace(&made, &root, &[path, &[at]].concat(), value),
        };
    }
    Ok(made)
}

fn take_server(text: String, list: &str, original: Option<&str>) -> Made<String> {
    let root = object(&text)?;
    let Some(at) = list_of(&root, list)? else {
        return Ok(text);
    };
    let Some(server) = root.at(&[at]).and_then(|list| list.position(NAME)) else {
        return Ok(text);
    };
    let made = remove(&text, &root, &[at, server]);
    let was_there = before(original).is_some_and(|root| root.get(list).is_some_and(Node::is_object));
    match was_there {
        true => Ok(made),
        false => without_empty(made, &[at]),
    }
}

/// The text without the container at `path`, if that is empty.
fn without_empty(text: String, path: &[usize]) -> Made<String> {
    let root = object(&text)?;
    match root.at(path).is_some_and(Node::is_bare_container) {
        true => Ok(remove(&text, &root, path)),
        false => Ok(text),
    }
}

/// A command of ours: the event it stands under and the way to it.
struct Found {
    event: String,
    path: Vec<usize>,
}

/// The commands of ours, in order.
fn found(root: &Node, shape: Shape) -> Made<Vec<Found>> {
    let Some(at) = list_of(root, HOOKS)? else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    let events = root.at(&[at]).map_or(&[][..], Node::items);
    for (event, item) in events.iter().enumerate() {
        for (group, entry) in item.value.items().iter().enumerate() {
            let mut add = |path: Vec<usize>| {
                found.push(Found {
                    event: item.name.clone().unwrap_or_default(),
                    path,
                });
            };
            if shape == Shape::Flat {
                if runs_us(&entry.value) {
                    add(vec![at, event, group]);
                }
                continue;
            }
            let Some(list) = entry.value.position(HOOKS) else {
                continue;
            };
            let handlers = entry.value.get(HOOKS).map_or(&[][..], Node::items);
            for (handler, _) in handlers.iter().enumerate().filter(|(_, one)| runs_us(&one.value)) {
                add(vec![at, event, group, list, handler]);
            }
        }
    }
    Ok(found)
}

fn runs_us(handler: &Node) -> bool {
    let command = handler.get("command").and_then(Node::text);
    command.is_some_and(is_ours)
}

fn put_hooks(text: &str, shape: Shape, hooks: &[Hook], original: Option<&str>) -> Made<String> {
    let mut made = text.to_owned();
    if shape == Shape::Flat && object(&made)?.get(VERSION).is_none() {
        made = insert(&made, &object(&made)?, &[], Some(VERSION), &Plain::Number(1));
    }
    made = take_hooks(made, shape, original, |all, number| {
        let event = all.get(number).map(|found| &found.event);
        let is_first = all.iter().position(|found| Some(&found.event) == event) == Some(number);
        is_first
            && hooks
                .iter()
                .any(|hook| Some(hook.event) == event.map(String::as_str))
    })?;
    for hook in hooks {
        made = put_hook(&made, shape, hook)?;
    }
    Ok(made)
}

fn put_hook(text: &str, shape: Shape, hook: &Hook) -> Made<String> {
    let root = object(text)?;
    let there = found(&root, shape)?
        .into_iter()
        .find(|found| found.event == hook.event);
    if let Some(mut found) = there {
        let command = root
            .at(&found.path)
            .and_then(|handler| handler.position("command"));
        found.path.extend(command);
        let wanted = Plain::text(&hook.command);
        return Ok(match root.at(&found.path).is_some_and(|node| wanted.is(node)) {
            true => text.to_owned(),
            false => replace(text, &root, &found.path, &wanted),
        });
    }
    let entry = hook.entry(shape);
    let Some(at) = list_of(&root, HOOKS)? else {
        let events = Plain::object([(hook.event, Plain::List(vec![entry]))]);
        return Ok(insert(text, &root, &[], Some(HOOKS), &events));
    };
    let event = root.at(&[at]).and_then(|events| events.position(hook.event));
    match event.map(|event| [at, event]) {
        None => Ok(insert(
            text,
            &root,
            &[at],
            Some(hook.event),
            &Plain::List(vec![entry]),
        )),
        Some(path) if root.at(&path).is_some_and(Node::is_list) => {
            Ok(insert(text, &root, &path, None, &entry))
        }
        Some(_) => Err(format!(
            "holds something else than a list under the hook {:?}",
            hook.event
        )),
    }
}

impl Hook {
    fn entry(&self, shape: Shape) -> Plain {
        let command = ("command", Plain::text(&self.command));
        let timeout = ("timeout", Plain::Number(self.timeout));
        match shape {
            Shape::Flat => Plain::object([command, timeout]),
            Shape::Grouped => {
                let handler = Plain::object([("type", Plain::text("command")), command, timeout]);
                Plain::object([(HOOKS, Plain::List(vec![handler]))])
            }
        }
    }
}

/// Takes every command of ours out, and the version that came with them.
fn take_all_hooks(text: String, shape: Shape, original: Option<&str>) -> Made<String> {
    let made = take_hooks(text.clone(), shape, original, |_, _| false)?;
    let root = object(&made)?;
    let version = root
        .position(VERSION)
        .filter(|_| shape == Shape::Flat && made != text);
    let is_ours = match before(original) {
        Some(before) => before.get(VERSION).is_none(),
        // A file that came from us keeps its version as long as somebody else's hooks are in it.
        None => root.items().len() == 1,
    };
    match version.filter(|_| is_ours) {
        Some(at) => Ok(remove(&made, &root, &[at])),
        None => Ok(made),
    }
}

/// Takes out the commands of ours that `stays` does not keep, and what they leave empty.
fn take_hooks(
    text: String,
    shape: Shape,
    original: Option<&str>,
    stays: impl Fn(&[Found], usize) -> bool,
) -> Made<String> {
    let before = before(original);
    let mut made = text;
    loop {
        let root = object(&made)?;
        let all = found(&root, shape)?;
        let Some(last) = (0..all.len()).rev().find(|number| !stays(&all, *number)) else {
            return Ok(made);
        };
        let Some(Found { event, path }) = all.into_iter().nth(last) else {
            return Ok(made);
        };
        made = remove(&made, &root, &path);
        made = without_husks(made, &path, &event, before.as_ref())?;
    }
}

/// Takes out the group, the event and the object of hooks that a command left empty, unless they were there before.
fn without_husks(text: String, path: &[usize], event: &str, before: Option<&Node>) -> Made<String> {
    let was = |names: &[&str]| before.is_some_and(|root| root.named(names).is_some());
    let mut made = text;
    let root = object(&made)?;
    if let Some(list) = path.get(..4)
        && root.at(list).is_some_and(Node::is_bare_container)
    {
        made = remove(&made, &root, path.get(..3).unwrap_or_default());
    }
    for (depth, names) in [(2, &[HOOKS, event][..]), (1, &[HOOKS][..])] {
        if !was(names) {
            made = without_empty(made, path.get(..depth).unwrap_or_default())?;
        }
    }
    Ok(made)
}
