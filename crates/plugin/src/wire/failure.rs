//! Errors on the wire.

use loci_core::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// The facts of errors that keep their names across the wire; others are left out.
const FACTS: [&str; 14] = [
    "address",
    "bytes",
    "collection",
    "database",
    "dimension",
    "expected",
    "file",
    "found",
    "id",
    "metric",
    "namespace",
    "palace",
    "path",
    "server",
];

/// A failed call as it travels.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WireFailure {
    kind: String,
    message: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    context: Vec<(String, String)>,
}

impl WireFailure {
    pub(crate) fn from_error(error: &Error) -> Self {
        let context = error.context().iter();
        Self {
            kind: error.kind().name().to_owned(),
            // With the cause, which belongs to the sentence.
            message: error.to_string(),
            hint: error.hint_text().map(str::to_owned),
            context: context
                .map(|(key, value)| ((*key).to_owned(), value.clone()))
                .collect(),
        }
    }

    pub(crate) fn into_error(self) -> Error {
        let kind = ErrorKind::ALL.into_iter().find(|kind| kind.name() == self.kind);
        let mut error = Error::new(kind.unwrap_or(ErrorKind::Internal), self.message);
        if let Some(hint) = self.hint {
            error = error.with_hint(hint);
        }
        for (key, value) in self.context {
            if let Some(known) = FACTS.into_iter().find(|fact| *fact == key) {
                error = error.with_context(known, value);
            }
        }
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_its_kind_its_sentence_its_hint_and_its_facts() {
        for kind in ErrorKind::ALL {
            let error = Error::new(kind, "cannot write")
                .caused_by("no space left")
                .with_hint("free some space")
                .with_context("id", "a")
                .with_context("moon", "full");
            let json = serde_json::to_string(&WireFailure::from_error(&error)).unwrap();
            let back = serde_json::from_str::<WireFailure>(&json).unwrap().into_error();
            assert_eq!(back.kind(), kind);
            assert_eq!(back.message(), "cannot write: no space left");
            assert_eq!(back.hint_text(), Some("free some space"));
            assert_eq!(
                back.context(),
                [("id", "a".to_owned())],
                "an unknown fact is left out"
            );
        }
    }
}
