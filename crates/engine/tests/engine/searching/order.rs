//! The order of hits: own words and literals first, the same for every number of hits, and an honest end.

use loci_core::{DrawerContext, NewDrawer};
use loci_engine::search::{SearchRequest, SearchRetriever};

use super::{World, asked, find, id, machine, names};

fn with_context(key: &str, text: &str, [before, after]: [&str; 2]) -> NewDrawer {
    NewDrawer {
        context: Some(DrawerContext {
            before: before.into(),
            after: after.into(),
        }),
        ..NewDrawer::new(id(key), text)
    }
}

#[test]
fn the_first_hits_of_a_long_answer_are_the_short_answer() {
    let words = [
        "boat", "mast", "sail", "rope", "dawn", "owl", "tide", "bread", "lamp", "salt",
    ];
    for world in World::both() {
        let drawers = (0..700_usize).map(|n| {
            let word = |at: usize| words[(n * 7919 + at * at * (n % 13 + 1)) % words.len()];
            let text: Vec<&str> = (0..3 + n % 9).map(word).collect();
            NewDrawer::new(id(&format!("d{n:03}")), format!("{} {n}", text.join(" ")))
        });
        let filed = world.file(&machine(), drawers.collect());
        let ask = |limit: usize| {
            let request = SearchRequest {
                limit,
                ..asked("owl bread at dawn")
            };
            let answer = find(&filed, &machine(), &request);
            let scores: Vec<f32> = answer.hits.iter().map(|hit| hit.score).collect();
            assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
            names(&answer.hits)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        let all = ask(1000);
        assert!(all.len() > 300, "{}", all.len());
        for limit in [1, 5, 20, 50, 61, 200] {
            assert_eq!(ask(limit), all[..limit], "{limit}");
        }
    }
}

#[test]
fn words_alone_find_the_drawers_that_hold_them_and_no_neighbour() {
    for world in World::both() {
        let filler = "the tide turns and the rope holds and the lamp burns and the bread is eaten";
        world.file(
            &machine(),
            vec![
                with_context("before", "yes", ["", "zanzibar"]),
                with_context("held", &format!("{filler} zanzibar {filler}"), ["yes", "no"]),
                with_context("after", "no", ["zanzibar", ""]),
            ],
        );
        let palace = world.open(&machine());
        let request = SearchRequest {
            only: Some(SearchRetriever::Words),
            ..asked("zanzibar")
        };
        let report = palace.search(&request).unwrap();
        let found: Vec<&str> = report.hits.iter().map(|hit| hit.drawer.id.as_str()).collect();
        assert_eq!(found, ["held"]);
        let both = palace.search(&asked("zanzibar")).unwrap();
        assert_eq!(both.hits[0].drawer.id.as_str(), "held");
    }
}

#[test]
fn the_drawer_that_holds_a_literal_comes_first_and_its_definition_before_its_uses() {
    for world in World::both() {
        let mut drawers: Vec<NewDrawer> = (0..150)
            .map(|n| {
                NewDrawer::new(
                    id(&format!("d{n:03}")),
                    format!("stream with context, context with stream {n}"),
                )
            })
            .collect();
        let long = "and so on and on ".repeat(30);
        drawers.push(NewDrawer::new(
            id("use"),
            format!("return stream_with_context(generate()) {long}"),
        ));
        drawers.push(NewDrawer::new(
            id("definition"),
            format!("def stream_with_context(generator): {long}"),
        ));
        let filed = world.file(&machine(), drawers);
        for query in [
            "stream_with_context",
            "how does stream_with_context() stream its context?",
        ] {
            let answer = find(&filed, &machine(), &asked(query));
            assert_eq!(names(&answer.hits)[..2], ["definition", "use"], "{query}");
            assert!(answer.hits[0].why.literal && answer.hits[0].why.defines);
            assert!(answer.verdict.likely && answer.verdict.confidence > 0.9);
        }
        let answer = find(&filed, &machine(), &asked("it said \"on and so on\""));
        assert!(answer.hits[..2].iter().all(|hit| hit.why.literal), "{answer:?}");
    }
}

#[test]
fn words_that_occur_nowhere_are_named_and_nothing_speaks_for_an_answer() {
    for world in World::both() {
        let filed = world.file(
            &machine(),
            vec![
                NewDrawer::new(id("a"), "the ship leaves at dawn"),
                NewDrawer::new(id("b"), "she counts apples"),
            ],
        );
        let answer = find(&filed, &machine(), &asked("zxqv blorptang"));
        assert_eq!(answer.verdict.unknown_words, ["zxqv", "blorptang"]);
        assert!(!answer.verdict.likely && !answer.verdict.speaks_for_answer());
        let codes: Vec<&str> = answer
            .warnings
            .iter()
            .map(|finding| finding.code.as_str())
            .collect();
        assert!(codes.contains(&"unknown_words"), "{codes:?}");
        let known = find(&filed, &machine(), &asked("when does the ship leave"));
        assert_eq!(known.verdict.unknown_words, [""; 0]);
        assert!(known.verdict.likely, "{known:?}");
        assert!(known.verdict.confidence > answer.verdict.confidence);
    }
}
