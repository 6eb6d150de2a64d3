//! The size of a random campaign: few rounds by default, more on request.

use std::time::{SystemTime, UNIX_EPOCH};

/// Returns the number in an environment variable, or `default`.
pub fn campaign_setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    // A value that is not a number counts as unset: a campaign should run rather than fail on a typo.
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// Returns the number of rounds to run: `LOCI_ROUNDS`, or `default`.
pub fn campaign_rounds(default: u64) -> u64 {
    campaign_setting("LOCI_ROUNDS", default)
}

/// Returns the seed of a campaign: `LOCI_SEED`, or one from the clock, which the test should print.
pub fn campaign_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    campaign_setting("LOCI_SEED", now.as_nanos() as u64)
}
