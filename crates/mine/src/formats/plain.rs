//! A chat as plain text: turns that begin with the name of the speaker, from a closed list.

mod label;

use std::ops::Range;

use loci_core::Result;

use super::transcript::{CallSpeaker, MessageRecord, TranscriptBuilder};
use super::{ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, MessageKind, ReadingNote};
use label::{TurnLabel, parse_label};

/// Text with labels such as `Human:` and `Assistant:`.
pub(super) const CHAT_TEXT: TextFormat = TextFormat {
    name: "chat-text",
    recognise,
    parse,
};

/// The file extensions of saved chats. Code and settings have lines that look like turns.
const ENDINGS: [&str; 6] = ["txt", "text", "md", "markdown", "chat", "log"];

fn recognise(given: &ParserInput<'_>) -> bool {
    let ending = given
        .path
        .extension()
        .map(|ending| ending.to_string_lossy().to_lowercase());
    if ending.is_some_and(|ending| !ENDINGS.contains(&ending.as_str())) {
        return false;
    }
    let chat = read_turns(given);
    let speaks = |kind| chat.turns.iter().any(|turn| turn.label.kind == kind);
    // Both sides have to speak: a list of `Note:`-like lines or an interview with one label is ordinary
    // prose.
    speaks(MessageKind::Human) && speaks(MessageKind::Assistant)
}

/// The parts of a chat within its text.
#[derive(Default)]
struct PlainChat<'t> {
    title: Option<&'t str>,
    front_matter: Option<&'t str>,
    turns: Vec<PlainTurn<'t>>,
}

struct PlainTurn<'t> {
    label: TurnLabel<'t>,
    text: Range<usize>,
}

/// One line and its byte offset.
#[derive(Clone, Copy)]
struct ChatLine<'t> {
    begins: usize,
    text: &'t str,
}

/// Reads the turns. There are none unless the text begins with a label.
fn read_turns<'t>(given: &ParserInput<'t>) -> PlainChat<'t> {
    // Cursor's old transcripts label turns `user:`, which elsewhere is a key of YAML.
    let lower_case = given
        .path
        .components()
        .any(|part| part.as_os_str() == "agent-transcripts");
    let lines = split_lines(given.text);
    let fenced = mark_fenced_lines(&lines);
    let mut chat = PlainChat::default();
    let first = find_beginning(given.text, &lines, &mut chat, lower_case);
    let Some(form) = lines
        .get(first)
        .and_then(|line| parse_label(line.text, lower_case))
        .map(|label| label.form)
    else {
        return chat;
    };
    for (line, _) in lines.iter().zip(fenced).skip(first).filter(|(_, fenced)| !fenced) {
        // A label in another form is a quotation of some chat within a turn.
        if let Some(label) = parse_label(line.text, lower_case).filter(|label| label.form == form) {
            end_turn(&mut chat, line.begins);
            let begins = line.begins + label.length;
            chat.turns.push(PlainTurn {
                label,
                text: begins..given.text.len(),
            });
        }
    }
    chat
}

fn end_turn(chat: &mut PlainChat<'_>, at: usize) {
    if let Some(turn) = chat.turns.last_mut() {
        turn.text.end = at;
    }
}

fn split_lines(text: &str) -> Vec<ChatLine<'_>> {
    let mut begins = 0;
    let lines = text.split_inclusive('\n').map(|line| {
        let here = ChatLine {
            begins,
            text: line.trim_end_matches(['\n', '\r']),
        };
        begins += line.len();
        here
    });
    lines.collect()
}

/// Returns the number of the line on which the chat begins, after front matter and one heading.
fn find_beginning<'t>(
    text: &'t str,
    lines: &[ChatLine<'t>],
    chat: &mut PlainChat<'t>,
    lower_case: bool,
) -> usize {
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
    if at(here).starts_with('#') && parse_label(at(here), lower_case).is_none() {
        chat.title = Some(at(here).trim_start_matches('#').trim()).filter(|title| !title.is_empty());
        here = next(here + 1).unwrap_or(lines.len());
    }
    here
}

/// Returns for each line whether it is inside a code fence. A fence that is never closed does not count.
fn mark_fenced_lines(lines: &[ChatLine<'_>]) -> Vec<bool> {
    let mut inside = vec![false; lines.len()];
    let mut open: Option<(usize, &str)> = None;
    for (number, line) in lines.iter().enumerate() {
        let trimmed = line.text.trim();
        match open {
            None => open = fence_marks(trimmed).map(|mark| (number, mark)),
            Some((from, mark))
                if trimmed.starts_with(mark)
                    && trimmed.trim_start_matches(fence_character(mark)).is_empty() =>
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

fn fence_character(mark: &str) -> char {
    mark.chars().next().unwrap_or('`')
}

/// Returns the run of marks that opens a fence.
fn fence_marks(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let length = line.len() - line.trim_start_matches(mark).len();
    line.get(..length).filter(|marks| marks.len() >= 3)
}

fn parse(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let chat = read_turns(given);
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    said.push(
        &MessageRecord::new(MessageKind::System, ""),
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
