//! The address of a palace.

use std::path::{Path, PathBuf};

use crate::{Error, Result};

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
