//! Activity: changes in order, each once, whoever writes and whoever may see them.

use std::collections::BTreeSet;
use std::thread;
use std::time::Instant;

use loci_core::{DeleteSelection, DrawerId, NewDrawer, Write};
use loci_engine::AccessPolicy;
use loci_web::Site;

use crate::machine::{PATIENCE, ask, attribute_values, open_palace, scene, site_for};
use crate::scene::SiteScene;

/// Returns the changes of a page: their numbers, in order.
fn seqs(html: &str) -> Vec<u64> {
    let values = attribute_values(html, "data-seq").into_iter();
    values.map(|seq| seq.parse().unwrap()).collect()
}

/// Asks for the feed after a cursor: its changes, the next cursor, and its HTML.
#[track_caller]
fn feed(site: &Site, scene: &SiteScene, since: u64) -> (Vec<u64>, u64, String) {
    let (status, html) = ask(site, scene, &format!("/activity/feed?since={since}"));
    assert_eq!(status, 200, "{html}");
    let next = attribute_values(&html, "data-next")[0].parse().unwrap();
    (seqs(&html), next, html)
}

fn remove(scene: &SiteScene, id: &str) {
    let removal = Write::Delete(DeleteSelection::Ids(vec![DrawerId::new(id).unwrap()]));
    let filing = scene.palace.open_filing(None).unwrap();
    filing.apply(vec![removal]).unwrap();
}

/// Files drawers in one commit for each ten.
fn file(scene: &SiteScene, wing: &str, names: impl Iterator<Item = String>) {
    let writes: Vec<Write> = names
        .map(|name| {
            let mut drawer = NewDrawer::new(DrawerId::new(&name).unwrap(), format!("words of {name}"));
            drawer.place.wing = Some(wing.to_owned());
            Write::Add(drawer)
        })
        .collect();
    let filing = scene.palace.open_filing(None).unwrap();
    for batch in writes.chunks(10) {
        filing.apply(batch.to_vec()).unwrap();
    }
}

#[test]
fn the_newest_changes_come_first_and_pages_lead_back_to_the_oldest() {
    let (scene, _) = scene();
    file(&scene, "w", (0..120).map(|at| format!("n-{at:03}")));
    remove(&scene, "n-007");
    let first = scene.html("/activity");
    assert!(first.contains("Removed") && first.contains("n-007"), "{first}");
    assert!(
        first.contains("id=\"activity\" aria-label=\"Changes\" data-cursor=\"121\""),
        "{first}"
    );
    let (mut seen, mut target) = (Vec::new(), "/activity".to_owned());
    for _ in 0..10 {
        let html = scene.html(&target);
        seen.extend(seqs(&html));
        let earlier = html.split("id=\"activity-earlier\"").nth(1).unwrap();
        let link = earlier.split('>').next().unwrap();
        if link.contains("hidden") {
            break;
        }
        target = attribute_values(link, "href")[0].clone();
        assert!(
            !scene.html(&target).contains("data-cursor"),
            "only the newest page is live"
        );
    }
    let expected: Vec<u64> = (1..=121).rev().filter(|seq| *seq != 8).collect();
    assert_eq!(
        seen, expected,
        "the change of a drawer that was removed since is its removal"
    );
}

#[test]
fn without_scripts_a_link_shows_what_came_since() {
    let (scene, _) = scene();
    scene.add("a", "w", "one");
    let html = scene.html("/activity");
    let newer = attribute_values(&html, "href").into_iter();
    let newer = newer.filter(|href| href.contains("since=")).collect::<Vec<_>>();
    assert_eq!(newer, ["/activity?since=1"]);
    assert!(
        scene
            .html("/activity?since=1")
            .contains("Nothing else has changed")
    );
    file(&scene, "w", (0..60).map(|at| format!("b-{at}")));
    let html = scene.html("/activity?since=1");
    assert_eq!(seqs(&html), (2..=51).rev().collect::<Vec<u64>>());
    assert!(
        html.contains("/activity?since=51") && html.contains("Later changes"),
        "{html}"
    );
    assert_eq!(
        seqs(&scene.html("/activity?since=51")),
        (52..=61).rev().collect::<Vec<u64>>()
    );
}

#[test]
fn a_reader_of_the_feed_sees_every_change_of_two_writers_once_and_in_order() {
    const EACH: usize = 150;
    let (scene, machine) = scene();
    scene.add("first-of-all", "w", "so that the palace exists");
    let other = open_palace(scene.folder.path(), &machine);
    let writers = [scene.palace.clone(), other];
    let seen = thread::scope(|scope| {
        for (at, palace) in writers.into_iter().enumerate() {
            scope.spawn(move || {
                let filing = palace.open_filing(None).unwrap();
                for n in 0..EACH {
                    let id = DrawerId::new(format!("w{at}-{n}")).unwrap();
                    filing
                        .apply(vec![Write::Add(NewDrawer::new(id, "words"))])
                        .unwrap();
                }
            });
        }
        let (begun, mut cursor, mut seen) = (Instant::now(), 0, Vec::new());
        while seen.len() < 2 * EACH + 1 {
            assert!(begun.elapsed() < PATIENCE, "{} of them came", seen.len());
            let (changes, next, html) = feed(&scene.site, &scene, cursor);
            assert!(changes.len() <= 50, "a page is bounded");
            assert_eq!(html.contains("data-later"), changes.len() == 50);
            assert!(
                changes.iter().all(|seq| *seq > cursor),
                "{changes:?} after {cursor}"
            );
            assert_eq!(changes.last().copied().unwrap_or(cursor), next);
            seen.extend(changes.into_iter().zip(attribute_values(&html, "data-id")));
            cursor = next;
        }
        seen
    });
    assert!(seen.is_sorted_by(|one, other| one.0 < other.0), "in order");
    let ids: BTreeSet<&String> = seen.iter().map(|(_, id)| id).collect();
    assert_eq!((seen.len(), ids.len()), (2 * EACH + 1, 2 * EACH + 1));
    let (none, next, _) = feed(&scene.site, &scene, seen[2 * EACH].0);
    assert_eq!((none, next), (vec![], seen[2 * EACH].0));
}

