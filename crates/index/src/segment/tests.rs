//! Segments hold what was packed, refuse what was not, and scans lose none of the nearest.

use super::*;
use crate::{NearestCandidates, QueryProbe, RowSet};
use loci_core::{ErrorKind, Metric};
use loci_testkit::SeededRandom;
use proptest::prelude::*;

const SEAL: SegmentSeal = SegmentSeal {
    palace: [7; 16],
    space: 3,
};

/// Shapes of data that quantisation likes and hates.
#[derive(Debug, Clone, Copy)]
enum Shape {
    Uniform,
    Clustered,
    NearDuplicates,
    Identical,
    Spikes,
    HugeRange,
    Tiny,
    Sparse,
}

const SHAPES: [Shape; 8] = [
    Shape::Uniform,
    Shape::Clustered,
    Shape::NearDuplicates,
    Shape::Identical,
    Shape::Spikes,
    Shape::HugeRange,
    Shape::Tiny,
    Shape::Sparse,
];

fn vectors(shape: Shape, dimension: usize, count: usize, numbers: &mut SeededRandom) -> Vec<Vec<f32>> {
    let centres: Vec<Vec<f32>> = (0..3).map(|_| numbers.vector(dimension)).collect();
    let mut one = || {
        let centre = &centres[numbers.below(3)];
        let mut noise = numbers.vector(dimension);
        let around = |spread: f32, noise: &[f32]| -> Vec<f32> {
            centre.iter().zip(noise).map(|(c, n)| c + spread * n).collect()
        };
        match shape {
            Shape::Uniform => noise,
            Shape::Clustered => around(0.1, &noise),
            Shape::NearDuplicates => around(1e-6, &noise),
            Shape::Identical => centres[0].clone(),
            Shape::Spikes => {
                noise.iter_mut().for_each(|x| *x *= 1e-3);
                let spike = numbers.below(dimension);
                noise[spike] = 1000.0;
                noise
            }
            Shape::HugeRange => noise
                .iter()
                .map(|x| x * 10f32.powf(numbers.next_unit() * 74.0))
                .collect(),
            Shape::Tiny => noise.iter().map(|x| x * 1e-38).collect(),
            Shape::Sparse => noise.iter().map(|x| if *x > 0.8 { 1.0 } else { 0.0 }).collect(),
        }
    };
    (0..count).map(|_| one()).collect()
}

fn packed(metric: Metric, vectors: &[Vec<f32>]) -> Vec<u8> {
    let rows: Vec<(i64, &[f32])> = vectors
        .iter()
        .enumerate()
        .map(|(n, vector)| (n as i64 * 2, vector.as_slice()))
        .collect();
    pack_segment(&SEAL, metric, vectors[0].len(), &rows).unwrap()
}

/// The k nearest rows of those chosen, by (distance, row).
fn nearest(
    probe: &QueryProbe,
    vectors: &[Vec<f32>],
    k: usize,
    chosen: impl Iterator<Item = i64>,
) -> Vec<i64> {
    let mut all: Vec<(f32, i64)> = chosen
        .map(|row| (probe.exact_distance(&vectors[row as usize / 2]), row))
        .collect();
    all.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    all.truncate(k);
    all.into_iter().map(|(_, row)| row).collect()
}

