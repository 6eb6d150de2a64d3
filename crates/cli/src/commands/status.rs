//! `loci status`: the contents, coverage and health of a palace.

use loci_engine::StatusReport;
use loci_engine::spool::{EventSpool, SpoolStanding};

use super::hook;
use crate::errors::{CommandResult, ExitStatus};
use crate::page::{TextPage, format_count};
use crate::render::count_drawers;
use crate::session::CommandSession;

/// Show the contents, coverage and health of the palace
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci status --palace ./notes")]
pub(crate) struct StatusArgs {}

/// Shows the status.
pub(crate) fn run(_: &StatusArgs, session: &mut CommandSession) -> CommandResult {
    let mut report = session.open_palace()?.report_status()?;
    let spool = find_waiting_spool(session);
    report.spool = spool.as_ref().map(|(_, standing)| *standing);
    let out = &mut session.out;
    if out.is_json() {
        out.write_json(&report)?;
    } else {
        out.write_page(|page| write_status(&report, page))?;
    }
    out.warnings(&report.warnings);
    if let Some((spool, standing)) = spool {
        out.flush()?;
        out.note(&describe_spool(&spool, standing));
    }
    Ok(ExitStatus::Done)
}

/// The spool of this palace's hooks, if anything waits in it. One that cannot be read is treated as empty.
fn find_waiting_spool(session: &CommandSession) -> Option<(EventSpool, SpoolStanding)> {
    let spool = hook::find_spool(session).ok()?;
    let standing = spool.count_events().ok()?;
    (standing != SpoolStanding::default()).then_some((spool, standing))
}

fn describe_spool(spool: &EventSpool, standing: SpoolStanding) -> String {
    let waiting = (standing.waiting > 0).then(|| {
        let conversations = format_count(standing.waiting, "conversation");
        format!("{conversations} waiting to be mined")
    });
    let failed = (standing.failed > 0).then(|| {
        let folder = spool.folder().display();
        format!(
            "{} could not be mined, see failed.jsonl and hook.log in {folder}",
            standing.failed
        )
    });
    let said: Vec<String> = [waiting, failed].into_iter().flatten().collect();
    format!("from hooks: {}", said.join("; "))
}

fn write_status(report: &StatusReport, page: &mut TextPage) {
    page.bold(&report.palace)
        .dim(&format!("  {}", report.backend))
        .end();
    page.plain(&format!(
        "{} in {}",
        count_drawers(report.drawers),
        report.collection
    ))
    .end();
    for wing in &report.wings {
        let name = wing.wing.as_deref().unwrap_or("-");
        page.plain(&format!("{:>8}  ", wing.drawers)).plain(name).end();
        for room in &wing.rooms {
            let name = room.room.as_deref().unwrap_or("-");
            page.plain(&format!("{:>8}    ", room.drawers)).plain(name).end();
        }
    }
    let embedder = &report.embedder;
    page.dim("embedder  ")
        .plain(embedder.model.as_deref().unwrap_or(embedder.state));
    if let Some(dimension) = embedder.dimension {
        page.plain(&format!(", {dimension} dimensions, {}", report.metric));
    }
    page.end();
    let coverage = &report.coverage;
    page.dim("search    ").plain(&format!(
        "{} by vector ({} packed{}), {} by keyword",
        coverage.nearest,
        coverage.packed,
        if report.approximate { ", approximate" } else { "" },
        coverage.lexical
    ));
    page.end();
    page.dim("secrets   ").plain(report.secrets.name()).end();
    write_upkeep(report, page);
    for other in report
        .collections
        .iter()
        .filter(|other| other.name != report.collection)
    {
        page.dim("also      ")
            .plain(&format!("{} in {}", count_drawers(other.drawers), other.name))
            .end();
    }
}

/// Writes what needs attention or happened to the palace as a whole: health, maintenance, migrations.
fn write_upkeep(report: &StatusReport, page: &mut TextPage) {
    if !report.health.ok {
        page.dim("health    ").plain(&report.health.detail).end();
    }
    for kind in report.maintenance.iter().flat_map(|state| &state.running) {
        page.dim("running   ").plain(&format!("{kind} is running")).end();
    }
    for (kind, why) in report.maintenance.iter().flat_map(|state| &state.due) {
        page.dim("due       ")
            .plain(&format!("{why}; run `loci maintain {kind}`"))
            .end();
    }
    let figures = report.maintenance.iter().flat_map(|state| &state.figures);
    let figures: Vec<String> = figures
        .map(|(name, figure)| format!("{} {figure}", name.replace('_', " ")))
        .collect();
    if !figures.is_empty() {
        page.dim("server    ").plain(&figures.join(", ")).end();
    }
    for record in &report.migrations {
        let text = |field: &str| record.get(field).and_then(|value| value.as_str()).unwrap_or("?");
        page.dim("moved     ")
            .plain(&format!(
                "from {} ({}) on {}",
                text("from"),
                text("from_backend"),
                text("finished_at")
            ))
            .end();
    }
}
