//! What the server tells of itself: the audit log, its figures, whether it is ready, and what it can be told anew.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::{Value as Json, json};

use super::scene::TeamHome;

fn team() -> (TeamHome, String) {
    let team = TeamHome::new(&[("work", "./work")]);
    team.home
        .run(&[
            "add",
            "the ship leaves at dawn",
            "--wing",
            "garden",
            "--palace",
            "./work",
        ])
        .expect_code(0);
    let token = team.add_user("ben", &["work:read,write"]);
    team.set_password("ben", "a long enough password");
    (team, token)
}

#[test]
fn every_act_is_in_the_audit_log_without_its_words() {
    let (team, token) = team();
    let server = team.serve();
    let call = |tool: &str, arguments: Json| server.send(&server.call(&token, "work", tool, &arguments));
    call("search", json!({"query": "unspeakable words", "wing": "garden"})).is(200);
    let added = call("add", json!({"text": "hidden thought", "wing": "garden"})).is(200);
    let id = serde_json::from_str::<Json>(&added.body).unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    call("delete", json!({"ids": [id]})).is(404);
    server
        .send(&server.call("loci_wrong", "work", "status", &json!({})))
        .is(401);
    let cookie = server.sign_in("ben", "a long enough password");
    server
        .send(
            &server
                .request("GET", "/p/work/search?q=unspeakable")
                .with("Cookie", &cookie),
        )
        .is(200);
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    let lines = team.audit_lines();
    let of = |act: &str, outcome: &str| {
        let mut found = lines.iter();
        let found =
            found.find(|line| line["act"] == act && line["outcome"].as_str().unwrap().starts_with(outcome));
        found
            .unwrap_or_else(|| panic!("{act} {outcome}: {lines:#?}"))
            .clone()
    };
    let search = of("search", "done");
    assert_eq!(search["who"], "ben");
    assert_eq!(search["palace"], "work");
    assert_eq!(search["subject"]["query_chars"], 17);
    assert_eq!(search["subject"]["wings"], json!(["garden"]));
    assert!(of("add", "asked")["n"].as_u64() < of("add", "done")["n"].as_u64());
    assert_eq!(of("add", "done")["subject"]["drawers"], json!([id]));
    of("sign_in", "refused");
    of("sign_in", "done");
    of("start", "done");
    of("stop", "done");
    let text = fs::read_to_string(team.audit_path()).unwrap();
    for word in ["unspeakable", "hidden thought", "a long enough", token.as_str()] {
        assert!(!text.contains(word), "{word}");
    }
    let verified = team.verify_audit(&[]);
    assert_eq!(verified["ok"], true, "{verified}");
    let edited = text.replacen("\"garden\"", "\"gardem\"", 1);
    fs::write(team.audit_path(), edited).unwrap();
    let config = team.home.path("serve.toml").display().to_string();
    let refused = team
        .home
        .json(1, &["serve", "audit", "verify", "--config", &config]);
    assert_eq!(refused["ok"], false, "{refused}");
}

#[test]
fn a_head_that_was_kept_finds_a_missing_end() {
    let (team, token) = team();
    let server = team.serve();
    server
        .send(&server.call(&token, "work", "add", &json!({"text": "one", "wing": "a"})))
        .is(200);
    server.signal(Signal::TERM);
    assert_eq!(server.wait(), Some(0));
    let verified = team.verify_audit(&[]);
    let head = verified["head"].as_str().unwrap().to_owned();
    assert_eq!(team.verify_audit(&[&head])["ok"], true);
    let text = fs::read_to_string(team.audit_path()).unwrap();
    let shorter: String = text
        .lines()
        .rev()
        .skip(2)
        .collect::<Vec<_>>()
        .into_iter()
        .rev()
        .map(|line| format!("{line}\n"))
        .collect();
    fs::write(team.audit_path(), shorter).unwrap();
    assert_eq!(team.verify_audit(&[])["ok"], true);
    let config = team.home.path("serve.toml").display().to_string();
    team.home.json(
        1,
        &["serve", "audit", "verify", "--head", &head, "--config", &config],
    );
}

#[test]
fn monitors_are_told_that_all_is_well() {
    let (team, token) = team();
    let server = team.serve();
    let get = |target: &str| server.send(&server.request("GET", target));
    get("/healthz").is(200);
    let ready = get("/readyz").is(200);
    assert!(!ready.body.contains("work"), "{ready:?}");
    server
        .send(&server.call(&token, "work", "status", &json!({})))
        .is(200);
    let figures = get("/metrics").is(200).body;
    for name in [
        "loci_requests_total",
        "loci_request_duration_seconds_bucket",
        "loci_audit_records_total",
    ] {
        assert!(figures.contains(name), "{name}: {figures}");
    }
    // Not to other machines, unless they may run the server.
    let far = server
        .request("GET", "/metrics")
        .with("X-Forwarded-For", "203.0.113.9");
    server.send(&far).is(401);
    server.send(&far.bearing(&token)).is(404);
}

#[test]
fn settings_are_read_again_and_wrong_ones_change_nothing() {
    let (team, token) = team();
    team.manage(&["user", "rights", "ben", "work:read", "shed:read"]);
    let server = team.serve();
    let status = |palace: &str| {
        server
            .send(&server.call(&token, palace, "status", &json!({})))
            .status
    };
    assert_eq!((status("work"), status("shed")), (200, 404));
    let path = team.home.path("serve.toml");
    let config = fs::read_to_string(&path).unwrap();
    team.home
        .run(&["add", "a spade", "--wing", "tools", "--palace", "./shed"])
        .expect_code(0);
    fs::write(&path, config.replace("[palaces]", "[palaces]\nshed = \"./shed\"")).unwrap();
    server.signal(Signal::HUP);
    wait_until(|| status("shed") == 200);
    assert_eq!(status("work"), 200);
    fs::write(&path, "[palaces]\nnothing = 5\nunknown_key = true\n[palac").unwrap();
    server.signal(Signal::HUP);
    let log = team.home.path("server.log");
    wait_until(|| {
        fs::read_to_string(&log)
            .unwrap()
            .contains("the changed settings are not used")
    });
    assert_eq!((status("work"), status("shed")), (200, 200));
}

#[track_caller]
fn wait_until(mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + Duration::from_secs(60);
    while !holds() {
        assert!(Instant::now() < until, "it does not come");
        std::thread::sleep(Duration::from_millis(50));
    }
}
