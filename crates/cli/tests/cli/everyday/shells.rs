//! What shells and terminals see: completions, manual pages, closed pipes and color.

use super::*;

#[test]
fn completions_know_every_command_but_the_hidden_ones() {
    let home = new_home();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let ran = home.run(&["completions", shell]).expect_code(0);
        assert!(
            ran.out.contains("timeline") && ran.out.contains("palace"),
            "{shell}"
        );
        assert!(!ran.out.contains("help-markdown"), "{shell}");
        assert_eq!(ran.err, "", "{shell}");
        let json = home.json(0, &["completions", shell]);
        assert_eq!(
            (&json["shell"], &json["script"]),
            (&json!(shell), &json!(ran.out))
        );
    }
    home.run(&["completions", "cmd"]).expect_code(2);
    assert_eq!(home.list_names(), Vec::<String>::new());
}

#[test]
fn manual_pages_are_written_for_every_command_but_the_hidden_ones() {
    let home = new_home();
    let main = home.run(&["man"]).expect_code(0);
    assert!(
        main.out.contains(".TH loci 1 \" \" \"loci ") && main.out.contains("loci\\-timeline"),
        "{}",
        main.out
    );
    assert!(!main.out.contains("help\\-markdown"));
    home.write("unrelated.1", "mine");
    let written = home.run(&["man", "pages/man1"]).expect_code(0);
    let mut there: Vec<String> = std::fs::read_dir(home.path("pages/man1"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    there.sort();
    assert_eq!(
        (written.out, written.err),
        (
            String::new(),
            format!("{} pages written to pages/man1\n", there.len())
        )
    );
    for page in ["loci.1", "loci-timeline.1", "loci-model-install.1"] {
        assert!(there.contains(&page.to_owned()), "{there:?}");
    }
    assert!(
        !there
            .iter()
            .any(|page| page.contains("markdown") || page.contains("help")),
        "{there:?}"
    );
    let read = |name: &str| std::fs::read_to_string(home.path("pages/man1").join(name)).unwrap();
    assert_eq!(read("loci.1").trim_end(), main.out.trim_end());
    assert!(read("loci-model-install.1").contains("\\fBloci model install\\fR"));
    let again = home.json(0, &["man", "pages/man1"]);
    assert_eq!(again, json!({"folder": "pages/man1", "pages": there}));
    assert_eq!(std::fs::read_to_string(home.path("unrelated.1")).unwrap(), "mine");
    let file = home.write("a-file", "");
    assert!(
        home.run(&["man", &file])
            .expect_code(2)
            .err
            .contains("cannot create the folder")
    );
}

#[test]
fn a_reader_that_has_seen_enough_ends_a_command_quietly() {
    let home = home();
    let others: [&[&str]; 4] = [
        &["list"],
        &["completions", "bash"],
        &["man"],
        &["--json", "wings"],
    ];
    for args in READERS.into_iter().chain(others) {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let child = home
            .command(args)
            .stdout(writer)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = child.wait_with_output().unwrap();
        let err = String::from_utf8(output.stderr).unwrap();
        assert_eq!((output.status.code(), err.as_str()), (Some(0), ""), "{args:?}");
    }
}

/// What a command prints on a terminal, standard error included.
#[cfg(target_os = "linux")]
fn on_a_terminal(home: &TempHome, args: &[&str], no_color: &str) -> String {
    use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
    use std::io::Read as _;
    let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&ours).unwrap();
    unlockpt(&ours).unwrap();
    let name = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
    let theirs = std::fs::File::options()
        .read(true)
        .write(true)
        .open(name)
        .unwrap();
    let mut command = home.command(args);
    command.env("TERM", "xterm").env("NO_COLOR", no_color);
    let mut child = command
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn()
        .unwrap();
    // What still holds the terminal open would keep the reading from ending.
    drop(command);
    let mut shown = Vec::new();
    // A terminal that nobody writes to any more ends with an error.
    let _ = std::fs::File::from(ours).read_to_end(&mut shown);
    child.wait().unwrap();
    String::from_utf8(shown).unwrap()
}

#[cfg(target_os = "linux")]
#[test]
fn a_terminal_sees_color_unless_it_is_unwanted() {
    let home = home();
    for args in READERS {
        let color = |more: &[&str], no_color: &str| {
            let shown = on_a_terminal(&home, &[args, more].concat(), no_color);
            assert!(
                shown.contains("work") || shown.contains("note") || shown.contains("2026"),
                "{shown}"
            );
            shown.contains('\u{1b}')
        };
        assert!(color(&[], ""), "{args:?}");
        assert!(!color(&[], "1"), "{args:?}");
        assert!(!color(&["--color", "never"], ""), "{args:?}");
        assert!(!color(&["--json"], ""), "{args:?}");
    }
}
