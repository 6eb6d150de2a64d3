//! A question and where to look for its answer: the arguments that `search` and `why-not` share.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use loci_core::Result;
use loci_engine::search::SearchRequest;

use crate::environment::now;
use crate::scope::ScopeArgs;

/// A query, the number of hits, and the drawers searched.
#[derive(Debug, Clone, Args)]
pub(crate) struct Question {
    /// The question, or some words
    #[arg(value_name = "QUERY", required = true)]
    query: Vec<String>,

    /// Show this many hits at most
    #[arg(short, long = "limit", value_name = "N", default_value = "10",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(super) n: usize,

    /// Search tool output, too, which is left out unless --kind or --where names a kind
    #[arg(long)]
    tools: bool,

    /// Put the newest first, rather than only among equals
    #[arg(long)]
    recent: bool,

    /// Read no times in the query
    #[arg(long)]
    no_dates: bool,

    #[command(flatten)]
    scope: ScopeArgs,
}

impl Question {
    /// The request; one that no palace could answer is refused.
    pub(crate) fn request(&self) -> Result<SearchRequest> {
        let request = SearchRequest {
            limit: self.n,
            scope: self.scope.scope()?,
            tools: self.tools,
            recent: self.recent,
            dates: !self.no_dates,
            ..SearchRequest::new(self.query.join(" "), now())
        };
        request.check()?;
        Ok(request)
    }
}
