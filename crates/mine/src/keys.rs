//! Keys that tell the conversations of one file apart.

use std::collections::HashSet;

/// Hands out a unique key for each conversation of one file.
#[derive(Debug, Default)]
pub(crate) struct ConversationKeys {
    used: HashSet<String>,
    count: usize,
    has_whole: bool,
}

impl ConversationKeys {
    /// Returns whether one of the conversations is the file itself.
    pub(crate) fn has_whole(&self) -> bool {
        self.has_whole
    }

    /// Returns whether no conversation has a key.
    pub(crate) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// Returns the key of the next conversation of a source; `None` for the first without a key, which is the file
    /// itself. A key that is taken gets a number.
    pub(crate) fn claim_in_source(&mut self, given: Option<&str>) -> Option<String> {
        if given.is_none() && !self.has_whole {
            self.has_whole = true;
            return None;
        }
        let base = given.unwrap_or_default();
        // An empty key would name the conversation `file#`; it gets the number instead: `~2`.
        let first = Some(base.to_owned()).filter(|key| !key.is_empty());
        Some(self.claim_first_free(first, |number| format!("{base}~{number}")))
    }

    /// Returns the key of the next conversation of an export: its name, numbered if that is taken; without a name, its
    /// position in the file.
    pub(crate) fn claim_in_export(&mut self, name: Option<String>) -> String {
        self.count += 1;
        // Keys are part of the names of sources. A key that depended on anything but the file would file a
        // chat twice.
        let name = name.unwrap_or_else(|| format!("#{}", self.count));
        self.claim_first_free(Some(name.clone()), |number| format!("{name} ({number})"))
    }

    /// Takes the first free key: the plain one, then the numbered ones from 2 on.
    fn claim_first_free(&mut self, plain: Option<String>, numbered: impl Fn(u64) -> String) -> String {
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
