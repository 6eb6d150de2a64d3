//! Ignore rules, beside what git itself makes of them.

use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::Command;

use loci_mine::WalkRequest;
use loci_mine::walk::global_excludes;

use super::{Tree, again, plain};

fn is_again() -> bool {
    std::env::var_os("LOCI_TEST_AGAIN").is_some()
}

/// The files found, without what was left out.
fn files(tree: &Tree, request: &WalkRequest<'_>) -> Vec<String> {
    let mut lines = tree.lines(request);
    lines.retain(|line| !line.contains(" - "));
    lines
}

fn plain_files(tree: &Tree) -> Vec<String> {
    files(tree, &plain(&[tree.at("")]))
}

#[test]
fn nested_ignore_files_are_followed_with_and_without_a_repository() {
    let tree = Tree::of(&[
        "a.log",
        "keep.log",
        "out/x",
        "s/a.log",
        "s/b.log",
        "s/out/y",
        "s/deep/t.tmp",
        "t.tmp",
    ]);
    tree.file(".gitignore", "*.log\n!keep.log\n/out/\n");
    tree.file("s/.gitignore", "!b.log\n*.tmp\n[broken\n");
    let expected = ["keep.log", "s/b.log", "s/out/y", "t.tmp"];
    assert_eq!(plain_files(&tree), expected);
    tree.repository("");
    assert_eq!(plain_files(&tree), expected);
    assert!(tree.walked().contains(&"out - Ignored".to_owned()));
    let roots = [tree.at("")];
    let everything = WalkRequest {
        ignored: true,
        ..plain(&roots)
    };
    assert_eq!(files(&tree, &everything).len(), 8);
}

#[test]
fn an_ignore_file_has_the_first_say() {
    let tree = Tree::of(&["a.log", "b.txt", "s/c.log"]);
    tree.file(".gitignore", "*.log\n");
    tree.file(".ignore", "*.txt\n!a.log\n");
    assert_eq!(plain_files(&tree), ["a.log"]);
}

#[test]
fn rules_above_the_root_count_inside_a_repository_only() {
    let tree = Tree::of(&["r/s/a.log", "r/s/b", "r/.ignore", "r/s/t/c.log"]);
    tree.file("r/.gitignore", "*.log\n");
    let below = |tree: &Tree| files(tree, &plain(&[tree.at("r/s")]));
    assert_eq!(below(&tree), ["r/s/a.log", "r/s/b", "r/s/t/c.log"]);
    tree.repository("r");
    assert_eq!(below(&tree), ["r/s/b"]);
    tree.repository("r/s/t");
    assert_eq!(below(&tree), ["r/s/b", "r/s/t/c.log"]);
}

#[test]
fn a_repository_and_a_user_have_rules_of_their_own() {
    let tree = Tree::of(&[
        "r/a.own", "r/b.user", "r/c.user", "r/s/top", "r/top", "d.own", "e.user",
    ]);
    tree.repository("r");
    tree.file("r/.git/info/exclude", "\u{feff}*.own\n");
    tree.file("r/.gitignore", "!c.user\n");
    tree.file("x/excludes", "*.user\n/top\n");
    symlink("excludes", tree.at("x/link")).unwrap();
    let (roots, excludes) = ([tree.at("")], tree.at("x/link"));
    let request = WalkRequest {
        excludes: Some(&excludes),
        ..plain(&roots)
    };
    let mut found = files(&tree, &request);
    found.retain(|line| !line.starts_with('x'));
    assert_eq!(found, ["d.own", "r/c.user", "r/s/top"]);
}

#[test]
fn gits_settings_say_where_the_users_rules_lie() {
    if !is_again() {
        let tree = Tree::new();
        tree.file(
            "git/config",
            &format!("[core]\n\texcludesFile = {}\n", tree.at("mine").display()),
        );
        let ran = again("ignored::gits_settings_say_where_the_users_rules_lie")
            .env("XDG_CONFIG_HOME", tree.at(""))
            .env("HOME", tree.at("home"))
            .env("LOCI_TEST_EXPECTED", tree.at("mine"))
            .env_remove("GIT_CONFIG_GLOBAL")
            .output()
            .unwrap();
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        return;
    }
    let expected = std::env::var_os("LOCI_TEST_EXPECTED").map(PathBuf::from);
    assert!(expected.is_some());
    assert_eq!(global_excludes(), expected);
}

/// Runs the real git in a tree; `None` where none is installed.
fn git(tree: &Tree, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@b"])
        .args(arguments)
        .current_dir(tree.at(""))
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .ok()?;
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(String::from_utf8(output.stdout).unwrap())
}

#[test]
fn git_itself_would_find_the_same_files() {
    let names = [
        "a.o",
        "b.c",
        "build/x",
        "doc/a.o",
        "doc/build/y",
        "doc/frotz/z",
        "foo",
        "foo bar ",
        "x/foo/bar",
    ];
    let more = [
        "x/keep.o",
        "x/y/keep.o",
        "#a",
        "!b",
        "x/[a]",
        "q/r/s/t",
        "q/s/t",
        "q/t",
        "up.O",
        "k/keep/1",
        "k/2",
    ];
    let tree = Tree::of(&[names.as_slice(), more.as_slice()].concat());
    tree.file(
        ".gitignore",
        "*.o\n!x/keep.o\n/build\n# a\n\\#a\n\\!b\n\nfoo/*\nq/**/t\nfoo\\ bar\\ \nk/*\n!k/keep/\n",
    );
    tree.file("doc/.gitignore", "frotz/\n!*.o\nz\n");
    tree.file("x/.gitignore", "\\[a\\]\r\n[!a-z]\n");
    if git(&tree, &["init", "-q"]).is_none() {
        println!("not shown: git is not installed");
        return;
    }
    tree.file(".git/info/exclude", "foo\nb.c\n");
    let listed = git(&tree, &["ls-files", "-z", "--others", "--exclude-standard"]).unwrap();
    let mut expected: Vec<String> = listed.split_terminator('\0').map(str::to_owned).collect();
    assert!(expected.len() > 6, "{expected:?}");
    let roots = [tree.at("")];
    let hidden = WalkRequest {
        hidden: true,
        ..plain(&roots)
    };
    let mut found = files(&tree, &hidden);
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn a_worktree_follows_the_rules_its_repository_shares() {
    let tree = Tree::new();
    if git(&tree, &["init", "-q", "proj"]).is_none() {
        println!("not shown: git is not installed");
        return;
    }
    git(&tree, &["-C", "proj", "commit", "-q", "--allow-empty", "-m", "a"]);
    git(&tree, &["-C", "proj", "worktree", "add", "-q", "../side"]);
    tree.file("proj/.git/info/exclude", "*.own\n");
    tree.file("side/a.own", "a");
    tree.file("side/b", "b");
    assert_eq!(
        tree.lines(&plain(&[tree.at("side")])),
        ["side/a.own - Ignored", "side/b"]
    );
}
