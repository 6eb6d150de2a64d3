//! The retrieval sets as they are asked: sessions of messages, haystacks of sessions, questions with what must be found.

mod locomo;
mod longmemeval;
mod pool;

use std::fs;
use std::path::{Path, PathBuf};

use jiff::civil::DateTime;
use jiff::tz::Offset;
use loci_core::Timestamp;
use serde_json::Value as Json;

use super::{EvalResult, EvalSetChoice, WingLayout};

/// One retrieval set.
#[derive(Debug)]
pub(crate) struct EvalSet {
    pub(crate) name: &'static str,
    pub(crate) sessions: Vec<EvalSession>,
    pub(crate) haystacks: Vec<EvalHaystack>,
    pub(crate) questions: Vec<EvalQuestion>,
    /// The questions that nothing in their haystack answers, without evidence.
    pub(crate) unanswerable: Vec<EvalQuestion>,
}

/// What is mined as one source.
#[derive(Debug)]
pub(crate) struct EvalSession {
    pub(crate) id: String,
    pub(crate) messages: Vec<EvalMessage>,
}

/// One message of a session.
#[derive(Debug)]
pub(crate) struct EvalMessage {
    pub(crate) id: String,
    pub(crate) role: &'static str,
    pub(crate) name: Option<String>,
    pub(crate) content: String,
    pub(crate) at: Option<Timestamp>,
}

/// The sessions that some questions are asked of, by their place in the set.
#[derive(Debug)]
pub(crate) struct EvalHaystack {
    pub(crate) name: String,
    pub(crate) sessions: Vec<usize>,
}

/// A question, where to look, and what must be found.
#[derive(Debug)]
pub(crate) struct EvalQuestion {
    pub(crate) id: String,
    /// What the set says it is about.
    pub(crate) kind: String,
    pub(crate) text: String,
    /// When it is asked.
    pub(crate) now: Timestamp,
    /// Which haystack it is asked of.
    pub(crate) haystack: usize,
    /// The sessions that hold the evidence; at least one.
    pub(crate) sessions: Vec<String>,
    /// The messages that hold it, where the set says.
    pub(crate) turns: Vec<String>,
}

impl EvalSet {
    /// The wings to mine: a name and the sessions in it. Haystacks that nobody asks about are left out.
    pub(crate) fn wings(&self, wings: WingLayout) -> Vec<(&str, Vec<usize>)> {
        let all = || self.questions.iter().chain(&self.unanswerable);
        let asked = |at: &usize| all().any(|question| question.haystack == *at);
        match wings {
            WingLayout::One => vec![(self.name, (0..self.sessions.len()).collect())],
            WingLayout::Each => (0..self.haystacks.len())
                .filter(asked)
                .filter_map(|at| self.haystacks.get(at))
                .map(|haystack| (haystack.name.as_str(), haystack.sessions.clone()))
                .collect(),
        }
    }

    /// The wing a question is asked of.
    pub(crate) fn wing_of(&self, question: &EvalQuestion, wings: WingLayout) -> &str {
        match (wings, self.haystacks.get(question.haystack)) {
            (WingLayout::Each, Some(haystack)) => &haystack.name,
            _ => self.name,
        }
    }
}

/// A message as evidence names it: ids of messages are told apart by their session only.
pub(crate) fn turn(session: &str, message: &str) -> String {
    format!("{session}#{message}")
}

/// The sets found at `path`: a folder that holds `locomo/` and `longmemeval/`, one of the two, or a file of LoCoMo.
pub(crate) fn load(path: &Path, which: EvalSetChoice) -> EvalResult<Vec<EvalSet>> {
    let mut sets = Vec::new();
    let files = locomo_files(path)?;
    if which != EvalSetChoice::Longmemeval && !files.is_empty() {
        sets.push(locomo::read(&files)?);
    }
    let folder = [path.to_owned(), path.join("longmemeval")]
        .into_iter()
        .find(|folder| folder.join(longmemeval::QUESTIONS).is_file());
    if which != EvalSetChoice::Locomo
        && let Some(folder) = folder
    {
        sets.push(longmemeval::read(&folder)?);
    }
    if sets.is_empty() {
        return Err(format!("there is no such set in {}", path.display()).into());
    }
    if which == EvalSetChoice::Pool {
        return Ok(vec![pool::read(path, sets)?]);
    }
    Ok(sets)
}

/// Every JSON file of LoCoMo's folder: each is a list of conversations.
fn locomo_files(path: &Path) -> EvalResult<Vec<PathBuf>> {
    if path.is_file() {
        return Ok(vec![path.to_owned()]);
    }
    let inner = path.join("locomo");
    let folder = if inner.is_dir() { inner.as_path() } else { path };
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| format!("cannot read {}: {error}", folder.display()))? {
        let file = entry?.path();
        if file.extension().is_some_and(|extension| extension == "json") {
            files.push(file);
        }
    }
    files.sort();
    Ok(files)
}

/// The time written in `pattern`, taken for UTC.
fn time(text: &str, pattern: &str) -> EvalResult<Timestamp> {
    let moment = DateTime::strptime(pattern, text).and_then(|civil| Offset::UTC.to_timestamp(civil));
    let moment = moment.map_err(|error| format!("{text:?} is no time: {error}"))?;
    Ok(Timestamp::from_micros(moment.as_microsecond())?)
}

/// A second later for each message before.
fn nth_second(begun: Timestamp, n: usize) -> EvalResult<Timestamp> {
    Ok(Timestamp::from_micros(begun.as_micros() + n as i64 * 1_000_000)?)
}

