//! A server that is killed loses nothing that it acknowledged, and its audit log is whole.

use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use loci_testkit::{PostgresServer, SeededRandom, campaign_rounds, campaign_seed};
use rustix::process::Signal;
use serde_json::{Value as Json, json};

use super::scene::{TeamHome, TeamServer};
use crate::mcp_http::wire::Wire;

#[test]
fn what_was_acknowledged_is_there_after_a_kill() {
    let database = PostgresServer::shared().create_database();
    let url = database.url();
    let team = TeamHome::new(&[("work", "./work"), ("depot", &url)]);
    for palace in ["./work", &url] {
        team.home.run(&["init", "--palace", palace]).expect_code(0);
    }
    let token = team.add_user("ben", &["*:read,write"]);
    let mut random = SeededRandom::new(campaign_seed());
    let acknowledged: Mutex<Acknowledged> = Mutex::default();
    for round in 0..campaign_rounds(2) {
        let server = team.serve();
        let before = acknowledged.lock().unwrap().len();
        let enough = before + 20 + random.below(100);
        write_until_killed(&server, &token, round, enough, &acknowledged);
        drop(server);
    }
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() > 10, "{}", acknowledged.len());
    let verified = team.verify_audit(&[]);
    assert_eq!(verified["ok"], true, "{verified}");
    let asked = team
        .audit_lines()
        .iter()
        .filter(|line| line["outcome"] == "asked")
        .count();
    assert!(asked >= acknowledged.len(), "{asked} of {}", acknowledged.len());
    check_all_there(&team, &token, &acknowledged);
}

/// What was acknowledged: the palace, and the id of the drawer.
type Acknowledged = Vec<(&'static str, String)>;

/// Writes with six clients until enough is acknowledged, and then kills the server in the middle of it.
fn write_until_killed(
    server: &TeamServer,
    token: &str,
    round: u64,
    enough: usize,
    acknowledged: &Mutex<Acknowledged>,
) {
    thread::scope(|scope| {
        for writer in 0..6 {
            let (server, token, acknowledged) = (&server, &token, &acknowledged);
            scope.spawn(move || {
                let palace = if writer % 2 == 0 { "work" } else { "depot" };
                let Ok(mut wire) = std::panic::catch_unwind(|| Wire::open(server.address)) else {
                    return;
                };
                for n in 0.. {
                    let arguments = json!({"text": format!("note {round} {writer} {n}"), "wing": "w"});
                    let ask = server.call(token, palace, "add", &arguments);
                    let Some(answer) = wire.try_ask(&ask) else { return };
                    let added: Json = serde_json::from_str(&answer.is(200).body).unwrap();
                    let id = added["id"].as_str().unwrap().to_owned();
                    acknowledged.lock().unwrap().push((palace, id));
                }
            });
        }
        let until = Instant::now() + Duration::from_secs(60);
        while acknowledged.lock().unwrap().len() < enough && Instant::now() < until {
            thread::sleep(Duration::from_millis(1));
        }
        server.signal(Signal::KILL);
    });
}

/// Reads everything that was acknowledged.
#[track_caller]
fn check_all_there(team: &TeamHome, token: &str, acknowledged: &Acknowledged) {
    let server = team.serve();
    let mut wire = Wire::open(server.address);
    for some in acknowledged.chunks(20) {
        for palace in ["work", "depot"] {
            let ids: Vec<&String> = some
                .iter()
                .filter(|(of, _)| *of == palace)
                .map(|(_, id)| id)
                .collect();
            if ids.is_empty() {
                continue;
            }
            let answer = wire.ask(&server.call(token, palace, "get", &json!({"ids": ids})));
            let body: Json = serde_json::from_str(&answer.is(200).body).unwrap();
            assert_eq!(
                body["drawers"].as_array().unwrap().len(),
                ids.len(),
                "{palace}: {body}"
            );
        }
    }
}
