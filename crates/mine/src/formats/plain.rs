//! A chat as plain text: turns that begin with who speaks, from a closed list of names.

mod label;

use std::ops::Range;

use loci_core::Result;

use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder};
use super::{Given, Sink, TextFormat};
use crate::conversation::{Conversation, Kind, Note};
use label::{Label, label};

/// Text with `Human:` and `Assistant:` and their like.
pub(super) const CHAT_TEXT: TextFormat = TextFormat {
    name: "chat-text",
    recognise,
    parse,
};

/// The endings chats are saved under. Code and settings have lines that look like turns and are none.
const ENDINGS: [&str; 6] = ["txt", "text", "md", "markdown", "chat", "log"];

fn recognise(given: &Given<'_>) -> bool {
    let ending = given
        .path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    if ending.is_some_and(|ending| !ENDINGS.contains(&ending.as_str())) {
        return false;
    }
    let chat = read(given);
    let speaks = |kind| chat.turns.iter().any(|turn| turn.label.kind == kind);
    speaks(Kind::Human) && speaks(Kind::Assistant)
}

/// Where a chat's parts lie in its text.
#[derive(Default)]
struct Chat<'t> {
    title: Option<&'t str>,
    front_matter: Option<&'t str>,
    turns: Vec<Turn<'t>>,
}

struct Turn<'t> {
    label: Label<'t>,
    text: Range<usize>,
}

/// One line and where it begins.
#[derive(Clone, Copy)]
struct Line<'t> {
    begins: usize,
    text: &'t str,
}

/// Reads the turns. Without a label where the first turn would begin there are none.
fn read<'t>(given: &Given<'t>) -> Chat<'t> {
    let lower_case = given
        .path
        .components()
        .any(|part| part.as_os_str() == "agent-transcripts");
    let lines = lines(given.text);
    let fenced = fenced(&lines);
    let mut chat = Chat::default();
    let first = beginning(given.text, &lines, &mut chat, lower_case);
    let Some(form) = lines
        .get(first)
        .and_then(|line| label(line.text, lower_case))
        .map(|label| label.form)
    else {
        return chat;
    };
    for (line, _) in lines.iter().zip(fenced).skip(first).filter(|(_, fenced)| !fenced) {
        if let Some(label) = label(line.text, lower_case).filter(|label| label.form == form) {
            end_turn(&mut chat, line.begins);
            let begins = line.begins + label.length;
            chat.turns.push(Turn {
                label,
                text: begins..given.text.len(),
            });
        }
    }
    chat
}

fn end_turn(chat: &mut Chat<'_>, at: usize) {
    if let Some(turn) = chat.turns.last_mut() {
        turn.text.end = at;
    }
}

fn lines(text: &str) -> Vec<Line<'_>> {
    let mut begins = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let here = Line {
            begins,
            text: line.trim_end_matches(['\n', '\r']),
        };
        begins += line.len();
        here
    });
    lines.collect()
}

/// The number of the line the chat begins on, past front matter and one heading.
fn beginning<'t>(text: &'t str, lines: &[Line<'t>], chat: &mut Chat<'t>, lower_case: bool) -> usize {
    let next = |from: usize| {
        (from..lines.len()).find(|at| lines.get(*at).is_some_and(|line| !line.text.trim().is_empty()))
    };
    let at = |number: usize| lines.get(number).map(|line| line.text).unwrap_or_default();
    let mut here = next(0).unwrap_or(lines.len());
    if at(here) == "---"
        && let Some(end) = (here + 1..lines.len()).find(|number| at(*number) == "---")
    {
        let begins = lines.get(here + 1).map_or(0, |line| line.begins);
        let ends = lines.get(end).map_or(begins, |line| line.begins);
        chat.front_matter = text
            .get(begins..ends)
            .map(|inner| inner.trim_end_matches(['\n', '\r']));
        here = next(end + 1).unwrap_or(lines.len());
    }
    if at(here).starts_with('#') && label(at(here), lower_case).is_none() {
        chat.title = Some(at(here).trim_start_matches('#').trim()).filter(|title| !title.is_empty());
        here = next(here + 1).unwrap_or(lines.len());
    }
    here
}

/// Which lines stand inside a code fence. A fence that never ends is none.
fn fenced(lines: &[Line<'_>]) -> Vec<bool> {
    let mut inside = vec![false; lines.len()];
    let mut open: Option<(usize, &str)> = None;
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.text.trim();
        match open {
            None => open = fence(trimmed).map(|mark| (number, mark)),
            Some((from, mark))
                if trimmed.starts_with(mark) && trimmed.trim_start_matches(mark_of(mark)).is_empty() =>
            {
                inside
                    .iter_mut()
                    .take(number + 1)
                    .skip(from)
                    .for_each(|line| *line = true);
                open = None;
            }
            Some(_) => {}
        }
    }
    inside
}

fn mark_of(mark: &str) -> char {
    mark.chars().next().unwrap_or('`')
}

/// The run of marks a fence opens with.
fn fence(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    line.get(..length).filter(|marks| marks.len() >= 3)
}

fn parse(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let chat = read(given);
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    said.push(
        &MessageRecord::new(Kind::System, ""),
        chat.front_matter.unwrap_or_default(),
    );
    for turn in &chat.turns {
        let text = given.text.get(turn.text.clone()).unwrap_or_default();
        let text = if turn.label.alone {
            text.trim_start_matches(['\n', '\r'])
        } else {
            text
        };
        let record = MessageRecord::new(turn.label.kind, turn.label.name);
        said.push(&record, text.trim_end_matches(['\n', '\r']));
    }
    let title = chat.title.map(str::to_owned);
    said.hand_over(
        Conversation {
            title,
            ..Conversation::default()
        },
        sink,
    )?;
    Ok(said.notes)
}
