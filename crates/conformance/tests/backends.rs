//! The suite on the reference: in full, without any optional capability, and without writes.

use libtest_mimic::Arguments;
use loci_conformance::{Reference, ReferenceHarness, trials_under};
use loci_core::Metric;

/// What is not advertised is refused by name.
fn minimal() -> Reference {
    Reference::with([])
        .comparing_by(&[Metric::Cosine])
        .maintaining(&[])
}

fn main() {
    let full = ReferenceHarness::new(Reference::new);
    let minimal = ReferenceHarness::new(minimal);
    // Filled through a twin that takes writes.
    let read_only = ReferenceHarness::read_only(Reference::new);
    let mut trials = trials_under("reference::", full, &[]);
    trials.extend(trials_under("minimal::", minimal, &[]));
    trials.extend(trials_under("read_only::", read_only, &[]));
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
