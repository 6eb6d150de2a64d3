//! The steps of a history: batches of writes, questions, maintenance, reopening and model switches.

use std::collections::BTreeSet;

use loci_core::{
    BackendDescriptor, Capability, DeleteSelection, DrawerCondition, DrawerFields, DrawerOrder,
    DrawerPosition, EmbedderIdentity, FacetKey, FacetRequest, Filter, GetRequest, LexicalRequest, NewDrawer,
    QueryRequest, SwitchStep, Write,
};
use proptest::collection::{btree_set, vec};
use proptest::option::{of, weighted};
use proptest::prelude::*;
use proptest::sample::{select, subsequence};
use proptest::strategy::Union;

use crate::CaseScene;
use crate::scene::model_called;

use super::values::{a_document_filter, a_drawer, a_filter, a_patch, a_time, a_vector, an_id, some_words};

#[derive(Debug, Clone)]
pub(super) enum HistoryStep {
    Apply(Vec<Write>),
    Get(GetRequest),
    Query(QueryRequest),
    Lexical(LexicalRequest),
    Count(DrawerCondition),
    Facets(FacetRequest),
    /// Runs the advertised maintenance kind at this index, modulo their number; does nothing if there is none.
    Maintain(usize),
    /// Continues with a new instance over the same storage.
    Reopen,
    /// Takes one step of a model switch.
    Switch(SwitchStep),
    /// Makes vectors of this model for every n-th drawer that lacks one.
    Fill(EmbedderIdentity, usize),
    /// Switches to this model from beginning to end.
    SwitchTo(EmbedderIdentity),
    /// Applies a batch under the key of this number, twice.
    Keyed(u8, Vec<Write>),
    /// Takes a step through a handle restricted to the drawers this filter accepts.
    Seeing(Filter, Box<HistoryStep>),
}

/// Returns random histories that a backend with this descriptor supports.
pub(super) fn random_histories(
    descriptor: &BackendDescriptor,
) -> impl Strategy<Value = Vec<HistoryStep>> + use<> {
    let vectors = descriptor.has_capability(&Capability::EmbeddingsPassthrough);
    let include = an_include(descriptor.has_capability(&Capability::EmbeddingsOut));
    let mut steps = vec![
        // Mostly writes: everything stored is compared after each of them anyway.
        (10, a_batch(vectors).prop_map(HistoryStep::Apply).boxed()),
        (1, a_removal().boxed()),
        (3, a_get(include).prop_map(HistoryStep::Get).boxed()),
        (2, a_condition().prop_map(HistoryStep::Count).boxed()),
        (2, a_facets().prop_map(HistoryStep::Facets).boxed()),
        (1, (0..4_usize).prop_map(HistoryStep::Maintain).boxed()),
        (1, Just(HistoryStep::Reopen).boxed()),
        (
            2,
            (0..3_u8, a_batch(vectors))
                .prop_map(|(key, batch)| HistoryStep::Keyed(key, batch))
                .boxed(),
        ),
        // Weighted up: a leak past visibility is a mistake that no later step would reveal.
        (4, a_restricted_step(descriptor).boxed()),
    ];
    // A union takes no weight of zero, so the steps that a backend cannot take are left out.
    if vectors {
        steps.push((3, a_query().prop_map(HistoryStep::Query).boxed()));
    }
    if descriptor.has_capability(&Capability::Lexical) {
        steps.push((2, a_lexical().prop_map(HistoryStep::Lexical).boxed()));
    }
    if vectors && descriptor.has_capability(&Capability::Spaces) {
        steps.push((7, a_turn().boxed()));
    }
    let step = Union::new_weighted(steps);
    (a_house(vectors), vec(step, 4..16)).prop_map(|(house, mut steps)| {
        steps.insert(0, HistoryStep::Apply(house));
        steps
    })
}

/// A delete by filter.
fn a_removal() -> impl Strategy<Value = HistoryStep> + Clone {
    a_filter()
        .prop_map(|filter| HistoryStep::Apply(vec![Write::Delete(DeleteSelection::Matching(filter.into()))]))
}

/// A step that a restricted handle can take.
fn a_restricted_step(descriptor: &BackendDescriptor) -> impl Strategy<Value = HistoryStep> + use<> {
    let vectors = descriptor.has_capability(&Capability::EmbeddingsPassthrough);
    let include = an_include(descriptor.has_capability(&Capability::EmbeddingsOut));
    let visible = prop_oneof![
        // Wings mostly, as in real use, so that a fair part of the drawers is in sight.
        3 => select(&["w", "v"][..]).prop_map(|wing| Filter::text_equals("wing", wing)),
        1 => a_filter(),
    ];
    let mut steps = vec![
        (4, a_batch(vectors).prop_map(HistoryStep::Apply).boxed()),
        (1, a_removal().boxed()),
        (2, a_get(include).prop_map(HistoryStep::Get).boxed()),
        (1, a_condition().prop_map(HistoryStep::Count).boxed()),
        (1, a_facets().prop_map(HistoryStep::Facets).boxed()),
    ];
    if vectors {
        steps.push((1, a_query().prop_map(HistoryStep::Query).boxed()));
    }
    if descriptor.has_capability(&Capability::Lexical) {
        steps.push((1, a_lexical().prop_map(HistoryStep::Lexical).boxed()));
    }
    let step = Union::new_weighted(steps);
    (visible, step).prop_map(|(visible, step)| HistoryStep::Seeing(visible, Box::new(step)))
}

