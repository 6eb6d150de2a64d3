//! Input of commands: text, vectors, lines of files.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;

use loci_core::write::check_vector;
use loci_core::{Error, Result};
use loci_engine::line;

use crate::errors;

/// Reads a vector given as JSON, or as `@FILE` that holds it.
pub(crate) fn vector(argument: &str) -> Result<Vec<f32>> {
    let vector = match argument.strip_prefix('@') {
        Some(file) => {
            let text = std::fs::read_to_string(file)
                .map_err(|cause| errors::io(format!("cannot read the vector in {file}"), cause))?;
            line::parse_vector(&text)?
        }
        None => line::parse_vector(argument)?,
    };
    check_vector(&vector)?;
    Ok(vector)
}

/// The text to file: the argument, or standard input where it is `-` or missing.
pub(crate) fn text(argument: Option<&str>) -> Result<String> {
    let text = match argument {
        Some(text) if text != "-" => text.to_owned(),
        None if io::stdin().is_terminal() => {
            return Err(Error::invalid("there is no text to file")
                .hint("write `loci add TEXT`, or give the text on standard input"));
        }
        _ => utf8(read_all()?)?,
    };
    if text.is_empty() {
        return Err(Error::invalid("the text is empty; nothing was stored")
            .hint("an empty drawer can be filed on purpose with --jsonl"));
    }
    Ok(text)
}

fn read_all() -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    io::stdin()
        .lock()
        .read_to_end(&mut bytes)
        .map_err(|cause| errors::io("cannot read standard input", cause))?;
    Ok(bytes)
}

fn utf8(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|cause| {
        let at = cause.utf8_error().valid_up_to() + 1;
        Error::invalid(format!(
            "the text is not UTF-8 from byte {at}; nothing was stored"
        ))
        .hint("drawers hold text; convert it first, for example with `iconv -t utf-8`")
    })
}

/// A file of lines, or standard input.
pub(crate) struct Lines {
    /// How messages call it.
    pub(crate) name: String,
    reader: Box<dyn BufRead>,
    buffer: Vec<u8>,
    number: u64,
}

impl Lines {
    /// Opens `path`; `-` is standard input.
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let (name, reader): (_, Box<dyn BufRead>) = match path == Path::new("-") {
            true => ("standard input".to_owned(), Box::new(io::stdin().lock())),
            false => {
                let name = path.display().to_string();
                let file =
                    File::open(path).map_err(|cause| errors::io(format!("cannot open {name}"), cause))?;
                (name, Box::new(BufReader::with_capacity(1 << 16, file)))
            }
        };
        Ok(Self {
            name,
            reader,
            buffer: Vec::new(),
            number: 0,
        })
    }

    /// The next line with its number, counted from 1, without its line break.
    pub(crate) fn next(&mut self) -> Result<Option<(u64, &[u8])>> {
        self.buffer.clear();
        let read = self.reader.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|cause| errors::io(format!("cannot read {}", self.name), cause))?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let line = self.buffer.as_slice();
        let line = line.strip_suffix(b"\n").unwrap_or(line);
        Ok(Some((self.number, line.strip_suffix(b"\r").unwrap_or(line))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_read_and_checked() {
        assert_eq!(vector("[1, 2.5]").unwrap(), [1.0, 2.5]);
        for wrong in [
            "[]",
            "[0, 0]",
            "[NaN]",
            "[\"1\"]",
            "1",
            "",
            "[1e39]",
            "@/no/such/file",
        ] {
            assert!(vector(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn text_that_is_not_utf8_is_refused_with_its_place() {
        let error = utf8(b"ab\xff".to_vec()).unwrap_err();
        assert!(error.message().contains("byte 3"), "{error}");
    }
}
