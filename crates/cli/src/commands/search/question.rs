//! What is looked for, and where: the arguments that `search` and `why-not` share.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use loci_core::{Collection, Result};
use loci_engine::search::SearchRequest;

use super::scope::Scope;
use crate::environment::now;

/// A query, how many hits it wants, and which drawers are searched.
#[derive(Debug, Clone, Args)]
pub(crate) struct Question {
    /// The question, or some words
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// How many hits at most
    #[arg(short, value_name = "N", default_value = "10",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(super) n: usize,

    #[command(flatten)]
    scope: Scope,
}

impl Question {
    /// Refuses what no palace could answer, before one is opened.
    pub(crate) fn check(&self) -> Result<()> {
        self.scope.check()?;
        self.anywhere().check()
    }

    /// What is asked of a collection.
    pub(crate) fn request(&self, collection: &dyn Collection) -> Result<SearchRequest> {
        let mut request = self.anywhere();
        self.scope.apply(collection, &mut request)?;
        Ok(request)
    }

    fn anywhere(&self) -> SearchRequest {
        SearchRequest {
            limit: self.n,
            ..SearchRequest::new(self.query.join(" "), now())
        }
    }
}
