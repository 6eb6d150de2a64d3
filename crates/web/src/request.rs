//! A request as pages see it: a method, a path and fields.

use std::str::FromStr;

use crate::base::SiteBase;

/// The method of a request; pages know no other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PageMethod {
    /// Reads; changes nothing.
    Get,
    /// Acts.
    Post,
}

/// The colors a visitor chose.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ThemeChoice {
    /// As the system is set.
    #[default]
    System,
    /// Light.
    Light,
    /// Dark.
    Dark,
}

impl ThemeChoice {
    /// Returns its name in cookies and in HTML.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }
}

impl FromStr for ThemeChoice {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "system" => Ok(Self::System),
            "light" => Ok(Self::Light),
            "dark" => Ok(Self::Dark),
            _ => Err(()),
        }
    }
}

/// Named values in the order they were sent: a query, or the fields of a form.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PageFields(Vec<(String, String)>);

impl PageFields {
    /// Reads `application/x-www-form-urlencoded` bytes. Bytes that are not UTF-8 become replacement characters.
    pub fn parse(encoded: &[u8]) -> Self {
        Self(form_urlencoded::parse(encoded).into_owned().collect())
    }

    /// Returns the first value of a field, unless it is empty: an empty box of a form restricts nothing.
    pub fn value(&self, name: &str) -> Option<&str> {
        self.exact_value(name).filter(|value| !value.trim().is_empty())
    }

    /// Returns the first value of a field as it was sent, even if it is empty.
    pub fn exact_value(&self, name: &str) -> Option<&str> {
        self.values(name).next()
    }

    /// Returns all values of a field.
    pub fn values<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let named = self.0.iter().filter(move |(key, _)| key == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Returns whether a checkbox is ticked.
    pub fn is_ticked(&self, name: &str) -> bool {
        self.value(name).is_some()
    }

    /// Returns every field.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_str()))
    }
}

impl<'a> FromIterator<(&'a str, &'a str)> for PageFields {
    fn from_iter<I: IntoIterator<Item = (&'a str, &'a str)>>(fields: I) -> Self {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        Self(fields.into_iter().map(owned).collect())
    }
}

/// One request of a signed-in visitor.
#[derive(Debug, Clone)]
pub struct PageRequest {
    /// Its method.
    pub method: PageMethod,
    /// The path of its URL, such as `/search`.
    pub path: String,
    /// The query of its URL.
    pub query: PageFields,
    /// The fields of its form; empty for a GET.
    pub form: PageFields,
    /// The colors the visitor chose.
    pub theme: ThemeChoice,
    /// Where the site is served; `path` is what follows.
    pub base: SiteBase,
}

impl PageRequest {
    /// Makes a GET of a path with a query, such as `/search?q=beans`.
    pub fn get(target: &str) -> Self {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        Self {
            method: PageMethod::Get,
            path: path.to_owned(),
            query: PageFields::parse(query.as_bytes()),
            form: PageFields::default(),
            theme: ThemeChoice::default(),
            base: SiteBase::default(),
        }
    }

    /// Makes a POST of a form.
    pub fn post(target: &str, form: PageFields) -> Self {
        Self {
            method: PageMethod::Post,
            form,
            ..Self::get(target)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_come_back_as_they_were_sent_and_empty_boxes_restrict_nothing() {
        let fields = PageFields::parse("q=a+b%26c&wing=&id=1&id=2&bad=%ff".as_bytes());
        assert_eq!(fields.value("q"), Some("a b&c"));
        assert_eq!(fields.value("wing"), None);
        assert_eq!(fields.exact_value("wing"), Some(""));
        assert_eq!(fields.values("id").collect::<Vec<_>>(), ["1", "2"]);
        assert_eq!(fields.value("bad"), Some("\u{fffd}"));
        assert_eq!(fields.value("none"), None);
    }
}
