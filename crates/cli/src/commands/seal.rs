//! `loci seal`: seals the secrets of drawers that were filed in the clear; a dry run unless confirmed.

use std::path::PathBuf;

use clap::ValueEnum;
use loci_engine::seal::{SealReport, SealRequest, SecretPolicy};

use crate::errors::{CommandResult, ExitStatus};
use crate::page::{TextPage, format_count};
use crate::render::{count_drawers, print_parts};
use crate::scope::{SCOPE_OPTIONS, ScopeArgs};
use crate::session::CommandSession;

/// Seal the secrets of drawers that were filed in the clear
///
/// A dry run that counts the drawers with secrets, unless --yes is given. Each secret is replaced by a label and kept
/// encrypted; `loci unseal` shows it again. The palace is then rewritten, so that no page, index or log holds a secret in
/// the clear, and so are its backups: those that `loci backup` has made, and those named with --backups. Lists what was
/// reached and what was not.
///
/// New words need none of this: the policy of the palace seals them as they are filed. --policy changes it. Exits with 1 if
/// a part was not reached.
#[derive(Debug, clap::Args)]
#[command(
    after_long_help = "Examples:\n  loci seal\n  loci seal --wing work --yes\n  loci seal --policy warn"
)]
pub(crate) struct SealArgs {
    #[command(flatten)]
    scope: ScopeArgs,

    /// Also rewrite these backups: a file, or a folder of them; may be repeated
    #[arg(long, value_name = "PATH")]
    backups: Vec<PathBuf>,

    /// Seal them
    #[arg(long)]
    yes: bool,

    /// Only set what becomes of secrets in words that will be filed
    #[arg(long, value_name = "POLICY", conflicts_with_all = ["backups", "yes"], conflicts_with_all = SCOPE_OPTIONS)]
    policy: Option<PolicyChoice>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PolicyChoice {
    /// Seal them.
    Seal,
    /// File them as they are, and say so.
    Warn,
    /// File them as they are.
    Keep,
    /// File nothing that holds one.
    Refuse,
}

impl From<PolicyChoice> for SecretPolicy {
    fn from(choice: PolicyChoice) -> Self {
        match choice {
            PolicyChoice::Seal => Self::Seal,
            PolicyChoice::Warn => Self::Warn,
            PolicyChoice::Keep => Self::Keep,
            PolicyChoice::Refuse => Self::Refuse,
        }
    }
}

/// Seals, or sets the policy.
pub(crate) fn run(args: &SealArgs, session: &mut CommandSession) -> CommandResult {
    let palace = session.open_palace()?;
    if let Some(policy) = args.policy {
        let policy = SecretPolicy::from(policy);
        palace.set_secret_policy(policy)?;
        let report = SealReport {
            policy,
            ..SealReport::default()
        };
        let out = &mut session.out;
        if out.is_json() {
            out.write_json(&report)?;
        } else {
            out.write_page(|page| {
                page.plain(&format!("the policy for secrets is now {policy}"))
                    .end();
            })?;
        }
        return Ok(ExitStatus::Done);
    }
    let mut progress = session.out.progress("drawers examined");
    let request = SealRequest {
        scope: args.scope.build_scope()?,
        copies: args.backups.clone(),
        dry_run: !args.yes,
        suspects: None,
    };
    let report = palace.seal(&request, &mut |what, done, total| {
        progress.begin_phase(&format!("of {what} examined and rewritten"));
        progress.tick(done, Some(total));
    })?;
    drop(progress);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| print_report(&report, args.yes, page))?;
        if !args.yes && report.matched > 0 {
            out.note("dry run: nothing was changed; add --yes to seal them");
        }
    }
    out.warnings(&report.warnings);
    Ok(ExitStatus::from_found(report.not_reached.is_empty()))
}

fn print_report(report: &SealReport, yes: bool, page: &mut TextPage) {
    let secrets: u64 = report.kinds.values().sum();
    let (number, verb) = if yes {
        (report.sealed, "sealed")
    } else {
        (report.matched, "would be sealed")
    };
    page.plain(&format!(
        "{} {verb}, with {}",
        count_drawers(number),
        format_count(secrets, "secret")
    ))
    .end();
    for (kind, number) in &report.kinds {
        page.plain(&format!("{number:>8}  {kind}")).end();
    }
    if report.sealed_in_copies > 0 {
        page.plain(&format!(
            "{} sealed in backups",
            count_drawers(report.sealed_in_copies)
        ))
        .end();
    }
    let verb = if yes { "reached" } else { "would be rewritten" };
    print_parts(verb, report.reached.iter().map(String::as_str), page);
    let missed = report
        .not_reached
        .iter()
        .map(|part| format!("{}: {}", part.part, part.reason));
    let missed: Vec<String> = missed.collect();
    print_parts("not reached", missed.iter().map(String::as_str), page);
    page.dim("policy  ").plain(report.policy.name()).end();
}
