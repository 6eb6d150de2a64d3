//! LoCoMo: conversations of two people over months, as its authors publish them. Captions of pictures are left out.

use std::collections::HashMap;
use std::path::PathBuf;

use loci_core::Timestamp;
use serde_json::Value as Json;

use super::{
    EvalHaystack, EvalMessage, EvalQuestion, EvalSession, EvalSet, contents, distinct, items, nth_second,
    text, time, turn,
};
use crate::eval::EvalResult;

/// A day in microseconds.
const DAY: i64 = 24 * 3600 * 1_000_000;

/// Reads the conversations of all files as one set.
pub(super) fn read(files: &[PathBuf]) -> EvalResult<EvalSet> {
    let mut set = EvalSet {
        name: "locomo",
        sessions: Vec::new(),
        haystacks: Vec::new(),
        questions: Vec::new(),
        unanswerable: Vec::new(),
    };
    for file in files {
        let conversations: Vec<Json> = serde_json::from_str(&contents(file)?)
            .map_err(|error| format!("{} is no list of conversations: {error}", file.display()))?;
        for conversation in &conversations {
            add(&mut set, conversation).map_err(|error| format!("{}: {error}", file.display()))?;
        }
    }
    Ok(set)
}

fn add(set: &mut EvalSet, conversation: &Json) -> EvalResult<()> {
    let name = format!("conversation-{}", set.haystacks.len() + 1);
    let talk = conversation.get("conversation").unwrap_or(&Json::Null);
    let first = set.sessions.len();
    let mut last = None;
    for number in numbers_of_sessions(talk) {
        let begun = begun(talk, number)?;
        last = last.max(begun);
        set.sessions.push(session(&name, talk, number, begun)?);
    }
    let now = last.map_or(0, Timestamp::as_micros) + DAY;
    let now = Timestamp::from_micros(now)?;
    let known = known_turns(set.sessions.get(first..).unwrap_or_default());
    for (at, asked) in items(conversation, "qa").iter().enumerate() {
        let evidence = evidence(asked, &known);
        if !evidence.is_empty() {
            let (sessions, turns) = evidence.into_iter().unzip();
            set.questions.push(EvalQuestion {
                id: format!("{name}/q{}", at + 1),
                kind: kind(asked).to_owned(),
                text: text(asked, "question").to_owned(),
                now,
                haystack: set.haystacks.len(),
                sessions: distinct(sessions),
                turns: distinct(turns),
            });
        }
    }
    let sessions = (first..set.sessions.len()).collect();
    set.haystacks.push(EvalHaystack { name, sessions });
    Ok(())
}

/// Times stand there for sessions that do not; the other way round is not known.
fn numbers_of_sessions(talk: &Json) -> Vec<u32> {
    let keys = talk.as_object().into_iter().flatten();
    let mut numbers: Vec<u32> = keys
        .filter(|(_, value)| value.is_array())
        .filter_map(|(key, _)| key.strip_prefix("session_")?.parse().ok())
        .collect();
    numbers.sort_unstable();
    numbers
}

fn begun(talk: &Json, number: u32) -> EvalResult<Option<Timestamp>> {
    match text(talk, &format!("session_{number}_date_time")) {
        "" => Ok(None),
        written => time(written, "%I:%M %p on %d %B, %Y").map(Some),
    }
}

fn session(name: &str, talk: &Json, number: u32, begun: Option<Timestamp>) -> EvalResult<EvalSession> {
    let first_speaker = text(talk, "speaker_a");
    let said = items(talk, &format!("session_{number}")).iter().enumerate();
    let messages = said.map(|(n, said)| {
        let speaker = text(said, "speaker");
        Ok(EvalMessage {
            id: text(said, "dia_id").to_owned(),
            role: if speaker == first_speaker {
                "user"
            } else {
                "assistant"
            },
            name: Some(speaker.to_owned()),
            content: text(said, "text").to_owned(),
            at: begun.map(|begun| nth_second(begun, n)).transpose()?,
        })
    });
    Ok(EvalSession {
        id: format!("{name}/session_{number}"),
        messages: messages.collect::<EvalResult<_>>()?,
    })
}

/// The session and the full name of each message, by its own id.
fn known_turns(sessions: &[EvalSession]) -> HashMap<&str, (String, String)> {
    let each = |session: &'_ EvalSession, message: &EvalMessage| {
        (session.id.clone(), turn(&session.id, &message.id))
    };
    sessions
        .iter()
        .flat_map(|session| session.messages.iter().map(move |message| (session, message)))
        .map(|(session, message)| (message.id.as_str(), each(session, message)))
        .collect()
}

/// The messages that hold the answer. One field may name several of them, with slips: "D8:6; D9:17", "D:11:26", "D30:05".
fn evidence(asked: &Json, known: &HashMap<&str, (String, String)>) -> Vec<(String, String)> {
    let fields = items(asked, "evidence").iter().filter_map(Json::as_str);
    fields
        .flat_map(|field| field.split([';', ',', ' ']))
        .filter_map(|id| known.get(id).or_else(|| known.get(mended(id)?.as_str())))
        .cloned()
        .collect()
}

fn mended(id: &str) -> Option<String> {
    let mut numbers = id
        .split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u32>().ok());
    Some(format!("D{}:{}", numbers.next()?, numbers.next()?))
}

fn kind(asked: &Json) -> &'static str {
    match asked.get("category").and_then(Json::as_u64) {
        Some(1) => "multi-hop",
        Some(2) => "temporal",
        Some(3) => "open-domain",
        Some(4) => "single-hop",
        Some(5) => "adversarial",
        _ => "other",
    }
}
