//! `loci man`: manual pages.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use loci_core::Result;
use serde_json::json;

use crate::errors::{self, Done, Exit};
use crate::help;
use crate::page::counted;
use crate::session::Session;
use crate::target::Target;

/// Print the manual page, or write all of them into a folder
///
/// In the folder, loci.1 and loci-COMMAND.1 are replaced. They are the same on every day.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci man | man -l -\n  loci man ~/.local/share/man/man1")]
pub(crate) struct Args {
    /// Where to write loci.1 and a page for each command
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// Prints or writes them.
pub(crate) fn run(args: &Args, session: &mut Session) -> Done {
    let mut root = help::visible();
    root.build();
    let out = &mut session.out;
    match &args.folder {
        Some(folder) => {
            let written = write_all(&root, folder)?;
            if out.is_json() {
                out.json(&json!({ "folder": folder.to_string_lossy(), "pages": written }))?;
            } else {
                let pages = counted(written.len() as u64, "page");
                out.note(&format!("{pages} written to {}", folder.display()));
            }
        }
        None => {
            let page = render(&root)?;
            match out.is_json() {
                true => out.json(&json!({ "page": page }))?,
                false => out.bytes(page.as_bytes())?,
            }
        }
    }
    Ok(Exit::Done)
}

/// Writes the page of a command and of every command below it; says what they are called.
fn write_all(root: &Command, folder: &Path) -> Result<Vec<String>> {
    std::fs::create_dir_all(folder)
        .map_err(|cause| errors::io(format!("cannot make the folder {}", folder.display()), cause))?;
    let mut written = Vec::new();
    let mut waiting = vec![root];
    while let Some(command) = waiting.pop() {
        let file = Man::new(command.clone()).get_filename();
        let mut target = Target::create(&folder.join(&file))?;
        target.line(render(command)?.trim_end())?;
        target.finish()?;
        written.push(file);
        waiting.extend(help::below(command));
    }
    written.sort();
    Ok(written)
}

fn render(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    // A blank date keeps the version out of the date's place, and the page the same on every day.
    Man::new(command.clone())
        .date(" ")
        .render(&mut page)
        .map_err(|cause| errors::io(format!("cannot make the page of {}", command.get_name()), cause))?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
