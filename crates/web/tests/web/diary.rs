//! Diaries and the wake-up: what agents wrote, and what they are told.

use loci_engine::diary::DiaryEntryRequest;
use loci_engine::view::DrawerScope;
use loci_engine::{AccessPolicy, WakeUpRequest};

use crate::machine::{ask, attribute_values, scene, site_for};
use crate::scene::SiteScene;

fn write(scene: &SiteScene, agent: &str, text: &str, topic: Option<&str>) {
    let request = DiaryEntryRequest {
        agent: agent.to_owned(),
        text: text.to_owned(),
        topic: topic.map(str::to_owned),
        ..DiaryEntryRequest::default()
    };
    scene.palace.write_diary(&request).unwrap();
}

#[test]
fn diaries_are_listed_and_read_page_by_page() {
    let (scene, _) = scene();
    assert!(scene.html("/diary").contains("No agent has written"));
    for at in 0..65 {
        write(
            &scene,
            "scout",
            &format!("Entry {at}: <b>found</b> beans."),
            Some("walks"),
        );
    }
    write(&scene, "cook", "One soup.", None);
    let html = scene.html("/diary");
    for part in [
        "scout",
        "65 entries",
        "cook",
        "1 entry",
        "/diary?agent=scout&amp;wing=scout",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let (mut seen, mut target) = (Vec::new(), "/diary?agent=scout".to_owned());
    for _ in 0..5 {
        let html = scene.html(&target);
        assert!(html.contains("&lt;b&gt;found") && !html.contains("<b>"), "{html}");
        assert!(html.contains("walks"), "{html}");
        seen.extend(attribute_values(&html, "data-id"));
        let next = attribute_values(&html, "href")
            .into_iter()
            .find(|href| href.contains("cursor="));
        let Some(next) = next else { break };
        target = next.replace("&amp;", "&");
    }
    let distinct: std::collections::BTreeSet<&String> = seen.iter().collect();
    assert_eq!((seen.len(), distinct.len()), (65, 65));
    assert!(scene.html("/diary?agent=nobody").contains("No entries here"));
    assert_eq!(scene.get("/diary?agent=scout&cursor=x").status, 400);
}

#[test]
fn a_visitor_of_one_wing_reads_the_diaries_of_that_wing() {
    let (scene, machine) = scene();
    write(&scene, "scout", "Beans.", None);
    write(&scene, "cook", "Soup.", None);
    let wings = AccessPolicy::limited(false, vec!["cook".into()]);
    let site = site_for(&scene, &machine, wings);
    let (_, html) = ask(&site, &scene, "/diary");
    assert!(html.contains("cook") && !html.contains("scout"), "{html}");
    let (_, html) = ask(&site, &scene, "/diary?agent=scout");
    assert!(!html.contains("Beans"), "{html}");
}

#[test]
fn the_wake_up_is_what_an_agent_gets_with_its_tokens() {
    let (scene, _) = scene();
    assert!(scene.html("/wake-up").contains("nothing to tell"));
    write(&scene, "scout", "We never ship <on> Fridays.", None);
    scene.add("g-1", "garden", "The beans go in after the frost.");
    for (target, wing, tokens) in [
        ("/wake-up", None, 800),
        ("/wake-up?wing=garden&tokens=200", Some("garden"), 200),
    ] {
        let report = scene
            .palace
            .wake_up(&WakeUpRequest {
                scope: DrawerScope {
                    wing: wing.map(str::to_owned),
                    ..DrawerScope::default()
                },
                tokens,
                now: scene.palace.now(),
            })
            .unwrap();
        let html = scene.html(target);
        let text = html.split("aria-label=\"The wake-up\">").nth(1).unwrap();
        let text = text.split("</pre>").next().unwrap();
        let plain = text
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&amp;", "&");
        assert_eq!(plain, report.text, "{target}");
        assert!(html.contains(&format!("{} tokens", report.tokens)), "{html}");
        assert!(html.contains(&format!("of at most {tokens}")), "{html}");
        assert!(html.contains("<option value=\"garden\""), "{html}");
    }
    for tokens in ["119", "x", "-5", "100001"] {
        assert_eq!(
            scene.get(&format!("/wake-up?tokens={tokens}")).status,
            400,
            "{tokens}"
        );
    }
    assert!(scene.html("/wake-up?wing=nowhere").contains("nowhere"));
}
