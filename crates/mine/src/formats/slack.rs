//! Slack's export: a folder or a zip file, with a folder for each channel and a file for each day.

mod channels;
mod members;
mod message;

use std::path::{Path, PathBuf};

use loci_core::Result;

use super::json::{JsonFields, JsonSlice, top};
use super::transcript::{CallSpeaker, TranscriptBuilder};
use super::{BundleFormat, BundleInput, ConversationSink, ParserInput, TextFormat};
use crate::conversation::{Conversation, ReadingNote};
use crate::keys::ConversationKeys;
use channels::{SlackChannels, SlackUsers};
use members::{LARGEST, SlackFiles};

/// A whole export.
pub(super) const SLACK: BundleFormat = BundleFormat {
    name: "slack",
    files: find_files,
    parse,
};

/// One day of a channel, or messages on their own.
pub(super) const SLACK_DAY: TextFormat = TextFormat {
    name: "slack-day",
    recognise: is_day,
    parse: parse_day,
};

/// The files with the names and members of channels.
const CHANNEL_LISTS: [&str; 4] = ["channels.json", "groups.json", "dms.json", "mpims.json"];

/// The files of an export that hold no messages.
const LISTS: [&str; 8] = [
    "users.json",
    "org_users.json",
    "channels.json",
    "groups.json",
    "dms.json",
    "mpims.json",
    "integration_logs.json",
    "file_conversations.json",
];

fn find_files(path: &Path) -> Option<Vec<PathBuf>> {
    // Every folder of a walk is asked, so the common answer must not cost a listing.
    if path.is_dir() && !LISTS.iter().any(|name| path.join(name).is_file()) {
        return None;
    }
    let mut members = SlackFiles::open(path)?;
    let days = list_days(&members);
    let listed = LISTS
        .iter()
        // A file of integration logs alone does not prove an export.
        .any(|name| *name != "integration_logs.json" && members.has_file(name));
    if !listed
        || days.is_empty()
        || !days
            .iter()
            .take(3)
            .any(|day| looks_like_a_day(&mut members, &day.file))
    {
        return None;
    }
    let lists = LISTS
        .iter()
        .map(|name| (*name).to_owned())
        .filter(|name| members.has_file(name));
    let names = lists.chain(days.into_iter().map(|day| day.file));
    Some(members.source_paths(path, names))
}

/// Returns whether a file looks like a day of messages: an array with timestamps, or an empty one.
fn looks_like_a_day(members: &mut SlackFiles, file: &str) -> bool {
    let beginning = members.read_beginning(file).unwrap_or_default();
    let text = beginning.trim_start();
    text.starts_with('[') && (text.contains("\"ts\"") || text.trim_end() == "[]")
}

/// One file of one channel's day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct SlackDay {
    channel: String,
    date: String,
    file: String,
}

/// Returns every day of every channel, in order.
fn list_days(members: &SlackFiles) -> Vec<SlackDay> {
    let day = |file: &str| {
        let (channel, name) = file.split_once('/')?;
        let date = name.strip_suffix(".json").filter(|date| is_date(date))?;
        let (channel, date) = (channel.to_owned(), date.to_owned());
        Some(SlackDay {
            channel,
            date,
            file: file.to_owned(),
        })
    };
    let mut days: Vec<SlackDay> = members.names().filter_map(day).collect();
    days.sort();
    days
}

fn is_date(text: &str) -> bool {
    let shape = |(at, byte): (usize, u8)| {
        if matches!(at, 4 | 7) {
            byte == b'-'
        } else {
            byte.is_ascii_digit()
        }
    };
    text.len() == 10 && text.bytes().enumerate().all(shape)
}

fn parse(given: &BundleInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let Some(mut members) = SlackFiles::open(given.path) else {
        said.note("the export cannot be opened; nothing was read");
        return Ok(said.notes);
    };
    let users = SlackUsers::read(
        &read_list(&mut members, "users.json", &mut said),
        &read_list(&mut members, "org_users.json", &mut said),
    );
    let mut channels = SlackChannels::default();
    for name in CHANNEL_LISTS {
        channels.add_list(&read_list(&mut members, name, &mut said), &users);
    }
    let mut keys = ConversationKeys::default();
    for day in list_days(&members) {
        match members.read_up_to(&day.file, given.max_bytes.min(LARGEST)) {
            Ok(text) => {
                let key = keys.claim_in_export(Some(format!("{}/{}", day.channel, day.date)));
                let about = channels.conversation_for(&day.channel);
                // Notes from here on belong to this file; `name_file` puts its name before them.
                let notes = said.notes.len();
                add_messages(&text, &users, &mut said)?;
                name_file(&mut said, notes, &day.file);
                said.hand_over(
                    Conversation {
                        key: Some(key),
                        ..about
                    },
                    sink,
                )?;
            }
            Err(why) => said.note(format!("{}: {why}; it was left out", day.file)),
        }
    }
    Ok(said.notes)
}

