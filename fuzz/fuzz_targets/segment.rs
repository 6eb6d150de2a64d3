//! Any bytes are read as a segment or refused, and scanning what was read never leaves its bounds.
#![no_main]

use libfuzzer_sys::fuzz_target;
use loci_core::Metric;
use loci_index::segment::{self, SegmentHead, SegmentSeal};
use loci_index::{NearestCandidates, QueryProbe, RowSet};

fuzz_target!(|input: (Vec<u8>, Vec<u8>, bool, Vec<i64>)| {
    let (mut bytes, body, sound, dead) = input;
    let seal = SegmentSeal { palace: [1; 16], space: 3 };
    if sound {
        // A true segment with some bytes changed reaches deeper than noise does.
        let vectors: Vec<Vec<f32>> =
            (0..20).map(|n| (0..8).map(|at| ((n * 7 + at) % 11) as f32 - 4.5).collect()).collect();
        let rows: Vec<(i64, &[f32])> = vectors.iter().enumerate().map(|(n, v)| (n as i64 * 3, v.as_slice())).collect();
        let mut packed = segment::pack_segment(&seal, Metric::Cosine, 8, &rows).expect("sound rows");
        for change in bytes.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % packed.len();
            packed[at] ^= change[2];
        }
        bytes = packed;
    }
    let Ok(length) = segment::head_len(&bytes) else { return };
    let head = bytes.get(..length).unwrap_or(&bytes);
    for verify in [true, false] {
        let Ok(head) = SegmentHead::parse(head, &seal, verify) else { continue };
        let rest = bytes.get(length..).unwrap_or_default();
        let _ = head.check_body(&seal, rest);
        let mut dead = dead.clone();
        dead.sort_unstable();
        for allow in [None, Some(RowSet::from_rows(dead.clone())), Some(RowSet::from_rows(dead.clone()).not())] {
            let mask = head.select_rows(allow.as_ref(), &dead);
            for dimension in [head.dimension().min(64), 3] {
                let probe = QueryProbe::new(head.metric(), &vec![0.5; dimension]);
                for body in [rest, &body] {
                    let mut found = NearestCandidates::new(3);
                    head.scan_body(body, &probe, &mask, &mut found);
                    assert!(found.finish().len() <= mask.len());
                }
            }
        }
    }
});
