//! The choices of an import: what to do with existing drawers, bad lines and claimed provenance.

/// The action for a line that names an existing drawer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnConflict {
    /// Keep the existing drawer.
    Keep,
    /// Replace the whole drawer.
    Replace,
    /// List the line as failed and keep the existing drawer.
    Fail,
}

/// The action for a line that cannot be stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnBadLine {
    /// Stop with an error; batches committed before it stay.
    Stop,
    /// List it as failed and continue.
    List,
}

/// The action for provenance that a line brings: a claim, since any program can write lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnProvenance {
    /// Believe it.
    Keep,
    /// Record that the drawer came with an export.
    Ignore,
}
