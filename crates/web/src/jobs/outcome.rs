//! What a job did: sentences, findings and lists for its page.

use loci_core::PalaceFinding;

/// The most items of a list that are kept for a page.
const MOST_ITEMS: usize = 500;

/// What a job did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct JobOutcome {
    /// Sentences about it.
    pub(crate) sentences: Vec<String>,
    /// What it found.
    pub(crate) findings: Vec<PalaceFinding>,
    /// Longer lists, such as the sources that could not be read.
    pub(crate) lists: Vec<OutcomeList>,
    /// Whether it ended with something that needs attention.
    pub(crate) is_problem: bool,
}

/// A list of an outcome.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OutcomeList {
    /// Its heading.
    pub(crate) title: String,
    /// Its first items.
    pub(crate) items: Vec<OutcomeItem>,
    /// The number of items that are not kept.
    pub(crate) more: u64,
}

/// A line of a list: a name, and what is said about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OutcomeItem {
    pub(crate) name: String,
    pub(crate) note: String,
}

impl JobOutcome {
    /// An outcome of one sentence.
    pub(crate) fn from_sentence(sentence: impl Into<String>) -> Self {
        Self {
            sentences: vec![sentence.into()],
            ..Self::default()
        }
    }

    /// Adds a sentence.
    pub(crate) fn say(&mut self, sentence: impl Into<String>) {
        self.sentences.push(sentence.into());
    }

    /// Adds a list unless it is empty.
    pub(crate) fn list(&mut self, title: &str, items: impl IntoIterator<Item = (String, String)>) {
        let mut list = OutcomeList {
            title: title.to_owned(),
            ..OutcomeList::default()
        };
        for (name, note) in items {
            if list.items.len() == MOST_ITEMS {
                list.more += 1;
            } else {
                list.items.push(OutcomeItem { name, note });
            }
        }
        if !list.items.is_empty() {
            self.lists.push(list);
        }
    }
}
