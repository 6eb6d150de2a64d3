//! Random histories, played step by step on the backend under test and on the reference.

mod compare;
mod steps;
mod values;

use std::sync::Arc;
use std::time::SystemTime;

use loci_core::{Backend, Capability, Collection, IdentityChange, OpenOptions, PalaceRef};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::samples::text_drawer;
use crate::scene::{default_collection, make_collection};
use crate::{BackendHarness, CaseFailure, CaseOutcome, CaseScene, Reference};
use compare::{BackendPair, expect_agreement};
use steps::{HistoryStep, random_histories};

cases! { "model":
    // The reference makes no vectors, so a backend that does would differ in every history.
    "random histories answer like the reference" [-ReadOnly -ServerEmbedder] => check_random_histories;
}

/// The number of histories tried, unless `LOCI_MODEL_CASES` is set.
const HISTORIES: u64 = 64;

fn check_random_histories(scene: &CaseScene<'_>) -> CaseOutcome {
    // A new seed for each run finds new histories over time; the failure message names it.
    let chosen = scene
        .harness()
        .seed()
        .map_or_else(|| read_setting("LOCI_MODEL_SEED"), |seed| Ok(Some(seed)));
    let seed = chosen?.unwrap_or_else(seed_of_the_moment);
    let config = Config {
        cases: u32::try_from(read_setting("LOCI_MODEL_CASES")?.unwrap_or(HISTORIES)).unwrap_or(u32::MAX),
        // No regression files: the seed in the message reproduces a failure, and the source tree stays
        // clean.
        failure_persistence: None,
        // Each attempt replays a history on a fresh world, which is slow on a real disk.
        max_shrink_iters: 400,
        max_shrink_time: 30_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let harness = scene.harness();
    let tried = runner.run(&random_histories(scene.descriptor()), |history| {
        play_history(harness, &history).map_err(|failure| match failure {
            CaseFailure::Broken(words) | CaseFailure::NotApplicable(words) => TestCaseError::fail(words),
        })
    });
    tried.map_err(|error| match error {
        TestError::Fail(reason, history) => CaseFailure::new(format!(
            "{reason}\nin the history {history:#?}\nplay it again with the seed {seed} (--seed, or LOCI_MODEL_SEED)"
        )),
        TestError::Abort(reason) => CaseFailure::new(format!("gave up: {reason} (LOCI_MODEL_SEED={seed})")),
    })
}

/// Reads a whole number from the environment; libraries may not, but this crate only ever tests.
fn read_setting(name: &str) -> CaseOutcome<Option<u64>> {
    match std::env::var(name) {
        Err(_) => Ok(None),
        Ok(text) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(CaseFailure::new(format!(
                "{name} is {text:?}, not a whole number"
            ))),
        },
    }
}

fn seed_of_the_moment() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Plays one history on a fresh world and on a fresh reference, and compares after each step.
fn play_history(harness: &dyn BackendHarness, history: &[HistoryStep]) -> CaseOutcome {
    let scene = CaseScene::new(harness)?;
    let how = OpenOptions {
        // Fixed from the start, so that a vector of the wrong length is refused by both, even in the first
        // batch with vectors.
        dimension: scene
            .can(Capability::EmbeddingsPassthrough)
            .then_some(CaseScene::DIMENSION),
        ..scene.usual_options()
    };
    let reference = Reference::described_like(scene.descriptor());
    let beside = PalaceRef::from_id("model");
    let subject = scene.make_collection(&default_collection(), &how)?;
    let model = make_collection(&reference, &beside, &default_collection(), &how)?;
    // Recorded up front, so that histories begin with a known model and switches have something to leave.
    if switches_models(&scene) {
        for one in [&subject, &model] {
            one.set_identity(&scene.model(), IdentityChange::Confirm)?;
        }
    }
    let mut pair = BackendPair::new(subject, model, &scene, keeps_context(&scene)?);
    for (at, step) in history.iter().enumerate() {
        let open = |backend: &dyn Backend, how: &OpenOptions| {
            let subject = backend.open(&scene.palace(), &default_collection(), how);
            (subject, reference.open(&beside, &default_collection(), how))
        };
        play_with_handles(&mut pair, &scene, step, open).map_err(|failure| match failure {
            CaseFailure::Broken(words) => CaseFailure::new(format!("step {at}: {words}")),
            other => other,
        })?;
    }
    Ok(())
}

