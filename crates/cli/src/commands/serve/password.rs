//! Asking for a password: without showing it at a terminal, otherwise from standard input.

use std::io::{self, BufRead as _, IsTerminal as _, Read as _};

use console::Term;
use loci_core::{Error, Result};
use loci_team::accounts::LONGEST_PASSWORD;

use crate::errors::io_error;

/// Whether a person can be asked.
pub(super) fn is_asked() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Asks twice for a password at the terminal; `None` if the answer is empty.
pub(super) fn ask_password(name: &str) -> Result<Option<String>> {
    let password = ask_once(&format!("password of {name}: "))?;
    if password.is_empty() {
        return Ok(None);
    }
    if ask_once("the same again: ")? != password {
        return Err(
            Error::invalid("the two passwords differ").with_hint("nothing was changed; type it again")
        );
    }
    Ok(Some(password))
}

fn ask_once(question: &str) -> Result<String> {
    let terminal = Term::stderr();
    let asked = terminal
        .write_str(question)
        .and_then(|()| terminal.read_secure_line());
    asked.map_err(|cause| io_error("cannot ask for a password", cause))
}

/// Reads a password from the first line of standard input.
pub(super) fn read_password() -> Result<String> {
    let mut line = Vec::new();
    // One more than allowed, so that a longer one is refused and not cut.
    let most = LONGEST_PASSWORD as u64 + 3;
    io::stdin()
        .lock()
        .take(most)
        .read_until(b'\n', &mut line)
        .map_err(|cause| io_error("cannot read a password from standard input", cause))?;
    let text = String::from_utf8(line).map_err(|_| {
        // Without the cause, which repeats the bytes.
        Error::invalid("the password is not UTF-8").with_hint("nothing was changed")
    })?;
    let password = text.trim_end_matches(['\r', '\n']);
    if password.is_empty() {
        return Err(Error::invalid("standard input holds no password")
            .with_hint("nothing was changed; write it as the first line"));
    }
    Ok(password.to_owned())
}
