//! OpenCode: a folder with sessions, messages and the parts of messages, each in a file of its own.

mod parts;

use std::fs;
use std::path::{Path, PathBuf};

use loci_core::{Error, ErrorKind, Result, Timestamp};

use super::json::Fields;
use super::transcript::{ASSISTANT, HUMAN, RecordStamp, SYSTEM, TranscriptBuilder, Voice};
use super::workspace::name;
use super::{BundleFormat, Sink};
use crate::conversation::Note;

/// The storage of OpenCode.
pub(super) const OPENCODE: BundleFormat = BundleFormat {
    name: "opencode",
    files,
    parse,
};

/// How deep files lie below one of the folders.
const DEPTH: usize = 3;

fn files(root: &Path) -> Option<Vec<PathBuf>> {
    let folders = folders(root)?;
    let below: Vec<Vec<PathBuf>> = folders.iter().map(|folder| below(folder, DEPTH)).collect();
    let held = |at: usize| below.get(at).is_some_and(|files| !files.is_empty());
    (held(1) && (held(0) || held(2))).then(|| below.into_iter().flatten().collect())
}

/// The folders of the sessions, messages and parts. Earlier versions call the first one `info`.
fn folders(root: &Path) -> Option<[PathBuf; 3]> {
    let sessions = ["session", "info"]
        .iter()
        .map(|name| root.join(name))
        .find(|folder| is_folder(folder))?;
    let (messages, parts) = (root.join("message"), root.join("part"));
    (is_folder(&messages) && is_folder(&parts)).then_some([sessions, messages, parts])
}

/// Whether a path is a folder itself and no link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|about| about.is_dir())
}

/// The JSON files below a folder, in order of their names; links are not followed.
fn below(folder: &Path, depth: usize) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for path in entries(folder) {
        if is_folder(&path) {
            if depth > 1 {
                found.extend(below(&path, depth - 1));
            }
        } else if path.extension().is_some_and(|ending| ending == "json")
            && path.symlink_metadata().is_ok_and(|about| about.is_file())
        {
            found.push(path);
        }
    }
    found
}

/// What lies in a folder, in order of the names.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        .collect();
    paths.sort();
    paths
}

fn parse(root: &Path, sink: &mut Sink<'_>) -> Result<Vec<Note>> {
    let Some([sessions, messages, parts]) = folders(root) else {
        return Err(Error::new(
            ErrorKind::Format,
            format!("{} holds no session, message and part folders", root.display()),
        )
        .hint("nothing of it was taken over"));
    };
    let mut files = Files {
        root,
        notes: Vec::new(),
    };
    let known: Vec<PathBuf> = below(&sessions, 2);
    for folder in entries(&messages).into_iter().filter(|path| is_folder(path)) {
        let Some(id) = name(Some(&folder)).map(str::to_owned) else {
            continue;
        };
        let file = known.iter().find(|path| stem(path) == id);
        let text = file.map(|file| files.read(file)).unwrap_or_default();
        let about = file.map(|file| files.object(file, &text)).unwrap_or_default();
        let mut session = Session {
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
        session.messages(&folder, &mut files);
        files.notes.extend(session.script.finish(sink)?);
    }
    Ok(files.notes)
}

/// A session being read.
struct Session<'a> {
    script: TranscriptBuilder,
    parts: &'a Path,
    /// Whether a model started it, so that no person speaks in it.
    is_child: bool,
}

impl Session<'_> {
    fn messages(&mut self, folder: &Path, files: &mut Files<'_>) {
        let texts: Vec<(PathBuf, String)> = below(folder, 1)
            .into_iter()
            .map(|path| (path.clone(), files.read(&path)))
            .collect();
        let mut messages: Vec<(Option<Timestamp>, String, Fields<'_>)> = texts
            .iter()
            .map(|(path, text)| {
                let fields = files.object(path, text);
                let id = fields.text("id").unwrap_or_else(|| stem(path).to_owned());
                (created(&fields), id, fields)
            })
            .collect();
        messages.sort_by(|one, other| (&one.0, &one.1).cmp(&(&other.0, &other.1)));
        for (at, id, fields) in messages {
            let stamp = RecordStamp {
                id: Some(id),
                at,
                ..RecordStamp::default()
            };
            self.message(folder, stamp, &fields, files);
        }
    }

    fn message(&mut self, folder: &Path, stamp: RecordStamp, fields: &Fields<'_>, files: &mut Files<'_>) {
        let stamp = stamp
            .with("model", fields.text("modelID"))
            .with("reply_to", fields.text("parentID"));
        let voice = self.voice(fields);
        // An id that is a path leads nowhere.
        let id = stamp.id.clone().filter(|id| !id.contains(['/', '\\', '.']));
        let id = id.unwrap_or_default();
        let within = name(Some(folder)).unwrap_or_default();
        let places = [self.parts.join(&id), self.parts.join(within).join(&id)];
        for path in places
            .iter()
            .filter(|_| !id.is_empty())
            .flat_map(|place| below(place, 1))
        {
            let text = files.read(&path);
            let part = files.object(&path, &text);
            parts::part(&mut self.script, &stamp, voice, &part);
        }
        let error = fields.fields("error").object("data");
        let error = error.and_then(|error| error.text("message"));
        self.script.say(&stamp, SYSTEM, error.unwrap_or_default());
    }

    fn voice(&self, fields: &Fields<'_>) -> Voice {
        match fields.text("role").as_deref() {
            Some("user") if !self.is_child => HUMAN,
            Some("assistant") if !fields.is_true("summary") => ASSISTANT,
            _ => SYSTEM,
        }
    }
}

fn created(fields: &Fields<'_>) -> Option<Timestamp> {
    fields.fields("time").moment("created")
}

fn stem(path: &Path) -> &str {
    path.file_stem()
        .and_then(|stem| stem.to_str())
        .unwrap_or_default()
}

/// The files of the storage, and what is wrong with them.
struct Files<'a> {
    root: &'a Path,
    notes: Vec<Note>,
}

impl Files<'_> {
    /// The text of a file; what cannot be read is a note.
    fn read(&mut self, path: &Path) -> String {
        fs::read_to_string(path).unwrap_or_else(|error| {
            self.note(path, &format!("cannot be read: {error}"));
            String::new()
        })
    }

    /// The object a file holds; what is none is a note.
    fn object<'t>(&mut self, path: &Path, text: &'t str) -> Fields<'t> {
        let text = text.trim_start_matches('\u{feff}');
        if text.is_empty() {
            return Fields::default();
        }
        Fields::read(text).unwrap_or_else(|error| {
            self.note(path, &format!("is not JSON: {error}, left out"));
            Fields::default()
        })
    }

    fn note(&mut self, path: &Path, what: &str) {
        let within = path.strip_prefix(self.root).unwrap_or(path).display();
        self.notes.push(Note::new(format!("{within} {what}")));
    }
}
