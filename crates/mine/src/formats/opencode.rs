//! OpenCode: a folder of sessions, messages and parts of messages, each in its own file.

mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result, Timestamp};

use super::json::JsonFields;
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, RecordVoice, SYSTEM, TranscriptBuilder};
use super::workspace::utf8_file_name;
use super::{BundleFormat, BundleInput, ConversationSink};
use crate::conversation::ReadingNote;
use crate::walk::size_limit_reason;

/// The storage of OpenCode.
pub(super) const OPENCODE: BundleFormat = BundleFormat {
    name: "opencode",
    files: find_files,
    parse,
};

/// The depth of files below one of the folders.
const DEPTH: usize = 3;

fn find_files(root: &Path) -> Option<Vec<PathBuf>> {
    let folders = storage_folders(root)?;
    let below: Vec<Vec<PathBuf>> = folders
        .iter()
        .map(|folder| json_files_below(folder, DEPTH))
        .collect();
    let held = |at: usize| below.get(at).is_some_and(|files| !files.is_empty());
    // Folders called `message` and `part` alone may be anything; OpenCode has files in at least two of the
    // three.
    (held(1) && (held(0) || held(2))).then(|| below.into_iter().flatten().collect())
}

/// Returns the folders of sessions, messages and parts. Earlier versions call the first one `info`.
fn storage_folders(root: &Path) -> Option<[PathBuf; 3]> {
    let sessions = ["session", "info"]
        .iter()
        .map(|name| root.join(name))
        .find(|folder| is_folder(folder))?;
    let (messages, parts) = (root.join("message"), root.join("part"));
    (is_folder(&messages) && is_folder(&parts)).then_some([sessions, messages, parts])
}

/// Returns whether a path is a folder itself, not a link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// Returns the JSON files below a folder, sorted by name; links are not followed.
fn json_files_below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in sorted_entries(folder) {
        if is_folder(&path) {
            if depth > 1 {
                found.extend(json_files_below(&path, depth - 1));
            }
        } else if path.extension().is_some_and(|ending| ending == "json")
            && path.symlink_metadata().is_ok_and(|about| about.is_file())
        {
            found.push(path);
        }
    }
    found
}

/// Returns the entries of a folder, sorted by name.
fn sorted_entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}

fn parse(given: &BundleInput<'_>, sink: &mut ConversationSink<'_>) -> Result<Vec<ReadingNote>> {
    let root = given.path;
    let Some([sessions, messages, parts]) = storage_folders(root) else {
        return Err(Error::new(
            ErrorKind::Format,
            format!("{} holds no session, message and part folders", root.display()),
        )
        .with_hint("nothing was read from it"));
    };
    let mut files = OpencodeFiles {
        root,
        max_bytes: given.max_bytes,
        notes: Vec::new(),
    };
    let known: Vec<PathBuf> = json_files_below(&sessions, 2);
    for folder in sorted_entries(&messages)
        .into_iter()
        .filter(|path| is_folder(path))
    {
        let Some(id) = utf8_file_name(Some(&folder)).map(str::to_owned) else {
            continue;
        };
        let file = known.iter().find(|path| utf8_file_stem(path) == id);
        let text = file.map(|file| files.read(file)).unwrap_or_default();
        let about = file
            .map(|file| files.parse_object(file, &text))
            .unwrap_or_default();
        let mut session = OpencodeSession {
            script: TranscriptBuilder::default(),
            parts: &parts,
            is_child: about.get("parentID").is_some(),
        };
        let conversation = &mut session.script.conversation;
        conversation.key = Some(id.clone());
        conversation.title = about.text("title");
        conversation.cwd = about.text("directory");
        conversation.parent = about.text("parentID");
        conversation.id = Some(id);
        session.add_messages(&folder, &mut files);
        files.notes.extend(session.script.finish(sink)?);
    }
    Ok(files.notes)
}

/// A session being read.
struct OpencodeSession<'a> {
    script: TranscriptBuilder,
    parts: &'a Path,
    /// Whether a model started it, so that no person speaks in it.
    is_child: bool,
}

