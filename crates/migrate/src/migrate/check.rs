//! Compares the source with what was built, drawer by drawer, before it is put in place.

use loci_core::write::check_vector;
use loci_core::{Capability, Drawer, Error, ErrorKind, IdentityState, Include, OpenOptions, Result};

use super::plan::Plan;
use super::record::{Hashes, Lists, MOST};
use super::stage::Target;
use super::survey::{CollectionSurvey, Survey};
use super::{MigrateRequest, Step, carry, copy};
use crate::canonical::{canonical, canonical_line, differing, same_bits};
use crate::merge::{Merge, Pair};
use loci_engine::Walk;

/// What was found of a palace.
pub(super) struct CheckedPalace {
    pub(super) collections: Vec<Checked>,
    pub(super) hashes: Hashes,
}

/// What was found of one collection.
#[derive(Debug, Clone)]
pub(super) struct Checked {
    pub(super) rows_from: u64,
    pub(super) rows: u64,
    pub(super) with_vector: u64,
    pub(super) embedded: u64,
    pub(super) sources: u64,
    pub(super) dimension: Option<usize>,
    pub(super) identity: IdentityState,
    pub(super) lists: Lists,
    /// What cannot be explained, in words; the first few and how many.
    differences: Vec<String>,
    different: u64,
}

/// How many differences are named.
const NAMED: usize = 5;

/// Walks both sides of every collection.
pub(super) fn palace(
    request: &MigrateRequest<'_>,
    plans: &[Plan],
    survey: &Survey,
    target: &Target,
    watch: &mut dyn FnMut(Step<'_>),
) -> Result<CheckedPalace> {
    let total = plans.iter().map(|plan| plan.info.drawers).sum();
    let mut hashers = [blake3::Hasher::new(), blake3::Hasher::new()];
    let mut done = 0;
    let mut collections = Vec::new();
    for plan in plans {
        let (checked, used) = Checking {
            request,
            plan,
            survey: survey.of_collection(&plan.info.name),
            target,
            hashers,
        }
        .run(&mut || {
            done += 1;
            watch(Step::Checked(done, total));
        })?;
        hashers = used;
        collections.push(checked);
    }
    let [from, to] = hashers.map(|hasher| hasher.finalize().to_hex().to_string());
    Ok(CheckedPalace {
        collections,
        hashes: Hashes { from, to },
    })
}

/// Refuses a copy that differs where nobody wrote to the source meanwhile.
pub(super) fn must_agree(checked: &CheckedPalace, changed: bool, target: &Target) -> Result<()> {
    let different: u64 = checked.collections.iter().map(|one| one.different).sum();
    if different == 0 || changed {
        return Ok(());
    }
    let named = checked.collections.iter().flat_map(|one| &one.differences);
    let named: Vec<&str> = named.take(NAMED).map(String::as_str).collect();
    let message = format!(
        "the copy differs from its source in {different} places: {}",
        named.join("; ")
    );
    Err(Error::new(ErrorKind::Corrupt, message).hint(target.built_at()))
}

struct Checking<'a> {
    request: &'a MigrateRequest<'a>,
    plan: &'a Plan,
    survey: &'a CollectionSurvey,
    target: &'a Target,
    /// Of the source and of the target.
    hashers: [blake3::Hasher; 2],
}

impl Checking<'_> {
    fn run(mut self, tick: &mut dyn FnMut()) -> Result<(Checked, [blake3::Hasher; 2])> {
        let (from, to) = (self.request.from, self.request.to);
        let name = &self.plan.info.name;
        let source = from.backend.open(from.reference, name, &OpenOptions::default())?;
        let goal = to
            .backend
            .open(self.target.palace(), name, &OpenOptions::default())?;
        let info = goal.info()?;
        let can = |side: &dyn loci_core::Backend, capability| side.descriptor().can(&capability);
        let mut checked = Checked::new(info.dimension, info.identity);
        if info.metric != self.plan.info.metric {
            checked.differ(format!("the metric of {name}"));
        }
        if let Some(identity) = &self.plan.identity
            && checked.identity != IdentityState::Known(identity.clone())
        {
            checked.differ(format!("the model of {name}"));
        }
        let include = |side| Include {
            embedding: can(side, Capability::EmbeddingsOut),
            ..Include::EVERYTHING
        };
        let mut merge = Merge::new(
            Some(Walk::new(source.as_ref(), include(from.backend))),
            Some(Walk::new(goal.as_ref(), include(to.backend))),
        );
        while let Some(pair) = merge.step()? {
            if !matches!(pair, Pair::Second(_)) {
                tick();
            }
            self.pair(pair, &mut checked);
        }
        for left in merge.walks().flat_map(Walk::left_out) {
            checked.lists.unreadable.push(left.message.clone());
        }
        if can(from.backend, Capability::Sources) && can(to.backend, Capability::Sources) {
            let (all, alike) = copy::sources_alike(source.as_ref(), goal.as_ref())?;
            checked.sources = alike;
            if all != alike {
                checked.differ(format!("{} records of sources in {name}", all - alike));
            }
        }
        Ok((checked, self.hashers))
    }

    fn pair(&mut self, pair: Pair, checked: &mut Checked) {
        match pair {
            Pair::Both(source, target) => {
                self.seen(&source, &target, checked);
                checked.note(&source, self.plan, self.survey);
                let expected = carry::expected(*source, self.plan, self.survey, checked.dimension);
                checked.compare(&expected, &canonical(*target), self.plan);
            }
            Pair::First(source) => {
                self.digest(0, &source);
                checked.rows_from += 1;
                checked.missing(*source, self.plan, self.survey);
            }
            Pair::Second(target) => {
                self.digest(1, &target);
                checked.rows += 1;
                checked.differ(format!("{:?} is not in the source", target.id.as_str()));
            }
        }
    }

    fn seen(&mut self, source: &Drawer, target: &Drawer, checked: &mut Checked) {
        self.digest(0, source);
        self.digest(1, target);
        checked.rows_from += 1;
        checked.rows += 1;
    }

    fn digest(&mut self, side: usize, drawer: &Drawer) {
        let text = canonical_line(&self.plan.info.name, drawer);
        if let Some(hasher) = self.hashers.get_mut(side) {
            hasher.update(text.as_bytes());
            hasher.update(b"\n");
        }
    }
}

