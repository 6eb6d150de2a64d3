//! Prints filters back in the JSON dialect they are read from.

use std::fmt;

use serde_json::{Value as Json, json};

use super::{DocumentFilter, Filter, FilterComparison};

impl Filter {
    /// The filter in the JSON dialect; reading it back gives an equal filter.
    pub fn to_json(&self) -> Json {
        let list = |parts: &[Self]| parts.iter().map(Self::to_json).collect::<Vec<_>>();
        match self {
            Self::All => json!({}),
            Self::Compare(key, comparison) => json!({ key: comparison.to_json() }),
            Self::And(parts) => json!({ "$and": list(parts) }),
            Self::Or(parts) => json!({ "$or": list(parts) }),
        }
    }
}

impl FilterComparison {
    fn to_json(&self) -> Json {
        let operand = match self {
            Self::Eq(one)
            | Self::Ne(one)
            | Self::Contains(one)
            | Self::NotContains(one)
            | Self::Gt(one)
            | Self::Gte(one)
            | Self::Lt(one)
            | Self::Lte(one) => {
                json!(one)
            }
            Self::In(many) | Self::Nin(many) => json!(many),
        };
        json!({ self.operator(): operand })
    }
}

impl DocumentFilter {
    /// The filter in the JSON dialect; reading it back gives an equal filter.
    pub fn to_json(&self) -> Json {
        let list = |parts: &[Self]| parts.iter().map(Self::to_json).collect::<Vec<_>>();
        match self {
            Self::All => json!({}),
            Self::Contains(text) => json!({ "$contains": text }),
            Self::NotContains(text) => json!({ "$not_contains": text }),
            Self::And(parts) => json!({ "$and": list(parts) }),
            Self::Or(parts) => json!({ "$or": list(parts) }),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}

impl fmt::Display for DocumentFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.to_json().fmt(f)
    }
}
