//! The base of addresses: a site may be served below a path, such as `/p/work`.
//!
//! Pages write their addresses from the root of the site. A reply below a base is rewritten once, at the attributes that
//! hold addresses. Stored texts cannot look like one: every quotation mark in them is escaped.

/// The beginnings of attributes whose value is an address of this site.
const ADDRESSES: [&str; 4] = [" href=\"/", " action=\"/", " formaction=\"/", " src=\"/"];

/// The beginning of an address of the server that serves the site, such as its list of palaces.
pub(crate) const SERVER: &str = "/~/";

/// Where a site is served: at the root, or below a path.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SiteBase(String);

impl SiteBase {
    /// Returns the base of a palace on a server of many. The name must be one that needs no escape in an address.
    pub fn of_palace(name: &str) -> Self {
        Self(format!("/p/{name}"))
    }

    /// Returns the path before every address; empty for the root.
    pub fn path(&self) -> &str {
        &self.0
    }

    /// Returns an address of the site as browsers reach it.
    pub(crate) fn address(&self, own: &str) -> String {
        format!("{}{own}", self.0)
    }

    /// Puts the base before every address in a page.
    pub(crate) fn rewrite_page(&self, page: &str) -> String {
        if self.0.is_empty() {
            return page.to_owned();
        }
        let mut rewritten = String::with_capacity(page.len() + page.len() / 8);
        let mut rest = page;
        while let Some(at) = rest.find("=\"/") {
            let (before, after) = rest.split_at(at + 2);
            let is_address = ADDRESSES.iter().any(|start| {
                // Without the slash, which is the first byte of `after`.
                start
                    .strip_suffix('/')
                    .is_some_and(|start| before.ends_with(start))
            });
            rewritten.push_str(before);
            rest = match after.strip_prefix(SERVER) {
                // One slash less: it begins with that of the root.
                Some(_) if is_address => after.strip_prefix("/~").unwrap_or(after),
                _ if is_address => {
                    rewritten.push_str(&self.0);
                    after
                }
                _ => after,
            };
            // The slash is passed over, or it would be found again.
            let (slash, left) = rest.split_at(usize::from(rest.starts_with('/')));
            rewritten.push_str(slash);
            rest = left;
        }
        rewritten.push_str(rest);
        rewritten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_put_below_the_base_and_nothing_else_is_touched() {
        let page = "<a href=\"/list?wing=a\">href=&quot;/x&quot; /y</a><input value=\"/etc\"><form method=\"post\" \
            action=\"/add\"><button formaction=\"/move\"></button></form><script src=\"/assets/a.js\"></script>\
            <a href=\"#top\">=\"/</a><a data-key=\"/\" href=\"/\"><a href=\"/~/\">";
        let expect = "<a href=\"/p/w/list?wing=a\">href=&quot;/x&quot; /y</a><input value=\"/etc\"><form method=\"post\" \
            action=\"/p/w/add\"><button formaction=\"/p/w/move\"></button></form><script src=\"/p/w/assets/a.js\"></script>\
            <a href=\"#top\">=\"/</a><a data-key=\"/\" href=\"/p/w/\"><a href=\"/\">";
        assert_eq!(SiteBase::of_palace("w").rewrite_page(page), expect);
        assert_eq!(SiteBase::default().rewrite_page(page), page);
    }
}
