//! Filling a space: listing the drawers that lack a vector in it, and storing the vectors made for them.

use loci_core::vector::{check_vector, dimension_mismatch};
use loci_core::{
    DrawerContext, DrawerId, EmbedderIdentity, Error, ErrorKind, Metric, PendingRequest, Result, SpaceState,
    UnembeddedDrawer, VectorFill, VectorFillReport,
};

use crate::codes;
use crate::moment::MomentView;
use crate::row::{stored_text, vector_bytes};
use crate::shelf::{self, ServerShelf, ServerSpace};
use crate::statement::SqlStatement;
use crate::write::WriteTransaction;

/// Answers a [`PendingRequest`].
pub(crate) fn list_pending(view: &MomentView<'_>, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>> {
    let space = find_target_space(view.shelf, &request.identity)?;
    let statement = SqlStatement::new(
        "SELECT d.id, d.\"row\", d.before, d.after, d.document FROM loci.drawers d
         WHERE d.collection = $1 AND d.\"row\" > $3
            AND NOT EXISTS (SELECT 1 FROM loci.vectors v WHERE v.space = $2 AND v.\"row\" = d.\"row\")
         ORDER BY d.\"row\" LIMIT $4",
    )
    .with_int(view.shelf.collection)
    .with_int(space.number)
    .with_int(i64::try_from(request.after).unwrap_or(i64::MAX))
    .with_int(i64::try_from(request.limit).unwrap_or(i64::MAX));
    let found = view.session.ask(statement, view.deadline)?;
    let pending = found.iter().map(|row| {
        let text = |column: usize| {
            let bytes: Option<Vec<u8>> = row.get(column);
            bytes.map(stored_text).transpose().map(Option::unwrap_or_default)
        };
        let context = DrawerContext {
            before: text(2)?,
            after: text(3)?,
        };
        Ok(UnembeddedDrawer {
            id: DrawerId::new(stored_text(row.get(0))?)?,
            version: shelf::count(row.get(1)),
            text: DrawerContext::indexed_text(Some(&context), &text(4)?).into_owned(),
        })
    });
    pending.collect()
}

/// Returns the space a model's vectors are filled into: the one being built, or else the active one.
fn find_target_space<'s>(shelf: &'s ServerShelf, identity: &EmbedderIdentity) -> Result<&'s ServerSpace> {
    let fits = |space: &&ServerSpace| space.embedder.as_ref() == Some(identity);
    let found = shelf
        .being_built()
        .filter(fits)
        .or(Some(&shelf.space).filter(fits));
    found.ok_or_else(|| {
        Error::new(
            ErrorKind::IdentityMismatch,
            format!(
                "the collection {:?} has no space for {identity}: {} is active",
                shelf.name.as_str(),
                shelf.space.model()
            ),
        )
        .with_hint(format!(
            "nothing was changed; begin one with `loci embedder switch {}`",
            identity.model
        ))
    })
}

/// Checks vectors before the lock is taken.
pub(crate) fn check_vectors(
    identity: &EmbedderIdentity,
    metric: Metric,
    vectors: &[VectorFill],
) -> Result<()> {
    for VectorFill { id, vector, .. } in vectors {
        check_vector(vector, metric).map_err(|error| error.with_context("id", id))?;
        if vector.len() != identity.dimension {
            return Err(dimension_mismatch(identity.dimension, vector.len()).with_context("id", id));
        }
    }
    Ok(())
}

/// Stores checked vectors and commits.
pub(crate) fn fill_space(
    transaction: WriteTransaction<'_>,
    identity: &EmbedderIdentity,
    vectors: &[VectorFill],
) -> Result<VectorFillReport> {
    let space = find_target_space(&transaction.shelf, identity)?;
    // A process that began to fill before the pause must stop as well.
    if space.state == SpaceState::Paused {
        return Err(Error::new(
            ErrorKind::Conflict,
            format!("the switch to {identity} is paused, so no vectors are stored"),
        )
        .with_hint(format!(
            "nothing was written; continue with `loci embedder switch {}`",
            identity.model
        )));
    }
    let (collection, number) = (transaction.shelf.collection, space.number);
    let codes = space.near.is_some() && codes::are_coded(transaction.shelf.metric, Some(identity.dimension));
    let extension = transaction.session().vector_schema().filter(|_| codes);
    let fills: Vec<SqlStatement> = vectors
        .iter()
        .map(|fill| fill_statement(collection, number, fill))
        .collect();
    let answers = transaction.ask_all(&fills)?;
    let mut stored = 0;
    let mut last = Vec::new();
    for (fill, rows) in vectors.iter().zip(&answers) {
        if let Some(row) = rows.first() {
            stored += 1;
            last.extend(
                extension.map(|extension| codes::insert_code(extension, number, row.get(0), &fill.vector)),
            );
        }
    }
    let coded = if extension.is_some() { stored } else { 0 };
    last.push(
        SqlStatement::new("UPDATE loci.spaces SET vectors = vectors + $2, near = near + $3 WHERE space = $1")
            .with_int(number)
            .with_int(stored)
            .with_int(coded),
    );
    transaction.commit(last)?;
    let stored = shelf::count(stored);
    Ok(VectorFillReport {
        stored,
        stale: vectors.len() as u64 - stored,
    })
}

/// Stores one vector if its drawer still has the text it was made of and has no vector there; returns a row if it did.
fn fill_statement(collection: i64, space: i64, fill: &VectorFill) -> SqlStatement {
    SqlStatement::new(
        "INSERT INTO loci.vectors(space, \"row\", value)
         SELECT $2, d.\"row\", $5 FROM loci.drawers d WHERE d.collection = $1 AND d.id = $3 AND d.\"row\" = $4
         ON CONFLICT DO NOTHING RETURNING \"row\"",
    )
    .with_int(collection)
    .with_int(space)
    .with_bytes(fill.id.as_str().as_bytes().to_vec())
    .with_int(i64::try_from(fill.version).unwrap_or(i64::MAX))
    .with_bytes(vector_bytes(&fill.vector))
}
