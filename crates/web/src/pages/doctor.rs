//! How the palace is: health, coverage, the model, upkeep, and the machine around it. Asks for no more than
//! `loci status` does; the check of every drawer is a job.

mod machine;
mod palace;
mod upkeep;
mod verifying;

use loci_core::Result;
use loci_engine::overview::OverviewReport;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::jobs::JobPlan;
use crate::pages::job::{running_jobs, start_job};
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::shown;
use palace::PalaceHealth;

/// The title of the job that verifies.
const VERIFY: &str = "Verify every drawer";

/// Shows the page: to a visitor of some wings, what concerns these wings.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let content = html! {
        div.page-head { h1 { "Doctor" } nav.row.small aria-label="Jobs" { a href="/job" { "Jobs" } } }
        @if context.sees_whole() { (whole(context)?) } @else { (some_wings(context)?) }
    };
    Ok(PageFrame::new(context, NavPage::Doctor, "Doctor").render(&content))
}

/// Starts a check of every drawer.
pub(crate) fn start_verify(context: PageContext<'_>) -> PageResult {
    // Findings name drawers of every wing.
    context.palace().access().check_whole("verifying")?;
    let palace = context.palace().clone();
    palace.existing_address()?;
    start_job(context, JobPlan::new(VERIFY), move |job| {
        verifying::verify(&palace, job)
    })
}

/// Starts one kind of maintenance.
pub(crate) fn start_maintenance(context: PageContext<'_>) -> PageResult {
    upkeep::start(context)
}

fn whole(context: PageContext<'_>) -> Result<Markup> {
    Ok(html! {
        (running_jobs(context))
        @match PalaceHealth::read(context)? {
            Some(health) => {
                (health.render(context))
                (upkeep::section(context, &health.status))
                (palace::copies(&health))
            },
            None => section.empty { p { "Nothing is filed here yet, so there is nothing to examine." } },
        }
        (machine::hooks(context))
        (machine::tools(context))
        (machine::backends(context))
    })
}

fn some_wings(context: PageContext<'_>) -> Result<Markup> {
    let OverviewReport { info, wings } = context.palace().describe_collection()?;
    Ok(html! {
        p.muted { "Only some wings are open to you; the figures are of these." }
        section.panel aria-labelledby="palace" {
            h2 #palace { "What is here" }
            p { (shown::count(info.drawers, "drawer")) " in " (shown::count(wings.len() as u64, "wing")) }
            (palace::coverage(&info.coverage, info.drawers, info.approximate))
        }
        @for warning in &info.warnings { (finding(warning)) }
    })
}
