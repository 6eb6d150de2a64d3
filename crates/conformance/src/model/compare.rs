//! One step on both backends, and whether their answers agree.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use loci_core::{
    ApplyRequest, Capability, Collection, CollectionExt, Drawer, DrawerCondition, DrawerId, EmbedderIdentity,
    ErrorKind, Filling, Get, Hit, IdempotencyKey, IdentityState, Include, Lexical, MaintenanceKind, Pending,
    Query, Receipt, Result, Unembedded, Write,
};

use super::steps::Step;
use crate::follower::Follower;
use crate::turning::{filling, switch_to};
use crate::{Failure, Outcome, Scene};

/// The backend under test and the reference, with the same history behind them.
pub(super) struct Pair {
    subject: Arc<dyn Collection>,
    reference: Arc<dyn Collection>,
    keeps_context: bool,
    exact_counts: bool,
    everything: Include,
    maintenance: Vec<MaintenanceKind>,
    follower: Option<Follower>,
    /// Whether both hold more than one space.
    spaces: bool,
    /// Whether the handles see only some of the drawers.
    restricted: bool,
    seq: u64,
}

impl Pair {
    pub(super) fn new(
        subject: Arc<dyn Collection>,
        reference: Arc<dyn Collection>,
        scene: &Scene<'_>,
        keeps_context: bool,
    ) -> Self {
        Self {
            subject,
            reference,
            keeps_context,
            exact_counts: !scene.can(Capability::EstimatedCount),
            everything: scene.everything(),
            maintenance: scene.descriptor().maintenance.clone(),
            follower: scene.can(Capability::ChangeFeed).then(Follower::default),
            spaces: super::switches(scene),
            restricted: false,
            seq: 0,
        }
    }

    /// The same pair through restricted handles, which know nothing of spaces and changes.
    pub(super) fn restricted(&self, subject: Arc<dyn Collection>, reference: Arc<dyn Collection>) -> Self {
        Self {
            subject,
            reference,
            maintenance: Vec::new(),
            follower: None,
            spaces: false,
            restricted: true,
            seq: 0,
            ..*self
        }
    }

    /// Goes on with other handles.
    pub(super) fn continue_with(
        &mut self,
        subject: Arc<dyn Collection>,
        reference: Arc<dyn Collection>,
    ) -> Outcome {
        (self.subject, self.reference) = (subject, reference);
        self.contents()
    }

    /// The model that answers now, if one was named.
    pub(super) fn model(&self) -> Outcome<Option<EmbedderIdentity>> {
        Ok(match self.reference.info()?.identity {
            IdentityState::Known(model) => Some(model),
            IdentityState::Unset | IdentityState::Unknown => None,
        })
    }

    pub(super) fn play(&mut self, step: &Step) -> Outcome {
        match step {
            Step::Apply(batch) => self.apply(batch),
            Step::Get(request) => self.get(request),
            Step::Query(request) => self.query(request),
            Step::Lexical(request) => self.lexical(request),
            Step::Count(condition) => self.count(condition),
            Step::Facets(request) => {
                let (found, expected) = (self.subject.facets(request), self.reference.facets(request));
                agree(found, expected).map(drop)
            }
            Step::Maintain(at) => {
                if let Some(kind) = self.maintenance.get(at % self.maintenance.len().max(1)) {
                    self.subject.require_upkeep()?.run(kind)?;
                }
                self.contents()
            }
            Step::Keyed(key, batch) => self.apply_twice(*key, batch),
            Step::Reopen | Step::Seeing(..) => self.contents(),
            Step::Switch(step) => {
                agree(
                    self.subject.require_spaces()?.take_step(step),
                    self.reference.require_spaces()?.take_step(step),
                )?;
                self.contents()
            }
            Step::Fill(model, every) => self.fill(model, *every),
            Step::SwitchTo(model) => {
                let [found, expected] = [&self.subject, &self.reference].map(|one| switch_to(&**one, model));
                agree(found, expected)?;
                self.contents()
            }
        }
    }

    fn apply(&mut self, batch: &[Write]) -> Outcome {
        let found = self.subject.apply_batch(batch);
        if let Ok(receipt) = &found {
            ensure!(
                receipt.seq >= self.seq,
                "expected a number from {} on, found {}",
                self.seq,
                receipt.seq
            );
            self.seq = receipt.seq;
        }
        let expected = self.reference.apply_batch(batch);
        if self.restricted {
            agree_on_refusal(found, expected)?;
        } else {
            agree(found.map(in_order), expected.map(in_order))?;
        }
        self.contents()
    }

