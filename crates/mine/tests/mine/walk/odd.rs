//! Links, pipes, sockets, names that are not UTF-8, and files that cannot be read.

use std::ffi::OsStr;
use std::fs::{self, Permissions};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt;

use super::{Tree, again, plain, sources};

#[test]
fn names_that_are_no_text_are_walked_like_any_other() {
    let tree = Tree::new();
    let odd = OsStr::from_bytes(b"caf\xe9.txt");
    tree.file(odd, "latin");
    tree.file("two\nlines", "a");
    let found = sources(&plain(&[tree.at("")]));
    let paths: Vec<_> = found.iter().map(|found| found.path().to_path_buf()).collect();
    assert_eq!(paths, [tree.at(odd), tree.at("two\nlines")]);
}

#[test]
fn folders_are_followed_down_many_levels() {
    let deep = vec!["d"; 64].join("/") + "/file";
    assert_eq!(Tree::of(&[&deep]).walked(), [deep]);
}

#[test]
fn links_are_listed_and_never_followed() {
    let tree = Tree::of(&["a/file"]);
    symlink("..", tree.at("a/loop")).unwrap();
    symlink("a/file", tree.at("link")).unwrap();
    symlink("gone", tree.at("nowhere")).unwrap();
    let expected = [
        "a/file",
        "a/loop: a symbolic link to ..",
        "link: a symbolic link to a/file",
        "nowhere: a symbolic link to gone",
    ];
    assert_eq!(tree.walked(), expected);
}

#[test]
fn a_root_that_is_a_link_is_resolved() {
    let tree = Tree::of(&["real/a"]);
    symlink("real", tree.at("link")).unwrap();
    assert_eq!(tree.lines(&plain(&[tree.at("link")])), ["real/a"]);
    assert_eq!(
        tree.lines(&plain(&[tree.at("link"), tree.at("real/a")])),
        ["real/a"]
    );
}

#[test]
fn files_too_large_or_empty_are_listed() {
    let tree = Tree::new();
    tree.file("empty", "");
    tree.file("large", &"a".repeat(1_500));
    tree.file("right", &"a".repeat(1_000));
    let expected = [
        "empty: empty",
        "large: 1.5 kB is over the limit of 1.0 kB; raise it with --max-size",
        "right",
    ];
    assert_eq!(tree.walked(), expected);
}

#[test]
fn what_cannot_be_read_is_listed_with_the_systems_words() {
    if rustix::process::geteuid().is_root() {
        // Root may read everything, so another user has to try.
        let ran = again("odd::what_cannot_be_read_is_listed_with_the_systems_words")
            .uid(65534)
            .gid(65534)
            .output();
        match ran {
            Ok(output) => assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            ),
            Err(error) => println!("not shown: this test runs as root and nobody else may run it: {error}"),
        }
        return;
    }
    let tree = Tree::of(&["closed/a", "open", "secret", "z/.gitignore", "z/a"]);
    let set = |path: &str, mode| fs::set_permissions(tree.at(path), Permissions::from_mode(mode)).unwrap();
    set("closed", 0o000);
    set("secret", 0o000);
    set("z/.gitignore", 0o000);
    let lines = tree.walked();
    set("closed", 0o700);
    let expected = [
        "closed: Permission denied",
        "open",
        "secret: Permission denied",
        "z/.gitignore: its ignore rules were not applied: Permission denied",
        "z/.gitignore - Hidden",
        "z/a",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn pipes_sockets_and_devices_are_listed_and_never_opened() {
    let tree = Tree::of(&["a"]);
    tree.pipe("pipe");
    tree.pipe(".gitignore");
    let _socket = UnixListener::bind(tree.at("socket")).unwrap();
    let expected = [
        ".gitignore: its ignore rules were not applied: a named pipe",
        ".gitignore - Hidden",
        "a",
        "pipe: a named pipe",
        "socket: a socket",
    ];
    assert_eq!(tree.walked(), expected);
    assert_eq!(tree.lines(&plain(&[tree.at("pipe")])), ["pipe: a named pipe"]);
}
