//! Boxes for the names of a place: wing, room, kind, speaker, source.

use maud::{Markup, html};

use super::shown;
use crate::context::PageContext;

/// The most wings that a box suggests.
const MOST_WINGS: usize = 200;

/// Shows a box for a name, with the list of suggestions of that id.
pub(crate) fn name_box(name: &str, label: &str, value: Option<&str>, list: Option<&str>) -> Markup {
    html! {
        label.field {
            span { (label) }
            input name=(name) value=[value] list=[list] autocomplete="off" dir="auto";
        }
    }
}

/// Suggests the wings of the palace to boxes with the list `wings`.
pub(crate) fn wing_names(context: PageContext<'_>) -> Markup {
    // A palace that cannot tell its wings, or does not exist yet, suggests none.
    let overview = context.palace().describe_collection().ok();
    let wings = overview.iter().flat_map(|overview| &overview.wings);
    let names = wings.filter_map(|wing| wing.wing.as_deref()).take(MOST_WINGS);
    html! {
        datalist #wings { @for name in names { option value=(shown::plain_name(name)) {} } }
    }
}
