//! Adding a drawer by hand.

use loci_core::Error;
use loci_engine::note::{NoteReport, NoteRequest};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::pages::problem::http_status;
use crate::parts::buttons::form_secret;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::drawer_link;
use crate::parts::place_boxes::{name_box, wing_names};
use crate::parts::preview::refusal;
use crate::parts::text_box;
use crate::reply::PageReply;
use crate::request::PageFields;
use crate::visit::VisitNotice;

/// Shows the form; an address may fill some of it in.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    context.palace().access().check_writable()?;
    Ok(PageFrame::new(context, NavPage::Add, "Add").render(&page(context, context.query(), None)))
}

/// Files what was typed. What cannot be filed is shown again, so that no word of it is lost.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    let fields = context.form();
    let filed = text_box::read(fields).and_then(|text| {
        let began = context.acts().note_beginning();
        let (report, act) = context.palace().file_note_undoable(&to_request(fields, text))?;
        let can_undo = act.is_some_and(|act| context.remember_act(began, act));
        Ok((report, can_undo))
    });
    match filed {
        Ok((report, can_undo)) => {
            context.leave_notice(describe(&report, can_undo));
            Ok(PageReply::see_other(drawer_link(&report.id)))
        }
        Err(error) => Ok(show_refused(context, &error)),
    }
}

/// Shows the form again with what was typed and the reason why it was not filed.
pub(crate) fn show_refused(context: PageContext<'_>, error: &Error) -> PageReply {
    PageFrame::new(context, NavPage::Add, "Add")
        .render(&page(context, context.form(), Some(error)))
        .with_status(http_status(error.kind()))
}

fn to_request(fields: &PageFields, text: String) -> NoteRequest {
    let name = |name: &str| fields.value(name).map(|value| value.trim().to_owned());
    NoteRequest {
        text,
        wing: name("wing"),
        room: name("room"),
        source: name("source"),
        speaker: name("speaker"),
        kind: name("kind"),
        by_hand: true,
        ..NoteRequest::default()
    }
}

fn describe(report: &NoteReport, can_undo: bool) -> VisitNotice {
    let names = [report.wing.as_deref(), report.room.as_deref()];
    let place: Vec<&str> = names.into_iter().flatten().collect();
    let place = match place.as_slice() {
        [] => String::new(),
        names => format!(" in {}", names.join(" / ")),
    };
    let secrets = report.secrets.as_ref();
    let secrets = secrets.map_or_else(String::new, |secrets| format!(" Secrets: {secrets}."));
    if report.outcome != "added" {
        return VisitNotice::done(format!(
            "These words are already filed{place}, as this drawer. Nothing was added."
        ));
    }
    if can_undo {
        VisitNotice::done(format!("Filed{place}.{secrets}")).with_undo()
    } else {
        VisitNotice::done(format!(
            "Filed{place}.{secrets} This cannot be undone, but deleted."
        ))
    }
}

fn page(context: PageContext<'_>, fields: &PageFields, refused: Option<&Error>) -> Markup {
    let boxed = |name: &'static str, label: &str, list| name_box(name, label, fields.exact_value(name), list);
    html! {
        div.page-head { h1 { "Add a drawer" } }
        @if let Some(error) = refused {
            div.warning role="alert" id="refused" { strong { "Nothing was filed. " } (refusal(error)) }
        }
        form.act.panel method="post" action="/add" data-once data-guard {
            (form_secret(context))
            (text_box::render(fields.exact_value("text").unwrap_or_default(), refused.is_some(), true))
            div.act-boxes {
                (boxed("wing", "Wing: a project or person", Some("wings")))
                (boxed("room", "Room: a topic", None))
            }
            details open[["source", "speaker", "kind"].iter().any(|name| fields.value(name).is_some())] {
                summary { "Where the words come from" }
                div.act-boxes {
                    (boxed("source", "Source: a page, a book, a talk", None))
                    (boxed("speaker", "Speaker", None))
                    (boxed("kind", "Kind: note, if empty", None))
                }
            }
            (wing_names(context))
            div.row {
                button.primary { "File it" }
                span.muted.small { "Every word is kept as it is. Secrets in it are sealed." }
            }
        }
    }
}