/// Adds the file's name to its notes; the line is the line in that file.
fn name_file(said: &mut TranscriptBuilder, from: usize, file: &str) {
    for note in said.notes.iter_mut().skip(from) {
        let line = note
            .line
            .take()
            .map(|line| format!(" line {line}"))
            .unwrap_or_default();
        note.text = format!("{file}{line}: {}", note.text);
    }
}

/// Returns the text of a list; if it cannot be read, that is noted and names stay ids.
fn read_list(members: &mut SlackFiles, name: &str, said: &mut TranscriptBuilder) -> String {
    if !members.has_file(name) {
        return String::new();
    }
    members.read(name).unwrap_or_else(|why| {
        said.note(format!("{name}: {why}; names stay as they are"));
        String::new()
    })
}

/// Adds every message of an array, or of the `messages` of an object.
fn add_messages(text: &str, users: &SlackUsers, said: &mut TranscriptBuilder) -> Result<()> {
    said.read_each(text, &mut |said, value| {
        let fields = value.fields().unwrap_or_default();
        let inner = fields.get("messages").and_then(JsonSlice::items);
        match inner {
            Some(inner) => inner
                .into_iter()
                .filter_map(JsonSlice::fields)
                .for_each(|one| message::add_message(said, &one, users)),
            None => message::add_message(said, &fields, users),
        }
        Ok(())
    })
}

fn is_day(given: &ParserInput<'_>) -> bool {
    let text = top::strip_byte_order_mark(given.text).trim_start();
    if !text.starts_with(['[', '{']) || !text.contains("\"ts\"") {
        return false;
    }
    let (mut right, mut wrong) = (0, 0);
    let mut check = |fields: &JsonFields<'_>| {
        *(if message::is_message(fields) {
            &mut right
        } else {
            &mut wrong
        }) += 1;
    };
    top::look_at_values(text, 20, &mut |value| {
        let fields = value.fields().unwrap_or_default();
        match fields
            .get("messages")
            .and_then(JsonSlice::items)
            .filter(|_| text.starts_with('{'))
        {
            Some(inner) => inner
                .into_iter()
                .take(20)
                .for_each(|one| check(&one.fields().unwrap_or_default())),
            None => check(&fields),
        }
    });
    // A few broken messages do not make the day something else.
    right > 2 * wrong
}

fn parse_day(given: &ParserInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let folder = given.path.parent();
    // A day lies in the folder of its channel, and `users.json` one level above it.
    let users = [folder, folder.and_then(Path::parent)]
        .into_iter()
        .flatten()
        .find_map(users_in)
        .unwrap_or_default();
    add_messages(given.text, &users, &mut said)?;
    // Only a day that lies in the folder of its channel is named after that folder.
    let dated = given
        .path
        .file_stem()
        .is_some_and(|stem| is_date(&stem.to_string_lossy()));
    let of_folder = folder
        .and_then(Path::file_name)
        .filter(|_| dated)
        .map(|name| name.to_string_lossy().into_owned());
    let channel = of_folder.or_else(|| channel_named(given.text));
    let title = channel.as_ref().map(|name| format!("#{name}"));
    said.hand_over(
        Conversation {
            id: channel,
            title,
            ..Conversation::default()
        },
        sink,
    )?;
    Ok(said.notes)
}

/// Returns the channel named by the first message.
fn channel_named(text: &str) -> Option<String> {
    let mut name = None;
    top::look_at_values(text, 1, &mut |value| {
        name = value
            .fields()
            .and_then(|first| first.any_nonempty_text(&["channel_name", "name"]))
    });
    name
}

fn users_in(folder: &Path) -> Option<SlackUsers> {
    let file = folder.join("users.json");
    // A file beside the one that was named is read unasked, so it must be a regular file of a sane size.
    let small = std::fs::metadata(&file).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let text = std::fs::read_to_string(file).ok().filter(|_| small)?;
    Some(SlackUsers::read(&text, ""))
}
