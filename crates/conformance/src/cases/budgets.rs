//! Time budgets: a call whose budget is used up fails, and a write that timed out was not applied.

use std::time::Duration;

use loci_core::{
    ApplyRequest, Capability, Collection, ErrorKind, GetRequest, LexicalRequest, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, delete_write, text_drawer, vector_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "budgets":
    "a write whose budget is used up is timed out and nothing was written" [-ReadOnly] => write_times_out;
    "a read whose budget is used up is timed out" [] => reads_time_out;
    "a generous budget changes no answer" [] => generous_reads_agree;
    "a write within a generous budget is applied" [-ReadOnly] => generous_write_applies;
}

fn reads_within(
    scene: &CaseScene<'_>,
    budget: Option<Duration>,
) -> (GetRequest, Option<QueryRequest>, Option<LexicalRequest>) {
    let get = GetRequest {
        budget,
        ..GetRequest::default()
    };
    let query = QueryRequest {
        budget,
        ..QueryRequest::nearest_to(vec![1.0, 0.0, 0.0, 0.0], 2)
    };
    let lexical = LexicalRequest {
        budget,
        ..LexicalRequest::for_words("alpha", 2)
    };
    // Requests that a backend does not support would be refused for that reason, not for their budget.
    let vectors = scene.can(Capability::EmbeddingsPassthrough);
    let words = scene.can(Capability::Lexical);
    (get, vectors.then_some(query), words.then_some(lexical))
}

fn open_with_one(scene: &CaseScene<'_>) -> CaseOutcome<std::sync::Arc<dyn Collection>> {
    scene.open_filled([scene.fit_drawer(vector_drawer("a", "alpha", &[1.0, 0.0, 0.0, 0.0]))])
}

fn write_times_out(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_with_one(scene)?;
    let before = drawers.info()?;
    // One write that adds and one that removes: a backend that notices the time after the first of them
    // would leave half of the batch.
    let batch = [Write::Add(text_drawer("b", "text")), delete_write("a")];
    // Zero is the only budget that is certainly used up: any other would make the case depend on the
    // machine.
    let request = ApplyRequest::from_writes(&batch).within_budget(Duration::ZERO);
    expect_refusal(drawers.apply(&request), ErrorKind::TimedOut, &[])?;
    same!(all_ids(drawers.as_ref())?, ["a"], "ids");
    // The ids alone would not show a write that was applied and undone again.
    same!(drawers.info()?.seq, before.seq, "the number of the last change");
    Ok(())
}

fn reads_time_out(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_with_one(scene)?;
    let (get, query, lexical) = reads_within(scene, Some(Duration::ZERO));
    expect_refusal(drawers.get(&get), ErrorKind::TimedOut, &[])?;
    if let Some(query) = query {
        expect_refusal(drawers.query(&query), ErrorKind::TimedOut, &[])?;
    }
    if let Some(lexical) = lexical {
        expect_refusal(drawers.lexical(&lexical), ErrorKind::TimedOut, &[])?;
    }
    Ok(())
}

fn generous_reads_agree(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_with_one(scene)?;
    // Long enough to be irrelevant: a budget may stop a call, but must never change its answer, for example
    // by switching to a cheaper search.
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

fn generous_write_applies(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_with_one(scene)?;
    let batch = [Write::Add(text_drawer("b", "text"))];
    let receipt =
        drawers.apply(&ApplyRequest::from_writes(&batch).within_budget(Duration::from_secs(600)))?;
    same!(receipt.added.len(), 1, "drawers added");
    same!(all_ids(drawers.as_ref())?, ["a", "b"], "ids");
    Ok(())
}
