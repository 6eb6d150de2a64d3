//! Ways that were left: a person went back and said something else, and the first way stays in the file.

use std::collections::{HashMap, HashSet};

use super::super::json::Fields;
use crate::conversation::Message;

/// What follows what, in the main conversation.
#[derive(Debug, Default)]
pub(super) struct Branches {
    /// Each record and the one it follows, in order of the file.
    records: Vec<(String, Option<String>)>,
    /// The records in which a person speaks.
    human: HashSet<String>,
}

impl Branches {
    /// Takes note of a record, and of whether a person speaks in it.
    pub(super) fn see(&mut self, fields: &Fields<'_>, human: bool) {
        let Some(id) = fields.text("uuid").filter(|_| !fields.is_true("isSidechain")) else {
            return;
        };
        if human {
            self.human.insert(id.clone());
        }
        self.records
            .push((id, fields.any_text(&["parentUuid", "logicalParentUuid"])));
    }

    /// Marks the messages on ways that were left.
    pub(super) fn settle(&self, messages: &mut [Message]) {
        let left = self.left();
        for message in messages {
            if message.id.as_ref().is_some_and(|id| left.contains(id.as_str())) {
                message.about.insert("branch", "abandoned");
            }
        }
    }

    /// The records on ways that were left. Where a person spoke twice after the same record, only the way that leads to
    /// the end counts; calls of tools side by side fork as well, and are none.
    fn left(&self) -> HashSet<&str> {
        let current = self.current();
        let mut forks: HashSet<&str> = HashSet::new();
        for (id, parent) in &self.records {
            if let Some(parent) = parent
                && self.human.contains(id)
                && current.contains(id.as_str())
            {
                forks.insert(parent);
            }
        }
        let mut left: HashSet<&str> = HashSet::new();
        for (id, parent) in &self.records {
            let parent = parent.as_deref().unwrap_or_default();
            let turned = self.human.contains(id) && forks.contains(parent) && !current.contains(id.as_str());
            if turned || left.contains(parent) {
                left.insert(id);
            }
        }
        left
    }

    /// The records from the last one back to the first, as far as they are there.
    fn current(&self) -> HashSet<&str> {
        let parents: HashMap<&str, Option<&str>> = self
            .records
            .iter()
            .map(|(id, parent)| (id.as_str(), parent.as_deref()))
            .collect();
        let mut way = HashSet::new();
        let mut at = self.records.last().map(|(id, _)| id.as_str());
        while let Some(id) = at.filter(|id| way.insert(*id)) {
            at = parents.get(id).copied().flatten();
        }
        way
    }
}
