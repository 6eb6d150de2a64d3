//! A backend's description of itself: name, contract version, capabilities, metrics, maintenance.

use std::collections::BTreeSet;
use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

use crate::{Capability, Error, ErrorKind, Filter, MaintenanceKind, Metric, Result};

/// The version of this contract.
pub const SPEC_VERSION: SpecVersion = SpecVersion { major: 2, minor: 0 };

/// A backend's name and abilities.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BackendDescriptor {
    /// Its name, as users type it.
    pub name: String,
    /// The version of this contract that it was built for.
    pub spec_version: SpecVersion,
    /// Its abilities; anything not listed is refused.
    pub capabilities: BTreeSet<Capability>,
    /// The metrics it compares vectors by.
    pub metrics: Vec<Metric>,
    /// The kinds of maintenance that have an effect.
    pub maintenance: Vec<MaintenanceKind>,
}

impl BackendDescriptor {
    /// Reports whether `capability` is advertised.
    pub fn has_capability(&self, capability: &Capability) -> bool {
        self.capabilities.contains(capability)
    }

    /// Refuses a backend built for another major version of the contract, by name and version.
    pub fn check_version(&self) -> Result<()> {
        // A minor version only adds promises, so a backend of an older one still keeps all that it
        // advertises.
        if self.spec_version.major == SPEC_VERSION.major {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the backend {:?} implements contract {}; this build needs {SPEC_VERSION}",
                self.name, self.spec_version
            ),
        ))
    }

    /// Refuses a capability that is not advertised, by name.
    pub fn require_capability(&self, capability: &Capability) -> Result<()> {
        if self.has_capability(capability) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("the backend {:?} does not offer {capability}", self.name),
        ))
    }

    /// Refuses a filter that compares by order if that is not advertised.
    pub fn check_filter(&self, filter: &Filter) -> Result<()> {
        // Refused up front rather than ignored: a filter that is dropped silently widens a search or a
        // delete.
        if filter.uses_ranges() && !self.has_capability(&Capability::RangeFilters) {
            return Err(Error::new(
                ErrorKind::UnsupportedFilter,
                format!("the backend {:?} does not compare by order: {filter}", self.name),
            ));
        }
        Ok(())
    }
}

/// A version of the contract: another major version is refused, another minor version is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
pub struct SpecVersion {
    /// Changes when a promise changes.
    pub major: u32,
    /// Changes when a promise is added.
    pub minor: u32,
}

impl fmt::Display for SpecVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}
