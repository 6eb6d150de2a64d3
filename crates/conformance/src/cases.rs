//! Every case, by theme.

mod capabilities;
mod changes;
mod concurrency;
mod facets;
mod filling;
mod filters;
mod identity;
mod indexed_text;
mod isolation;
mod lexical;
mod lifecycle;
mod maintenance;
mod open;
mod query;
mod reads;
mod refusals;
mod refused_revisions;
mod replaced_files;
mod revisions;
mod rollback;
mod sources;
mod spaces;
mod switch;
mod twins;
mod verbatim;
mod versions;
mod writes;

use crate::{Case, model};

/// Every case, in the order of the contract.
pub fn cases() -> Vec<&'static Case> {
    let themes: &[&'static [Case]] = &[
        writes::CASES,
        refusals::CASES,
        twins::CASES,
        verbatim::CASES,
        indexed_text::CASES,
        reads::CASES,
        query::CASES,
        lexical::CASES,
        facets::CASES,
        filters::CASES,
        open::CASES,
        isolation::CASES,
        identity::CASES,
        switch::CASES,
        filling::CASES,
        rollback::CASES,
        spaces::CASES,
        sources::CASES,
        revisions::CASES,
        refused_revisions::CASES,
        maintenance::CASES,
        lifecycle::CASES,
        concurrency::CASES,
        changes::CASES,
        replaced_files::CASES,
        versions::CASES,
        capabilities::CASES,
        model::CASES,
    ];
    themes.iter().flat_map(|theme| theme.iter()).collect()
}
