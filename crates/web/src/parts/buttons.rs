//! Forms that act: every one carries the secret of the visit.

use maud::{Markup, html};

use crate::context::PageContext;

/// Returns the hidden field that proves that a form belongs to this visit. Every form with method POST needs it.
pub(crate) fn form_secret(context: PageContext<'_>) -> Markup {
    html! { input type="hidden" name="form_secret" value=(context.visit.form_secret()); }
}

/// Makes a form of one button. `fields` are sent with it.
pub(crate) fn button_form(
    context: PageContext<'_>,
    path: &'static str,
    fields: &[(&str, &str)],
    class: &str,
    label: &Markup,
) -> Markup {
    html! {
        form.inline method="post" action=(path) {
            (form_secret(context))
            @for (name, value) in fields { input type="hidden" name=(name) value=(value); }
            button class=(class) { (label) }
        }
    }
}
