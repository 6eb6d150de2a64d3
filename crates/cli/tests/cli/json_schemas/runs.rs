//! Runs of every command with `--json`, in a home with files, a conversation and other programs' data.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::Stdio;

use loci_testkit::chroma_folder;
use rusqlite::Connection;
use serde_json::Value as Json;

use crate::server::Server;
use crate::{TempHome, new_home};

/// The documents of every command line, under the line as the registry spells it.
pub(super) type PrintedDocuments = Vec<(&'static str, Vec<Json>)>;

const CONVERSATION: &str =
    r#"[{"role":"user","content":"When do we ship?"},{"role":"assistant","content":"On Thursdays."}]"#;

/// A home and what its commands printed so far.
struct CommandRuns {
    home: TempHome,
    printed: PrintedDocuments,
}

impl CommandRuns {
    /// Runs a command line, of which only the exit status 2 is wrong.
    fn run(&mut self, command: &'static str, args: &[&str]) -> Json {
        let mut all = vec!["--json"];
        all.extend(args);
        let outcome = self.home.run(&all);
        assert!(outcome.code < 2, "{args:?}: {outcome:?}");
        let documents = outcome.json_lines();
        let first = documents.first().cloned().unwrap_or_default();
        self.printed.push((command, documents));
        first
    }
}

/// Runs every command that can be run here.
pub(super) fn run_every_command() -> PrintedDocuments {
    let mut runs = CommandRuns {
        home: new_home(),
        printed: Vec::new(),
    };
    let missing = runs.home.run(&["--json", "count"]).expect_code(2).json();
    runs.printed.push(("an error", vec![missing]));
    let usage = runs
        .home
        .run(&["--json", "count", "--wrong"])
        .expect_code(2)
        .json();
    runs.printed.push(("an error", vec![usage]));
    run_filing(&mut runs);
    run_lookups(&mut runs);
    run_agents(&mut runs);
    run_models(&mut runs);
    run_keeping(&mut runs);
    run_repairs(&mut runs);
    run_changes(&mut runs);
    run_team(&mut runs);
    runs.printed
}

fn run_filing(runs: &mut CommandRuns) {
    runs.run("loci palaces", &["palaces"]);
    runs.run("loci init", &["init"]);
    runs.run(
        "loci add TEXT",
        &[
            "add",
            "We ship on Thursdays.",
            "--wing",
            "work",
            "--room",
            "plans",
            "--id",
            "ship",
            "--source",
            "diary",
            "--speaker",
            "ada",
            "--kind",
            "note",
            "--said-at",
            "2026-05-01",
            "--meta",
            r#"{"n":3,"tags":["a","b"]}"#,
        ],
    );
    runs.run(
        "loci add TEXT",
        &["add", "We ship on Thursdays.", "--wing", "work", "--id", "ship"],
    );
    let lines = runs.home.write(
        "lines.jsonl",
        "{\"id\":\"a\",\"text\":\"Tea at four.\"}\n{\"id\":\"b\",\"text\":\"Tea at five.\"}\n",
    );
    runs.run(
        "loci add --jsonl FILE",
        &["add", "--jsonl", &lines, "--batch", "1"],
    );
    fs::create_dir(runs.home.path("notes")).unwrap();
    runs.home.write(
        "notes/plan.md",
        "# Plan\n\nWe move to the new house in June.\n".repeat(80),
    );
    runs.home.write("notes/gone.md", "This file goes away.\n");
    runs.home.write("notes/.hidden", "hidden");
    runs.home.write("notes/broken.pdf", b"%PDF-1.4 \x00\x01");
    runs.home.write("notes/chat.json", CONVERSATION);
    let notes = runs.home.path("notes").to_str().unwrap().to_owned();
    runs.run("loci mine PATH", &["mine", &notes, "--dry-run"]);
    runs.run("loci mine PATH", &["mine", &notes]);
    fs::remove_file(runs.home.path("notes/gone.md")).unwrap();
    runs.run("loci mine PATH", &["mine", &notes]);
    runs.run("loci palaces", &["palaces"]);
}

fn run_lookups(runs: &mut CommandRuns) {
    for args in [
        &["search", "when do we ship last May"] as &[&str],
        &["search", "house", "--explain", "--full"],
        &["search", "--only", "words", "tea"],
        &["search", "--only", "meaning", "tea", "-n", "1"],
        &["search", "tea", "--wing", "wrok"],
    ] {
        runs.run("loci search QUERY", args);
    }
    runs.run("loci wake-up", &["wake-up"]);
    runs.run("loci wake-up", &["wake-up", "--wing", "wrok"]);
    runs.run("loci show ID", &["show", "ship", "nothing", "--embeddings"]);
    let page = runs.run("loci list", &["list", "--source", "plan.md", "-n", "2"]);
    let piece = page["drawers"][0]["id"].as_str().unwrap().to_owned();
    runs.run("loci show ID --context N", &["show", &piece, "--context", "1"]);
    runs.run("loci list", &["list", "--embeddings"]);
    runs.run("loci list", &["list", "--room", "plan"]);
    runs.run("loci neighbours ID", &["neighbours", &piece]);
    runs.run("loci neighbours ID", &["neighbours", "nothing"]);
    runs.run("loci cat SOURCE", &["cat", "plan.md"]);
    runs.run("loci cat SOURCE", &["cat", "chat.json"]);
    runs.run("loci cat SOURCE", &["cat", "nothing.md"]);
    runs.run("loci timeline", &["timeline"]);
    runs.run("loci timeline", &["timeline", "--by", "day"]);
    runs.run("loci wings", &["wings"]);
    runs.run("loci wings", &["wings", "--by", "wing,room,source,speaker,kind"]);
    runs.run("loci count", &["count"]);
    runs.run("loci count", &["count", "--wing", "wrok"]);
    runs.run("loci changes", &["changes", "-n", "3"]);
    runs.run("loci why-not ID QUERY", &["why-not", "ship", "tea"]);
    runs.run(
        "loci why-not ID QUERY",
        &["why-not", "ship", "ship", "--wing", "wrok"],
    );
    runs.run("loci status", &["status"]);
    runs.run("loci key export FILE", &["key", "export", "palace.key"]);
    runs.run("loci key import FILE", &["key", "import", "palace.key"]);
    runs.run("loci key show", &["key", "show"]);
    runs.run("loci key rotate", &["key", "rotate"]);
    runs.run("loci unseal ID", &["unseal", "tea"]);
    runs.run("loci seal", &["seal"]);
    runs.run("loci seal", &["seal", "--policy", "seal"]);
    runs.run("loci forget ID", &["forget", "tea"]);
    runs.run("loci forget ID", &["forget", "none-such"]);
    let lines = runs.home.write("check.txt", "ship\nnone-such-word\n");
    runs.run("loci forget --check FILE", &["forget", "--check", &lines]);
    runs.run("loci backends", &["backends"]);
    runs.run(
        "loci backend test",
        &["backend", "test", "embedded", "--only", "capabilities"],
    );
    let workload = runs.home.write("w.json", r#"{"rounds": 2, "filters": [5]}"#);
    let bench = ["bench", "--rows", "30", "--dim", "4", "--workload", &workload];
    let report = runs.run("loci bench", &bench);
    let report = runs.home.write("report.json", report.to_string());
    runs.run("loci bench compare A B", &["bench", "compare", &report, &report]);
    runs.run("loci completions SHELL", &["completions", "bash"]);
    runs.run("loci man", &["man"]);
    runs.run("loci man DIR", &["man", "pages"]);
}

fn run_agents(runs: &mut CommandRuns) {
    runs.run(
        "loci connect TOOL --print",
        &["connect", "claude-code", "--print"],
    );
    runs.run("loci connect TOOL", &["connect", "claude-code"]);
    let sessions = runs.home.path(".claude/projects/-home-ada");
    fs::create_dir_all(&sessions).unwrap();
    fs::write(sessions.join("one.jsonl"), "{}\n").unwrap();
    runs.run("loci connect TOOL", &["connect", "claude-code", "--yes"]);
    runs.run("loci connect", &["connect"]);
    runs.home.write(".claude.json", "{broken");
    runs.run("loci connect", &["connect"]);
    run_server("loci mcp --http", &["mcp", "--http", "127.0.0.1:0"], runs);
    run_server("loci web", &["web", "--no-open", "--port", "0"], runs);
    let page = ["web", "--export", "page.html", "--wing", "work", "--wing", "wrok"];
    runs.run("loci web --export FILE", &page);
}

fn run_team(runs: &mut CommandRuns) {
    runs.run(
        "loci serve user add NAME",
        &["serve", "user", "add", "anna", "--rights", "work:write"],
    );
    let rights = ["serve", "user", "rights", "anna", "work:write", "*:read"];
    runs.run("loci serve user rights NAME GRANT", &rights);
    runs.run(
        "loci serve user password NAME",
        &["serve", "user", "password", "anna", "--remove"],
    );
    let make = ["serve", "token", "make", "anna"];
    let narrow = ["--rights", "work:read", "--expires", "30d", "--label", "laptop"];
    runs.run("loci serve token make USER", &[&make[..], &narrow].concat());
    let made = runs.run("loci serve token make USER", &make);
    let id = made["token"]["id"].as_str().unwrap();
    let keep = ["serve", "token", "rotate", id, "--keep-old", "1h"];
    runs.run("loci serve token rotate ID", &keep);
    runs.run("loci serve token list", &["serve", "token", "list"]);
    runs.run("loci serve token revoke ID", &["serve", "token", "revoke", id]);
    runs.run(
        "loci serve user disable NAME",
        &["serve", "user", "disable", "anna"],
    );
    runs.run("loci serve user list", &["serve", "user", "list"]);
    runs.run(
        "loci serve user enable NAME",
        &["serve", "user", "enable", "anna"],
    );
    runs.run(
        "loci serve user remove NAME",
        &["serve", "user", "remove", "anna"],
    );
    runs.run("loci serve token list", &["serve", "token", "list"]);
    runs.run("loci serve audit show", &["serve", "audit", "show", "-n", "3"]);
    runs.run("loci serve audit head", &["serve", "audit", "head"]);
    let wrong = format!("loci-audit-head:99:{}", "0".repeat(64));
    runs.run("loci serve audit verify", &["serve", "audit", "verify"]);
    runs.run(
        "loci serve audit verify",
        &["serve", "audit", "verify", "--head", &wrong],
    );
}

/// Starts a server, which serves until it is ended; its address is all that it prints.
fn run_server(command: &'static str, args: &[&str], runs: &mut CommandRuns) {
    let mut server = runs.home.command(args);
    let mut server = server
        .arg("--json")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(server.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    runs.printed
        .push((command, vec![serde_json::from_str(&line).unwrap()]));
}

fn run_models(runs: &mut CommandRuns) {
    let server = Server::start();
    runs.run(
        "loci model install NAME --url URL",
        &[
            "model",
            "install",
            "tiny",
            "--url",
            &server.url,
            "--model",
            "tiny",
        ],
    );
    runs.run("loci model list", &["model", "list"]);
    runs.run("loci model verify", &["model", "verify"]);
    runs.run("loci embedder show", &["embedder", "show"]);
    runs.run("loci embedder set MODEL", &["embedder", "set", "builtin"]);
    runs.run("loci embedder switch MODEL", &["embedder", "switch", "tiny"]);
    runs.run(
        "loci embedder switch MODEL",
        &["embedder", "switch", "--rollback"],
    );
    runs.run("loci embedder show", &["embedder", "show"]);
    runs.run("loci model remove NAME", &["model", "remove", "tiny"]);
    runs.run("loci model remove NAME", &["model", "remove", "minilm"]);
}

fn run_keeping(runs: &mut CommandRuns) {
    runs.run("loci export", &["export", "--embeddings"]);
    runs.run("loci export -o FILE", &["export", "--all", "-o", "all.jsonl"]);
    runs.home.write(
        "bad.jsonl",
        "{\"id\":\"c\",\"document\":\"Tea at six.\"}\n{broken\n",
    );
    runs.run("loci import FILE", &["import", "bad.jsonl"]);
    runs.run("loci import FILE", &["import", "all.jsonl"]);
    make_memtomem(&runs.home.path("memtomem.db"));
    runs.run("loci import DATABASE", &["import", "memtomem.db"]);
    runs.run("loci backup DEST", &["backup", "copies", "--keep", "1"]);
    let copy = runs.run("loci backup DEST", &["backup", "copies", "--keep", "1"]);
    let copy = copy["file"].as_str().unwrap().to_owned();
    runs.run("loci restore FILE", &["restore", &copy, "--palace", "./again"]);
    copy_folder(
        &chroma_folder().join("1.5.9/flushed/db"),
        &runs.home.path("chroma"),
    );
    runs.run(
        "loci migrate --from REF --to REF",
        &["migrate", "--from", "./chroma", "--to", "./moved"],
    );
    runs.run("loci status", &["status", "--palace", "./moved"]);
}

fn run_repairs(runs: &mut CommandRuns) {
    runs.run("loci verify", &["verify"]);
    runs.run("loci verify", &["verify", "--against", "./again"]);
    let file = runs.home.path("again/palace.db");
    runs.run(
        "loci rescue PATH --to REF",
        &["rescue", file.to_str().unwrap(), "--to", "./rescued"],
    );
    runs.run("loci doctor REF", &["doctor"]);
    runs.run("loci doctor REF", &["doctor", "./chroma"]);
    runs.run(
        "loci doctor REF --fix STEP",
        &["doctor", "./chroma", "--fix", "quarantine"],
    );
    runs.run(
        "loci doctor REF --fix STEP",
        &["doctor", "./chroma", "--fix", "quarantine", "--yes"],
    );
    for args in [
        &["maintain", "analyze"] as &[&str],
        &["maintain", "reindex"],
        &["maintain", "compact", "--drop-retired"],
    ] {
        runs.run("loci maintain KIND", args);
    }
}

fn run_changes(runs: &mut CommandRuns) {
    runs.run("loci sync", &["sync"]);
    runs.run(
        "loci move ID",
        &["move", "ship", "nothing", "--to-room", "dates", "--yes"],
    );
    runs.run("loci delete ID", &["delete", "--wing", "work"]);
    runs.run("loci delete ID", &["delete", "ship", "nothing", "--yes"]);
    runs.run("loci delete ID", &["delete", "--wing", "wrok"]);
    runs.run("loci changes", &["changes"]);
}

fn make_memtomem(path: &Path) {
    let database = Connection::open(path).unwrap();
    database.execute_batch(crate::memtomem::TABLES).unwrap();
    let chunk = "INSERT INTO chunks(id, content, content_hash, source_file) VALUES
        ('one', 'Tea at seven.', 'x', '/notes/a.md'), ('two', 'Tea at seven.', 'x', '/notes/a.md')";
    database.execute_batch(chunk).unwrap();
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let target = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy_folder(&path, &target);
        } else {
            fs::copy(&path, &target).unwrap();
        }
    }
}
