//! Runs one step on both backends and compares their answers.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::sync::Arc;

use loci_core::write::check_batch;
use loci_core::{
    ApplyRequest, Capability, Collection, CollectionExt, Drawer, DrawerCondition, DrawerFields, DrawerHit,
    DrawerId, EmbedderIdentity, ErrorKind, GetRequest, IdempotencyKey, IdentityState, LexicalRequest,
    MaintenanceKind, PendingRequest, QueryRequest, Receipt, Result, UnembeddedDrawer, VectorFill, Write,
};

use super::steps::HistoryStep;
use crate::follower::FeedFollower;
use crate::switching::{make_filling, switch_to};
use crate::{CaseFailure, CaseOutcome, CaseScene};

/// The backend under test and the reference, after the same history.
pub(super) struct BackendPair {
    subject: Arc<dyn Collection>,
    reference: Arc<dyn Collection>,
    keeps_context: bool,
    exact_counts: bool,
    everything: DrawerFields,
    maintenance: Vec<MaintenanceKind>,
    follower: Option<FeedFollower>,
    /// Whether both support several embedding spaces.
    spaces: bool,
    /// Whether the handles see only some of the drawers.
    restricted: bool,
    last_seq: u64,
}

impl BackendPair {
    pub(super) fn new(
        subject: Arc<dyn Collection>,
        reference: Arc<dyn Collection>,
        scene: &CaseScene<'_>,
        keeps_context: bool,
    ) -> Self {
        Self {
            subject,
            reference,
            keeps_context,
            exact_counts: !scene.can(Capability::EstimatedCount),
            everything: scene.every_field(),
            maintenance: scene.descriptor().maintenance.clone(),
            follower: scene.can(Capability::ChangeFeed).then(FeedFollower::default),
            spaces: super::switches_models(scene),
            restricted: false,
            last_seq: 0,
        }
    }

    /// Returns the same pair through restricted handles, which offer neither spaces nor a change feed.
    pub(super) fn through_restricted(
        &self,
        subject: Arc<dyn Collection>,
        reference: Arc<dyn Collection>,
    ) -> Self {
        Self {
            subject,
            reference,
            maintenance: Vec::new(),
            follower: None,
            spaces: false,
            restricted: true,
            last_seq: 0,
            ..*self
        }
    }

    /// Continues with other handles.
    pub(super) fn continue_with(
        &mut self,
        subject: Arc<dyn Collection>,
        reference: Arc<dyn Collection>,
    ) -> CaseOutcome {
        (self.subject, self.reference) = (subject, reference);
        self.compare_contents()
    }

    /// Returns the model of the active space, if one is recorded.
    pub(super) fn model(&self) -> CaseOutcome<Option<EmbedderIdentity>> {
        Ok(match self.reference.info()?.identity {
            IdentityState::Known(model) => Some(model),
            IdentityState::Unset | IdentityState::Unknown => None,
        })
    }

    pub(super) fn play_step(&mut self, step: &HistoryStep) -> CaseOutcome {
        match step {
            HistoryStep::Apply(batch) => self.compare_apply(batch),
            HistoryStep::Get(request) => self.compare_get(request),
            HistoryStep::Query(request) => self.compare_query(request),
            HistoryStep::Lexical(request) => self.compare_lexical(request),
            HistoryStep::Count(condition) => self.compare_count(condition),
            HistoryStep::Facets(request) => {
                let (found, expected) = (self.subject.facets(request), self.reference.facets(request));
                expect_agreement(found, expected).map(drop)
            }
            HistoryStep::Maintain(at) => {
                if let Some(kind) = self.maintenance.get(at % self.maintenance.len().max(1)) {
                    self.subject.require_upkeep()?.run(kind)?;
                }
                self.compare_contents()
            }
            HistoryStep::Keyed(key, batch) => self.apply_twice(*key, batch),
            HistoryStep::Reopen | HistoryStep::Seeing(..) => self.compare_contents(),
            HistoryStep::Switch(step) => {
                expect_agreement(
                    self.subject.require_spaces()?.take_step(step),
                    self.reference.require_spaces()?.take_step(step),
                )?;
                self.compare_contents()
            }
            HistoryStep::Fill(model, every) => self.compare_fill(model, *every),
            HistoryStep::SwitchTo(model) => {
                let [found, expected] = [&self.subject, &self.reference].map(|one| switch_to(&**one, model));
                expect_agreement(found, expected)?;
                self.compare_contents()
            }
        }
    }

