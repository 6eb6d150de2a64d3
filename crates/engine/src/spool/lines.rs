//! Files of lines: appended to in one write, replaced as a whole, readable after any crash.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::event::{Event, Key};

/// One line, and the event it tells of if it can be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) raw: String,
    pub(super) event: Option<Event>,
}

impl Line {
    pub(super) fn of(event: Event) -> Self {
        Self {
            raw: event.line(),
            event: Some(event),
        }
    }

    fn read(raw: &str) -> Self {
        Self {
            raw: raw.to_owned(),
            event: serde_json::from_str(raw).ok(),
        }
    }
}

/// How files of a spool are opened: for nobody but their owner.
pub(super) fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// The lines of a file; none if it is not there.
pub(super) fn read(path: &Path) -> io::Result<Vec<Line>> {
    let bytes = match fs::read(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.map(Line::read).collect())
}

/// The same with one line for each conversation: the newest, knowing what the others knew. Lines that cannot be read stay.
pub(super) fn merged(lines: Vec<Line>) -> Vec<Line> {
    let mut merged: Vec<Line> = Vec::with_capacity(lines.len());
    let mut places: HashMap<Key, usize> = HashMap::new();
    for line in lines {
        let Some(event) = &line.event else {
            merged.push(line);
            continue;
        };
        let place = *places.entry(event.key()).or_insert(merged.len());
        match merged.get_mut(place) {
            None => merged.push(line),
            Some(earlier) => {
                let known = earlier.event.take();
                let event = event.clone();
                *earlier = Line::of(match known {
                    Some(known) => event.following(known),
                    None => event,
                });
            }
        }
    }
    merged
}

/// A line that was written and is not durable yet.
pub(super) struct Appended {
    file: File,
    is_first: bool,
}

impl Appended {
    /// Makes it durable.
    pub(super) fn settle(&self, folder: &Path) -> io::Result<()> {
        self.file.sync_data()?;
        match self.is_first {
            true => sync_folder(folder),
            false => Ok(()),
        }
    }
}

/// Appends a line in one write: all of it, or nothing.
pub(super) fn append(path: &Path, line: &str) -> io::Result<Appended> {
    let mut file = private().read(true).append(true).create(true).open(path)?;
    let before = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if before > 0 && last_byte(&mut file)? != b'\n' {
        // Somebody was cut off in the middle of a line; ours is one of its own.
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let written = match file.write(&bytes) {
        Ok(count) if count == bytes.len() => Ok(()),
        Ok(_) => Err(io::ErrorKind::StorageFull.into()),
        Err(cause) => Err(cause),
    };
    if let Err(cause) = written {
        let _ = file.set_len(before);
        return Err(cause);
    }
    Ok(Appended {
        file,
        is_first: before == 0,
    })
}

fn last_byte(file: &mut File) -> io::Result<u8> {
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    let [last] = last;
    Ok(last)
}

/// Writes one line to a file of its own, which is there only when it is whole.
pub(super) fn write_aside(folder: &Path, name: &str, line: &str) -> io::Result<()> {
    put(&folder.join(name), &format!("{line}\n"))
}

/// Writes one line to a file, not durably.
pub(super) fn write(path: &Path, line: &str) -> io::Result<()> {
    let mut file = private().write(true).create(true).truncate(true).open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Replaces the lines of a file; whoever reads it sees the old ones or the new ones.
pub(super) fn replace(path: &Path, lines: &[Line]) -> io::Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.raw);
        text.push('\n');
    }
    put(path, &text)
}

/// Leaves nothing in a file. Not made durable: what comes back after a power cut is worked off once more.
pub(super) fn clear(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(0)
}

fn put(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let written = private()
        .write(true)
        .create(true)
        .truncate(true)
        .open(&partial)
        .and_then(|mut file| file.write_all(text.as_bytes()).and_then(|()| file.sync_all()))
        .and_then(|()| fs::rename(&partial, path));
    if written.is_err() {
        let _ = fs::remove_file(&partial);
    }
    written?;
    path.parent().map_or(Ok(()), sync_folder)
}

/// Makes the names in a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
