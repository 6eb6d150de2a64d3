//! `loci bench`: measures a backend on this machine, and compares two runs.

mod scratch;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

use loci_benchmark::{
    BenchmarkComparison, BenchmarkCorpus, BenchmarkPlace, BenchmarkReport, BenchmarkRequest, BenchmarkStep,
    BenchmarkWorkload, compare_reports, format_figure, run_benchmark, write_html,
};
use loci_core::Result;

use crate::environment::now;
use crate::errors::{CommandResult, ExitStatus, io_error};
use crate::interrupts::watch_interrupts;
use crate::page::{TextPage, format_count};
use crate::session::CommandSession;
use scratch::ScratchPlace;

/// Measure a backend on this machine
///
/// Files a corpus of generated drawers, then measures writes, queries with and without filters, words, whole searches,
/// reads, counts, recall, size and memory: right after the load, once background maintenance has settled, and after
/// each kind of maintenance that the backend offers. Existing drawers are never touched. For a palace in a folder, a
/// scratch palace beside it is used and removed; on a server, a scratch collection of the palace is used and dropped.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_long_help = "Examples:\n  loci bench --rows 50000\n  \
    loci bench --palace 'postgres:///memory?palace=team' --json > postgres.json\n  \
    loci bench compare embedded.json postgres.json\n\n\
    A workload is a JSON file, such as {\"rounds\": 100, \"k\": 10, \"batch\": 1000, \"filters\": [0.5, 5, 95], \
    \"shape\": \"clustered\"}; the shape may also be duplicates or uniform."
)]
pub(crate) struct BenchArgs {
    #[command(subcommand)]
    compare: Option<BenchSubcommand>,

    /// The number of drawers
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..=100_000_000))]
    rows: u64,

    /// The number of values in a vector
    #[arg(long, value_name = "D", default_value_t = 384, value_parser = clap::value_parser!(u64).range(2..=16_000))]
    dim: u64,

    /// The number that the corpus follows from
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// `default`, or a file that describes the workload
    #[arg(long, value_name = "FILE", default_value = "default")]
    workload: PathBuf,

    /// Also write the report as a page with plots
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
}

#[derive(Debug, clap::Subcommand)]
enum BenchSubcommand {
    /// Compare two reports that `loci bench --json` wrote
    ///
    /// Prints the ratio of each figure with its bounds at 95 % confidence. The second report is better or worse than
    /// the first only if the bounds exclude 1.
    #[command(after_long_help = "Example:\n  loci bench compare embedded.json postgres.json")]
    Compare {
        /// The first report
        #[arg(value_name = "A")]
        first: PathBuf,
        /// The second report
        #[arg(value_name = "B")]
        second: PathBuf,
    },
}

/// Measures, or compares.
pub(crate) fn run(args: &BenchArgs, session: &mut CommandSession) -> CommandResult {
    if let Some(BenchSubcommand::Compare { first, second }) = &args.compare {
        return compare(first, second, session);
    }
    let request = read_request(args)?;
    // Before the load: a page that cannot be written should not cost a run.
    if let Some(path) = &args.html {
        write_file(path, "")?;
    }
    let address = session.find_address(session.globals.palace.as_deref(), None)?;
    let scratch = ScratchPlace::make(&address)?;
    let rows = format_count(args.rows, "drawer");
    session.out.note(&format!(
        "filing {rows} in {}, which is removed at the end",
        scratch.describe()
    ));
    let interrupted = watch_interrupts()?;
    let mut progress = session.out.progress("loading");
    let report = run_benchmark(
        &request,
        &BenchmarkPlace {
            address: scratch.address.clone(),
            collection: scratch.collection.clone(),
            size: &|| scratch.measure_size(),
            clock: now,
            should_stop: &|| interrupted.load(Ordering::Relaxed),
        },
        &mut |step| match step {
            BenchmarkStep::Loading(done, total) => {
                progress.begin_phase("drawers loaded");
                progress.tick(done, Some(total));
            }
            BenchmarkStep::Comparing => progress.begin_phase("comparing every vector, for recall"),
            BenchmarkStep::Settling => progress.begin_phase("waiting for background maintenance"),
            BenchmarkStep::Maintaining(kind) => progress.begin_phase(&kind),
            BenchmarkStep::Measuring(phase, figure) => progress.begin_phase(&format!("{phase}: {figure}")),
        },
    );
    drop(progress);
    scratch.remove()?;
    let report = report?;
    if let Some(path) = &args.html {
        write_file(path, &write_html(&report))?;
        session.out.note(&format!("wrote {}", path.display()));
    }
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_report(&report, page))?;
    }
    Ok(ExitStatus::Done)
}

fn read_request(args: &BenchArgs) -> Result<BenchmarkRequest> {
    let workload = if args.workload == Path::new("default") {
        BenchmarkWorkload::default()
    } else {
        BenchmarkWorkload::from_json(&read_file(&args.workload)?)?
    };
    Ok(BenchmarkRequest {
        corpus: BenchmarkCorpus {
            seed: args.seed,
            rows: args.rows,
            dimension: usize::try_from(args.dim).unwrap_or(usize::MAX),
            shape: workload.shape,
        },
        workload,
    })
}

fn read_file(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|cause| io_error(format!("cannot read {}", path.display()), cause))
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|cause| {
        io_error(format!("cannot write {}", path.display()), cause).with_hint("name another file with --html")
    })
}

fn compare(first: &Path, second: &Path, session: &mut CommandSession) -> CommandResult {
    let read = |path: &Path| -> Result<BenchmarkReport> {
        BenchmarkReport::from_json(&read_file(path)?)
            .map_err(|error| error.with_context("file", path.display()))
    };
    let compared = compare_reports(&read(first)?, &read(second)?);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&compared)?;
    } else {
        out.write_page(|page| print_comparison(&compared, page))?;
    }
    for difference in &compared.differences {
        out.note(&format!("the runs differ in {difference}"));
    }
    Ok(ExitStatus::from_found(!compared.figures.is_empty()))
}

fn print_report(report: &BenchmarkReport, page: &mut TextPage) {
    page.bold(&report.backend)
        .plain(&format!(
            "  {} of {} values, seed {}",
            format_count(report.rows, "drawer"),
            report.dimension,
            report.seed
        ))
        .end();
    for phase in &report.phases {
        page.end().bold(&phase.name).end();
        for (name, figure) in &phase.figures {
            page.plain(&format!("  {name:<14} {:>10}", format_figure(figure.median)))
                .dim(&format!(
                    "  95 % {:>8}  {}",
                    format_figure(figure.p95),
                    figure.unit.name()
                ))
                .end();
        }
        for (name, reason) in &phase.missing {
            page.plain(&format!("  {name:<14} ")).dim(reason).end();
        }
    }
}

fn print_comparison(compared: &BenchmarkComparison, page: &mut TextPage) {
    let mut phase = "";
    for figure in &compared.figures {
        if figure.phase != phase {
            phase = &figure.phase;
            page.bold(phase).end();
        }
        page.plain(&format!(
            "  {:<14} {:>10} → {:<10} ×{:<7}",
            figure.figure,
            format_figure(figure.first),
            format_figure(figure.second),
            format_figure(figure.ratio)
        ))
        .dim(&format!(
            " {} to {}  {}  ",
            format_figure(figure.low),
            format_figure(figure.high),
            figure.unit.name()
        ))
        .plain(figure.verdict)
        .end();
    }
}
