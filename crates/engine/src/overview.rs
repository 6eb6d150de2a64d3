//! Overview: the figures of a collection, limited to the wings its caller may see.

use loci_core::{CollectionInfo, Result};

use crate::facets::{WingCount, count_wings};
use crate::palace::Palace;
use crate::view::DrawerScope;

/// The figures of a collection at one moment.
#[derive(Debug, Clone)]
pub struct OverviewReport {
    /// Its number of drawers, model, coverage and findings.
    pub info: CollectionInfo,
    /// Its wings, largest first.
    pub wings: Vec<WingCount>,
}

impl Palace {
    /// Describes the collection at one moment.
    pub fn describe_collection(&self) -> Result<OverviewReport> {
        self.read(|session| {
            Ok(OverviewReport {
                wings: count_wings(session, &DrawerScope::default())?,
                info: session.reader().info()?,
            })
        })
    }
}
