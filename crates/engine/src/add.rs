//! Add: one drawer, filed verbatim.

use loci_core::{NewDrawer, Receipt, Result, Write};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::{DrawerAct, Palace};
use crate::seal::{SecretGuard, SecretTally};

/// A drawer to file.
#[derive(Debug, Clone)]
pub struct AddRequest {
    /// The drawer; without a vector, the collection's model makes one.
    pub drawer: NewDrawer,
    /// Replace the drawer that has the same id.
    pub upsert: bool,
}

/// The outcome of an addition, which is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AddReport {
    /// The receipt: whether the drawer was filed, kept or replaced, and under which id.
    #[serde(flatten)]
    pub receipt: Receipt,
    /// The secrets found in it.
    #[serde(skip_serializing_if = "SecretTally::is_empty")]
    pub secrets: SecretTally,
    /// The palace, if it was created for this drawer.
    #[serde(skip)]
    pub made_palace: Option<String>,
    /// The reason the drawer has no vector although the collection records a model.
    #[serde(skip)]
    pub lacking: Option<String>,
}

impl Palace {
    /// Files a drawer, creating the palace if it does not exist. Costs one read and one write.
    pub fn add(&self, request: &AddRequest) -> Result<AddReport> {
        let palace = self.for_act(DrawerAct::Changes)?;
        let drawer = &request.drawer;
        // Only a drawer with its own vector may decide the model of a collection that is created for it.
        let brings = drawer.embedding.is_some().then_some(drawer);
        palace.run_filing(brings, |filing| {
            let guard = SecretGuard::new(&palace);
            let sealed = guard.guard_drawer(drawer.clone(), Vec::new())?;
            guard.store_seals(&[sealed.seals()])?;
            let write = if request.upsert { Write::Upsert } else { Write::Add };
            let receipt = filing.apply(vec![write(sealed.drawer.clone())])?;
            // Once more, in case another process has collected the records before the drawer was there.
            guard.store_seals(&[sealed.seals()])?;
            Ok(AddReport {
                receipt,
                secrets: sealed.found,
                made_palace: filing.made_palace(),
                lacking: filing.lacking().map(str::to_owned),
            })
        })
    }
}
