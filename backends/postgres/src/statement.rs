//! A statement with its parameters: values never become part of the text.

use tokio_postgres::types::{ToSql, Type};

/// The text of a statement and the values of its parameters.
pub(crate) struct SqlStatement {
    text: String,
    values: Vec<(Box<dyn ToSql + Sync + Send>, Type)>,
}

impl SqlStatement {
    /// Creates a statement without parameters.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            values: Vec::new(),
        }
    }

    /// Appends to the text.
    pub(crate) fn push(&mut self, text: &str) -> &mut Self {
        self.text.push_str(text);
        self
    }

    /// Adds a value and returns its name in the text, like `$3`.
    pub(crate) fn name_value(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> String {
        self.values.push((Box::new(value), kind));
        format!("${}", self.values.len())
    }

    /// Appends the name of a value to the text.
    pub(crate) fn bind(&mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> &mut Self {
        let name = self.name_value(value, kind);
        self.push(&name)
    }

    /// Adds a value whose name the text has already, and returns the statement.
    pub(crate) fn with(mut self, value: impl ToSql + Sync + Send + 'static, kind: Type) -> Self {
        self.values.push((Box::new(value), kind));
        self
    }

    /// Adds a number.
    pub(crate) fn with_int(self, value: i64) -> Self {
        self.with(value, Type::INT8)
    }

    /// Adds bytes.
    pub(crate) fn with_bytes(self, value: Vec<u8>) -> Self {
        self.with(value, Type::BYTEA)
    }

    /// Adds a list of numbers.
    pub(crate) fn with_ints(self, value: Vec<i64>) -> Self {
        self.with(value, Type::INT8_ARRAY)
    }

    /// Adds a list of bytes.
    pub(crate) fn with_many_bytes(self, value: Vec<Vec<u8>>) -> Self {
        self.with(value, Type::BYTEA_ARRAY)
    }

    /// Returns the text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Returns the values with their types.
    pub(crate) fn values(&self) -> Vec<(&(dyn ToSql + Sync), Type)> {
        self.values
            .iter()
            .map(|(value, kind)| (value.as_ref() as &(dyn ToSql + Sync), kind.clone()))
            .collect()
    }
}
