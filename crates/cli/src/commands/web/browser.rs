//! Opening the browser of this user.

use std::process::{Command, Stdio};

use crate::environment::ProcessEnvironment;
use crate::output::TerminalOutput;

/// Opens a page in the browser, if there is a screen to show it on. A failure is only a note: the link is printed, too.
pub(super) fn open_browser(url: &str, environment: &ProcessEnvironment, out: &mut TerminalOutput) {
    let Some(mut command) = find_opener(environment) else {
        out.note("open this link in a browser on this machine");
        return;
    };
    let started = command
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    match started {
        // Waited for on a thread of its own, so that it does not stay behind as a dead process.
        Ok(mut child) => drop(std::thread::spawn(move || child.wait())),
        Err(cause) => out.note(&format!(
            "cannot open the browser ({cause}); open the link yourself"
        )),
    }
}

/// The program that opens the browser here; none without a screen.
fn find_opener(environment: &ProcessEnvironment) -> Option<Command> {
    if cfg!(target_os = "macos") {
        return Some(Command::new("open"));
    }
    if cfg!(windows) {
        let mut command = Command::new("cmd");
        // The first quoted word is the title of a window.
        command.args(["/C", "start", ""]);
        return Some(command);
    }
    environment.has_display.then(|| Command::new("xdg-open"))
}
