//! The vectors that lines bring: whose they are said to be, and a sample of every batch that is made again and compared.
//!
//! One wrong vector among right ones is found by no search and finds the wrong drawers, so the first vector does not
//! speak for the others.

use std::collections::BTreeSet;

use loci_core::{Embedder, EmbedderIdentity, Error, ErrorKind, IdentityState, OpenOptions, Result};

use super::shelf::PendingLine;
use crate::line::ExportHeader;
use crate::palace::{FilingSession, Palace, given_identity, record_first_model, vectors_agree};

/// The number of neighbouring lines of which one is checked, so that a longer run of wrong vectors is always met.
const RUN: usize = 16;

/// The fewest lines checked in a batch that has as many.
const FEWEST: usize = 4;

/// The vectors of one batch.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct BroughtVectors {
    /// Lines with a vector.
    pub(super) brought: u64,
    /// Those whose text was embedded again and compared.
    pub(super) checked: u64,
}

/// Returns the header of the lines that bring vectors, if it names a model; lines of two models are refused.
pub(super) fn find_declared(pending: &[PendingLine]) -> Result<Option<&ExportHeader>> {
    let mut declared: Option<(&ExportHeader, &EmbedderIdentity)> = None;
    let brings = pending.iter().filter(|one| one.drawer.embedding.is_some());
    for one in brings {
        let Some((header, model)) = one
            .header
            .as_deref()
            .and_then(|header| Some((header, header.model.as_ref()?)))
        else {
            continue;
        };
        match declared {
            Some((_, first)) if first != model => {
                let message = format!(
                    "the vector of line {} was made by {model}, those before it by {first}",
                    one.line
                );
                return Err(mixed_models_error(message));
            }
            _ => declared = Some((header, model)),
        }
    }
    Ok(declared.map(|(header, _)| header))
}

/// Makes the collection ready for vectors of the model that the header names: creates it with that model, or records
/// the model in one without vectors. Returns the palace if it was created.
pub(super) fn prepare_declared(
    palace: &Palace,
    header: &ExportHeader,
    pending: &[PendingLine],
) -> Result<Option<String>> {
    let Some(model) = &header.model else {
        return Ok(None);
    };
    palace.access().check_writable()?;
    let opened = match palace.open(&OpenOptions::for_writing()) {
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        opened => Some(opened?),
    };
    let takes_any = match &opened {
        Some(collection) => collection.info()?.coverage.nearest == 0,
        None => true,
    };
    let recorded = opened.as_ref().map(|collection| collection.model());
    if recorded == Some(IdentityState::Known(model.clone())) {
        return Ok(None);
    }
    if !takes_any {
        return check_recorded(palace, recorded, model).map(|()| None);
    }
    // Before anything is created or recorded: a refusal leaves no trace.
    if let Ok(embedder) = palace.embedders().find_embedder(model) {
        check_sample(embedder.as_ref(), pending)?;
    }
    if let Some(collection) = opened {
        return record_first_model(collection.as_ref(), model).map(|()| None);
    }
    let is_new = !palace.exists()?;
    palace.create(&OpenOptions {
        embedder: Some(model.clone()),
        metric: Some(header.metric),
        ..OpenOptions::for_writing()
    })?;
    Ok(is_new.then_some(palace.address()?.reference.id))
}

/// Refuses vectors of a named model for a collection with those of another, if that one is not here to compare with.
fn check_recorded(palace: &Palace, recorded: Option<IdentityState>, model: &EmbedderIdentity) -> Result<()> {
    let Some(IdentityState::Known(stored)) = recorded else {
        return Ok(());
    };
    // Vectors that users bring themselves have no maker to compare by name.
    let is_named = *model != given_identity(model.dimension);
    if is_named && palace.embedders().find_embedder(&stored).is_err() {
        return Err(mixed_models_error(format!(
            "the vectors of these lines were made by {model}, those of this collection by {stored}"
        )));
    }
    Ok(())
}

/// Compares a sample of the vectors that lines bring with those that the collection's model makes of their texts.
pub(super) fn check_brought(filing: &FilingSession, pending: &[PendingLine]) -> Result<BroughtVectors> {
    let brought = pending.iter().filter(|one| one.drawer.embedding.is_some());
    let brought = brought.count() as u64;
    let checked = match filing.embedder() {
        Some(embedder) if brought > 0 => check_sample(embedder, pending)?,
        _ => 0,
    };
    Ok(BroughtVectors { brought, checked })
}

/// Embeds the texts of a sample again, and refuses the batch at the first vector that differs. Returns the number of
/// lines compared.
fn check_sample(embedder: &dyn Embedder, pending: &[PendingLine]) -> Result<u64> {
    let dimension = embedder.identity().dimension;
    // A vector of another length is refused by the collection, with its line.
    let fits = |one: &&PendingLine| {
        let vector = one.drawer.embedding.as_ref();
        vector.is_some_and(|vector| vector.len() == dimension)
    };
    let lines: Vec<&PendingLine> = pending.iter().filter(fits).collect();
    let sample: Vec<&PendingLine> = choose_sample(&lines)
        .into_iter()
        .filter_map(|at| lines.get(at).copied())
        .collect();
    let drawers: Vec<_> = sample.iter().map(|one| &one.drawer).collect();
    let agree = vectors_agree(embedder, &drawers)?;
    let wrong = sample.iter().zip(agree).find(|(_, agrees)| !agrees);
    if let Some((one, _)) = wrong {
        return Err(mixed_models_error(format!(
            "the vector of line {} ({:?}) was not made by {} from its text",
            one.line,
            one.drawer.id.as_str(),
            embedder.identity()
        )));
    }
    Ok(sample.len() as u64)
}

/// Chooses the positions to check: the first, and one in every run of lines. A hash of the batch decides which one, so
/// that the same lines give the same answer and no fixed position is left out.
fn choose_sample(lines: &[&PendingLine]) -> BTreeSet<usize> {
    let mut hasher = blake3::Hasher::new();
    for one in lines {
        hasher.update(one.drawer.id.as_str().as_bytes());
        hasher.update(one.drawer.document.as_bytes());
        for value in one.drawer.embedding.iter().flatten() {
            hasher.update(&value.to_le_bytes());
        }
    }
    let mut random = hasher.finalize_xof();
    let runs = lines.len().div_ceil(RUN).max(FEWEST).min(lines.len());
    let mut chosen: BTreeSet<usize> = lines.first().map(|_| 0).into_iter().collect();
    for run in 0..runs {
        let (start, end) = (run * lines.len() / runs, (run + 1) * lines.len() / runs);
        let mut bytes = [0; 8];
        random.fill(&mut bytes);
        let within = u64::from_le_bytes(bytes) % (end - start).max(1) as u64;
        chosen.insert(start + within as usize);
    }
    chosen
}

fn mixed_models_error(message: String) -> Error {
    Error::new(ErrorKind::IdentityMismatch, message).with_hint(
        "nothing was written; export without --embeddings and the vectors are made here, or use another --collection",
    )
}

/// Explains a batch whose vectors belong to the model that the collection had before.
pub(super) fn switched_error(error: Error) -> Error {
    error.with_hint(
        "nothing of this batch was written; another process switched the model: export without --embeddings and the \
         vectors are made here, or use another --collection",
    )
}
