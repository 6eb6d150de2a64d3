//! A batch that is ready to be applied: checked, prepared and hashed before the lock is taken.

use std::borrow::Cow;

use loci_core::{ApplyRequest, Drawer, Visibility, Write};

use super::prepare::PreparedBatch;
use crate::receipts::KeyedBatch;

/// A batch with everything that needs no stored row.
#[derive(Debug)]
pub(crate) struct ReadyBatch<'a> {
    pub(super) writes: Cow<'a, [Write]>,
    pub(super) expects: Cow<'a, [Drawer]>,
    pub(super) prepared: PreparedBatch,
    pub(super) keyed: Option<KeyedBatch<'a>>,
}

impl<'a> ReadyBatch<'a> {
    /// Creates it for a caller who sees these drawers.
    pub(crate) fn new(request: &ApplyRequest<'a>, prepared: PreparedBatch, visibility: &Visibility) -> Self {
        // Hashing the batch is slow, so it is done here.
        let keyed = request
            .key
            .map(|key| KeyedBatch::new(key, visibility, request.writes));
        Self {
            writes: Cow::Borrowed(request.writes),
            expects: Cow::Borrowed(request.expects),
            prepared,
            keyed,
        }
    }

    /// Returns the same batch with copies of all that it has borrowed.
    pub(crate) fn into_owned(self) -> ReadyBatch<'static> {
        ReadyBatch {
            writes: Cow::Owned(self.writes.into_owned()),
            expects: Cow::Owned(self.expects.into_owned()),
            prepared: self.prepared,
            keyed: self.keyed.map(KeyedBatch::into_owned),
        }
    }

    /// Returns the bytes of text and words that it writes.
    pub(crate) fn size(&self) -> usize {
        self.prepared.size()
            + self
                .writes
                .iter()
                .map(|write| match write {
                    Write::Update(patch) => patch.document.as_ref().map_or(0, String::len),
                    _ => 0,
                })
                .sum::<usize>()
    }
}
