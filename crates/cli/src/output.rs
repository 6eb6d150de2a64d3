//! Where words go: data to standard output, narration to standard error.

use std::io::{self, BufWriter, IsTerminal, Write};

use loci_core::{Error, ErrorKind, Finding};
use serde::Serialize;

use crate::args::{ColorWhen, Globals};
use crate::environment::Environment;
use crate::errors::{self, Done, Exit, Stop};
use crate::page::Page;
use crate::progress::Progress;

/// The two streams, and how to write to them.
pub(crate) struct Output {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    json: bool,
    quiet: bool,
    color: bool,
    err_color: bool,
    err_is_terminal: bool,
}

impl Output {
    /// Standard output and standard error.
    pub(crate) fn standard(globals: &Globals, environment: &Environment) -> Self {
        let colored = |terminal: bool| match globals.color {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => terminal && !environment.plain,
        };
        let err_is_terminal = io::stderr().is_terminal();
        Self {
            out: Box::new(BufWriter::with_capacity(1 << 16, io::stdout())),
            err: Box::new(io::stderr()),
            json: globals.json,
            quiet: globals.quiet,
            color: colored(io::stdout().is_terminal()),
            err_color: colored(err_is_terminal),
            err_is_terminal,
        }
    }

    /// Whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints one JSON document on a line of its own.
    pub(crate) fn json(&mut self, answer: &impl Serialize) -> Done<()> {
        let text = serde_json::to_string(answer).map_err(|cause| {
            Error::new(ErrorKind::Internal, "an answer cannot be written as JSON").caused_by(cause)
        })?;
        self.line(&text)
    }

    /// Prints one line of data as it is; for JSON, which escapes what it holds.
    pub(crate) fn line(&mut self, text: &str) -> Done<()> {
        arrived(self.out.write_all(text.as_bytes()))?;
        arrived(self.out.write_all(b"\n"))
    }

    /// Prints bytes as they are; for files that are given back.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) -> Done<()> {
        arrived(self.out.write_all(bytes))
    }

    /// Whether somebody may be watching what is told on standard error.
    pub(crate) fn is_watched(&self) -> bool {
        self.err_is_terminal && !self.quiet
    }

    /// Whether nothing beside the answer is wanted.
    pub(crate) fn is_quiet(&self) -> bool {
        self.quiet
    }

    /// Prints words for people.
    pub(crate) fn page(&mut self, write: impl FnOnce(&mut Page)) -> Done<()> {
        let mut page = Page::new(self.color);
        write(&mut page);
        arrived(self.out.write_all(page.as_str().as_bytes()))
    }

    /// Makes sure that what was printed has arrived.
    pub(crate) fn flush(&mut self) -> Done<()> {
        arrived(self.out.flush())
    }

    /// Tells on standard error what happened, unless that is unwanted.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.aside(|page| {
                page.plain(text).end();
            });
        }
    }

    /// Tells on standard error which palace was made, if one was.
    pub(crate) fn note_made(&mut self, palace: Option<&str>) {
        if let Some(palace) = palace {
            self.note(&format!("made a new palace at {palace}"));
        }
    }

    /// Says on standard error what a reader should know.
    pub(crate) fn warn(&mut self, text: &str) {
        self.aside(|page| {
            page.yellow("warning:").plain(" ").plain(text).end();
        });
    }

    /// Says on standard error what was noticed while reading.
    pub(crate) fn warnings(&mut self, findings: &[Finding]) {
        for finding in findings {
            self.warn(&finding.message);
            if let Some(hint) = &finding.hint {
                self.aside(|page| {
                    page.yellow("hint:").plain(" ").plain(hint).end();
                });
            }
        }
    }

    /// Says what went wrong, after whatever was printed before, and how that ends the command.
    pub(crate) fn error(&mut self, error: &Error) -> Exit {
        if self.json {
            // Nobody is left to be told when this cannot be written.
            let _ = self.line(&errors::to_json(error).to_string());
        } else {
            self.aside(|page| errors::to_page(error, page));
        }
        let _ = self.out.flush();
        errors::exit_of(error.kind())
    }

    /// Something that tells how far a long job is, where somebody may be watching.
    pub(crate) fn progress(&self, doing: &'static str) -> Progress {
        Progress::new(doing, self.err_is_terminal && !self.quiet)
    }

    /// Writes to standard error; that it cannot be written stops nothing.
    fn aside(&mut self, write: impl FnOnce(&mut Page)) {
        let mut page = Page::new(self.err_color);
        write(&mut page);
        let _ = self.err.write_all(page.as_str().as_bytes());
        let _ = self.err.flush();
    }
}

/// A reader that closed the pipe has seen enough; anything else is an error.
fn arrived(result: io::Result<()>) -> Done<()> {
    result.map_err(|cause| match cause.kind() {
        io::ErrorKind::BrokenPipe => Stop::PipeClosed,
        _ => Stop::Failed(Error::new(ErrorKind::Io, "cannot write to standard output").caused_by(cause)),
    })
}
