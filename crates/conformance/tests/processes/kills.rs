//! Plug-ins killed at random while several threads write: a ledger of what was acknowledged is found whole.

use std::collections::BTreeSet;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use loci_conformance::TempFolder;
use loci_core::{
    ApplyRequest, Backend as _, Collection, CollectionName, CreateMode, DrawerId, ErrorKind, GetRequest,
    IdempotencyKey, NewDrawer, OpenOptions, PalaceRef, SourceRevision, Write,
};
use loci_plugin::{PluginBackend, PluginOptions};
use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};

use crate::hub::ReferenceHub;

/// What a thread was told.
#[derive(Debug, Default)]
struct WriteLedger {
    acknowledged: BTreeSet<String>,
    refused: BTreeSet<String>,
}

/// Writes one drawer in the way that its number decides, and notes the answer.
fn write_one(collection: &dyn Collection, thread: usize, number: u64, ledger: &mut WriteLedger) {
    let id = format!("{thread}-{number}");
    let add = Write::Add(NewDrawer::new(DrawerId::new(id.as_str()).unwrap(), "text"));
    let key = IdempotencyKey::new(id.as_str()).unwrap();
    let done = match number % 3 {
        0 => collection
            .apply(&ApplyRequest::from_writes(&[add]))
            .map(|receipt| receipt.added.len()),
        1 => {
            let keyed = collection.apply(&ApplyRequest::from_writes(&[add]).under_key(&key));
            // Even if the first attempt was applied and its answer lost, the receipt is the first one.
            keyed.map(|receipt| receipt.added.len())
        }
        _ => {
            let revision = SourceRevision {
                source: id.clone(),
                expects: None,
                stamp: Some("s".into()),
                parts: Box::new([vec![add]].into_iter()),
            };
            let revised = collection.sources().unwrap().revise(vec![revision]);
            revised.map(|outcomes| outcomes.len())
        }
    };
    match done {
        Ok(added) => {
            assert_eq!(added, 1, "{id} was added by this write and no other");
            ledger.acknowledged.insert(id);
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unavailable, "{id}: {error}");
            assert!(error.message().contains("\"reference\""), "{error}");
            ledger.refused.insert(id);
        }
    }
}

fn open(backend: &PluginBackend) -> Arc<dyn Collection> {
    let name = CollectionName::new("drawers").unwrap();
    let (mode, options) = (CreateMode::OpenExisting, OpenOptions::for_writing());
    backend
        .create(&PalaceRef::from_id("p"), &name, mode, &options)
        .unwrap()
}

/// Kills the plug-in's process, if it runs, as an operating system short of memory does.
fn kill(backend: &PluginBackend) -> bool {
    let Some(process) = backend.process_id() else {
        return false;
    };
    let killed = Command::new("kill").arg("-9").arg(process.to_string()).status();
    killed.unwrap().success()
}

#[test]
fn every_acknowledged_write_is_there_after_kills_at_random() {
    let folder = TempFolder::new().unwrap();
    let (hub, backend) = ReferenceHub::start(folder.path(), &[]).unwrap();
    let collection = open(&backend);
    let rounds = campaign_rounds(20);
    let mut random = SeededRandom::new(campaign_seed());
    let (stop, writes) = (AtomicBool::new(false), AtomicU64::new(0));
    let ledgers: Vec<WriteLedger> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..3)
            .map(|thread| {
                let (collection, stop, writes) = (&collection, &stop, &writes);
                scope.spawn(move || {
                    let mut ledger = WriteLedger::default();
                    for number in 0.. {
                        if stop.load(Ordering::SeqCst) {
                            break;
                        }
                        write_one(collection.as_ref(), thread, number, &mut ledger);
                        writes.fetch_add(1, Ordering::SeqCst);
                    }
                    ledger
                })
            })
            .collect();
        let mut kills = 0;
        while kills < rounds {
            let until = writes.load(Ordering::SeqCst) + random.below(40) as u64;
            while writes.load(Ordering::SeqCst) < until && writers.iter().any(|writer| !writer.is_finished())
            {
                std::thread::yield_now();
            }
            kills += u64::from(kill(&backend));
            assert!(
                writers.iter().all(|writer| !writer.is_finished()),
                "a writer panicked"
            );
        }
        stop.store(true, Ordering::SeqCst);
        writers.into_iter().map(|writer| writer.join().unwrap()).collect()
    });
    let after = open(&hub.join(PluginOptions::default()).unwrap());
    let found = after.get(&GetRequest::default()).unwrap();
    let found: BTreeSet<String> = found.into_iter().map(|drawer| drawer.id.into()).collect();
    let mut told = BTreeSet::new();
    for ledger in ledgers {
        assert!(ledger.acknowledged.is_subset(&found), "acknowledged and lost");
        told.extend(ledger.acknowledged);
        told.extend(ledger.refused);
    }
    assert!(found.is_subset(&told), "nothing is there that was never written");
    assert!(told.len() as u64 > rounds, "{} writes", told.len());
}
