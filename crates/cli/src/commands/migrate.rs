//! `loci migrate`: moves a whole palace to another place or backend.

use std::ffi::OsString;

use loci_core::{Error, ErrorKind, Finding};
use loci_engine::PalaceAddress;
use loci_migrate::migrate::record::{CollectionRecord, Flags, Listed};
use loci_migrate::migrate::{MigrateOptions, MigrateReport, Step, migrate_palace};

use super::verify::findings;
use crate::errors::{Done, Exit};
use crate::output::Output;
use crate::page::Page;
use crate::progress::Progress;
use crate::render::drawers;
use crate::session::Session;

/// Move a whole palace to another place or backend
///
/// Every collection, drawer, vector and record of a source is carried as it is. The source is only read. The target
/// is built in a hidden folder beside its place, compared with the source drawer by drawer, and put in place once it
/// is whole; stopped at any moment, even by kill -9, the same command goes on where it was.
///
/// Vectors are carried bit for bit. Where that cannot be, nothing is made and the flag that allows it is named. What
/// was carried, and what was not, is written into the target: see `loci status --json`. Exits with 1 if something
/// could not be carried.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci migrate --from ./old --to ./new\n  \
    loci migrate --from chroma:$HOME/.mempalace/palace --to work\n  \
    loci migrate --from ./old --to ./new --embedder minilm --force-model-swap\n  \
    loci verify --palace ./new --against ./old")]
pub(crate) struct Args {
    /// The palace to move: a name, a path, or backend:path
    #[arg(long, value_name = "REF")]
    from: OsString,

    /// Where it shall be; nothing may be there yet
    #[arg(long, value_name = "REF")]
    to: OsString,

    /// Move what is at the target aside, to NAME.replaced-DATE
    #[arg(long)]
    overwrite: bool,

    /// Embed every text anew where one side cannot hand over or keep vectors
    #[arg(long)]
    accept_re_embed: bool,

    /// Embed every text anew by the model of --embedder, although the vectors are of another
    #[arg(long, requires = "embedder")]
    force_model_swap: bool,

    /// Embed the texts that have no vector
    #[arg(long)]
    embed_missing: bool,

    /// Of drawers with the same source and text keep the most used, then the oldest
    #[arg(long)]
    collapse_duplicates: bool,

    /// The model the target shall have [default: that of the source]
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,
}

/// Moves it.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let from = session.palace_at(session.address_of(Some(&args.from), None)?);
    let to = session.palace_at(target(args, session)?);
    let options = MigrateOptions {
        flags: Flags {
            overwrite: args.overwrite,
            accept_re_embed: args.accept_re_embed,
            force_model_swap: args.force_model_swap,
            embed_missing: args.embed_missing,
            collapse_duplicates: args.collapse_duplicates,
        },
        embedder: match &args.embedder {
            Some(name) => Some(session.embedders.named(name)?.ok_or_else(no_model)?),
            None => None,
        },
    };
    let mut watcher = Watcher::new(&session.out);
    let report = migrate_palace(&from, &to, options, &mut |step| {
        watcher.hear(step, &mut session.out)
    })?;
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| tell(&report, page))?;
    }
    Ok(Exit::found(report.ok))
}

/// The target's palace. Unlike a source it is embedded unless something says otherwise, whatever lies there now.
fn target(args: &Args, session: &Session) -> Done<PalaceAddress> {
    match session.address_of(Some(&args.to), None) {
        Ok(to) if !to.backend.descriptor().can(&loci_core::Capability::ReadOnly) => Ok(to),
        // What lies there is of a backend that takes no writes; with --overwrite it is moved aside.
        Ok(_) if args.overwrite => Ok(session.address_of(Some(&args.to), Some("embedded"))?),
        other => Ok(other?),
    }
}

fn no_model() -> Error {
    Error::new(ErrorKind::Invalid, "`none` makes no vectors to move to")
        .hint("nothing was changed; leave --embedder out to carry the vectors as they are")
}

/// Tells how far it is.
struct Watcher {
    /// The number of defects of the source so far.
    defects: usize,
    survey: Progress,
    copy: Progress,
    check: Progress,
}

impl Watcher {
    fn new(out: &Output) -> Self {
        Self {
            defects: 0,
            survey: out.progress("drawers looked at"),
            copy: out.progress("drawers copied"),
            check: out.progress("drawers compared"),
        }
    }

    /// Tells a defect of the source before anything is moved.
    fn defect(&mut self, finding: &Finding, out: &mut Output) {
        self.defects += 1;
        if self.defects <= SHOWN {
            out.note(&format!("the source: {}", finding.message));
        }
    }

    fn hear(&mut self, step: Step<'_>, out: &mut Output) {
        match step {
            Step::SetAside(path) => out.note(&format!(
                "an earlier run of another request, or of a source that has changed since, is kept in {}",
                path.display()
            )),
            Step::Staged { folder, resumed } => {
                let doing = if resumed { "going on" } else { "building" };
                out.note(&format!(
                    "{doing} in {}; if this is stopped, the same command goes on",
                    folder.display()
                ));
            }
            Step::SourceFinding(finding) => self.defect(finding, out),
            Step::Surveyed(done, total) => self.survey.tick(done, Some(total)),
            Step::Copied(done, total) => self.copy.tick(done, Some(total)),
            Step::Checked(done, total) => self.check.tick(done, Some(total)),
        }
    }
}

/// How many ids of a list, and how many defects of the source, are shown.
const SHOWN: usize = 100;

fn tell(report: &MigrateReport, page: &mut Page) {
    for collection in &report.record.collections {
        lists(collection, page);
    }
    findings(&report.findings, page);
    page.bold(&report.target)
        .plain(&format!("  {}", drawers(report.rows)))
        .plain(if report.lossless {
            ", lossless"
        } else {
            ", not lossless"
        })
        .dim(&format!("  {}", report.record.hash.to))
        .end();
    for collection in &report.collections {
        page.plain(&format!(
            "{:>8}  {}: {} with a vector, {} without",
            collection.rows, collection.name, collection.with_vector, collection.without_vector
        ))
        .end();
    }
    if let Some(replaced) = &report.replaced {
        page.dim("replaced  ")
            .plain(&format!("the palace that was there is {replaced}"))
            .end();
    }
    page.dim("next      ")
        .plain(&format!("loci search --palace '{}' WORDS", report.target))
        .end();
    for collection in &report.record.collections {
        if collection.identity == "unknown" {
            page.plain(&format!(
                "          loci embedder set MODEL --palace '{}' --collection {}",
                report.target, collection.name
            ))
            .end();
        }
    }
}

/// Names the drawers that are not exactly as they were.
fn lists(collection: &CollectionRecord, page: &mut Page) {
    let lists = collection.lists.each().into_iter();
    for (what, list) in lists.filter(|(_, list)| list.count > 0) {
        page.dim(&format!("{what} in {}:", collection.name)).end();
        listed(list, page);
    }
}

fn listed(list: &Listed, page: &mut Page) {
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