    fn compare_apply(&mut self, batch: &[Write]) -> CaseOutcome {
        let found = self.subject.apply_batch(batch);
        if let Ok(receipt) = &found {
            ensure!(
                receipt.seq >= self.last_seq,
                "expected a number from {} on, found {}",
                self.last_seq,
                receipt.seq
            );
            self.last_seq = receipt.seq;
        }
        // Applied to both even if the first was refused; whether both refuse is the question.
        let expected = self.reference.apply_batch(batch);
        // A batch whose content alone is refused may have vectors of a wrong length too, and a restricted write may also be
        // refused for what is out of sight; either check may come first.
        let is_malformed = check_batch(batch, self.reference.info()?.metric, None).is_err();
        if self.restricted || is_malformed {
            agree_on_refusal(found, expected)?;
        } else {
            expect_agreement(found.map(normalise_receipt), expected.map(normalise_receipt))?;
        }
        self.compare_contents()
    }

    /// Applies a batch under a key twice; the repetition must change nothing.
    fn apply_twice(&mut self, key: u8, batch: &[Write]) -> CaseOutcome {
        let key = IdempotencyKey::new(format!("key {key}"))?;
        let request = ApplyRequest::from_writes(batch).under_key(&key);
        let first = self.subject.apply(&request);
        let again = self.subject.apply(&request);
        // A refused batch leaves its key unused, so its repetition is simply refused again.
        if let Ok(first) = &first {
            same!(again?, *first, "the receipt of a repetition");
        }
        // Once on the reference: it is the measure for a single application.
        agree_on_refusal(first, self.reference.apply(&request))?;
        self.compare_contents()
    }

