//! The number of hits, folding of near-identical ones, and queries of every kind.

use loci_core::ErrorKind;
use loci_engine::search::SearchRequest;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

use super::{World, asked, drawer, everything, find, machine, names};

const SAME: &str = "The nightly backup ran to its end and nothing was wrong with any of the disks.";

#[test]
fn as_many_hits_come_as_are_wanted_and_there_are() {
    for world in World::both() {
        let numbered = (0..40).map(|n| drawer(&format!("d{n:02}"), &format!("ship number {n} sails")));
        let filed = world.file(&machine(), numbered.collect());
        for limit in [1, 2, 3, 10, 39, 40, 41, 200, 999, 1000, usize::MAX] {
            let request = SearchRequest {
                limit,
                ..asked("ship")
            };
            let answer = find(&filed, &machine(), &request);
            assert_eq!(answer.hits.len(), limit.min(40), "of {limit}");
            let scores: Vec<f32> = answer.hits.iter().map(|hit| hit.score).collect();
            assert!(scores.is_sorted_by(|a, b| a >= b), "best first: {scores:?}");
        }
    }
}

#[test]
fn more_hits_begin_with_the_fewer() {
    for world in World::both() {
        let texts = [
            "ship at dawn",
            "dawn of the ship",
            "a ship",
            "dawn",
            "the fox",
            "a garden with a ship",
        ];
        let drawers = texts.iter().enumerate();
        let drawers = drawers.map(|(n, text)| drawer(&format!("d{n}"), text)).collect();
        let filed = world.file(&machine(), drawers);
        let all = find(&filed, &machine(), &asked("ship dawn"));
        for limit in 1..=texts.len() {
            let request = SearchRequest {
                limit,
                ..asked("ship dawn")
            };
            let answer = find(&filed, &machine(), &request);
            assert_eq!(answer.hits, all.hits[..limit], "of {limit}");
        }
    }
}

#[test]
fn hundreds_of_equal_texts_are_one_hit_and_crowd_nothing_out() {
    for world in World::both() {
        let mut drawers: Vec<_> = (0..300).map(|n| drawer(&format!("same-{n:03}"), SAME)).collect();
        for n in 0..5 {
            drawers.push(drawer(
                &format!("other-{n}"),
                &format!("Somebody asked in letter {n} about a backup."),
            ));
        }
        let filed = world.file(&machine(), drawers);
        let answer = find(&filed, &machine(), &asked("nightly backup disks"));
        assert_eq!(answer.hits.len(), 6, "{:?}", names(&answer.hits));
        assert_eq!(names(&answer.hits)[0], "same-000");
        assert_eq!(answer.hits[0].also_in.len(), 299);
        assert!(answer.hits[1..].iter().all(|hit| hit.also_in.is_empty()));
        assert_eq!(everything(&answer).len(), 305);
    }
}

#[test]
fn long_texts_of_which_one_has_a_word_more_are_one_hit_and_those_with_another_number_are_not() {
    // Eighty different words, so that another one at the end is next to nothing.
    let long: Vec<String> = ('a'..='j')
        .flat_map(|a| ('a'..='h').map(move |b| format!("k{a}{b}o")))
        .collect();
    let long = format!("backup {}", long.join(" "));
    for world in World::both() {
        let numbered = (1..=20).map(|n| drawer(&format!("day-{n:02}"), &format!("{long} {n}")));
        let told = [drawer("early", &long), drawer("late", &format!("{long} again"))];
        let filed = world.file(&machine(), numbered.chain(told).collect());
        let request = SearchRequest {
            limit: 50,
            ..asked("backup")
        };
        let answer = find(&filed, &machine(), &request);
        assert_eq!(answer.hits.len(), 21);
        for hit in &answer.hits {
            let twins = usize::from(!hit.drawer.id.as_str().starts_with("day"));
            assert_eq!(hit.also_in.len(), twins, "{:?}", hit.drawer.id);
        }
    }
}

#[test]
fn scores_fall_from_hit_to_hit_through_pools_that_fold_and_never_below_nothing() {
    for world in World::both() {
        let mut drawers: Vec<_> = (0..150)
            .map(|n| drawer(&format!("same-{n:03}"), "release river plan and ship"))
            .collect();
        drawers.extend((0..60).map(|n| {
            let mut other = drawer(
                &format!("other-{n:02}"),
                &format!("ship {n} release plan {}", n % 7),
            );
            other.place.source = Some("one.md".into());
            other
        }));
        let filed = world.file(&machine(), drawers);
        let request = SearchRequest {
            limit: 40,
            ..asked("release river ship plan")
        };
        let scores: Vec<f32> = find(&filed, &machine(), &request)
            .hits
            .iter()
            .map(|hit| hit.score)
            .collect();
        assert_eq!(scores.len(), 40);
        assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
        assert!(scores.iter().all(|score| *score >= 0.0), "{scores:?}");
    }
}

#[test]
fn of_a_pasted_log_only_a_few_times_count() {
    for world in World::both() {
        let filed = world.file(&machine(), vec![drawer("a", "ship it")]);
        let log: Vec<String> = (1..=28)
            .map(|day| format!("ship 2023-02-{day:02} ship 2023-02-{day:02}"))
            .collect();
        let answer = find(&filed, &machine(), &asked(&log.join("\n")));
        assert_eq!(answer.dates.len(), 8);
        let said = answer
            .warnings
            .iter()
            .find(|finding| finding.code == "times_left_out");
        assert!(
            said.is_some_and(|finding| finding.message.starts_with("20 more")),
            "{:?}",
            answer.warnings
        );
        assert!(answer.dates.is_sorted_by(|a, b| a.from < b.from), "none twice");
    }
}

