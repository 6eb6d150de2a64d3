//! Times that a query mentions, and bounds on when a thing was said.

use std::sync::Arc;

use loci_core::{Collection, Filter, FilterComparison, MetadataScalar, NewDrawer};
use loci_engine::search::{SearchHit, SearchRequest, explain_absence};

use super::{World, asked, drawer, find, id, machine, names, time};

/// A drawer said on this day.
fn said(key: &str, text: &str, day: &str) -> NewDrawer {
    let mut new = drawer(key, text);
    new.place.said_at = Some(time(&format!("{day}T09:00:00Z")));
    new
}

/// The same decision told in May and in June; June's would win, being newer.
fn decisions(world: &World) -> Arc<dyn Collection> {
    let drawers = vec![
        said("may", "we decide on budget alpha", "2024-05-14"),
        said("june", "we decide on budget omega", "2024-06-14"),
        drawer("never", "a fox sleeps in the garden"),
    ];
    world.file(&machine(), drawers)
}

fn hit<'a>(hits: &'a [SearchHit], key: &str) -> &'a SearchHit {
    hits.iter().find(|hit| hit.drawer.id.as_str() == key).unwrap()
}

#[test]
fn a_time_in_the_query_lifts_what_was_said_then_and_says_so() {
    for world in World::both() {
        let decided = decisions(&world);
        let plain = find(&decided, &machine(), &asked("what did we decide on budget"));
        assert_eq!(names(&plain.hits)[..2], ["june", "may"]);
        assert!(plain.dates.is_empty() && plain.hits.iter().all(|hit| hit.why.said.is_none()));

        let answer = find(
            &decided,
            &machine(),
            &asked("what did we decide on budget last May"),
        );
        assert_eq!(names(&answer.hits)[..2], ["may", "june"], "{answer:?}");
        assert_eq!(answer.dates.len(), 1);
        let dated = &answer.dates[0];
        assert_eq!(
            (dated.words.as_str(), dated.named, dated.drawers),
            ("last May", true, 1)
        );
        assert_eq!(
            (dated.from, dated.before),
            (time("2024-05-01"), time("2024-06-01"))
        );
        assert_eq!(hit(&answer.hits, "may").why.said.as_deref(), Some("last May"));
        assert_eq!(hit(&answer.hits, "june").why.said, None);
        assert!(hit(&answer.hits, "may").score >= hit(&answer.hits, "june").score);
    }
}

#[test]
fn a_question_for_a_time_and_little_else_is_answered_from_that_time() {
    for world in World::both() {
        let mut drawers: Vec<NewDrawer> = (0..300)
            .map(|n| {
                said(
                    &format!("d{n:03}"),
                    &format!("what happened last week {n}"),
                    "2024-01-02",
                )
            })
            .collect();
        drawers.push(said("a", "the boat was painted blue", "2024-08-06"));
        drawers.push(said("b", "新しい帆を買った", "2024-08-08"));
        let filed = world.file(&machine(), drawers);
        for query in [
            "what happened last week",
            "last week",
            "tell me what we talked about last week?",
        ] {
            let answer = find(&filed, &machine(), &asked(query));
            let mut found = names(&answer.hits);
            found.sort_unstable();
            assert_eq!(found, ["a", "b"], "{query}");
            assert!(answer.dates[0].alone && answer.verdict.likely, "{answer:?}");
        }
        let answer = find(&filed, &machine(), &asked("what was painted last week"));
        assert!(!answer.dates[0].alone && answer.hits.len() > 2);
        assert_eq!(names(&answer.hits)[0], "a");
    }
}

/// A drawer without a time of saying, filed on this day.
fn filed(key: &str, text: &str, day: &str) -> NewDrawer {
    NewDrawer {
        filed_at: Some(time(&format!("{day}T09:00:00Z"))),
        ..drawer(key, text)
    }
}

#[test]
fn a_note_without_a_time_of_saying_was_said_when_it_was_filed() {
    for world in World::both() {
        let mut told_late = filed("late", "the mast broke in winter", "2024-08-07");
        told_late.place.said_at = Some(time("2024-01-05T09:00:00Z"));
        let mut mined = filed("mined", "the harbour plan", "2024-08-07");
        mined.place.kind = Some("file".into());
        let mut read = filed("read", "the harbour map", "2024-08-07");
        read.place.source = Some("/maps/harbour.txt".into());
        let mut drawers: Vec<NewDrawer> = (0..300)
            .map(|n| {
                filed(
                    &format!("d{n:03}"),
                    &format!("what happened last week {n}"),
                    "2024-01-02",
                )
            })
            .collect();
        drawers.extend([
            filed("note", "the boat was painted blue", "2024-08-06"),
            said("talk", "new sails were bought", "2024-08-08"),
            told_late,
            mined,
            read,
        ]);
        let palace = world.file(&machine(), drawers);
        let answer = find(&palace, &machine(), &asked("what happened last week"));
        assert_eq!(names(&answer.hits), ["talk", "note"], "{answer:?}");
        assert!(answer.dates[0].alone && answer.verdict.likely);
        assert_eq!((answer.dates[0].drawers, answer.in_scope), (2, 2));
        assert_eq!(hit(&answer.hits, "note").why.said.as_deref(), Some("last week"));
        let answer = find(&palace, &machine(), &asked("what was painted last week"));
        assert_eq!((names(&answer.hits)[0], answer.dates[0].drawers), ("note", 2));
    }
}

