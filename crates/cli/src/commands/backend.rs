//! `loci backend test`: the conformance suite on any backend.

use std::path::{Path, PathBuf};

use loci_conformance::{
    BackendHarness, CaseVerdict, ProgramHarness, ScratchHarness, examine_suite, list_themes,
};
use loci_core::{Capability, Error, ErrorKind, PalaceRef, Result};
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{CommandResult, ExitStatus};
use crate::page::TextPage;
use crate::session::CommandSession;

/// Examine a backend
///
/// `test` tries every promise of the contract on it. `loci backends` lists those there are.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_long_help = "Examples:\n  loci backend test embedded\n  loci backend test ./loci-backend-mine"
)]
pub(crate) struct BackendArgs {
    #[command(subcommand)]
    command: BackendSubcommand,
}

#[derive(Debug, clap::Subcommand)]
enum BackendSubcommand {
    /// Test whether a backend keeps the promises of the contract
    ///
    /// Runs the conformance suite on scratch palaces: in temporary folders, which are removed, or on a server under names
    /// that begin with loci-test-, whose collections are removed. The empty names stay on the server: test on one that you
    /// can drop, such as a Postgres database of its own. Existing palaces are never touched. Promises of capabilities that
    /// the backend does not advertise do not apply. Exits with 1 if a promise is broken.
    #[command(
        after_long_help = "Examples:\n  loci backend test embedded\n  loci backend test ./loci-backend-mine --only writes\n  \
        loci backend test 'postgres:///scratch' --json\n  loci backend test mine --only model --seed 7"
    )]
    Test(BackendTestArgs),
}

#[derive(Debug, clap::Args)]
struct BackendTestArgs {
    /// A backend's name, a palace reference, a server's URL, or the path of an executable
    #[arg(value_name = "REF")]
    reference: String,

    /// Test one theme only
    #[arg(long, value_name = "THEME")]
    only: Option<String>,

    /// The number that the random histories of the theme `model` follow from
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// Arguments for the executable
    #[arg(last = true, value_name = "ARGUMENT")]
    arguments: Vec<String>,
}

/// The promises of the contract that a backend keeps and breaks.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct BackendTestReport {
    /// The backend under test.
    backend: String,
    /// The counts, by theme.
    themes: Vec<ThemeCount>,
    /// The promises that are broken.
    broken: Vec<BrokenPromise>,
}

/// The promises of one theme.
#[derive(Debug, Serialize, JsonSchema)]
struct ThemeCount {
    /// The part of the contract.
    theme: String,
    /// The number of promises that are kept.
    kept: u64,
    /// The number of promises that are broken.
    broken: u64,
    /// The number of promises that do not apply to this backend.
    not_applicable: u64,
}

/// A promise that is broken.
#[derive(Debug, Serialize, JsonSchema)]
struct BrokenPromise {
    /// The part of the contract.
    theme: String,
    /// The promise, in the words of the contract.
    sentence: String,
    /// What was expected and found.
    found: String,
}

/// Runs a subcommand.
pub(crate) fn run(args: &BackendArgs, session: &mut CommandSession) -> CommandResult {
    let BackendSubcommand::Test(args) = &args.command;
    let themes = list_themes();
    if let Some(only) = &args.only
        && !themes.contains(&only.as_str())
    {
        return Err(Error::invalid(format!("{only:?} is not a theme of the suite"))
            .with_hint(format!("the themes are {}", themes.join(", ")))
            .into());
    }
    let (harness, place) = make_harness(args, session)?;
    check_reachable(harness.as_ref())?;
    session.out.note(&format!(
        "testing {} in {place}; existing palaces are not touched",
        harness.name()
    ));
    let report = examine(harness.as_ref(), args.only.as_deref(), session);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_report(&report, page))?;
    }
    Ok(ExitStatus::from_found(report.broken.is_empty()))
}

fn examine(harness: &dyn BackendHarness, only: Option<&str>, session: &CommandSession) -> BackendTestReport {
    let mut report = BackendTestReport {
        backend: harness.name(),
        themes: Vec::new(),
        broken: Vec::new(),
    };
    let mut progress = session.out.progress("testing");
    let mut done = 0;
    examine_suite(harness, only, |case, verdict| {
        if report.themes.last().is_none_or(|last| last.theme != case.theme) {
            progress.begin_phase(case.theme);
            report.themes.push(ThemeCount {
                theme: case.theme.to_owned(),
                kept: 0,
                broken: 0,
                not_applicable: 0,
            });
        }
        done += 1;
        progress.tick(done, None);
        let Some(count) = report.themes.last_mut() else {
            return;
        };
        match verdict {
            CaseVerdict::Kept => count.kept += 1,
            CaseVerdict::NotApplicable(_) => count.not_applicable += 1,
            CaseVerdict::Broken(found) => {
                count.broken += 1;
                report.broken.push(BrokenPromise {
                    theme: case.theme.to_owned(),
                    sentence: case.sentence.to_owned(),
                    found: found.clone(),
                });
            }
        }
    });
    report
}