/// A handle of the backend under test and one of the reference, opened with the same options.
type OpenedHandles = (
    loci_core::Result<Arc<dyn Collection>>,
    loci_core::Result<Arc<dyn Collection>>,
);

/// Plays one step, and opens other handles for the steps that need them.
fn play_with_handles(
    pair: &mut BackendPair,
    scene: &CaseScene<'_>,
    step: &HistoryStep,
    open: impl Fn(&dyn Backend, &OpenOptions) -> OpenedHandles,
) -> CaseOutcome {
    match step {
        HistoryStep::Reopen => {
            let (subject, reference) = open(
                scene.another_backend()?.as_ref(),
                &declaring_options(pair, scene)?,
            );
            pair.continue_with(subject?, reference?)
        }
        HistoryStep::Switch(_) | HistoryStep::SwitchTo(_) => {
            pair.play_step(step)?;
            // A handle that declares the previous model would be refused by every later write of vectors.
            let (subject, reference) = open(scene.backend().as_ref(), &declaring_options(pair, scene)?);
            pair.continue_with(subject?, reference?)
        }
        HistoryStep::Seeing(visible, step) => {
            let how = OpenOptions {
                visible: visible.clone(),
                ..declaring_options(pair, scene)?
            };
            match open(scene.backend().as_ref(), &how) {
                (Ok(subject), Ok(reference)) => {
                    // Then everything is compared through the unrestricted handles, which show what a
                    // restricted write did out of sight.
                    pair.through_restricted(subject, reference).play_step(step)?;
                    pair.play_step(&HistoryStep::Reopen)
                }
                (subject, reference) => expect_agreement(subject.map(drop), reference.map(drop)).map(drop),
            }
        }
        other => pair.play_step(other),
    }
}

/// Returns whether histories include model switches.
fn switches_models(scene: &CaseScene<'_>) -> bool {
    scene.can(Capability::EmbeddingsPassthrough) && scene.can(Capability::Spaces)
}

/// Returns options that declare the active model.
fn declaring_options(pair: &BackendPair, scene: &CaseScene<'_>) -> CaseOutcome<OpenOptions> {
    let embedder = if switches_models(scene) {
        pair.model()?
    } else {
        scene.usual_options().embedder
    };
    Ok(OpenOptions {
        embedder,
        ..OpenOptions::for_writing()
    })
}

