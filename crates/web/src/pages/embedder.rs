//! The model behind the vectors, and moving to another while search goes on.

mod question;
pub(crate) mod spaces;
mod switching;

use loci_core::{EmbeddingSpace, Error, ErrorKind, IdentityState, Result, SpaceState, SwitchStep};
use loci_engine::embedder::EmbedderReport;
use maud::{Markup, html};

use self::question::SwitchQuestion;
use crate::context::{PageContext, PageResult};
use crate::host::SiteModelRow;
use crate::pages::job::running_jobs;
use crate::parts::buttons::button_form;
use crate::parts::findings::finding;
use crate::parts::frame::{NavPage, PageFrame};
use crate::parts::links::PageLink;
use crate::parts::shown;
use crate::reply::PageReply;
use crate::visit::VisitNotice;

/// Shows the model; with `switch`, asks whether to move to that one.
pub(crate) fn show(context: PageContext<'_>) -> PageResult {
    context.palace().access().check_whole("a change of model")?;
    if let Some(name) = context.query().value("switch") {
        context.access().check_upkeep("a change of model")?;
        return Ok(SwitchQuestion::read(context, name)?.render(context, None));
    }
    let report = context.palace().show_embedder()?;
    let content = html! {
        div.page-head { h1 { "Model" } nav.row.small aria-label="Model" { a href="/doctor" { "Doctor" } } }
        (running_jobs(context))
        (current(&report))
        (spaces::table(&report.spaces))
        @if context.access().may_maintain() {
            (unfinished(context, &report))
            (models(context, &report))
            (way_back(context, &report.spaces))
        }
        @for warning in &report.warnings { (finding(warning)) }
    };
    Ok(PageFrame::new(context, NavPage::Doctor, "Model").render(&content))
}

/// Begins a switch, pauses one or goes back.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    context.palace().access().check_whole("a change of model")?;
    match context.form().value("act") {
        Some("switch") => switch(context),
        Some("pause") => {
            let sentence = "The switch pauses after its current step. Its vectors are kept.";
            take_step(context, &SwitchStep::Pause, sentence)
        }
        Some("rollback") => take_step(
            context,
            &SwitchStep::Rollback,
            "The previous model answers again.",
        ),
        _ => Err(Error::invalid("the form does not say what to do")
            .with_hint("nothing was changed; open the page again and press a button")),
    }
}

fn switch(context: PageContext<'_>) -> PageResult {
    let form = context.form();
    let name = form.value("model").ok_or_else(|| {
        Error::invalid("no model was named").with_hint("nothing was changed; choose one on the page")
    })?;
    let question = SwitchQuestion::read(context, name)?;
    // The number that the visitor agreed to; another one is asked about again.
    match form.value("drawers").and_then(|number| number.parse().ok()) {
        Some(agreed) if agreed == question.drawers => switching::start(context, question),
        agreed => Ok(question.render(context, agreed)),
    }
}

fn take_step(context: PageContext<'_>, step: &SwitchStep, sentence: &str) -> PageResult {
    context.palace().step_switch(step)?;
    context.leave_notice(VisitNotice::done(sentence));
    Ok(PageReply::see_other("/embedder"))
}

fn current(report: &EmbedderReport) -> Markup {
    html! {
        section.panel aria-labelledby="current" {
            h2 #current { "Search by meaning" }
            @match &report.identity {
                IdentityState::Known(identity) => p dir="auto" { "The vectors are of " strong { (shown::name(&identity.to_string())) } "." },
                IdentityState::Unset => p { "This palace has no model: it is searched by words, or by vectors that programs bring." },
                IdentityState::Unknown => p { "No model is recorded for the vectors, so that no question can be compared with them." },
            }
            @if let Some(why) = &report.why {
                p.warning dir="auto" { "The model cannot be used here, so that search is by words only: " (shown::text(why)) }
            }
        }
    }
}

/// The space that a switch fills, if one is unfinished.
fn find_unfinished(spaces: &[EmbeddingSpace]) -> Option<&EmbeddingSpace> {
    let mut spaces = spaces.iter();
    spaces.find(|space| matches!(space.state, SpaceState::Building | SpaceState::Paused))
}

