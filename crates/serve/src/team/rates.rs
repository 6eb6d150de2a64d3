//! The rate of requests of each caller.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use hyper::StatusCode;
use loci_team::TeamActor;

use crate::http::refusal::HttpRefusal;
use crate::mcp::RequestRate;
use crate::mcp::http::RateBucket;

/// The most callers whose rate is remembered. Once there are more, all begin anew.
const MOST_CALLERS: usize = 10_000;

/// The buckets of all callers.
pub(super) struct CallerRates {
    rate: RequestRate,
    buckets: Mutex<HashMap<TeamActor, RateBucket>>,
}

impl CallerRates {
    /// Lets each caller send so many requests.
    pub(super) fn new(rate: RequestRate) -> Self {
        Self {
            rate,
            buckets: Mutex::default(),
        }
    }

    /// Admits a request, or tells when to come back.
    pub(super) fn admit(&self, who: &TeamActor, now: Instant) -> Result<(), HttpRefusal> {
        let mut buckets = self.buckets.lock().unwrap_or_else(PoisonError::into_inner);
        if buckets.len() >= MOST_CALLERS && !buckets.contains_key(who) {
            buckets.clear();
        }
        let bucket = buckets
            .entry(who.clone())
            .or_insert_with(|| RateBucket::new(self.rate, now));
        bucket.take(now).map_err(|seconds| {
            let words = "too many requests; slow down";
            HttpRefusal::retry_later(StatusCode::TOO_MANY_REQUESTS, words, seconds)
        })
    }
}
