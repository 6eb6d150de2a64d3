//! The workload: how much is asked, how often, and of which shape.

use loci_core::{Error, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::CorpusShape;

/// How the backend is loaded and asked. Every field has a default, so that a file names only what differs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct BenchmarkWorkload {
    /// How often each call is repeated.
    pub rounds: usize,
    /// The number of hits that a query asks for.
    pub k: usize,
    /// The number of drawers in one batch of the load.
    pub batch: usize,
    /// The shares of the drawers that filters keep, in per cent.
    pub filters: Vec<f64>,
    /// The shape of the vectors.
    pub shape: CorpusShape,
}

impl Default for BenchmarkWorkload {
    fn default() -> Self {
        Self {
            rounds: 50,
            k: 10,
            batch: 1000,
            filters: vec![0.5, 5.0, 95.0],
            shape: CorpusShape::default(),
        }
    }
}

impl BenchmarkWorkload {
    /// The most rounds: their samples are all kept.
    pub const MOST_ROUNDS: usize = 10_000;

    /// Reads a workload from JSON.
    pub fn from_json(text: &str) -> Result<Self> {
        // Through an object: a list would be read as the fields in their order.
        let object: serde_json::Result<Map<String, Json>> = serde_json::from_str(text);
        let workload = object.and_then(|object| serde_json::from_value(Json::Object(object)));
        let workload: Self = workload.map_err(|cause| {
            Error::invalid("the workload cannot be read")
                .caused_by(cause)
                .with_hint("nothing was measured; its fields are rounds, k, batch, filters and shape")
        })?;
        workload.check_fields()?;
        Ok(workload)
    }

    fn check_fields(&self) -> Result<()> {
        let in_range = |name: &str, value: usize, most: usize| {
            if (1..=most).contains(&value) {
                return Ok(());
            }
            Err(
                Error::invalid(format!("`{name}` is {value}; it must be from 1 to {most}"))
                    .with_hint("nothing was measured; correct the workload"),
            )
        };
        in_range("rounds", self.rounds, Self::MOST_ROUNDS)?;
        in_range("k", self.k, 10_000)?;
        in_range("batch", self.batch, 100_000)?;
        match self.filters.iter().find(|share| !(0.1..100.0).contains(*share)) {
            None => Ok(()),
            Some(share) => Err(Error::invalid(format!(
                "a filter keeps {share} % of the drawers; it must be from 0.1 to less than 100"
            ))
            .with_hint("nothing was measured; correct `filters` of the workload")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_only_what_differs() {
        let workload = BenchmarkWorkload::from_json(r#"{"rounds": 3, "shape": "duplicates"}"#).unwrap();
        assert_eq!((workload.rounds, workload.k), (3, 10));
        assert_eq!(workload.shape, CorpusShape::Duplicates);
    }

    #[test]
    fn unknown_fields_and_impossible_values_are_refused() {
        for text in [
            "",
            "[]",
            r#"{"round": 3}"#,
            r#"{"rounds": 0}"#,
            r#"{"k": 0}"#,
            r#"{"batch": 0}"#,
            r#"{"filters": [0]}"#,
            r#"{"filters": [100]}"#,
            r#"{"shape": "round"}"#,
        ] {
            assert!(BenchmarkWorkload::from_json(text).is_err(), "{text}");
        }
    }
}
