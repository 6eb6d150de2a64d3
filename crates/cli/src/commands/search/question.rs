//! A question and where to look for its answer: the arguments that `search` and `why-not` share.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use loci_core::{Error, Result};
use loci_engine::Palace;
use loci_engine::search::SearchRequest;
use loci_engine::view::parse_bound;

use crate::environment::now;
use crate::scope::ScopeArgs;
use crate::session::CommandSession;

/// The options of a query: the number of hits, how they are ranked, and the drawers searched.
#[derive(Debug, Clone, Args)]
pub(crate) struct QuestionArgs {
    /// Show at most N hits
    #[arg(short, long = "limit", value_name = "N", default_value = "10",
        value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    pub(super) n: usize,

    /// Also search tool output
    ///
    /// Tool output is excluded by default. Naming a kind with --kind or --where overrides that.
    #[arg(long)]
    tools: bool,

    /// Rank newer drawers higher; otherwise age only breaks ties
    #[arg(long)]
    recent: bool,

    /// Do not interpret times in the query
    #[arg(long)]
    no_dates: bool,

    /// Read times such as "last week" as if it were this time
    #[arg(long, value_name = "TIME")]
    as_of: Option<String>,

    /// Search by meaning with this model, for palaces that record none
    ///
    /// Some drawers are re-embedded and compared first, so that a model that did not make the vectors is refused. Nothing
    /// is recorded.
    #[arg(long, value_name = "NAME")]
    embedder: Option<String>,

    #[command(flatten)]
    scope: ScopeArgs,
}

impl QuestionArgs {
    /// Builds the request for `query`, unchecked.
    pub(crate) fn build_request(&self, query: &[String]) -> Result<SearchRequest> {
        let at = parse_bound("as-of", self.as_of.as_deref(), now())?.unwrap_or_else(now);
        Ok(SearchRequest {
            limit: self.n,
            scope: self.scope.build_scope_at(at)?,
            tools: self.tools,
            recent: self.recent,
            dates: !self.no_dates,
            ..SearchRequest::new(query.join(" "), at)
        })
    }

    /// Opens the palace that the arguments mean, to be asked with the model that they name.
    pub(crate) fn open_palace(&self, session: &CommandSession) -> Result<Palace> {
        let named = self.embedder.as_deref().map(|name| {
            session.embedders.find_by_name(name)?.ok_or_else(|| {
                Error::invalid(format!("{name:?} makes no vectors to search by"))
                    .with_hint("nothing was searched; to search by keyword alone, write `--only words`")
            })
        });
        Ok(session.open_palace()?.asking_with(named.transpose()?))
    }
}