#[test]
fn a_twin_names_the_place_where_it_stands() {
    for world in World::both() {
        let mut twin = drawer("b", "ship it, on Friday");
        twin.place.wing = Some("home".into());
        twin.place.source = Some("notes.md".into());
        let filed = world.file(&machine(), vec![drawer("a", "ship it on Friday."), twin]);
        let answer = find(&filed, &machine(), &asked("Friday"));
        assert_eq!(names(&answer.hits), ["a"]);
        let also = &answer.hits[0].also_in[0];
        assert_eq!(
            (also.id.as_str(), also.wing.as_deref(), also.source.as_deref()),
            ("b", Some("home"), Some("notes.md"))
        );
    }
}

#[test]
fn what_asks_for_nothing_is_refused() {
    let world = World::reference();
    let filed = world.file(&machine(), vec![drawer("a", "ship")]);
    let nothing = SearchRequest {
        limit: 0,
        ..asked("ship")
    };
    for request in [asked(""), asked(" \t\n\u{a0}\u{3000}"), nothing] {
        let refused = loci_engine::search_collection(filed.as_ref(), &machine(), &request).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Invalid, "{request:?}");
    }
}

/// Queries that a parser, a tokeniser or an engine of others may stumble over.
const ODD: [&str; 30] = [
    "to be or not to be",
    "the",
    "I",
    "?!…—",
    "\"",
    "'",
    "*",
    "ship*",
    "NOT",
    "ship AND",
    "OR OR",
    "NEAR(ship, 3)",
    "text:ship",
    "-ship",
    "^ship",
    "(",
    ") OR (",
    "ship\" OR \"x",
    "🚢",
    "👩‍👩‍👧",
    "船は金曜日に出る",
    "船",
    "السفينة تغادر",
    "שלום",
    "\u{202e}pihs",
    "a\0b",
    "\u{1}\u{7f}\u{9b}",
    "ship\0",
    "e\u{301}\u{301}\u{301}",
    "ﬁ Å ｓｈｉｐ",
];

#[test]
fn no_query_is_too_odd() {
    for world in World::both() {
        let drawers = ODD.iter().enumerate();
        let drawers = drawers.map(|(n, text)| drawer(&format!("d{n}"), text)).collect();
        let filed = world.file(&machine(), drawers);
        for (n, query) in ODD.iter().enumerate() {
            let request = SearchRequest {
                limit: 1000,
                ..asked(query)
            };
            let answer = find(&filed, &machine(), &request);
            let found = everything(&answer);
            assert_eq!(found.len(), ODD.len(), "{query:?} hides nothing");
            assert_eq!(answer.query, *query);
            let own = answer
                .hits
                .iter()
                .position(|hit| hit.drawer.id.as_str() == format!("d{n}"));
            if let (Some(at), false) = (own, answer.plan.words.is_empty()) {
                assert!(
                    answer.hits[at].why.lexical.is_some(),
                    "{query:?} finds its own text by words"
                );
            }
        }
    }
}

#[test]
fn words_that_say_nothing_are_looked_for_where_there_are_no_others() {
    for world in World::both() {
        let drawers = vec![
            drawer("hamlet", "to be or not to be"),
            drawer("ship", "ship dawn fox"),
        ];
        let filed = world.file(&machine(), drawers);
        let answer = find(&filed, &machine(), &asked("to be or not to be"));
        assert_eq!(names(&answer.hits)[0], "hamlet");
        assert_eq!(answer.plan.left_out, [""; 0]);
        let answer = find(&filed, &machine(), &asked("where is the ship to be"));
        assert_eq!(answer.plan.words, ["ship"]);
        assert_eq!(answer.hits[0].drawer.id.as_str(), "ship");
    }
}

#[test]
fn a_query_of_a_hundred_kilobytes_is_answered() {
    for world in World::both() {
        let filed = world.file(&machine(), vec![drawer("ship", "ship"), drawer("fox", "fox")]);
        for query in [
            "ship ".repeat(20_000),
            "x".repeat(100_000),
            "船".repeat(33_000),
            many_words(),
        ] {
            let answer = find(&filed, &machine(), &asked(&query));
            assert_eq!(answer.hits.len(), 2);
            assert_eq!(answer.query.len(), query.len());
        }
    }
}

fn many_words() -> String {
    let words: Vec<String> = (0..15_000).map(|n| format!("w{n}")).collect();
    words.join(" ")
}

#[test]
fn any_text_can_be_looked_for_in_any_text() {
    for (world, cases) in [(World::reference(), 300), (World::embedded(), 100)] {
        let filed = world.file(&machine(), vec![drawer("ship", "ship")]);
        let config = ProptestConfig {
            cases,
            failure_persistence: None,
            ..ProptestConfig::default()
        };
        let texts = (".{1,60}", "(?s).{0,60}");
        let checked = TestRunner::new(config).run(&texts, |(query, text)| {
            let new = super::NewDrawer {
                embedding: Some(machine().0[0].of(&text)),
                ..drawer("any", &text)
            };
            let filing = world.filing(&crate::name("drawers"), &machine());
            filing.apply(vec![super::Write::Upsert(new)]).unwrap();
            let answer = loci_engine::search_collection(filed.as_ref(), &machine(), &asked(&query));
            if query.trim().is_empty() {
                prop_assert!(answer.is_err());
            } else {
                prop_assert_eq!(everything(&answer.unwrap()).len(), 2);
            }
            Ok(())
        });
        checked.unwrap();
    }
}
