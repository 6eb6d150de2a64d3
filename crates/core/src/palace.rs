//! The address of a palace.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// The id of a palace and of all its copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PalaceId(pub [u8; 16]);

impl PalaceId {
    /// Returns the id that `text` spells in hexadecimal digits, if it is one.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 32 {
            return None;
        }
        let mut id = [0; 16];
        for (byte, pair) in id.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).ok()?;
            // Signs and spaces are not digits, though `from_str_radix` takes a sign.
            if !pair.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return None;
            }
            *byte = u8::from_str_radix(pair, 16).ok()?;
        }
        Some(Self(id))
    }
}

impl fmt::Display for PalaceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Addresses one palace: its id, the folder it lives in if it is local, and a namespace if the backend isolates them.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PalaceRef {
    /// The palace's id; two palaces with different ids never see each other's drawers.
    pub id: String,
    /// The folder of a local palace.
    pub local_path: Option<PathBuf>,
    /// A tenant within the backend; refused by backends that do not advertise isolation.
    pub namespace: Option<String>,
}

impl PalaceRef {
    /// Addresses a palace in a local folder, named by its path.
    pub fn local(path: impl Into<PathBuf>) -> Self {
        let path = path.into();
        Self {
            id: path.to_string_lossy().into_owned(),
            local_path: Some(path),
            namespace: None,
        }
    }

    /// Addresses a palace by name only, as servers do.
    pub fn from_id(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            local_path: None,
            namespace: None,
        }
    }

    /// Addresses the same palace within `namespace`.
    #[must_use]
    pub fn in_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = Some(namespace.into());
        self
    }

    /// Returns the local folder, or an error if the palace has none.
    pub fn require_folder(&self) -> Result<&Path> {
        self.local_path.as_deref().ok_or_else(|| {
            Error::invalid(format!("palace {:?} has no local folder", self.id))
                .with_hint("name a folder with --palace PATH")
        })
    }
}
