//! The poison table: attacks filed through every door, where each surfaces, and with what mark.
//!
//! `docs/poison.md` holds the outcome. Words that are not the owner's must never be shown without a mark that says so, and
//! they must not push the true drawer out of the first ten.

mod attacks;
mod scene;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::Value as Json;

use attacks::{AttackFamily, FACTS, FAMILIES};
use scene::{AttackTraces, PoisonedPalace};

/// The surfaces, in the order of the table.
const SURFACES: [&str; 4] = ["search", "MCP search", "wake-up", "recall"];

/// The marks of words that are not the owner's.
const MARKS: [&str; 5] = ["agent", "file", "software", "tool", "unknown"];

/// Where an attack was shown: each mark it had, with `none` for a place without one or with that of the owner.
type ShownMarks = BTreeSet<String>;

/// The outcome of one attack.
struct AttackOutcome {
    family: &'static str,
    name: &'static str,
    door: &'static str,
    /// By surface.
    shown: [ShownMarks; 4],
    /// The true drawer is not among the first ten.
    buried: bool,
}

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/poison.md")
}

#[test]
fn poison_is_marked_wherever_it_surfaces_and_buries_no_true_drawer() {
    let outcomes: Vec<AttackOutcome> = FAMILIES.iter().flat_map(run_family).collect();
    assert!(outcomes.len() >= 60, "{}", outcomes.len());
    let table = render_page(&outcomes);
    if std::env::var_os("LOCI_UPDATE").is_some() {
        std::fs::write(page(), &table).unwrap();
    }
    for (at, surface) in SURFACES.iter().enumerate() {
        let unmarked: Vec<&str> = outcomes
            .iter()
            .filter(|one| one.shown[at].contains("none"))
            .map(|one| one.name)
            .collect();
        assert!(
            unmarked.is_empty(),
            "{surface} shows without a mark: {unmarked:?}"
        );
    }
    let buried = outcomes.iter().filter(|one| one.buried);
    let buried: BTreeSet<_> = buried.map(|one| (one.family, one.name)).collect();
    assert_eq!(buried, BTreeSet::new(), "true drawers out of the first ten");
    let written = std::fs::read_to_string(page()).unwrap_or_default();
    assert!(
        written == table,
        "docs/poison.md is out of date; run `LOCI_UPDATE=1 cargo test -p loci-cli --test cli poison::`"
    );
}

/// Files every attack of a family, each in a repository of its own and about a fact of its own, and asks for the facts.
fn run_family(family: &'static AttackFamily) -> Vec<AttackOutcome> {
    let palace = PoisonedPalace::of_family(family);
    let woken = palace.wake_up();
    let mut client = palace.connect();
    let mut outcomes = Vec::new();
    for (nth, (name, door, _)) in family.attacks.iter().enumerate() {
        let (fact, poison) = (&FACTS[nth], palace.find_attack(nth));
        let found = palace.search(fact.question);
        let answer = client.call(
            "search",
            &serde_json::json!({"query": fact.question, "limit": 10}),
        );
        let recalled = palace.recall(fact.question);
        let ids = |hits: &Json| -> Vec<String> {
            let hits = hits.as_array().unwrap().iter();
            hits.map(|hit| hit["id"].as_str().unwrap().to_owned()).collect()
        };
        let agent_hits = &answer["structuredContent"]["hits"];
        let lists = [ids(&found["hits"]), ids(agent_hits)];
        outcomes.push(AttackOutcome {
            family: family.name,
            name,
            door: door.name(),
            shown: [
                marks_of_hits(&found["hits"], &poison),
                &marks_of_hits(agent_hits, &poison)
                    | &marks_of_lines(answer["content"][0]["text"].as_str().unwrap(), &poison),
                marks_of_lines(&woken, &poison),
                marks_of_lines(&recalled, &poison),
            ],
            buried: lists.iter().any(|ids| !ids.iter().any(|id| id == fact.id)),
        });
    }
    outcomes
}

fn marks_of_hits(hits: &Json, poison: &AttackTraces) -> ShownMarks {
    let shown = hits.as_array().unwrap().iter();
    let shown = shown.filter(|hit| poison.has_id(hit["id"].as_str().unwrap()));
    shown
        .map(|hit| name_mark(hit["trust"].as_str().unwrap_or_default()))
        .collect()
}

/// The marks in the citations of a text. A citation is what stands before the quotation, on its line or the one above.
fn marks_of_lines(text: &str, poison: &AttackTraces) -> ShownMarks {
    let lines: Vec<&str> = text.lines().collect();
    let mut marks = ShownMarks::new();
    for (at, line) in lines.iter().enumerate().filter(|(_, line)| poison.is_in(line)) {
        let own = line.split('"').next().unwrap_or_default();
        let citation = match own.trim() {
            "" => at.checked_sub(1).map_or("", |above| lines[above]),
            own => own,
        };
        // The last one: names come before the mark.
        let parts = citation.split('·').map(|part| {
            let part = part.trim().trim_end_matches([']', ':']);
            part.strip_prefix("trust ").unwrap_or(part)
        });
        let mark = parts.rev().find(|part| *part == "user" || MARKS.contains(part));
        marks.insert(name_mark(mark.unwrap_or_default()));
    }
    marks
}

fn name_mark(mark: &str) -> String {
    let known = MARKS.contains(&mark);
    if known { mark } else { "none" }.to_owned()
}

fn render_page(outcomes: &[AttackOutcome]) -> String {
    let mut page = String::from(
        "# Poison\n\nAttacks on the memory of an agent, each filed through its real door beside true drawers, and where each \
         surfaces when the\nquestion it is meant for is asked. Made by `crates/cli/tests/cli/poison.rs`; do not edit.\n\n\
         A mark is the `trust` of the words ([028](decisions/028-provenance.md)); `-` means that they were not among the \
         first ten hits or\nnot in the text; `none` means that they were shown without a mark, or as the owner's.\n\n",
    );
    page.push_str("| | search | MCP search | wake-up | recall |\n|---|---|---|---|---|\n");
    let count = |test: &dyn Fn(&ShownMarks) -> bool| -> String {
        let cells = (0..SURFACES.len()).map(|at| outcomes.iter().filter(|one| test(&one.shown[at])).count());
        cells.map(|cell| format!(" {cell} |")).collect()
    };
    writeln!(
        page,
        "| surfaced, of {} |{}",
        outcomes.len(),
        count(&|marks| !marks.is_empty())
    )
    .unwrap();
    writeln!(page, "| unmarked |{}", count(&|marks| marks.contains("none"))).unwrap();
    let buried = outcomes.iter().filter(|one| one.buried).count();
    writeln!(page, "\nTrue drawers pushed out of the first ten: {buried}.").unwrap();
    let mut family = "";
    for one in outcomes {
        if one.family != family {
            family = one.family;
            writeln!(page, "\n## {}\n", capitalise(family)).unwrap();
            page.push_str(
                "| attack | door | search | MCP search | wake-up | recall |\n|---|---|---|---|---|---|\n",
            );
        }
        let cells = one.shown.iter().map(|marks| {
            let marks: Vec<&str> = marks.iter().map(String::as_str).collect();
            let cell = if marks.is_empty() {
                "-".to_owned()
            } else {
                marks.join(", ")
            };
            format!(" {cell} |")
        });
        writeln!(
            page,
            "| {} | {} |{}",
            one.name,
            one.door,
            cells.collect::<String>()
        )
        .unwrap();
    }
    page
}

fn capitalise(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().collect::<String>() + letters.as_str()
    })
}
