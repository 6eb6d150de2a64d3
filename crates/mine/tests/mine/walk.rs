//! The walk over real trees: what is found, what is listed, what is left out.

mod bundles;
mod ignored;
mod odd;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use loci_core::ErrorKind;
use loci_mine::stat::FileStat;
use loci_mine::{FoundSource, SourceFingerprint, WalkEvent, WalkRequest, walk};

struct Tree(tempfile::TempDir);

impl Tree {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A tree with these files; each holds its own name.
    fn of(files: &[&str]) -> Self {
        let tree = Self::new();
        for file in files {
            tree.file(file, file);
        }
        tree
    }

    fn at(&self, path: impl AsRef<Path>) -> PathBuf {
        let root = self.0.path().canonicalize().unwrap();
        if path.as_ref() == Path::new("") {
            root
        } else {
            root.join(path)
        }
    }

    fn file(&self, path: impl AsRef<Path>, text: &str) {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The least that makes a folder a repository.
    fn repository(&self, folder: &str) {
        self.file(Path::new(folder).join(".git/HEAD"), "ref: refs/heads/main\n");
    }

    fn pipe(&self, path: &str) {
        assert!(
            Command::new("mkfifo")
                .arg(self.at(path))
                .status()
                .unwrap()
                .success()
        );
    }

    /// Returns what a walk finds, one line for each thing.
    fn lines(&self, request: &WalkRequest<'_>) -> Vec<String> {
        walk(request).unwrap().map(|event| self.line(event)).collect()
    }

    fn line(&self, event: WalkEvent) -> String {
        let name = |path: &Path| {
            path.strip_prefix(self.at(""))
                .unwrap()
                .to_string_lossy()
                .into_owned()
        };
        match event {
            WalkEvent::Source(found) => match found.bundle_files() {
                None => {
                    let stat = FileStat::read(found.path()).unwrap();
                    assert_eq!(found.fingerprint(), SourceFingerprint::File(stat));
                    name(found.path())
                }
                Some((format, files)) => {
                    let files: Vec<String> = files.iter().map(|(path, _)| name(path)).collect();
                    format!("{} = {format}({})", name(found.path()), files.join(" "))
                }
            },
            WalkEvent::Skipped { path, reason } => format!("{}: {reason}", name(&path)),
            WalkEvent::LeftOut { path, cause } => format!("{} - {cause:?}", name(&path)),
        }
    }

    /// Returns what the plainest walk over everything finds.
    fn walked(&self) -> Vec<String> {
        self.lines(&plain(&[self.at("")]))
    }
}

fn plain(roots: &[PathBuf]) -> WalkRequest<'_> {
    WalkRequest {
        roots,
        max_bytes: 1_000,
        hidden: false,
        ignored: false,
        credentials: false,
        bundles: &[],
        avoid: &[],
        excludes: None,
    }
}

/// The sources a walk finds.
fn sources(request: &WalkRequest<'_>) -> Vec<FoundSource> {
    let source = |event| match event {
        WalkEvent::Source(found) => Some(found),
        WalkEvent::Skipped { .. } | WalkEvent::LeftOut { .. } => None,
    };
    walk(request).unwrap().filter_map(source).collect()
}

/// Runs one test of the walk again in a process of its own.
fn again(test: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", &format!("walk::{test}"), "--nocapture"])
        .env("LOCI_TEST_AGAIN", "1");
    command
}

#[test]
fn files_come_sorted_and_their_folders_where_their_names_stand() {
    let tree = Tree::of(&["b.md", "a/z", "a/b/c", "a.md", "C", "é", "a-b/x"]);
    assert_eq!(tree.walked(), ["C", "a/b/c", "a/z", "a-b/x", "a.md", "b.md", "é"]);
}

#[test]
fn a_root_that_does_not_exist_ends_the_walk_before_it_begins() {
    let tree = Tree::of(&["a"]);
    let roots = [tree.at("a"), tree.at("gone")];
    let error = walk(&plain(&roots)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound);
    assert!(error.message().ends_with("/gone"), "{error}");
}

#[test]
fn a_walk_looks_no_further_than_it_is_asked() {
    let tree = Tree::of(&["a/1", "b/2"]);
    let roots = [tree.at("")];
    let mut walk = walk(&plain(&roots)).unwrap();
    assert!(walk.next().is_some_and(|event| tree.line(event) == "a/1"));
    // A folder that was not reached yet is entered only when its turn comes.
    tree.file("b/1", "later");
    let rest: Vec<String> = walk.map(|event| tree.line(event)).collect();
    assert_eq!(rest, ["b/1", "b/2"]);
}

fn roots_of(tree: &Tree, roots: &[&str]) -> Vec<(String, String)> {
    let roots: Vec<PathBuf> = roots.iter().map(|root| tree.at(root)).collect();
    let name = |path: &Path| {
        path.strip_prefix(tree.at(""))
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    };
    let found = sources(&plain(&roots)).into_iter();
    found
        .map(|found| (name(found.path()), name(found.root())))
        .collect()
}

#[test]
fn what_two_roots_hold_is_found_once_and_belongs_to_the_outer_one() {
    let tree = Tree::of(&["a/b/c", "a/d", "a/.h/e", "f"]);
    let pair = |path: &str, root: &str| (path.to_owned(), root.to_owned());
    let expected = [pair("a/d", "a"), pair("a/.h/e", "a"), pair("a/b/c", "a")];
    assert_eq!(roots_of(&tree, &["a/b", "a", "a/.h", "a"]), expected);
    assert_eq!(roots_of(&tree, &["a/b"]), [pair("a/b/c", "a/b")]);
    assert_eq!(roots_of(&tree, &["f", "a/d"]), [pair("a/d", "a"), pair("f", "")]);
}

