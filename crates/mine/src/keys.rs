//! Keys that tell the conversations of one file apart.

use std::collections::HashSet;

/// Hands out a key for each conversation of one file, none of them twice.
#[derive(Debug, Default)]
pub(crate) struct ConversationKeys {
    used: HashSet<String>,
    count: usize,
    has_whole: bool,
}

impl ConversationKeys {
    /// Whether one of the conversations is the file itself.
    pub(crate) fn has_whole(&self) -> bool {
        self.has_whole
    }

    /// Whether no conversation has a key.
    pub(crate) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// The key of the next conversation of a source; `None` for the one that is the file itself. A key that is taken
    /// is numbered.
    pub(crate) fn claim_in_source(&mut self, given: Option<&str>) -> Option<String> {
        if given.is_none() && !self.has_whole {
            self.has_whole = true;
            return None;
        }
        let base = given.unwrap_or_default();
        let first = Some(base.to_owned()).filter(|key| !key.is_empty());
        Some(self.claim(first, |number| format!("{base}~{number}")))
    }

    /// The key of the next conversation of an export: its name, numbered where that is taken; without a name, its
    /// place in the file.
    pub(crate) fn claim_in_export(&mut self, name: Option<String>) -> String {
        self.count += 1;
        let name = name.unwrap_or_else(|| format!("#{}", self.count));
        self.claim(Some(name.clone()), |number| format!("{name} ({number})"))
    }

    /// Takes the first of these keys that is free: as it stands, then with each number from 2 on.
    fn claim(&mut self, plain: Option<String>, numbered: impl Fn(u64) -> String) -> String {
        let mut candidates = plain.into_iter().chain((2..).map(numbered));
        candidates
            .find(|key| self.used.insert(key.clone()))
            .expect("only finitely many keys are taken")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_conversations_of_a_source_have_one_key() {
        let mut keys = ConversationKeys::default();
        let given = [Some("a"), None, Some("a"), None, Some("a~2"), Some(""), None];
        let used: Vec<_> = given.into_iter().map(|key| keys.claim_in_source(key)).collect();
        assert_eq!(used[..2], [Some("a".to_owned()), None]);
        let others: HashSet<_> = used.iter().flatten().collect();
        assert_eq!(others.len(), 6, "{used:?}");
    }

    #[test]
    fn no_two_conversations_of_an_export_have_one_key() {
        let mut keys = ConversationKeys::default();
        let given = [Some("a"), None, Some("a"), Some("a (2)"), Some("a")]
            .map(|name| keys.claim_in_export(name.map(str::to_owned)));
        assert_eq!(given, ["a", "#2", "a (2)", "a (2) (2)", "a (3)"]);
    }
}
