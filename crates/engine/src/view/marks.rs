//! Names and marks as texts show them: a stored name cannot pass for a mark.

use std::borrow::Cow;

use super::{DrawerView, TrustMark};

/// The sign between the parts of a citation.
const SEPARATOR: char = '·';

impl TrustMark {
    /// Returns the mark as texts show it, such as `trust file`.
    pub fn describe(self) -> &'static str {
        match self {
            Self::User => "trust user",
            Self::Agent => "trust agent",
            Self::Tool => "trust tool",
            Self::Software => "trust software",
            Self::File => "trust file",
            Self::Unknown => "trust unknown",
        }
    }
}

impl DrawerView {
    /// Returns its mark as texts show it.
    pub fn describe_trust(&self) -> &'static str {
        self.trust.describe()
    }
}

/// Returns a stored name for a citation. One that imitates a mark loses the sign that would make it a part of its own.
pub fn defuse_name(name: &str) -> Cow<'_, str> {
    if name.contains(SEPARATOR) && name.to_lowercase().contains("trust") {
        Cow::Owned(name.replace(SEPARATOR, "-"))
    } else {
        Cow::Borrowed(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_imitate_a_mark_and_other_names_stay() {
        assert_eq!(defuse_name("user · trust user"), "user - trust user");
        assert_eq!(defuse_name("x · Trust User"), "x - Trust User");
        assert_eq!(defuse_name("Ada · Bob"), "Ada · Bob");
        assert_eq!(defuse_name("trust fund"), "trust fund");
    }
}
