//! The terminal in which `loci web` runs: Enter prints a link for another browser.

use std::io::{self, BufRead as _, IsTerminal as _};
use std::thread;
use std::time::Duration;

use loci_serve::web::SignInLinks;
use rustix::event::{PollFd, PollFlags, poll};

use crate::args::GlobalArgs;
use crate::environment::ProcessEnvironment;
use crate::output::TerminalOutput;

/// The time after which a server in the background looks whether it is in the foreground again.
const BACKGROUND_PAUSE: Duration = Duration::from_secs(1);

/// Prints a new link each time Enter is pressed, if a person is at the terminal.
pub(super) fn offer_links(links: SignInLinks, globals: &GlobalArgs, environment: &ProcessEnvironment) {
    let is_watched = io::stdin().is_terminal() && io::stderr().is_terminal() && !globals.json;
    if !is_watched {
        return;
    }
    let (globals, environment) = (globals.clone(), environment.clone());
    // Not waited for: it ends with the process.
    thread::spawn(move || {
        let mut out = TerminalOutput::for_standard_streams(&globals, &environment);
        out.note("press Enter for a link for another browser, Ctrl-C to end");
        while read_enter() {
            let printed = match links.make_link() {
                Ok(url) => out.write_line(&url).and_then(|()| out.flush()),
                Err(error) => return out.warn(&error.to_string()),
            };
            if printed.is_err() {
                return;
            }
        }
    });
}

/// Waits for Enter; false once the terminal is gone.
fn read_enter() -> bool {
    loop {
        let input = io::stdin();
        let mut polled = [PollFd::new(&input, PollFlags::IN)];
        if poll(&mut polled, None).is_err() {
            return false;
        }
        // Reading in the background would stop the whole process until it is in the foreground.
        if !is_in_foreground() {
            thread::sleep(BACKGROUND_PAUSE);
            continue;
        }
        let mut line = String::new();
        return input.lock().read_line(&mut line).is_ok_and(|read| read > 0);
    }
}

fn is_in_foreground() -> bool {
    let foreground = rustix::termios::tcgetpgrp(io::stdin());
    foreground.is_ok_and(|group| group == rustix::process::getpgrp())
}