impl Checked {
    fn new(dimension: Option<usize>, identity: IdentityState) -> Self {
        Self {
            rows_from: 0,
            rows: 0,
            with_vector: 0,
            embedded: 0,
            sources: 0,
            dimension,
            identity,
            lists: Lists::default(),
            differences: Vec::new(),
            different: 0,
        }
    }

    fn differ(&mut self, what: String) {
        self.different += 1;
        if self.differences.len() < NAMED {
            self.differences.push(what);
        }
    }

    /// Lists what of a drawer is not as it was.
    fn note(&mut self, source: &Drawer, plan: &Plan, survey: &CollectionSurvey) {
        let id = source.id.as_str();
        let lists = &mut self.lists;
        let vector = source.embedding.as_deref().filter(|_| plan.carries_vectors());
        let sound = vector.is_none_or(|vector| check_vector(vector).is_ok());
        let fits = |vector: &[f32]| self.dimension.is_none_or(|dimension| vector.len() == dimension);
        let metadata = source.metadata.as_ref();
        let conflicts = metadata.is_some_and(|metadata| source.place.completed_from(metadata).is_err());
        let spanless = survey.spanless.contains(&source.id);
        let noted = [
            (
                vector.is_none() && plan.carries_vectors(),
                &mut lists.missing_vector,
            ),
            (source.document.is_none(), &mut lists.without_document),
            (!sound, &mut lists.unsound_vector),
            (sound && !vector.is_none_or(fits), &mut lists.other_dimension),
            (source.filed_at.is_none(), &mut lists.without_filed_at),
            (conflicts, &mut lists.place_conflict),
            (spanless, &mut lists.span_left_out),
            (!source.damage.is_empty(), &mut lists.damaged),
        ];
        for (is_so, list) in noted {
            if is_so {
                list.push(id);
            }
        }
        if let Some(span) = source.place.span.filter(|_| spanless && lists.spans.len() < MOST) {
            lists.spans.push(span);
        }
    }

    fn compare(&mut self, expected: &Drawer, target: &Drawer, plan: &Plan) {
        let id = expected.id.as_str();
        let mut fields = differing(expected, target);
        if expected.provenance != target.provenance {
            fields.push("provenance");
        }
        self.with_vector += u64::from(target.embedding.is_some());
        match (&expected.embedding, &target.embedding) {
            (Some(one), Some(other)) if same_bits(one, other) => {}
            (Some(_), _) => fields.push("embedding"),
            (None, Some(_)) if plan.embedder().is_some() => self.embedded += 1,
            (None, Some(_)) if plan.carries_vectors() => fields.push("embedding"),
            (None, None) if plan.embedder().is_some() => fields.push("embedding"),
            (None, _) => {}
        }
        if !fields.is_empty() {
            self.differ(format!("{id:?} in its {}", fields.join(", ")));
        }
    }

    /// A drawer that is not in the target: it gave way, could not be carried, or was lost.
    fn missing(&mut self, source: Drawer, plan: &Plan, survey: &CollectionSurvey) {
        let id = source.id.as_str().to_owned();
        if survey.dropped.contains(&source.id) {
            self.lists.collapsed.push(id);
            return;
        }
        let expected = carry::expected(source, plan, survey, self.dimension);
        let why = match carry::filed(expected) {
            Err(error) => error.to_string(),
            Ok(_) => "the target did not take it".to_owned(),
        };
        self.lists.not_carried.push(format!("{id}: {why}"));
    }
}
