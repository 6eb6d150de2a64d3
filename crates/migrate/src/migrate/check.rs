//! Compares the source with the copy, drawer by drawer, before the copy is put in place.

use loci_core::vector::check_vector;
use loci_core::{Capability, Drawer, DrawerFields, Error, ErrorKind, IdentityState, OpenOptions, Result};

use super::plan::CollectionPlan;
use super::record::{ChangeLists, MOST_IDS, PalaceHashes};
use super::secrets::{self, PalaceSuspects};
use super::stage::MigrationTarget;
use super::survey::{CollectionSurvey, SourceSurvey};
use super::{MigrateRequest, MigrateStep, carry, copy};
use crate::canonical::{have_same_bits, list_differing_fields, to_canonical_by};
use crate::digests::PairedDigests;
use crate::merge::{DrawerPair, MergedWalk};
use loci_engine::CollectionWalk;
use loci_engine::seal::SecretSuspects;

/// The result of checking a palace.
pub(super) struct CheckedPalace {
    pub(super) collections: Vec<CheckedCollection>,
    pub(super) suspects: PalaceSuspects,
    pub(super) hashes: PalaceHashes,
}

/// The result of checking one collection.
#[derive(Debug, Clone)]
pub(super) struct CheckedCollection {
    pub(super) rows_from: u64,
    pub(super) rows: u64,
    pub(super) with_vector: u64,
    pub(super) embedded: u64,
    pub(super) sources: u64,
    pub(super) dimension: Option<usize>,
    pub(super) identity: IdentityState,
    pub(super) lists: ChangeLists,
    /// The drawers of the target that may hold secrets, if it can seal them.
    suspects: Option<SecretSuspects>,
    /// The first unexplained differences, in words.
    differences: Vec<String>,
    /// The number of unexplained differences.
    different: u64,
}

/// The most differences that are named.
const MOST_NAMED: usize = 5;

/// Checks every collection by walking both sides.
pub(super) fn check_palace(
    request: &MigrateRequest<'_>,
    plans: &[CollectionPlan],
    survey: &SourceSurvey,
    target: &MigrationTarget,
    watch: &mut dyn FnMut(MigrateStep<'_>),
) -> Result<CheckedPalace> {
    let total = plans.iter().map(|plan| plan.info.drawers).sum();
    // One digest per side over all collections, in the order of a verification, so that both print the same.
    let mut digests = PairedDigests::default();
    let mut done = 0;
    let mut collections = Vec::new();
    for plan in plans {
        let checked = CollectionCheck {
            request,
            plan,
            survey: survey.of_collection(&plan.info.name),
            target,
            digests: &mut digests,
        }
        .run(&mut || {
            done += 1;
            watch(MigrateStep::Checked(done, total));
        })?;
        collections.push(checked);
    }
    let [from, to] = digests.finish();
    let suspects = plans.iter().zip(&mut collections).filter_map(|(plan, checked)| {
        let name = plan.info.name.clone();
        checked.suspects.take().map(|suspects| (name, suspects))
    });
    Ok(CheckedPalace {
        suspects: suspects.collect(),
        collections,
        hashes: PalaceHashes { from, to },
    })
}

/// Refuses a copy that differs from its source, unless the source changed meanwhile.
pub(super) fn refuse_differences(
    checked: &CheckedPalace,
    changed: bool,
    target: &MigrationTarget,
) -> Result<()> {
    let different: u64 = checked.collections.iter().map(|one| one.different).sum();
    if different == 0 || changed {
        return Ok(());
    }
    let named = checked.collections.iter().flat_map(|one| &one.differences);
    let named: Vec<&str> = named.take(MOST_NAMED).map(String::as_str).collect();
    let message = format!(
        "the copy differs from its source in {different} place(s): {}",
        named.join("; ")
    );
    Err(Error::new(ErrorKind::Corrupt, message).with_hint(target.describe_location()))
}

struct CollectionCheck<'a> {
    request: &'a MigrateRequest<'a>,
    plan: &'a CollectionPlan,
    survey: &'a CollectionSurvey,
    target: &'a MigrationTarget,
    /// The digests of the source and of the target.
    digests: &'a mut PairedDigests,
}

