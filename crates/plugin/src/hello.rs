//! The hello of both sides: versions, limits, and the abilities of the plug-in.

use std::fmt;

use loci_core::{
    BackendDescriptor, Capability, Error, ErrorKind, MaintenanceKind, Metric, Result, SPEC_VERSION,
    SpecVersion,
};
use serde::{Deserialize, Serialize};

/// The version of the protocol that this build speaks.
pub const PROTOCOL_VERSION: ProtocolVersion = ProtocolVersion(1, 0);

/// A version of the protocol, major and minor: another major version is refused, another minor version is accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProtocolVersion(pub u32, pub u32);

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
    }
}

/// The hello of the host.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct HostHello {
    pub(crate) protocol: ProtocolVersion,
    /// The version of the contract.
    pub(crate) spec: (u32, u32),
    /// The longest frame it accepts.
    pub(crate) frame_limit: u32,
}

/// The hello of a plug-in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PluginHello {
    pub(crate) protocol: ProtocolVersion,
    /// The version of the contract.
    pub(crate) spec: (u32, u32),
    /// Its name, as users type it.
    pub(crate) name: String,
    /// Its own version.
    pub(crate) version: String,
    pub(crate) capabilities: Vec<String>,
    pub(crate) metrics: Vec<Metric>,
    #[serde(default)]
    pub(crate) maintenance: Vec<String>,
    /// The longest frame it accepts.
    pub(crate) frame_limit: u32,
}

impl HostHello {
    pub(crate) fn new(frame_limit: u32) -> Self {
        Self {
            protocol: PROTOCOL_VERSION,
            spec: (SPEC_VERSION.major, SPEC_VERSION.minor),
            frame_limit,
        }
    }
}

impl PluginHello {
    /// Returns the hello of a backend.
    pub(crate) fn from_descriptor(descriptor: &BackendDescriptor, version: &str) -> Self {
        Self {
            protocol: PROTOCOL_VERSION,
            spec: (descriptor.spec_version.major, descriptor.spec_version.minor),
            name: descriptor.name.clone(),
            version: version.to_owned(),
            capabilities: descriptor
                .capabilities
                .iter()
                .map(|one| one.name().to_owned())
                .collect(),
            metrics: descriptor.metrics.clone(),
            maintenance: descriptor
                .maintenance
                .iter()
                .map(|kind| kind.name().to_owned())
                .collect(),
            frame_limit: crate::FRAME_LIMIT,
        }
    }

    /// Returns the descriptor of the backend, under the name that the host knows it by; refuses another major version
    /// of the protocol or the contract, by name.
    pub(crate) fn check_versions(&self, name: &str) -> Result<BackendDescriptor> {
        if self.protocol.0 != PROTOCOL_VERSION.0 {
            let message = format!(
                "the plug-in {name:?} speaks protocol {}; this build speaks {PROTOCOL_VERSION}",
                self.protocol
            );
            return Err(Error::new(ErrorKind::Unsupported, message)
                .with_hint("install a version of the plug-in made for this version of loci"));
        }
        let descriptor = BackendDescriptor {
            name: name.to_owned(),
            spec_version: SpecVersion {
                major: self.spec.0,
                minor: self.spec.1,
            },
            capabilities: self
                .capabilities
                .iter()
                .map(|one| parse_capability(one))
                .collect(),
            metrics: self.metrics.clone(),
            maintenance: self.maintenance.iter().map(MaintenanceKind::from_name).collect(),
        };
        descriptor.check_version()?;
        Ok(descriptor)
    }
}

fn parse_capability(name: &str) -> Capability {
    let known = Capability::KNOWN.into_iter().find(|one| one.name() == name);
    known.unwrap_or_else(|| Capability::Other(name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hello() -> PluginHello {
        PluginHello {
            protocol: PROTOCOL_VERSION,
            spec: (SPEC_VERSION.major, SPEC_VERSION.minor),
            name: "x".into(),
            version: "1".into(),
            capabilities: vec!["moment".into(), "telepathy".into()],
            metrics: vec![Metric::L2],
            maintenance: vec!["compact".into()],
            frame_limit: 1000,
        }
    }

    #[test]
    fn a_hello_gives_the_descriptor_it_was_made_from() {
        let descriptor = hello().check_versions("x").unwrap();
        assert!(descriptor.has_capability(&Capability::Moment));
        assert!(descriptor.has_capability(&Capability::Other("telepathy".into())));
        let again = PluginHello::from_descriptor(&descriptor, "1")
            .check_versions("x")
            .unwrap();
        assert_eq!(again, descriptor);
    }

    #[test]
    fn another_major_version_is_refused_by_name() {
        let newer = PluginHello {
            protocol: ProtocolVersion(9, 1),
            ..hello()
        };
        let error = newer.check_versions("far").unwrap_err();
        assert!(error.message().contains("\"far\" speaks protocol 9.1"), "{error}");
        let contract = PluginHello {
            spec: (9, 0),
            ..hello()
        };
        let error = contract.check_versions("far").unwrap_err();
        assert!(error.message().contains("contract 9.0"), "{error}");
        let minor = PluginHello {
            protocol: ProtocolVersion(PROTOCOL_VERSION.0, 77),
            ..hello()
        };
        assert!(minor.check_versions("near").is_ok());
    }
}
