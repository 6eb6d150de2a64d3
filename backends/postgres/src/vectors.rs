//! The recorded model and dimension of a space.

use loci_core::EmbedderIdentity;
use tokio_postgres::types::Type;

use crate::statement::SqlStatement;

/// Returns the statement that records the dimension of a space, and its model if that is known.
pub(crate) fn record_model(
    space: i64,
    dimension: usize,
    embedder: Option<&EmbedderIdentity>,
) -> SqlStatement {
    let text = |text: &str| text.as_bytes().to_vec();
    SqlStatement::new("UPDATE loci.spaces SET dimension = $2, model = $3, revision = $4 WHERE space = $1")
        .with_int(space)
        .with(i32::try_from(dimension).unwrap_or(i32::MAX), Type::INT4)
        .with(embedder.map(|embedder| text(&embedder.model)), Type::BYTEA)
        .with(embedder.map(|embedder| text(&embedder.revision)), Type::BYTEA)
}
