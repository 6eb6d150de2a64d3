//! Undoing the last act of a visit.

use loci_engine::undo::UndoReport;

use crate::acts::UndoneAct;
use crate::context::{PageContext, PageResult};
use crate::parts::links::{drawer_link, is_own_path};
use crate::parts::shown;
use crate::reply::PageReply;
use crate::visit::VisitNotice;

/// The most drawers that are named because they were left as they are.
const MOST_NAMED: usize = 5;

/// Undoes the last act, and returns to its drawer or to the page that the visitor was on.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    let back = context.form().value("back").filter(|back| is_own_path(back));
    let undone = context.acts().undo_last(context.visit.acts(), context.palace())?;
    let Some(UndoneAct { act, report }) = undone else {
        context.leave_notice(VisitNotice::problem(
            "There is nothing to undo. Acts are remembered until this server ends or drawers are forgotten.",
        ));
        return Ok(PageReply::see_other(back.unwrap_or("/")));
    };
    context.leave_notice(describe(&act.describe(), &report, context));
    // The page of a drawer that was added shows nothing any more.
    let on_page = back.filter(|back| !back.starts_with("/drawer") && !back.starts_with("/edit"));
    let to = match (act.drawer_after_undo(), report.undone) {
        (Some(id), 1..) => drawer_link(id),
        _ => on_page.unwrap_or("/list").to_owned(),
    };
    Ok(PageReply::see_other(to))
}

fn describe(what: &str, report: &UndoReport, context: PageContext<'_>) -> VisitNotice {
    let mut text = match (report.undone, report.left.len()) {
        (_, 0) => format!("Undone: {what}."),
        (0, _) => format!("Not undone: {what}."),
        (undone, left) => format!(
            "Undone in part: {what}. {} as before, {left} left as {}.",
            are(undone),
            if left == 1 { "it is" } else { "they are" }
        ),
    };
    for left in report.left.iter().take(MOST_NAMED) {
        text.push_str(&format!(" The drawer {} {}.", left.id.as_str(), left.reason));
    }
    let more = report.left.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        text.push_str(&format!(" So it is with {more} more."));
    }
    if report.embedded > 0 {
        text.push_str(" Vectors were made anew, because the model was changed meanwhile.");
    }
    let notice = if report.left.is_empty() {
        VisitNotice::done(text)
    } else {
        VisitNotice::problem(text)
    };
    match context.visit.acts().describe_last() {
        Some(_) => notice.with_undo(),
        None => notice,
    }
}

fn are(number: u64) -> String {
    let verb = if number == 1 { "is" } else { "are" };
    format!("{} {verb}", shown::count(number, "drawer"))
}
