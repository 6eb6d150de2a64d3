//! Mining a file or folder, in the background.

mod outcome;

use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result};
use loci_engine::mine::{MineExtent, MineProgress, survey_sources};
use loci_engine::{MineRequest, Palace};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::jobs::{JobHandle, JobOutcome, JobPlan};
use crate::pages::job::{running_jobs, start_job};
use crate::pages::problem::http_status;
use crate::parts::buttons::form_secret;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::shown;
use crate::reply::PageReply;

/// Shows the form.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    check_rights(context)?;
    Ok(render_form(context, None))
}

/// Starts to mine, unless the path cannot be mined; then the form is shown again, with the reason.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    check_rights(context)?;
    let request = match read_request(context) {
        Ok(request) => request,
        Err(error) => {
            let status = http_status(error.kind());
            return Ok(render_form(context, Some(&error)).with_status(status));
        }
    };
    let (palace, title) = (context.palace().clone(), name_job(&request));
    start_job(context, JobPlan::new(title), move |job| {
        mine(&palace, request, job)
    })
}

fn check_rights(context: PageContext<'_>) -> Result<()> {
    context.access().check_mining()
}

fn read_request(context: PageContext<'_>) -> Result<MineRequest> {
    let form = context.form();
    let path = form.value("path").ok_or_else(|| {
        Error::invalid("no path was named").with_hint("nothing was mined; type the path of a file or folder")
    })?;
    let request = context.host().mine_request(PathBuf::from(path.trim()))?;
    Ok(MineRequest {
        wing: form.value("wing").map(|wing| wing.trim().to_owned()),
        ..request
    })
}

/// Names a job by the path as it was understood: whole, and without links.
fn name_job(request: &MineRequest) -> String {
    let path = request.paths.first().map(PathBuf::as_path);
    let path = path.unwrap_or(Path::new("")).display();
    match &request.wing {
        Some(wing) => format!("Mine {path} into {wing}"),
        None => format!("Mine {path}"),
    }
}

fn render_form(context: PageContext<'_>, error: Option<&Error>) -> PageReply {
    let form = context.form();
    let content = html! {
        div.page-head { h1 { "Mine a file or folder" } }
        (running_jobs(context))
        @if let Some(error) = error { (refusal(error)) }
        form.act.panel.mine-form method="post" action="/mine" {
            (form_secret(context))
            label.field {
                span { "Path on the machine that serves this page" }
                input name="path" value=[form.exact_value("path")] placeholder="/home/ada/notes or ~/notes" required
                    autocomplete="off" spellcheck="false" dir="auto" aria-describedby="mine-about";
            }
            label.field {
                span { "Wing (if none is named, the project that each file belongs to)" }
                input name="wing" value=[form.exact_value("wing")] autocomplete="off" dir="auto";
            }
            p #mine-about.small.muted {
                "Every word is filed, in drawers. Hidden and ignored files, and those that hold credentials by their names, are \
                 left out. Unchanged files are skipped, so that a folder can be mined again at any time."
            }
            div.row { button.primary { "Mine" } }
        }
    };
    PageFrame::new(context, NavPage::Add, "Mine a folder").render(&content)
}

fn refusal(error: &Error) -> Markup {
    html! {
        div.notice.problem role="alert" {
            span dir="auto" {
                (shown::text(&error.to_string()))
                @if let Some(hint) = error.hint_text() { " — " (shown::text(hint)) }
            }
        }
    }
}

/// Mines until the end, or until the job is asked to stop.
fn mine(palace: &Palace, request: MineRequest, job: &JobHandle) -> Result<JobOutcome> {
    job.report_steps(0, None, "Looking for sources");
    let request = MineRequest {
        stop: job.stop_signal().clone(),
        ..request
    };
    let extent = survey_sources(&request)?;
    let mut reached = MineProgress::default();
    let mined = palace.mine(&request, &mut |progress| {
        reached = progress;
        report_progress(job, progress, extent);
    });
    match mined {
        // A stop is what the visitor asked for, and not a failure.
        Err(error) if error.kind() == ErrorKind::Conflict && request.stop.is_requested() => {
            Ok(outcome::stopped(reached))
        }
        mined => Ok(outcome::ended(&mined?)),
    }
}

fn report_progress(job: &JobHandle, progress: MineProgress, extent: MineExtent) {
    let note = format!(
        "{} of {}, {} filed",
        shown::digits(progress.sources),
        shown::count(extent.sources.max(progress.sources), "source"),
        shown::count(progress.drawers, "drawer")
    );
    // Bytes tell better than sources how long it still takes.
    job.report_steps(progress.bytes, Some(extent.bytes), note);
}
