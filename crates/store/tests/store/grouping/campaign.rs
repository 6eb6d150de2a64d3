//! Twenty threads with different rights write at random: each receipt is right, and the palace holds what they say.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use super::{DIMENSION, GroupingScene, WRITERS, key};
use crate::scene::truth::{self, Truth};
use loci_core::*;
use loci_store::EmbeddedBackend;
use loci_testkit::{SeededRandom, campaign_rounds, campaign_seed};

/// The numbers of drawers that one writer may give.
const NUMBERS: usize = 1000;
/// An id in a wing that no restricted writer sees.
const HIDDEN: usize = 99_999;

/// One thread with a handle of its own, and the drawers that it knows to have filed.
struct CampaignWriter<'s> {
    number: usize,
    collection: Arc<dyn Collection>,
    restricted: bool,
    random: SeededRandom,
    told: Truth,
    next: usize,
    /// The highest sequence number in any receipt so far.
    newest: &'s AtomicU64,
    /// Every sequence number that a receipt named as its last change.
    given: &'s Mutex<Vec<u64>>,
}

impl CampaignWriter<'_> {
    fn wing(&self) -> String {
        format!("wing-{}", self.number % 5)
    }

    fn drawer(&self, n: usize, version: usize) -> NewDrawer {
        let mut drawer = truth::drawer(n, version, DIMENSION);
        drawer.place.wing = Some(self.wing());
        drawer
    }

    fn new_drawer(&mut self) -> NewDrawer {
        self.next += 1;
        self.drawer(self.number * NUMBERS + self.next, 0)
    }

    /// Returns the number of one of its drawers.
    fn pick_own(&mut self) -> Option<usize> {
        let at = self.random.below(self.told.drawers.len());
        let id = self.told.drawers.keys().nth(at)?;
        id.as_str().strip_prefix('d')?.parse().ok()
    }

    /// Applies a batch that must succeed, and compares its receipt with the expected one.
    fn apply(&mut self, request: &ApplyRequest<'_>, expected: Receipt) {
        let before = self.newest.load(Ordering::SeqCst);
        let receipt = self.collection.apply(request).unwrap();
        assert!(receipt.seq > before, "a later write has an earlier number");
        let seq = receipt.seq;
        assert_eq!(receipt, Receipt { seq, ..expected });
        self.newest.fetch_max(seq, Ordering::SeqCst);
        self.given.lock().unwrap().push(seq);
        self.told.apply(request.writes);
    }

    fn step(&mut self) {
        match self.random.below(8) {
            0 => self.refused(),
            1 => self.repeat_under_key(),
            2 => self.delete_one(),
            3 => self.update_one(),
            4 => self.replace_one(),
            _ => self.add_some(),
        }
    }

    fn add_some(&mut self) {
        let drawers: Vec<NewDrawer> = (0..=self.random.below(4)).map(|_| self.new_drawer()).collect();
        let added = drawers.iter().map(|drawer| drawer.id.clone()).collect();
        let writes: Vec<Write> = drawers.into_iter().map(Write::Add).collect();
        let mut request = ApplyRequest::from_writes(&writes);
        // One with a budget is not grouped, and takes its turn among the others.
        if self.random.below(6) == 0 {
            request = request.within_budget(std::time::Duration::from_secs(60));
        }
        let expected = Receipt {
            added,
            ..Receipt::default()
        };
        self.apply(&request, expected);
    }

    fn replace_one(&mut self) {
        let Some(n) = self.pick_own() else { return };
        let version = 1 + self.random.below(9);
        let writes = [Write::Upsert(self.drawer(n, version))];
        let stored = vec![self.told.drawers[&truth::id(n)].clone()];
        let expected = Receipt {
            replaced: vec![truth::id(n)],
            ..Receipt::default()
        };
        self.apply(&ApplyRequest::from_writes(&writes).expecting(&stored), expected);
    }

    fn update_one(&mut self) {
        let Some(n) = self.pick_own() else { return };
        let value = self.random.below(1000) as i64;
        let writes = [Write::Update(DrawerPatch {
            metadata: [("n".to_owned(), Some(value.into()))].into(),
            ..DrawerPatch::new(truth::id(n))
        })];
        let expected = Receipt {
            updated: vec![truth::id(n)],
            ..Receipt::default()
        };
        self.apply(&ApplyRequest::from_writes(&writes), expected);
    }

    fn delete_one(&mut self) {
        let Some(n) = self.pick_own() else { return };
        let writes = [Write::Delete(DeleteSelection::Ids(vec![truth::id(n)]))];
        let expected = Receipt {
            deleted: vec![truth::id(n)],
            ..Receipt::default()
        };
        self.apply(&ApplyRequest::from_writes(&writes), expected);
    }

    fn repeat_under_key(&mut self) {
        let drawer = self.new_drawer();
        let key = key(&format!("key-{}", drawer.id));
        let expected = Receipt {
            added: vec![drawer.id.clone()],
            ..Receipt::default()
        };
        let writes = [Write::Add(drawer)];
        let request = ApplyRequest::from_writes(&writes).under_key(&key);
        self.apply(&request, expected);
        let last = *self.given.lock().unwrap().iter().max().unwrap();
        let again = self.collection.apply(&request).unwrap();
        assert!(again.seq <= last, "it was not applied again");
        let others = [Write::Add(self.new_drawer())];
        let refused = self
            .collection
            .apply(&ApplyRequest::from_writes(&others).under_key(&key));
        assert_eq!(refused.unwrap_err().kind(), ErrorKind::Conflict);
    }

    /// Asks for what must be refused, while others succeed.
    fn refused(&mut self) {
        let mut drawer = self.new_drawer();
        let (kind, expects) = match self.random.below(4) {
            0 => {
                drawer.embedding = Some(truth::vector(1, 1, DIMENSION + 1));
                (ErrorKind::DimensionMismatch, Vec::new())
            }
            1 if self.restricted => {
                drawer.place.wing = Some("elsewhere".to_owned());
                (ErrorKind::Invalid, Vec::new())
            }
            2 if self.restricted => {
                drawer.id = truth::id(HIDDEN);
                (ErrorKind::Conflict, Vec::new())
            }
            _ => {
                let never = Timestamp::from_micros(0).unwrap();
                (ErrorKind::Conflict, vec![drawer.to_filed_drawer(never).unwrap()])
            }
        };
        // The good one before it is not filed either.
        let writes = [Write::Add(self.new_drawer()), Write::Add(drawer)];
        let refused = self
            .collection
            .apply(&ApplyRequest::from_writes(&writes).expecting(&expects));
        assert_eq!(refused.unwrap_err().kind(), kind);
    }
}

