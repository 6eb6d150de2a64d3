//! `loci serve audit`: reading and verifying the audit log.

use std::net::IpAddr;

use loci_core::{Error, ErrorKind, Result, Timestamp};
use loci_team::{
    AuditEntry, AuditFilter, AuditHead, AuditReport, TeamActor, TokenId, read_records, verify_log,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::files::ServerFiles;
use crate::errors::{CommandResult, ExitStatus};
use crate::output::TerminalOutput;
use crate::page::{TextPage, format_count};

/// Read the audit log, and check that nothing in it was changed
///
/// The log says who searched, read, filed, changed, deleted, forgot and signed in, and when. It holds ids and counts, no text
/// of drawers and no words of queries. It may be in use while it is read.
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = false,
    after_long_help = "Examples:\n  loci serve audit show --user anna --since 2026-05-01\n  loci serve audit verify\n  \
    loci serve audit head >> /mnt/elsewhere/heads"
)]
pub(crate) struct TeamAuditArgs {
    #[command(subcommand)]
    command: TeamAuditCommand,
}

#[derive(Debug, clap::Subcommand)]
enum TeamAuditCommand {
    /// Show records, newest first
    ///
    /// Exits with 1 if there is none.
    #[command(
        after_long_help = "Examples:\n  loci serve audit show --user anna --act delete\n  \
        loci serve audit show --outcome refused --since 2026-05-01\n  loci serve audit show --subject DRAWER-ID --json"
    )]
    Show(Box<AuditShowArgs>),
    /// Check every record of the log, and the heads that were kept elsewhere
    ///
    /// Finds records that were edited, removed, inserted or moved. An end that was cut off is found by a head that was kept
    /// elsewhere: the server writes one to its own log every hour. Exits with 1 if something is wrong.
    #[command(
        after_long_help = "Examples:\n  loci serve audit verify\n  loci serve audit verify --head loci-audit-head:1234:9f…"
    )]
    Verify {
        /// A head that was kept elsewhere; can be repeated
        #[arg(long, value_name = "HEAD")]
        head: Vec<String>,
    },
    /// Print the head of the log, to be kept elsewhere
    ///
    /// Verifies the log first. Exits with 1 if it does not hold, and prints no head then.
    #[command(after_long_help = "Example:\n  loci serve audit head >> /mnt/elsewhere/heads")]
    Head,
}

/// Which records are shown.
#[derive(Debug, clap::Args)]
struct AuditShowArgs {
    /// Only acts of this user; ISSUER#SUBJECT for one of another issuer
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Only acts with the token of this id
    #[arg(long, value_name = "ID")]
    token: Option<String>,
    /// Only requests from this IP address
    #[arg(long, value_name = "IP")]
    address: Option<IpAddr>,
    /// Only acts in the palace served by this name
    #[arg(long, value_name = "NAME")]
    in_palace: Option<String>,
    /// Only this act, such as search, read, add, update, delete, forget or sign_in
    #[arg(long, value_name = "ACT")]
    act: Option<String>,
    /// Only acts that ended so
    #[arg(long, value_name = "WORD", value_parser = ["asked", "done", "refused", "failed"])]
    outcome: Option<String>,
    /// Only acts on this drawer, user or token
    #[arg(long, value_name = "ID")]
    subject: Option<String>,
    /// Only from this date or time on
    #[arg(long, value_name = "TIME")]
    since: Option<String>,
    /// Only before this date or time
    #[arg(long, value_name = "TIME")]
    until: Option<String>,
    /// Only records with a lower number: those after the last one of a page
    #[arg(long, value_name = "N")]
    before: Option<u64>,
    /// The most records to show
    #[arg(long, short = 'n', value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    limit: u32,
}

/// A record of the audit log.
#[derive(Debug, Serialize, JsonSchema)]
struct AuditedAct {
    /// The number, from 1 on, without gaps.
    number: u64,
    /// The time.
    time: Timestamp,
    /// The user, `ISSUER#SUBJECT`, `anonymous` or `server`.
    who: String,
    /// The id of the token that was shown.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The IP address that the request came from.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// The palace.
    #[serde(skip_serializing_if = "Option::is_none")]
    palace: Option<String>,
    /// The act.
    act: String,
    /// How it ended: `asked`, `done`, `refused:REASON` or `failed:KIND`.
    outcome: String,
    /// The drawers that it concerned; at most a hundred.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    drawers: Vec<String>,
    /// The number of drawers that were found, read or changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<u64>,
    /// The wings that were asked for; at most twenty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wings: Vec<String>,
    /// The number of characters of a query.
    #[serde(skip_serializing_if = "Option::is_none")]
    query_chars: Option<u64>,
    /// The user or token that was administered or tried.
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<String>,
}

