//! `loci status`: what a palace holds and how far search reaches.

use loci_engine::StatusReport;
use loci_engine::spool::{Spool, Standing};

use super::hook;
use crate::errors::{Done, Exit};
use crate::page::Page;
use crate::render::drawers;
use crate::session::Session;

/// Show what the palace holds
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:\n  loci status --palace ./notes")]
pub(crate) struct Args {}

/// Shows it.
pub(crate) fn run(_: &Args, session: &mut Session) -> Done {
    let mut report = session.palace()?.status()?;
    let spool = spooled(session);
    report.spool = spool.as_ref().map(|(_, standing)| *standing);
    let out = &mut session.out;
    if out.is_json() {
        out.json(&report)?;
    } else {
        out.page(|page| tell(&report, page))?;
    }
    out.warnings(&report.warnings);
    if let Some((spool, standing)) = spool {
        out.flush()?;
        out.note(&left(&spool, standing));
    }
    Ok(Exit::Done)
}

/// What hooks left for this palace, where there is something. A spool that cannot be read says nothing.
fn spooled(session: &Session) -> Option<(Spool, Standing)> {
    let spool = hook::spool(session).ok()?;
    let standing = spool.standing().ok()?;
    (standing != Standing::default()).then_some((spool, standing))
}

fn left(spool: &Spool, standing: Standing) -> String {
    let waiting = match standing.waiting {
        0 => None,
        1 => Some("1 conversation waits to be mined".to_owned()),
        many => Some(format!("{many} conversations wait to be mined")),
    };
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

fn tell(report: &StatusReport, page: &mut Page) {
    page.bold(&report.palace)
        .dim(&format!("  {}", report.backend))
        .end();
    page.plain(&format!("{} in {}", drawers(report.drawers), report.collection))
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
        "{} by vector ({} packed), {} by keyword",
        coverage.nearest, coverage.packed, coverage.lexical
    ));
    page.end();
    if !report.health.ok {
        page.dim("health    ").plain(&report.health.detail).end();
    }
    for kind in report.maintenance.iter().flat_map(|state| &state.running) {
        page.dim("upkeep    ").plain(&format!("{kind} is running")).end();
    }
    for (kind, why) in report.maintenance.iter().flat_map(|state| &state.due) {
        page.dim("upkeep    ")
            .plain(&format!("{why}; run `loci maintain {kind}`"))
            .end();
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
    for other in report
        .collections
        .iter()
        .filter(|other| other.name != report.collection)
    {
        page.dim("also      ")
            .plain(&format!("{} in {}", drawers(other.drawers), other.name))
            .end();
    }
}
