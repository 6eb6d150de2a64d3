//! The secrets of a migrated palace: carried as they are, or sealed if that was asked for.

use std::collections::BTreeMap;

use loci_core::{Capability, ErrorKind, Result};
use loci_engine::palace::Palace;
use loci_engine::seal::SealRequest;
use schemars::JsonSchema;
use serde::Serialize;

use super::MigrateStep;

/// The secrets found in a migrated palace.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CarriedSecrets {
    /// The number of drawers that held them in the clear.
    pub drawers: u64,
    /// The number of those drawers that are sealed now.
    pub sealed: u64,
    /// The secrets, by kind.
    pub kinds: BTreeMap<String, u64>,
}

/// Looks for secrets in every collection of the target, and seals them if asked to.
pub(super) fn look_for_secrets(
    target: &Palace,
    seal: bool,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<Option<CarriedSecrets>> {
    let descriptor = target.address()?.backend.descriptor().clone();
    let can_seal = [Capability::Erasure, Capability::Sources]
        .iter()
        .all(|needed| descriptor.has_capability(needed));
    if !can_seal && !seal {
        return Ok(None);
    }
    let request = SealRequest {
        dry_run: !seal,
        ..SealRequest::default()
    };
    let mut all = CarriedSecrets::default();
    for info in target.collections()? {
        let palace = target.clone().in_collection(Some(info.name));
        let found = palace.seal(&request, &mut |_, done, total| {
            watch(MigrateStep::Examined(done, total))
        });
        let report = match found {
            // A palace without a place for keys was moved by a program that keeps none.
            Err(error) if !seal && error.kind() == ErrorKind::Unsupported => return Ok(None),
            report => report?,
        };
        all.drawers += report.matched;
        all.sealed += report.sealed;
        for (kind, number) in report.kinds {
            *all.kinds.entry(kind).or_default() += number;
        }
    }
    Ok((all.drawers > 0).then_some(all))
}
