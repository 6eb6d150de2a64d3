//! The list of palaces that a caller may open.

use loci_team::{RightsVerb, VerbSet};
use schemars::JsonSchema;
use serde::Serialize;

/// The palaces that exist for a caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct PalaceListing {
    /// The palaces, by name.
    palaces: Vec<ListedPalace>,
}

/// A palace, and what a caller may do in at least one wing of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
struct ListedPalace {
    /// Its name in addresses.
    name: String,
    /// What the caller may do in some wing of it, or in all.
    #[schemars(extend("items" = {"type": "string", "enum": ["read", "write", "delete", "admin"]}))]
    verbs: Vec<&'static str>,
}

impl PalaceListing {
    /// Lists palaces by name. Those without a verb are left out: they do not exist for the caller.
    pub(crate) fn from_rights<'a>(palaces: impl IntoIterator<Item = (&'a str, VerbSet)>) -> Self {
        let rows = palaces.into_iter().filter(|(_, verbs)| !verbs.is_empty());
        let mut palaces: Vec<ListedPalace> = rows
            .map(|(name, verbs)| ListedPalace {
                name: name.to_owned(),
                verbs: verbs.iter().map(RightsVerb::name).collect(),
            })
            .collect();
        palaces.sort_by(|one, other| one.name.cmp(&other.name));
        Self { palaces }
    }
}
