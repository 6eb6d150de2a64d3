//! Random histories, answered by the backend under test and by the reference, step by step.

mod compare;
mod steps;
mod values;

use std::sync::Arc;
use std::time::SystemTime;

use loci_core::{Backend, Capability, Collection, IdentityChange, OpenOptions, PalaceRef};
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

use crate::samples::plain;
use crate::scene::{drawers, make};
use crate::{Failure, Harness, Outcome, Reference, Scene};
use compare::{Pair, agree};
use steps::{Step, histories};

cases! { "model":
    "random histories answer like the reference" [-ReadOnly] => random_histories;
}

/// How many histories are tried, unless `LOCI_MODEL_CASES` says otherwise.
const HISTORIES: u64 = 64;

fn random_histories(scene: &Scene<'_>) -> Outcome {
    let seed = setting("LOCI_MODEL_SEED")?.unwrap_or_else(seed_of_the_moment);
    let config = Config {
        cases: u32::try_from(setting("LOCI_MODEL_CASES")?.unwrap_or(HISTORIES)).unwrap_or(u32::MAX),
        failure_persistence: None,
        max_shrink_iters: 400,
        max_shrink_time: 30_000,
        ..Config::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let mut runner = TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes));
    let harness = scene.harness();
    let tried = runner.run(&histories(scene.descriptor()), |history| {
        play(harness, &history).map_err(|failure| match failure {
            Failure::Broken(words) | Failure::NotApplicable(words) => TestCaseError::fail(words),
        })
    });
    tried.map_err(|error| match error {
        TestError::Fail(reason, history) => Failure::new(format!(
            "{reason}\nin the history {history:#?}\nplay it again with LOCI_MODEL_SEED={seed}"
        )),
        TestError::Abort(reason) => Failure::new(format!("gave up: {reason} (LOCI_MODEL_SEED={seed})")),
    })
}

/// A whole number from the environment; this crate is only ever a test, so it may ask.
fn setting(name: &str) -> Outcome<Option<u64>> {
    match std::env::var(name) {
        Err(_) => Ok(None),
        Ok(text) => match text.parse() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(Failure::new(format!("{name} is {text:?}, not a whole number"))),
        },
    }
}

fn seed_of_the_moment() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.map_or(0, |since| since.as_nanos() as u64)
}

/// Plays one history on a fresh world and on a fresh reference, and compares after each step.
fn play(harness: &dyn Harness, history: &[Step]) -> Outcome {
    let scene = Scene::new(harness)?;
    let how = OpenOptions {
        dimension: scene
            .can(Capability::EmbeddingsPassthrough)
            .then_some(Scene::DIMENSION),
        ..scene.how()
    };
    let reference = Reference::like(scene.descriptor());
    let beside = PalaceRef::named("model");
    let subject = scene.make(&drawers(), &how)?;
    let model = make(&reference, &beside, &drawers(), &how)?;
    if switches(&scene) {
        for one in [&subject, &model] {
            one.set_identity(&scene.model(), IdentityChange::Confirm)?;
        }
    }
    let mut pair = Pair::new(subject, model, &scene, keeps_context(&scene)?);
    for (at, step) in history.iter().enumerate() {
        let open = |backend: &dyn Backend, how: &OpenOptions| {
            let subject = backend.open(&scene.palace(), &drawers(), how);
            (subject, reference.open(&beside, &drawers(), how))
        };
        play_one(&mut pair, &scene, step, open).map_err(|failure| match failure {
            Failure::Broken(words) => Failure::new(format!("step {at}: {words}")),
            other => other,
        })?;
    }
    Ok(())
}

/// A handle of the backend under test and one of the reference, opened alike.
type Opened = (
    loci_core::Result<Arc<dyn Collection>>,
    loci_core::Result<Arc<dyn Collection>>,
);

