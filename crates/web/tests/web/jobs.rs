//! Jobs: mining with its progress, stopping, and what their pages say.

use std::fs;
use std::path::PathBuf;

use loci_engine::AccessPolicy;

use crate::machine::{ask, attribute_values, job_address, scene, send, site_for, wait_for_end};
use crate::scene::{SiteScene, body_text};

/// Makes a folder of small files beside the palace.
fn write_files(scene: &SiteScene, count: usize) -> PathBuf {
    let folder = scene.folder.path().join("notes");
    fs::create_dir_all(&folder).unwrap();
    for at in 0..count {
        fs::write(
            folder.join(format!("n{at:04}.md")),
            format!("A note about bean number {at}.\n"),
        )
        .unwrap();
    }
    // As the page names it: without links.
    folder.canonicalize().unwrap()
}

fn mine(scene: &SiteScene, folder: &std::path::Path) -> String {
    job_address(scene.post("/mine", &[("path", folder.to_str().unwrap())]))
}

#[test]
fn a_folder_is_mined_in_the_background_and_the_outcome_is_told() {
    let (scene, _) = scene();
    let folder = write_files(&scene, 40);
    fs::write(folder.join("picture.png"), b"\x89PNG\r\n\x1a\n\0\0\0\0").unwrap();
    fs::write(folder.join(".hidden.md"), "not read").unwrap();
    assert!(scene.html("/mine").contains("name=\"path\""));
    let job = mine(&scene, &folder);
    let html = wait_for_end(&scene, &job);
    for part in [
        "Done",
        "41 sources: 40 mined, 0 unchanged, 1 skipped, 0 failed.",
        "40 drawers filed",
        "picture.png",
        "not read: 1 hidden",
    ] {
        assert!(html.contains(part), "{part}: {html}");
    }
    let page = scene.html(&job);
    assert!(
        page.contains(folder.to_str().unwrap()),
        "the path as it was understood: {page}"
    );
    assert!(!page.contains("http-equiv"), "it has ended: {page}");
    assert!(scene.html("/job").contains("done"));
    assert!(scene.html("/map").contains("40 drawers"));
    let again = wait_for_end(&scene, &mine(&scene, &folder));
    assert!(again.contains("0 mined, 40 unchanged"), "{again}");
}

#[test]
fn mining_shows_its_progress_stops_when_asked_and_goes_on_later() {
    const FILES: usize = 1_100;
    let (scene, machine) = scene();
    // More than wait for one commit, so that something is left to do after the stop.
    let folder = write_files(&scene, FILES);
    machine.gate.shut();
    let job = mine(&scene, &folder);
    machine.gate.wait_for_somebody();
    let page = scene.html(&job);
    for part in [
        "Running",
        "<progress",
        "http-equiv=\"refresh\"",
        "data-job=",
        "action=\"/job/stop\"",
    ] {
        assert!(page.contains(part), "{part}: {page}");
    }
    assert!(scene.html("/mine").contains("is running"));
    // A form that is sent twice does its work once.
    assert_eq!(mine(&scene, &folder), job);
    let number = job.rsplit('=').next().unwrap();
    assert_eq!(scene.post("/job/stop", &[("number", number)]).status, 303);
    let stopping = scene.html(&job);
    assert!(
        stopping.contains("Stopping") && !stopping.contains("/job/stop"),
        "{stopping}"
    );
    machine.gate.open();
    let html = wait_for_end(&scene, &job);
    assert!(
        html.contains("Stopped, as you asked.") && html.contains("they stay"),
        "{html}"
    );
    let filed = scene.palace.count(&Default::default()).unwrap().count;
    assert!(filed > 0 && filed < FILES as u64, "{filed} filed");
    let rest = wait_for_end(&scene, &mine(&scene, &folder));
    assert!(
        rest.contains(&format!(" {} mined, ", FILES as u64 - filed)),
        "{rest}"
    );
    assert_eq!(
        scene.palace.count(&Default::default()).unwrap().count,
        FILES as u64
    );
}

