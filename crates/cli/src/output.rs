//! The two output streams: data goes to standard output, narration to standard error.

use std::collections::BTreeSet;
use std::io::{self, BufWriter, IsTerminal, Write};

use loci_core::{Error, ErrorKind, FindingSeverity, PalaceFinding};
use serde::Serialize;

use crate::args::{ColorWhen, GlobalArgs};
use crate::environment::ProcessEnvironment;
use crate::errors::{self, CommandResult, CommandStop, ExitStatus};
use crate::opened::{self, OpenedPalaces};
use crate::page::TextPage;
use crate::progress::JobProgress;

/// The two streams, and how to write to them.
pub(crate) struct TerminalOutput {
    out: Box<dyn Write>,
    err: Box<dyn Write>,
    json: bool,
    quiet: bool,
    color: bool,
    err_color: bool,
    err_is_terminal: bool,
    /// The palaces whose damage every answer tells of.
    opened: OpenedPalaces,
    /// The warnings printed so far; none is printed twice.
    warned: BTreeSet<String>,
    /// Whether one of them told of damage.
    told_damage: bool,
}

impl TerminalOutput {
    /// Standard output and standard error.
    pub(crate) fn for_standard_streams(globals: &GlobalArgs, environment: &ProcessEnvironment) -> Self {
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
            opened: OpenedPalaces::default(),
            warned: BTreeSet::new(),
            told_damage: false,
        }
    }

    /// Names the palaces whose damage every answer tells of.
    pub(crate) fn tell_damage_of(&mut self, opened: OpenedPalaces) {
        self.opened = opened;
    }

    /// The columns of the terminal on standard output; 80 where it is not one.
    pub(crate) fn columns(&self) -> usize {
        /// Below this no layout makes sense.
        const FEWEST: usize = 20;
        let size = console::Term::stdout().size_checked();
        size.map_or(80, |(_, columns)| usize::from(columns)).max(FEWEST)
    }

    /// Whether JSON was asked for.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Prints one JSON document on a line of its own, with the damage met so far among its warnings.
    pub(crate) fn write_json(&mut self, answer: &impl Serialize) -> CommandResult<()> {
        let refuse = |cause: serde_json::Error| {
            Error::new(ErrorKind::Internal, "an answer cannot be written as JSON").caused_by(cause)
        };
        let damage = self.opened.list_damage();
        if damage.is_empty() {
            return self.write_line(&serde_json::to_string(answer).map_err(refuse)?);
        }
        let mut document = serde_json::to_value(answer).map_err(refuse)?;
        opened::add_to_warnings(&mut document, &damage);
        self.write_line(&document.to_string())
    }

    /// Prints one line of data as it is; for JSON, which escapes what it holds.
    pub(crate) fn write_line(&mut self, text: &str) -> CommandResult<()> {
        check_written(self.out.write_all(text.as_bytes()))?;
        check_written(self.out.write_all(b"\n"))
    }

    /// Prints bytes as they are; for files that are given back.
    pub(crate) fn write_bytes(&mut self, bytes: &[u8]) -> CommandResult<()> {
        check_written(self.out.write_all(bytes))
    }

    /// Whether a person may be watching standard error.
    pub(crate) fn is_watched(&self) -> bool {
        self.err_is_terminal && !self.quiet
    }

    /// Prints words for people.
    pub(crate) fn write_page(&mut self, write: impl FnOnce(&mut TextPage)) -> CommandResult<()> {
        let mut page = TextPage::new(self.color);
        write(&mut page);
        check_written(self.out.write_all(page.as_str().as_bytes()))
    }

    /// Makes sure that what was printed has arrived.
    pub(crate) fn flush(&mut self) -> CommandResult<()> {
        check_written(self.out.flush())
    }

    /// Tells on standard error what happened, unless that is unwanted.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.quiet {
            self.write_aside(|page| {
                page.plain(text).end();
            });
        }
    }

    /// Tells on standard error which palace was made, if one was.
    pub(crate) fn note_made(&mut self, palace: Option<&str>) {
        if let Some(palace) = palace {
            self.note(&format!("created a palace at {palace}"));
            self.note_open_folder(palace);
        }
    }

    /// Tells that others may list the folder of a new palace; a folder that existed before keeps its permissions.
    pub(crate) fn note_open_folder(&mut self, palace: &str) {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(palace).map(|found| found.permissions().mode());
        if mode.is_ok_and(|mode| mode & 0o077 != 0) {
            self.note(&format!(
                "other users may list the folder {palace}, but only you may read the palace in it; `chmod 700` closes it"
            ));
        }
    }

    /// Says on standard error what a reader should know, once.
    pub(crate) fn warn(&mut self, text: &str) {
        if !self.warned.insert(text.to_owned()) {
            return;
        }
        self.write_aside(|page| {
            page.yellow("warning:").plain(" ").plain(text).end();
        });
    }

    /// Says on standard error what was noticed while reading; a hint that several findings share is given once.
    pub(crate) fn warnings(&mut self, findings: &[PalaceFinding]) {
        for finding in findings {
            let is_new = !self.warned.contains(&finding.message);
            self.warn(&finding.message);
            self.told_damage |= finding.severity == FindingSeverity::Error;
            let hint = finding.hint.as_ref().filter(|_| is_new);
            if let Some(hint) = hint.filter(|hint| self.warned.insert((*hint).clone())) {
                self.write_aside(|page| {
                    page.yellow("hint:").plain(" ").plain(hint).end();
                });
            }
        }
    }

    /// Notes that a report has listed these findings, so that they are not printed as warnings as well.
    pub(crate) fn note_listed(&mut self, findings: &[PalaceFinding]) {
        self.warned
            .extend(findings.iter().map(|finding| finding.message.clone()));
    }

    /// Whether a warning told of damage.
    pub(crate) fn has_told_damage(&self) -> bool {
        self.told_damage
    }

    /// Says what went wrong, after whatever was printed before, and how that ends the command.
    pub(crate) fn report_error(&mut self, error: &Error) -> ExitStatus {
        if self.json {
            // If standard output is gone there is nowhere left to report that.
            let _ = self.write_line(&errors::to_json(error));
        } else {
            self.write_aside(|page| errors::to_page(error, page));
        }
        let _ = self.out.flush();
        errors::exit_status(error.kind())
    }

    /// The progress of a long job; `doing` names its first phase. Hidden away from a terminal and with `--quiet`.
    pub(crate) fn progress(&self, doing: &str) -> JobProgress {
        if self.is_watched() {
            JobProgress::on_terminal(doing)
        } else {
            JobProgress::hidden()
        }
    }

    /// The same for a job that may take hours: away from a terminal it writes a plain line every ten seconds.
    pub(crate) fn progress_or_log(&self, doing: &str) -> JobProgress {
        if self.quiet || self.err_is_terminal {
            self.progress(doing)
        } else {
            JobProgress::in_log(doing)
        }
    }

    /// Writes to standard error; that it cannot be written stops nothing.
    fn write_aside(&mut self, write: impl FnOnce(&mut TextPage)) {
        let mut page = TextPage::new(self.err_color);
        write(&mut page);
        let _ = self.err.write_all(page.as_str().as_bytes());
        let _ = self.err.flush();
    }
}

/// A reader that closed the pipe has seen enough; anything else is an error.
fn check_written(result: io::Result<()>) -> CommandResult<()> {
    result.map_err(|cause| match cause.kind() {
        io::ErrorKind::BrokenPipe => CommandStop::PipeClosed,
        _ => {
            CommandStop::Failed(Error::new(ErrorKind::Io, "cannot write to standard output").caused_by(cause))
        }
    })
}
