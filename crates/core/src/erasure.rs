//! Erasure: removing drawers so that no stored byte of them remains.

use std::fmt;

use serde::Serialize;

use crate::{DrawerId, Result};

/// Erases drawers to the last byte.
pub trait Erasure: fmt::Debug + Send + Sync {
    /// Removes these drawers and returns once no byte of their text, metadata, words or vectors remains in anything
    /// the backend stores, deleted pages and logs included; unknown ids are listed as missing.
    fn erase(&self, ids: &[DrawerId]) -> Result<ErasureReport>;
}

/// The outcome of an erasure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// The drawers that were erased.
    pub erased: Vec<DrawerId>,
    /// The ids that were not found.
    pub missing: Vec<DrawerId>,
    /// The files and tables that were rewritten.
    pub reached: Vec<String>,
}