impl CollectionCheck<'_> {
    fn run(mut self, tick: &mut dyn FnMut()) -> Result<CheckedCollection> {
        let (from, to) = (self.request.from, self.request.to);
        let name = &self.plan.info.name;
        let source = from.backend.open(from.reference, name, &OpenOptions::default())?;
        let goal = to
            .backend
            .open(self.target.palace(), name, &OpenOptions::default())?;
        // Opened afresh, as a user will open it: what counts is the stored state and not what the copying
        // handle believes.
        let info = goal.info()?;
        let can = |side: &dyn loci_core::Backend, capability| side.descriptor().has_capability(&capability);
        let mut checked = CheckedCollection::new(info.dimension, info.identity);
        checked.suspects = secrets::can_seal(to.backend).then(SecretSuspects::default);
        if info.metric != self.plan.info.metric {
            checked.add_difference(format!("the metric of {name}"));
        }
        if let Some(identity) = &self.plan.identity
            && checked.identity != IdentityState::Known(identity.clone())
        {
            checked.add_difference(format!("the model of {name}"));
        }
        let include = |side| DrawerFields {
            embedding: can(side, Capability::EmbeddingsOut),
            ..DrawerFields::EVERYTHING
        };
        let mut merge = MergedWalk::new(
            Some(CollectionWalk::new(source.as_ref(), include(from.backend))),
            Some(CollectionWalk::new(goal.as_ref(), include(to.backend))),
        );
        while let Some(pair) = merge.next_pair()? {
            // The total counts drawers of the source, so a drawer that only the target has must not advance
            // it.
            if !matches!(pair, DrawerPair::Second(_)) {
                tick();
            }
            // Looked at here because every drawer of the target is read anyway.
            if let (DrawerPair::Both(_, target) | DrawerPair::Second(target), Some(suspects)) =
                (&pair, &mut checked.suspects)
            {
                suspects.look_at(target);
            }
            self.check_pair(pair, &mut checked);
        }
        for left in merge.walks().flat_map(CollectionWalk::left_out) {
            checked.lists.unreadable.push(left.message.clone());
        }
        // Without them, mining would read every source again after the move.
        if can(from.backend, Capability::Sources) && can(to.backend, Capability::Sources) {
            let (all, alike) = copy::count_equal_records(source.as_ref(), goal.as_ref())?;
            checked.sources = alike;
            if all != alike {
                checked.add_difference(format!("{} records of sources in {name}", all - alike));
            }
        }
        Ok(checked)
    }

    fn check_pair(&mut self, pair: DrawerPair, checked: &mut CheckedCollection) {
        match pair {
            DrawerPair::Both(source, target) => {
                checked.rows_from += 1;
                checked.rows += 1;
                // Listed from the source as it is, compared with what was meant to arrive: a planned change
                // is not an error.
                checked.list_changes(&source, self.plan, self.survey);
                let metric = self.plan.info.metric;
                let (source, target) = (to_canonical_by(metric, *source), to_canonical_by(metric, *target));
                self.digests
                    .add_pair(&self.plan.info.name, metric, &source, &target);
                let expected = carry::expected_drawer(source, self.plan, self.survey, checked.dimension);
                checked.compare_drawers(&expected, &target, self.plan);
            }
            DrawerPair::First(source) => {
                self.digests
                    .add_first(&self.plan.info.name, self.plan.info.metric, &source);
                checked.rows_from += 1;
                checked.list_missing(*source, self.plan, self.survey);
            }
            DrawerPair::Second(target) => {
                self.digests
                    .add_second(&self.plan.info.name, self.plan.info.metric, &target);
                checked.rows += 1;
                // Nothing but this run writes to the staged target, so such a drawer means that something
                // went wrong.
                checked.add_difference(format!("{:?} is not in the source", target.id.as_str()));
            }
        }
    }
}

impl CheckedCollection {
    fn new(dimension: Option<usize>, identity: IdentityState) -> Self {
        Self {
            rows_from: 0,
            rows: 0,
            with_vector: 0,
            embedded: 0,
            sources: 0,
            dimension,
            identity,
            lists: ChangeLists::default(),
            suspects: None,
            differences: Vec::new(),
            different: 0,
        }
    }

    fn add_difference(&mut self, what: String) {
        self.different += 1;
        if self.differences.len() < MOST_NAMED {
            self.differences.push(what);
        }
    }

    /// Lists the ways in which a drawer was changed on the way.
    fn list_changes(&mut self, source: &Drawer, plan: &CollectionPlan, survey: &CollectionSurvey) {
        let id = source.id.as_str();
        let lists = &mut self.lists;
        let vector = source.embedding.as_deref().filter(|_| plan.carries_vectors());
        let sound = vector.is_none_or(|vector| check_vector(vector, plan.info.metric).is_ok());
        let fits = |vector: &[f32]| self.dimension.is_none_or(|dimension| vector.len() == dimension);
        let metadata = source.metadata.as_ref();
        let conflicts = metadata.is_some_and(|metadata| source.place.complete_from(metadata).is_err());
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
        // Kept in the record, so that spans the target could not store are not lost.
        if let Some(span) = source
            .place
            .span
            .filter(|_| spanless && lists.spans.len() < MOST_IDS)
        {
            lists.spans.push(span);
        }
    }

    fn compare_drawers(&mut self, expected: &Drawer, target: &Drawer, plan: &CollectionPlan) {
        let id = expected.id.as_str();
        let mut fields = list_differing_fields(expected, target);
        // Not part of the digest, but it must arrive all the same.
        if expected.provenance != target.provenance {
            fields.push("provenance");
        }
        self.with_vector += u64::from(target.embedding.is_some());
        match (&expected.embedding, &target.embedding) {
            (Some(one), Some(other)) if have_same_bits(one, other) => {}
            // A vector that was to be carried is missing or has other bits.
            (Some(_), _) => fields.push("embedding"),
            (None, Some(_)) if plan.embedder().is_some() => self.embedded += 1,
            // Without an embedder no vector can appear where the source had none.
            (None, Some(_)) if plan.carries_vectors() => fields.push("embedding"),
            // With one, every drawer must have a vector.
            (None, None) if plan.embedder().is_some() => fields.push("embedding"),
            (None, _) => {}
        }
        if !fields.is_empty() {
            self.add_difference(format!("{id:?} in its {}", fields.join(", ")));
        }
    }

    /// Lists a drawer that is not in the target: it was collapsed, could not be carried, or was lost.
    fn list_missing(&mut self, source: Drawer, plan: &CollectionPlan, survey: &CollectionSurvey) {
        let id = source.id.as_str().to_owned();
        if survey.dropped.contains(&source.id) {
            self.lists.collapsed.push(id);
            return;
        }
        // The reason was not kept while copying, and a resumed run would not have it, so it is worked out
        // again.
        let expected = carry::expected_drawer(source, plan, survey, self.dimension);
        let why = match carry::to_new_drawer(expected, plan.info.metric) {
            Err(error) => error.to_string(),
            Ok(_) => "the target refused it".to_owned(),
        };
        self.lists.not_carried.push(format!("{id}: {why}"));
    }
}
