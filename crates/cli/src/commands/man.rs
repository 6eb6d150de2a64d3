//! `loci man`: manual pages.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_mangen::Man;
use loci_core::Result;
use schemars::JsonSchema;
use serde::Serialize;

use crate::errors::{self, CommandResult, ExitStatus};
use crate::help;
use crate::page::format_count;
use crate::session::CommandSession;
use crate::target::OutputFile;

/// Print the manual page, or write all of them into a folder
///
/// Replaces loci.1 and loci-COMMAND.1 in the folder. The output is reproducible.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:\n  loci man | man -l -\n  loci man ~/.local/share/man/man1")]
pub(crate) struct ManArgs {
    /// The folder for loci.1 and one page per command
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
}

/// The manual page of the program.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ManualPage {
    /// The page, in the format of man.
    page: String,
}

/// The manual pages that were written.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct WrittenManual {
    /// The folder.
    folder: String,
    /// The names of the files, sorted.
    pages: Vec<String>,
}

/// Prints or writes them.
pub(crate) fn run(args: &ManArgs, session: &mut CommandSession) -> CommandResult {
    let mut root = help::visible_command();
    root.build();
    let out = &mut session.out;
    match &args.folder {
        Some(folder) => {
            let pages = write_all(&root, folder)?;
            if out.is_json() {
                out.write_json(&WrittenManual {
                    folder: folder.to_string_lossy().into_owned(),
                    pages,
                })?;
            } else {
                let pages = format_count(pages.len() as u64, "page");
                out.note(&format!("{pages} written to {}", folder.display()));
            }
        }
        None => {
            let page = render_page(&root)?;
            if out.is_json() {
                out.write_json(&ManualPage { page })?;
            } else {
                out.write_bytes(page.as_bytes())?;
            }
        }
    }
    Ok(ExitStatus::Done)
}

/// Writes the page of a command and of every command below it. Returns their names.
fn write_all(root: &Command, folder: &Path) -> Result<Vec<String>> {
    std::fs::create_dir_all(folder)
        .map_err(|cause| errors::io_error(format!("cannot create the folder {}", folder.display()), cause))?;
    let mut written = Vec::new();
    let mut waiting = vec![root];
    while let Some(command) = waiting.pop() {
        let file = Man::new(command.clone()).get_filename();
        let mut target = OutputFile::create(&folder.join(&file))?;
        target.line(render_page(command)?.trim_end())?;
        target.finish()?;
        written.push(file);
        waiting.extend(help::visible_subcommands(command));
    }
    written.sort();
    Ok(written)
}

fn render_page(command: &Command) -> Result<String> {
    let mut page = Vec::new();
    // A blank date keeps the version out of the date's place, and the page the same on every day.
    Man::new(command.clone())
        .date(" ")
        .render(&mut page)
        .map_err(|cause| {
            errors::io_error(format!("cannot render the page of {}", command.get_name()), cause)
        })?;
    Ok(String::from_utf8_lossy(&page).into_owned())
}
