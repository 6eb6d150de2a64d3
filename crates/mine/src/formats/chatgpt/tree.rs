//! The message tree of a conversation: its current branch, and the edited branches.

use std::collections::{HashMap, HashSet};

use loci_core::Timestamp;

use crate::formats::json::{JsonFields, JsonSlice};

/// The messages of one conversation as a tree.
pub(super) struct ChatgptTree<'a> {
    places: HashMap<String, usize>,
    nodes: Vec<ChatgptNode<'a>>,
}

/// One node of the tree. Parents may form a cycle in a damaged export, so every walk along them is bounded.
struct ChatgptNode<'a> {
    parent: Option<usize>,
    children: Vec<usize>,
    message: Option<JsonFields<'a>>,
}

/// A message in its place in the conversation.
pub(super) struct ChatgptTurn<'t, 'a> {
    pub(super) message: &'t JsonFields<'a>,
    /// Whether it is on the current branch.
    pub(super) current: bool,
    /// The id of the message before it, for messages of other branches.
    pub(super) reply_to: Option<String>,
}

impl<'a> ChatgptTree<'a> {
    /// Reads the mapping. A node whose parent is missing is a root.
    pub(super) fn new(mapping: &JsonFields<'a>) -> Self {
        let read: Vec<JsonFields<'a>> = mapping
            .iter()
            .map(|(_, node)| node.fields().unwrap_or_default())
            .collect();
        let places: HashMap<String, usize> = mapping
            .iter()
            .enumerate()
            .map(|(place, (id, _))| (id.to_owned(), place))
            .collect();
        let listed = listed_children(&read, &places);
        let mut nodes: Vec<ChatgptNode<'a>> = Vec::with_capacity(read.len());
        for (place, fields) in read.iter().enumerate() {
            let named = fields.text("parent").and_then(|id| places.get(&id).copied());
            // Exports and their converters write `parent`, `children` or both; either one is enough.
            let parent = named.or_else(|| listed.get(&place).map(|(parent, _)| *parent));
            let message = fields.object("message");
            nodes.push(ChatgptNode {
                parent: parent.filter(|parent| *parent != place),
                children: Vec::new(),
                message,
            });
        }
        let mut tree = Self { places, nodes };
        tree.hang_children(&listed);
        tree
    }

    /// Gives every node its children, in the order in which it lists them; unlisted ones come last.
    fn hang_children(&mut self, listed: &HashMap<usize, (usize, usize)>) {
        let rank = |parent: usize, child: usize| match listed.get(&child) {
            Some((lister, rank)) if *lister == parent => (*rank, child),
            _ => (usize::MAX, child),
        };
        for child in 0..self.nodes.len() {
            let parent = self.nodes.get(child).and_then(|node| node.parent);
            if let Some(node) = parent.and_then(|parent| self.nodes.get_mut(parent)) {
                node.children.push(child);
            }
        }
        for (parent, node) in self.nodes.iter_mut().enumerate() {
            node.children.sort_by_key(|child| rank(parent, *child));
        }
    }

    /// Returns every message once: the current branch from its root on, then other branches, each message after its
    /// parent.
    pub(super) fn turns(&self, current: Option<&str>) -> Vec<ChatgptTurn<'_, 'a>> {
        let named = current.and_then(|id| self.places.get(id).copied());
        // Without `current_node`, or with one that is gone, the longest way through the tree is the
        // likeliest.
        let branch = self.branch_to(named.or_else(|| self.newest_leaf()));
        let mut seen: HashSet<usize> = branch.iter().copied().collect();
        let others: Vec<usize> = self
            .walk_nodes()
            .into_iter()
            .map(|(place, _)| place)
            .filter(|place| seen.insert(*place))
            .collect();
        let current = branch.iter().filter_map(|place| self.turn_at(*place, true));
        current
            .chain(others.iter().filter_map(|place| self.turn_at(*place, false)))
            .collect()
    }

    fn turn_at(&self, place: usize, current: bool) -> Option<ChatgptTurn<'_, 'a>> {
        let node = self.nodes.get(place)?;
        let message = node.message.as_ref()?;
        // On the current branch the order of messages already says it.
        let reply_to = if current {
            None
        } else {
            self.last_message_from(node.parent)
        };
        Some(ChatgptTurn {
            message,
            current,
            reply_to,
        })
    }

    /// Returns the id of the message at this place, or else of the nearest one above it.
    fn last_message_from(&self, place: Option<usize>) -> Option<String> {
        let mut node = self.nodes.get(place?)?;
        for _ in 0..self.nodes.len() {
            if let Some(id) = node
                .message
                .as_ref()
                .and_then(|message| message.nonempty_text("id"))
            {
                return Some(id);
            }
            node = self.nodes.get(node.parent?)?;
        }
        None
    }

