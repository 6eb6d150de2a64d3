//! Six users, three palaces on three backends, and an oracle of what each may see.

use std::collections::{BTreeMap, BTreeSet};

use loci_testkit::{PostgresServer, SeededRandom, campaign_rounds, campaign_seed, chroma_folder};
use serde_json::{Value as Json, json};

use super::scene::{TeamHome, TeamServer};
use crate::mcp_http::wire::Wire;
use crate::new_home;

/// Wings with hostile and look-alike names.
const WINGS: [&str; 9] = [
    "garden",
    "Garden",
    "g\u{430}rden",
    "garden/roses",
    "gar\u{200b}den",
    "'; drop table drawers; --",
    "*",
    "<script>alert(1)</script>",
    "\u{202e}nedrag",
];

/// The grants of each user.
const USERS: [(&str, &[&str]); 6] = [
    ("anna", &["*:read,write,delete,admin"]),
    ("ben", &["work/garden:read"]),
    ("cleo", &["work:read", "work/garden:write"]),
    ("dora", &["depot/Garden:read,write", "attic:read"]),
    (
        "eli",
        &[
            "work/g\u{430}rden:read",
            "depot/%2A:read",
            "depot/garden%2Froses:read",
        ],
    ),
    ("fay", &["depot:read,delete"]),
];

/// A drawer as the oracle knows it. Its id, text, room and source hold a word that no other drawer has.
#[derive(Debug, Clone)]
struct KnownDrawer {
    palace: &'static str,
    wing: String,
    id: String,
    word: String,
}

/// Everything that is filed, and who may read which of it.
struct RightsOracle {
    drawers: Vec<KnownDrawer>,
}

impl RightsOracle {
    fn sees(user: &str, drawer: &KnownDrawer) -> bool {
        let (palace, wing) = (drawer.palace, drawer.wing.as_str());
        match user {
            "anna" => true,
            "ben" => palace == "work" && wing == "garden",
            "cleo" => palace == "work",
            "dora" => palace == "attic" || palace == "depot" && wing == "Garden",
            "eli" => {
                palace == "work" && wing == "g\u{430}rden"
                    || palace == "depot" && (wing == "*" || wing == "garden/roses")
            }
            "fay" => palace == "depot",
            other => panic!("{other}"),
        }
    }

    fn visible<'a>(&'a self, user: &'a str, palace: &'a str) -> impl Iterator<Item = &'a KnownDrawer> {
        let here = self.drawers.iter().filter(move |drawer| drawer.palace == palace);
        here.filter(move |drawer| Self::sees(user, drawer))
    }

    /// Panics if a text holds the word of a drawer that the user must not see.
    #[track_caller]
    fn check_text(&self, user: &str, what: &str, text: &str) {
        for drawer in &self.drawers {
            if text.contains(&drawer.word) && !Self::sees(user, drawer) {
                panic!("{user} sees {drawer:?} in {what}: {text}");
            }
        }
    }
}

/// Files four drawers in each wing of a palace.
fn fill(home: &loci_testkit::TempHome, palace: &'static str, reference: &str) -> Vec<KnownDrawer> {
    let mut known = Vec::new();
    let mut lines = String::new();
    for (at, wing) in WINGS.iter().enumerate() {
        for n in 0..4 {
            let word = format!("mark{palace}{at}x{n}y");
            lines += &format!(
                "{}\n",
                json!({
                    "id": format!("id-{word}"), "wing": wing, "room": format!("room-{word}"),
                    "source": format!("source-{word}.md"), "speaker": format!("speaker-{word}"),
                    "document": format!("the ship {n} leaves the harbour at dawn, {word}"),
                    "said_at": format!("2026-03-0{}T10:00:00Z", n + 1),
                })
            );
            known.push(KnownDrawer {
                palace,
                wing: (*wing).to_owned(),
                id: format!("id-{word}"),
                word,
            });
        }
    }
    let lines = home.write(&format!("{palace}.jsonl"), lines);
    let input = std::fs::read(lines).unwrap();
    home.run_with(&["add", "--jsonl", "-", "--palace", reference], &input)
        .expect_code(0);
    known
}

struct RightsScene {
    server: TeamServer,
    oracle: RightsOracle,
    tokens: BTreeMap<&'static str, String>,
    team: TeamHome,
}

fn start() -> RightsScene {
    let home = new_home();
    let database = PostgresServer::shared().create_database();
    let (work, depot, attic) = (
        home.path("work").display().to_string(),
        database.url(),
        home.path("attic").display().to_string(),
    );
    let mut drawers = fill(&home, "work", &work);
    drawers.extend(fill(&home, "depot", &depot));
    super::super::doctoring::copy_all(&chroma_folder().join("1.5.9/flushed/db"), &home.path("attic"));
    let exported = home.run(&["export", "--palace", &attic]).expect_code(0);
    for drawer in exported.json_lines().iter().filter(|line| !line["id"].is_null()) {
        let id = drawer["id"].as_str().unwrap();
        drawers.push(KnownDrawer {
            palace: "attic",
            wing: drawer["wing"].as_str().unwrap_or_default().to_owned(),
            id: id.to_owned(),
            word: id.to_owned(),
        });
    }
    let team = TeamHome::in_home(home, &[("work", &work), ("depot", &depot), ("attic", &attic)], "");
    let tokens = USERS
        .iter()
        .map(|(name, grants)| (*name, team.add_user(name, grants)))
        .collect();
    // The database goes with the process.
    std::mem::forget(database);
    RightsScene {
        server: team.serve(),
        oracle: RightsOracle { drawers },
        tokens,
        team,
    }
}

