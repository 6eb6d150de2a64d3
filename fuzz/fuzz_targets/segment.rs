//! Any bytes are read as a segment or refused, and scanning what was read never leaves its bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_core::Metric;
use loci_index::segment::{self, Head, Seal};
use loci_index::{Candidates, Probe, Rows};

fuzz_target!(|input: (Vec<u8>, Vec<u8>, bool, Vec<i64>)| {
    let (mut bytes, body, sound, dead) = input;
    let seal = Seal { palace: [1; 16], space: 3 };
    if sound {
        // A true segment with some bytes changed reaches deeper than noise does.
        let vectors: Vec<Vec<f32>> =
            (0..20).map(|n| (0..8).map(|at| ((n * 7 + at) % 11) as f32 - 4.5).collect()).collect();
        let rows: Vec<(i64, &[f32])> = vectors.iter().enumerate().map(|(n, v)| (n as i64 * 3, v.as_slice())).collect();
        let mut packed = segment::pack(&seal, Metric::Cosine, 8, &rows).expect("sound rows");
        for change in bytes.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % packed.len();
            packed[at] ^= change[2];
        }
        bytes = packed;
    }
    let Ok(length) = segment::head_len(&bytes) else { return };
    let head = bytes.get(..length).unwrap_or(&bytes);
    for verify in [true, false] {
        let Ok(head) = Head::parse(head, &seal, verify) else { continue };
        let rest = bytes.get(length..).unwrap_or_default();
        let _ = head.check_body(&seal, rest);
        let mut dead = dead.clone();
        dead.sort_unstable();
        for allow in [None, Some(Rows::of(dead.clone())), Some(Rows::of(dead.clone()).not())] {
            let mask = head.mask(allow.as_ref(), &dead);
            for dimension in [head.dimension().min(64), 3] {
                let probe = Probe::new(head.metric(), &vec![0.5; dimension]);
                for body in [rest, &body] {
                    let mut found = Candidates::new(3);
                    head.scan(body, &probe, &mask, &mut found);
                    assert!(found.finish().len() <= mask.len());
                }
            }
        }
    }
});
