//! The policy of a palace: what becomes of secrets in words that are filed.

use std::fmt;

use loci_core::{Collection, Error, Result};
use schemars::JsonSchema;
use serde::Serialize;

use super::records::{POLICY_RECORD, find_stamp, put_records};

/// What becomes of secrets in words that are filed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SecretPolicy {
    /// They are sealed.
    #[default]
    Seal,
    /// They are filed as they are, and the user is told.
    Warn,
    /// They are filed as they are.
    Keep,
    /// Words that hold one are not filed.
    Refuse,
}

impl SecretPolicy {
    /// All policies.
    pub const ALL: [Self; 4] = [Self::Seal, Self::Warn, Self::Keep, Self::Refuse];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Seal => "seal",
            Self::Warn => "warn",
            Self::Keep => "keep",
            Self::Refuse => "refuse",
        }
    }

    /// Returns the policy of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|policy| policy.name() == name);
        found.ok_or_else(|| {
            Error::invalid(format!("{name:?} is not a policy for secrets"))
                .with_hint("name one of: seal, warn, keep, refuse")
        })
    }

    /// Reads the policy of a collection, if one was set.
    pub(super) fn load(collection: &dyn Collection) -> Result<Option<Self>> {
        let stamp = find_stamp(collection, POLICY_RECORD)?;
        // A name that a later release wrote must not file secrets in the clear here.
        Ok(stamp.map(|name| Self::parse(&name).unwrap_or_default()))
    }

    /// Sets the policy of a collection.
    pub(super) fn store(self, collection: &dyn Collection) -> Result<()> {
        put_records(
            collection,
            [(POLICY_RECORD.to_owned(), self.name().to_owned())].into(),
        )
    }
}

impl fmt::Display for SecretPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
