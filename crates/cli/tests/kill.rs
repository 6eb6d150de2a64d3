//! Guards against loss: real processes are killed while they write, seal and maintain, and every receipt must hold.
//!
//! `LOCI_ROUNDS`, `LOCI_WRITERS` and `LOCI_SEED` set the size of the campaign; the seed is printed.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test: a panic is a red line"
)]

mod killing {
    pub(crate) mod campaign;
    pub(crate) mod ledger;
    pub(crate) mod writer;
}

use killing::campaign::Campaign;

/// After so many rounds a new palace is begun, so that checking everything stays quick.
const ROUNDS_PER_PALACE: usize = 50;

fn setting(name: &str, default: u64) -> u64 {
    std::env::var(name)
        .ok()
        .and_then(|text| text.parse().ok())
        .unwrap_or(default)
}

#[test]
fn nothing_acknowledged_is_lost_or_doubled_when_processes_are_killed() {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap()
        .as_nanos() as u64;
    let (rounds, writers, seed) = (
        setting("LOCI_ROUNDS", 20),
        setting("LOCI_WRITERS", 3),
        setting("LOCI_SEED", now),
    );
    println!("kill: {rounds} rounds, {writers} writers, LOCI_SEED={seed}");
    for (palace, rounds) in (0..rounds)
        .collect::<Vec<_>>()
        .chunks(ROUNDS_PER_PALACE)
        .enumerate()
    {
        let mut campaign = Campaign::new(seed.wrapping_add(palace as u64));
        rounds.iter().for_each(|round| campaign.round(*round, writers));
        println!("{}", campaign.finish());
    }
}

#[test]
fn four_writers_of_five_hundred_single_writes_are_all_acknowledged() {
    let mut campaign = Campaign::new(4);
    campaign.undisturbed(4, 500);
    println!("{}", campaign.finish());
}
