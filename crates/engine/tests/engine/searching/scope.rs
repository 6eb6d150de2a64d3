//! The default treatment of tool output, and the number of times a search calls a model.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loci_core::{Embedder, EmbedderIdentity, Filter, FilterComparison, MetadataScalar, NewDrawer, Result};
use loci_engine::EmbedderCatalog;
use loci_engine::search::{SearchRequest, explain_absence, search_collection};

use super::{World, asked, drawer, everything, find, machine};
use crate::embedders::{Bag, Machine};
use crate::id;

fn of_kind(key: &str, kind: &str) -> NewDrawer {
    let mut new = drawer(key, &format!("ship {key}"));
    new.place.kind = Some(kind.into());
    new.place.wing = Some("work".into());
    new
}

fn kind(comparison: impl FnOnce(MetadataScalar) -> FilterComparison, kind: &str) -> Filter {
    Filter::Compare("kind".into(), comparison(MetadataScalar::Text(kind.into())))
}

#[test]
fn who_names_a_kind_decides_about_what_tools_printed() {
    let printed = "tool_result";
    let either = Filter::Or(vec![
        kind(FilterComparison::Eq, "human"),
        kind(FilterComparison::Eq, printed),
    ]);
    let cases: [(Filter, &[&str]); 6] = [
        (Filter::All, &["assistant", "human"]),
        (Filter::text_equals("wing", "work"), &["assistant", "human"]),
        (kind(FilterComparison::Eq, printed), &[printed]),
        (kind(FilterComparison::Ne, "human"), &["assistant", printed]),
        (either.clone(), &["human", printed]),
        (
            Filter::text_equals("wing", "work").and(either),
            &["human", printed],
        ),
    ];
    for world in World::both() {
        let kinds = ["human", "assistant", printed].map(|kind| of_kind(kind, kind));
        let filed = world.file(&machine(), kinds.into());
        for (filter, found) in &cases {
            let request = SearchRequest {
                scope: filter.clone().into(),
                ..asked("ship")
            };
            let answer = find(&filed, &machine(), &request);
            assert_eq!(
                everything(&answer),
                found.iter().map(|key| id(key)).collect::<Vec<_>>()
            );
            assert_eq!(answer.in_scope, found.len() as u64, "{filter}");
            let left_out = u64::from(!request.includes_tool_output());
            assert_eq!(answer.tool_output_left_out, left_out, "{filter}");
            let told = explain_absence(filed.as_ref(), &machine(), &id(printed), &request).unwrap();
            let codes: Vec<&str> = told.reasons.iter().map(|reason| reason.code).collect();
            assert_eq!(
                told.found.is_some(),
                found.contains(&printed),
                "{filter}: {codes:?}"
            );
            assert_eq!(
                codes.contains(&"tool_output"),
                left_out == 1,
                "{filter}: {codes:?}"
            );
        }
    }
}

/// A machine that counts how often its model is asked for a query.
#[derive(Debug, Default)]
struct Counting(Arc<AtomicUsize>);

#[derive(Debug)]
struct Counted(Bag, Arc<AtomicUsize>);

impl Embedder for Counted {
    fn identity(&self) -> &EmbedderIdentity {
        self.0.identity()
    }

    fn embed_passages(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        self.0.embed_passages(texts)
    }

    fn embed_query(&self, text: &str) -> Result<Vec<f32>> {
        self.1.fetch_add(1, Ordering::SeqCst);
        self.0.embed_query(text)
    }
}

impl EmbedderCatalog for Counting {
    fn usual_embedder(&self) -> Result<Option<Arc<dyn Embedder>>> {
        Ok(None)
    }

    fn find_embedder(&self, _: &EmbedderIdentity) -> Result<Arc<dyn Embedder>> {
        let Machine(bags) = machine();
        Ok(Arc::new(Counted(bags[0].clone(), Arc::clone(&self.0))))
    }
}

#[test]
fn a_query_is_embedded_once_however_deep_a_search_must_look() {
    for world in World::both() {
        let same = (0..450).map(|n| drawer(&format!("same-{n:03}"), "the ship leaves at dawn with bread"));
        let others = (0..5).map(|n| drawer(&format!("other-{n}"), &format!("fox number {n}")));
        let filed = world.file(&machine(), same.chain(others).collect());
        let asking = Counting::default();
        let request = asked("ship at dawn last july");
        let answer = search_collection(filed.as_ref(), &asking, &request).unwrap();
        assert!(answer.plan.depth > 400, "it looked deeper: {:?}", answer.plan);
        assert_eq!(asking.0.swap(0, Ordering::SeqCst), 1);
        let told = explain_absence(filed.as_ref(), &asking, &id("same-449"), &request).unwrap();
        assert_eq!(told.reasons[0].code, "folded");
        assert_eq!(asking.0.load(Ordering::SeqCst), 1);
    }
}