proptest! {
    #[test]
    fn rescoring_the_candidates_gives_exactly_the_nearest(
        shape in proptest::sample::select(&SHAPES[..]),
        asked in proptest::sample::select(&SHAPES[..]),
        own in any::<bool>(),
        metric in proptest::sample::select(&Metric::ALL[..]),
        dimension in prop_oneof![1usize..70, Just(384)],
        count in 1usize..300,
        k in 1usize..12,
        seed in any::<u64>(),
    ) {
        let mut numbers = SeededRandom::new(seed);
        let vectors = vectors(shape, dimension, count, &mut numbers);
        let query = if own { vectors[numbers.below(count)].clone() }
            else { super::tests::vectors(asked, dimension, 1, &mut numbers).remove(0) };
        let bytes = packed(metric, &vectors);
        let head = SegmentHead::parse(&bytes, &SEAL, true).unwrap();
        let probe = QueryProbe::new(metric, &query);
        let allow = RowSet::from_rows((0..count as i64).filter(|row| row % 5 != 0).map(|row| row * 2).collect());
        for allow in [None, Some(&allow)] {
            let mut candidates = NearestCandidates::new(k);
            head.scan_body(&bytes[head.body_range()], &probe, &head.select_rows(allow, &[4]), &mut candidates);
            let chosen = |row: &i64| *row != 4 && allow.is_none_or(|rows| rows.contains(*row));
            let expected = nearest(&probe, &vectors, k, head.rows().iter().copied().filter(chosen));
            let found = candidates.finish();
            let rescored = nearest(&probe, &vectors, k, found.iter().map(|candidate| candidate.row));
            prop_assert_eq!(rescored, expected);
            for candidate in found {
                prop_assert!(candidate.lower <= probe.exact_distance(&vectors[candidate.row as usize / 2]));
            }
        }
    }

    #[test]
    fn every_exact_distance_lies_within_its_bounds(
        shape in proptest::sample::select(&SHAPES[..]),
        asked in proptest::sample::select(&SHAPES[..]),
        metric in proptest::sample::select(&Metric::ALL[..]),
        dimension in prop_oneof![1usize..70, Just(384)],
        seed in any::<u64>(),
    ) {
        let mut numbers = SeededRandom::new(seed);
        let vectors = vectors(shape, dimension, 20, &mut numbers);
        let probe = QueryProbe::new(metric, &super::tests::vectors(asked, dimension, 1, &mut numbers)[0]);
        let bytes = packed(metric, &vectors);
        let head = SegmentHead::parse(&bytes, &SEAL, true).unwrap();
        for (row, vector) in head.rows().iter().zip(&vectors) {
            let mut alone = NearestCandidates::new(1);
            let mask = head.select_rows(Some(&RowSet::from_rows(vec![*row])), &[]);
            head.scan_body(&bytes[head.body_range()], &probe, &mask, &mut alone);
            let (exact, upper, lower) = (probe.exact_distance(vector), alone.limit(), alone.finish()[0].lower);
            prop_assert!(lower <= exact && exact <= upper, "{} <= {} <= {}", lower, exact, upper);
        }
    }

    #[test]
    fn no_bytes_make_a_head_panic(
        noise in proptest::collection::vec(any::<u8>(), 0..400),
        changes in proptest::collection::vec((0usize..100, any::<u8>()), 0..3),
    ) {
        let mut changed = packed(Metric::L2, &vec![vec![1.0; 3]; 4]);
        for (at, byte) in changes {
            changed[at] = byte;
        }
        for bytes in [noise, changed] {
            let _ = head_len(&bytes);
            if let Ok(head) = SegmentHead::parse(&bytes, &SEAL, false) {
                let probe = QueryProbe::new(head.metric(), &vec![0.5; head.dimension()]);
                let body = bytes.get(head.body_range()).unwrap_or(&bytes);
                head.scan_body(body, &probe, &head.select_rows(None, &[]), &mut NearestCandidates::new(2));
            }
        }
    }
}

#[test]
fn the_bounds_are_tight_enough_to_leave_few_candidates() {
    let mut numbers = SeededRandom::new(11);
    let vectors = vectors(Shape::Uniform, 384, ROWS, &mut numbers);
    let bytes = packed(Metric::Cosine, &vectors);
    let head = SegmentHead::parse(&bytes, &SEAL, true).unwrap();
    let mut candidates = NearestCandidates::new(10);
    let probe = QueryProbe::new(Metric::Cosine, &numbers.vector(384));
    head.scan_body(
        &bytes[head.body_range()],
        &probe,
        &head.select_rows(None, &[]),
        &mut candidates,
    );
    let left = candidates.finish().len();
    assert!(left < 30, "{left} candidates for 10");
}

