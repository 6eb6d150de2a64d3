//! The directions in which vectors spread most: eigenvectors of their second moments.

/// A linear map from the teacher's values to the student's.
#[derive(Debug)]
pub(crate) struct SpectrumProjection {
    from: usize,
    to: usize,
    /// `to` rows of `from` values.
    rows: Vec<f32>,
}

impl SpectrumProjection {
    /// The `to` strongest directions of `vectors`, which have `from` values each and are not centred.
    pub(crate) fn strongest(vectors: &[f32], from: usize, to: usize) -> Self {
        let mut moments = vec![0.0_f64; from * from];
        for vector in vectors.chunks_exact(from) {
            for (row, a) in moments.chunks_exact_mut(from).zip(vector) {
                for (sum, b) in row.iter_mut().zip(vector) {
                    *sum += f64::from(*a) * f64::from(*b);
                }
            }
        }
        let (values, directions) = eigen(moments, from);
        let mut order: Vec<usize> = (0..from).collect();
        let value = |at: &usize| values.get(*at).copied().unwrap_or(0.0);
        order.sort_by(|a, b| value(b).total_cmp(&value(a)));
        let rows = order.iter().take(to).flat_map(|column| {
            let column = directions.iter().skip(*column).step_by(from);
            column.map(|value| *value as f32).collect::<Vec<_>>()
        });
        Self {
            from,
            to,
            rows: rows.collect(),
        }
    }

    /// How many values an image has.
    pub(crate) fn width(&self) -> usize {
        self.to
    }

    /// The image of every vector, each of length one.
    pub(crate) fn apply(&self, vectors: &[f32]) -> Vec<f32> {
        let mut images = Vec::with_capacity(vectors.len() / self.from * self.to);
        for vector in vectors.chunks_exact(self.from) {
            let start = images.len();
            images.extend(
                self.rows
                    .chunks_exact(self.from)
                    .map(|row| crate::train::dot(row, vector)),
            );
            if let Some(image) = images.get_mut(start..) {
                crate::train::normalise(image);
            }
        }
        images
    }
}

/// Eigenvalues and eigenvectors (as columns) of a symmetric matrix, by Jacobi's rotations.
fn eigen(mut matrix: Vec<f64>, n: usize) -> (Vec<f64>, Vec<f64>) {
    let mut directions = vec![0.0; n * n];
    directions
        .iter_mut()
        .step_by(n + 1)
        .for_each(|value| *value = 1.0);
    let at = |matrix: &[f64], row: usize, column: usize| matrix.get(row * n + column).copied().unwrap_or(0.0);
    for _ in 0..12 {
        for p in 0..n {
            for q in p + 1..n {
                let (pp, qq, pq) = (at(&matrix, p, p), at(&matrix, q, q), at(&matrix, p, q));
                if pq.abs() < 1e-14 * (pp.abs() + qq.abs()) {
                    continue;
                }
                let theta = (qq - pp) / (2.0 * pq);
                let tangent = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let cosine = 1.0 / (tangent * tangent + 1.0).sqrt();
                let turn = (cosine, tangent * cosine);
                rotate_columns(&mut matrix, n, p, q, turn);
                rotate_rows(&mut matrix, n, p, q, turn);
                rotate_columns(&mut directions, n, p, q, turn);
            }
        }
    }
    let values = matrix.iter().step_by(n + 1).copied().collect();
    (values, directions)
}

fn rotate_columns(matrix: &mut [f64], n: usize, p: usize, q: usize, (cosine, sine): (f64, f64)) {
    for row in matrix.chunks_exact_mut(n) {
        if let Ok([a, b]) = row.get_disjoint_mut([p, q]) {
            (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
        }
    }
}

fn rotate_rows(matrix: &mut [f64], n: usize, p: usize, q: usize, (cosine, sine): (f64, f64)) {
    if let Ok([first, second]) = matrix.get_disjoint_mut([p * n..(p + 1) * n, q * n..(q + 1) * n]) {
        for (a, b) in first.iter_mut().zip(second) {
            (*a, *b) = (cosine * *a - sine * *b, sine * *a + cosine * *b);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_strongest_direction_comes_first_and_lengths_are_kept() {
        let mut vectors = Vec::new();
        for at in 0..100 {
            let along = (at as f32 - 50.0) / 10.0;
            vectors.extend([along, 2.0 * along, 0.01 * (at % 3) as f32]);
        }
        let projection = SpectrumProjection::strongest(&vectors, 3, 1);
        let [x, y, z]: [f32; 3] = projection.rows.clone().try_into().unwrap();
        assert!((y / x - 2.0).abs() < 1e-3 && z.abs() < 1e-2, "{x} {y} {z}");
        assert!((x * x + y * y + z * z - 1.0).abs() < 1e-5);
    }
}
