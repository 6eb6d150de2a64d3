//! New values, written as the file around them is.

use super::{Kind, Node};

/// A value to be written, its names in the order given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::connect) enum Plain {
    /// A text.
    Text(String),
    /// A whole number.
    Number(u64),
    /// A list.
    List(Vec<Plain>),
    /// An object.
    Object(Vec<(String, Plain)>),
}

impl Plain {
    /// An object with these names.
    pub(in crate::connect) fn object<const N: usize>(items: [(&str, Plain); N]) -> Self {
        Self::Object(items.map(|(name, value)| (name.to_owned(), value)).into())
    }

    /// A text.
    pub(in crate::connect) fn text(text: &str) -> Self {
        Self::Text(text.to_owned())
    }

    /// A list of texts.
    pub(in crate::connect) fn texts(texts: &[String]) -> Self {
        Self::List(texts.iter().cloned().map(Self::Text).collect())
    }

    /// Whether a value that stands in a file is this one. Numbers and objects are never compared.
    pub(in crate::connect) fn is(&self, node: &Node) -> bool {
        match (self, &node.kind) {
            (Self::Text(text), Kind::Text(found)) => text == found,
            (Self::List(items), Kind::List(inside)) => {
                let same = |(item, found): (&Plain, &super::Item)| item.is(&found.value);
                items.len() == inside.items.len() && items.iter().zip(&inside.items).all(same)
            }
            _ => false,
        }
    }

    /// How it is written by `layout`.
    pub(super) fn written(&self, layout: &Layout) -> String {
        match self {
            Self::Text(text) => quoted(text),
            Self::Number(number) => number.to_string(),
            // Arguments stand on one line, as people write them.
            Self::List(items) if !items.iter().any(|item| matches!(item, Self::Object(_))) => {
                let items: Vec<String> = items.iter().map(|item| item.written(layout)).collect();
                format!("[{}]", items.join(", "))
            }
            Self::List(items) => {
                let inner = layout.deeper();
                layout.bracketed("[", items.iter().map(|item| item.written(&inner)), "]")
            }
            Self::Object(items) => {
                let inner = layout.deeper();
                let line = |(name, value): &(String, Plain)| member(name, value, &inner);
                layout.bracketed("{", items.iter().map(line), "}")
            }
        }
    }
}

/// A name and its value.
pub(super) fn member(name: &str, value: &Plain, layout: &Layout) -> String {
    format!("{}: {}", quoted(name), value.written(layout))
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How lines begin and end around a value.
#[derive(Debug, Clone)]
pub(super) struct Layout {
    /// What breaks lines; nothing where everything stands on one.
    pub(super) newline: &'static str,
    /// What the line of the value begins with.
    pub(super) indent: String,
    /// What one level more adds.
    pub(super) unit: String,
}

impl Layout {
    /// One level further in.
    pub(super) fn deeper(&self) -> Self {
        Self {
            indent: format!("{}{}", self.indent, self.unit),
            ..self.clone()
        }
    }

    /// A new line with its indent, or nothing on a single line.
    pub(super) fn line(&self) -> String {
        match self.newline {
            "" => String::new(),
            newline => format!("{newline}{}", self.indent),
        }
    }

    fn bracketed(&self, open: &str, items: impl Iterator<Item = String>, close: &str) -> String {
        let between = match self.newline {
            "" => ", ".to_owned(),
            _ => format!(",{}", self.deeper().line()),
        };
        let items: Vec<String> = items.collect();
        let (first, last) = (self.deeper().line(), self.line());
        format!("{open}{first}{}{last}{close}", items.join(&between))
    }
}
