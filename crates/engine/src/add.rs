//! Add: one drawer, filed verbatim.

use loci_core::{NewDrawer, Receipt, Result, Write};
use serde::Serialize;

use crate::palace::Palace;

/// A drawer to be filed.
#[derive(Debug, Clone)]
pub struct AddRequest {
    /// The drawer; without a vector it gets one of the collection's model.
    pub drawer: NewDrawer,
    /// Replace the drawer that has the same id.
    pub upsert: bool,
}

/// The outcome of an addition. It is durable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AddReport {
    /// The receipt: filed, kept or replaced, and under which id.
    #[serde(flatten)]
    pub receipt: Receipt,
    /// The palace, where it was made for this drawer.
    #[serde(skip)]
    pub made_palace: Option<String>,
    /// Why it has no vector, where a model is recorded that should have made one.
    #[serde(skip)]
    pub lacking: Option<String>,
}

impl Palace {
    /// Files a drawer, making the palace if it is missing: one read of what is there and one write.
    pub fn add(&self, request: &AddRequest) -> Result<AddReport> {
        let drawer = &request.drawer;
        let brings = drawer.embedding.is_some().then_some(drawer);
        self.file(brings, |filing| {
            let write = if request.upsert { Write::Upsert } else { Write::Add };
            let receipt = filing.apply(vec![write(drawer.clone())])?;
            Ok(AddReport {
                receipt,
                made_palace: filing.made_palace(),
                lacking: filing.lacking().map(str::to_owned),
            })
        })
    }
}
