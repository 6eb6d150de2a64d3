//! The tree of a conversation: which branch is the current one, and what was said on the others.

use std::collections::{HashMap, HashSet};

use loci_core::Timestamp;

use crate::formats::json::{Fields, Json};

/// The messages of one conversation and how they hang together.
pub(super) struct Tree<'a> {
    places: HashMap<String, usize>,
    nodes: Vec<Node<'a>>,
}

/// One place in the tree. Parents may run in a circle: nothing here follows them without counting.
struct Node<'a> {
    parent: Option<usize>,
    children: Vec<usize>,
    message: Option<Fields<'a>>,
}

/// A message in its turn.
pub(super) struct Turn<'t, 'a> {
    pub(super) message: &'t Fields<'a>,
    /// Whether it is on the current branch.
    pub(super) current: bool,
    /// The id of the message before it.
    pub(super) reply_to: Option<String>,
}

impl<'a> Tree<'a> {
    /// Reads the mapping. A node whose parent is not there is a root.
    pub(super) fn new(mapping: &Fields<'a>) -> Self {
        let read: Vec<Fields<'a>> = mapping
            .iter()
            .map(|(_, node)| node.fields().unwrap_or_default())
            .collect();
        let places: HashMap<String, usize> = mapping
            .iter()
            .enumerate()
            .map(|(place, (id, _))| (id.to_owned(), place))
            .collect();
        let listed = listed_children(&read, &places);
        let mut nodes: Vec<Node<'a>> = Vec::with_capacity(read.len());
        for (place, fields) in read.iter().enumerate() {
            let named = fields.text("parent").and_then(|id| places.get(&id).copied());
            let parent = named.or_else(|| listed.get(&place).map(|(parent, _)| *parent));
            let message = fields.object("message");
            nodes.push(Node {
                parent: parent.filter(|parent| *parent != place),
                children: Vec::new(),
                message,
            });
        }
        let mut tree = Self { places, nodes };
        tree.hang_children(&listed);
        tree
    }

    /// Gives every node its children, in the order the node lists them, those it does not list last.
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

    /// Every message once: the current branch from its root on, then those of other branches, each after its parent.
    pub(super) fn turns(&self, current: Option<&str>) -> Vec<Turn<'_, 'a>> {
        let named = current.and_then(|id| self.places.get(id).copied());
        let branch = self.branch(named.or_else(|| self.newest_leaf()));
        let mut seen: HashSet<usize> = branch.iter().copied().collect();
        let others: Vec<usize> = self
            .walk()
            .into_iter()
            .map(|(place, _)| place)
            .filter(|place| seen.insert(*place))
            .collect();
        let current = branch.iter().filter_map(|place| self.turn(*place, true));
        current
            .chain(others.iter().filter_map(|place| self.turn(*place, false)))
            .collect()
    }

    fn turn(&self, place: usize, current: bool) -> Option<Turn<'_, 'a>> {
        let node = self.nodes.get(place)?;
        let message = node.message.as_ref()?;
        let reply_to = if current {
            None
        } else {
            self.last_message_from(node.parent)
        };
        Some(Turn {
            message,
            current,
            reply_to,
        })
    }

    /// The id of the message at this place, or else of the nearest one above it.
    fn last_message_from(&self, place: Option<usize>) -> Option<String> {
        let mut node = self.nodes.get(place?)?;
        for _ in 0..self.nodes.len() {
            if let Some(id) = node.message.as_ref().and_then(|message| message.word("id")) {
                return Some(id);
            }
            node = self.nodes.get(node.parent?)?;
        }
        None
    }

    /// From the root to this place.
    fn branch(&self, leaf: Option<usize>) -> Vec<usize> {
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

    /// Every place with its depth, parents before children; what hangs on no root comes last.
    fn walk(&self) -> Vec<(usize, usize)> {
        let roots = (0..self.nodes.len())
            .filter(|place| self.nodes.get(*place).is_some_and(|node| node.parent.is_none()));
        let starts: Vec<usize> = roots.chain(0..self.nodes.len()).collect();
        let mut walked = Vec::with_capacity(self.nodes.len());
        let mut seen = HashSet::new();
        for start in starts {
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

    /// The deepest leaf that says something; of several the newest, and of those the last in the file.
    fn newest_leaf(&self) -> Option<usize> {
        let spoken = |place: &usize| self.nodes.get(*place).is_some_and(|node| node.message.is_some());
        let is_leaf = |place: &usize| {
            self.nodes
                .get(*place)
                .is_some_and(|node| node.children.is_empty())
        };
        let walked = self.walk();
        let leaves = walked.iter().filter(|(place, _)| spoken(place) && is_leaf(place));
        let deepest = leaves.max_by_key(|(place, depth)| (*depth, self.time(*place), *place));
        let any = || (0..self.nodes.len()).rev().find(spoken);
        deepest.map(|(place, _)| *place).or_else(any)
    }

    fn time(&self, place: usize) -> Option<Timestamp> {
        self.nodes.get(place)?.message.as_ref()?.moment("create_time")
    }
}

/// Who lists whom as a child, and at which place in the list.
fn listed_children(read: &[Fields<'_>], places: &HashMap<String, usize>) -> HashMap<usize, (usize, usize)> {
    let mut listed = HashMap::new();
    for (parent, fields) in read.iter().enumerate() {
        let children = fields.items("children").into_iter().filter_map(Json::text);
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
        let mapping = Json::parse(mapping).unwrap().fields().unwrap();
        let tree = Tree::new(&mapping);
        let name = |turn: &Turn<'_, '_>| turn.message.text("id").unwrap();
        let mark = |turn: &Turn<'_, '_>| {
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
