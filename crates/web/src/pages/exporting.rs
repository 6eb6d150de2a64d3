//! Exporting chosen drawers, or those of a scope, as lines of JSON.

use std::io::{self, Write};

use loci_core::Error;
use loci_engine::export::{ExportReport, ExportRequest};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::jobs::JobOutcome;
use crate::parts::buttons::form_secret;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::PageLink;
use crate::parts::preview;
use crate::parts::selection::ActSelection;
use crate::parts::shown;
use crate::reply::PageReply;

/// The most characters of a name in the name of a file.
const LONGEST_NAME: usize = 40;

/// Shows what would be exported.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    let selection = ActSelection::read(context)?;
    let preview = preview::look(context, &selection)?;
    let title = format!("Export {}", shown::count(preview.matched, "drawer"));
    let content = html! {
        div.page-head { h1 { (title) } }
        section.panel.act {
            p { "A file of JSON lines: the first names the format and the model, each of the others is a drawer with all "
                "that is known of it. " code { "loci import" } " reads it." }
            @if selection.is_everything() { p { "It is the whole palace, with the list of what was deleted." } }
            p.muted.small { "Vectors are not in it; they are made again on import. Secrets that were sealed stay encrypted." }
            @if preview.matched > 0 || selection.is_everything() { (download_button(context, &selection, &title)) }
        }
        (preview::drawers(&selection, "/export", &preview))
    };
    Ok(PageFrame::new(context, NavPage::None, title.as_str()).render(&content))
}

/// A link for a scope, so that it can be kept; a form for chosen drawers, whose ids may be too many for a link.
fn download_button(context: PageContext<'_>, selection: &ActSelection<'_>, title: &str) -> Markup {
    let file = PageLink::to("/export/file").with_scope(selection.fields()).href();
    html! {
        @if selection.ids.is_empty() {
            p { a.button.primary href=(file) download { (title) } }
        } @else {
            form method="post" action="/export/file" {
                (form_secret(context))
                (selection.hidden_fields(None))
                button.primary { (title) }
            }
        }
    }
}

/// Downloads the drawers.
pub(crate) fn download(context: PageContext<'_>) -> PageResult {
    let selection = ActSelection::read(context)?;
    let name = name_file(context, &selection);
    let request = ExportRequest {
        ids: selection.ids,
        scope: selection.scope,
        embeddings: false,
        all: false,
    };
    // A palace that is missing is told before the download begins.
    context.palace().existing_address()?;
    let (palace, jobs, now) = (context.palace().clone(), context.jobs().clone(), context.now());
    let title = format!("Export {name}");
    let write = move |out: &mut dyn Write| {
        let written = palace.export(&request, &mut |line| {
            out.write_all(line.as_bytes())?;
            out.write_all(b"\n")?;
            Ok::<(), ExportStop>(())
        });
        match written {
            Ok(report) => {
                if let Some(outcome) = describe_trouble(&report) {
                    jobs.keep_outcome(title, now, outcome);
                }
                Ok(())
            }
            Err(ExportStop::Carrier(error)) => Err(error),
            Err(ExportStop::Palace(error)) => {
                let mut outcome = JobOutcome::from_sentence(format!("The file is not complete: {error}"));
                outcome.is_problem = true;
                jobs.keep_outcome(title, now, outcome);
                Err(io::Error::other(error.to_string()))
            }
        }
    };
    Ok(PageReply::download("application/x-ndjson", name, Box::new(write)))
}

/// What ends an export early.
enum ExportStop {
    Palace(Error),
    Carrier(io::Error),
}

impl From<Error> for ExportStop {
    fn from(error: Error) -> Self {
        Self::Palace(error)
    }
}

impl From<io::Error> for ExportStop {
    fn from(error: io::Error) -> Self {
        Self::Carrier(error)
    }
}

/// Says what a file lacks; none if it has everything.
fn describe_trouble(report: &ExportReport) -> Option<JobOutcome> {
    if report.damaged.is_empty() && report.warnings.is_empty() {
        return None;
    }
    let written = shown::count(report.drawers, "drawer");
    let mut outcome =
        JobOutcome::from_sentence(format!("The file has {written}, but not all that was asked for."));
    outcome.is_problem = true;
    outcome.findings.clone_from(&report.warnings);
    let damaged = report.damaged.iter().map(|damage| {
        let id = damage.id.as_ref().map_or("no id", |id| id.as_str());
        (id.to_owned(), damage.message.clone())
    });
    outcome.list("Damaged", damaged);
    Some(outcome)
}

/// Names the file by the palace, the wing if there is one, and the day.
fn name_file(context: PageContext<'_>, selection: &ActSelection<'_>) -> String {
    let palace = context.host().palace_name();
    let wing = selection.scope.wing.as_deref();
    let parts = [Some(palace.as_str()), wing]
        .into_iter()
        .flatten()
        .map(plain_part);
    let names: Vec<String> = parts.filter(|part| !part.is_empty()).collect();
    let day = context.now().day_text();
    format!("{}-{day}.jsonl", names.join("-"))
}

/// Keeps of a name what every file system takes.
fn plain_part(name: &str) -> String {
    let kept = name.chars().map(|c| if c.is_alphanumeric() { c } else { '-' });
    let kept: String = kept.take(LONGEST_NAME).collect();
    kept.trim_matches('-').to_owned()
}
