//! The scan of packed segments alone: how its time grows with the number of vectors, and how near it is to the memory.

use loci_core::{Metric, Result};
use loci_index::segment::{self, ROWS, SegmentHead, SegmentSeal};
use loci_index::{NearestCandidates, QueryProbe};
use serde_json::{Value as Json, json};

use crate::corpus::{self, DIMENSION};
use crate::measure;

/// Packs `rows` vectors in memory and scans them; figures for each tenth and the whole.
pub(crate) fn run(rows: u64, rounds: usize) -> Result<Json> {
    let seal = SegmentSeal {
        palace: [7; 16],
        space: 1,
    };
    let segments = pack(&seal, rows)?;
    let mut figures = Vec::new();
    for share in [0.01, 0.1, 0.25, 0.5, 1.0] {
        let part = (segments.len() as f64 * share).ceil() as usize;
        figures.push(measure_part(segments.get(..part).unwrap_or_default(), rounds));
    }
    Ok(json!({"dimension": DIMENSION, "copy": copy_speed(), "scan": figures}))
}

/// A segment in memory.
struct ScanSegment {
    head: SegmentHead,
    body: Vec<u8>,
}

fn pack(seal: &SegmentSeal, rows: u64) -> Result<Vec<ScanSegment>> {
    let mut segments = Vec::new();
    for first in (0..rows).step_by(ROWS) {
        let last = (first + ROWS as u64).min(rows);
        let vectors: Vec<(i64, Vec<f32>)> = (first..last).map(|n| (n as i64, corpus::vector(n))).collect();
        let borrowed: Vec<(i64, &[f32])> = vectors
            .iter()
            .map(|(row, vector)| (*row, vector.as_slice()))
            .collect();
        let bytes = segment::pack_segment(seal, Metric::Cosine, DIMENSION, &borrowed)?;
        let head_len = segment::head_len(&bytes)?;
        let head = SegmentHead::parse(bytes.get(..head_len).unwrap_or_default(), seal, true)?;
        segments.push(ScanSegment {
            body: bytes.get(head_len..).unwrap_or_default().to_vec(),
            head,
        });
    }
    Ok(segments)
}

fn measure_part(segments: &[ScanSegment], rounds: usize) -> Json {
    let rows: usize = segments.iter().map(|segment| segment.head.count()).sum();
    let mut kept = 0;
    let probes: Vec<QueryProbe> = (0..rounds)
        .map(|round| QueryProbe::new(Metric::Cosine, &corpus::vector(u64::MAX / 2 + round as u64)))
        .collect();
    let measured = measure::repeat(rounds, |round| {
        let Some(probe) = probes.get(round) else { return };
        let mut found = NearestCandidates::new(10);
        for segment in segments {
            let mask = segment.head.select_rows(None, &[]);
            segment.head.scan_body(&segment.body, probe, &mask, &mut found);
        }
        kept += found.finish().len();
    });
    let bytes = rows * DIMENSION;
    json!({
        "rows": rows,
        "cpu_ms": measured.cpu_ms,
        "min_ms": measured.wall_ms.last(),
        "gb_per_second": bytes as f64 / (measured.cpu_ms / 1e3) / 1e9,
        "ns_per_row": measured.cpu_ms * 1e6 / rows as f64,
        "candidates": kept as f64 / (rounds + 1) as f64,
    })
}

/// How fast this machine reads memory in one thread: a sum over 400 MB.
fn copy_speed() -> Json {
    let memory = vec![1_u64; 50_000_000];
    let measured = measure::repeat(5, |_| {
        assert_eq!(std::hint::black_box(&memory).iter().sum::<u64>(), 50_000_000);
    });
    json!({"gb_per_second": memory.len() as f64 * 8.0 / (measured.cpu_ms / 1e3) / 1e9})
}
