//! The button that changes the colors.

use crate::context::{PageContext, PageResult};
use crate::parts::links::is_own_path;
use crate::reply::PageReply;
use crate::request::ThemeChoice;

/// Remembers the chosen colors and returns to the page the visitor came from.
pub(crate) fn act(context: PageContext<'_>) -> PageResult {
    let form = context.form();
    let theme = form.value("theme").and_then(|name| name.parse().ok());
    // Only a path of this site: a full address would let a form send the visitor elsewhere.
    let back = form.value("back").filter(|back| is_own_path(back)).unwrap_or("/");
    Ok(PageReply {
        theme: Some(theme.unwrap_or(ThemeChoice::System)),
        ..PageReply::see_other(back)
    })
}