/// Every fifth writer sees all drawers, the others one wing each.
fn open_for(scene: &GroupingScene, number: usize) -> (Arc<dyn Collection>, bool) {
    let restricted = !number.is_multiple_of(5);
    let visible = if restricted {
        Filter::text_equals("wing", format!("wing-{}", number % 5).as_str())
    } else {
        Filter::All
    };
    (scene.open_seeing(visible), restricted)
}

/// Shows that the feed names each drawer once, in order, and that every last change of a batch is in it or was followed.
fn assert_feed(collection: &dyn Collection, found: &Truth, mut given: Vec<u64>) {
    let page = collection
        .feed()
        .unwrap()
        .changes_since(Cursor(0), usize::MAX)
        .unwrap();
    assert!(page.changes.is_sorted_by(|one, next| one.seq < next.seq));
    let mut put: Vec<&DrawerId> = page
        .changes
        .iter()
        .filter(|change| change.op == ChangeKind::Put)
        .map(|change| &change.id)
        .collect();
    put.sort_unstable();
    assert_eq!(put, found.drawers.keys().collect::<Vec<_>>());
    given.sort_unstable();
    assert!(
        given.is_sorted_by(|one, next| one < next),
        "a number was given twice"
    );
    let newest = page.changes.iter().map(|change| change.seq).max();
    assert_eq!(
        newest,
        given.last().copied(),
        "the last write of all is in the feed"
    );
}

#[test]
fn twenty_threads_with_different_rights_are_told_what_became_of_each_batch() {
    let (steps, seed) = (campaign_rounds(40), campaign_seed());
    println!("grouping: {steps} steps of {WRITERS} writers, LOCI_SEED={seed}");
    let scene = GroupingScene::new();
    let everything = scene.open();
    let mut hidden = truth::drawer(HIDDEN, 0, DIMENSION);
    hidden.place.wing = Some("hidden".to_owned());
    let mut told = Truth::default();
    told.apply(&[Write::Add(hidden.clone())]);
    everything.add_drawer(hidden).unwrap();
    let (newest, given) = (AtomicU64::new(0), Mutex::new(Vec::new()));
    let run = |number: usize| {
        let (collection, restricted) = open_for(&scene, number);
        let mut writer = CampaignWriter {
            number,
            collection,
            restricted,
            random: SeededRandom::new(seed.wrapping_add(number as u64)),
            told: Truth::default(),
            next: 0,
            newest: &newest,
            given: &given,
        };
        (0..steps).for_each(|_| writer.step());
        writer.told
    };
    std::thread::scope(|scope| {
        let run = &run;
        let start = |number| scope.spawn(move || run(number));
        let running: Vec<_> = (0..WRITERS).map(start).collect();
        for writer in running {
            told.drawers.extend(writer.join().unwrap().drawers);
        }
    });
    let found = Truth::read(&*everything).unwrap();
    assert_eq!(told.difference(&found), None);
    let some = told.drawers.values().step_by(1 + told.drawers.len() / 100);
    assert_eq!(Truth::unfound(&*everything, some), Vec::<String>::new());
    assert_feed(&*everything, &found, given.into_inner().unwrap());
    let examined = EmbeddedBackend::new().examine(&scene.path()).unwrap();
    assert!(examined.healthy, "{:?}", examined.findings);
}
