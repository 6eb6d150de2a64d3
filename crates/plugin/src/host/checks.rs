//! The checks that every backend makes first, made by the host: a plug-in sees only requests that passed them.

use std::time::Duration;

use loci_core::write::check_batch;
use loci_core::{
    BackendDescriptor, Capability, DeleteSelection, DrawerFields, Error, ErrorKind, FacetRequest, Filter,
    GetRequest, LexicalRequest, Metric, OpenOptions, PalaceRef, QueryRequest, Result, Write,
};

/// Refuses options that the backend does not offer.
pub(super) fn check_options(
    descriptor: &BackendDescriptor,
    options: &OpenOptions,
    writes: bool,
) -> Result<()> {
    descriptor.check_filter(&options.visible)?;
    if let Some(metric) = options
        .metric
        .filter(|metric| !descriptor.metrics.contains(metric))
    {
        let message = format!(
            "the backend {:?} does not compare by {}",
            descriptor.name,
            metric.name()
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    if writes {
        check_writable(descriptor)
    } else {
        Ok(())
    }
}

/// Refuses writes to a backend that only reads.
pub(super) fn check_writable(descriptor: &BackendDescriptor) -> Result<()> {
    if !descriptor.has_capability(&Capability::ReadOnly) {
        return Ok(());
    }
    let message = format!(
        "the backend {:?} is read_only and refuses writes",
        descriptor.name
    );
    Err(Error::new(ErrorKind::Unsupported, message).with_hint("nothing was changed"))
}

/// Refuses a namespace where none are kept apart.
pub(super) fn check_palace(descriptor: &BackendDescriptor, palace: &PalaceRef) -> Result<()> {
    if palace.namespace.is_some() {
        descriptor.require_capability(&Capability::NamespaceIsolation)?;
    }
    Ok(())
}

fn check_fields(descriptor: &BackendDescriptor, include: DrawerFields) -> Result<()> {
    if include.embedding {
        descriptor.require_capability(&Capability::EmbeddingsOut)?;
    }
    Ok(())
}

/// Refuses a budget that is used up before the call begins.
pub(super) fn check_budget(budget: Option<Duration>) -> Result<()> {
    match budget {
        Some(budget) if budget.is_zero() => Err(Error::new(
            ErrorKind::TimedOut,
            "the call took longer than its budget of 0ns",
        )
        .with_hint("nothing was written; give it more time")),
        _ => Ok(()),
    }
}

pub(super) fn check_get(descriptor: &BackendDescriptor, request: &GetRequest) -> Result<()> {
    check_budget(request.budget)?;
    request.check_request()?;
    check_fields(descriptor, request.include)?;
    descriptor.check_filter(&request.filter)
}

pub(super) fn check_query(
    descriptor: &BackendDescriptor,
    request: &QueryRequest,
    metric: Metric,
) -> Result<()> {
    check_budget(request.budget)?;
    descriptor.require_capability(&Capability::EmbeddingsPassthrough)?;
    check_fields(descriptor, request.include)?;
    descriptor.check_filter(&request.filter)?;
    // The dimension is known only to the plug-in, which checks it.
    request.check_request(metric, None)
}

pub(super) fn check_lexical(descriptor: &BackendDescriptor, request: &LexicalRequest) -> Result<()> {
    check_budget(request.budget)?;
    descriptor.require_capability(&Capability::Lexical)?;
    request.check_request()?;
    check_fields(descriptor, request.include)?;
    descriptor.check_filter(&request.filter)
}

pub(super) fn check_facets(descriptor: &BackendDescriptor, request: &FacetRequest) -> Result<()> {
    request.check_request()?;
    descriptor.check_filter(&request.filter)
}

/// Refuses a batch that no backend may accept, and vectors or filters that this one does not offer.
pub(super) fn check_writes(descriptor: &BackendDescriptor, batch: &[Write], metric: Metric) -> Result<()> {
    check_batch(batch, metric, None)?;
    let has_vector = |write: &Write| match write {
        Write::Add(new) | Write::Upsert(new) => new.embedding.is_some(),
        Write::Update(patch) => patch.embedding.is_some(),
        Write::Delete(_) => false,
    };
    if batch.iter().any(has_vector) {
        descriptor.require_capability(&Capability::EmbeddingsPassthrough)?;
    }
    let filters = batch.iter().filter_map(|write| match write {
        Write::Delete(DeleteSelection::Matching(condition)) => Some(&condition.filter),
        _ => None,
    });
    filters
        .into_iter()
        .try_for_each(|filter: &Filter| descriptor.check_filter(filter))
}