impl RightsScene {
    /// Asks and returns the status and the body, which must not tell of what the user cannot see.
    #[track_caller]
    fn ask(&self, wire: &mut Wire, user: &str, palace: &str, tool: &str, arguments: &Json) -> (u16, Json) {
        let ask = self.server.call(&self.tokens[user], palace, tool, arguments);
        let answer = wire.ask(&ask);
        let what = format!("{palace}/{tool} {arguments}");
        // What a request names may be repeated; the rest may not.
        let asked = arguments.to_string();
        let mut told = answer.body.clone();
        for drawer in &self.oracle.drawers {
            if asked.contains(&drawer.word) && !RightsOracle::sees(user, drawer) {
                told = told.replace(&drawer.word, "");
            }
        }
        self.oracle.check_text(user, &what, &told);
        let body = serde_json::from_str(&answer.body).unwrap_or(Json::Null);
        (answer.status, body)
    }
}

/// Makes a request that may name a drawer.
fn make_request(random: &mut SeededRandom, drawer: &KnownDrawer) -> (&'static str, Json) {
    let wing = random.pick(&WINGS);
    match random.below(12) {
        0 => ("search", json!({"query": "ship leaves harbour", "limit": 50})),
        1 => ("search", json!({"query": drawer.word, "limit": 20})),
        2 => ("search", json!({"query": "ship dawn", "wing": wing})),
        3 => ("get", json!({"ids": [drawer.id]})),
        4 => ("list", json!({"limit": 100})),
        5 => ("list", json!({"wing": wing, "limit": 100})),
        6 => ("status", json!({})),
        7 => ("wings", json!({})),
        8 => ("wings", json!({"wing": wing})),
        9 => (
            "check_duplicate",
            json!({"text": format!("the ship 1 leaves the harbour at dawn, {}", drawer.word)}),
        ),
        10 => ("wake_up", json!({})),
        _ => (
            "search",
            json!({"query": "shp lvs", "speaker": format!("speaker-{}", drawer.word)}),
        ),
    }
}