/// Records of the audit log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditedActs {
    /// The records, newest first.
    records: Vec<AuditedAct>,
    /// The number to give as --before to go on; absent if there are no more.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_before: Option<u64>,
    /// Lines that are not records.
    unreadable_lines: u64,
}

/// A place where the audit log does not hold.
#[derive(Debug, Serialize, JsonSchema)]
struct ListedBreak {
    /// The file.
    file: String,
    /// The line in it, from 1 on; 0 for the log as a whole.
    line: u64,
    /// The finding.
    problem: String,
}

/// The outcome of verifying the audit log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct AuditVerification {
    /// Whether nothing was changed, as far as the log, its key and the known heads can tell.
    ok: bool,
    /// The number of records that hold.
    records: u64,
    /// The head; absent if there is no record.
    #[serde(skip_serializing_if = "Option::is_none")]
    head: Option<String>,
    /// The head before the first record, if older files were set aside.
    #[serde(skip_serializing_if = "Option::is_none")]
    starts_after: Option<String>,
    /// Where it does not hold; at most a hundred places.
    breaks: Vec<ListedBreak>,
    /// The number of those places.
    break_count: u64,
    /// Lines that were cut off by crashes and closed by a record.
    torn_lines: u64,
    /// Acts that could not be recorded, as the log itself says.
    missed_acts: u64,
    /// Bytes of a record that is being written.
    unfinished_bytes: u64,
    /// The number of files.
    files: u64,
}

/// The head of the audit log.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct PrintedHead {
    /// The head in its text form.
    head: String,
    /// The number of the last record.
    number: u64,
}

/// Reads or verifies the log.
pub(super) fn run(args: &TeamAuditArgs, files: &ServerFiles, out: &mut TerminalOutput) -> CommandResult {
    match &args.command {
        TeamAuditCommand::Show(args) => show_records(args, files, out),
        TeamAuditCommand::Verify { head } => {
            let heads: Result<Vec<AuditHead>> = head.iter().map(|head| head.parse()).collect();
            let heads = heads?;
            let report = verify(&heads, files)?;
            print_verification(&report, heads.is_empty(), out)?;
            Ok(ExitStatus::from_found(report.is_whole()))
        }
        TeamAuditCommand::Head => print_head(files, out),
    }
}

fn verify(heads: &[AuditHead], files: &ServerFiles) -> Result<AuditReport> {
    check_exists(files)?;
    verify_log(&files.audit, &files.read_key()?, heads)
}

/// Refuses a log that is not there: an empty list of records would look like a log without any.
fn check_exists(files: &ServerFiles) -> Result<()> {
    if files.audit.exists() {
        return Ok(());
    }
    let message = format!("the audit log {} does not exist", files.audit.display());
    Err(Error::new(ErrorKind::NotFound, message)
        .with_hint("name the folder of the server with --data, or its config with --config"))
}

fn show_records(args: &AuditShowArgs, files: &ServerFiles, out: &mut TerminalOutput) -> CommandResult {
    check_exists(files)?;
    let mut filter = build_filter(args)?;
    let limit = usize::try_from(args.limit).unwrap_or(usize::MAX);
    let mut acts = AuditedActs {
        records: Vec::new(),
        next_before: None,
        unreadable_lines: 0,
    };
    // One call reads a bounded part of the log.
    loop {
        let page = read_records(&files.audit, &filter, limit - acts.records.len())?;
        acts.records
            .extend(page.entries.into_iter().map(AuditedAct::from));
        // Each call begins at the end of the log and meets the same lines.
        acts.unreadable_lines = acts.unreadable_lines.max(page.unreadable_lines);
        acts.next_before = page.next_before;
        if acts.records.len() >= limit || page.next_before.is_none() || page.next_before == filter.before {
            break;
        }
        filter.before = page.next_before;
    }
    if out.is_json() {
        out.write_json(&acts)?;
    } else {
        out.write_page(|page| acts.records.iter().for_each(|act| print_act(act, page)))?;
        if let Some(before) = acts.next_before {
            out.note(&format!("older records: --before {before}"));
        }
    }
    if acts.unreadable_lines > 0 {
        let lines = format_count(acts.unreadable_lines, "line");
        out.warn(&format!(
            "{lines} could not be read; `loci serve audit verify` tells more"
        ));
    }
    Ok(ExitStatus::from_found(!acts.records.is_empty()))
}

fn build_filter(args: &AuditShowArgs) -> Result<AuditFilter> {
    Ok(AuditFilter {
        who: args.user.as_deref().map(str::parse::<TeamActor>).transpose()?,
        token: args.token.as_deref().map(str::parse::<TokenId>).transpose()?,
        address: args.address,
        palace: args.in_palace.clone(),
        act: args.act.clone(),
        outcome: args.outcome.clone(),
        subject: args.subject.clone(),
        since: args.since.as_deref().map(str::parse).transpose()?,
        until: args.until.as_deref().map(str::parse).transpose()?,
        before: args.before,
    })
}

