//! How well the product finds evidence: sets with known answers are mined and searched as users would.

mod ask;
mod chart;
mod embedding;
mod honesty;
mod metrics;
mod palace;
mod results;
mod sets;

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use serde_json::{Map, Value as Json, json};

use ask::{RetrievalWay, ask};
use chart::ChartPanel;
use embedding::EvalEmbedder;
use palace::EvalPalace;
use results::{EvalResults, title};
use sets::EvalSet;

/// What came of something here.
pub(crate) type EvalResult<T> = Result<T, Box<dyn std::error::Error>>;

/// What to measure.
#[derive(Debug, clap::Args)]
pub(crate) struct EvalOptions {
    /// The folder that holds `locomo/` and `longmemeval/`, one of the two, or a file of LoCoMo.
    folder: PathBuf,
    /// Which set.
    #[arg(long, value_enum, default_value_t = EvalSetChoice::All)]
    set: EvalSetChoice,
    /// Embed with the full model in this folder.
    #[arg(long, conflicts_with = "table")]
    minilm: Option<PathBuf>,
    /// Embed with this table in place of the one built in.
    #[arg(long)]
    table: Option<PathBuf>,
    /// A wing for each conversation or haystack, or one for the whole set.
    #[arg(long, value_enum, default_value_t = WingLayout::Each)]
    wings: WingLayout,
    /// How many hits each way gives.
    #[arg(long, default_value_t = 50, value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    hits: usize,
    /// Write `questions.jsonl`, `table.md` and `recall.svg` into this folder, and `honesty.jsonl` if that was measured.
    #[arg(long)]
    out: Option<PathBuf>,
    /// Only the first so many questions of each set.
    #[arg(long)]
    questions: Option<usize>,
    /// Also ask questions that have no answer, and tell how well the confidence tells them apart.
    #[arg(long)]
    honesty: bool,
}

/// Which sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum EvalSetChoice {
    Locomo,
    Longmemeval,
    All,
    /// Both, in one wing among the filler sessions of `dayzero/`.
    Pool,
}

/// How a set is filed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum WingLayout {
    /// Everything in one wing.
    One,
    /// A wing for each conversation or haystack.
    Each,
}

/// How a set is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EvalSettings {
    wings: WingLayout,
    hits: usize,
    honesty: bool,
}

impl WingLayout {
    fn told(self) -> &'static str {
        match self {
            Self::One => "one wing for the whole set",
            Self::Each => "one wing for each conversation or haystack",
        }
    }
}

/// Measures the sets.
pub(crate) fn run(options: &EvalOptions) -> EvalResult<Json> {
    let embedders = embedder(options)?;
    let (wings, hits) = (options.wings, options.hits);
    let settings = EvalSettings {
        wings,
        hits,
        honesty: options.honesty,
    };
    let mut sets = sets::load(&options.folder, options.set)?;
    for set in &mut sets {
        set.questions.truncate(options.questions.unwrap_or(usize::MAX));
    }
    let all: Vec<EvalResults<'_>> = sets
        .iter()
        .map(|set| measure(set, settings, &embedders))
        .collect::<EvalResult<_>>()?;
    let told = format!("{}; {}; {hits} hits a question", embedders.name(), wings.told());
    let tables: String = all
        .iter()
        .map(|results| format!("\n{}", results.table()))
        .collect();
    let table = format!("{told}\n{tables}");
    writeln!(io::stderr(), "{table}")?;
    if let Some(folder) = &options.out {
        write(folder, &all, &table)?;
    }
    let figures = all
        .iter()
        .map(|results| (results.set.name.to_owned(), results.json()));
    Ok(json!({
        "embedder": embedders.name(),
        "each_distinct_text_embedded_once": options.minilm.is_some(),
        "wings": wings.told(),
        "hits_asked": hits,
        "sets": figures.collect::<Map<_, _>>(),
    }))
}

fn embedder(options: &EvalOptions) -> EvalResult<EvalEmbedder> {
    match (&options.minilm, &options.table) {
        (Some(folder), _) => EvalEmbedder::minilm(folder),
        (None, Some(file)) => EvalEmbedder::table(file),
        (None, None) => EvalEmbedder::builtin(),
    }
}

fn measure<'a>(set: &'a EvalSet, how: EvalSettings, embedders: &EvalEmbedder) -> EvalResult<EvalResults<'a>> {
    let palace = EvalPalace::of(set, how.wings, embedders)?;
    let asked = set.questions.iter().map(|question| {
        ask(&palace, embedders, set, how, question)
            .map_err(|error| format!("{}: {error}", question.id).into())
    });
    let asked = asked.collect::<EvalResult<_>>()?;
    let honesty = if how.honesty {
        honesty::ask_variants(&palace, embedders, set, how)?
    } else {
        Vec::new()
    };
    Ok(EvalResults {
        set,
        asked,
        honesty,
        drawers: palace.drawers,
        mined: palace.mined,
    })
}

