//! What the conversations of one file are told apart by.

use std::collections::HashSet;

/// Tells the conversations of one file apart.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    whole: bool,
    used: HashSet<String>,
}

impl Keys {
    /// Whether one of them is the file itself.
    pub(crate) fn whole(&self) -> bool {
        self.whole
    }

    /// Whether none has a key.
    pub(crate) fn is_empty(&self) -> bool {
        self.used.is_empty()
    }

    /// The key of the next conversation, none for the file itself. A key that was used gets a number.
    pub(crate) fn next(&mut self, given: Option<&str>) -> Option<String> {
        let base = match (given, self.whole) {
            (Some(key), _) => key,
            (None, false) => {
                self.whole = true;
                return None;
            }
            (None, true) => "",
        };
        let numbered = (2..).map(|n: u64| format!("{base}~{n}"));
        let mut candidates = std::iter::once(base.to_owned())
            .filter(|key| !key.is_empty())
            .chain(numbered);
        candidates.find(|key| self.used.insert(key.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_conversations_of_a_file_have_one_key() {
        let mut keys = Keys::default();
        let given = [Some("a"), None, Some("a"), None, Some("a~2"), Some(""), None];
        let used: Vec<_> = given.into_iter().map(|key| keys.next(key)).collect();
        assert_eq!(used[..2], [Some("a".to_owned()), None]);
        let others: HashSet<_> = used.iter().flatten().collect();
        assert_eq!(others.len(), 6, "{used:?}");
    }
}
