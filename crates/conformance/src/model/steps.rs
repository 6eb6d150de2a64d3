//! The steps of a history: batches of writes, questions, maintenance, reopening and changes of model.

use std::collections::BTreeSet;

use loci_core::{
    Capability, Descriptor, DrawerCondition, DrawerOrder, DrawerPosition, EmbedderIdentity, FacetKey, Facets,
    Filter, Get, Include, Lexical, NewDrawer, Query, Selection, Switch, Write,
};
use proptest::collection::{btree_set, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::Union;

use crate::Scene;
use crate::scene::model;

use super::values::{a_document_filter, a_drawer, a_filter, a_patch, a_time, a_vector, an_id, words};

#[derive(Debug, Clone)]
pub(super) enum Step {
    Apply(Vec<Write>),
    Get(Get),
    Query(Query),
    Lexical(Lexical),
    Count(DrawerCondition),
    Facets(Facets),
    /// Runs the advertised kind at this place of the list, if there are any.
    Maintain(usize),
    /// Goes on with a new instance over the same storage.
    Reopen,
    /// Takes a step of a change of model.
    Switch(Switch),
    /// Makes vectors of this model for every so many of the drawers that lack one.
    Fill(EmbedderIdentity, usize),
    /// Switches to this model from beginning to end.
    SwitchTo(EmbedderIdentity),
    /// Applies a batch under the key of this number, twice.
    Keyed(u8, Vec<Write>),
    /// Does something through a handle that sees only these drawers.
    Seeing(Filter, Box<Step>),
}

/// Histories of questions and writes that a backend described like this takes.
pub(super) fn histories(descriptor: &Descriptor) -> impl Strategy<Value = Vec<Step>> + use<> {
    let vectors = descriptor.can(&Capability::EmbeddingsPassthrough);
    let include = an_include(descriptor.can(&Capability::EmbeddingsOut));
    let mut steps = vec![
        (10, a_batch(vectors).prop_map(Step::Apply).boxed()),
        (1, a_removal().boxed()),
        (3, a_get(include).prop_map(Step::Get).boxed()),
        (2, a_condition().prop_map(Step::Count).boxed()),
        (2, a_facets().prop_map(Step::Facets).boxed()),
        (1, (0..4_usize).prop_map(Step::Maintain).boxed()),
        (1, Just(Step::Reopen).boxed()),
        (
            2,
            (0..3_u8, a_batch(vectors))
                .prop_map(|(key, batch)| Step::Keyed(key, batch))
                .boxed(),
        ),
        (4, a_restricted_step(descriptor).boxed()),
    ];
    // A union takes no weight of zero, so the steps that a backend cannot take are left out.
    if vectors {
        steps.push((3, a_query().prop_map(Step::Query).boxed()));
    }
    if descriptor.can(&Capability::Lexical) {
        steps.push((2, a_lexical().prop_map(Step::Lexical).boxed()));
    }
    if vectors && descriptor.can(&Capability::Spaces) {
        steps.push((7, a_turn().boxed()));
    }
    let step = Union::new_weighted(steps);
    (a_house(vectors), vec(step, 4..16)).prop_map(|(house, mut steps)| {
        steps.insert(0, Step::Apply(house));
        steps
    })
}

/// A delete by filter.
fn a_removal() -> impl Strategy<Value = Step> + Clone {
    a_filter().prop_map(|filter| Step::Apply(vec![Write::Delete(Selection::Matching(filter.into()))]))
}

/// A step that a restricted handle can take.
fn a_restricted_step(descriptor: &Descriptor) -> impl Strategy<Value = Step> + use<> {
    let vectors = descriptor.can(&Capability::EmbeddingsPassthrough);
    let include = an_include(descriptor.can(&Capability::EmbeddingsOut));
    let visible = prop_oneof![
        3 => select(&["w", "v"][..]).prop_map(|wing| Filter::text("wing", wing)),
        1 => a_filter(),
    ];
    let mut steps = vec![
        (4, a_batch(vectors).prop_map(Step::Apply).boxed()),
        (1, a_removal().boxed()),
        (2, a_get(include).prop_map(Step::Get).boxed()),
        (1, a_condition().prop_map(Step::Count).boxed()),
        (1, a_facets().prop_map(Step::Facets).boxed()),
    ];
    if vectors {
        steps.push((1, a_query().prop_map(Step::Query).boxed()));
    }
    if descriptor.can(&Capability::Lexical) {
        steps.push((1, a_lexical().prop_map(Step::Lexical).boxed()));
    }
    let step = Union::new_weighted(steps);
    (visible, step).prop_map(|(visible, step)| Step::Seeing(visible, Box::new(step)))
}

fn a_model() -> impl Strategy<Value = EmbedderIdentity> + Clone {
    select(&["model-a", "model-b", "model-c"][..]).prop_map(model)
}

/// Something of a change of model.
fn a_turn() -> impl Strategy<Value = Step> + Clone {
    prop_oneof![
        3 => a_switch().prop_map(Step::Switch),
        2 => (a_model(), 1..4_usize).prop_map(|(model, every)| Step::Fill(model, every)),
        2 => a_model().prop_map(Step::SwitchTo),
    ]
}

fn a_switch() -> impl Strategy<Value = Switch> + Clone {
    prop_oneof![
        4 => a_model().prop_map(Switch::Begin),
        1 => Just(Switch::Pause),
        2 => Just(Switch::Finish),
        3 => Just(Switch::Rollback),
        1 => Just(Switch::DropRetired),
    ]
}

/// What a history begins with: sound drawers to change and to ask about.
fn a_house(vectors: bool) -> impl Strategy<Value = Vec<Write>> {
    let sound = |drawer: &NewDrawer| {
        let fits = |vector: &Vec<f32>| vector.len() == Scene::DIMENSION;
        drawer.place.completed_from(&drawer.metadata).is_ok() && drawer.embedding.as_ref().is_none_or(fits)
    };
    vec(a_drawer(vectors), 8..16).prop_map(move |drawers| {
        let sound = drawers.into_iter().filter(sound);
        each_id_once(sound.map(Write::Add).collect())
    })
}

fn maybe_filter() -> impl Strategy<Value = Filter> + Clone {
    prop_oneof![1 => Just(Filter::All), 1 => a_filter()]
}

fn a_condition() -> impl Strategy<Value = DrawerCondition> + Clone {
    (maybe_filter(), a_document_filter()).prop_map(|(filter, document)| DrawerCondition { filter, document })
}

fn an_include(embedding: bool) -> impl Strategy<Value = Include> + Clone {
    any::<[bool; 4]>().prop_map(move |given| Include {
        document: given[0],
        metadata: given[1],
        context: given[2],
        embedding: given[3] && embedding,
    })
}

/// Some writes, none of which names an id of another.
fn a_batch(vectors: bool) -> impl Strategy<Value = Vec<Write>> + Clone {
    let write = prop_oneof![
        4 => a_drawer(vectors).prop_map(Write::Add),
        3 => a_drawer(vectors).prop_map(Write::Upsert),
        3 => a_patch(vectors).prop_map(Write::Update),
        2 => vec(an_id(), 1..3).prop_map(|ids| Write::Delete(Selection::Ids(ids))),
    ];
    vec(write, 1..7).prop_map(each_id_once)
}

/// The writes of a batch that name an id for the first time.
fn each_id_once(mut batch: Vec<Write>) -> Vec<Write> {
    let mut seen = BTreeSet::new();
    batch.retain_mut(|write| match write {
        Write::Add(drawer) | Write::Upsert(drawer) => seen.insert(drawer.id.clone()),
        Write::Update(patch) => seen.insert(patch.id.clone()),
        Write::Delete(Selection::Ids(ids)) => {
            ids.retain(|id| seen.insert(id.clone()));
            !ids.is_empty()
        }
        Write::Delete(Selection::Matching(_)) => true,
    });
    batch
}

fn a_get(include: impl Strategy<Value = Include> + Clone) -> impl Strategy<Value = Get> {
    let which = (weighted(0.3, vec(an_id(), 0..8)), an_order());
    let page = (of(0..8_usize), prop_oneof![2 => Just(0), 1 => 0..6_usize]);
    (which, maybe_filter(), a_document_filter(), page, include).prop_map(
        |((ids, (order, after)), filter, document, (limit, offset), include)| Get {
            // Ids come in the order asked; now and then an order is given with them, which is refused.
            order: if ids.as_ref().is_some_and(|ids| ids.len() > 1) {
                DrawerOrder::Id
            } else {
                order
            },
            after: after.filter(|_| ids.is_none()),
            ids,
            filter,
            document,
            limit,
            offset,
            include,
            budget: None,
        },
    )
}

/// An order, and sometimes a position in it.
fn an_order() -> impl Strategy<Value = (DrawerOrder, Option<DrawerPosition>)> + Clone {
    let position = (
        an_id(),
        of(a_time()),
        of(select(&["book", "page"][..])),
        of(select(&[0_u64, 10][..])),
    );
    (select(&DrawerOrder::ALL[..]), weighted(0.3, position)).prop_map(|(order, position)| {
        let after = position.map(|(id, time, source, start)| match order {
            DrawerOrder::Id => DrawerPosition::Id(id),
            DrawerOrder::NewestFiled => DrawerPosition::NewestFiled(time, id),
            DrawerOrder::NewestSaid => DrawerPosition::NewestSaid(time, id),
            DrawerOrder::Source => DrawerPosition::Source(source.map(str::to_owned), start, id),
        });
        (order, after)
    })
}

fn a_query() -> impl Strategy<Value = Query> {
    (
        vec(a_vector(), 1..3),
        1..20_usize,
        maybe_filter(),
        a_document_filter(),
    )
        .prop_map(|(vectors, k, filter, document)| Query {
            vectors,
            k,
            filter,
            document,
            include: Include::default(),
            budget: None,
        })
}

fn a_lexical() -> impl Strategy<Value = Lexical> {
    (words(1..3), maybe_filter(), a_document_filter()).prop_map(|(words, filter, document)| Lexical {
        filter,
        document,
        ..Lexical::words(words, 1_000)
    })
}

fn a_facets() -> impl Strategy<Value = Facets> {
    let keys = prop_oneof![
        subsequence(FacetKey::ALL.to_vec(), 1..4),
        btree_set(select(&FacetKey::ALL[..]), 2..3).prop_map(|keys| keys.into_iter().rev().collect()),
    ];
    (keys, a_condition()).prop_map(|(by, DrawerCondition { filter, document })| Facets {
        by,
        filter,
        document,
    })
}
