//! `loci migrate`: moves a whole palace to another place or backend.

use std::ffi::OsString;

use loci_core::{CollectionInfo, Error, ErrorKind, PalaceFinding};
use loci_engine::PalaceAddress;
use loci_migrate::migrate::record::{CollectionRecord, IdList, MigrateFlags};
use loci_migrate::migrate::{CarriedSecrets, MigrateOptions, MigrateReport, MigrateStep, migrate_palace};

use super::verify::print_findings;
use crate::errors::{CommandResult, ExitStatus};
use crate::escape::quote_for_shell;
use crate::output::TerminalOutput;
use crate::page::{TextPage, format_count};
use crate::progress::JobProgress;
use crate::render::count_drawers;
use crate::session::CommandSession;

/// Move a whole palace to another place or backend
///
/// Carries every collection, drawer, vector and source record over unchanged, and only reads the source. The target is
/// built in a hidden folder beside its place, compared with the source drawer by drawer, and put in place once it is
/// complete. After an interruption, even by kill -9, the same command resumes where it stopped.
///
/// Vectors are carried bit for bit. If they cannot be, nothing is created and the error names the flag that allows the
/// alternative. The target keeps a record of everything that was carried and everything that was not: see `loci status
/// --json`. Exits with 1 if something could not be carried.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci migrate --from ./old --to ./new\n  \
    loci migrate --from chroma:$HOME/.mempalace/palace --to work\n  \
    loci migrate --from ./old --to ./new --embedder minilm --force-model-swap\n  \
    loci verify --palace ./new --against ./old")]
pub(crate) struct MigrateArgs {
    /// The palace to move: a name, a path, or backend:path
    #[arg(long, value_name = "REF")]
    from: OsString,

    /// The new place; it must not exist yet
    #[arg(long, value_name = "REF")]
    to: OsString,

    /// Move an existing target aside, to NAME.replaced-DATE
    #[arg(long)]
    overwrite: bool,

    /// Re-embed every text if one side cannot hand over or store vectors
    #[arg(long)]
    accept_re_embed: bool,

    /// Re-embed every text with the model of --embedder, although the vectors are of another
    #[arg(long, requires = "embedder")]
    force_model_swap: bool,

    /// Embed the texts that have no vector yet
    #[arg(long)]
    embed_missing: bool,

    /// Of drawers with the same source and text, keep the most used, then the oldest
    #[arg(long)]
    collapse_duplicates: bool,

    /// Seal the secrets of the target, as `loci seal` does
    #[arg(long)]
    seal: bool,

    /// The model of the target [default: that of the source]
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,
}

/// Moves the palace.
pub(crate) fn run(args: &MigrateArgs, session: &mut CommandSession) -> CommandResult {
    let from = session.palace_at(session.find_address(Some(&args.from), None)?);
    let to = session.palace_at(find_target(args, session)?);
    let options = MigrateOptions {
        flags: MigrateFlags {
            overwrite: args.overwrite,
            accept_re_embed: args.accept_re_embed,
            force_model_swap: args.force_model_swap,
            embed_missing: args.embed_missing,
            collapse_duplicates: args.collapse_duplicates,
        },
        embedder: match &args.embedder {
            Some(name) => Some(session.embedders.find_by_name(name)?.ok_or_else(refuse_none)?),
            None => None,
        },
        seal: args.seal,
        candidates: session.embedders.list_candidates(),
    };
    // Examining a large source comes first and reports nothing, so the clock of the first phase shows.
    let mut watcher = MigrateWatcher::new(&session.out);
    let report = migrate_palace(&from, &to, options, &mut |step| {
        watcher.show_step(step, &mut session.out);
    })?;
    drop(watcher);
    let next = next_commands(&report, &to.collections()?, args, session);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_report(&report, &next, page))?;
    }
    if let Some(secrets) = &report.secrets {
        out.note(&describe_secrets(secrets));
    }
    out.note_listed(&report.findings);
    out.note_listed(&report.source_findings);
    Ok(ExitStatus::from_found(report.ok))
}

/// The address of the target. Unlike a source it is embedded by default, whatever files are there now.
fn find_target(args: &MigrateArgs, session: &CommandSession) -> CommandResult<PalaceAddress> {
    match session.find_address(Some(&args.to), None) {
        Ok(to)
            if !to
                .backend
                .descriptor()
                .has_capability(&loci_core::Capability::ReadOnly) =>
        {
            Ok(to)
        }
        // The files there belong to a backend that takes no writes; with --overwrite they are moved aside.
        Ok(_) if args.overwrite => Ok(session.find_address(Some(&args.to), Some("embedded"))?),
        other => Ok(other?),
    }
}

fn describe_secrets(secrets: &CarriedSecrets) -> String {
    let kinds: Vec<&str> = secrets.kinds.keys().map(String::as_str).collect();
    let found = format!(
        "{} with {} ({})",
        count_drawers(secrets.drawers),
        format_count(secrets.kinds.values().sum(), "secret"),
        kinds.join(", ")
    );
    if secrets.sealed > 0 {
        format!("sealed {found}")
    } else {
        format!("carried {found} in the clear; `loci seal` seals them")
    }
}

