//! LongMemEval: questions to an assistant over haystacks of sessions; `questions.jsonl` and `sessions.jsonl`.

use std::collections::HashMap;
use std::path::Path;

use loci_core::Timestamp;
use serde_json::Value as Json;

use super::{
    EvalHaystack, EvalMessage, EvalQuestion, EvalSession, EvalSet, distinct, items, lines, nth_second, text,
    time,
};
use crate::eval::EvalResult;

/// The file with the questions.
pub(super) const QUESTIONS: &str = "questions.jsonl";

/// The file with the sessions.
const SESSIONS: &str = "sessions.jsonl";

/// Reads the set in `folder`.
pub(super) fn read(folder: &Path) -> EvalResult<EvalSet> {
    let sessions: Vec<EvalSession> = lines(&folder.join(SESSIONS))?
        .iter()
        .map(session)
        .collect::<EvalResult<_>>()?;
    let place = |(at, session): (usize, &EvalSession)| (session.id.clone(), at);
    let place_of: HashMap<String, usize> = sessions.iter().enumerate().map(place).collect();
    let (mut haystacks, mut questions, mut unanswerable) = (Vec::new(), Vec::new(), Vec::new());
    for asked in lines(&folder.join(QUESTIONS))? {
        let id = text(&asked, "id");
        let names = names(&asked, "haystack");
        let places = names.iter().map(|name| {
            let place = place_of.get(name).copied();
            place.ok_or_else(|| format!("{id}: there is no session {name:?}"))
        });
        let question = question(&asked, haystacks.len())?;
        // What cannot be answered has no evidence to find.
        if id.ends_with("-abs") || id.ends_with("_abs") {
            unanswerable.push(question);
        } else {
            questions.push(question);
        }
        haystacks.push(EvalHaystack {
            name: format!("haystack-{id}"),
            sessions: places.collect::<Result<_, _>>()?,
        });
    }
    Ok(EvalSet {
        name: "longmemeval",
        sessions,
        haystacks,
        questions,
        unanswerable,
    })
}

fn question(asked: &Json, haystack: usize) -> EvalResult<EvalQuestion> {
    Ok(EvalQuestion {
        id: text(asked, "id").to_owned(),
        kind: text(asked, "type").to_owned(),
        text: text(asked, "question").to_owned(),
        now: moment(text(asked, "asked_at"))?,
        haystack,
        sessions: distinct(names(asked, "gold")),
        turns: Vec::new(),
    })
}

fn session(session: &Json) -> EvalResult<EvalSession> {
    let id = text(session, "id");
    let begun = match text(session, "date") {
        "" => None,
        written => Some(moment(written)?),
    };
    let said = items(session, "turns").iter().enumerate();
    let messages = said.map(|(n, said)| {
        Ok(EvalMessage {
            id: format!("{id}:{n}"),
            role: if text(said, "role") == "user" {
                "user"
            } else {
                "assistant"
            },
            name: None,
            content: text(said, "content").to_owned(),
            at: begun.map(|begun| nth_second(begun, n)).transpose()?,
        })
    });
    Ok(EvalSession {
        id: id.to_owned(),
        messages: messages.collect::<EvalResult<_>>()?,
    })
}

/// Times are written "2023/05/30 (Tue) 23:40".
fn moment(written: &str) -> EvalResult<Timestamp> {
    match written
        .split_once(" (")
        .and_then(|(day, rest)| Some((day, rest.split_once(") ")?.1)))
    {
        Some((day, hour)) => time(&format!("{day} {hour}"), "%Y/%m/%d %H:%M"),
        None => time(written, "%Y/%m/%d %H:%M"),
    }
}

fn names(asked: &Json, key: &str) -> Vec<String> {
    let names = items(asked, key).iter().filter_map(Json::as_str);
    names.map(str::to_owned).collect()
}