/// What can be done with an unfinished switch.
fn unfinished(context: PageContext<'_>, report: &EmbedderReport) -> Markup {
    let Some(space) = find_unfinished(&report.spaces) else {
        return html! {};
    };
    let model = find_model(context, space);
    html! {
        section.panel aria-labelledby="unfinished" {
            h2 #unfinished { "An unfinished switch" }
            p dir="auto" {
                (shown::count(space.missing_vectors(), "drawer")) " still need a vector of " (spaces::model_name(space)) ". "
                "Until then, search answers from the old vectors."
            }
            div.row {
                @match model {
                    Some(model) => a.button.primary href=(switch_link(&model)) { "Continue" },
                    None => span.muted { "Its model is not installed on this machine." },
                }
                @if space.state == SpaceState::Building {
                    (button_form(context, "/embedder", &[("act", "pause")], "", &html! { "Pause" }))
                }
                (button_form(context, "/embedder", &[("act", "rollback")], "", &html! { "Give it up" }))
            }
        }
    }
}

fn find_model(context: PageContext<'_>, space: &EmbeddingSpace) -> Option<String> {
    let IdentityState::Known(identity) = &space.identity else {
        return None;
    };
    let mut models = context.host().list_models().into_iter();
    models
        .find(|model| model.name == identity.model)
        .map(|model| model.name)
}

fn switch_link(name: &str) -> String {
    PageLink::to("/embedder").with("switch", name).href()
}

/// The models that the palace can be moved to.
fn models(context: PageContext<'_>, report: &EmbedderReport) -> Markup {
    let installed = context.host().list_models();
    if report.spaces.is_empty() {
        return html! { p.muted { "The backend of this palace keeps the vectors of one model only; " code { "loci migrate" } " moves it to another." } };
    }
    html! {
        section aria-labelledby="models" {
            h2 #models { "Installed models" }
            div.scroll-x { table.table { tbody {
                @for model in &installed {
                    tr data-item {
                        th scope="row" dir="auto" { (shown::name(&model.name)) }
                        td dir="auto" { (shown::text(&model.description)) }
                        td { (choice(report, model)) }
                    }
                }
            } } }
            p.small.muted { code { "loci model list" } " shows those that can be installed." }
        }
    }
}

fn choice(report: &EmbedderReport, model: &SiteModelRow) -> Markup {
    let active = report
        .spaces
        .iter()
        .find(|space| space.state == SpaceState::Active);
    let is_current = report.model.model.as_deref() == Some(model.name.as_str());
    let missing = active.map_or(0, EmbeddingSpace::missing_vectors);
    html! {
        @if is_current && missing == 0 { span.tag { "in use" } }
        @else if is_current {
            a href=(switch_link(&model.name)) { "Embed " (shown::count(missing, "drawer")) " without a vector" }
        } @else {
            a href=(switch_link(&model.name)) { "Switch to it…" }
        }
    }
}

/// The button that returns to the model before, whose vectors are kept.
fn way_back(context: PageContext<'_>, spaces: &[EmbeddingSpace]) -> Markup {
    let retired = spaces.iter().find(|space| space.state == SpaceState::Retired);
    let Some(space) = retired.filter(|_| find_unfinished(spaces).is_none()) else {
        return html! {};
    };
    html! {
        section.panel aria-labelledby="back" {
            h2 #back { "The model before" }
            p dir="auto" {
                "The vectors of " (spaces::model_name(space)) " are kept, so that you can return to them at once."
                @if space.missing_vectors() > 0 {
                    " " (shown::count(space.missing_vectors(), "drawer")) " filed or changed since would be found by words only until they are embedded."
                }
            }
            (button_form(context, "/embedder", &[("act", "rollback")], "", &html! { "Return to it" }))
        }
    }
}

fn refuse_second(unfinished: &EmbeddingSpace) -> Error {
    let name = match &unfinished.identity {
        IdentityState::Known(identity) => identity.to_string(),
        IdentityState::Unset | IdentityState::Unknown => "another model".to_owned(),
    };
    Error::new(ErrorKind::Conflict, format!("a switch to {name} is unfinished"))
        .with_hint("nothing was changed; continue it or give it up first")
}

/// Reads the spaces of the palace, and refuses a backend that has none.
fn read_spaces(context: PageContext<'_>) -> Result<EmbedderReport> {
    let report = context.palace().show_embedder()?;
    if report.spaces.is_empty() {
        let error = Error::new(
            ErrorKind::Unsupported,
            "the backend of this palace cannot change its model",
        );
        return Err(
            error.with_hint("nothing was changed; `loci migrate` moves a palace to a backend that can")
        );
    }
    Ok(report)
}
