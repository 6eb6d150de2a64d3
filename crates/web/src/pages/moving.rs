//! Moving drawers to another wing or room.

use loci_core::ErrorKind;
use loci_engine::refile::{MoveReport, MoveRequest};
use loci_engine::undo::ActPreview;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::parts::buttons::form_secret;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, drawer_link};
use crate::parts::preview::{self, ActRefusal};
use crate::parts::selection::ActSelection;
use crate::parts::{place_boxes, shown};
use crate::reply::PageReply;
use crate::visit::VisitNotice;

/// Shows what would be moved, and asks where to.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    context.palace().access().check_writable()?;
    let selection = ActSelection::read(context)?.require_some()?;
    let preview = preview::look(context, &selection)?;
    Ok(render(context, &selection, &preview, None))
}

/// Moves the drawers that were agreed to, or shows them if no number was.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    let selection = ActSelection::read(context)?.require_some()?;
    let Some(agreed) = selection.agreed else {
        return show(context);
    };
    let target = |name: &str| context.form().value(name).map(str::to_owned);
    let request = MoveRequest {
        ids: selection.ids.clone(),
        whole_ids: true,
        scope: selection.scope.clone(),
        to_wing: target("to_wing"),
        to_room: target("to_room"),
        expected: Some(agreed),
        dry_run: false,
    };
    let began = context.acts().note_beginning();
    match context.palace().move_undoable(&request) {
        Ok((report, act)) => {
            let can_undo = act.is_some_and(|act| context.remember_act(began, act));
            context.leave_notice(describe(&report, &request, can_undo));
            Ok(PageReply::see_other(return_address(&selection, &request)))
        }
        Err(error) if is_about_the_form(error.kind()) => {
            let preview = preview::look(context, &selection)?;
            let refusal = ActRefusal::explain(&error, agreed, &preview);
            Ok(render(context, &selection, &preview, Some(&refusal)))
        }
        Err(error) => Err(error),
    }
}

/// Returns whether an error is shown with the form, to be corrected there.
fn is_about_the_form(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::Conflict | ErrorKind::Invalid | ErrorKind::NotFound
    )
}

fn return_address(selection: &ActSelection<'_>, request: &MoveRequest) -> String {
    match (selection.back, selection.ids.as_slice()) {
        (Some(back), _) => back.to_owned(),
        (None, [one]) => drawer_link(one),
        (None, _) => PageLink::to("/list")
            .with_some("wing", request.to_wing.as_deref())
            .with_some("room", request.to_room.as_deref())
            .href(),
    }
}

fn describe(report: &MoveReport, request: &MoveRequest, can_undo: bool) -> VisitNotice {
    let place: Vec<&str> = [&request.to_wing, &request.to_room]
        .into_iter()
        .filter_map(|name| name.as_deref().map(str::trim))
        .collect();
    let place = place.join(" / ");
    let there = match report.matched.saturating_sub(report.moved) {
        0 => String::new(),
        there => format!("; {there} stood there already"),
    };
    let moved = shown::count(report.moved, "drawer");
    match (report.moved, can_undo) {
        (0, _) => VisitNotice::done(format!(
            "Nothing was moved: all of them stood in {place} already."
        )),
        (_, true) => VisitNotice::done(format!("Moved {moved} to {place}{there}.")).with_undo(),
        (_, false) => VisitNotice::done(format!("Moved {moved} to {place}{there}. This cannot be undone.")),
    }
}

fn render(
    context: PageContext<'_>,
    selection: &ActSelection<'_>,
    preview: &ActPreview,
    refused: Option<&ActRefusal<'_>>,
) -> PageReply {
    let title = format!("Move {}", shown::count(preview.matched, "drawer"));
    let content = html! {
        div.page-head { h1 { (title) } }
        @if let Some(refused) = refused { (refused.render(preview.matched)) }
        @if preview.matched > 0 { (form(context, selection, preview, &title)) }
        (preview::drawers(selection, "/move", preview))
    };
    let reply = PageFrame::new(context, NavPage::None, title.as_str()).render(&content);
    match refused {
        Some(refused) => reply.with_status(refused.status()),
        None => reply,
    }
}

fn form(context: PageContext<'_>, selection: &ActSelection<'_>, preview: &ActPreview, title: &str) -> Markup {
    let single = selection.ids.first().filter(|_| selection.ids.len() == 1);
    let cancel = single.map(drawer_link).or_else(|| selection.list_link());
    let cancel = selection.back.map(str::to_owned).or(cancel);
    html! {
        form.act.panel method="post" action="/move" data-once {
            (form_secret(context))
            (selection.hidden_fields(None))
            input type="hidden" name="expected" value=(preview.matched);
            div.act-boxes {
                (place_boxes::name_box("to_wing", "To the wing", context.form().exact_value("to_wing"), Some("wings")))
                (place_boxes::name_box("to_room", "To the room", context.form().exact_value("to_room"), None))
            }
            (place_boxes::wing_names(context))
            p.muted.small { "An empty box leaves each drawer in the wing or room where it is. Ids, texts and times stay."
                @if preview.has_mined { " Mining leaves them where you move them, unless it is told a wing or room." } }
            (preview::undo_promise(preview.can_undo_move, "To move them back, choose them by their new place."))
            div.row {
                button.primary { (title) }
                a.button href=(cancel.unwrap_or_else(|| "/list".to_owned())) { "Cancel" }
            }
        }
    }
}
