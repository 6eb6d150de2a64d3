//! The input of commands: texts, vectors, lines of files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use loci_core::vector::check_values;
use loci_core::{Error, Result};
use loci_engine::line;

use crate::errors;

/// Reads a vector given as JSON, or as `@FILE` with the JSON in it.
pub(crate) fn read_vector(argument: &str) -> Result<Vec<f32>> {
    let vector = match argument.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|cause| errors::io_error(format!("cannot read the vector in {file}"), cause))?;
            parse_checked(&text).map_err(|error| name_file(error, file))?
        }
        None => parse_checked(argument)?,
    };
    Ok(vector)
}

/// Parses a vector, and refuses one that no collection accepts before a palace is opened or created for it.
fn parse_checked(text: &str) -> Result<Vec<f32>> {
    let vector = line::parse_vector(text)?;
    check_values(&vector)?;
    Ok(vector)
}

/// Puts the name of the file before the error of its content.
fn name_file(error: Error, file: &str) -> Error {
    let named = Error::new(error.kind(), format!("{file}: {error}"));
    match error.hint_text() {
        Some(hint) => named.with_hint(hint),
        None => named,
    }
}

/// Reads the text to file: the argument, or standard input if it is `-` or missing.
pub(crate) fn read_text(argument: Option<&str>) -> Result<String> {
    let text = match argument {
        Some(text) if text != "-" => text.to_owned(),
        // Reading would wait for a text that its user does not know to type.
        None if io::stdin().is_terminal() => {
            return Err(Error::invalid("no text to file")
                .with_hint("nothing was stored; write `loci add TEXT`, or pipe the text in"));
        }
        _ => decode_utf8(read_stdin()?)?,
    };
    // Most often a pipe whose command failed.
    if text.is_empty() {
        return Err(Error::invalid("the text is empty; nothing was stored")
            .with_hint("to file an empty drawer on purpose, use --jsonl"));
    }
    Ok(text)
}

fn read_stdin() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|cause| errors::io_error("cannot read standard input", cause))?;
    Ok(bytes)
}

fn decode_utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|cause| {
        let at = cause.utf8_error().valid_up_to() + 1;
        Error::invalid(format!(
            "the text is not UTF-8 from byte {at}; nothing was stored"
        ))
        .with_hint("drawers hold text; convert it first, for example with `iconv -t utf-8`")
    })
}

/// Whether a file is an SQLite database, by its first bytes.
pub(crate) fn is_sqlite_file(path: &Path) -> bool {
    const MAGIC: &[u8] = b"SQLite format 3\0";
    let mut start = Vec::new();
    // A pipe is never opened: its bytes could be read only once.
    path.is_file()
        && File::open(path)
            .and_then(|file| file.take(MAGIC.len() as u64).read_to_end(&mut start))
            .is_ok()
        && start == MAGIC
}

/// A file of lines, or standard input.
pub(crate) struct InputLines {
    /// The name of the file in messages.
    pub(crate) name: String,
    /// The number of bytes in the file, where it is known.
    pub(crate) total_bytes: Option<u64>,
    /// The number of bytes read so far.
    pub(crate) read_bytes: u64,
    reader: Box<dyn BufRead>,
    buffer: Vec<u8>,
    number: u64,
}

impl InputLines {
    /// Opens `path`; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        if path == Path::new("-") {
            return Ok(Self::new("standard input".to_owned(), None, io::stdin().lock()));
        }
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|cause| errors::io_error(format!("cannot open {name}"), cause))?;
        // The length of a pipe or a device says nothing about what it will hand over.
        let length = file.metadata().ok().filter(|found| found.is_file());
        let length = length.map(|found| found.len());
        Ok(Self::new(name, length, BufReader::with_capacity(1 << 16, file)))
    }

    fn new(name: String, total_bytes: Option<u64>, reader: impl BufRead + 'static) -> Self {
        Self {
            name,
            total_bytes,
            read_bytes: 0,
            reader: Box::new(reader),
            buffer: Vec::new(),
            number: 0,
        }
    }

    /// The next line with its number, counted from 1, without its line break.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        self.buffer.clear();
        let read = self.reader.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|cause| errors::io_error(format!("cannot read {}", self.name), cause))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.read_bytes += read as u64;
        let line = self.buffer.as_slice();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        // Files from Windows end their lines with both characters.
        Ok(Some((self.number, line.strip_suffix(b"\r").unwrap_or(line))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_and_checked() {
        assert_eq!(read_vector("[1, 2.5]").unwrap(), [1.0, 2.5]);
        // Its collection decides: only under cosine is it refused.
        assert_eq!(read_vector("[0, 0]").unwrap(), [0.0, 0.0]);
        for wrong in ["[]", "[NaN]", "[\"1\"]", "1", "", "[1e39]", "@/no/such/file"] {
            assert!(read_vector(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_refused_with_its_place() {
        let error = decode_utf8(b"ab\xff".to_vec()).unwrap_err();
        assert!(error.message().contains("byte 3"), "{error}");
    }
}
