//! Deleting drawers, which can be undone.

use loci_core::ErrorKind;
use loci_engine::delete::{DeleteReport, DeleteRequest};
use loci_engine::undo::ActPreview;
use maud::{Markup, html};

use crate::context::{PageContext, PageResult};
use crate::parts::buttons::form_secret;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::{PageLink, drawer_link};
use crate::parts::preview::{self, ActRefusal};
use crate::parts::selection::ActSelection;
use crate::parts::shown;
use crate::reply::PageReply;
use crate::visit::VisitNotice;

/// Shows what would be deleted.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    context.access().check_deletable()?;
    let selection = ActSelection::read(context)?.require_some()?;
    let preview = preview::look(context, &selection)?;
    Ok(render(context, &selection, &preview, None))
}

/// Deletes the drawers that were agreed to, or shows them if no number was.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    let selection = ActSelection::read(context)?.require_some()?;
    let Some(agreed) = selection.agreed else {
        return show(context);
    };
    let request = DeleteRequest {
        ids: selection.ids.clone(),
        whole_ids: true,
        scope: selection.scope.clone(),
        expected: Some(agreed),
        dry_run: false,
    };
    let began = context.acts().note_beginning();
    match context.palace().delete_undoable(&request) {
        Ok((report, act)) => {
            let can_undo = act.is_some_and(|act| context.remember_act(began, act));
            leave_notices(context, &report, can_undo);
            Ok(PageReply::see_other(selection.back.unwrap_or("/list")))
        }
        Err(error) if error.kind() == ErrorKind::Conflict => {
            let preview = preview::look(context, &selection)?;
            let refusal = ActRefusal::explain(&error, agreed, &preview);
            Ok(render(context, &selection, &preview, Some(&refusal)))
        }
        Err(error) => Err(error),
    }
}

fn leave_notices(context: PageContext<'_>, report: &DeleteReport, can_undo: bool) {
    let deleted = shown::count(report.deleted, "drawer");
    context.leave_notice(match (report.deleted, can_undo) {
        (0, _) => VisitNotice::done("Nothing was deleted: the drawers were gone already."),
        (_, true) => VisitNotice::done(format!("Deleted {deleted}.")).with_undo(),
        (_, false) => VisitNotice::done(format!("Deleted {deleted}. This cannot be undone.")),
    });
    for warning in &report.warnings {
        context.leave_notice(VisitNotice::problem(warning.message.clone()));
    }
}

fn render(
    context: PageContext<'_>,
    selection: &ActSelection<'_>,
    preview: &ActPreview,
    refused: Option<&ActRefusal<'_>>,
) -> PageReply {
    let title = format!("Delete {}", shown::count(preview.matched, "drawer"));
    let content = html! {
        div.page-head { h1 { (title) } }
        @if let Some(refused) = refused { (refused.render(preview.matched)) }
        @if preview.matched > 0 { (form(context, selection, preview, &title)) }
        (preview::drawers(selection, "/delete", preview))
    };
    let reply = PageFrame::new(context, NavPage::None, title.as_str()).render(&content);
    match refused {
        Some(refused) => reply.with_status(refused.status()),
        None => reply,
    }
}

fn form(context: PageContext<'_>, selection: &ActSelection<'_>, preview: &ActPreview, title: &str) -> Markup {
    let back = preview::usual_return(selection, preview);
    let single = selection.ids.first().filter(|_| selection.ids.len() == 1);
    let cancel = selection
        .back
        .map(str::to_owned)
        .or_else(|| single.map(drawer_link));
    html! {
        form.act.panel method="post" action="/delete" data-once {
            (form_secret(context))
            (selection.hidden_fields(Some(&back)))
            input type="hidden" name="expected" value=(preview.matched);
            (preview::undo_promise(preview.can_undo_removal, "Export them first if you may want them back."))
            @if preview.has_mined { (mining_note(preview)) }
            div.row {
                button.danger { (title) }
                a.button href=(cancel.unwrap_or_else(|| back.clone())) { "Cancel" }
                a href=(export_link(selection)) { "Export first" }
            }
            @if context.access().may_forget() {
                p.muted.small { "Deleted words stay in backups, and some bytes of them in the palace. "
                    "Forgetting erases them everywhere, and cannot be undone." }
            }
        }
    }
}

fn mining_note(preview: &ActPreview) -> Markup {
    html! {
        @if preview.lists_removals {
            p { "Some of them were mined. Mining their sources again does not bring them back." }
        } @else {
            p.warning { "Some of them were mined. This palace keeps no list of deletions, so mining their sources again "
                strong { "brings them back" } "." }
        }
    }
}

fn export_link(selection: &ActSelection<'_>) -> String {
    let link = PageLink::to("/export").with_scope(selection.fields());
    selection
        .ids
        .iter()
        .fold(link, |link, id| link.with("id", id.as_str()))
        .href()
}
