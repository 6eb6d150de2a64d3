//! New values, printed in the style of the file around them.

use super::{JsonItem, JsonKind, JsonNode};

/// A value to be written, its names in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum JsonValue {
    /// A string.
    Text(String),
    /// A whole number.
    Number(u64),
    /// A list.
    List(Vec<JsonValue>),
    /// An object.
    Object(Vec<(String, JsonValue)>),
}

impl JsonValue {
    /// An object with these items.
    pub(crate) fn object<const N: usize>(items: [(&str, JsonValue); N]) -> Self {
        Self::Object(items.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// A string.
    pub(crate) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A list of strings.
    pub(crate) fn texts(texts: &[String]) -> Self {
        Self::List(texts.iter().cloned().map(Self::Text).collect())
    }

    /// Whether a value in a file equals this one, however it is laid out. Numbers and objects never do.
    pub(crate) fn equals_node(&self, node: &JsonNode) -> bool {
        match (self, &node.kind) {
            (Self::Text(text), JsonKind::Text(other)) => text == other,
            (Self::List(items), JsonKind::List(body)) => {
                let is_equal = |(item, other): (&JsonValue, &JsonItem)| item.equals_node(&other.value);
                items.len() == body.items.len() && items.iter().zip(&body.items).all(is_equal)
            }
            // Our entries hold neither as a field that is updated; saying "different" would only rewrite
            // them.
            _ => false,
        }
    }

    /// Prints the value.
    pub(super) fn print(&self, layout: &JsonLayout) -> String {
        match self {
            Self::Text(text) => quote_json(text),
            Self::Number(number) => number.to_string(),
            // Lists of arguments stand on one line, as people write them.
            Self::List(items) if !items.iter().any(|item| matches!(item, Self::Object(_))) => {
                let items: Vec<String> = items.iter().map(|item| item.print(layout)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::List(items) => {
                let inner = layout.one_level_deeper();
                layout.print_container("[", items.iter().map(|item| item.print(&inner)), "]")
            }
            Self::Object(items) => {
                let inner = layout.one_level_deeper();
                let print = |(name, value): &(String, JsonValue)| print_member(name, value, &inner);
                layout.print_container("{", items.iter().map(print), "}")
            }
        }
    }
}

/// Prints a name and its value.
pub(super) fn print_member(name: &str, value: &JsonValue, layout: &JsonLayout) -> String {
    format!("{}: {}", quote_json(name), value.print(layout))
}

fn quote_json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The line breaks and indentation around a value.
#[derive(Debug, Clone)]
pub(super) struct JsonLayout {
    /// The line ending, or nothing where all stands on one line.
    pub(super) line_ending: &'static str,
    /// The indentation of the value's own line.
    pub(super) indent: String,
    /// The indentation one level adds.
    pub(super) unit: String,
}

impl JsonLayout {
    /// The layout one level deeper.
    pub(super) fn one_level_deeper(&self) -> Self {
        Self {
            indent: format!("{}{}", self.indent, self.unit),
            ..self.clone()
        }
    }

    /// A line break with the indentation behind it, or nothing on a single line.
    pub(super) fn line_break(&self) -> String {
        match self.line_ending {
            "" => String::new(),
            line_ending => format!("{line_ending}{}", self.indent),
        }
    }

    fn print_container(&self, open: &str, items: impl Iterator<Item = String>, close: &str) -> String {
        let inner = self.one_level_deeper().line_break();
        // On a single line items are joined by a comma and a space, and the brackets stay tight.
        let separator = match self.line_ending {
            "" => ", ".to_owned(),
            _ => format!(",{inner}"),
        };
        let items: Vec<String> = items.collect();
        let last = self.line_break();
        format!("{open}{inner}{}{last}{close}", items.join(&separator))
    }
}