fn a_model() -> impl Strategy<Value = EmbedderIdentity> + Clone {
    select(&["model-a", "model-b", "model-c"][..]).prop_map(model_called)
}

/// A step that has to do with a model switch.
fn a_turn() -> impl Strategy<Value = HistoryStep> + Clone {
    prop_oneof![
        3 => a_switch().prop_map(HistoryStep::Switch),
        2 => (a_model(), 1..4_usize).prop_map(|(model, every)| HistoryStep::Fill(model, every)),
        2 => a_model().prop_map(HistoryStep::SwitchTo),
    ]
}

fn a_switch() -> impl Strategy<Value = SwitchStep> + Clone {
    prop_oneof![
        // Begin most often: most other steps are refused unless a space is being built or retired.
        4 => a_model().prop_map(SwitchStep::Begin),
        1 => Just(SwitchStep::Pause),
        2 => Just(SwitchStep::Finish),
        3 => Just(SwitchStep::Rollback),
        1 => Just(SwitchStep::DropRetired),
    ]
}

/// The first batch of a history: valid drawers to change and to ask about.
fn a_house(vectors: bool) -> impl Strategy<Value = Vec<Write>> {
    let sound = |drawer: &NewDrawer| {
        let fits = |vector: &Vec<f32>| vector.len() == CaseScene::DIMENSION;
        // An invalid drawer would have the whole first batch refused, and the history would run on an empty
        // collection.
        drawer.place.complete_from(&drawer.metadata).is_ok() && drawer.embedding.as_ref().is_none_or(fits)
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

fn an_include(embedding: bool) -> impl Strategy<Value = DrawerFields> + Clone {
    any::<[bool; 4]>().prop_map(move |given| DrawerFields {
        document: given[0],
        metadata: given[1],
        context: given[2],
        embedding: given[3] && embedding,
    })
}

/// A batch of writes with distinct ids.
fn a_batch(vectors: bool) -> impl Strategy<Value = Vec<Write>> + Clone {
    let write = prop_oneof![
        4 => a_drawer(vectors).prop_map(Write::Add),
        3 => a_drawer(vectors).prop_map(Write::Upsert),
        3 => a_patch(vectors).prop_map(Write::Update),
        2 => vec(an_id(), 1..3).prop_map(|ids| Write::Delete(DeleteSelection::Ids(ids))),
    ];
    vec(write, 1..7).prop_map(each_id_once)
}

/// Returns the writes of a batch that name an id for the first time.
fn each_id_once(mut batch: Vec<Write>) -> Vec<Write> {
    let mut seen = BTreeSet::new();
    // An id twice in a batch is refused, which the theme `refusals` covers; here it would waste many
    // batches.
    batch.retain_mut(|write| match write {
        Write::Add(drawer) | Write::Upsert(drawer) => seen.insert(drawer.id.clone()),
        Write::Update(patch) => seen.insert(patch.id.clone()),
        Write::Delete(DeleteSelection::Ids(ids)) => {
            ids.retain(|id| seen.insert(id.clone()));
            !ids.is_empty()
        }
        Write::Delete(DeleteSelection::Matching(_)) => true,
    });
    batch
}

fn a_get(include: impl Strategy<Value = DrawerFields> + Clone) -> impl Strategy<Value = GetRequest> {
    let which = (weighted(0.3, vec(an_id(), 0..8)), an_order());
    let page = (of(0..8_usize), prop_oneof![2 => Just(0), 1 => 0..6_usize]);
    (which, maybe_filter(), a_document_filter(), page, include).prop_map(
        |((ids, (order, after)), filter, document, (limit, offset), include)| GetRequest {
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

fn a_query() -> impl Strategy<Value = QueryRequest> {
    (
        vec(a_vector(), 1..3),
        1..20_usize,
        maybe_filter(),
        a_document_filter(),
    )
        .prop_map(|(vectors, k, filter, document)| QueryRequest {
            vectors,
            k,
            filter,
            document,
            include: DrawerFields::default(),
            exact: false,
            budget: None,
        })
}

fn a_lexical() -> impl Strategy<Value = LexicalRequest> {
    (some_words(1..3), maybe_filter(), a_document_filter()).prop_map(|(words, filter, document)| {
        LexicalRequest {
            filter,
            document,
            ..LexicalRequest::for_words(words, 1_000)
        }
    })
}

fn a_facets() -> impl Strategy<Value = FacetRequest> {
    let keys = prop_oneof![
        // Not the day of filing: two stores that file one drawer around midnight may differ in it.
        subsequence([&FacetKey::ALL[..], &[FacetKey::SaidDay]].concat(), 1..4),
        // Keys in reverse, because the order of the request decides the order of the values.
        btree_set(select(&FacetKey::ALL[..]), 2..3).prop_map(|keys| keys.into_iter().rev().collect()),
    ];
    (keys, a_condition()).prop_map(|(by, DrawerCondition { filter, document })| FacetRequest {
        by,
        filter,
        document,
    })
}