fn distinct(mut names: Vec<String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    names.retain(|name| seen.insert(name.clone()));
    names
}

fn text<'a>(object: &'a Json, key: &str) -> &'a str {
    object.get(key).and_then(Json::as_str).unwrap_or_default()
}

fn items<'a>(object: &'a Json, key: &str) -> &'a [Json] {
    let items = object.get(key).and_then(Json::as_array);
    items.map(Vec::as_slice).unwrap_or_default()
}

/// The JSON of each line of a file.
fn lines(path: &Path) -> EvalResult<Vec<Json>> {
    let parse = |(at, line): (usize, &str)| {
        serde_json::from_str(line).map_err(|error| format!("{}:{}: {error}", path.display(), at + 1).into())
    };
    contents(path)?.lines().enumerate().map(parse).collect()
}

fn contents(path: &Path) -> EvalResult<String> {
    fs::read_to_string(path).map_err(|error| format!("cannot read {}: {error}", path.display()).into())
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a test: a panic is a red line"
)]
mod tests {
    use super::*;
    use serde_json::json;

    fn write(folder: &Path, name: &str, text: &str) -> PathBuf {
        fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        fs::write(&path, text).unwrap();
        path
    }

    fn conversation() -> Json {
        json!([{
            "conversation": {
                "speaker_a": "Ada", "speaker_b": "Ben",
                "session_1_date_time": "1:56 pm on 8 May, 2023",
                "session_1": [
                    {"speaker": "Ada", "dia_id": "D1:1", "text": "I keep bees."},
                    {"speaker": "Ben", "dia_id": "D1:2", "text": "Since when?"},
                ],
                "session_3_date_time": "12:10 am on 1 June, 2023",
                "session_3": [{"speaker": "Ben", "dia_id": "D3:7", "text": "I moved."}],
                "session_4_date_time": "9:00 am on 2 June, 2023",
            },
            "qa": [
                {"question": "Who keeps bees?", "category": 4, "evidence": ["D1:1", "D1:2"]},
                {"question": "Both?", "category": 1, "evidence": ["D1:1; D:3:07"]},
                {"question": "Nothing?", "category": 5, "evidence": []},
                {"question": "Nowhere?", "category": 5, "evidence": ["D"]},
            ],
        }])
    }

    #[test]
    fn a_conversation_is_read_with_its_times_and_its_evidence() {
        let folder = tempfile::tempdir().unwrap();
        let file = write(
            &folder.path().join("locomo"),
            "two.json",
            &conversation().to_string(),
        );
        for path in [folder.path(), file.parent().unwrap(), &file] {
            let sets = load(path, EvalSetChoice::All).unwrap();
            let set = &sets[0];
            let ids: Vec<&str> = set.sessions.iter().map(|session| session.id.as_str()).collect();
            assert_eq!(ids, ["conversation-1/session_1", "conversation-1/session_3"]);
            let said = &set.sessions[0].messages[1];
            assert_eq!(said.at.unwrap().to_string(), "2023-05-08T13:56:01Z");
            assert_eq!((said.role, said.name.as_deref()), ("assistant", Some("Ben")));
            assert_eq!(set.questions.len(), 2, "only those with evidence are asked");
            assert_eq!(set.questions[0].sessions, ["conversation-1/session_1"]);
            assert_eq!(
                set.questions[1].turns,
                ["conversation-1/session_1#D1:1", "conversation-1/session_3#D3:7"]
            );
            assert_eq!(set.questions[0].now.to_string(), "2023-06-02T00:10:00Z");
        }
    }

    #[test]
    fn a_haystack_is_read_and_what_cannot_be_answered_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = [
            json!({"id": "s1", "date": null, "turns": [{"role": "user", "content": "Hello."}]}),
            json!({"id": "s2", "date": "2023/05/20 (Sat) 02:21", "turns": [{"role": "assistant", "content": "Yes."}]}),
        ];
        let question = |id: &str| {
            json!({"id": id, "type": "multi-session", "question": "Is it?", "asked_at": "2023/05/30 (Tue) 23:40",
                "haystack": ["s2", "s1"], "gold": ["s2"]})
        };
        let lines = |lines: &[Json]| lines.iter().map(|line| format!("{line}\n")).collect::<String>();
        write(folder.path(), "sessions.jsonl", &lines(&sessions));
        write(
            folder.path(),
            "questions.jsonl",
            &lines(&[question("a"), question("b-abs")]),
        );
        let set = load(folder.path(), EvalSetChoice::Longmemeval).unwrap().remove(0);
        assert_eq!((set.questions.len(), set.unanswerable.len()), (1, 1));
        assert_eq!(set.questions[0].now.to_string(), "2023-05-30T23:40:00Z");
        assert_eq!(
            set.wings(WingLayout::Each),
            [("haystack-a", vec![1, 0]), ("haystack-b-abs", vec![1, 0])]
        );
        assert_eq!(set.wings(WingLayout::One), [("longmemeval", vec![0, 1])]);
        assert_eq!(set.sessions[0].messages[0].at, None);
        assert_eq!(
            set.sessions[1].messages[0].at.unwrap().to_string(),
            "2023-05-20T02:21:00Z"
        );
    }

    #[test]
    fn a_folder_without_sets_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = load(folder.path(), EvalSetChoice::All).unwrap_err().to_string();
        assert!(error.contains(&folder.path().display().to_string()), "{error}");
    }
}
