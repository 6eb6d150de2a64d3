//! The model: what a switch means, its progress, stopping it, and going back.

use loci_engine::AccessPolicy;

use crate::machine::{TwoModels, ask, job_address, scene, send, site_for, wait_for_end};
use crate::scene::{SiteScene, body_text};

/// A palace with drawers of the first model.
fn filled(count: usize) -> (SiteScene, TwoModels) {
    let (scene, machine) = scene();
    for at in 0..count {
        scene.add(&format!("n-{at:02}"), "w", &format!("words of number {at}"));
    }
    (scene, machine)
}

fn switch(scene: &SiteScene, model: &str, drawers: &str) -> loci_web::PageReply {
    scene.post(
        "/embedder",
        &[("act", "switch"), ("model", model), ("drawers", drawers)],
    )
}

/// The model whose vectors answer.
fn model_of(scene: &SiteScene) -> String {
    scene.palace.show_embedder().unwrap().model.model.unwrap()
}

#[test]
fn a_switch_is_asked_about_once_runs_as_a_job_and_can_be_taken_back() {
    let (scene, _) = filled(40);
    let page = scene.html("/embedder");
    for part in [
        "first (1, 8 dimensions)",
        "/embedder?switch=second",
        "in use",
        "counts &lt;words&gt;",
        "answers",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(!page.contains("Return to it"), "{page}");
    let question = scene.html("/embedder?switch=second");
    for part in [
        "40 drawers",
        "name=\"drawers\" value=\"40\"",
        "Search goes on",
        "can be stopped",
    ] {
        assert!(question.contains(part), "{part}: {question}");
    }
    let ended = wait_for_end(&scene, &job_address(switch(&scene, "second", "40")));
    assert!(
        ended.contains("second answers now. 40 drawers embedded."),
        "{ended}"
    );
    assert_eq!(model_of(&scene), "second");
    assert!(
        scene
            .html("/search?q=words+of+number+7")
            .contains("/drawer?id=n-07")
    );
    let page = scene.html("/embedder");
    assert!(
        page.contains("kept for a return") && page.contains("Return to it"),
        "{page}"
    );
    assert_eq!(scene.post("/embedder", &[("act", "rollback")]).status, 303);
    assert_eq!(model_of(&scene), "first");
    assert!(
        scene
            .html("/embedder")
            .contains("The previous model answers again.")
    );
}

#[test]
fn a_number_that_has_changed_is_asked_about_again() {
    let (scene, _) = filled(3);
    for agreed in ["2", "", "all"] {
        let reply = switch(&scene, "second", agreed);
        assert_eq!(reply.status, 200, "{agreed:?}");
        let html = body_text(reply);
        assert!(html.contains("name=\"drawers\" value=\"3\""), "{html}");
        assert_eq!(html.contains("has changed from 2 to 3"), agreed == "2", "{html}");
    }
    assert!(scene.html("/job").contains("Nothing runs"));
    assert_eq!(model_of(&scene), "first");
}

#[test]
fn a_switch_stops_when_asked_and_goes_on_or_is_given_up() {
    let (scene, machine) = filled(30);
    machine.gate.shut();
    let job = job_address(switch(&scene, "second", "30"));
    machine.gate.wait_for_somebody();
    assert!(scene.html("/embedder").contains("is running"));
    // Search goes on meanwhile: a question waits at no gate.
    assert!(
        scene
            .html("/search?q=words+of+number+7")
            .contains("/drawer?id=n-07")
    );
    let number = job.rsplit('=').next().unwrap();
    scene.post("/job/stop", &[("number", number)]);
    machine.gate.open();
    let html = wait_for_end(&scene, &job);
    assert!(
        html.contains("Stopped, as you asked. 4 drawers embedded."),
        "{html}"
    );
    assert_eq!(model_of(&scene), "first");
    let page = scene.html("/embedder");
    assert!(
        page.contains("26 drawers") && page.contains("Continue") && page.contains("Give it up"),
        "{page}"
    );
    assert!(scene.html("/doctor").contains("being filled"));
    // What was embedded is not embedded again.
    let ended = wait_for_end(&scene, &job_address(switch(&scene, "second", "26")));
    assert!(ended.contains("26 drawers embedded"), "{ended}");
    assert_eq!(model_of(&scene), "second");
}

#[test]
fn an_unfinished_switch_is_paused_given_up_and_blocks_another() {
    let (scene, machine) = filled(20);
    machine.gate.shut();
    let job = job_address(switch(&scene, "second", "20"));
    machine.gate.wait_for_somebody();
    assert_eq!(scene.post("/embedder", &[("act", "pause")]).status, 303);
    machine.gate.open();
    let html = wait_for_end(&scene, &job);
    assert!(html.contains("paused or given up elsewhere"), "{html}");
    let page = scene.html("/embedder");
    assert!(page.contains("paused") && !page.contains(">Pause<"), "{page}");
    assert_eq!(scene.post("/embedder", &[("act", "rollback")]).status, 303);
    assert!(scene.html("/embedder").contains("given up"));
    assert_eq!(model_of(&scene), "first");
    // There is nothing left to go back from.
    assert_eq!(scene.post("/embedder", &[("act", "rollback")]).status, 409);
    assert_eq!(scene.post("/embedder", &[("act", "dance")]).status, 400);
    assert_eq!(switch(&scene, "third", "20").status, 404);
}

#[test]
fn readers_see_the_model_and_visitors_of_some_wings_do_not_change_it() {
    let (scene, machine) = filled(2);
    let reader = site_for(&scene, &machine, AccessPolicy::limited(true, Vec::new()));
    let (status, html) = ask(&reader, &scene, "/embedder");
    assert!(
        status == 200 && html.contains("first (1, 8 dimensions)"),
        "{html}"
    );
    assert!(
        !html.contains("action=\"/embedder\"") && !html.contains("switch=second"),
        "{html}"
    );
    assert_eq!(ask(&reader, &scene, "/embedder?switch=second").0, 403);
    let form = [("act", "switch"), ("model", "second"), ("drawers", "2")];
    assert_eq!(send(&reader, &scene, "/embedder", &form).status, 403);
    let guest = site_for(&scene, &machine, AccessPolicy::limited(false, vec!["w".into()]));
    for target in ["/embedder", "/embedder?switch=second"] {
        assert_eq!(ask(&guest, &scene, target).0, 403, "{target}");
    }
    assert_eq!(send(&guest, &scene, "/embedder", &form).status, 403);
    assert_eq!(model_of(&scene), "first");
}
