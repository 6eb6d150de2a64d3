//! Time budgets: a call whose budget is used up fails, and a write that timed out was not applied.

use std::time::Duration;

use loci_core::{ApplyRequest, Capability, Collection, ErrorKind, Get, Lexical, Query, Write};

use crate::case::refused;
use crate::samples::{all_ids, delete, plain, vectored};
use crate::{Outcome, Scene};

cases! { "budgets":
    "a write whose budget is used up is timed out and nothing was written" [-ReadOnly] => writes;
    "a read whose budget is used up is timed out" [] => reads;
    "a generous budget changes no answer" [] => generous_reads;
    "a write within a generous budget is applied" [-ReadOnly] => generous_write;
}

fn reads_within(scene: &Scene<'_>, budget: Option<Duration>) -> (Get, Option<Query>, Option<Lexical>) {
    let get = Get {
        budget,
        ..Get::default()
    };
    let query = Query {
        budget,
        ..Query::nearest(vec![1.0, 0.0, 0.0, 0.0], 2)
    };
    let lexical = Lexical {
        budget,
        ..Lexical::words("alpha", 2)
    };
    let vectors = scene.can(Capability::EmbeddingsPassthrough);
    let words = scene.can(Capability::Lexical);
    (get, vectors.then_some(query), words.then_some(lexical))
}

fn filled(scene: &Scene<'_>) -> Outcome<std::sync::Arc<dyn Collection>> {
    scene.filled([scene.fit(vectored("a", "alpha", &[1.0, 0.0, 0.0, 0.0]))])
}

fn writes(scene: &Scene<'_>) -> Outcome {
    let drawers = filled(scene)?;
    let before = drawers.info()?;
    let batch = [Write::Add(plain("b", "text")), delete("a")];
    let request = ApplyRequest::batch(&batch).within(Duration::ZERO);
    refused(drawers.apply(&request), ErrorKind::TimedOut, &[])?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    same!(drawers.info()?.seq, before.seq, "the number of the last change");
    Ok(())
}

fn reads(scene: &Scene<'_>) -> Outcome {
    let drawers = filled(scene)?;
    let (get, query, lexical) = reads_within(scene, Some(Duration::ZERO));
    refused(drawers.get(&get), ErrorKind::TimedOut, &[])?;
    if let Some(query) = query {
        refused(drawers.query(&query), ErrorKind::TimedOut, &[])?;
    }
    if let Some(lexical) = lexical {
        refused(drawers.lexical(&lexical), ErrorKind::TimedOut, &[])?;
    }
    Ok(())
}

fn generous_reads(scene: &Scene<'_>) -> Outcome {
    let drawers = filled(scene)?;
    let (get, query, lexical) = reads_within(scene, Some(Duration::from_secs(600)));
    let (plain_get, plain_query, plain_lexical) = reads_within(scene, None);
    same!(drawers.get(&get)?, drawers.get(&plain_get)?, "drawers");
    if let (Some(query), Some(plain)) = (query, plain_query) {
        same!(drawers.query(&query)?, drawers.query(&plain)?, "hits of a query");
    }
    if let (Some(lexical), Some(plain)) = (lexical, plain_lexical) {
        same!(
            drawers.lexical(&lexical)?,
            drawers.lexical(&plain)?,
            "hits of a lexical match"
        );
    }
    Ok(())
}

fn generous_write(scene: &Scene<'_>) -> Outcome {
    let drawers = filled(scene)?;
    let batch = [Write::Add(plain("b", "text"))];
    let receipt = drawers.apply(&ApplyRequest::batch(&batch).within(Duration::from_secs(600)))?;
    same!(receipt.added.len(), 1, "drawers added");
    same!(all_ids(drawers.as_ref())?, ["a", "b"], "ids");
    Ok(())
}
