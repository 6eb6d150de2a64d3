//! Tests of rights: their text, their laws, and names that look alike.

use loci_core::WingReach;
use proptest::prelude::*;

use super::*;

fn rights(grants: &[&str]) -> TeamRights {
    TeamRights::parse(grants.iter().copied()).unwrap()
}

/// Names with every character that the text form must escape, and look-alikes of each other.
const NAMES: [&str; 9] = [
    "work",
    "w\u{43e}rk",
    "wo\u{200b}rk",
    "a/b:c,d",
    "*",
    "100%",
    " edge ",
    "line\nbreak",
    "wo\u{308}rk",
];

fn names() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => proptest::sample::select(&NAMES[..]).prop_map(str::to_owned),
        1 => proptest::collection::vec(any::<char>(), 1..6).prop_map(|name| name.into_iter().collect()),
    ]
}

fn grants() -> impl Strategy<Value = TeamGrant> {
    let palace = proptest::option::weighted(0.8, proptest::sample::select(&NAMES[..3]));
    let wing = proptest::option::weighted(0.7, names());
    let verbs = proptest::collection::vec(proptest::sample::select(&RightsVerb::ALL[..]), 1..4);
    (palace, wing, verbs).prop_map(|(palace, wing, verbs)| {
        let no_admin = |verb: &RightsVerb| wing.is_none() || *verb != RightsVerb::Admin;
        let verbs: VerbSet = verbs
            .into_iter()
            .filter(no_admin)
            .chain([RightsVerb::Read])
            .collect();
        TeamGrant::new(palace, wing.as_deref(), verbs).unwrap()
    })
}

fn several() -> impl Strategy<Value = TeamRights> {
    proptest::collection::vec(grants(), 0..6).prop_map(|grants| TeamRights::new(grants).unwrap())
}

fn on(rights: &TeamRights, palace: &str) -> PalaceRights {
    rights.on_palace(palace).unwrap_or_default()
}

proptest! {
    #[test]
    fn a_grant_is_read_back_from_its_text(grant in grants()) {
        let text = grant.to_string();
        prop_assert_eq!(&text.parse::<TeamGrant>().unwrap(), &grant);
        prop_assert!(text.chars().all(|c| !is_odd(c)), "{:?}", text);
        let json = serde_json::to_string(&grant).unwrap();
        prop_assert_eq!(serde_json::from_str::<TeamGrant>(&json).unwrap(), grant);
    }

    #[test]
    fn no_text_panics_and_what_is_read_can_be_printed(text in "[a-z*%/:,2F\u{43e} ]{0,12}(:read|:write,admin)?") {
        if let Ok(grant) = text.parse::<TeamGrant>() {
            prop_assert_eq!(grant.to_string().parse::<TeamGrant>().unwrap(), grant);
        }
    }

    #[test]
    fn narrowing_allows_what_both_allow_and_never_more(a in several(), b in several()) {
        let narrow = a.narrow(&b);
        for palace in NAMES {
            prop_assert_eq!(on(&narrow, palace), on(&a, palace).narrow(&on(&b, palace)));
            prop_assert!(on(&a, palace).cover(&on(&narrow, palace)));
        }
        prop_assert!(a.cover(&narrow) && b.cover(&narrow));
        prop_assert_eq!(&narrow, &b.narrow(&a));
        // Equal in what they allow: one may list a grant that another of its grants contains.
        let again = narrow.narrow(&a);
        prop_assert!(again.cover(&narrow) && narrow.cover(&again));
        prop_assert!(!narrow.administers_server() || (a.administers_server() && b.administers_server()));
    }

    #[test]
    fn rights_cover_others_only_if_they_do_in_every_palace(a in several(), b in several()) {
        if a.cover(&b) {
            for palace in NAMES {
                prop_assert!(on(&a, palace).cover(&on(&b, palace)), "{}", palace);
            }
        }
    }

    #[test]
    fn order_and_repetition_of_grants_change_nothing(grants in proptest::collection::vec(grants(), 0..6)) {
        let forward = TeamRights::new(grants.clone()).unwrap();
        let doubled = grants.iter().rev().chain(&grants).cloned();
        prop_assert_eq!(&forward, &TeamRights::new(doubled).unwrap());
        prop_assert!(forward.cover(&forward));
    }

    #[test]
    fn what_may_be_changed_may_be_read(rights in several()) {
        for palace in NAMES {
            let here = on(&rights, palace);
            prop_assert!(here.reads.covers(&here.writes) && here.reads.covers(&here.deletes));
            prop_assert!(!here.administers || here.reads.is_everywhere());
        }
    }
}

