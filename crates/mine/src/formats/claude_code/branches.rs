//! Abandoned branches: a person went back and typed something else, and the first branch stays in the file.

use std::collections::{HashMap, HashSet};

use super::super::json::JsonFields;
use crate::conversation::ConversationMessage;

/// The order of records in the main conversation.
#[derive(Debug, Default)]
pub(super) struct ClaudeCodeBranches {
    /// Each record and its parent, in file order.
    records: Vec<(String, Option<String>)>,
    /// The records with a prompt of a person.
    human: HashSet<String>,
}

impl ClaudeCodeBranches {
    /// Registers a record, and whether a person speaks in it.
    pub(super) fn note_record(&mut self, fields: &JsonFields<'_>, human: bool) {
        let Some(id) = fields.text("uuid").filter(|_| !fields.is_true("isSidechain")) else {
            return;
        };
        if human {
            self.human.insert(id.clone());
        }
        self.records
            .push((id, fields.any_text(&["parentUuid", "logicalParentUuid"])));
    }

    /// Marks the messages on abandoned branches.
    pub(super) fn mark_abandoned(&self, messages: &mut [ConversationMessage]) {
        let left = self.abandoned_records();
        for message in messages {
            if message.id.as_ref().is_some_and(|id| left.contains(id.as_str())) {
                message.about.insert("branch", "abandoned");
            }
        }
    }

    /// Returns the records on abandoned branches. If a person spoke twice after the same record, only the branch that
    /// leads to the end counts. Parallel tool calls fork as well, but abandon nothing.
    fn abandoned_records(&self) -> HashSet<&str> {
        let current = self.current_branch();
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
            // Children follow their parents in the file, so one pass marks whole branches.
            if turned || left.contains(parent) {
                left.insert(id);
            }
        }
        left
    }

    /// Returns the records from the last one back to the first, as far as they exist.
    fn current_branch(&self) -> HashSet<&str> {
        let parents: HashMap<&str, Option<&str>> = self
            .records
            .iter()
            .map(|(id, parent)| (id.as_str(), parent.as_deref()))
            .collect();
        let mut way = HashSet::new();
        let mut at = self.records.last().map(|(id, _)| id.as_str());
        // Stops at a record seen before: a damaged file may contain a cycle.
        while let Some(id) = at.filter(|id| way.insert(*id)) {
            at = parents.get(id).copied().flatten();
        }
        way
    }
}
