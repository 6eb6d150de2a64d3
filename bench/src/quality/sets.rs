//! The retrieval sets as pieces and questions: LoCoMo's conversations and LongMemEval's sessions.

#![allow(
    clippy::indexing_slicing,
    reason = "indexing JSON by name gives null for what is not there"
)]

use std::collections::HashMap;
use std::fs;
use std::path::Path;

use loci_core::{Error, ErrorKind, Result};
use serde_json::Value;

/// About how many characters a piece has at most.
const PIECE: usize = 800;

/// A message, or a part of a long one.
#[derive(Debug)]
pub(crate) struct Piece {
    /// The session it stands in.
    pub(crate) session: usize,
    /// The message it is, numbered over the whole set.
    pub(crate) turn: usize,
    /// Its text, with who said it.
    pub(crate) text: String,
    /// Its text between those of its neighbours.
    pub(crate) around: String,
}

/// A question, where to look, and what must be found.
#[derive(Debug)]
pub(crate) struct Question {
    pub(crate) text: String,
    /// The sessions to search.
    pub(crate) haystack: Vec<usize>,
    /// The sessions that hold the evidence.
    pub(crate) sessions: Vec<usize>,
    /// The messages that hold it, where the set says.
    pub(crate) turns: Vec<usize>,
}

/// One retrieval set.
#[derive(Debug)]
pub(crate) struct Set {
    pub(crate) name: &'static str,
    pub(crate) pieces: Vec<Piece>,
    pub(crate) questions: Vec<Question>,
}

/// The sets found in `folder`.
pub(crate) fn load(folder: &Path) -> Result<Vec<Set>> {
    Ok(vec![
        locomo(&folder.join("locomo/dev.json"))?,
        longmemeval(&folder.join("longmemeval"))?,
    ])
}

fn locomo(path: &Path) -> Result<Set> {
    let conversations: Vec<Value> = parse(&read(path)?)?;
    let (mut pieces, mut questions, mut sessions) = (Vec::new(), Vec::new(), 0);
    for conversation in &conversations {
        let mut turns = HashMap::new();
        let first = sessions;
        for number in 1.. {
            let key = format!("session_{number}");
            let Some(messages) = conversation["conversation"][&key].as_array() else {
                break;
            };
            let mut said = Vec::new();
            for message in messages {
                let turn = pieces.len() + said.len();
                turns.insert(text(&message["dia_id"]).to_owned(), (sessions, turn));
                let words = format!("{}: {}", text(&message["speaker"]), text(&message["text"]));
                said.push((turn, words));
            }
            file(&mut pieces, sessions, said);
            sessions += 1;
        }
        for question in conversation["qa"].as_array().into_iter().flatten() {
            let evidence = question["evidence"].as_array().into_iter().flatten();
            // One field may name several messages: "D8:6; D9:17".
            let found: Vec<(usize, usize)> = evidence
                .flat_map(|ids| text(ids).split([';', ' ', ',']))
                .filter_map(|id| turns.get(id.trim()).copied())
                .collect();
            if !found.is_empty() {
                questions.push(Question {
                    text: text(&question["question"]).to_owned(),
                    haystack: (first..sessions).collect(),
                    sessions: distinct(found.iter().map(|(session, _)| *session)),
                    turns: distinct(found.iter().map(|(_, turn)| *turn)),
                });
            }
        }
    }
    Ok(Set {
        name: "LoCoMo",
        pieces,
        questions,
    })
}

fn longmemeval(folder: &Path) -> Result<Set> {
    let (mut pieces, mut number_of, mut turn) = (Vec::new(), HashMap::new(), 0);
    for line in read(&folder.join("sessions.jsonl"))?.lines() {
        let session: Value = parse(line)?;
        let number = number_of.len();
        number_of.insert(text(&session["id"]).to_owned(), number);
        let mut said = Vec::new();
        for message in session["turns"].as_array().into_iter().flatten() {
            for part in cut(text(&message["content"])) {
                said.push((turn, format!("{}: {part}", text(&message["role"]))));
            }
            turn += 1;
        }
        file(&mut pieces, number, said);
    }
    let mut questions = Vec::new();
    for line in read(&folder.join("questions.jsonl"))?.lines() {
        let question: Value = parse(line)?;
        let numbers = |key: &str| -> Vec<usize> {
            let ids = question[key].as_array().into_iter().flatten();
            ids.filter_map(|id| number_of.get(text(id)).copied()).collect()
        };
        // Questions that cannot be answered have no evidence to find.
        if !text(&question["id"]).ends_with("-abs") && !text(&question["id"]).ends_with("_abs") {
            questions.push(Question {
                text: text(&question["question"]).to_owned(),
                haystack: numbers("haystack"),
                sessions: distinct(numbers("gold")),
                turns: Vec::new(),
            });
        }
    }
    Ok(Set {
        name: "LongMemEval",
        pieces,
        questions,
    })
}

/// Files the messages of one session with their neighbours around them.
fn file(pieces: &mut Vec<Piece>, session: usize, said: Vec<(usize, String)>) {
    for (at, (turn, text)) in said.iter().enumerate() {
        let neighbour = |at: Option<usize>| at.and_then(|at| said.get(at)).map_or("", |(_, text)| text);
        let around = format!(
            "{}\n{text}\n{}",
            neighbour(at.checked_sub(1)),
            neighbour(Some(at + 1))
        );
        pieces.push(Piece {
            session,
            turn: *turn,
            text: text.clone(),
            around,
        });
    }
}

/// Cuts a long message at blanks into parts of about the same length.
fn cut(message: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    for word in message.split_inclusive(char::is_whitespace) {
        if let Some(last) = parts.last_mut() {
            if last.len() + word.len() <= PIECE || last.is_empty() {
                last.push_str(word);
            } else {
                parts.push(word.to_owned());
            }
        }
    }
    parts
}

fn distinct(numbers: impl IntoIterator<Item = usize>) -> Vec<usize> {
    let mut numbers: Vec<usize> = numbers.into_iter().collect();
    numbers.sort_unstable();
    numbers.dedup();
    numbers
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).map_err(|error| {
        Error::new(ErrorKind::Io, format!("cannot read {}", path.display())).caused_by(error)
    })
}

fn parse<T: serde::de::DeserializeOwned>(json: &str) -> Result<T> {
    serde_json::from_str(json).map_err(|error| Error::invalid(format!("the set is not as expected: {error}")))
}
