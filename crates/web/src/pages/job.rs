//! The jobs of the site: how far one has come and what it did, and the list of all.

mod ended;

use loci_core::{Error, ErrorKind, Result};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::jobs::{JobHandle, JobOutcome, JobPlan, JobState, JobView, SiteJobProgress};
use crate::parts::buttons::button_form;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, job_link};
use crate::parts::shown;
use crate::reply::PageReply;
use crate::request::PageFields;

/// The seconds after which a browser without scripts loads the page of a running job again.
const REFRESH: u32 = 2;

/// The field that asks for the changing part of the page alone.
const PART: &str = "part";

/// Shows one job, or all of them.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let fields = context.query();
    if fields.value("number").is_none() {
        return Ok(show_all(context));
    }
    let job = find_job(context, fields)?;
    if fields.is_ticked(PART) {
        return Ok(PageReply::html(changing_part(context, &job)));
    }
    let content = html! {
        div.page-head {
            h1 dir="auto" { (shown::name(&job.title)) }
            nav.row.small aria-label="Jobs" { a href="/job" { "All jobs" } }
        }
        (changing_part(context, &job))
        p.visually-hidden #job-news role="status" {}
    };
    let frame = PageFrame::new(context, NavPage::None, job.title.clone());
    let frame = if job.is_running() {
        frame.refreshed_after(REFRESH)
    } else {
        frame
    };
    Ok(frame.render(&content))
}

/// Asks a job to stop, and returns to its page.
pub(crate) fn stop(context: PageContext<'_>) -> PageResult {
    let job = find_job(context, context.form())?;
    if job.is_running() && !job.can_stop {
        let error = Error::new(ErrorKind::Unsupported, "this job runs to its end");
        return Err(error.with_hint("it goes on; its page shows when it has ended"));
    }
    context.jobs().stop(job.number);
    Ok(PageReply::see_other(job_link(job.number)))
}

/// Starts a job and sends the visitor to its page. If the same job is running already, that one is shown: a form that is
/// sent twice does its work once.
pub(crate) fn start_job(
    context: PageContext<'_>,
    plan: JobPlan,
    run: impl FnOnce(&JobHandle) -> Result<JobOutcome> + Send + 'static,
) -> PageResult {
    let number = match context.jobs().find_running(plan.title()) {
        Some(running) => running,
        None => context.jobs().start(plan, context.now(), run)?,
    };
    Ok(PageReply::see_other(job_link(number)))
}

/// Links to the jobs that are running.
pub(crate) fn running_jobs(context: PageContext<'_>) -> Markup {
    let running: Vec<JobView> = context.jobs().list();
    html! {
        @for job in running.iter().filter(|job| job.is_running()) {
            p.notice {
                span dir="auto" { (shown::name(&job.title)) " is running." }
                a href=(job_link(job.number)) { "Show it" }
            }
        }
    }
}

fn find_job(context: PageContext<'_>, fields: &PageFields) -> Result<JobView> {
    let number = fields.value("number").unwrap_or_default();
    let found = number.parse().ok().and_then(|number| context.jobs().find(number));
    found.ok_or_else(|| {
        let message = format!("job number {number:?} does not exist");
        Error::new(ErrorKind::NotFound, message)
            .with_hint("jobs are forgotten when the server ends, and the oldest after many others")
    })
}

/// The part of the page that changes while the job runs. The script asks for it alone.
fn changing_part(context: PageContext<'_>, job: &JobView) -> Markup {
    let part = PageLink::to("/job")
        .with("number", job.number.to_string())
        .with(PART, "1");
    html! {
        section.panel.job #job tabindex="-1" aria-label="State" data-job=[job.is_running().then(|| part.href())] {
            p.small.muted { "Begun " (shown::time(job.began)) }
            @match &job.state {
                JobState::Running(progress) => (running(context, job, progress)),
                JobState::Done(outcome) => (ended::outcome(outcome)),
                JobState::Failed(message, hint) => (ended::failure(message, hint.as_deref())),
            }
        }
    }
}

fn running(context: PageContext<'_>, job: &JobView, progress: &SiteJobProgress) -> Markup {
    let number = job.number.to_string();
    let total = progress.total.filter(|total| *total > 0);
    // What is done may pass a total that was measured before.
    let reached = total.map(|total| progress.done.min(total));
    html! {
        h2 { @if job.is_stopping { "Stopping…" } @else { "Running…" } }
        progress.bar.wide max=[total] value=[reached] aria-label="Progress" {}
        p.job-note dir="auto" {
            @if let (Some(total), Some(reached)) = (total, reached) { span.num { (percent(reached, total)) " %" } " · " }
            @if progress.note.is_empty() { "Beginning" } @else { (shown::text(&progress.note)) }
        }
        @if job.can_stop && !job.is_stopping {
            (button_form(context, "/job/stop", &[("number", &number)], "", &html! { "Stop" }))
            p.small.muted { "What is done until then stays." }
        }
    }
}

fn percent(done: u64, total: u64) -> u64 {
    // In 128 bits, so that no number of bytes is too large.
    u64::try_from(u128::from(done) * 100 / u128::from(total.max(1))).unwrap_or(100)
}

fn show_all(context: PageContext<'_>) -> PageReply {
    let jobs = context.jobs().list();
    let content = html! {
        div.page-head { h1 { "Jobs" } }
        @if jobs.is_empty() {
            div.empty { p { "Nothing runs in the background, and nothing did since this server began." } }
        } @else {
            div.scroll-x { table.table {
                thead { tr { th scope="col" { "Job" } th.roomy scope="col" { "Begun" } th scope="col" { "State" } } }
                tbody {
                    @for job in &jobs {
                        tr data-item {
                            td { a href=(job_link(job.number)) dir="auto" { (shown::name(&job.title)) } }
                            td.roomy { (shown::time(job.began)) }
                            td { (state_word(job)) }
                        }
                    }
                }
            } }
        }
    };
    PageFrame::new(context, NavPage::None, "Jobs").render(&content)
}

fn state_word(job: &JobView) -> &'static str {
    match &job.state {
        JobState::Running(_) if job.is_stopping => "stopping",
        JobState::Running(_) => "running",
        JobState::Done(outcome) if outcome.is_problem => "ended; needs attention",
        JobState::Done(_) => "done",
        JobState::Failed(..) => "failed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_told_in_whole_percents_and_never_overflows() {
        assert_eq!(percent(0, 7), 0);
        assert_eq!(percent(1, 3), 33);
        assert_eq!(percent(7, 7), 100);
        assert_eq!(percent(u64::MAX, u64::MAX), 100);
    }
}