#[test]
fn a_visitor_of_one_wing_sees_the_changes_of_that_wing_and_no_sign_of_others() {
    let (scene, machine) = scene();
    file(&scene, "garden", (0..70).map(|at| format!("g-{at:02}")));
    file(&scene, "house", (0..1_500).map(|at| format!("hidden-{at}")));
    file(&scene, "garden", (70..75).map(|at| format!("g-{at:02}")));
    remove(&scene, "hidden-7");
    remove(&scene, "g-03");
    let site = site_for(
        &scene,
        &machine,
        AccessPolicy::limited(true, vec!["garden".into()]),
    );
    let (_, html) = ask(&site, &scene, "/activity");
    assert!(!html.contains("hidden-") && !html.contains("house"), "{html}");
    assert!(html.contains("Removals are not listed"), "{html}");
    let own = |numbers: &mut dyn Iterator<Item = usize>| -> Vec<String> {
        let left = numbers.filter(|at| *at != 3);
        left.map(|at| format!("g-{at:02}")).collect()
    };
    assert_eq!(attribute_values(&html, "data-id"), own(&mut (25..75).rev()));
    let last: u64 = attribute_values(&html, "data-cursor")[0].parse().unwrap();
    let oldest = seqs(&html)[49];
    let (_, earlier) = ask(&site, &scene, &format!("/activity?before={oldest}"));
    assert_eq!(attribute_values(&earlier, "data-id"), own(&mut (0..25).rev()));
    // From the beginning of the feed, over more than one page and over all that is out of sight.
    let (mut cursor, mut seen) = (0, Vec::new());
    loop {
        let (changes, next, html) = feed(&site, &scene, cursor);
        if changes.is_empty() {
            assert_eq!(next, cursor);
            break;
        }
        seen.extend(attribute_values(&html, "data-id"));
        cursor = next;
    }
    assert_eq!((seen, cursor), (own(&mut (0..75)), last));
    // What happens elsewhere does not even move the cursor.
    file(&scene, "house", (0..20).map(|at| format!("later-{at}")));
    assert_eq!(feed(&site, &scene, last).1, last);
    file(&scene, "garden", ["g-new".to_owned()].into_iter());
    let (changes, _, html) = feed(&site, &scene, last);
    assert!(changes.len() == 1 && html.contains("g-new"), "{html}");
}

#[test]
fn what_was_changed_again_comes_again_and_nothing_stored_is_taken_for_html() {
    let (scene, _) = scene();
    scene.add("odd\"<i>", "<wing>", "<script>alert(1)</script>\u{202e}");
    let (changes, next, html) = feed(&scene.site, &scene, 0);
    assert_eq!(changes, [1]);
    assert!(
        html.contains("&lt;script&gt;") && html.contains("U+202E") && html.contains("&lt;wing&gt;"),
        "{html}"
    );
    assert!(
        !html.contains("<script") && !html.contains("<i>") && !html.contains("<wing>"),
        "{html}"
    );
    let mut again = NewDrawer::new(DrawerId::new("odd\"<i>").unwrap(), "other words");
    again.place.wing = Some("<wing>".into());
    let filing = scene.palace.open_filing(None).unwrap();
    filing.apply(vec![Write::Upsert(again)]).unwrap();
    let (changes, _, html) = feed(&scene.site, &scene, next);
    assert!(changes == [2] && html.contains("other words"), "{html}");
    remove(&scene, "odd\"<i>");
    let (changes, _, html) = feed(&scene.site, &scene, 2);
    assert!(
        changes == [3] && html.contains("odd&quot;&lt;i&gt;") && html.contains("Removed"),
        "{html}"
    );
}

#[test]
fn a_palace_that_does_not_exist_yet_is_waited_for_and_a_wrong_cursor_is_told() {
    let (scene, _) = scene();
    let html = scene.html("/activity");
    assert!(
        html.contains("Nothing has changed yet") && html.contains("data-cursor=\"0\""),
        "{html}"
    );
    assert_eq!(feed(&scene.site, &scene, 0).1, 0);
    assert!(
        !scene.folder.path().join("palace").exists(),
        "looking creates nothing"
    );
    scene.add("a", "w", "one");
    assert_eq!(feed(&scene.site, &scene, 0).0, [1]);
    for target in [
        "/activity?since=x",
        "/activity?before=-1",
        "/activity/feed",
        "/activity/feed?since=1e9",
    ] {
        assert_eq!(scene.get(target).status, 400, "{target}");
    }
    // A place beyond the end is no error: there is nothing there yet.
    assert_eq!(feed(&scene.site, &scene, u64::MAX).0, Vec::<u64>::new());
    assert!(seqs(&scene.html("/activity?before=0")).is_empty());
}
