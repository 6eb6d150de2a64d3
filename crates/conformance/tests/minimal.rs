//! The suite on a reference without any optional capability: what is not advertised is refused by name.

use loci_conformance::{Reference, ReferenceHarness};
use loci_core::Metric;

fn minimal() -> Reference {
    Reference::with([])
        .comparing_by(&[Metric::Cosine])
        .maintaining(&[])
}

fn main() {
    loci_conformance::main(ReferenceHarness::new(minimal), &[])
}
