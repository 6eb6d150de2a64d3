//! Forgetting drawers: erased to the last byte, here and in the copies of the palace that can be reached.

use loci_core::{ErrorKind, Result};
use loci_engine::forget::{ForgetReport, ForgetRequest};
use loci_engine::undo::ActPreview;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::jobs::{JobHandle, JobOutcome, JobPlan, SiteJobProgress};
use crate::parts::buttons::form_secret;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{drawer_link, job_link};
use crate::parts::preview::{self, ActRefusal};
use crate::parts::selection::ActSelection;
use crate::parts::shown;
use crate::reply::PageReply;

/// Shows what would be forgotten, and where.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let selection = read_selection(context)?;
    render(context, &selection, None)
}

/// Starts to forget the drawers that were agreed to, or shows them if no number was.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    let selection = read_selection(context)?;
    let Some(agreed) = selection.agreed else {
        return render(context, &selection, None);
    };
    // Counted now, so that another number is told on this page and not as a job that failed.
    let counted = context.palace().forget(
        &ForgetRequest {
            dry_run: true,
            ..to_request(&selection, agreed)
        },
        &mut |_, _, _| {},
    );
    match counted {
        Err(error) if error.kind() == ErrorKind::Conflict => {
            return render(context, &selection, Some(agreed));
        }
        counted => drop(counted?),
    }
    let request = to_request(&selection, agreed);
    let palace = context.palace().clone();
    let mut turn = context.acts().begin_forgetting()?;
    let plan = JobPlan::new(format!("Forget {}", shown::count(agreed, "drawer"))).without_stop();
    let run = move |job: &JobHandle| {
        turn.forget_acts();
        let report = palace.forget(&request, &mut |what, done, total| {
            job.report(SiteJobProgress {
                done,
                total: Some(total),
                note: format!("rewriting {what}"),
            });
        })?;
        Ok(describe(&report))
    };
    let number = context.jobs().start(plan, context.now(), run)?;
    Ok(PageReply::see_other(job_link(number)))
}

fn read_selection(context: PageContext<'_>) -> Result<ActSelection<'_>> {
    context.access().check_forgetting()?;
    // Copies of the palace are opened and closed, which must not happen while they are rewritten.
    context.acts().check_quiet()?;
    ActSelection::read(context)?.require_some()
}

fn to_request(selection: &ActSelection<'_>, agreed: u64) -> ForgetRequest {
    ForgetRequest {
        ids: selection.ids.clone(),
        whole_ids: true,
        scope: selection.scope.clone(),
        expected: Some(agreed),
        ..ForgetRequest::default()
    }
}

fn describe(report: &ForgetReport) -> JobOutcome {
    let mut outcome = JobOutcome::from_sentence(format!(
        "Forgot {}. No byte of them is left in what was rewritten.",
        shown::count(report.forgotten, "drawer")
    ));
    if report.forgotten_in_copies > 0 {
        let copies = shown::count(report.forgotten_in_copies, "drawer");
        outcome.say(format!("Forgot {copies} in copies of the palace."));
    }
    outcome.say("Nothing that happened before can be undone any more.");
    outcome.findings.clone_from(&report.warnings);
    outcome.list(
        "Rewritten",
        report.reached.iter().map(|part| (part.clone(), String::new())),
    );
    let missed = report.not_reached.iter();
    outcome.list(
        "Not reached: these may still hold some of them",
        missed.map(|part| (part.part.clone(), part.reason.clone())),
    );
    outcome.is_problem = !report.not_reached.is_empty() || !report.warnings.is_empty();
    outcome
}

/// Renders the question; `agreed` is the number that it was agreed to, if that is not the number any more.
fn render(context: PageContext<'_>, selection: &ActSelection<'_>, agreed: Option<u64>) -> PageResult {
    let preview = preview::look(context, selection)?;
    let reach = context.palace().forget(
        &ForgetRequest {
            dry_run: true,
            expected: None,
            ..to_request(selection, 0)
        },
        &mut |_, _, _| {},
    )?;
    let refused = agreed.map(|agreed| ActRefusal::Recounted { agreed });
    // Bytes of drawers that were deleted before may be left, so that chosen drawers that are gone are a reason, too.
    let is_due = preview.matched > 0 || !preview.missing.is_empty();
    let title = if preview.matched == 0 && is_due {
        format!(
            "Forget what is left of {}",
            shown::count(preview.missing.len() as u64, "deleted drawer")
        )
    } else {
        format!("Forget {}", shown::count(preview.matched, "drawer"))
    };
    let content = html! {
        div.page-head { h1 { (title) } }
        @if let Some(refused) = &refused { (refused.render(preview.matched)) }
        @if is_due { (form(context, selection, &preview, &reach, &title)) }
        (preview::drawers(selection, "/forget", &preview))
    };
    let reply = PageFrame::new(context, NavPage::None, title.as_str()).render(&content);
    Ok(match refused {
        Some(refused) => reply.with_status(refused.status()),
        None => reply,
    })
}

fn form(
    context: PageContext<'_>,
    selection: &ActSelection<'_>,
    preview: &ActPreview,
    reach: &ForgetReport,
    title: &str,
) -> Markup {
    let single = selection
        .ids
        .first()
        .filter(|_| selection.ids.len() == 1 && preview.matched == 1);
    let cancel = selection
        .back
        .map(str::to_owned)
        .or_else(|| single.map(drawer_link));
    let cancel = cancel.unwrap_or_else(|| preview::usual_return(selection, preview));
    html! {
        form.act.panel.grave method="post" action="/forget" data-once {
            (form_secret(context))
            (selection.hidden_fields(None))
            input type="hidden" name="expected" value=(preview.matched);
            p { strong { "This cannot be undone. " }
                "Their words, names and vectors are erased to the last byte, and mining does not bring them back. "
                "Nothing that anyone did on these pages before can be undone afterwards." }
            (reached(reach))
            p.muted.small { "The files and transcripts that the words came from, exported files, and copies elsewhere are "
                "not touched. To reach backups in another place, use " code { "loci forget --backups" } "." }
            div.row {
                button.danger { (title) }
                a.button href=(cancel) { "Cancel" }
            }
        }
    }
}

/// Shows what will be rewritten, and what cannot be.
fn reached(reach: &ForgetReport) -> Markup {
    html! {
        @if !reach.reached.is_empty() {
            h2 { "Will be rewritten" }
            ul.reach { @for part in &reach.reached { li { (shown::name(part)) } } }
        }
        @if !reach.not_reached.is_empty() {
            h2 { "Cannot be reached" }
            ul.reach.warning {
                @for part in &reach.not_reached { li { (shown::name(&part.part)) " — " (shown::text(&part.reason)) } }
            }
        }
    }
}