fn write(folder: &Path, all: &[EvalResults<'_>], table: &str) -> EvalResult<()> {
    fs::create_dir_all(folder)?;
    let lines = all
        .iter()
        .flat_map(EvalResults::lines)
        .map(|line| format!("{line}\n"));
    fs::write(folder.join("questions.jsonl"), lines.collect::<String>())?;
    let honesty = all.iter().flat_map(|results| {
        let asked = results.honesty.iter();
        asked.map(|asked| format!("{}\n", honesty::line(results.set.name, asked)))
    });
    let honesty: String = honesty.collect();
    if !honesty.is_empty() {
        fs::write(folder.join("honesty.jsonl"), honesty)?;
    }
    fs::write(folder.join("table.md"), table)?;
    let panels: Vec<ChartPanel<'_>> = all
        .iter()
        .map(|results| ChartPanel {
            title: title(results.set.name),
            curves: RetrievalWay::ALL.map(|way| results.curve(way)),
        })
        .collect();
    fs::write(folder.join("recall.svg"), chart::draw(&panels))?;
    Ok(())
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: a panic is a red line"
)]
mod tests {
    use super::*;

    fn conversation([speaker, other, place, colour]: [&str; 4]) -> Json {
        json!({
            "conversation": {
                "speaker_a": speaker, "speaker_b": other,
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [
                    {"speaker": speaker, "dia_id": "D1:1", "text": format!("I keep my bees {place}.")},
                    {"speaker": other, "dia_id": "D1:2", "text": "The weather was lovely at the lake."},
                ],
                "session_2_date_time": "3:00 pm on 9 May, 2023",
                "session_2": [{"speaker": other, "dia_id": "D2:1", "text": format!("We painted the kitchen {colour}.")}],
            },
            "qa": [
                {"question": format!("Where does {speaker} keep bees?"), "category": 4, "evidence": ["D1:1"]},
                {"question": "Which colour has the kitchen?", "category": 4, "evidence": ["D2:1"]},
            ],
        })
    }

    #[test]
    fn a_set_is_mined_searched_and_written_down() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("talks.json");
        let talks = json!([
            conversation(["Ada", "Ben", "on the roof", "yellow"]),
            conversation(["Cleo", "Dan", "behind the barn", "blue"]),
        ]);
        fs::write(&file, talks.to_string()).unwrap();
        let out = folder.path().join("out");
        // In one wing the kitchen of either conversation may come first.
        for (wings, kitchen) in [(WingLayout::Each, 1), (WingLayout::One, 2)] {
            let figures = run(&EvalOptions {
                folder: file.clone(),
                set: EvalSetChoice::All,
                minilm: None,
                table: None,
                wings,
                out: Some(out.clone()),
                hits: 50,
                questions: None,
                honesty: true,
            })
            .unwrap();
            let set = &figures["sets"]["locomo"];
            assert_eq!((&set["drawers"], &set["questions"]), (&json!(6), &json!(4)));
            assert_eq!(set["figures"]["fused"]["session recall@5"], 1.0);
            let lines = fs::read_to_string(out.join("questions.jsonl")).unwrap();
            let lines: Vec<Json> = lines
                .lines()
                .map(|line| serde_json::from_str(line).unwrap())
                .collect();
            let rank = |at: usize| lines[at]["ways"]["fused"]["gold_turn_ranks"][0].as_u64().unwrap();
            assert_eq!(
                (rank(0), rank(2)),
                (1, 1),
                "the bees are told apart by who keeps them"
            );
            assert!((1..=kitchen).contains(&rank(1)) && (1..=kitchen).contains(&rank(3)));
            assert!(
                rank(1) + rank(3) > kitchen,
                "in one wing only one of two can be first"
            );
            // Each question as it is and without its evidence; with a wing each, also of the other conversation.
            let honesty = fs::read_to_string(out.join("honesty.jsonl")).unwrap();
            let variants = if wings == WingLayout::Each { 3 } else { 2 };
            assert_eq!(honesty.lines().count(), 4 * variants);
            let area = |variant: &str| set["honesty"][variant]["auroc"].as_f64();
            assert!(area("evidence removed").is_some_and(|area| area >= 0.5));
            // In one wing for the whole set there is no other haystack to ask.
            assert_eq!(area("another haystack").is_some(), wings == WingLayout::Each);
            assert!(
                fs::read_to_string(out.join("table.md"))
                    .unwrap()
                    .contains("LoCoMo: 4 questions")
            );
            assert!(
                fs::read_to_string(out.join("recall.svg"))
                    .unwrap()
                    .ends_with("</svg>\n")
            );
        }
    }
}