#[test]
fn a_month_without_its_year_is_the_last_one_with_drawers() {
    for world in World::both() {
        let filed = world.file(
            &machine(),
            vec![
                said("old", "budget of the boat", "2021-02-03"),
                said("older", "budget of the house", "2019-02-03"),
                said("other", "budget of the garden", "2023-03-03"),
            ],
        );
        let answer = find(&filed, &machine(), &asked("which budget in February"));
        let dated = &answer.dates[0];
        assert_eq!(
            (dated.from, dated.before),
            (time("2021-02-01"), time("2021-03-01"))
        );
        assert!(dated.assumed && dated.drawers == 1);
        assert_eq!(names(&answer.hits)[0], "old");
    }
}

#[test]
fn times_are_not_read_where_that_is_unwanted() {
    for world in World::both() {
        let request = SearchRequest {
            dates: false,
            ..asked("what did we decide on budget last May")
        };
        let answer = find(&decisions(&world), &machine(), &request);
        assert_eq!(names(&answer.hits)[..2], ["june", "may"]);
        assert!(answer.dates.is_empty() && answer.hits.iter().all(|hit| hit.why.said.is_none()));
    }
}

#[test]
fn a_time_in_which_nothing_was_said_hides_nothing() {
    for world in World::both() {
        let answer = find(
            &decisions(&world),
            &machine(),
            &asked("what did we decide on budget in 1999"),
        );
        assert_eq!(names(&answer.hits)[..2], ["june", "may"]);
        assert_eq!((answer.dates.len(), answer.dates[0].drawers), (1, 0));
    }
}

#[test]
fn bounds_are_by_when_it_was_said_and_leave_out_what_was_never_dated() {
    for world in World::both() {
        let decided = decisions(&world);
        let within = |comparison: fn(MetadataScalar) -> FilterComparison, moment: &str| {
            let at = MetadataScalar::Int(time(moment).as_micros());
            let request = SearchRequest {
                scope: Filter::Compare("said_at".into(), comparison(at)).into(),
                ..asked("we decide on budget")
            };
            let answer = find(&decided, &machine(), &request);
            names(&answer.hits)
                .into_iter()
                .map(str::to_owned)
                .collect::<Vec<_>>()
        };
        assert_eq!(within(FilterComparison::Gte, "2024-06-01"), ["june"]);
        assert_eq!(within(FilterComparison::Lt, "2024-06-01"), ["may"]);
        assert_eq!(
            within(FilterComparison::Gte, "2024-05-14T09:00:00Z"),
            ["june", "may"]
        );
        assert_eq!(within(FilterComparison::Lt, "2024-05-14T09:00:00Z"), [""; 0]);
    }
}

#[test]
fn what_was_said_then_is_a_candidate_behind_hundreds_of_better_matches() {
    for world in World::both() {
        let mut drawers: Vec<NewDrawer> = (0..400)
            .map(|n| said(&format!("d{n:03}"), &format!("budget {n} budget"), "2024-07-02"))
            .collect();
        drawers.push(said("may", "budget 999 budget", "2024-05-14"));
        let filed = world.file(&machine(), drawers);
        let rank = |query: &str| {
            explain_absence(filed.as_ref(), &machine(), &id("may"), &asked(query))
                .unwrap()
                .rank
        };
        assert_eq!(rank("budget"), None);
        assert_eq!(rank("budget last May"), Some(1));
    }
}

#[test]
fn the_newest_come_first_where_that_is_asked() {
    for world in World::both() {
        let mut drawers = vec![
            said("old", "ship dawn bread river owl", "2019-01-01"),
            said("new", "ship dawn bread river fox", "2024-08-14"),
        ];
        drawers.extend((0..20).map(|n| said(&format!("far-{n}"), &format!("garden {n}"), "2024-08-14")));
        let filed = world.file(&machine(), drawers);
        let plain = find(&filed, &machine(), &asked("ship dawn bread river owl"));
        assert_eq!(names(&plain.hits)[..2], ["old", "new"]);
        let recent = SearchRequest {
            recent: true,
            ..asked("ship dawn bread river owl")
        };
        assert_eq!(
            names(&find(&filed, &machine(), &recent).hits)[..2],
            ["new", "old"]
        );
    }
}
