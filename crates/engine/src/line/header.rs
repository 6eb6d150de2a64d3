//! The first line of an export: its format, and the collection and model of the lines that follow.

use std::collections::BTreeMap;

use crate::deletions::fingerprint_of;
use loci_core::{CollectionInfo, CollectionName, EmbedderIdentity, IdentityState, Metric};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The format that this build writes and reads.
const FORMAT: &str = "loci-export-1";

/// The line before the drawers of a collection.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ExportHeader {
    /// The name and version of the format.
    pub format: String,
    /// The collection of the lines that follow.
    pub collection: CollectionName,
    /// The model that made their vectors; null if unknown or if there is none.
    pub model: Option<EmbedderIdentity>,
    /// The metric of their vectors.
    pub metric: Metric,
    /// The id of the palace whose keys read the list of deletions and the sealed secrets, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub palace: Option<String>,
    /// Records of the list of deletions, by name. A long list is continued in further headers.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deleted: BTreeMap<String, String>,
    /// The fingerprints of the keys that made the tags of sealed secrets.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sealing: Vec<String>,
}

impl ExportHeader {
    /// Describes a collection.
    pub fn new(info: &CollectionInfo) -> Self {
        let model = match &info.identity {
            IdentityState::Known(identity) => Some(identity.clone()),
            IdentityState::Unset | IdentityState::Unknown => None,
        };
        Self {
            format: FORMAT.to_owned(),
            collection: info.name.clone(),
            model,
            metric: info.metric,
            palace: None,
            deleted: BTreeMap::new(),
            sealing: Vec::new(),
        }
    }

    /// Returns the fingerprints of the keys that its records need.
    pub(crate) fn list_fingerprints(&self) -> Vec<String> {
        let deleted = self.deleted.keys().filter_map(|name| fingerprint_of(name));
        self.sealing.iter().cloned().chain(deleted).collect()
    }

    /// Parses a line, if it is a header.
    ///
    /// A drawer has a text and no `format`, so no line can be both.
    pub fn parse(text: &str) -> Option<Self> {
        // Most lines are drawers, and long: checking the beginning avoids parsing each of them twice.
        let begins_as_header = text.trim_start().starts_with(r#"{"format":"#);
        let header: Self = begins_as_header.then(|| serde_json::from_str(text).ok())??;
        (header.format == FORMAT).then_some(header)
    }

    /// Writes the line, without a line break.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).expect("names, numbers and strings can be written as JSON")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_comes_back_and_a_drawer_is_not_taken_for_one() {
        let header = ExportHeader {
            format: FORMAT.to_owned(),
            collection: CollectionName::new("drawers").unwrap(),
            model: None,
            metric: Metric::Cosine,
            palace: None,
            deleted: BTreeMap::new(),
            sealing: Vec::new(),
        };
        let line = header.to_line();
        assert_eq!(
            line,
            r#"{"format":"loci-export-1","collection":"drawers","model":null,"metric":"cosine"}"#
        );
        assert_eq!(ExportHeader::parse(&line), Some(header));
        for other in [
            r#"{"id":"a","text":"{\"format\":\"loci-export-1\"}"}"#,
            r#"{"format":"something-else","collection":"drawers","model":null,"metric":"cosine"}"#,
            "",
        ] {
            assert_eq!(ExportHeader::parse(other), None, "{other}");
        }
    }
}
