//! Maintenance on the doctor's page: what is due, what runs, and the buttons that begin it.

use loci_core::{Error, ErrorKind, MaintenanceKind, MaintenanceStatus, Result};
use loci_engine::maintain::{MaintainReport, MaintainRequest};
use loci_engine::{Palace, StatusReport};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::jobs::{JobHandle, JobOutcome, JobPlan};
use crate::pages::job::start_job;
use crate::parts::buttons::button_form;
use crate::parts::shown;

/// Shows the state of maintenance, and a button for each kind that the backend offers.
pub(super) fn section(context: PageContext<'_>, status: &StatusReport) -> Markup {
    let kinds = list_kinds(context.palace()).unwrap_or_default();
    let state = status.maintenance.clone().unwrap_or_default();
    html! {
        section.panel aria-labelledby="upkeep" {
            h2 #upkeep { "Maintenance" }
            @if kinds.is_empty() { p.muted { "The backend of this palace offers none." } }
            @for kind in &state.running { p { (shown::name(kind.name())) " is running." } }
            @for (kind, why) in &state.due { p.warning dir="auto" { (shown::name(kind.name())) " is due: " (shown::text(why)) } }
            @if !kinds.is_empty() && state.due.is_empty() && state.running.is_empty() { p { "Nothing is due." } }
            @if context.access().may_maintain() && !kinds.is_empty() {
                ul.plain-list {
                    @for kind in &kinds {
                        li.row {
                            (button_form(context, "/doctor/maintain", &[("kind", kind.name())], "", &html! { (shown::name(kind.name())) }))
                            span.muted { (explain(kind)) }
                        }
                    }
                }
            }
            @if !state.figures.is_empty() {
                dl.kv {
                    @for (name, figure) in &state.figures {
                        dt { (shown::name(&name.replace('_', " "))) } dd { (shown::name(&figure.to_string())) }
                    }
                }
            }
        }
    }
}

fn list_kinds(palace: &Palace) -> Result<Vec<MaintenanceKind>> {
    Ok(palace.address()?.backend.descriptor().maintenance.clone())
}

fn explain(kind: &MaintenanceKind) -> &'static str {
    match kind.name() {
        "analyze" => "refreshes the statistics by which queries are planned",
        "compact" => "gives the space of removed drawers back",
        "reindex" => "rebuilds every index from the drawers",
        _ => "a kind of this backend",
    }
}

/// Starts the kind that the form names.
pub(super) fn start(context: PageContext<'_>) -> PageResult {
    context.access().check_upkeep("upkeep")?;
    let kind = context.form().value("kind").unwrap_or_default().to_owned();
    let kinds = list_kinds(context.palace())?;
    if !kinds.iter().any(|offered| offered.name() == kind) {
        let message = format!("the backend of this palace offers no maintenance {kind:?}");
        return Err(Error::new(ErrorKind::Unsupported, message).with_hint("nothing was changed"));
    }
    let palace = context.palace().clone();
    // The backend does it in one step, which ends by itself.
    let plan = JobPlan::new(format!("Maintenance: {kind}")).without_stop();
    start_job(context, plan, move |job: &JobHandle| {
        job.report_steps(0, None, kind.as_str());
        let drop_retired = false;
        let report = palace.maintain(&MaintainRequest { kind, drop_retired })?;
        Ok(describe(&report))
    })
}

fn describe(report: &MaintainReport) -> JobOutcome {
    let done = &report.report;
    let status = match done.status {
        MaintenanceStatus::Ran => "It ran to its end.",
        MaintenanceStatus::AlreadyRunning => "It is running already elsewhere; nothing was done here.",
        MaintenanceStatus::NothingToDo => "There was nothing to do.",
    };
    let mut outcome = JobOutcome::from_sentence(status);
    let figures = done.figures.iter();
    outcome.list(
        "Figures",
        figures.map(|(name, figure)| (name.replace('_', " "), figure.to_string())),
    );
    outcome
}
