//! The suite on a reference that takes no writes, filled through a twin that does.

use loci_conformance::{Reference, ReferenceHarness};

fn main() {
    loci_conformance::main(ReferenceHarness::read_only(Reference::new), &[])
}
