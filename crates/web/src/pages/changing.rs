//! Editing one drawer: saved only if it still is as it was read; otherwise both versions are shown.

mod collision;
mod typed;

use loci_core::{Error, ErrorKind};
use loci_engine::note::LONGEST_TEXT;
use loci_engine::update::{EditableDrawer, UpdateReport};
use maud::{Markup, html};

use crate::context::{PageContext, PageResult, required_id};
use crate::pages::drawer::missing_drawer;
use crate::pages::{add, problem};
use crate::parts::buttons::form_secret;
use crate::parts::form_ids::id_field;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::drawer_link;
use crate::parts::place_boxes::{name_box, wing_names};
use crate::parts::preview::refusal;
use crate::parts::{card, shown, text_box};
use crate::reply::PageReply;
use crate::visit::VisitNotice;
use typed::TypedDrawer;

/// Shows the form with the drawer as it is.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    context.palace().access().check_writable()?;
    let id = required_id(context.query())?;
    let now = context
        .palace()
        .read_editable(&id)?
        .ok_or_else(|| missing_drawer(&id))?;
    let content = page(context, &now, &TypedDrawer::of_drawer(&now.drawer), None);
    Ok(PageFrame::new(context, NavPage::None, "Edit").render(&content))
}

/// Saves what was typed, if the drawer still is as the visitor saw it.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    let fields = context.form();
    let id = required_id(fields)?;
    let typed = TypedDrawer::read(fields);
    let Some(now) = context.palace().read_editable(&id)? else {
        return Ok(add::show_refused(context, &removed_meanwhile()));
    };
    if fields.exact_value("seen") != Some(now.state.as_str()) {
        return Ok(collision::show(context, &now, &typed));
    }
    let request = match typed.to_request(&now) {
        Ok(request) if !request.changes_something() => {
            context.leave_notice(VisitNotice::done(
                "Nothing was changed: the drawer is as you wrote it.",
            ));
            return Ok(PageReply::see_other(drawer_link(&id)));
        }
        Ok(request) => request,
        Err(error) => return Ok(show_refused(context, &now, &typed, &error)),
    };
    let began = context.acts().note_beginning();
    match context.palace().update_undoable(&request) {
        Ok((report, act)) => {
            let can_undo = act.is_some_and(|act| context.remember_act(began, act));
            context.leave_notice(describe(&report, can_undo));
            Ok(PageReply::see_other(drawer_link(&id)))
        }
        Err(error) => Ok(explain(context, &now, &typed, &error)),
    }
}

/// Answers an edit that was refused: the drawer may have been changed or removed in the last moment.
fn explain(context: PageContext<'_>, read: &EditableDrawer, typed: &TypedDrawer, error: &Error) -> PageReply {
    match context.palace().read_editable(&read.drawer.id) {
        Ok(None) => add::show_refused(context, &removed_meanwhile()),
        Ok(Some(now)) if now.state != read.state => collision::show(context, &now, typed),
        _ => show_refused(context, read, typed, error),
    }
}

fn removed_meanwhile() -> Error {
    Error::new(
        ErrorKind::Conflict,
        "the drawer was removed while you were editing it",
    )
    .with_hint("your words are below, and can be filed as a new drawer")
}

fn show_refused(
    context: PageContext<'_>,
    now: &EditableDrawer,
    typed: &TypedDrawer,
    error: &Error,
) -> PageReply {
    PageFrame::new(context, NavPage::None, "Edit")
        .render(&page(context, now, typed, Some(error)))
        .with_status(problem::http_status(error.kind()))
}

fn describe(report: &UpdateReport, can_undo: bool) -> VisitNotice {
    let secrets = report.secrets.as_ref();
    let secrets = secrets.map_or_else(String::new, |secrets| format!(" Secrets: {secrets}."));
    if can_undo {
        VisitNotice::done(format!("Saved.{secrets}")).with_undo()
    } else {
        VisitNotice::done(format!("Saved.{secrets} This cannot be undone."))
    }
}

fn page(
    context: PageContext<'_>,
    now: &EditableDrawer,
    typed: &TypedDrawer,
    refused: Option<&Error>,
) -> Markup {
    html! {
        div.page-head { h1 { "Edit a drawer" } }
        (card::head(&now.drawer))
        @if let Some(error) = refused {
            div.warning role="alert" id="refused" { strong { "Nothing was changed. " } (refusal(error)) }
        }
        (warnings(now))
        form.act.panel method="post" action="/edit" data-once data-guard {
            (form_fields(context, now, typed, refused.is_some()))
            div.row {
                button.primary { "Save" }
                a.button href=(drawer_link(&now.drawer.id)) { "Cancel" }
            }
        }
    }
}

/// What an edit of this drawer has to reckon with.
fn warnings(now: &EditableDrawer) -> Markup {
    let text = now.drawer.whole_text();
    html! {
        @if now.is_mined {
            p.note { "It was cut from " (card::source(&now.drawer)) " by mining. When that part of the source changes and is mined "
                "again, the drawer is replaced, and your words with it; its kind and speaker are always those of the source. "
                "The source itself is not changed here." }
        }
        @if is_too_long(text) {
            p.note { "Its text has " (shown::bytes(text.len() as u64)) ", more than one edit may hold. Only its place can be changed here." }
        } @else if text_box::loses_characters(text) {
            p.warning { "Its text holds characters that a browser does not give back as they are. They stay if you leave the "
                "text alone; if you change it, they become line breaks and replacement characters." }
        }
        @for damage in &now.drawer.damage { p.warning { "Damaged: " (shown::text(damage)) } }
    }
}

fn is_too_long(text: &str) -> bool {
    text.len() > LONGEST_TEXT
}

/// The boxes of an edit, and what it is compared with when it arrives.
fn form_fields(context: PageContext<'_>, now: &EditableDrawer, typed: &TypedDrawer, refused: bool) -> Markup {
    html! {
        (form_secret(context))
        @let (name, id) = id_field(&now.drawer.id);
        input type="hidden" name=(name) value=(id);
        input type="hidden" name="seen" value=(now.state.as_str());
        (TypedDrawer::of_drawer(&now.drawer).hidden_origin())
        @if !is_too_long(now.drawer.whole_text()) {
            (text_box::render(typed.text(), refused, false))
        }
        div.act-boxes {
            (name_box("wing", "Wing", typed.name("wing"), Some("wings")))
            (name_box("room", "Room", typed.name("room"), None))
            (name_box("kind", "Kind", typed.name("kind"), None))
            (name_box("speaker", "Speaker", typed.name("speaker"), None))
        }
        (wing_names(context))
    }
}
