//! Erasure: removing drawers so that no stored byte of them is left.

use std::fmt;

use serde::Serialize;

use crate::{DrawerId, Result};

/// Forgets drawers to the last byte.
pub trait Erasure: fmt::Debug + Send + Sync {
    /// Removes these drawers and returns once no byte of their text, metadata, words or vectors is left in anything the
    /// backend stores, deleted pages and logs included; ids that are not there are listed as missing.
    fn erase(&self, ids: &[DrawerId]) -> Result<ErasureReport>;
}

/// The outcome of an erasure.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ErasureReport {
    /// The drawers that were erased.
    pub erased: Vec<DrawerId>,
    /// The ids that were not there.
    pub missing: Vec<DrawerId>,
    /// The files and tables that were rewritten.
    pub reached: Vec<String>,
}