    /// Compares everything both hold.
    fn compare_contents(&mut self) -> CaseOutcome {
        self.compare_get(&GetRequest {
            include: self.everything,
            ..GetRequest::default()
        })?;
        self.compare_count(&DrawerCondition::default())?;
        let (found, expected) = (self.subject.info()?, self.reference.info()?);
        // Estimated counts may differ from the reference without breaking a promise.
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
            follower.follow_feed(self.subject.as_ref())?;
            // One follower that was there all along and one that starts now: the feed drops superseded
            // changes, and both must end up with the same ids.
            let mut afresh = FeedFollower::default();
            afresh.follow_feed(self.subject.as_ref())?;
            let ids: BTreeSet<String> = crate::samples::all_ids(self.reference.as_ref())?
                .into_iter()
                .collect();
            same!(follower.ids, ids, "ids of a follower of the feed");
            same!(
                afresh.ids,
                ids,
                "ids of a follower that read the feed from its beginning"
            );
        }
        Ok(())
    }

    /// Fills vectors for some of the drawers that lack one. Versions are private to each backend.
    fn compare_fill(&mut self, of: &EmbedderIdentity, every: usize) -> CaseOutcome {
        let request = PendingRequest {
            identity: of.clone(),
            after: 0,
            limit: usize::MAX,
        };
        let by_id = |mut drawers: Vec<UnembeddedDrawer>| {
            drawers.sort_by(|a, b| a.id.cmp(&b.id));
            drawers
        };
        let found = self.subject.require_spaces()?.list_pending(&request).map(by_id);
        let expected = self.reference.require_spaces()?.list_pending(&request).map(by_id);
        let (found, expected) = match (found, expected) {
            (Ok(found), Ok(expected)) => (found, expected),
            (found, expected) => return expect_agreement(found, expected).map(drop),
        };
        let told = |drawers: &[UnembeddedDrawer]| -> Vec<(DrawerId, String)> {
            let drawers = drawers.iter();
            drawers.map(|one| (one.id.clone(), one.text.clone())).collect()
        };
        // Texts differ where the backend keeps no context, so only their number can be compared then.
        same!(told(&found).len(), told(&expected).len(), "pending drawers");
        if self.keeps_context {
            same!(told(&found), told(&expected), "pending drawers");
        }
        // Only every n-th one: a partly filled space is the interesting state.
        let some = |drawers: &[UnembeddedDrawer]| -> Vec<VectorFill> {
            drawers.iter().step_by(every).map(make_filling).collect()
        };
        expect_agreement(
            self.subject.require_spaces()?.fill_vectors(of, &some(&found)),
            self.reference
                .require_spaces()?
                .fill_vectors(of, &some(&expected)),
        )?;
        self.compare_contents()
    }

    fn compare_get(&self, request: &GetRequest) -> CaseOutcome {
        let expected = self
            .reference
            .get(request)
            .map(|drawers| self.without_context(drawers));
        let Some(found) = expect_agreement(self.subject.get(request), expected)? else {
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

    /// Returns these drawers as the backend under test can store them.
    fn without_context(&self, mut drawers: Vec<Drawer>) -> Vec<Drawer> {
        if !self.keeps_context {
            drawers.iter_mut().for_each(|drawer| drawer.context = None);
        }
        drawers
    }

    fn compare_count(&self, condition: &DrawerCondition) -> CaseOutcome {
        let (found, expected) = (self.subject.count(condition), self.reference.count(condition));
        if self.exact_counts {
            expect_agreement(found, expected).map(drop)
        } else {
            expect_agreement(found.map(drop), expected.map(drop)).map(drop)
        }
    }

    fn compare_query(&self, request: &QueryRequest) -> CaseOutcome {
        let complete = QueryRequest {
            // The complete ranking of the reference, because hits that tie at the cut may be chosen
            // differently.
            k: usize::MAX,
            ..request.clone()
        };
        let (found, expected) = match (self.subject.query(request), self.reference.query(&complete)) {
            (Ok(found), Ok(expected)) => (found, expected),
            (found, expected) => return expect_agreement(found, expected).map(drop),
        };
        same!(found.len(), expected.len(), "lists");
        for (found, expected) in found.iter().zip(&expected) {
            expect_nearest(found, expected, request.k)?;
        }
        Ok(())
    }

    fn compare_lexical(&self, request: &LexicalRequest) -> CaseOutcome {
        if !self.keeps_context {
            // The reference indexes context and would find more.
            return Ok(());
        }
        let ids = |hits: Vec<DrawerHit>| {
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
        expect_agreement(found.map(ids), self.reference.lexical(request).map(ids)).map(drop)
    }
}

/// Like [`expect_agreement`], for a batch that may be refused for several reasons at once (its content, its key, a drawer out of
/// sight): backends may check them in a different order.
fn agree_on_refusal(found: Result<Receipt>, expected: Result<Receipt>) -> CaseOutcome {
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
        (found, expected) => {
            expect_agreement(found.map(normalise_receipt), expected.map(normalise_receipt)).map(drop)
        }
    }
}

/// Checks that both answers are equal or refused with the same kind; returns the answer, if there is one.
pub(super) fn expect_agreement<T: PartialEq + Debug>(
    found: Result<T>,
    expected: Result<T>,
) -> CaseOutcome<Option<T>> {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            same!(found, expected, "the answer");
            Ok(Some(found))
        }
        (Err(found), Err(expected)) => {
            same!(found.kind(), expected.kind(), "the kind of the refusal ({found})");
            Ok(None)
        }
        (Ok(found), Err(expected)) => Err(CaseFailure::new(format!(
            "expected to be refused as {}: {expected}; found {found:?}",
            expected.kind()
        ))),
        (Err(found), Ok(expected)) => Err(CaseFailure::new(format!(
            "expected {expected:?}, found refused as {}: {found}",
            found.kind()
        ))),
    }
}

/// Returns the receipt with its lists in byte order and without its sequence number, which differs between backends.
fn normalise_receipt(mut receipt: Receipt) -> Receipt {
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

/// Checks that `found` is the nearest `k` of the complete list `expected`, up to ties.
fn expect_nearest(found: &[DrawerHit], expected: &[DrawerHit], k: usize) -> CaseOutcome {
    // Backends compute in single precision and sum in another order.
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-4 * b.abs().max(1.0);
    same!(found.len(), expected.len().min(k), "hits");
    let mut seen = BTreeSet::new();
    for (at, hit) in found.iter().enumerate() {
        let id = &hit.drawer.id;
        ensure!(seen.insert(id), "expected each drawer once, found {id:?} twice");
        // First by rank, then by id: the right distances in the right order, each at the drawer it belongs
        // to.
        ensure!(
            near(hit.score, expected[at].score),
            "hit {at}: expected a distance of {} ({:?}), found {} ({id:?})",
            expected[at].score,
            expected[at].drawer.id,
            hit.score
        );
        let Some(own) = expected.iter().find(|hit| hit.drawer.id == *id) else {
            return Err(CaseFailure::new(format!(
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