impl From<AuditEntry> for AuditedAct {
    fn from(entry: AuditEntry) -> Self {
        let record = entry.record;
        Self {
            number: entry.number,
            time: record.time,
            who: record.who.to_string(),
            token: record.token.map(|id| id.to_string()),
            address: record.address.map(|address| address.to_string()),
            palace: record.palace,
            act: record.act.name().to_owned(),
            outcome: record.outcome.to_string(),
            drawers: record.subject.drawers,
            count: record.subject.count,
            wings: record.subject.wings,
            query_chars: record.subject.query_chars,
            name: record.subject.name,
        }
    }
}

fn print_act(act: &AuditedAct, page: &mut TextPage) {
    page.dim(&format!("{:>6} {}  ", act.number, act.time));
    page.bold(&act.who).plain("  ").plain(&act.act).plain("  ");
    if act.outcome == "done" || act.outcome == "asked" {
        page.plain(&act.outcome);
    } else {
        page.yellow(&act.outcome);
    }
    let count = act.count.map(|count| format_count(count, "drawer"));
    let chars = act.query_chars.map(|count| format_count(count, "character"));
    let drawers = act.drawers.join(" ");
    let wings: Vec<String> = act.wings.iter().map(|wing| format!("wing {wing}")).collect();
    let told = [&act.palace, &act.name, &count, &chars].into_iter().flatten();
    for part in told
        .map(String::as_str)
        .chain(wings.iter().map(String::as_str))
        .chain([drawers.as_str()])
    {
        if !part.is_empty() {
            page.plain("  ").plain(part);
        }
    }
    let from = [&act.address, &act.token].into_iter().flatten();
    from.for_each(|part| {
        page.dim("  ").dim(part);
    });
    page.end();
}

fn print_verification(
    report: &AuditReport,
    is_headless: bool,
    out: &mut TerminalOutput,
) -> CommandResult<()> {
    let breaks = report.breaks.iter().map(|found| ListedBreak {
        file: found.part.to_string_lossy().into_owned(),
        line: found.line,
        problem: found.kind.to_string(),
    });
    let told = AuditVerification {
        ok: report.is_whole(),
        records: report.records,
        head: report.head.map(|head| head.to_string()),
        starts_after: report.starts_after.map(|head| head.to_string()),
        breaks: breaks.collect(),
        break_count: report.break_count,
        torn_lines: report.torn_lines,
        missed_acts: report.missed_acts,
        unfinished_bytes: report.unfinished_bytes,
        files: report.parts,
    };
    if out.is_json() {
        return out.write_json(&told);
    }
    out.write_page(|page| print_findings(&told, page))?;
    if told.ok && is_headless {
        out.note("an end that was cut off is found only by a head that was kept elsewhere: --head");
    }
    Ok(())
}

fn print_findings(told: &AuditVerification, page: &mut TextPage) {
    for found in &told.breaks {
        let place = format!("{}:{}", found.file, found.line);
        page.red("broken")
            .plain("  ")
            .plain(&place)
            .plain("  ")
            .plain(&found.problem)
            .end();
    }
    let listed = told.breaks.len() as u64;
    if told.break_count > listed {
        page.plain(&format!("and {} more", told.break_count - listed))
            .end();
    }
    let records = format_count(told.records, "record");
    page.plain(&format!("{records} in {} hold", format_count(told.files, "file")));
    if told.torn_lines > 0 {
        page.plain(&format!(
            ", {} cut off by crashes",
            format_count(told.torn_lines, "line")
        ));
    }
    if told.missed_acts > 0 {
        page.plain(&format!(
            ", {} not recorded",
            format_count(told.missed_acts, "act")
        ));
    }
    page.end();
    if let Some(before) = &told.starts_after {
        page.dim("begins after ").dim(before).end();
    }
    if let Some(head) = told.head.as_ref().filter(|_| told.ok) {
        page.plain(head).end();
    }
}

fn print_head(files: &ServerFiles, out: &mut TerminalOutput) -> CommandResult {
    let report = verify(&[], files)?;
    let head = report.head.filter(|_| report.is_whole());
    let Some(head) = head else {
        let places = format_count(report.break_count, "place");
        let message = format!("the audit log does not hold in {places}, so it has no head to trust");
        return Err(Error::new(ErrorKind::Corrupt, message)
            .with_hint("nothing was changed; `loci serve audit verify` lists them")
            .into());
    };
    if out.is_json() {
        out.write_json(&PrintedHead {
            head: head.to_string(),
            number: head.number,
        })?;
    } else {
        out.write_line(&head.to_string())?;
    }
    Ok(ExitStatus::Done)
}