    /// Returns the places from the root to this leaf.
    fn branch_to(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut branch = Vec::new();
        let mut seen = HashSet::new();
        let mut place = leaf;
        while let Some(here) = place.filter(|here| seen.insert(*here)) {
            branch.push(here);
            place = self.nodes.get(here).and_then(|node| node.parent);
        }
        branch.reverse();
        branch
    }

    /// Returns every place with its depth, parents before children; nodes without a root come last.
    fn walk_nodes(&self) -> Vec<(usize, usize)> {
        let roots = (0..self.nodes.len())
            .filter(|place| self.nodes.get(*place).is_some_and(|node| node.parent.is_none()));
        // All places follow the roots, because the nodes of a cycle hang on no root and would be lost.
        let starts: Vec<usize> = roots.chain(0..self.nodes.len()).collect();
        let mut walked = Vec::with_capacity(self.nodes.len());
        let mut seen = HashSet::new();
        for start in starts {
            // An explicit stack instead of recursion: a chat can be tens of thousands of messages deep.
            let mut waiting = vec![(start, 0)];
            while let Some((place, depth)) = waiting.pop() {
                if seen.insert(place) {
                    walked.push((place, depth));
                    let children = self
                        .nodes
                        .get(place)
                        .map(|node| node.children.as_slice())
                        .unwrap_or_default();
                    waiting.extend(children.iter().rev().map(|child| (*child, depth + 1)));
                }
            }
        }
        walked
    }

    /// Returns the deepest leaf with a message; of several the newest, and of those the last in the file.
    fn newest_leaf(&self) -> Option<usize> {
        let spoken = |place: &usize| self.nodes.get(*place).is_some_and(|node| node.message.is_some());
        let is_leaf = |place: &usize| {
            self.nodes
                .get(*place)
                .is_some_and(|node| node.children.is_empty())
        };
        let walked = self.walk_nodes();
        let leaves = walked.iter().filter(|(place, _)| spoken(place) && is_leaf(place));
        let deepest = leaves.max_by_key(|(place, depth)| (*depth, self.created_at(*place), *place));
        let any = || (0..self.nodes.len()).rev().find(spoken);
        deepest.map(|(place, _)| *place).or_else(any)
    }

    fn created_at(&self, place: usize) -> Option<Timestamp> {
        self.nodes.get(place)?.message.as_ref()?.timestamp("create_time")
    }
}

/// Returns the parent that lists each node as a child, and the position in that list.
fn listed_children(
    read: &[JsonFields<'_>],
    places: &HashMap<String, usize>,
) -> HashMap<usize, (usize, usize)> {
    let mut listed = HashMap::new();
    for (parent, fields) in read.iter().enumerate() {
        let children = fields.items("children").into_iter().filter_map(JsonSlice::text);
        for (rank, child) in children.enumerate() {
            if let Some(child) = places.get(&child) {
                listed.entry(*child).or_insert((parent, rank));
            }
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(mapping: &str, current: Option<&str>) -> Vec<String> {
        let mapping = JsonSlice::parse(mapping).unwrap().fields().unwrap();
        let tree = ChatgptTree::new(&mapping);
        let name = |turn: &ChatgptTurn<'_, '_>| turn.message.text("id").unwrap();
        let mark = |turn: &ChatgptTurn<'_, '_>| {
            if turn.current {
                name(turn)
            } else {
                format!("{}*", name(turn))
            }
        };
        tree.turns(current).iter().map(mark).collect()
    }

    fn node(id: &str, parent: &str) -> String {
        format!(r#""{id}":{{"message":{{"id":"{id}"}},"parent":"{parent}"}}"#)
    }

    #[test]
    fn parents_in_a_circle_are_walked_once() {
        let circle = format!("{{{},{},{}}}", node("a", "c"), node("b", "a"), node("c", "b"));
        assert_eq!(order(&circle, Some("c")), ["a", "b", "c"]);
        assert_eq!(order(&circle, None), ["a", "b", "c"]);
        assert_eq!(order(&format!("{{{}}}", node("a", "a")), Some("a")), ["a"]);
    }

    #[test]
    fn without_a_current_node_the_deepest_leaf_is_it() {
        let mapping = format!(
            "{{{},{},{},{}}}",
            node("a", ""),
            node("b", "a"),
            node("c", "a"),
            node("d", "c")
        );
        assert_eq!(order(&mapping, Some("gone")), ["a", "c", "d", "b*"]);
    }

    #[test]
    fn a_chain_of_many_messages_is_no_trouble() {
        let nodes: Vec<String> = (0..20_000)
            .map(|n: i32| node(&n.to_string(), &(n - 1).to_string()))
            .collect();
        assert_eq!(order(&format!("{{{}}}", nodes.join(",")), None).len(), 20_000);
    }
}
