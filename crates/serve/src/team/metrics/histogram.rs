//! A histogram of times with fixed buckets.

use std::time::Duration;

use super::exposition::MetricText;

/// The upper ends of the buckets, in microseconds, and as they are written in seconds.
const BUCKETS: [(u64, &str); 13] = [
    (1_000, "0.001"),
    (2_500, "0.0025"),
    (5_000, "0.005"),
    (10_000, "0.01"),
    (25_000, "0.025"),
    (50_000, "0.05"),
    (100_000, "0.1"),
    (250_000, "0.25"),
    (500_000, "0.5"),
    (1_000_000, "1"),
    (2_500_000, "2.5"),
    (5_000_000, "5"),
    (10_000_000, "10"),
];

/// Times by bucket.
#[derive(Debug, Clone, Default)]
pub(super) struct LatencyHistogram {
    /// The times in each bucket, without those in the buckets before it.
    counts: [u64; BUCKETS.len()],
    total: u64,
    sum: Duration,
}

impl LatencyHistogram {
    /// Adds a time. A time equal to the end of a bucket is in it.
    pub(super) fn add(&mut self, took: Duration) {
        let fits = |(end, _): &(u64, &str)| took <= Duration::from_micros(*end);
        if let Some(count) = BUCKETS
            .iter()
            .position(fits)
            .and_then(|at| self.counts.get_mut(at))
        {
            *count += 1;
        }
        self.total += 1;
        self.sum = self.sum.saturating_add(took);
    }

    /// Writes the buckets, the sum and the number of times, with this label.
    pub(super) fn render(&self, text: &mut MetricText, label: (&str, &str)) {
        let mut so_far = 0;
        for (count, (_, end)) in self.counts.iter().zip(BUCKETS) {
            so_far += count;
            text.add_part("_bucket", &[label, ("le", end)], so_far);
        }
        text.add_part("_bucket", &[label, ("le", "+Inf")], self.total);
        text.add_part("_sum", &[label], self.sum.as_secs_f64());
        text.add_part("_count", &[label], self.total);
    }
}