/// Plays one step; those that need other handles open them.
fn play_one(
    pair: &mut Pair,
    scene: &Scene<'_>,
    step: &Step,
    open: impl Fn(&dyn Backend, &OpenOptions) -> Opened,
) -> Outcome {
    match step {
        Step::Reopen => {
            let (subject, reference) = open(scene.another()?.as_ref(), &declaring(pair, scene)?);
            pair.continue_with(subject?, reference?)
        }
        Step::Switch(_) | Step::SwitchTo(_) => {
            pair.play(step)?;
            // Whoever goes on after a change of model declares the one that answers.
            let (subject, reference) = open(scene.backend().as_ref(), &declaring(pair, scene)?);
            pair.continue_with(subject?, reference?)
        }
        Step::Seeing(visible, step) => {
            let how = OpenOptions {
                visible: visible.clone(),
                ..declaring(pair, scene)?
            };
            match open(scene.backend().as_ref(), &how) {
                (Ok(subject), Ok(reference)) => {
                    pair.restricted(subject, reference).play(step)?;
                    pair.play(&Step::Reopen)
                }
                (subject, reference) => agree(subject.map(drop), reference.map(drop)).map(drop),
            }
        }
        other => pair.play(other),
    }
}

/// Whether histories change the model on the way.
fn switches(scene: &Scene<'_>) -> bool {
    scene.can(Capability::EmbeddingsPassthrough) && scene.can(Capability::Spaces)
}

/// Opens what is there with the model that answers now.
fn declaring(pair: &Pair, scene: &Scene<'_>) -> Outcome<OpenOptions> {
    let embedder = match switches(scene) {
        true => pair.model()?,
        false => scene.how().embedder,
    };
    Ok(OpenOptions {
        embedder,
        ..OpenOptions::writable()
    })
}

/// Whether the backend has room for context: one without it indexes the document.
fn keeps_context(scene: &Scene<'_>) -> Outcome<bool> {
    let mut probe = plain("probe", "text");
    probe.context = Some(loci_core::Context {
        before: "before".into(),
        after: String::new(),
    });
    let collection = scene.fill_in(&scene.palace(), "probe", [probe])?;
    let found = crate::samples::one(collection.as_ref(), "probe", scene.everything())?;
    Ok(found.context.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReferenceHarness;
    use loci_core::{CollectionExt, IdentityState, Receipt};
    use proptest::strategy::{Strategy, ValueTree};

    /// What the histories brought about, summed up.
    #[derive(Debug, Default)]
    struct Reached {
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

    impl Reached {
        fn count(&mut self, collection: &dyn Collection, step: &Step) {
            match step {
                Step::Apply(batch) => {
                    self.batches += 1;
                    match collection.apply_batch(batch) {
                        Ok(receipt) => self.receipt(receipt),
                        Err(_) => self.refused += 1,
                    }
                }
                Step::Query(query) => self.hits += collection.query(query).unwrap().concat().len(),
                Step::Lexical(lexical) => self.words += collection.lexical(lexical).unwrap().len(),
                Step::Keyed(_, batch) => self.keyed += usize::from(collection.apply_batch(batch).is_ok()),
                Step::Get(get) => self.pages += collection.get(get).map_or(0, |found| found.len()),
                Step::Switch(step) => {
                    let spaces = collection.require_spaces().unwrap();
                    self.switched += usize::from(spaces.take_step(step).is_ok());
                }
                Step::SwitchTo(model) => {
                    self.switched += usize::from(crate::turning::switch_to(collection, model).is_ok());
                }
                _ => {}
            }
        }

        fn count_restricted(&mut self, restricted: &dyn Collection, step: &Step) {
            match step {
                Step::Apply(batch) => match restricted.apply_batch(batch) {
                    Ok(_) => self.seen += 1,
                    Err(_) => self.refused_out_of_sight += 1,
                },
                Step::Get(get) => self.seen += restricted.get(get).map_or(0, |found| found.len()),
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
        let mut reached = Reached::default();
        for _ in 0..160 {
            let scene = Scene::new(&harness).unwrap();
            let history = histories(scene.descriptor()).new_tree(&mut runner).unwrap();
            let mut collection = scene.open().unwrap();
            for step in history.current() {
                let embedder = match collection.info().unwrap().identity {
                    IdentityState::Known(model) => Some(model),
                    _ => Some(scene.model()),
                };
                let how = OpenOptions {
                    embedder,
                    ..OpenOptions::writable()
                };
                let open = |how: &OpenOptions| scene.backend().open(&scene.palace(), &drawers(), how);
                collection = open(&how).unwrap();
                if let Step::Seeing(visible, step) = step {
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
