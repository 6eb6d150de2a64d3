//! The suite on the reference: in full, without any optional capability, and without writes.

use libtest_mimic::Arguments;
use loci_conformance::{Reference, ReferenceHarness, list_trials_under, minimal_reference};

fn main() {
    let full = ReferenceHarness::new(Reference::new);
    let minimal = ReferenceHarness::new(minimal_reference);
    // Filled through a twin that takes writes.
    let read_only = ReferenceHarness::read_only(Reference::new);
    let mut trials = list_trials_under("reference::", full, &[]);
    trials.extend(list_trials_under("minimal::", minimal, &[]));
    trials.extend(list_trials_under("read_only::", read_only, &[]));
    libtest_mimic::run(&Arguments::from_args(), trials).exit()
}