#[test]
fn the_bar_is_as_long_as_the_bytes_that_are_dealt_with() {
    let (scene, machine) = scene();
    let folder = write_files(&scene, 40);
    wait_for_end(&scene, &mine(&scene, &folder));
    // The unchanged ones are dealt with as soon as they are met, and the new one once it is read.
    fs::write(folder.join("zzz.md"), "One that was not there before.").unwrap();
    let files = fs::read_dir(&folder).unwrap();
    let all: u64 = files.map(|file| file.unwrap().metadata().unwrap().len()).sum();
    machine.gate.shut();
    let job = mine(&scene, &folder);
    machine.gate.wait_for_somebody();
    let page = scene.html(&job);
    machine.gate.open();
    wait_for_end(&scene, &job);
    let bar = page.split("<progress").nth(1).unwrap();
    let bar = bar.split('>').next().unwrap();
    assert_eq!(attribute_values(bar, "max"), [all.to_string()]);
    assert_eq!(attribute_values(bar, "value"), [all.to_string()]);
    assert!(page.contains("41 of 41 sources, 0 drawers filed"), "{page}");
    assert!(page.contains("100 %"), "{page}");
}

#[test]
fn a_path_that_cannot_be_mined_is_told_before_anything_begins() {
    let (scene, _) = scene();
    for (path, status, words) in [
        ("notes", 400, "not a whole path"),
        ("/no/such/folder", 404, "nothing is there"),
        ("", 400, "no path was named"),
    ] {
        let reply = scene.post("/mine", &[("path", path), ("wing", "w<b>")]);
        let (found, html) = (reply.status, body_text(reply));
        assert_eq!(found, status, "{path}: {html}");
        assert!(
            html.contains(words) && html.contains("nothing was mined"),
            "{html}"
        );
        assert!(
            html.contains("value=\"w&lt;b&gt;\""),
            "what was typed is kept: {html}"
        );
    }
    assert!(scene.html("/job").contains("Nothing runs"));
    assert!(!scene.folder.path().join("palace").exists());
}

#[test]
fn what_cannot_be_read_is_listed_and_needs_attention() {
    let (scene, _) = scene();
    let folder = write_files(&scene, 1);
    fs::write(folder.join("<b>.md"), "words").unwrap();
    let job = job_address(scene.post("/mine", &[("path", folder.to_str().unwrap()), ("wing", "shed")]));
    let html = wait_for_end(&scene, &job);
    assert!(html.contains("2 mined"), "{html}");
    assert!(scene.html("/list?wing=shed").contains("&lt;b&gt;.md"));
    // The folder is gone: the error of the job is told, and the site goes on.
    fs::remove_dir_all(&folder).unwrap();
    assert_eq!(
        scene.post("/mine", &[("path", folder.to_str().unwrap())]).status,
        404
    );
}

#[test]
fn an_unknown_job_is_told_and_nobody_else_is_stopped() {
    let (scene, _) = scene();
    for target in ["/job?number=7", "/job?number=x", "/job?number=-1&part=1"] {
        let reply = scene.get(target);
        assert_eq!(reply.status, 404, "{target}");
        assert!(body_text(reply).contains("does not exist"));
    }
    assert_eq!(scene.post("/job/stop", &[("number", "7")]).status, 404);
    assert_eq!(scene.post("/job/stop", &[]).status, 404);
    assert_eq!(scene.get("/job/stop").status, 405);
}

#[test]
fn whoever_may_not_write_or_sees_some_wings_only_mines_nothing() {
    let (scene, machine) = scene();
    let folder = write_files(&scene, 1);
    scene.add("a", "w", "one");
    let path = folder.to_str().unwrap();
    for access in [
        AccessPolicy::limited(true, Vec::new()),
        AccessPolicy::limited(false, vec!["w".into()]),
    ] {
        let site = site_for(&scene, &machine, access);
        assert_eq!(ask(&site, &scene, "/mine").0, 403);
        assert_eq!(send(&site, &scene, "/mine", &[("path", path)]).status, 403);
        assert!(ask(&site, &scene, "/job").1.contains("Nothing runs"));
        assert!(!ask(&site, &scene, "/").1.contains("href=\"/mine\""));
    }
    assert_eq!(scene.palace.count(&Default::default()).unwrap().count, 1);
}
