//! The suite on the full reference.

use loci_conformance::{Reference, ReferenceHarness};

fn main() {
    loci_conformance::main(ReferenceHarness::new(Reference::new), &[])
}
