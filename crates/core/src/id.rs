//! Names of drawers and collections, checked once on construction.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{Error, Result};

/// The name of a drawer within its collection: any non-empty text up to [`DrawerId::MAX_BYTES`].
///
/// Quotes, newlines, CJK, emoji and control characters are all allowed; ids compare by bytes.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct DrawerId(String);

impl DrawerId {
    /// The longest id, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 1024;

    /// Checks and wraps `id`.
    pub fn new(id: impl Into<String>) -> Result<Self> {
        let id = id.into();
        if id.is_empty() {
            return Err(Error::invalid("a drawer id is empty"));
        }
        if id.len() > Self::MAX_BYTES {
            return Err(Error::invalid(format!(
                "a drawer id has {} bytes; at most {} are allowed",
                id.len(),
                Self::MAX_BYTES
            )));
        }
        Ok(Self(id))
    }

    /// Returns the id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The caller's name for one write, so that repeating the write is harmless: 1 to [`IdempotencyKey::MAX_BYTES`]
/// bytes of any text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct IdempotencyKey(String);

impl IdempotencyKey {
    /// The longest key, in bytes of UTF-8.
    pub const MAX_BYTES: usize = 256;

    /// Checks and wraps `key`.
    pub fn new(key: impl Into<String>) -> Result<Self> {
        let key = key.into();
        if key.is_empty() || key.len() > Self::MAX_BYTES {
            let message = format!(
                "an idempotency key has {} bytes; 1 to {} are allowed",
                key.len(),
                Self::MAX_BYTES
            );
            return Err(Error::invalid(message));
        }
        Ok(Self(key))
    }

    /// Returns the key as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of a collection: 1 to 128 letters, digits, `_`, `-` or `.`, starting with a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CollectionName(String);

impl CollectionName {
    /// The collection used if none is named.
    pub const DEFAULT: &'static str = "drawers";

    /// Checks and wraps `name`.
    pub fn new(name: impl Into<String>) -> Result<Self> {
        let name = name.into();
        // Narrower than drawer ids on purpose: a backend may use collection names in table and file names.
        let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        // Keeps out `-x`, which a command line reads as an option, and the file names `.` and `..`.
        let starts_well = name.starts_with(|c: char| c.is_ascii_alphanumeric());
        if !starts_well || name.len() > 128 || !name.chars().all(plain) {
            return Err(Error::invalid(format!(
                "{name:?} is not a collection name: use 1 to 128 letters, digits, '_', '-' or '.', starting with a letter or digit"
            )));
        }
        Ok(Self(name))
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

macro_rules! text_newtype {
    ($name:ident) => {
        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
        impl FromStr for $name {
            type Err = Error;
            fn from_str(text: &str) -> Result<Self> {
                Self::new(text)
            }
        }
        impl TryFrom<String> for $name {
            type Error = Error;
            fn try_from(text: String) -> Result<Self> {
                Self::new(text)
            }
        }
        impl From<$name> for String {
            fn from(name: $name) -> Self {
                name.0
            }
        }
        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }
    };
}
text_newtype!(DrawerId);
text_newtype!(IdempotencyKey);
text_newtype!(CollectionName);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_hold_any_text_up_to_their_limit() {
        for id in [
            "a",
            "it's \"quoted\"",
            "line\nbreak",
            "抽屉",
            "🗄️",
            "\0",
            &"x".repeat(1024),
        ] {
            assert_eq!(DrawerId::new(id).unwrap().as_str(), id);
        }
        assert!(DrawerId::new("").is_err());
        assert!(DrawerId::new("x".repeat(1025)).is_err());
        assert!(DrawerId::new("抽".repeat(342)).is_err(), "the limit counts bytes");
    }

    #[test]
    fn collection_names_are_plain() {
        for name in ["drawers", "a", "0x", "mempalace_drawers", "a.b-c"] {
            assert!(CollectionName::new(name).is_ok(), "{name}");
        }
        for name in ["", "-a", "a b", "a/b", "../x", "é", &"a".repeat(129)] {
            assert!(CollectionName::new(name).is_err(), "{name}");
        }
    }
}