#[test]
fn a_head_says_what_was_packed() {
    let bytes = packed(Metric::Ip, &[vec![1.0, 2.0], vec![-3.0, 0.5], vec![0.0, 0.0]]);
    assert_eq!(head_len(&bytes[..PREFIX]).unwrap(), 64 + 3 * 20);
    let head = SegmentHead::parse(&bytes[..124], &SEAL, true).unwrap();
    assert_eq!(
        (head.count(), head.dimension(), head.metric()),
        (3, 2, Metric::Ip)
    );
    assert_eq!((head.first(), head.last(), head.rows()), (0, 4, &[0, 2, 4][..]));
    assert_eq!(head.body_range(), 124..bytes.len());
    head.check_body(&SEAL, &bytes[head.body_range()]).unwrap();
}

#[test]
fn the_bytes_of_a_segment_never_change() {
    let bytes = pack_segment(&SEAL, Metric::L2, 2, &[(5, &[127.0, -1.0])]).unwrap();
    let mut expected = b"LOCISEG1\x01\0\0\0\x02\0\0\0\x01\0\0\0\0\0\0\0".to_vec();
    expected.extend(5i64.to_le_bytes());
    expected.extend(5i64.to_le_bytes());
    assert_eq!(bytes[..40], expected);
    assert_eq!(bytes[40..48], 0xECD2_2587_2188_E332_u64.to_le_bytes());
    assert_eq!(bytes[48..56], 0x3C65_E68C_2C42_AB13_u64.to_le_bytes());
    assert_eq!(bytes[56..64], [0; 8]);
    assert_eq!(bytes[64..72], 5i64.to_le_bytes());
    assert_eq!(bytes[72..76], 1f32.to_le_bytes());
    assert_eq!(bytes[76..80], 16_130f32.to_le_bytes());
    assert_eq!(bytes[80..84], 0f32.to_le_bytes());
    assert_eq!(bytes[84..], [127, 255]);
}

#[test]
fn a_changed_byte_fails_its_check() {
    let bytes = packed(Metric::Cosine, &[vec![1.0, 2.0, 3.0], vec![3.0, 2.0, 1.0]]);
    for at in 0..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        let whole = SegmentHead::parse(&changed, &SEAL, true)
            .and_then(|head| head.check_body(&SEAL, changed.get(head.body_range()).unwrap_or_default()));
        assert_eq!(whole.unwrap_err().kind(), ErrorKind::Corrupt, "byte {at}");
    }
    for length in 0..bytes.len() - 6 {
        assert_eq!(
            SegmentHead::parse(&bytes[..length], &SEAL, false)
                .unwrap_err()
                .kind(),
            ErrorKind::Corrupt
        );
    }
}

#[test]
fn a_segment_of_another_palace_or_space_fails_its_check() {
    let bytes = packed(Metric::Cosine, &[vec![1.0, 2.0, 3.0]]);
    for seal in [
        SegmentSeal { space: 4, ..SEAL },
        SegmentSeal {
            palace: [8; 16],
            ..SEAL
        },
    ] {
        assert_eq!(
            SegmentHead::parse(&bytes, &seal, true).unwrap_err().kind(),
            ErrorKind::Corrupt
        );
        let head = SegmentHead::parse(&bytes, &seal, false).unwrap();
        assert_eq!(
            head.check_body(&seal, &bytes[head.body_range()])
                .unwrap_err()
                .kind(),
            ErrorKind::Corrupt
        );
    }
}

#[test]
fn what_cannot_be_packed_is_invalid() {
    let refused = |dimension, rows: &[(i64, &[f32])]| {
        assert_eq!(
            pack_segment(&SEAL, Metric::L2, dimension, rows)
                .unwrap_err()
                .kind(),
            ErrorKind::Invalid
        );
    };
    refused(1, &[]);
    refused(0, &[(1, &[])]);
    refused(65_537, &[(1, &vec![0.0; 65_537])]);
    refused(2, &[(1, &[1.0])]);
    refused(1, &[(2, &[1.0]), (2, &[1.0])]);
    refused(1, &[(2, &[1.0]), (1, &[1.0])]);
    refused(1, &[(1, &[f32::NAN])]);
    refused(1, &(0..1025).map(|row| (row, &[1.0][..])).collect::<Vec<_>>());
}

