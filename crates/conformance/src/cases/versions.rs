//! Versions of the contract: another major is refused by name and version, another minor is fine.

use loci_core::{ErrorKind, SPEC_VERSION, SpecVersion};

use crate::case::expect_refusal;
use crate::{CaseOutcome, CaseScene};

cases! { "versions":
    "the backend keeps this major version of the contract" [] => this_major;
    "a backend of another major version is refused by name and version" [] => other_major;
    "another minor version is fine" [] => other_minor;
}

fn this_major(scene: &CaseScene<'_>) -> CaseOutcome {
    Ok(scene.descriptor().check_version()?)
}

fn other_major(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut descriptor = scene.descriptor().clone();
    descriptor.spec_version = SpecVersion {
        major: SPEC_VERSION.major + 1,
        // Any minor version: only the major one decides.
        minor: 7,
    };
    let version = descriptor.spec_version.to_string();
    expect_refusal(
        descriptor.check_version(),
        ErrorKind::Unsupported,
        &[&descriptor.name, &version],
    )
}

fn other_minor(scene: &CaseScene<'_>) -> CaseOutcome {
    let mut descriptor = scene.descriptor().clone();
    descriptor.spec_version.minor += 1;
    Ok(descriptor.check_version()?)
}
