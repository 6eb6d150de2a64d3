//! Any bytes as `index_metadata.pickle`: read or refused, in memory that the file's own size bounds.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(labels) = loci_chroma::pickle::read(bytes, bytes.len() as u64) {
        assert!(labels.by_id.len() <= bytes.len());
    }
});
