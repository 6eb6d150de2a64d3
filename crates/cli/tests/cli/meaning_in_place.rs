//! Search by meaning in palaces of other programs, broken ones among them, without moving them.

use std::fs;
use std::path::Path;

use loci_testkit::{chroma_python, minilm_folder, run_command};
use serde_json::{Value as Json, json};

use super::{TempHome, new_home};

/// Questions whose words are not those of their answers.
const QUESTIONS: [&str; 4] = [
    "seafood allergy",
    "when is the release",
    "what broke the database",
    "pets at home",
];

/// Writes the lines of a file into a folder of Chroma's, saves its graph, and closes it.
const WRITER: &str = r#"
import json, sys, chromadb
folder, lines = sys.argv[1], [json.loads(line) for line in open(sys.argv[2])]
client = chromadb.PersistentClient(folder)
settings = {"hnsw:space": "cosine", "hnsw:batch_size": 10, "hnsw:sync_threshold": 20}
drawers = client.create_collection("mempalace_drawers", metadata=settings, embedding_function=None)
for at in range(0, len(lines), 20):
    part = lines[at : at + 20]
    drawers.add(
        ids=[line["id"] for line in part],
        documents=[line["text"] for line in part],
        embeddings=[line["embedding"] for line in part],
        metadatas=[{"wing": "home", "room": "notes"} for line in part],
    )
"#;

/// A home with a palace by this model, and the lines of its drawers with their vectors.
fn with_notes(model: &str) -> (TempHome, Vec<Json>) {
    let home = new_home();
    run(&home, 0, &["init", "--embedder", model]);
    let told = [
        "Ana must not eat shrimps, mussels or crab.",
        "We ship on Thursdays, after the tests are green.",
        "The migration of the orders table ran out of disk space.",
        "The cat sleeps on the radiator, the dog under the table.",
    ];
    let topics = ["invoices", "trains", "gardening", "paint", "bicycles", "weather"];
    let others = (0..76).map(|at| {
        let topic = topics[at % topics.len()];
        format!("Note {at}: Ben wrote about {topic} on page {}.", at * 7 % 50)
    });
    let texts = told.map(str::to_owned).into_iter().chain(others);
    let lines = texts.map(|text| json!({"text": text}).to_string());
    home.write("notes.jsonl", lines.collect::<Vec<_>>().join("\n"));
    run(&home, 0, &["import", "notes.jsonl"]);
    let exported = run(&home, 0, &["export", "--embeddings"]).out;
    let lines = exported
        .lines()
        .map(|line| serde_json::from_str::<Json>(line).unwrap());
    let drawers: Vec<Json> = lines.filter(|line| line["embedding"].is_array()).collect();
    assert_eq!(drawers.len(), 80);
    (home, drawers)
}

/// Runs with the full model installed.
fn run(home: &TempHome, code: i32, args: &[&str]) -> loci_testkit::CommandOutcome {
    let mut command = home.command(args);
    command.env("LOCI_MODELS", minilm_folder().parent().unwrap());
    run_command(command, b"").expect_code(code)
}

fn write_chroma(home: &TempHome, release: &str, folder: &str, drawers: &[Json]) {
    let lines: Vec<String> = drawers.iter().map(Json::to_string).collect();
    let file = home.write("drawers.jsonl", lines.join("\n"));
    let mut python = chroma_python(release);
    python.args(["-c", WRITER]).arg(home.path(folder)).arg(file);
    let output = python.output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "chromadb {release}: {error}");
}

/// Overwrites every link of the graph and deletes those above level 0: Chroma crashes, and the vectors are all there.
fn break_links(folder: &Path) {
    let mut broken = 0;
    for entry in fs::read_dir(folder).unwrap() {
        let graph = entry.unwrap().path();
        let Ok(header) = fs::read(graph.join("header.bin")) else {
            continue;
        };
        let number = |at: usize| u64::from_le_bytes(header[at..at + 8].try_into().unwrap()) as usize;
        let (size, vector) = (number(28), number(44));
        let level0 = graph.join("data_level0.bin");
        let mut bytes = fs::read(&level0).unwrap();
        for element in bytes.chunks_exact_mut(size) {
            element[4..vector].fill(0xEE);
        }
        fs::write(level0, bytes).unwrap();
        fs::remove_file(graph.join("link_lists.bin")).unwrap();
        broken += 1;
    }
    assert_eq!(broken, 1, "the graph was saved");
}

/// The hits and the verdict of a search that covered all drawers by meaning.
fn hits(home: &TempHome, palace: &str, question: &str, more: &[&str]) -> Json {
    let args = [
        &["--json", "search", question, "--palace", palace, "-n", "7"],
        more,
    ]
    .concat();
    let mut command = home.command(&args);
    command.env("LOCI_MODELS", minilm_folder().parent().unwrap());
    let found = run_command(command, b"");
    let report = found.json();
    assert_eq!(report["legs"]["nearest"]["ran"], true, "{report}");
    assert_eq!(report["legs"]["nearest"]["coverage"], 1.0, "{report}");
    json!({"hits": report["hits"], "verdict": report["verdict"], "code": found.code})
}

