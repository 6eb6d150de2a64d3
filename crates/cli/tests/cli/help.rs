//! `docs/cli.md` holds what `--help` prints, and every command shows an example.

use std::path::Path;
use std::process::Command;

fn page() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/cli.md")
}

#[test]
fn the_page_on_the_command_line_is_up_to_date() {
    let help = loci_cli::help_markdown();
    if std::env::var_os("LOCI_UPDATE").is_some() {
        std::fs::write(page(), &help).unwrap();
    }
    let written = std::fs::read_to_string(page()).unwrap_or_default();
    assert!(
        written == help,
        "docs/cli.md is not what --help prints; run `LOCI_UPDATE=1 cargo test -p loci-cli --test cli help::`"
    );
}

#[test]
fn every_command_has_a_short_help_and_a_long_one_with_an_example() {
    let run = |args: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_loci"))
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{args:?}");
        String::from_utf8(output.stdout).unwrap()
    };
    let help = loci_cli::help_markdown();
    let commands: Vec<&str> = help
        .lines()
        .filter_map(|line| line.strip_prefix("## loci "))
        .collect();
    assert!(commands.contains(&"add") && commands.len() > 15, "{commands:?}");
    for command in commands {
        let words = |flag| command.split(' ').chain([flag]).collect::<Vec<_>>();
        let (short, long) = (run(&words("-h")), run(&words("--help")));
        assert!(long.contains("Example"), "{command}: {long}");
        assert!(short.len() < long.len(), "{command}");
    }
    let printed = run(&["help-markdown"]);
    assert_eq!(printed, help);
}
