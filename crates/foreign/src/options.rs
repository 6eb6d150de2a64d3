//! Checks what a caller expects of a collection that another program wrote.

use loci_core::{CollectionInfo, Error, ErrorKind, Metric, OpenOptions, Result};

/// Refuses options that contradict the collection.
pub(crate) fn check_open_options(info: &CollectionInfo, how: &OpenOptions) -> Result<()> {
    info.identity.check_open(how.embedder.as_ref())?;
    let asked = how
        .dimension
        .or(how.embedder.as_ref().map(|embedder| embedder.dimension));
    if let (Some(asked), Some(stored)) = (asked, info.dimension)
        && asked != stored
    {
        let message = format!(
            "the vectors of {:?} have {stored} values, not {asked}",
            info.name.as_str()
        );
        return Err(Error::new(ErrorKind::DimensionMismatch, message));
    }
    match how.metric {
        Some(metric) if metric != info.metric => Err(wrong_metric(info, metric)),
        _ => Ok(()),
    }
}

fn wrong_metric(info: &CollectionInfo, asked: Metric) -> Error {
    Error::invalid(format!(
        "{:?} compares by {}, not by {}",
        info.name.as_str(),
        info.metric.name(),
        asked.name()
    ))
}
