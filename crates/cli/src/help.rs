//! Help: the list of commands by purpose, and the help of every command as one page of Markdown.

use clap::{Arg, Command, CommandFactory};

use crate::args::{CliArgs, GLOBAL_HEADING};

/// Commands that serve one purpose, under one heading of `loci --help`.
struct CommandGroup {
    heading: &'static str,
    example: &'static str,
    commands: &'static [&'static str],
}

/// Every visible command, in exactly one group.
const GROUPS: &[CommandGroup] = &[
    CommandGroup {
        heading: "Start here",
        example: "loci mine ~/projects ~/.claude/projects",
        commands: &["mine", "search", "web", "wake-up", "connect"],
    },
    CommandGroup {
        heading: "Look",
        example: "loci timeline --by month",
        commands: &[
            "show",
            "list",
            "neighbours",
            "cat",
            "unseal",
            "timeline",
            "wings",
            "count",
            "changes",
            "why-not",
            "status",
        ],
    },
    CommandGroup {
        heading: "Change",
        example: "loci add 'We ship on Thursdays.' --wing work",
        commands: &["add", "move", "delete", "forget", "seal", "sync"],
    },
    CommandGroup {
        heading: "Keep and move",
        example: "loci backup ~/backups --keep 7",
        commands: &[
            "palaces", "init", "backup", "restore", "export", "import", "migrate", "key",
        ],
    },
    CommandGroup {
        heading: "Repair",
        example: "loci doctor ~/.mempalace/palace",
        commands: &["verify", "rescue", "doctor", "maintain"],
    },
    CommandGroup {
        heading: "Agents, servers and models",
        example: "loci mcp --read-only",
        commands: &[
            "mcp", "serve", "hook", "embedder", "model", "backends", "backend", "bench",
        ],
    },
    CommandGroup {
        heading: "Shell",
        example: "loci help search",
        commands: &["help", "completions", "man"],
    },
];

/// The width of the column that holds the names of commands.
const NAME_WIDTH: usize = 12;

/// The command line as it is parsed, with its commands listed by group.
pub(crate) fn build_command() -> Command {
    // clap lists subcommands in one block and knows no headings for them, so the template brings its own list.
    let mut built = CliArgs::command();
    built.build();
    let template = format!(
        "{{about}}\n\n{{usage-heading}} {{usage}}\n\n{}Options:\n{{options}}{{after-help}}",
        list_groups(&built)
    );
    CliArgs::command().help_template(template)
}

fn list_groups(root: &Command) -> String {
    let mut text = String::new();
    for group in GROUPS {
        text.push_str(&format!("{} (as in `{}`):\n", group.heading, group.example));
        for name in group.commands {
            let about = root.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            text.push_str(&format!("  {name:NAME_WIDTH$} {about}\n"));
        }
        text.push('\n');
    }
    text
}

/// Returns the text of `docs/cli.md`: the long help of every command.
pub fn markdown() -> String {
    let mut root = build_command().term_width(100);
    root.build();
    let mut text = String::from(
        "# The command line\n\nThe output of `loci COMMAND --help`, written by a test \
         (`LOCI_UPDATE=1 cargo test -p loci-cli --test cli help::`); do not edit it by hand. Every command takes \
         the global options, which are listed once, at the top.\n",
    );
    write_section(&root, &mut text);
    write_sections_below(&root, &mut text);
    text
}

/// The whole command line without hidden commands, for completions and manual pages.
pub(crate) fn visible_command() -> Command {
    let all = CliArgs::command();
    let mut shown = Command::new("loci")
        .args(all.get_arguments())
        .subcommands(visible_subcommands(&all));
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

/// The visible commands directly below one.
pub(crate) fn visible_subcommands(command: &Command) -> impl Iterator<Item = &Command> {
    let shown = |command: &&Command| !command.is_hide_set() && command.get_name() != "help";
    command.get_subcommands().filter(shown)
}

/// Writes the commands below one, each followed by its own.
fn write_sections_below(command: &Command, text: &mut String) {
    for command in visible_subcommands(command) {
        let is_global = |arg: &Arg| arg.get_help_heading() == Some(GLOBAL_HEADING);
        // The global options would repeat under every command.
        let own = command
            .clone()
            .mut_args(|arg| if is_global(&arg) { arg.hide(true) } else { arg });
        write_section(&own, text);
        write_sections_below(command, text);
    }
}

fn write_section(command: &Command, text: &mut String) {
    let mut command = command.clone();
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let name = command.get_bin_name().unwrap_or(command.get_name());
    text.push_str(&format!(
        "\n## {name}\n\n```text\n{}\n```\n",
        lines.join("\n").trim_end()
    ));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_command_stands_in_one_group_and_has_an_example() {
        let root = CliArgs::command();
        let listed: Vec<&str> = GROUPS
            .iter()
            .flat_map(|group| group.commands.iter().copied())
            .collect();
        let once: BTreeSet<&str> = listed.iter().copied().collect();
        assert_eq!(listed.len(), once.len(), "a command is listed twice");
        let visible: BTreeSet<&str> = visible_subcommands(&root)
            .map(Command::get_name)
            .chain(["help"])
            .collect();
        assert_eq!(once, visible);
        for command in visible_subcommands(&root) {
            let example = command.get_after_long_help().map(ToString::to_string);
            let has_subcommands = command.has_subcommands();
            assert!(
                has_subcommands || example.is_some_and(|text| text.contains("Example")),
                "{} has no example",
                command.get_name()
            );
        }
    }
}
