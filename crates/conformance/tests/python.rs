//! The suite and the model test on the example in Python, a plug-in in one file.

use loci_conformance::ProgramHarness;

fn main() {
    let program = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../examples/backend-python/loci-backend-python"
    );
    loci_conformance::main(ProgramHarness::new(program, []), &[]);
}
