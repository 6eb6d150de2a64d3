//! Files of lines: appended to in one write, replaced atomically, readable after any crash.

use std::collections::HashMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use super::event::{ConversationKey, SpoolEvent};

/// One line, and its event if it can be parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SpoolLine {
    pub(super) raw: String,
    pub(super) event: Option<SpoolEvent>,
}

impl SpoolLine {
    pub(super) fn from_event(event: SpoolEvent) -> Self {
        Self {
            raw: event.to_line(),
            event: Some(event),
        }
    }

    fn from_raw(raw: &str) -> Self {
        Self {
            raw: raw.to_owned(),
            event: serde_json::from_str(raw).ok(),
        }
    }
}

/// Returns options for opening the files of a spool, which only their owner may read.
pub(super) fn private_options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Reads the lines of a file; none if it does not exist.
pub(super) fn read_lines(path: &Path) -> io::Result<Vec<SpoolLine>> {
    let bytes = match fs::read(path) {
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        bytes => bytes?,
    };
    let text = String::from_utf8_lossy(&bytes);
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    Ok(lines.map(SpoolLine::from_raw).collect())
}

/// Merges the lines of each conversation into the newest one, with the tries of the others. Lines that cannot
/// be parsed stay.
pub(super) fn merge_by_conversation(lines: Vec<SpoolLine>) -> Vec<SpoolLine> {
    let mut merged: Vec<SpoolLine> = Vec::with_capacity(lines.len());
    let mut places: HashMap<ConversationKey, usize> = HashMap::new();
    for line in lines {
        let Some(event) = &line.event else {
            merged.push(line);
            continue;
        };
        // A conversation keeps the place of its first event, so that a busy one does not move to the end of the
        // queue.
        let place = *places.entry(event.conversation_key()).or_insert(merged.len());
        match merged.get_mut(place) {
            None => merged.push(line),
            Some(earlier) => {
                let known = earlier.event.take();
                let event = event.clone();
                *earlier = SpoolLine::from_event(match known {
                    Some(known) => event.merged_with(known),
                    None => event,
                });
            }
        }
    }
    merged
}

/// A line that is written but not durable yet.
pub(super) struct AppendedLine {
    file: File,
    is_first: bool,
}

impl AppendedLine {
    /// Makes the line durable.
    pub(super) fn make_durable(&self, folder: &Path) -> io::Result<()> {
        self.file.sync_data()?;
        // A new file is durable only once its name in the folder is.
        if self.is_first {
            sync_folder(folder)
        } else {
            Ok(())
        }
    }
}

/// Appends a line in one write: all of it or nothing.
pub(super) fn append_line(path: &Path, line: &str) -> io::Result<AppendedLine> {
    let mut file = private_options()
        .read(true)
        .append(true)
        .create(true)
        .open(path)?;
    let before = file.metadata()?.len();
    let mut bytes = Vec::with_capacity(line.len() + 2);
    if before > 0 && last_byte(&mut file)? != b'\n' {
        // A writer was cut off in the middle of its line; the new line must not become part of it.
        bytes.push(b'\n');
    }
    bytes.extend_from_slice(line.as_bytes());
    bytes.push(b'\n');
    let written = match file.write(&bytes) {
        Ok(count) if count == bytes.len() => Ok(()),
        // On a regular file a short write means that the disk is full.
        Ok(_) => Err(io::ErrorKind::StorageFull.into()),
        Err(cause) => Err(cause),
    };
    if let Err(cause) = written {
        // The lock is held, so nothing can have been appended behind the half line that is cut off here.
        let _ = file.set_len(before);
        return Err(cause);
    }
    Ok(AppendedLine {
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

/// Writes one line to a new file, which appears only when it is complete.
pub(super) fn write_aside(folder: &Path, name: &str, line: &str) -> io::Result<()> {
    write_atomically(&folder.join(name), &format!("{line}\n"))
}

/// Writes one line to a file without making it durable.
pub(super) fn write_line(path: &Path, line: &str) -> io::Result<()> {
    let mut file = private_options()
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    file.write_all(format!("{line}\n").as_bytes())
}

/// Replaces the lines of a file; a reader sees the old lines or the new ones.
pub(super) fn replace_lines(path: &Path, lines: &[SpoolLine]) -> io::Result<()> {
    let mut text = String::new();
    for line in lines {
        text.push_str(&line.raw);
        text.push('\n');
    }
    write_atomically(path, &text)
}

/// Empties a file without making that durable: a line that comes back after a power cut is merely mined once
/// more.
pub(super) fn clear_lines(path: &Path) -> io::Result<()> {
    OpenOptions::new().write(true).open(path)?.set_len(0)
}

fn write_atomically(path: &Path, text: &str) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    // The process id keeps two writers from sharing a partial file.
    let partial = path.with_file_name(format!(".{name}.{}.partial", std::process::id()));
    let written = private_options()
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

/// Makes the entries of a folder durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
