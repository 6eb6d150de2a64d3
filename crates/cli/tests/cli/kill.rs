//! Guards against loss: real processes are killed while they write, seal and maintain, and every receipt must hold.
//!
//! `LOCI_ROUNDS`, `LOCI_WRITERS` and `LOCI_SEED` set the size of the campaign; the seed is printed.

mod campaign;
mod commands;
mod ledger;
pub(crate) mod writer;

use loci_testkit::{campaign_rounds, campaign_seed, campaign_setting};

use self::campaign::Campaign;
use self::commands::KilledCommands;

/// After so many rounds a new palace is begun, so that checking everything stays quick.
const ROUNDS_PER_PALACE: usize = 50;

#[test]
fn nothing_acknowledged_is_lost_or_doubled_when_processes_are_killed() {
    let (rounds, seed) = (campaign_rounds(20), campaign_seed());
    let writers = campaign_setting("LOCI_WRITERS", 3);
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

#[test]
fn every_command_killed_anywhere_leaves_the_old_state_or_the_new_one() {
    let (rounds, seed) = (campaign_rounds(20), campaign_seed());
    println!("commands: {rounds} rounds, LOCI_SEED={seed}");
    for palace in 0..rounds.div_ceil(ROUNDS_PER_PALACE as u64) {
        let mut campaign = KilledCommands::new(seed.wrapping_add(palace));
        let rest = rounds - palace * ROUNDS_PER_PALACE as u64;
        (0..rest.min(ROUNDS_PER_PALACE as u64)).for_each(|_| campaign.kill_one());
        println!("{} commands finished before they were killed", campaign.finished);
    }
}
