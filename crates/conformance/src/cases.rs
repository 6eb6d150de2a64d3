//! Every case, by theme.

mod approximation;
mod budgets;
mod capabilities;
mod changes;
mod concurrency;
mod conditions;
mod creation;
mod dropping;
mod erasure;
mod expectations;
mod facets;
mod filling;
mod filters;
mod idempotency;
mod identity;
mod indexed_text;
mod isolation;
mod lexical;
mod lifecycle;
mod maintenance;
mod members;
mod moments;
mod open;
mod orders;
mod provenance;
mod query;
mod read_handles;
mod reads;
mod recorded_model;
mod refusals;
mod refused_revisions;
mod replaced_files;
mod restricted_writes;
mod revisions;
mod rollback;
mod sources;
mod spaces;
mod switch;
mod twins;
mod verbatim;
mod versions;
mod visibility;
mod writes;

use crate::{ConformanceCase, model, process};

/// Every case, in the order of the contract.
pub fn all_cases() -> Vec<&'static ConformanceCase> {
    let themes: &[&'static [ConformanceCase]] = &[
        writes::CASES,
        refusals::CASES,
        twins::CASES,
        verbatim::CASES,
        provenance::CASES,
        indexed_text::CASES,
        reads::CASES,
        orders::CASES,
        moments::CASES,
        budgets::CASES,
        query::CASES,
        approximation::CASES,
        lexical::CASES,
        facets::CASES,
        filters::CASES,
        members::CASES,
        conditions::CASES,
        visibility::CASES,
        restricted_writes::CASES,
        idempotency::CASES,
        expectations::CASES,
        open::CASES,
        creation::CASES,
        dropping::CASES,
        read_handles::CASES,
        isolation::CASES,
        identity::CASES,
        recorded_model::CASES,
        switch::CASES,
        filling::CASES,
        rollback::CASES,
        spaces::CASES,
        sources::CASES,
        revisions::CASES,
        refused_revisions::CASES,
        maintenance::CASES,
        erasure::CASES,
        lifecycle::CASES,
        concurrency::CASES,
        changes::CASES,
        replaced_files::CASES,
        versions::CASES,
        capabilities::CASES,
        model::CASES,
        process::CASES,
    ];
    themes.iter().flat_map(|theme| theme.iter()).collect()
}
