//! The pool: the sessions of all sets among filler sessions, as many as years of work would leave.
//!
//! Fillers hold little more than what their users said, so each is lengthened with replies made of paragraphs that
//! models wrote in sessions without evidence: the generic advice among which evidence must be found.

use std::collections::HashSet;
use std::path::Path;

use loci_core::Timestamp;
use serde_json::Value as Json;

use super::{EvalHaystack, EvalMessage, EvalQuestion, EvalSession, EvalSet, items, lines, nth_second, text};
use crate::eval::EvalResult;

/// The file with the fillers, in its folder beside those of the sets.
const FILLERS: &str = "dayzero/fillers.jsonl";

/// The number of paragraphs in a made reply.
const PARAGRAPHS: usize = 4;

/// The number of exchanges that a filler is lengthened to.
const EXCHANGES: usize = 6;

/// Puts the sessions of `sets` among the fillers in `folder`, all in one haystack.
pub(super) fn read(folder: &Path, sets: Vec<EvalSet>) -> EvalResult<EvalSet> {
    let mut pool = EvalSet {
        name: "pool",
        sessions: Vec::new(),
        haystacks: Vec::new(),
        questions: Vec::new(),
        unanswerable: Vec::new(),
    };
    for set in sets {
        pool.sessions.extend(set.sessions);
        let moved = |question: EvalQuestion| EvalQuestion {
            kind: format!("{} {}", set.name, question.kind),
            haystack: 0,
            ..question
        };
        pool.questions.extend(set.questions.into_iter().map(moved));
        pool.unanswerable.extend(set.unanswerable.into_iter().map(moved));
    }
    let replies = generic_paragraphs(&pool);
    if replies.is_empty() {
        return Err("no session without evidence has a reply to lengthen fillers with".into());
    }
    for (at, filler) in lines(&folder.join(FILLERS))?.iter().enumerate() {
        pool.sessions.push(lengthened(filler, &replies, at)?);
    }
    pool.haystacks.push(EvalHaystack {
        name: pool.name.to_owned(),
        sessions: (0..pool.sessions.len()).collect(),
    });
    Ok(pool)
}

/// The paragraphs of models' messages in sessions that are no question's evidence.
fn generic_paragraphs(pool: &EvalSet) -> Vec<String> {
    let gold: HashSet<&str> = pool
        .questions
        .iter()
        .flat_map(|question| question.sessions.iter().map(String::as_str))
        .collect();
    let messages = pool
        .sessions
        .iter()
        .filter(|session| !gold.contains(session.id.as_str()))
        .flat_map(|session| &session.messages)
        .filter(|message| message.role == "assistant" && message.name.is_none());
    messages
        .flat_map(|message| message.content.split("\n\n"))
        .filter(|paragraph| paragraph.len() > 60)
        .map(str::to_owned)
        .collect()
}

/// A filler with a reply after each of its user's lines, and more lines of its user while it is short.
fn lengthened(filler: &Json, replies: &[String], at: usize) -> EvalResult<EvalSession> {
    let id = format!("filler-{}", text(filler, "id"));
    let begun: Option<Timestamp> = text(filler, "at").parse().ok();
    let mut messages: Vec<(&'static str, String)> = Vec::new();
    let mut number = at.wrapping_mul(7919);
    let mut reply = || {
        let parts = (0..PARAGRAPHS).map(|_| {
            // A multiplicative walk over the paragraphs: the same pool on every run, and no two replies alike.
            number = number
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            let paragraph = replies.get((number >> 17) % replies.len());
            paragraph.map(String::as_str).unwrap_or_default()
        });
        parts.collect::<Vec<_>>().join("\n\n")
    };
    for said in items(filler, "messages") {
        let written = text(said, "text");
        if text(said, "role") != "user" {
            messages.push(("assistant", written.to_owned()));
            continue;
        }
        for line in written.lines().filter(|line| !line.trim().is_empty()) {
            messages.push(("user", line.to_owned()));
            messages.push(("assistant", reply()));
        }
    }
    while messages.len() < 2 * EXCHANGES {
        messages.push(("user", "Could you say more about that?".to_owned()));
        messages.push(("assistant", reply()));
    }
    let messages = messages.into_iter().enumerate().map(|(n, (role, content))| {
        Ok(EvalMessage {
            id: format!("{id}:{n}"),
            role,
            name: None,
            content,
            at: begun.map(|begun| nth_second(begun, n)).transpose()?,
        })
    });
    Ok(EvalSession {
        messages: messages.collect::<EvalResult<_>>()?,
        id,
    })
}
