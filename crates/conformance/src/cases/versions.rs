//! Versions of the contract: another major is refused by name and version, another minor is fine.

use loci_core::{ErrorKind, SPEC_VERSION, SpecVersion};

use crate::case::refused;
use crate::{Outcome, Scene};

cases! { "versions":
    "the backend keeps this major version of the contract" [] => this_major;
    "a backend of another major version is refused by name and version" [] => other_major;
    "another minor version is fine" [] => other_minor;
}

fn this_major(scene: &Scene<'_>) -> Outcome {
    Ok(scene.descriptor().check_version()?)
}

fn other_major(scene: &Scene<'_>) -> Outcome {
    let mut descriptor = scene.descriptor().clone();
    descriptor.spec_version = SpecVersion {
        major: SPEC_VERSION.major + 1,
        minor: 7,
    };
    let version = descriptor.spec_version.to_string();
    refused(
        descriptor.check_version(),
        ErrorKind::Unsupported,
        &[&descriptor.name, &version],
    )
}

fn other_minor(scene: &Scene<'_>) -> Outcome {
    let mut descriptor = scene.descriptor().clone();
    descriptor.spec_version.minor += 1;
    Ok(descriptor.check_version()?)
}
