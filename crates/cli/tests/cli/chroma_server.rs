//! Palaces in a Chroma server, through the command line.

use loci_testkit::ChromaServer;
use serde_json::json;

use super::*;

/// Drawers with and without vectors, text and metadata that Chroma would refuse or change.
const NASTY: &str = concat!(
    r#"{"id":"plain","document":"text about foxes","embedding":[0.1,-0.0,1e-45]}"#,
    "\n",
    r#"{"id":"quote\"s and\nbreaks 🗄️","document":"\u0000\u001b[2J\u202e 抽屉 \\","metadata":{"f":3.0,"i":3,"b":true,"t":["x",1,0.1],"min":-9223372036854775808,"tiny":5e-324,"$k":"v","chroma:document":"d"}}"#,
    "\n",
    r#"{"id":"placed","document":"","wing":"w","room":"r","source":"s","span":{"start":0,"end":9,"line_start":1,"line_end":2},"speaker":"me","kind":"note","said_at":"2026-05-01T09:30:00.000001Z","filed_at":"1999-12-31T23:59:59.999999Z","context":{"before":"b","after":"a"},"uses":7,"metadata":{"wing":"w","said_at":"2026-05-01T09:30:00.000001Z"},"embedding":[3.4028235e38,1.1754944e-38,16777216]}"#,
    "\n",
    r#"{"collection":"notes","id":"elsewhere","document":"in another collection"}"#,
    "\n",
);

fn fresh_url(release: &str, palace: &str) -> String {
    let port = ChromaServer::shared(release);
    format!(
        "chroma://127.0.0.1:{port}/?database=cli-{}-{palace}",
        std::process::id()
    )
}

fn move_there_and_back(release: &str) {
    let home = new_home();
    home.file_lines(NASTY);
    let palace = home.palace().to_str().unwrap().to_owned();
    let url = fresh_url(release, "moved");
    let there = home.json(0, &["migrate", "--from", &palace, "--to", &url]);
    assert_eq!(there["lossless"], true, "{there}");
    let against = home.json(0, &["verify", "--palace", &url, "--against", &palace]);
    assert_eq!(against["ok"], true, "{against}");
    let back = home.path("back").to_str().unwrap().to_owned();
    let report = home.json(0, &["migrate", "--from", &url, "--to", &back]);
    assert_eq!(report["lossless"], true, "{report}");
    let against = home.json(0, &["verify", "--palace", &back, "--against", &palace]);
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
    assert_eq!(exported(&back), exported(&palace), "byte for byte");
}

#[test]
fn a_palace_moves_into_the_newest_chroma_server_and_back_without_loss() {
    move_there_and_back("1.5.9");
}

#[test]
fn a_palace_moves_into_the_oldest_chroma_server_and_back_without_loss() {
    move_there_and_back("0.6.3");
}

#[test]
fn a_palace_in_a_chroma_server_is_filed_searched_and_named() {
    let home = new_home();
    let url = fresh_url("1.5.9", "used");
    home.run(&["init", "--palace", &url]).expect_code(0);
    let note = "the fox sleeps under the bridge";
    home.run(&["add", "--palace", &url, note]).expect_code(0);
    let found = home.json(0, &["search", "--palace", &url, "fox"]);
    assert_eq!(found["hits"][0]["text"], json!(note), "{found}");
    let status = home.run(&["status", "--palace", &url]).expect_code(0).out;
    assert!(status.contains("chroma-server"), "{status}");
    // Mining needs records of sources, which Chroma has no place for.
    let refused = home.run(&["mine", "--palace", &url, "."]).expect_code(2);
    assert!(refused.err.contains("does not offer sources"), "{}", refused.err);
}