/// Returns whether the backend stores context; one that does not indexes the document alone.
fn keeps_context(scene: &CaseScene<'_>) -> CaseOutcome<bool> {
    let mut probe = text_drawer("probe", "text");
    probe.context = Some(loci_core::DrawerContext {
        before: "before".into(),
        after: String::new(),
    });
    // In a collection of its own, so that the probe does not appear in the history.
    let collection = scene.fill_in(&scene.palace(), "probe", [probe])?;
    let found = crate::samples::read_fields(collection.as_ref(), "probe", scene.every_field())?;
    Ok(found.context.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReferenceHarness;
    use loci_core::{CollectionExt, IdentityState, Receipt};
    use proptest::strategy::{Strategy, ValueTree};

    /// Counts of the events that the histories caused.
    #[derive(Debug, Default)]
    struct HistoryTally {
        batches: usize,
        refused: usize,
        receipts: Receipt,
        hits: usize,
        words: usize,
        pages: usize,
        switched: usize,
        keyed: usize,
        seen: usize,
        refused_out_of_sight: usize,
    }

    impl HistoryTally {
        fn count(&mut self, collection: &dyn Collection, step: &HistoryStep) {
            match step {
                HistoryStep::Apply(batch) => {
                    self.batches += 1;
                    match collection.apply_batch(batch) {
                        Ok(receipt) => self.receipt(receipt),
                        Err(_) => self.refused += 1,
                    }
                }
                HistoryStep::Query(query) => self.hits += collection.query(query).unwrap().concat().len(),
                HistoryStep::Lexical(lexical) => self.words += collection.lexical(lexical).unwrap().len(),
                HistoryStep::Keyed(_, batch) => {
                    self.keyed += usize::from(collection.apply_batch(batch).is_ok())
                }
                HistoryStep::Get(get) => self.pages += collection.get(get).map_or(0, |found| found.len()),
                HistoryStep::Switch(step) => {
                    let spaces = collection.require_spaces().unwrap();
                    self.switched += usize::from(spaces.take_step(step).is_ok());
                }
                HistoryStep::SwitchTo(model) => {
                    self.switched += usize::from(crate::switching::switch_to(collection, model).is_ok());
                }
                _ => {}
            }
        }

        fn count_restricted(&mut self, restricted: &dyn Collection, step: &HistoryStep) {
            match step {
                HistoryStep::Apply(batch) => match restricted.apply_batch(batch) {
                    Ok(_) => self.seen += 1,
                    Err(_) => self.refused_out_of_sight += 1,
                },
                HistoryStep::Get(get) => self.seen += restricted.get(get).map_or(0, |found| found.len()),
                _ => {}
            }
        }

        fn receipt(&mut self, receipt: Receipt) {
            self.receipts.kept.extend(receipt.kept);
            self.receipts.replaced.extend(receipt.replaced);
            self.receipts.updated.extend(receipt.updated);
            self.receipts.deleted.extend(receipt.deleted);
            self.receipts.twins.extend(receipt.twins);
            self.receipts.without_vector.extend(receipt.without_vector);
        }
    }

    #[test]
    fn histories_bring_about_what_they_are_for() {
        let harness = ReferenceHarness::new(Reference::new);
        let mut runner = TestRunner::deterministic();
        let mut reached = HistoryTally::default();
        for _ in 0..160 {
            let scene = CaseScene::new(&harness).unwrap();
            let history = random_histories(scene.descriptor())
                .new_tree(&mut runner)
                .unwrap();
            let mut collection = scene.open().unwrap();
            for step in history.current() {
                let embedder = match collection.info().unwrap().identity {
                    IdentityState::Known(model) => Some(model),
                    _ => Some(scene.model()),
                };
                let how = OpenOptions {
                    embedder,
                    ..OpenOptions::for_writing()
                };
                let open =
                    |how: &OpenOptions| scene.backend().open(&scene.palace(), &default_collection(), how);
                collection = open(&how).unwrap();
                if let HistoryStep::Seeing(visible, step) = step {
                    let visible = visible.clone();
                    let restricted = open(&OpenOptions { visible, ..how }).unwrap();
                    reached.count_restricted(restricted.as_ref(), &step);
                } else {
                    reached.count(collection.as_ref(), &step);
                }
            }
        }
        assert!(
            reached.refused * 3 < reached.batches,
            "too many refusals: {reached:?}"
        );
        let lists = &reached.receipts;
        for list in [
            &lists.kept,
            &lists.replaced,
            &lists.updated,
            &lists.deleted,
            &lists.without_vector,
        ] {
            assert!(list.len() >= 15, "too few of one kind: {reached:?}");
        }
        assert!(lists.twins.len() >= 15, "too few twins: {reached:?}");
        assert!(reached.switched >= 40, "too few changes of model: {reached:?}");
        let beside = [reached.keyed, reached.seen, reached.refused_out_of_sight];
        assert!(
            beside.iter().all(|reached| *reached >= 30),
            "too few keys or sights: {reached:?}"
        );
        let found = [reached.hits, reached.words, reached.pages];
        assert!(
            found.iter().all(|found| *found >= 40),
            "too little found: {found:?}"
        );
    }
}