fn refuse_none() -> Error {
    Error::new(
        ErrorKind::Invalid,
        "`none` makes no vectors, so that none could be carried",
    )
    .with_hint("nothing was changed; leave --embedder out to carry the vectors unchanged")
}

/// Shows the steps of a migration.
struct MigrateWatcher {
    /// The number of defects of the source so far.
    defects: usize,
    progress: JobProgress,
}

impl MigrateWatcher {
    fn new(out: &TerminalOutput) -> Self {
        Self {
            defects: 0,
            progress: out.progress("examining the source"),
        }
    }

    fn show_step(&mut self, step: MigrateStep<'_>, out: &mut TerminalOutput) {
        match step {
            MigrateStep::SetAside(path) => self.note(
                &format!(
                    "an earlier run with other options, or of a source that changed since, is kept in {}",
                    path.display()
                ),
                out,
            ),
            MigrateStep::Staged { folder, resumed } => {
                let doing = if resumed { "resuming" } else { "building" };
                let note = format!(
                    "{doing} in {}; after an interruption the same command resumes",
                    folder.display()
                );
                self.note(&note, out);
            }
            MigrateStep::SourceFinding(finding) => self.show_defect(finding, out),
            MigrateStep::Surveyed(done, total) => self.count("drawers surveyed", done, total),
            MigrateStep::Examined(done, total) => self.count("drawers examined for secrets", done, total),
            MigrateStep::Copied(done, total) => self.count("drawers copied", done, total),
            MigrateStep::Checked(done, total) => self.count("drawers compared", done, total),
        }
    }

    /// Shows a defect of the source before anything is moved.
    fn show_defect(&mut self, finding: &PalaceFinding, out: &mut TerminalOutput) {
        self.defects += 1;
        // A torn database can have a finding for every page; the report lists them all.
        if self.defects <= SHOWN {
            self.note(&format!("the source: {}", finding.message), out);
        }
    }

    fn count(&mut self, phase: &str, done: u64, total: u64) {
        self.progress.begin_phase(phase);
        self.progress.tick(done, Some(total));
    }

    /// Prints a note above the progress line.
    fn note(&self, text: &str, out: &mut TerminalOutput) {
        self.progress.suspend(|| out.note(text));
    }
}

/// The most ids of a list, and the most defects of the source, that are shown.
const SHOWN: usize = 100;

fn print_report(report: &MigrateReport, next: &[String], page: &mut TextPage) {
    for collection in &report.record.collections {
        print_lists(collection, page);
    }
    print_findings(&report.findings, page);
    page.bold(&report.target)
        .plain(&format!("  {}", count_drawers(report.rows)))
        .plain(if report.lossless {
            ", lossless"
        } else {
            ", not lossless"
        })
        .dim(&format!("  {}", report.record.hash.to))
        .end();
    // Drawers without a vector are found by words only, so that their number matters.
    for collection in &report.collections {
        page.plain(&format!(
            "{:>8}  {}: {} with a vector, {} without",
            collection.rows, collection.name, collection.with_vector, collection.without_vector
        ))
        .end();
    }
    if let Some(replaced) = &report.replaced {
        page.dim("replaced  ")
            .plain(&format!("the palace that was there is now {replaced}"))
            .end();
    }
    for command in next {
        page.dim("next: ").plain(command).end();
    }
}

/// The commands to type next, quoted for the shell: make meaning work, look at the differences, or search.
fn next_commands(
    report: &MigrateReport,
    infos: &[CollectionInfo],
    args: &MigrateArgs,
    session: &CommandSession,
) -> Vec<String> {
    let palace = quote_for_shell(&report.target);
    // Without its model a palace answers by words only, so that comes first.
    let mut commands: Vec<String> = Vec::new();
    for info in infos {
        let name = quote_for_shell(info.name.as_str());
        let choice = format!("--palace {palace} --collection {name}");
        let command = session.embedders.suggest_meaning(info, &choice);
        commands.extend(command.filter(|command| !commands.contains(command)));
    }
    if !report.lossless {
        // As it was typed: the user is still in the folder in which it meant the source.
        let source = quote_for_shell(&args.from.to_string_lossy());
        commands.push(format!("loci verify --palace {palace} --against {source}"));
    } else if commands.is_empty() {
        commands.push(format!("loci search --palace {palace} WORDS"));
    }
    commands
}

/// Lists the drawers that were not carried exactly as they were.
fn print_lists(collection: &CollectionRecord, page: &mut TextPage) {
    // A lossless move has only empty lists.
    let lists = collection.lists.named_lists().into_iter();
    for (what, list) in lists.filter(|(_, list)| list.count > 0) {
        page.dim(&format!("{what} in {}:", collection.name)).end();
        print_ids(list, page);
    }
}

fn print_ids(list: &IdList, page: &mut TextPage) {
    for id in list.ids.iter().take(SHOWN) {
        page.plain("    ").plain(id).end();
    }
    let more = list.count.saturating_sub(SHOWN as u64);
    if more > 0 {
        page.plain(&format!(
            "    and {more} more; --json and `loci status --json` list them"
        ))
        .end();
    }
}