#[test]
fn a_mask_holds_what_is_allowed_and_alive() {
    let bytes = packed(Metric::L2, &vec![vec![1.0]; ROWS]);
    let head = SegmentHead::parse(&bytes, &SEAL, true).unwrap();
    assert_eq!(head.select_rows(None, &[]).len(), ROWS);
    assert_eq!(head.select_rows(None, &[-1, 0, 3, 2046, 9999]).len(), ROWS - 2);
    assert!(head.select_rows(Some(&RowSet::nothing()), &[]).is_empty());
    assert_eq!(
        head.select_rows(Some(&RowSet::from_rows(vec![-5, 2, 3, 4, 5000])), &[2])
            .len(),
        1
    );
    assert_eq!(
        head.select_rows(Some(&RowSet::from_rows(vec![-5, 2, 3, 4, 5000]).not()), &[2, 6])
            .len(),
        ROWS - 3
    );
}

#[test]
fn rows_that_cannot_be_bounded_are_offered_all_the_same() {
    let bytes = packed(Metric::L2, &vec![vec![1.0, 2.0]; 3]);
    let head = SegmentHead::parse(&bytes, &SEAL, true).unwrap();
    let body = &bytes[head.body_range()];
    let offered = |metric, query: &[f32], body: &[u8]| {
        let mut candidates = NearestCandidates::new(1);
        head.scan_body(
            body,
            &QueryProbe::new(metric, query),
            &head.select_rows(None, &[2]),
            &mut candidates,
        );
        candidates
            .finish()
            .iter()
            .map(|candidate| candidate.row)
            .collect::<Vec<_>>()
    };
    assert_eq!(offered(Metric::L2, &[1.0, 2.0], &body[..1]), [0, 4]);
    assert_eq!(offered(Metric::L2, &[1.0, 2.0], &[body, body].concat()), [0, 4]);
    assert_eq!(offered(Metric::Ip, &[1.0, 2.0], body), [0, 4]);
    assert_eq!(offered(Metric::L2, &[1.0], body), [0, 4]);
    assert_eq!(offered(Metric::L2, &[1.0, f32::NAN], body), [0, 4]);
    assert_eq!(offered(Metric::L2, &[1.0, f32::INFINITY], body), [0, 4]);
}

proptest! {
    #[test]
    fn a_body_in_pieces_is_scanned_as_a_whole_one(
        seed in any::<u64>(),
        count in 1..150_usize,
        dimension in 1..40_usize,
        cuts in proptest::collection::vec(0..6000_usize, 0..12),
    ) {
        let mut numbers = SeededRandom::new(seed);
        let vectors = vectors(Shape::Clustered, dimension, count, &mut numbers);
        let bytes = packed(Metric::Cosine, &vectors);
        let head = SegmentHead::parse(&bytes, &SEAL, true).unwrap();
        let body = &bytes[head.body_range()];
        let probes = [0, 1].map(|_| QueryProbe::new(Metric::Cosine, &numbers.vector(dimension)));
        let mask = head.select_rows(None, &[4, 6, 130]);
        let mut whole = [1, 7].map(NearestCandidates::new);
        for (probe, out) in probes.iter().zip(&mut whole) {
            head.scan_body(body, probe, &mask, out);
        }
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(body.len())).collect();
        cuts.extend([0, body.len()]);
        cuts.sort_unstable();
        let mut pieced = [1, 7].map(NearestCandidates::new);
        let mut scan = PieceScan::new(&head, &mask);
        for (from, to) in cuts.iter().zip(&cuts[1..]) {
            // Rows that are complete by now were offered, and no others.
            let rest: Vec<usize> = scan.unscanned_rows().positions().collect();
            let expected = mask.positions().filter(|at| *at >= from / dimension);
            prop_assert!(rest.into_iter().eq(expected));
            scan.scan_piece(&body[*from..*to], &probes, &mut pieced);
        }
        prop_assert!(scan.unscanned_rows().is_empty());
        for (whole, pieced) in whole.into_iter().zip(pieced) {
            prop_assert_eq!(whole.finish(), pieced.finish());
        }
    }
}
