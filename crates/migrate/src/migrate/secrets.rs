//! The secrets of a migrated palace: carried as they are, or sealed if that was asked for.

use std::collections::BTreeMap;

use loci_core::{Backend, Capability, CollectionName, ErrorKind, Result};
use loci_engine::palace::Palace;
use loci_engine::seal::{SealRequest, SecretSuspects};
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

/// The drawers of each collection that may hold secrets, as the check found them.
pub(super) type PalaceSuspects = BTreeMap<CollectionName, SecretSuspects>;

/// Returns whether secrets can be sealed in a palace of this backend.
pub(super) fn can_seal(backend: &dyn Backend) -> bool {
    let needed = [Capability::Erasure, Capability::Sources];
    needed
        .iter()
        .all(|needed| backend.descriptor().has_capability(needed))
}

/// Looks for secrets in every collection of the target, and seals them if asked to.
pub(super) fn look_for_secrets(
    target: &Palace,
    seal: bool,
    mut suspects: PalaceSuspects,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<Option<CarriedSecrets>> {
    if !can_seal(target.address()?.backend.as_ref()) && !seal {
        return Ok(None);
    }
    let mut all = CarriedSecrets::default();
    for info in target.collections()? {
        let request = SealRequest {
            dry_run: !seal,
            suspects: suspects.remove(&info.name),
            ..SealRequest::default()
        };
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