    /// Applies a batch under a key, and once more, which changes nothing.
    fn apply_twice(&mut self, key: u8, batch: &[Write]) -> Outcome {
        let key = IdempotencyKey::new(format!("key {key}"))?;
        let request = ApplyRequest::batch(batch).under_key(&key);
        let first = self.subject.apply(&request);
        let again = self.subject.apply(&request);
        if let Ok(first) = &first {
            same!(again?, *first, "the receipt of a repetition");
        }
        agree_on_refusal(first, self.reference.apply(&request))?;
        self.contents()
    }

    /// Compares everything both hold.
    fn contents(&mut self) -> Outcome {
        self.get(&Get {
            include: self.everything,
            ..Get::default()
        })?;
        self.count(&DrawerCondition::default())?;
        let (found, expected) = (self.subject.info()?, self.reference.info()?);
        if self.exact_counts {
            same!(found.drawers, expected.drawers, "drawers by info");
            same!(
                found.coverage.nearest,
                expected.coverage.nearest,
                "drawers with a vector"
            );
        }
        if self.spaces {
            same!(
                self.subject.require_spaces()?.list_spaces()?,
                self.reference.require_spaces()?.list_spaces()?,
                "the spaces"
            );
        }
        if let Some(follower) = &mut self.follower {
            follower.follow(self.subject.as_ref())?;
            let mut afresh = Follower::default();
            afresh.follow(self.subject.as_ref())?;
            let ids: BTreeSet<String> = crate::samples::all_ids(self.reference.as_ref())?
                .into_iter()
                .collect();
            same!(follower.ids, ids, "ids of one who followed the feed");
            same!(afresh.ids, ids, "ids of one who read the feed from its beginning");
        }
        Ok(())
    }

    /// Makes vectors for some of the drawers that lack one; each backend has versions of its own.
    fn fill(&mut self, of: &EmbedderIdentity, every: usize) -> Outcome {
        let request = Pending {
            identity: of.clone(),
            after: 0,
            limit: usize::MAX,
        };
        let by_id = |mut drawers: Vec<Unembedded>| {
            drawers.sort_by(|a, b| a.id.cmp(&b.id));
            drawers
        };
        let found = self.subject.require_spaces()?.list_pending(&request).map(by_id);
        let expected = self.reference.require_spaces()?.list_pending(&request).map(by_id);
        let (found, expected) = match (found, expected) {
            (Ok(found), Ok(expected)) => (found, expected),
            (found, expected) => return agree(found, expected).map(drop),
        };
        let told = |drawers: &[Unembedded]| -> Vec<(DrawerId, String)> {
            let drawers = drawers.iter();
            drawers.map(|one| (one.id.clone(), one.text.clone())).collect()
        };
        same!(told(&found).len(), told(&expected).len(), "pending drawers");
        if self.keeps_context {
            same!(told(&found), told(&expected), "pending drawers");
        }
        let some =
            |drawers: &[Unembedded]| -> Vec<Filling> { drawers.iter().step_by(every).map(filling).collect() };
        agree(
            self.subject.require_spaces()?.fill_vectors(of, &some(&found)),
            self.reference
                .require_spaces()?
                .fill_vectors(of, &some(&expected)),
        )?;
        self.contents()
    }

    fn get(&self, request: &Get) -> Outcome {
        let expected = self.reference.get(request).map(|drawers| self.kept(drawers));
        let Some(found) = agree(self.subject.get(request), expected)? else {
            return Ok(());
        };
        // Equality lets a zero pass for a negative zero; the bits must be those that were given.
        let bits = |drawers: &[Drawer]| -> Vec<Option<Vec<u32>>> {
            let vectors = drawers.iter().map(|drawer| drawer.embedding.as_ref());
            vectors
                .map(|vector| vector.map(|vector| vector.iter().map(|value| value.to_bits()).collect()))
                .collect()
        };
        same!(
            bits(&found),
            bits(&self.reference.get(request)?),
            "the bits of the vectors"
        );
        Ok(())
    }

    /// What the backend under test can keep of these drawers.
    fn kept(&self, mut drawers: Vec<Drawer>) -> Vec<Drawer> {
        if !self.keeps_context {
            drawers.iter_mut().for_each(|drawer| drawer.context = None);
        }
        drawers
    }

    fn count(&self, condition: &DrawerCondition) -> Outcome {
        let (found, expected) = (self.subject.count(condition), self.reference.count(condition));
        match self.exact_counts {
            true => agree(found, expected).map(drop),
            false => agree(found.map(drop), expected.map(drop)).map(drop),
        }
    }

