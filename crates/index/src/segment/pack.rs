//! Sealing rows into the bytes of a segment.

use super::layout::{self, SegmentPrefix};
use super::quantise::quantise_vector;
use super::{ROWS, SegmentSeal};
use loci_core::{Error, Metric, Result};

/// Packs `rows`, ascending by row number, into one sealed segment.
///
/// The same rows under the same seal give the same bytes. No rows, more than [`ROWS`], rows out
/// of order, a vector of another dimension and a component that is not finite are `Invalid`.
pub fn pack_segment(
    seal: &SegmentSeal,
    metric: Metric,
    dimension: usize,
    rows: &[(i64, &[f32])],
) -> Result<Vec<u8>> {
    let (first, last) = check_rows(dimension, rows)?;
    let mut head = Vec::with_capacity(rows.len() * 20);
    let mut body = Vec::with_capacity(rows.len() * dimension);
    // One pass over the vectors fills the body, and the head's arrays follow from it: a scan reads
    // scales, lengths and errors of all rows together.
    let packed: Vec<_> = rows
        .iter()
        .map(|(_, vector)| quantise_vector(metric, vector, &mut body))
        .collect();
    head.extend(rows.iter().flat_map(|(row, _)| row.to_le_bytes()));
    head.extend(packed.iter().flat_map(|row| row.scale.to_le_bytes()));
    head.extend(packed.iter().flat_map(|row| row.norm.to_le_bytes()));
    head.extend(packed.iter().flat_map(|row| row.error.to_le_bytes()));
    let mut prefix = SegmentPrefix {
        metric,
        dimension,
        count: rows.len(),
        first,
        last,
        head_checksum: 0,
        body_checksum: seal.checksum(&[&body]),
    };
    // The head checksum counts as zeros in itself, which it still is here.
    prefix.head_checksum = seal.checksum(&[&prefix.to_bytes(), &head]);
    Ok([&prefix.to_bytes()[..], &head, &body].concat())
}

/// Checks that the rows can be packed and returns the first and last row number.
fn check_rows(dimension: usize, rows: &[(i64, &[f32])]) -> Result<(i64, i64)> {
    let (Some((first, _)), Some((last, _))) = (rows.first(), rows.last()) else {
        return Err(Error::invalid("a segment of no rows cannot be packed"));
    };
    if rows.len() > ROWS {
        return Err(Error::invalid("too many rows for one segment")
            .with_context("rows", rows.len())
            .with_context("most", ROWS));
    }
    if !layout::supports_dimension(dimension) {
        return Err(
            Error::invalid("no segment holds vectors of this dimension").with_context("dimension", dimension)
        );
    }
    if !rows.is_sorted_by(|(a, _), (b, _)| a < b) {
        return Err(Error::invalid("the rows of a segment must ascend"));
    }
    for (row, vector) in rows {
        if vector.len() != dimension {
            let error = Error::invalid("a vector of another dimension cannot be packed");
            return Err(error
                .with_context("row", row)
                .with_context("dimension", dimension)
                .with_context("given", vector.len()));
        }
        if !vector.iter().all(|x| x.is_finite()) {
            return Err(
                Error::invalid("a vector that is not finite cannot be packed").with_context("row", row)
            );
        }
    }
    Ok((*first, *last))
}