fn is_odd(c: char) -> bool {
    c.is_control() || c == '\u{200b}'
}

#[test]
fn a_grant_is_written_as_people_write_it() {
    let check = |text: &str, printed: &str| {
        assert_eq!(text.parse::<TeamGrant>().unwrap().to_string(), printed, "{text}");
    };
    check("work:read", "work:read");
    check("work/garden:write", "work/garden:read,write");
    check("work/my garden:delete,read", "work/my garden:read,delete");
    check("*:admin", "*:read,admin");
    check("%2a/a%2Fb%3ac:read", "%2A/a%2Fb%3Ac:read");
    check("work/wo\u{200b}rk:read", "work/wo%E2%80%8Brk:read");
}

#[test]
fn a_text_that_is_not_a_grant_is_refused_with_the_reason() {
    let check = |text: &str, reason: &str| {
        let error = text.parse::<TeamGrant>().unwrap_err();
        assert!(error.message().contains(reason), "{text:?}: {error}");
    };
    check("work", "no `:`");
    check("work:read:write", "second `:`");
    check("work/a/b:read", "second `/`");
    check("work:reed", "\"reed\" is not a right");
    check("work:", "\"\" is not a right");
    check(":read", "1 to 1024 bytes");
    check("work/:read", "1 to 1024 bytes");
    check("wor*:read", "stands only for all palaces");
    check("work/*:read", "stands only for all palaces");
    check("work%2:read", "two hexadecimal digits");
    check("work%zz:read", "two hexadecimal digits");
    check("work%+1:read", "two hexadecimal digits");
    check("work%ff:read", "not UTF-8");
    check("work/garden:admin", "whole palace");
}

#[test]
fn names_that_look_alike_are_apart() {
    let rights = rights(&["work/work:write"]);
    let here = rights.on_palace("work").unwrap();
    for name in ["w\u{43e}rk", "wo\u{200b}rk", "Work", "work ", "wo\u{308}rk"] {
        assert!(rights.on_palace(name).is_none(), "{name:?}");
        assert!(!here.reads.reaches_wing(Some(name)), "{name:?}");
        let other = TeamGrant::new(Some("work"), Some(name), [RightsVerb::Read].into_iter().collect());
        assert!(
            !rights.cover(&TeamRights::new([other.unwrap()]).unwrap()),
            "{name:?}"
        );
    }
}

#[test]
fn grants_add_up() {
    let rights = rights(&[
        "*/garden:read",
        "work/desk:write",
        "work/desk:delete",
        "home:admin",
    ]);
    let work = rights.on_palace("work").unwrap();
    assert_eq!(
        work.reads,
        WingReach::of_wings(["desk", "garden"].map(str::to_owned))
    );
    assert_eq!(work.writes, WingReach::of_wings(["desk".to_owned()]));
    assert_eq!(work.deletes, work.writes);
    let home = rights.on_palace("home").unwrap();
    assert!(home.reads.is_everywhere() && home.writes.is_nowhere() && home.administers);
    assert_eq!(rights.on_palace("attic").unwrap().reads.named_wings(), ["garden"]);
    assert!(!rights.administers_server());
}

#[test]
fn a_token_cannot_do_more_than_its_user() {
    let user = rights(&["work/garden:write", "home:read"]);
    let token = rights(&["*:delete,admin", "work:write"]);
    let narrow = user.narrow(&token);
    assert_eq!(narrow, rights(&["work/garden:write", "home:read"]));
    assert!(!narrow.on_palace("home").unwrap().administers);
    assert!(user.narrow(&rights(&["attic:read"])).is_empty());
}

#[test]
fn too_many_grants_are_refused() {
    let many = (0..=MOST_GRANTS).map(|wing| format!("work/{wing}:read").parse().unwrap());
    assert!(
        TeamRights::new(many)
            .unwrap_err()
            .message()
            .contains("501 grants")
    );
}
