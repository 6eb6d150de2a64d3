//! Overview: the figures of a collection as far as its caller may see it.

use loci_core::{CollectionInfo, Result};

use crate::facets::{WingCount, count_wings};
use crate::palace::Palace;
use crate::view::DrawerScope;

/// The figures of a collection at one moment.
#[derive(Debug, Clone)]
pub struct OverviewReport {
    /// Its number of drawers, model, coverage and findings.
    pub info: CollectionInfo,
    /// Its wings, the one with the most drawers first.
    pub wings: Vec<WingCount>,
}

impl Palace {
    /// Describes the collection in one moment.
    pub fn overview(&self) -> Result<OverviewReport> {
        self.read(|session| {
            Ok(OverviewReport {
                wings: count_wings(session, &DrawerScope::default())?,
                info: session.reader().info()?,
            })
        })
    }
}
