//! One palace moved from backend to backend and back to where it began, through the real binary.

use loci_testkit::{ChromaServer, PostgresServer};

use super::*;

const PLUG_INS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/backend-python");

/// Drawers with and without vectors, places, times and text that a backend on the way might refuse or change.
const LINES: &str = concat!(
    r#"{"id":"plain","document":"text about foxes","embedding":[0.1,-0.0,1e-45]}"#,
    "\n",
    r#"{"id":"quote\"s and\nbreaks 🗄️","document":"\u0000\u001b[2J\u202e 抽屉 \\","metadata":{"f":3.0,"i":3,"b":true,"t":["x",1,0.1],"min":-9223372036854775808,"tiny":5e-324}}"#,
    "\n",
    r#"{"id":"placed","document":"","wing":"w","room":"r","source":"s","span":{"start":0,"end":9,"line_start":1,"line_end":2},"speaker":"me","kind":"note","said_at":"2026-05-01T09:30:00.000001Z","filed_at":"1999-12-31T23:59:59.999999Z","context":{"before":"b","after":"a"},"uses":7,"metadata":{"wing":"w","said_at":"2026-05-01T09:30:00.000001Z"},"embedding":[3.4028235e38,1.1754944e-38,16777216]}"#,
    "\n",
    r#"{"collection":"notes","id":"elsewhere","document":"in another collection"}"#,
    "\n",
);

fn run(home: &TempHome, args: &[&str]) -> Json {
    let mut command = home.command(&[&["--json"], args].concat());
    let usual = std::env::var("PATH").unwrap();
    command.env("PATH", format!("{PLUG_INS}:{usual}"));
    run_command(command, b"").expect_code(0).json()
}

fn digest(home: &TempHome, palace: &str) -> String {
    let verified = run(home, &["verify", "--palace", palace]);
    assert_eq!(verified["ok"], true, "{palace}: {verified}");
    verified["hash"].as_str().unwrap().to_owned()
}

fn path_in(home: &TempHome, name: &str) -> String {
    home.path(name).to_str().unwrap().to_owned()
}

/// The places on the way after the first: a Chroma server, Postgres, a plug-in, and a folder again.
fn stations(home: &TempHome, database: &str) -> [String; 4] {
    let port = ChromaServer::shared("1.5.9");
    [
        format!("chroma://127.0.0.1:{port}/?database=chain-{}", std::process::id()),
        format!("{database}&palace=chain"),
        format!("python:{}", path_in(home, "plugged")),
        path_in(home, "back"),
    ]
}

#[test]
fn a_palace_moved_through_every_kind_of_backend_comes_back_the_same() {
    let home = new_home();
    home.file_lines(LINES);
    let first = home.palace().to_str().unwrap().to_owned();
    let database = PostgresServer::shared().create_database();
    let begun_with = digest(&home, &first);
    let mut from = first.clone();
    for to in stations(&home, &database.url()) {
        let moved = run(&home, &["migrate", "--from", &from, "--to", &to]);
        assert_eq!(moved["lossless"], true, "{from} to {to}: {moved}");
        assert_eq!(digest(&home, &to), begun_with, "{from} to {to}");
        from = to;
    }
    let against = run(&home, &["verify", "--palace", &from, "--against", &first]);
    assert_eq!(against["ok"], true, "{against}");
    let exported = |palace: &str| {
        let args = [
            "export",
            "--all",
            "--embeddings",
            "--format",
            "jsonl",
            "--palace",
            palace,
        ];
        home.run(&args).expect_code(0).out
    };
    assert_eq!(exported(&from), exported(&first), "byte for byte");
}
