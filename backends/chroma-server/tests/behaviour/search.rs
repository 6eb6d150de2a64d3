//! Search in collections that are too large to be compared whole.

use std::collections::BTreeSet;

use loci_core::{Collection, CollectionExt as _, DrawerId, Filter, Metadata, NewDrawer, QueryRequest, Write};
use loci_testkit::SeededRandom;

use crate::support::{backend, create, fresh_palace, id};

const DRAWERS: usize = 2500;
const K: usize = 10;

fn random_vector(random: &mut SeededRandom) -> Vec<f32> {
    (0..16)
        .map(|_| random.below(2001) as f32 / 1000.0 - 1.0)
        .collect()
}

fn nearest(drawers: &dyn Collection, vector: &[f32], filter: &Filter) -> Vec<(DrawerId, f32)> {
    let request = QueryRequest {
        filter: filter.clone(),
        ..QueryRequest::nearest_to(vector.to_vec(), K)
    };
    let hits = drawers.query(&request).unwrap().pop().unwrap();
    hits.into_iter().map(|hit| (hit.drawer.id, hit.score)).collect()
}

#[test]
fn the_servers_index_finds_nine_in_ten_with_exact_distances_under_filters_too() {
    let palace = fresh_palace();
    let (scanning, asking) = (
        backend().scanning_at_most(u64::MAX),
        backend().scanning_at_most(0),
    );
    let drawers = create(&scanning, &palace);
    let (mut random, mut last) = (SeededRandom::new(7), Vec::new());
    let add = |at: usize| {
        let mut drawer = NewDrawer::new(id(&format!("d{at:04}")), "text");
        // Every fourth vector is that of the drawer before, so that there are ties.
        if at % 4 < 3 {
            last = random_vector(&mut random);
        }
        drawer.embedding = Some(last.clone());
        drawer.metadata = Metadata::new()
            .with_entry("half", if at.is_multiple_of(2) { "even" } else { "odd" })
            .with_entry("n", at as i64);
        Write::Add(drawer)
    };
    let batch: Vec<Write> = (0..DRAWERS).map(add).collect();
    drawers.apply_batch(&batch).unwrap();
    let asked = create(&asking, &palace);
    let mut random = SeededRandom::new(8);
    let filters = [
        Filter::All,
        Filter::text_equals("half", "odd"),
        // Not pushed down: the candidates are filtered here, and more are asked for.
        Filter::parse_str(r#"{"n":{"$lt":600}}"#).unwrap(),
        Filter::parse_str(r#"{"n":{"$lt":5}}"#).unwrap(),
    ];
    for filter in filters {
        let (mut found, mut all) = (0, 0);
        for _ in 0..10 {
            let vector = random_vector(&mut random);
            let exact = nearest(drawers.as_ref(), &vector, &filter);
            let answer = nearest(asked.as_ref(), &vector, &filter);
            assert_eq!(answer.len(), exact.len(), "{filter}");
            assert!(
                answer.is_sorted_by(|a, b| (a.1, &a.0) <= (b.1, &b.0)),
                "{answer:?}"
            );
            let truly: BTreeSet<(&DrawerId, u32)> =
                exact.iter().map(|(id, score)| (id, score.to_bits())).collect();
            found += answer
                .iter()
                .filter(|(id, score)| truly.contains(&(id, score.to_bits())))
                .count();
            all += exact.len();
        }
        assert!(found * 10 >= all * 9, "{filter}: {found} of {all}");
    }
}
