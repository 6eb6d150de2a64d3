//! Addresses of pages. Names in them are percent-encoded, so that none can end an attribute or name another page.

use form_urlencoded::Serializer;
use loci_core::DrawerId;

use crate::request::PageFields;

/// The names of the fields of a scope, in the order in which addresses have them.
pub(crate) const SCOPE_FIELDS: [&str; 9] = [
    "wing", "room", "source", "speaker", "kind", "since", "before", "contains", "where",
];

/// An address that is being put together.
#[derive(Debug, Clone)]
pub(crate) struct PageLink {
    path: &'static str,
    query: Vec<(String, String)>,
    fragment: Option<String>,
}

impl PageLink {
    /// Begins with a path.
    pub(crate) fn to(path: &'static str) -> Self {
        Self {
            path,
            query: Vec::new(),
            fragment: None,
        }
    }

    /// Adds a field.
    #[must_use]
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<str>) -> Self {
        self.query.push((name.to_owned(), value.as_ref().to_owned()));
        self
    }

    /// Adds a field if there is a value.
    #[must_use]
    pub(crate) fn with_some(self, name: &str, value: Option<impl AsRef<str>>) -> Self {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }

    /// Adds the scope that other fields name.
    #[must_use]
    pub(crate) fn with_scope(self, fields: &PageFields) -> Self {
        SCOPE_FIELDS
            .iter()
            .fold(self, |link, name| link.with_some(name, fields.value(name)))
    }

    /// Adds the scope that other fields name, but for one of them.
    #[must_use]
    pub(crate) fn with_scope_except(self, fields: &PageFields, left_out: &str) -> Self {
        let names = SCOPE_FIELDS.iter().filter(|name| **name != left_out);
        names.fold(self, |link, name| link.with_some(name, fields.value(name)))
    }

    /// Removes a field.
    #[must_use]
    pub(crate) fn without(mut self, name: &str) -> Self {
        self.query.retain(|(field, _)| field != name);
        self
    }

    /// Points at an element of the page.
    #[must_use]
    pub(crate) fn at(mut self, fragment: impl Into<String>) -> Self {
        self.fragment = Some(fragment.into());
        self
    }

    /// Returns the address.
    pub(crate) fn href(&self) -> String {
        let mut href = self.path.to_owned();
        if !self.query.is_empty() {
            href.push('?');
            let pairs = self
                .query
                .iter()
                .map(|(name, value)| (name.as_str(), value.as_str()));
            href.push_str(&Serializer::new(String::new()).extend_pairs(pairs).finish());
        }
        if let Some(fragment) = &self.fragment {
            href.push('#');
            href.push_str(fragment);
        }
        href
    }
}

/// The address of a drawer.
pub(crate) fn drawer_link(id: &DrawerId) -> String {
    PageLink::to("/drawer").with("id", id.as_str()).href()
}

/// The field that asks for all of a very long text.
pub(crate) const WHOLE: &str = "whole";

/// The address of a drawer with all of its text, however long it is.
pub(crate) fn whole_drawer_link(id: &DrawerId) -> String {
    PageLink::to("/drawer")
        .with("id", id.as_str())
        .with(WHOLE, "1")
        .href()
}

/// The address of the place of a drawer in its source.
pub(crate) fn place_link(source: &str, id: &DrawerId) -> String {
    let link = PageLink::to("/source")
        .with("source", source)
        .with("at", id.as_str());
    link.at(anchor_name(id)).href()
}

/// The address of a source, from its beginning.
pub(crate) fn source_link(source: &str) -> String {
    PageLink::to("/source").with("source", source).href()
}

/// The address of a job.
pub(crate) fn job_link(number: u64) -> String {
    PageLink::to("/job").with("number", number.to_string()).href()
}

/// The name of the element that shows a drawer, for fragments: ids may hold any character, names may not.
pub(crate) fn anchor_name(id: &DrawerId) -> String {
    let hash = blake3::hash(id.as_str().as_bytes()).to_hex();
    let short: String = hash.chars().take(16).collect();
    format!("d-{short}")
}

/// Returns whether an address is a path of this site. Browsers read `//host` and `/\host` as other sites.
pub(crate) fn is_own_path(path: &str) -> bool {
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

    #[test]
    fn nothing_in_a_name_can_end_an_address() {
        let link = PageLink::to("/list").with("wing", "a\"><b>&c=d#e\u{202e}\0 f/../g");
        let href = link.href();
        assert!(
            href.chars()
                .all(|c| c.is_ascii_alphanumeric() || "/?=&%+-_.*".contains(c)),
            "{href}"
        );
        let (_, query) = href.split_once('?').unwrap();
        let fields = PageFields::parse(query.as_bytes());
        assert_eq!(fields.value("wing"), Some("a\"><b>&c=d#e\u{202e}\0 f/../g"));
        let id = DrawerId::new("x\" onclick=\"").unwrap();
        assert!(
            anchor_name(&id)
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '-')
        );
    }
}
