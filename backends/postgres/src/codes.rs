//! Codes of vectors that the server compares by itself: half-precision directions in the table `near`.
//!
//! Codes are a projection of the exact vectors, for the cosine metric only, and need the extension `vector`. A space
//! counts its codes: if a vector has none, the exact vectors answer. The distance by codes differs from the exact one by
//! at most [`error_bound`], so that the exact nearest are always among the candidates.

mod build;

use loci_core::Metric;
use tokio_postgres::types::Type;

use crate::statement::SqlStatement;

pub(crate) use build::build_codes;

/// Returns the most that a distance by codes of this many values differs from the exact one.
///
/// Rounding to 11 significant bits changes a vector of length one by at most 2^-11, and both vectors are rounded. The
/// server adds the products in single precision, which changes the sum by less than 2^-24 for each value, since the sum of
/// the absolute products is at most one.
pub(crate) fn error_bound(values: usize) -> f32 {
    2.0 / 2048.0 + values as f32 / 16_777_216.0 + 1e-5
}

/// The most values of a vector that has a code; the extension takes more, but the bound would grow.
pub(crate) const MOST_VALUES: usize = 4096;

/// The table of codes, for an extension in the schema `extension`.
pub(crate) fn create_table(extension: &str) -> SqlStatement {
    SqlStatement::new(format!(
        "CREATE TABLE IF NOT EXISTS loci.near (space bigint NOT NULL, \"row\" bigint NOT NULL,
            code {extension}.halfvec NOT NULL, PRIMARY KEY (space, \"row\")) WITH (toast_tuple_target = 8160)"
    ))
}

/// Returns whether vectors of this metric and dimension have codes.
pub(crate) fn are_coded(metric: Metric, dimension: Option<usize>) -> bool {
    metric == Metric::Cosine && dimension.is_none_or(|dimension| dimension <= MOST_VALUES)
}

/// Returns the direction of a vector: its values divided by its length.
pub(crate) fn direction(vector: &[f32]) -> Vec<f32> {
    // The largest value first: squares of very large or small values would leave the range even of doubles.
    let largest = vector
        .iter()
        .fold(0_f64, |most, value| most.max(f64::from(value.abs())));
    let scaled = |value: &f32| f64::from(*value) / largest;
    let length = vector
        .iter()
        .map(|value| scaled(value).powi(2))
        .sum::<f64>()
        .sqrt();
    vector
        .iter()
        .map(|value| (scaled(value) / length) as f32)
        .collect()
}

/// Returns the statement that stores the code of a vector.
pub(crate) fn insert_code(extension: &str, space: i64, row: i64, vector: &[f32]) -> SqlStatement {
    SqlStatement::new(format!(
        "INSERT INTO loci.near(space, \"row\", code) VALUES ($1, $2, $3::real[]::{extension}.halfvec)
         ON CONFLICT DO NOTHING"
    ))
    .with_int(space)
    .with_int(row)
    .with(direction(vector), Type::FLOAT4_ARRAY)
}

/// Returns the statement that stores the codes of vectors of one dimension.
pub(crate) fn insert_codes(extension: &str, space: i64, vectors: &[(i64, Vec<f32>)]) -> SqlStatement {
    let dimension = vectors.first().map_or(0, |(_, vector)| vector.len());
    let values: Vec<f32> = vectors.iter().flat_map(|(_, vector)| direction(vector)).collect();
    // One flat array, of which each row takes its part: an array of arrays would be taken apart value by value.
    SqlStatement::new(format!(
        "INSERT INTO loci.near(space, \"row\", code)
         SELECT $1, n.\"row\", ($3::real[])[(n.place - 1) * $4 + 1 : n.place * $4]::{extension}.halfvec
         FROM unnest($2::bigint[]) WITH ORDINALITY AS n(\"row\", place) ON CONFLICT DO NOTHING"
    ))
    .with_int(space)
    .with_ints(vectors.iter().map(|(row, _)| *row).collect())
    .with(values, Type::FLOAT4_ARRAY)
    .with_int(dimension as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_direction_has_length_one_whatever_the_size_of_its_vector() {
        for scale in [1e-38_f32, 1.0, 1e38] {
            let direction = direction(&[3.0 * scale, -0.0, -2.0 * scale]);
            let length: f32 = direction.iter().map(|value| value * value).sum();
            assert!((length - 1.0).abs() < 1e-6, "{scale}: {direction:?}");
        }
    }

    #[test]
    fn only_angles_are_compared_by_codes() {
        assert!(are_coded(Metric::Cosine, Some(384)) && are_coded(Metric::Cosine, None));
        assert!(!are_coded(Metric::L2, Some(384)) && !are_coded(Metric::Cosine, Some(MOST_VALUES + 1)));
    }
}
