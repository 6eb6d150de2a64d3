//! `loci search`: drawers found by meaning and by keyword.

mod passage;
mod question;
mod shown;

use clap::ValueEnum;
use clap::builder::RangedU64ValueParser;
use loci_core::Error;
use loci_engine::search::{SearchReport, SearchRequest, SearchRetriever, SearchVerdict};

use crate::errors::{CommandResult, ExitStatus};
use crate::input;
use crate::render::warn_of_damage;
use crate::session::CommandSession;

pub(crate) use question::QuestionArgs;
use shown::HitLayout;

/// Find drawers by meaning and by keyword
///
/// Both retrievers search everything in scope, and their rankings are fused. A time in the query ("last May",
/// "in 2023-05", "yesterday") ranks drawers from that time higher. Near-duplicates are shown once, with the other
/// places they appear in. A score is the probability that a hit holds an answer. Exits with 1 if nothing is found, or if no
/// drawer contains any of the words.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  loci search 'when do we ship?'
  loci search invoice --wing work --since 2026-01-01 -n 3
  loci search 'what broke last week' --context 1 --explain
  loci search --only words 'E0502 borrow'
  loci search --palace ~/.mempalace/palace --embedder minilm 'what did we decide?'
  loci search --vector @question.json --json")]
pub(crate) struct SearchArgs {
    /// A question, or some words
    #[arg(value_name = "QUERY", required_unless_present = "vector")]
    query: Vec<String>,

    /// Rank by one retriever alone
    ///
    /// Its ranking is shown as it is: without fusion, boosts for times, or folding of near-duplicates.
    #[arg(long, value_name = "RETRIEVER", conflicts_with = "recent")]
    only: Option<RetrieverChoice>,

    /// Search for this vector instead of a query: a JSON array, or @FILE
    #[arg(long, value_name = "JSON|@FILE", conflicts_with_all = ["query", "recent", "embedder"])]
    vector: Option<String>,

    /// Compare every vector even in a palace with approximate answers; refuse a backend that cannot
    #[arg(long)]
    exact: bool,

    #[command(flatten)]
    question: QuestionArgs,

    /// Also show N neighbours on each side of a hit
    #[arg(long, value_name = "N", default_value = "0",
        value_parser = RangedU64ValueParser::<usize>::new().range(..=1000))]
    context: usize,

    /// Show the whole text of every hit
    #[arg(long)]
    full: bool,

    /// Show how the query was read and why each hit ranked
    #[arg(long)]
    explain: bool,

    /// Continue an earlier search: its `next`, with the same query and scope
    #[arg(long, value_name = "CURSOR")]
    cursor: Option<String>,
}

/// The retriever that ranks alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum RetrieverChoice {
    /// Keywords, scored with BM25.
    Words,
    /// Distances of vectors.
    Meaning,
}

impl From<RetrieverChoice> for SearchRetriever {
    fn from(choice: RetrieverChoice) -> Self {
        match choice {
            RetrieverChoice::Words => Self::Words,
            RetrieverChoice::Meaning => Self::Meaning,
        }
    }
}

/// Searches the palace.
pub(crate) fn run(args: &SearchArgs, session: &mut CommandSession) -> CommandResult {
    let request = read_request(args)?;
    let report = args.question.open_palace(session)?.search(&request)?;
    show_answer(report, args, session)
}

fn read_request(args: &SearchArgs) -> Result<SearchRequest, Error> {
    let vector = args.vector.as_deref().map(input::read_vector).transpose()?;
    let request = SearchRequest {
        context: args.context,
        cursor: args.cursor.clone(),
        only: args.only.map(SearchRetriever::from),
        exact: args.exact,
        vector,
        ..args.question.build_request(&args.query)?
    };
    request.check()?;
    Ok(request)
}

fn show_answer(mut report: SearchReport, args: &SearchArgs, session: &mut CommandSession) -> CommandResult {
    let out = &mut session.out;
    if out.is_json() {
        report.plan = report.plan.filter(|_| args.explain);
        out.write_json(&report)?;
    } else {
        let layout = HitLayout {
            width: out.columns(),
            full: args.full,
            explain: args.explain,
        };
        out.write_page(|page| shown::write_answer(&report, layout, page))?;
        out.flush()?;
        for note in shown::list_notes(&report, args.question.n) {
            out.note(&note);
        }
        // There is nearly always a next page; only a reader who already turned one wants to hear of it.
        if let Some(next) = report.next.as_deref().filter(|_| args.cursor.is_some()) {
            out.note(&format!("more hits: --cursor {next}"));
        }
    }
    warn_of_damage(report.hits.iter().map(|hit| &hit.drawer), out);
    out.warnings(&report.warnings);
    let speaks = report
        .verdict
        .as_ref()
        .is_none_or(SearchVerdict::speaks_for_answer);
    Ok(ExitStatus::from_found(!report.hits.is_empty() && speaks))
}
