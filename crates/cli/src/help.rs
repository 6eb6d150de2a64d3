//! The help of every command as one page of Markdown.

use clap::{Arg, Command, CommandFactory};

use crate::args::{Cli, GLOBAL_HEADING};

/// What `docs/cli.md` holds: the long help of every command.
pub fn markdown() -> String {
    let mut root = Cli::command().term_width(100);
    root.build();
    let mut text = String::from(
        "# The command line\n\nWhat `loci COMMAND --help` prints. Written by a test \
         (`LOCI_UPDATE=1 cargo test -p loci-cli --test cli help::`); do not edit. Every command takes the global \
         options, which stand here once.\n",
    );
    section(&root, &mut text);
    sections(&root, &mut text);
    text
}

/// The whole command line, but for what is hidden.
pub(crate) fn visible() -> Command {
    let all = Cli::command();
    let mut shown = Command::new("loci")
        .args(all.get_arguments())
        .subcommands(below(&all));
    if let Some(about) = all.get_about() {
        shown = shown.about(about.clone());
    }
    if let Some(after) = all.get_after_help() {
        shown = shown.after_help(after.clone());
    }
    shown
        .version(env!("CARGO_PKG_VERSION"))
        .disable_help_subcommand(true)
        .subcommand_required(true)
}

/// The commands right below one, but for what is hidden.
pub(crate) fn below(command: &Command) -> impl Iterator<Item = &Command> {
    let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    command.get_subcommands().filter(shown)
}

/// The commands below one, each followed by its own.
fn sections(command: &Command, text: &mut String) {
    for command in below(command) {
        let global = |arg: &Arg| arg.get_help_heading() == Some(GLOBAL_HEADING);
        let own = command.clone().mut_args(|arg| match global(&arg) {
            true => arg.hide(true),
            false => arg,
        });
        section(&own, text);
        sections(command, text);
    }
}

fn section(command: &Command, text: &mut String) {
    let mut command = command.clone();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let name = command.get_bin_name().unwrap_or(command.get_name());
    text.push_str(&format!(
        "\n## {name}\n\n```text\n{}\n```\n",
        lines.join("\n").trim_end()
    ));
}