#[test]
fn what_is_named_is_walked_even_if_hidden_ignored_or_vendored() {
    let tree = Tree::of(&[
        ".h/a",
        ".h/.b",
        "x.log",
        "node_modules/c",
        "Cargo.lock",
        "cache/d",
    ]);
    tree.file(".gitignore", "*.log\n");
    tree.file(
        "cache/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\n",
    );
    let named = |name: &str| tree.lines(&plain(&[tree.at(name)]));
    assert_eq!(named(".h"), [".h/.b - Hidden", ".h/a"]);
    assert_eq!(named("x.log"), ["x.log"]);
    assert_eq!(named(".h/.b"), [".h/.b"]);
    assert_eq!(named("node_modules"), ["node_modules/c"]);
    assert_eq!(named("Cargo.lock"), ["Cargo.lock"]);
    assert_eq!(named("cache"), ["cache/CACHEDIR.TAG", "cache/d"]);
}

#[test]
fn hidden_things_are_counted_and_taken_on_request() {
    let tree = Tree::of(&[".profile", ".config/a", "b", ".git/HEAD", ".jj/c"]);
    assert_eq!(tree.walked(), [".config - Hidden", ".profile - Hidden", "b"]);
    let roots = [tree.at("")];
    let hidden = WalkRequest {
        hidden: true,
        ..plain(&roots)
    };
    assert_eq!(tree.lines(&hidden), [".config/a", ".profile", "b"]);
}

#[test]
fn files_that_hold_credentials_are_listed_and_taken_on_request() {
    let tree = Tree::of(&["id_ed25519", "id_ed25519.pub", "app/.env", "notes.md"]);
    let roots = [tree.at(""), tree.at("app/.env")];
    let skipped = tree.lines(&plain(&roots));
    assert!(
        skipped
            .iter()
            .filter(|line| line.contains("--credentials"))
            .count()
            == 2,
        "{skipped:?}"
    );
    let taken = WalkRequest {
        credentials: true,
        ..plain(&roots)
    };
    assert_eq!(
        tree.lines(&taken),
        ["id_ed25519", "id_ed25519.pub", "notes.md", "app/.env"]
    );
}

#[test]
fn a_chat_history_is_taken_though_it_is_hidden_and_ignored() {
    let tree = Tree::of(&[".aider.chat.history.md", ".aider.tags/a"]);
    tree.file(".gitignore", ".aider*\n");
    let expected = [
        ".aider.chat.history.md",
        ".aider.tags - Hidden",
        ".gitignore - Hidden",
    ];
    assert_eq!(tree.walked(), expected);
}

#[test]
fn vendored_folders_are_left_out_by_name_or_by_what_they_hold() {
    let tree = Tree::of(&[
        "a/node_modules/x",
        "a/src/__pycache__/x",
        "b/venv/pyvenv.cfg",
        "b/venv/x",
        "c/target/.rustc_info.json",
        "c/target/debug/x",
        "d/go.mod",
        "d/vendor/x",
        "f/CACHEDIR.TAG",
        "g/target/x",
        "g/vendor/x",
        "g/venv/x",
    ]);
    tree.file(
        "e/CACHEDIR.TAG",
        "Signature: 8a477f597d28d172789f06886806bc55\nmore",
    );
    let expected = [
        "a/node_modules - Vendored",
        "a/src/__pycache__ - Vendored",
        "b/venv - Vendored",
        "c/target - Vendored",
        "d/go.mod",
        "d/vendor - Vendored",
        "e - Vendored",
        "f/CACHEDIR.TAG",
        "g/target/x",
        "g/vendor/x",
        "g/venv/x",
    ];
    assert_eq!(tree.walked(), expected);
    let roots = [tree.at("")];
    let everything = WalkRequest {
        ignored: true,
        hidden: true,
        ..plain(&roots)
    };
    assert_eq!(tree.lines(&everything).len(), 13);
}

#[test]
fn lock_files_are_listed() {
    let tree = Tree::of(&[
        "Cargo.lock",
        "go.sum",
        "web/package-lock.json",
        "web/package.json",
    ]);
    let expected = [
        "Cargo.lock: a lock file",
        "go.sum: a lock file",
        "web/package-lock.json: a lock file",
        "web/package.json",
    ];
    assert_eq!(tree.walked(), expected);
}

#[test]
fn palaces_and_what_is_to_be_left_alone_are_never_touched() {
    let tree = Tree::of(&["a", "mine/palace.db", "mine/palace.db-wal", "mine/x", "no/b", "z"]);
    symlink("no", tree.at("link")).unwrap();
    let (roots, avoid) = ([tree.at("")], [tree.at("link"), tree.at("z"), tree.at("gone")]);
    let mut request = plain(&roots);
    request.avoid = &avoid;
    let expected = [
        "a",
        "link: a symbolic link to no",
        "mine: a palace",
        "no: excluded by request",
        "z: excluded by request",
    ];
    assert_eq!(tree.lines(&request), expected);
    let named = ["mine", "mine/palace.db", "mine/palace.db-wal", "no/b"].map(|name| tree.at(name));
    let named = tree.lines(&WalkRequest {
        roots: &named,
        ..request
    });
    let expected = [
        "mine: a palace",
        "mine/palace.db: a palace",
        "mine/palace.db-wal: a palace",
        "no/b: excluded by request",
    ];
    assert_eq!(named, expected);
}