impl OpencodeSession<'_> {
    fn add_messages(&mut self, folder: &Path, files: &mut OpencodeFiles<'_>) {
        let texts: Vec<(PathBuf, String)> = json_files_below(folder, 1)
            .into_iter()
            .map(|path| (path.clone(), files.read(&path)))
            .collect();
        let mut messages: Vec<(Option<Timestamp>, String, JsonFields<'_>)> = texts
            .iter()
            .map(|(path, text)| {
                let fields = files.parse_object(path, text);
                let id = fields
                    .text("id")
                    .unwrap_or_else(|| utf8_file_stem(path).to_owned());
                (created_at(&fields), id, fields)
            })
            .collect();
        // Ids ascend with time in OpenCode, so they order messages of the same millisecond.
        messages.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        for (at, id, fields) in messages {
            let stamp = RecordStamp {
                id: Some(id),
                at,
                ..RecordStamp::default()
            };
            self.add_message(folder, stamp, &fields, files);
        }
    }

    fn add_message(
        &mut self,
        folder: &Path,
        stamp: RecordStamp,
        fields: &JsonFields<'_>,
        files: &mut OpencodeFiles<'_>,
    ) {
        let stamp = stamp
            .with("model", fields.text("modelID"))
            .with("reply_to", fields.text("parentID"));
        let voice = self.message_voice(fields);
        // The id becomes part of a path, so one that could lead out of the folder is dropped.
        let id = stamp.id.clone().filter(|id| !id.contains(['/', '\\', '.']));
        let id = id.unwrap_or_default();
        let within = utf8_file_name(Some(folder)).unwrap_or_default();
        // Depending on the version, parts are filed under the message, or under session and message.
        let places = [self.parts.join(&id), self.parts.join(within).join(&id)];
        for path in places
            .iter()
            .filter(|_| !id.is_empty())
            .flat_map(|place| json_files_below(place, 1))
        {
            let text = files.read(&path);
            let part = files.parse_object(&path, &text);
            parts::add_part(&mut self.script, &stamp, voice, &part);
        }
        let error = fields.fields("error").object("data");
        let error = error.and_then(|error| error.text("message"));
        self.script.add_text(&stamp, SYSTEM, error.unwrap_or_default());
    }

    fn message_voice(&self, fields: &JsonFields<'_>) -> RecordVoice {
        match fields.text("role").as_deref() {
            Some("user") if !self.is_child => HUMAN,
            Some("assistant") if !fields.is_true("summary") => ASSISTANT,
            _ => SYSTEM,
        }
    }
}

fn created_at(fields: &JsonFields<'_>) -> Option<Timestamp> {
    fields.fields("time").timestamp("created")
}

fn utf8_file_stem(path: &Path) -> &str {
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default()
}

/// Reads the files of the storage and collects notes about broken ones.
struct OpencodeFiles<'a> {
    root: &'a Path,
    max_bytes: u64,
    notes: Vec<ReadingNote>,
}

impl OpencodeFiles<'_> {
    /// Returns the text of a file; one that cannot be read or is too large becomes a note.
    fn read(&mut self, path: &Path) -> String {
        let size = fs::metadata(path).map_or(0, |about| about.len());
        if size > self.max_bytes {
            let why = size_limit_reason(size, self.max_bytes);
            self.note_file(path, &format!("was left out: {why}"));
            return String::new();
        }
        fs::read_to_string(path).unwrap_or_else(|error| {
            self.note_file(path, &format!("cannot be read: {error}"));
            String::new()
        })
    }

    /// Returns the object in a file; a file without one becomes a note.
    fn parse_object<'t>(&mut self, path: &Path, text: &'t str) -> JsonFields<'t> {
        let text = text.trim_start_matches('\u{feff}');
        if text.is_empty() {
            return JsonFields::default();
        }
        JsonFields::read(text).unwrap_or_else(|error| {
            self.note_file(path, &format!("is not JSON: {error}, left out"));
            JsonFields::default()
        })
    }

    fn note_file(&mut self, path: &Path, what: &str) {
        let within = path.strip_prefix(self.root).unwrap_or(path).display();
        self.notes.push(ReadingNote::new(format!("{within} {what}")));
    }
}
