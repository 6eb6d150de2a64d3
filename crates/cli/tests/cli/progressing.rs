//! Progress as a terminal shows it: one line that fits, appears when a job takes long, and is gone when it ends.

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::process::Child;

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};

use super::*;

/// A terminal of a number of columns, with a program whose standard error it is.
struct Terminal {
    ours: File,
    child: Child,
    shown: Vec<u8>,
}

impl Terminal {
    fn run(home: &TempHome, columns: u16, args: &[&str]) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let size = Winsize {
            ws_row: 24,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&ours, size).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let theirs = File::options().read(true).write(true).open(name).unwrap();
        let mut command = home.command(args);
        command.env("TERM", "xterm").stdin(Stdio::piped());
        let child = command.stdout(Stdio::null()).stderr(theirs).spawn().unwrap();
        Self {
            ours: File::from(ours),
            child,
            shown: Vec::new(),
        }
    }

    fn type_in(&mut self, text: &str) {
        let mut stdin = self.child.stdin.as_ref().unwrap();
        stdin.write_all(text.as_bytes()).unwrap();
    }

    /// Reads until the terminal shows `text`, or nothing writes to it any more.
    fn read_until(&mut self, text: &str) -> bool {
        let mut bytes = [0; 4096];
        while !String::from_utf8_lossy(&self.shown).contains(text) {
            match self.ours.read(&mut bytes) {
                Ok(read) if read > 0 => self.shown.extend_from_slice(&bytes[..read]),
                // A terminal that nothing writes to any more ends with an error.
                _ => return false,
            }
        }
        true
    }

    /// Ends the input and gives everything that was shown.
    fn end(mut self) -> String {
        drop(self.child.stdin.take());
        self.read_until("\u{0}never shown\u{0}");
        assert!(self.child.wait().unwrap().success());
        String::from_utf8(self.shown).unwrap()
    }
}

/// The lines that are left on a terminal, and the longest that was cleared again, in columns.
fn replay(shown: &str) -> (Vec<String>, usize) {
    let (mut lines, mut line, mut column, mut longest) = (Vec::new(), Vec::new(), 0, 0);
    let mut characters = shown.chars();
    while let Some(character) = characters.next() {
        match character {
            '\r' => column = 0,
            '\n' => lines.push(std::mem::take(&mut line).into_iter().collect()),
            '\u{1b}' => {
                let sequence: String = characters
                    .by_ref()
                    .skip(1)
                    .take_while(|c| !c.is_ascii_alphabetic())
                    .collect();
                // Every sequence that is written clears the line it is on.
                assert!(["", "2"].contains(&sequence.as_str()), "{sequence:?}");
                longest = longest.max(line.len());
                line.truncate(if sequence == "2" { 0 } else { column });
            }
            character => {
                line.truncate(column);
                line.push(character);
                column += 1;
            }
        }
    }
    lines.push(line.into_iter().collect());
    (lines, longest)
}

const LINE: &str = "{\"id\":\"a\",\"document\":\"one\",\"embedding\":[1,2]}\n";

#[test]
fn the_line_fits_the_terminal_and_is_cleared_at_the_end() {
    for columns in [20, 40, 80, 200] {
        let home = new_home();
        let mut terminal = Terminal::run(&home, columns, &["import", "-"]);
        terminal.type_in(LINE);
        assert!(terminal.read_until("1 line read"), "{columns}");
        let shown = terminal.end();
        let (left, longest) = replay(&shown);
        assert!(
            (12..=usize::from(columns)).contains(&longest),
            "{columns}: {shown:?}"
        );
        let notes = left.iter().filter(|line| !line.trim().is_empty());
        let notes: Vec<&String> = notes.collect();
        assert_eq!(
            notes.len(),
            1,
            "only the note of the new palace is left: {left:?}"
        );
        assert!(notes[0].starts_with("created a palace"), "{left:?}");
    }
}

#[test]
fn nothing_is_shown_with_quiet_or_away_from_a_terminal() {
    let home = new_home();
    let mut terminal = Terminal::run(&home, 80, &["import", "-", "--quiet"]);
    terminal.type_in(LINE);
    assert!(!terminal.end().contains("read"));
    let ran = home.run_with(&["import", "-"], LINE.as_bytes()).expect_code(0);
    assert_eq!(ran.err, "");
}
