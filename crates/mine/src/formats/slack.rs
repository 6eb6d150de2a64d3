//! Slack's export: a folder, or a zip of it, with a folder for each channel and a file for each day.

mod channels;
mod members;
mod message;

use std::path::{Path, PathBuf};

use loci_core::Result;

use super::json::{Fields, Json, top};
use super::transcript::{CallSpeaker, TranscriptBuilder};
use super::{BundleFormat, Given, Sink, TextFormat};
use crate::conversation::{Conversation, Note};
use crate::keys::ConversationKeys;
use channels::{Channels, Users};
use members::{LARGEST, Members};

/// A whole export.
pub(super) const SLACK: BundleFormat = BundleFormat {
    name: "slack",
    files,
    parse,
};

/// One day of a channel, or messages on their own.
pub(super) const SLACK_DAY: TextFormat = TextFormat {
    name: "slack-day",
    recognise: is_day,
    parse: parse_day,
};

/// The files that say what the channels are called, and who is in them.
const CHANNEL_LISTS: [&str; 4] = ["channels.json", "groups.json", "dms.json", "mpims.json"];

/// Files of an export that hold no messages.
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

fn files(path: &Path) -> Option<Vec<PathBuf>> {
    // Most folders are none, and need not be listed to see it.
    if path.is_dir() && !LISTS.iter().any(|name| path.join(name).is_file()) {
        return None;
    }
    let mut members = Members::open(path)?;
    let days = days(&members);
    let listed = LISTS
        .iter()
        .any(|name| *name != "integration_logs.json" && members.has(name));
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
        .filter(|name| members.has(name));
    let names = lists.chain(days.into_iter().map(|day| day.file));
    Some(members.paths(path, names))
}

/// A day of messages begins like an array and has their times, unless nothing was said.
fn looks_like_a_day(members: &mut Members, file: &str) -> bool {
    let beginning = members.beginning(file).unwrap_or_default();
    let text = beginning.trim_start();
    text.starts_with('[') && (text.contains("\"ts\"") || text.trim_end() == "[]")
}

/// One file of one channel's day.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Day {
    channel: String,
    date: String,
    file: String,
}

/// Every day of every channel, in order.
fn days(members: &Members) -> Vec<Day> {
    let day = |file: &str| {
        let (channel, name) = file.split_once('/')?;
        let date = name.strip_suffix(".json").filter(|date| is_date(date))?;
        let (channel, date) = (channel.to_owned(), date.to_owned());
        Some(Day {
            channel,
            date,
            file: file.to_owned(),
        })
    };
    let mut days: Vec<Day> = members.names().filter_map(day).collect();
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

fn parse(path: &Path, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let Some(mut members) = Members::open(path) else {
        said.note("the export cannot be opened; nothing was read");
        return Ok(said.notes);
    };
    let users = Users::read(
        &list(&mut members, "users.json", &mut said),
        &list(&mut members, "org_users.json", &mut said),
    );
    let mut channels = Channels::default();
    for name in CHANNEL_LISTS {
        channels.add(&list(&mut members, name, &mut said), &users);
    }
    let mut keys = ConversationKeys::default();
    for day in days(&members) {
        match members.read(&day.file) {
            Ok(text) => {
                let key = keys.claim_in_export(Some(format!("{}/{}", day.channel, day.date)));
                let about = channels.conversation(&day.channel);
                let notes = said.notes.len();
                say_all(&text, &users, &mut said)?;
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

/// Notes on a file of an export name the file; the line is the line in it.
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

/// The text of a list; what is broken is noted, and names stay as they are.
fn list(members: &mut Members, name: &str, said: &mut TranscriptBuilder) -> String {
    if !members.has(name) {
        return String::new();
    }
    members.read(name).unwrap_or_else(|why| {
        said.note(format!("{name}: {why}; names stay as they are"));
        String::new()
    })
}

/// Adds every message of an array, or of the `messages` of an object.
fn say_all(text: &str, users: &Users, said: &mut TranscriptBuilder) -> Result<()> {
    said.read_each(text, &mut |said, value| {
        let fields = value.fields().unwrap_or_default();
        let inner = fields.get("messages").and_then(Json::items);
        match inner {
            Some(inner) => inner
                .into_iter()
                .filter_map(Json::fields)
                .for_each(|one| message::add(said, &one, users)),
            None => message::add(said, &fields, users),
        }
        Ok(())
    })
}

fn is_day(given: &Given<'_>) -> bool {
    let text = top::unmarked(given.text).trim_start();
    if !text.starts_with(['[', '{']) || !text.contains("\"ts\"") {
        return false;
    }
    let (mut right, mut wrong) = (0, 0);
    let mut check = |fields: &Fields<'_>| {
        *(if message::is_one(fields) {
            &mut right
        } else {
            &mut wrong
        }) += 1;
    };
    top::look_at(text, 20, &mut |value| {
        let fields = value.fields().unwrap_or_default();
        match fields
            .get("messages")
            .and_then(Json::items)
            .filter(|_| text.starts_with('{'))
        {
            Some(inner) => inner
                .into_iter()
                .take(20)
                .for_each(|one| check(&one.fields().unwrap_or_default())),
            None => check(&fields),
        }
    });
    // A broken message among others does not make the day something else.
    right > 2 * wrong
}

fn parse_day(given: &Given<'_>, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let mut said = TranscriptBuilder::new(CallSpeaker::Caller);
    let folder = given.path.parent();
    let users = [folder, folder.and_then(Path::parent)]
        .into_iter()
        .flatten()
        .find_map(users_in)
        .unwrap_or_default();
    say_all(given.text, &users, &mut said)?;
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

/// The channel the first message says it is of.
fn channel_named(text: &str) -> Option<String> {
    let mut name = None;
    top::look_at(text, 1, &mut |value| {
        name = value
            .fields()
            .and_then(|first| first.any_word(&["channel_name", "name"]))
    });
    name
}

fn users_in(folder: &Path) -> Option<Users> {
    let file = folder.join("users.json");
    let small = std::fs::metadata(&file).is_ok_and(|about| about.is_file() && about.len() <= LARGEST);
    let text = std::fs::read_to_string(file).ok().filter(|_| small)?;
    Some(Users::read(&text, ""))
}
