//! The doctor: what it shows to whom, and the check of a sound and a damaged palace.

use std::fs;
use std::path::PathBuf;

use loci_core::{Backend as _, PalaceRef};
use loci_engine::AccessPolicy;
use loci_store::EmbeddedBackend;
use loci_web::Site;

use crate::machine::{TwoModels, ask, job_address, open_palace, scene, send, site_for, wait_for_end};
use crate::scene::{SiteScene, body_text};

fn filled() -> (SiteScene, TwoModels) {
    let (scene, machine) = scene();
    for at in 0..60 {
        scene.add(
            &format!("n-{at:02}"),
            "w",
            &format!("number {at} {}", "of many words ".repeat(40)),
        );
    }
    scene.add("h-1", "house<b>", "elsewhere");
    (scene, machine)
}

#[test]
fn everything_about_a_palace_and_its_machine_is_on_one_page() {
    let (scene, _) = filled();
    let copy = scene.folder.path().join("copy.db");
    let backend = EmbeddedBackend::new();
    let palace = PalaceRef::local(scene.folder.path().join("palace"));
    backend
        .snapshots()
        .unwrap()
        .backup(&palace, &copy, &mut |_| {})
        .unwrap();
    let html = scene.html("/doctor");
    for part in [
        "No damage was met so far",
        "61 of 61",
        "2 wings",
        "first",
        "8 dimensions",
        "Verify everything",
        "reindex",
        "copy.db",
        "1 conversation waits to be filed",
        "2 conversations could not be filed",
        "A tool &lt;b&gt;",
        "connected",
        "embedded",
        "change feed",
        "sealed when words are filed",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    assert!(!html.contains("<b>"), "{html}");
    fs::remove_file(copy).unwrap();
    assert!(scene.html("/doctor").contains("is not there any more"));
}

#[test]
fn a_palace_that_does_not_exist_has_nothing_to_examine() {
    let (scene, _) = scene();
    assert!(scene.html("/doctor").contains("Nothing is filed here yet"));
    assert_eq!(scene.post("/doctor/verify", &[]).status, 404);
    assert_eq!(scene.post("/doctor/maintain", &[("kind", "compact")]).status, 303);
    assert!(!scene.folder.path().join("palace").exists());
}

#[test]
fn a_sound_palace_is_found_sound() {
    let (scene, _) = filled();
    let job = job_address(scene.post("/doctor/verify", &[]));
    let html = wait_for_end(&scene, &job);
    assert!(html.contains("The palace is sound: 61 drawers read"), "{html}");
    assert!(!html.contains("class=\"warning\""), "{html}");
    assert!(scene.html("/doctor").contains("The last check"));
}

#[test]
fn damage_is_found_named_and_shown_and_what_can_be_read_still_is() {
    let (scene, machine) = filled();
    let folder = scene.folder.path().join("palace");
    // Another process is to find it: this one has read the pages already.
    scene.palace.address().unwrap().backend.close();
    damage(&folder.join("palace.db"), "number 30 of many words");
    let palace = open_palace(scene.folder.path(), &machine);
    let scene = SiteScene {
        site: Site::new(palace.clone(), std::sync::Arc::new(machine)),
        palace,
        ..scene
    };
    let job = job_address(scene.post("/doctor/verify", &[]));
    let html = wait_for_end(&scene, &job);
    assert!(
        html.contains("The palace is not sound") && html.contains("class=\"warning\""),
        "{html}"
    );
    assert!(html.contains("needs attention"), "{html}");
    let page = scene.html("/doctor");
    assert!(
        page.contains("Damage was met") && !page.contains("No damage"),
        "{page}"
    );
    assert!(scene.html("/job").contains("ended; needs attention"));
    assert!(scene.html("/drawer?id=n-59").contains("number 59"));
}

/// Overwrites the page of a file that holds some words.
fn damage(file: &PathBuf, words: &str) {
    const PAGE: usize = 4096;
    let mut bytes = fs::read(file).unwrap();
    let at = bytes
        .windows(words.len())
        .position(|part| part == words.as_bytes())
        .unwrap();
    let begin = at / PAGE * PAGE;
    bytes[begin + 200..begin + 900].fill(9);
    fs::write(file, bytes).unwrap();
}

#[test]
fn maintenance_runs_as_a_job_if_the_backend_offers_it() {
    let (scene, _) = filled();
    for kind in ["analyze", "compact", "reindex"] {
        let job = job_address(scene.post("/doctor/maintain", &[("kind", kind)]));
        let html = wait_for_end(&scene, &job);
        assert!(
            html.contains("It ran to its end") || html.contains("nothing to do"),
            "{kind}: {html}"
        );
    }
    let reply = scene.post("/doctor/maintain", &[("kind", "polish<b>")]);
    assert_eq!(reply.status, 403);
    assert!(body_text(reply).contains("polish&lt;b&gt;"));
    assert_eq!(scene.get("/doctor/maintain").status, 405);
}

#[test]
fn readers_verify_and_visitors_of_some_wings_see_their_own_figures() {
    let (scene, machine) = filled();
    let read_only = AccessPolicy::limited(true, Vec::new());
    let reader = site_for(&scene, &machine, read_only);
    let (_, html) = ask(&reader, &scene, "/doctor");
    assert!(
        html.contains("Verify everything") && !html.contains("/doctor/maintain"),
        "{html}"
    );
    assert_eq!(
        send(&reader, &scene, "/doctor/maintain", &[("kind", "compact")]).status,
        403
    );
    assert_eq!(send(&reader, &scene, "/doctor/verify", &[]).status, 303);
    let wings = AccessPolicy::limited(false, vec!["w".into()]);
    let guest = site_for(&scene, &machine, wings);
    let (_, html) = ask(&guest, &scene, "/doctor");
    assert!(
        html.contains("60 drawers in 1 wing") && html.contains("60 of 60"),
        "{html}"
    );
    for hidden in [
        "house",
        "61",
        "/doctor/verify",
        "/doctor/maintain",
        "A tool",
        "embedded",
        "palace.db",
    ] {
        assert!(!html.contains(hidden), "{hidden}: {html}");
    }
    for (target, form) in [
        ("/doctor/verify", vec![]),
        ("/doctor/maintain", vec![("kind", "compact")]),
    ] {
        assert_eq!(send(&guest, &scene, target, &form).status, 403, "{target}");
    }
}
