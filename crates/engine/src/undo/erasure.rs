//! The mark that every erasure leaves in a collection: whatever was remembered before it must not come back.
//!
//! Acts live in the memory of one process, and another process may forget drawers meanwhile. The mark tells them apart.

use std::collections::BTreeMap;

use loci_core::{Collection, CollectionExt as _, Error, ErrorKind, OpenOptions, Result};

use crate::ledger::find_named;
use crate::palace::Palace;
use crate::seal::put_records;

/// The name of the record whose revision changes with every erasure.
const ERASURE_RECORD: &str = "loci:erasure";

/// The last erasure of a collection; none if there was none yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ErasureMark(Option<u64>);

impl ErasureMark {
    /// Reads the mark, whatever the caller may see; a palace that does not exist yet has none.
    pub(crate) fn read(palace: &Palace) -> Result<Self> {
        let whole = match palace.open_whole(&OpenOptions::default()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Self(None)),
            opened => opened?,
        };
        if whole.sources().is_none() {
            return Ok(Self(None));
        }
        let record = find_named(whole.as_ref(), vec![ERASURE_RECORD.to_owned()])?.pop();
        Ok(Self(record.map(|record| record.revision)))
    }

    /// Refuses to go on if something was erased since the mark was read.
    pub(crate) fn check(self, palace: &Palace) -> Result<()> {
        if Self::read(palace)? == self {
            return Ok(());
        }
        let message = "drawers were forgotten since, and what happened before that cannot be undone";
        Err(Error::new(ErrorKind::Conflict, message).with_hint("nothing was changed"))
    }
}

/// Begins an erasure: from now on, nothing that was remembered before comes back.
pub(crate) fn begin_erasure(collection: &dyn Collection) -> Result<()> {
    collection.require_eraser()?.begin()?;
    if collection.sources().is_none() {
        return Ok(());
    }
    put_records(
        collection,
        BTreeMap::from([(ERASURE_RECORD.to_owned(), "{}".to_owned())]),
    )
}
