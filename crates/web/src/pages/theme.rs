//! The button that changes the colors.

use crate::context::{PageContext, PageResult};
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

/// Returns whether an address is a path of this site. Browsers read `//host` and `/\host` as other sites.
fn is_own_path(path: &str) -> bool {
    let mut chars = path.chars();
    chars.next() == Some('/')
        && !matches!(chars.next(), Some('/' | '\\'))
        && path.chars().all(|c| c.is_ascii_graphic() && c != '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_of_this_site_are_gone_back_to() {
        for own in ["/", "/search?q=a%20b", "/map#x"] {
            assert!(is_own_path(own), "{own}");
        }
        for foreign in [
            "",
            "//host",
            "/\\host",
            "http://host",
            "javascript:x",
            "/a\r\nb",
            "/a\\b",
        ] {
            assert!(!is_own_path(foreign), "{foreign}");
        }
    }
}