#[test]
fn nobody_sees_more_than_the_oracle_allows() {
    let scene = start();
    let mut random = SeededRandom::new(campaign_seed());
    let mut wires: BTreeMap<&str, Wire> = BTreeMap::new();
    for _ in 0..campaign_rounds(400) {
        let (user, _) = USERS[random.below(USERS.len())];
        let palace = random.pick(&["work", "depot", "attic"]);
        let drawer = &scene.oracle.drawers[random.below(scene.oracle.drawers.len())];
        let (tool, arguments) = make_request(&mut random, drawer);
        let wire = wires
            .entry(user)
            .or_insert_with(|| Wire::open(scene.server.address));
        let (status, body) = scene.ask(wire, user, palace, tool, &arguments);
        let visible: Vec<_> = scene.oracle.visible(user, palace).collect();
        if visible.is_empty() {
            assert_eq!(status, 404, "{user} {palace} {tool}: {body}");
            continue;
        }
        let what = format!("{user} {palace} {tool} {arguments}: {body}");
        match tool {
            "status" => assert_eq!(body["drawers"], visible.len(), "{what}"),
            "wings" if arguments == json!({}) => {
                let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
                for drawer in &visible {
                    *counts.entry(&drawer.wing).or_default() += 1;
                }
                let listed = body["wings"].as_array().unwrap();
                let total: u64 = listed.iter().map(|wing| wing["drawers"].as_u64().unwrap()).sum();
                assert_eq!(total, counts.values().sum::<u64>(), "{what}");
            }
            "list" if arguments.get("wing").is_none() && visible.len() <= 100 && body["next"].is_null() => {
                let ids: BTreeSet<&str> = body["drawers"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .map(|drawer| drawer["id"].as_str().unwrap())
                    .collect();
                let expected: BTreeSet<&str> = visible.iter().map(|drawer| drawer.id.as_str()).collect();
                assert_eq!(ids, expected, "{what}");
            }
            _ => {}
        }
    }
    assert_eq!(scene.team.verify_audit(&[])["ok"], true);
}

/// A drawer that a caller may not see is answered like one that does not exist.
#[test]
fn the_hidden_and_the_missing_are_answered_alike() {
    let scene = start();
    let mut wire = Wire::open(scene.server.address);
    let hidden: Vec<&KnownDrawer> = scene
        .oracle
        .drawers
        .iter()
        .filter(|drawer| drawer.palace == "work" && drawer.wing != "garden")
        .collect();
    for drawer in hidden {
        let missing = drawer.id.replace("mark", "nark");
        for tool in ["get", "update", "delete", "move"] {
            let arguments = |id: &str| match tool {
                "get" => json!({"ids": [id]}),
                "update" => json!({"id": id, "text": "other words"}),
                "move" => json!({"ids": [id], "to_room": "other"}),
                _ => json!({"ids": [id]}),
            };
            let mut answers = [drawer.id.as_str(), &missing].map(|id| {
                let ask = scene
                    .server
                    .call(&scene.tokens["ben"], "work", tool, &arguments(id));
                let answer = wire.ask(&ask);
                (answer.status, answer.body.replace(id, "ID"))
            });
            assert_eq!(answers[0], answers[1], "{tool} {drawer:?}");
            answers[0].1.clear();
        }
    }
    // A palace that a caller may not open, and none at all.
    let mut bodies = ["depot", "nowhere"].map(|palace| {
        let ask = scene
            .server
            .call(&scene.tokens["ben"], palace, "status", &json!({}));
        let answer = wire.ask(&ask);
        (answer.status, answer.body)
    });
    assert_eq!(bodies[0], bodies[1]);
    assert_eq!(bodies[0].0, 404);
    bodies[0].1.clear();
}

/// What may be read and not written stays as it is, on every backend.
#[test]
fn writes_end_where_the_right_to_write_does() {
    let scene = start();
    let mut wire = Wire::open(scene.server.address);
    let mut try_it = |user: &str, palace: &str, tool: &str, arguments: &Json| {
        let (status, body) = scene.ask(&mut wire, user, palace, tool, arguments);
        (status, body)
    };
    // cleo reads all of `work` and writes in `garden`.
    let (status, body) = try_it(
        "cleo",
        "work",
        "add",
        &json!({"text": "new words", "wing": "garden"}),
    );
    assert_eq!(status, 200, "{body}");
    let (status, body) = try_it(
        "cleo",
        "work",
        "add",
        &json!({"text": "new words", "wing": "Garden"}),
    );
    assert_ne!(status, 200, "{body}");
    let (status, _) = try_it("cleo", "work", "add", &json!({"text": "words without a wing"}));
    assert_eq!(status, 200);
    let inside = "id-markwork0x1y";
    let outside = "id-markwork1x1y";
    assert_eq!(
        try_it(
            "cleo",
            "work",
            "update",
            &json!({"id": inside, "text": "changed"})
        )
        .0,
        200
    );
    assert_ne!(
        try_it(
            "cleo",
            "work",
            "update",
            &json!({"id": outside, "text": "changed"})
        )
        .0,
        200
    );
    assert_ne!(
        try_it("cleo", "work", "update", &json!({"id": inside, "wing": "Garden"})).0,
        200
    );
    // No right to delete: the tool is not there.
    assert_eq!(try_it("cleo", "work", "delete", &json!({"ids": [inside]})).0, 404);
    assert_eq!(
        try_it("ben", "work", "add", &json!({"text": "x", "wing": "garden"})).0,
        404
    );
}

#[test]
fn deletes_end_where_the_right_to_delete_does() {
    let scene = start();
    let mut wire = Wire::open(scene.server.address);
    let mut try_it = |user: &str, palace: &str, tool: &str, arguments: &Json| {
        scene.ask(&mut wire, user, palace, tool, arguments)
    };
    // fay reads and deletes in `depot`, and files nothing.
    assert_eq!(
        try_it("fay", "depot", "add", &json!({"text": "x", "wing": "garden"})).0,
        404
    );
    let (status, body) = try_it("fay", "depot", "delete", &json!({"ids": ["id-markdepot0x0y"]}));
    assert_eq!((status, &body["deleted"]), (200, &json!(1)), "{body}");
    // The palace of another program is never written.
    let (status, _) = try_it("anna", "attic", "add", &json!({"text": "x", "wing": "garden"}));
    assert_ne!(status, 200);
    // Nothing of this server's files is mined for anybody.
    assert_eq!(try_it("anna", "work", "mine", &json!({"path": "/etc"})).0, 404);
}

/// A token that is revoked, or a right that is taken away, counts from the next request on.
#[test]
fn what_is_taken_away_is_gone_at_once() {
    let scene = start();
    let mut wire = Wire::open(scene.server.address);
    assert_eq!(scene.ask(&mut wire, "ben", "work", "status", &json!({})).0, 200);
    scene.team.manage(&["user", "rights", "ben", "depot/Garden:read"]);
    assert_eq!(scene.ask(&mut wire, "ben", "work", "status", &json!({})).0, 404);
    let listed = scene.team.manage(&["token", "list"]);
    let token = listed["tokens"]
        .as_array()
        .unwrap()
        .iter()
        .find(|token| token["user"] == "ben")
        .unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    scene.team.manage(&["token", "revoke", &token]);
    assert_eq!(scene.ask(&mut wire, "ben", "depot", "status", &json!({})).0, 401);
    scene.team.manage(&["user", "disable", "cleo"]);
    assert_eq!(scene.ask(&mut wire, "cleo", "work", "status", &json!({})).0, 401);
}