/// Expects the same hits in place and after the move, for every question and by both ways of ranking.
#[track_caller]
fn same_hits(home: &TempHome, palace: &str, moved: &str, named: &[&str]) {
    for question in QUESTIONS {
        for only in [&[][..], &["--only", "meaning"]] {
            let here = hits(home, palace, question, &[only, named].concat());
            let there = hits(home, moved, question, only);
            assert_eq!(here, there, "{palace} {question:?} {only:?}");
        }
    }
    let first = hits(
        home,
        palace,
        QUESTIONS[0],
        &[&["--only", "meaning"], named].concat(),
    );
    let first = &first["hits"];
    assert!(first[0]["text"].as_str().unwrap().contains("shrimps"), "{first}");
}

#[test]
fn a_broken_folder_that_records_its_model_is_searched_by_meaning_as_after_a_move() {
    for release in ["0.6.3", "1.5.9"] {
        let (home, drawers) = with_notes("minilm");
        write_chroma(&home, release, "chroma", &drawers);
        let record = json!({"mempalace_drawers": {"model_name": "minilm", "dimension": 384}});
        home.write("chroma/mempalace_embedder.json", record.to_string());
        break_links(&home.path("chroma"));
        run(&home, 1, &["doctor", "./chroma"]);
        run(&home, 0, &["migrate", "--from", "./chroma", "--to", "./moved"]);
        same_hits(&home, "./chroma", "./moved", &[]);
        // Naming the recorded model changes nothing.
        same_hits(&home, "./chroma", "./moved", &["--embedder", "minilm"]);
    }
}

#[test]
fn a_broken_folder_without_a_record_is_searched_by_the_model_that_is_named() {
    let (home, drawers) = with_notes("builtin");
    write_chroma(&home, "1.5.9", "chroma", &drawers);
    break_links(&home.path("chroma"));
    let unnamed = run(&home, 0, &["search", "Ana shrimps", "--palace", "./chroma"]);
    assert!(unnamed.err.contains("--embedder minilm"), "{}", unnamed.err);
    run(&home, 0, &["migrate", "--from", "./chroma", "--to", "./moved"]);
    run(&home, 0, &["embedder", "set", "builtin", "--palace", "./moved"]);
    same_hits(&home, "./chroma", "./moved", &["--embedder", "builtin"]);
    let id = drawers[0]["id"].as_str().unwrap();
    let args = ["--json", "why-not", id, QUESTIONS[0], "--palace", "./chroma"];
    let told = run(&home, 0, &[&args[..], &["--embedder", "builtin"]].concat()).json();
    assert!(told["nearest"]["rank"].is_u64(), "{told}");
}

#[test]
fn an_exact_palace_is_searched_by_the_model_that_is_named() {
    let (home, drawers) = with_notes("builtin");
    let rows: Vec<_> = drawers
        .iter()
        .map(|drawer| {
            let values = drawer["embedding"].as_array().unwrap().iter();
            let vector: Vec<f32> = values.map(|value| value.as_f64().unwrap() as f32).collect();
            let text = |key: &str| drawer[key].as_str().unwrap().to_owned();
            let metadata = json!({"wing": "home", "room": "notes"});
            (text("id"), text("text"), metadata, vector)
        })
        .collect();
    super::mempalace::write_exact(&home, "exact", &rows);
    run(&home, 0, &["migrate", "--from", "./exact", "--to", "./moved"]);
    run(&home, 0, &["embedder", "set", "builtin", "--palace", "./moved"]);
    same_hits(&home, "./exact", "./moved", &["--embedder", "builtin"]);
}

#[test]
fn a_model_that_did_not_make_the_vectors_is_refused() {
    let (home, drawers) = with_notes("minilm");
    // The vectors of others: right in number, wrong in every direction.
    let turned = drawers.iter().zip(drawers.iter().cycle().skip(1));
    let turned: Vec<Json> = turned
        .map(|(drawer, other)| json!({"id": drawer["id"], "text": drawer["text"], "embedding": other["embedding"]}))
        .collect();
    write_chroma(&home, "1.5.9", "chroma", &turned);
    let refused = |name: &str| {
        let args = [
            "--json",
            "search",
            QUESTIONS[0],
            "--palace",
            "./chroma",
            "--embedder",
            name,
        ];
        run(&home, 2, &args).expect_error()
    };
    let (kind, message) = refused("minilm");
    assert_eq!(kind, "identity_mismatch", "{message}");
    assert!(
        message.contains("of 8 texts, it makes the stored vectors of 0"),
        "{message}"
    );
    let (kind, message) = refused("builtin");
    assert_eq!(kind, "dimension_mismatch", "{message}");
    let (kind, message) = refused("none");
    assert!(
        kind == "invalid" && message.contains("makes no vectors to search by"),
        "{message}"
    );
    // By words it is still found.
    let found = run(
        &home,
        0,
        &["search", "--only", "words", "shrimps", "--palace", "./chroma"],
    );
    assert!(found.out.contains("shrimps"), "{}", found.out);
}
