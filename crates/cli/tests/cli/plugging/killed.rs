//! Guards against loss in a plug-in: it or its host is killed at random while processes write, and every receipt holds.
//!
//! `LOCI_ROUNDS` and `LOCI_SEED` set the size of the campaign; the seed is printed.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};
use rustix::process::{Pid, Signal, kill_process};

use super::*;
use crate::kill::writer::{DIMENSION, Sample, Writer, sample};

/// The number of rounds after which a new palace is begun: the example scans its rows.
const ROUNDS_PER_PALACE: u64 = 25;

/// The time after which a process that does not end counts as hung.
const PATIENCE: Duration = Duration::from_secs(60);

/// A palace in the Python example that outlives many killings, and the ledger of what was told of it.
struct KilledPlugin {
    plugged: PluggedHome,
    palace: String,
    random: SeededRandom,
    batches: Vec<Vec<String>>,
    acknowledged: Vec<Vec<String>>,
    hosts: u64,
    plugins: u64,
}

impl KilledPlugin {
    fn new(seed: u64) -> Self {
        let plugged = PluggedHome::new();
        let palace = format!("python:{}", plugged.home.path("killed").display());
        let dimension = DIMENSION.to_string();
        plugged.json(&["--palace", &palace, "init", "--dimension", &dimension]);
        Self {
            plugged,
            palace,
            random: SeededRandom::new(seed),
            batches: Vec::new(),
            acknowledged: Vec::new(),
            hosts: 0,
            plugins: 0,
        }
    }

    /// Starts two writers, kills the host or the plug-in of each in the middle, and notes the receipts.
    fn round(&mut self, round: u64) {
        let mut writers: Vec<Writer> = (0..2)
            .map(|writer| {
                let (batches, size) = self.random.pick(&[(200, 1), (20, 25), (4, 300)]);
                let command = self.plugged.command(&["--palace", &self.palace]);
                Writer::start_with(command, &format!("r{round}w{writer}"), batches, size)
            })
            .collect();
        for writer in &mut writers {
            let plugin = find_child(writer);
            std::thread::sleep(Duration::from_millis(self.random.below(1500) as u64));
            if self.random.below(2) == 0 {
                writer.kill();
                self.hosts += 1;
            } else if let Some(plugin) = plugin.filter(|_| !writer.has_ended()) {
                // It may have ended by itself a moment ago; then there is nothing to kill.
                self.plugins += u64::from(kill_process(plugin, Signal::KILL).is_ok());
            }
        }
        for mut writer in writers {
            let until = Instant::now() + PATIENCE;
            while !writer.has_ended() {
                assert!(
                    Instant::now() < until,
                    "a host hangs after its plug-in was killed"
                );
                std::thread::sleep(Duration::from_millis(5));
            }
            let ended = writer.end();
            self.batches.extend(ended.batches);
            // A host whose plug-in was killed ends with an error, which is no receipt and names no drawer.
            let receipts = ended.acknowledged.into_iter().filter(|ids| !ids.is_empty());
            self.acknowledged.extend(receipts);
        }
    }

    /// Checks that every acknowledged batch is there once, and every other one whole or not at all.
    fn check(&self) -> String {
        let args = [
            "--palace",
            &self.palace,
            "export",
            "--embeddings",
            "--format",
            "jsonl",
        ];
        let mut stored: BTreeMap<String, Json> = BTreeMap::new();
        for line in self.plugged.run(0, &args).out.lines() {
            let drawer: Json = serde_json::from_str(line).unwrap();
            let Some(id) = drawer["id"].as_str() else { continue };
            assert!(
                stored.insert(id.to_owned(), drawer.clone()).is_none(),
                "{id} is there twice"
            );
        }
        for batch in &self.acknowledged {
            for id in batch {
                assert!(stored.contains_key(id), "{id} was acknowledged and is lost");
            }
        }
        let mut given = 0;
        for batch in &self.batches {
            let there = batch.iter().filter(|id| stored.contains_key(*id)).count();
            assert!(
                there == 0 || there == batch.len(),
                "{there} of the {} from {}",
                batch.len(),
                batch[0]
            );
            given += there;
        }
        assert_eq!(given, stored.len(), "a drawer is stored that was never given");
        for (id, drawer) in &stored {
            let Sample { text, vector, .. } = sample(id);
            assert_eq!(drawer["text"], text.as_str(), "{id}");
            let kept: Vec<f32> = serde_json::from_value(drawer["embedding"].clone()).unwrap();
            assert_eq!(kept, vector, "{id}");
        }
        let verified = self.plugged.json(&["--palace", &self.palace, "verify"]);
        assert_eq!(verified["ok"], true, "{verified}");
        let acknowledged: usize = self.acknowledged.iter().map(Vec::len).sum();
        format!(
            "{} hosts and {} plug-ins killed, {acknowledged} drawers acknowledged, {} stored, 0 lost, 0 half, 0 double",
            self.hosts,
            self.plugins,
            stored.len()
        )
    }
}

/// Returns the plug-in that a host has started; none if the host ended before.
fn find_child(host: &mut Writer) -> Option<Pid> {
    let id = host.process_id();
    while !host.has_ended() {
        let threads = fs::read_dir(format!("/proc/{id}/task"))
            .into_iter()
            .flatten()
            .flatten();
        let children = threads.filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
        let found = children.flat_map(|text| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        if let Some(child) = found.filter_map(|child| child.parse().ok()).next() {
            return Pid::from_raw(child);
        }
        std::thread::yield_now();
    }
    None
}

#[test]
fn nothing_acknowledged_is_lost_half_or_double_when_a_plug_in_or_its_host_is_killed() {
    let (rounds, seed) = (campaign_rounds(6), campaign_seed());
    println!("plug-ins: {rounds} rounds, LOCI_SEED={seed}");
    for first in (0..rounds).step_by(ROUNDS_PER_PALACE as usize) {
        let mut campaign = KilledPlugin::new(seed.wrapping_add(first));
        (first..rounds.min(first + ROUNDS_PER_PALACE)).for_each(|round| campaign.round(round));
        println!("{}", campaign.check());
    }
}