/// The worlds to test in, and where they are.
fn make_harness(
    args: &BackendTestArgs,
    session: &CommandSession,
) -> Result<(Box<dyn BackendHarness>, String)> {
    let given = args.reference.as_str();
    let program = |path: &Path| -> (Box<dyn BackendHarness>, String) {
        let harness = ProgramHarness::new(path, args.arguments.clone()).with_seed(args.seed);
        (Box::new(harness), "temporary folders".to_owned())
    };
    let registry = session.registry.clone();
    if let Some(name) = registry.find_url_backend(given) {
        let url = given.to_owned();
        let key = if name == loci_chroma_server::ChromaServerBackend::NAME {
            "database"
        } else {
            "palace"
        };
        let harness = ScratchHarness::in_folders(name, move || {
            registry.make_backend(name).map_err(|error| error.to_string())
        })
        .on_server(move |scratch| PalaceRef::from_id(set_parameter(&url, key, scratch)))
        .with_seed(args.seed);
        return Ok((
            Box::new(harness),
            format!("{key}s of this server called loci-test-*"),
        ));
    }
    let path = PathBuf::from(given);
    if given.contains(std::path::MAIN_SEPARATOR) && path.is_file() {
        let path = path.canonicalize().unwrap_or(path);
        return Ok(program(&path));
    }
    let named = given.split_once(':').map_or(given, |(name, _)| name);
    if let Some(plugin) = registry.find_plugin(named) {
        return Ok(program(&plugin.path));
    }
    let name = if registry.knows(named) {
        named.to_owned()
    } else if path.is_dir() {
        session
            .find_address(Some(path.as_os_str()), None)?
            .backend
            .descriptor()
            .name
            .clone()
    } else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("{given:?} is not a backend, a palace or an executable"),
        )
        .with_hint("loci backends lists the names; the path of an executable has a slash"));
    };
    let label = name.clone();
    let harness = ScratchHarness::in_folders(label, move || {
        registry.make_backend(&name).map_err(|error| error.to_string())
    })
    .with_seed(args.seed);
    Ok((Box::new(harness), "temporary folders".to_owned()))
}

/// Returns the URL with one parameter of its query set, instead of those that choose a palace.
fn set_parameter(url: &str, key: &str, value: &str) -> String {
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let chooses =
        |part: &&str| part.is_empty() || part.starts_with("palace=") || part.starts_with(&format!("{key}="));
    let mut parts: Vec<String> = query
        .split('&')
        .filter(|part| !chooses(part))
        .map(str::to_owned)
        .collect();
    parts.push(format!("{key}={value}"));
    format!("{base}?{}", parts.join("&"))
}

/// Trouble, rather than hundreds of broken promises, if the backend cannot be used at all.
fn check_reachable(harness: &dyn BackendHarness) -> Result<()> {
    let hint = if harness.program().is_some() {
        "nothing was tested; run the executable by hand to see what it says"
    } else {
        "nothing was tested"
    };
    let unavailable = |why: String| Error::new(ErrorKind::Unavailable, why).with_hint(hint);
    let world = harness.make_world().map_err(unavailable)?;
    if world.backend().descriptor().has_capability(&Capability::ReadOnly) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "{} takes no writes, so no scratch palace can be filled",
                harness.name()
            ),
        ));
    }
    match world.backend().collections(&world.palace()) {
        Err(error) if error.kind() == ErrorKind::Unavailable || error.kind() == ErrorKind::Io => Err(error),
        // Anything else is for the suite to judge.
        _ => Ok(()),
    }
}

fn print_report(report: &BackendTestReport, page: &mut TextPage) {
    page.dim(&format!(
        "{:<20} {:>6} {:>6} {:>6}",
        "theme", "kept", "broken", "n/a"
    ))
    .end();
    for count in &report.themes {
        let line = format!(
            "{:<20} {:>6} {:>6} {:>6}",
            count.theme, count.kept, count.broken, count.not_applicable
        );
        if count.broken > 0 {
            page.red(&line).end();
        } else {
            page.plain(&line).end();
        }
    }
    for promise in &report.broken {
        page.end();
        page.red("broken  ")
            .bold(&format!("{}: {}", promise.theme, promise.sentence))
            .end();
        for line in promise.found.lines().take(40) {
            page.plain("    ").plain(line).end();
        }
    }
}
