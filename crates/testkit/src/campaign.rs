//! How large a random campaign is: few rounds by default, more by hand.

use std::time::{SystemTime, UNIX_EPOCH};

/// A number that an environment variable gives, or `default`.
pub fn campaign_setting(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

/// How many rounds to run: `LOCI_ROUNDS`, or `default`.
pub fn campaign_rounds(default: u64) -> u64 {
    campaign_setting("LOCI_ROUNDS", default)
}

/// The seed of a campaign: `LOCI_SEED`, or one of this moment, which the test is to print.
pub fn campaign_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    campaign_setting("LOCI_SEED", now.as_nanos() as u64)
}