    fn query(&self, request: &Query) -> Outcome {
        let complete = Query {
            k: usize::MAX,
            ..request.clone()
        };
        let (found, expected) = match (self.subject.query(request), self.reference.query(&complete)) {
            (Ok(found), Ok(expected)) => (found, expected),
            (found, expected) => return agree(found, expected).map(drop),
        };
        same!(found.len(), expected.len(), "lists");
        for (found, expected) in found.iter().zip(&expected) {
            nearest(found, expected, request.k)?;
        }
        Ok(())
    }

    fn lexical(&self, request: &Lexical) -> Outcome {
        if !self.keeps_context {
            // The reference indexes context and would find more.
            return Ok(());
        }
        let ids = |hits: Vec<Hit>| {
            hits.into_iter()
                .map(|hit| hit.drawer.id)
                .collect::<BTreeSet<DrawerId>>()
        };
        let found = self.subject.lexical(request);
        if let Ok(hits) = &found {
            ensure!(
                hits.is_sorted_by(|a, b| a.score >= b.score),
                "expected descending scores, found {hits:?}"
            );
            let distinct = hits
                .iter()
                .map(|hit| &hit.drawer.id)
                .collect::<BTreeSet<_>>()
                .len();
            same!(distinct, hits.len(), "different drawers among the hits");
        }
        agree(found.map(ids), self.reference.lexical(request).map(ids)).map(drop)
    }
}

/// As [`agree`], on a batch that may be refused for what it says and for its key or a drawer out of sight: of several
/// reasons, a backend may meet another first.
fn agree_on_refusal(found: Result<Receipt>, expected: Result<Receipt>) -> Outcome {
    match (found, expected) {
        (Err(found), Err(expected)) => {
            use ErrorKind::{Conflict, DimensionMismatch, Invalid};
            let kinds = [Invalid, DimensionMismatch, Conflict, expected.kind()];
            ensure!(
                kinds.contains(&found.kind()),
                "expected to be refused as {}, found {}: {found}",
                expected.kind(),
                found.kind()
            );
            Ok(())
        }
        (found, expected) => agree(found.map(in_order), expected.map(in_order)).map(drop),
    }
}

/// Shows that both answers are equal, or refused alike; the answer, if there is one.
pub(super) fn agree<T: PartialEq + Debug>(found: Result<T>, expected: Result<T>) -> Outcome<Option<T>> {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            same!(found, expected, "the answer");
            Ok(Some(found))
        }
        (Err(found), Err(expected)) => {
            same!(found.kind(), expected.kind(), "the kind of the refusal ({found})");
            Ok(None)
        }
        (Ok(found), Err(expected)) => Err(Failure::new(format!(
            "expected to be refused as {}: {expected}; found {found:?}",
            expected.kind()
        ))),
        (Err(found), Ok(expected)) => Err(Failure::new(format!(
            "expected {expected:?}, found refused as {}: {found}",
            found.kind()
        ))),
    }
}

/// A receipt whose lists are in byte order and whose sequence number, which is each backend's own, is left out.
fn in_order(mut receipt: Receipt) -> Receipt {
    for list in [
        &mut receipt.added,
        &mut receipt.kept,
        &mut receipt.replaced,
        &mut receipt.updated,
        &mut receipt.deleted,
        &mut receipt.missing,
        &mut receipt.without_vector,
    ] {
        list.sort();
    }
    receipt.twins.sort_by(|a, b| a.given.cmp(&b.given));
    receipt.seq = 0;
    receipt
}

/// Shows that `found` is the nearest `k` of the complete list `expected`, up to ties.
fn nearest(found: &[Hit], expected: &[Hit], k: usize) -> Outcome {
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
    same!(found.len(), expected.len().min(k), "hits");
    let mut seen = BTreeSet::new();
    for (at, hit) in found.iter().enumerate() {
        let id = &hit.drawer.id;
        ensure!(seen.insert(id), "expected each drawer once, found {id:?} twice");
        ensure!(
            near(hit.score, expected[at].score),
            "hit {at}: expected a distance of {} ({:?}), found {} ({id:?})",
            expected[at].score,
            expected[at].drawer.id,
            hit.score
        );
        let Some(own) = expected.iter().find(|hit| hit.drawer.id == *id) else {
            return Err(Failure::new(format!(
                "hit {at}: {id:?} is not among the drawers that were asked for"
            )));
        };
        ensure!(
            near(hit.score, own.score),
            "hit {at}: expected {id:?} at a distance of {}, found {}",
            own.score,
            hit.score
        );
        same!(hit.drawer, own.drawer, "the drawer of hit {at}");
    }
    Ok(())
}
