//! Projects of real repositories and of paths that are only spelled; laws of names.

use super::*;
use proptest::prelude::*;
use std::fs;
use std::process::Command;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(path)
    }

    fn folder(&self, path: &str) -> PathBuf {
        fs::create_dir_all(self.at(path)).unwrap();
        self.at(path)
    }

    fn file(&self, path: &str, text: &str) {
        fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        fs::write(self.at(path), text).unwrap();
    }

    /// The least that makes a folder a repository.
    fn repository(&self, path: &str) -> PathBuf {
        self.file(&format!("{path}/.git/HEAD"), "ref: refs/heads/main\n");
        self.at(path)
    }

    /// Runs the real git here; without one installed the test has nothing to show.
    fn git(&self, arguments: &[&str]) -> bool {
        let ran = Command::new("git")
            .args([
                "-c",
                "user.name=a",
                "-c",
                "user.email=a@b",
                "-c",
                "protocol.file.allow=always",
            ])
            .args(arguments)
            .current_dir(self.0.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output();
        match ran {
            Ok(output) => {
                assert!(
                    output.status.success(),
                    "{}",
                    String::from_utf8_lossy(&output.stderr)
                );
                true
            }
            Err(_) => false,
        }
    }
}

fn project(folder: &Path) -> Option<(String, PathBuf)> {
    let found = ProjectFinder::new().project_of_folder(folder)?;
    Some((found.name, found.root))
}

fn named(name: &str, root: PathBuf) -> Option<(String, PathBuf)> {
    Some((name.to_owned(), root))
}

#[test]
fn a_folder_belongs_to_the_nearest_repository_above_it() {
    let place = Place::new();
    let (outer, inner) = (place.repository("outer"), place.repository("outer/vendor/inner"));
    let deep = place.folder("outer/vendor/inner/a/b");
    assert_eq!(project(&outer), named("outer", outer.clone()));
    assert_eq!(project(&place.folder("outer/vendor")), named("outer", outer));
    assert_eq!(project(&deep), named("inner", inner));
    assert_eq!(project(&place.folder("elsewhere/a")), None);
}

#[test]
fn what_was_found_is_remembered_for_every_folder_on_the_way() {
    let place = Place::new();
    let root = place.repository("proj");
    let deep = place.folder("proj/a/b");
    let mut projects = ProjectFinder::new();
    projects.project_of_folder(&deep).unwrap();
    fs::remove_dir_all(root.join(".git")).unwrap();
    assert_eq!(
        projects.project_of_folder(&place.at("proj/a")).unwrap().root,
        root
    );
}

#[test]
fn a_worktree_made_by_git_is_its_main_repository() {
    let place = Place::new();
    if !place.git(&["init", "-q", "proj"]) {
        println!("git is not installed: worktrees written by hand are tested elsewhere");
        return;
    }
    place.git(&["-C", "proj", "commit", "-q", "--allow-empty", "-m", "a"]);
    place.git(&["-C", "proj", "worktree", "add", "-q", "../elsewhere/feature"]);
    let checkout = place
        .folder("elsewhere/feature/src")
        .parent()
        .unwrap()
        .to_path_buf();
    let found = ProjectFinder::new()
        .project_of_folder(&checkout.join("src"))
        .unwrap();
    assert_eq!((found.name.as_str(), found.root), ("proj", place.at("proj")));
    assert_eq!(found.checkout, checkout);
    assert_eq!(shared_folder(&checkout), Some(place.at("proj/.git")));
    let cwd = checkout.join("src").to_string_lossy().into_owned();
    assert_eq!(ProjectFinder::new().name_of_cwd(&cwd), Some("proj".to_owned()));
}

#[test]
fn a_submodule_made_by_git_is_a_project_of_its_own() {
    let place = Place::new();
    if !place.git(&["init", "-q", "library"]) {
        return;
    }
    place.git(&["-C", "library", "commit", "-q", "--allow-empty", "-m", "a"]);
    place.git(&["init", "-q", "proj"]);
    place.git(&[
        "-C",
        "proj",
        "submodule",
        "--quiet",
        "add",
        "../library",
        "deps/library",
    ]);
    let inside = place.at("proj/deps/library");
    assert!(inside.join(".git").is_file());
    assert_eq!(project(&inside), named("library", inside));
}

#[test]
fn a_worktree_of_a_bare_repository_is_called_like_it() {
    let place = Place::new();
    place.file(
        "w/a/.git",
        &format!("gitdir: {}\n", place.at("proj.git/worktrees/a").display()),
    );
    place.file("w/b/.git", "gitdir: ../../own/.bare/worktrees/b\n");
    place.file(
        "proj.git/worktrees/a/gitdir",
        &format!("{}\n", place.at("w/a/.git").display()),
    );
    place.file("own/.bare/worktrees/b/gitdir", "../../../../w/b/.git\n");
    assert_eq!(project(&place.at("w/a")), named("proj", place.at("proj.git")));
    assert_eq!(project(&place.at("w/b")), named("own", place.at("own")));
}

#[test]
fn a_git_file_that_points_into_another_project_does_not_join_it() {
    let place = Place::new();
    place.repository("bank");
    for target in ["bank/.git/worktrees/x", "gone/.git/worktrees/x"] {
        place.file(
            "archive/.git",
            &format!("gitdir: {}\n", place.at(target).display()),
        );
        let archive = place.at("archive");
        assert_eq!(project(&archive), named("archive", archive.clone()), "{target}");
    }
    let other = format!("{}\n", place.at("elsewhere/.git").display());
    place.file("bank/.git/worktrees/x/gitdir", &other);
    place.file(
        "archive/.git",
        &format!("gitdir: {}\n", place.at("bank/.git/worktrees/x").display()),
    );
    assert_eq!(
        project(&place.at("archive")),
        named("archive", place.at("archive"))
    );
}

#[test]
fn a_broken_repository_is_passed_over() {
    let place = Place::new();
    let root = place.repository("proj");
    place.file("proj/a/.git", "no pointer at all \u{0}\n");
    fs::write(place.folder("proj/b").join(".git"), [0xff, 0xfe, 0x00]).unwrap();
    place.file("proj/c/.git", "gitdir:   \n");
    place.folder("proj/d/.git");
    std::os::unix::fs::symlink("nowhere", place.folder("proj/e").join(".git")).unwrap();
    let pipe = place.folder("proj/f").join(".git");
    assert!(Command::new("mkfifo").arg(pipe).status().unwrap().success());
    for one in ["a", "b", "c", "d", "e", "f"] {
        let folder = place.at("proj").join(one);
        assert_eq!(project(&folder), named("proj", root.clone()), "{one}");
    }
}

#[test]
fn the_inside_of_a_bare_repository_is_no_project() {
    let place = Place::new();
    place.file("proj.git/HEAD", "ref: refs/heads/main\n");
    assert_eq!(project(&place.folder("proj.git/hooks")), None);
}

fn check(cwd: &str, expected: &str) {
    let found = ProjectFinder::new().name_of_cwd(cwd);
    assert_eq!(found.as_deref().unwrap_or(""), expected, "{cwd}");
}

#[test]
fn a_folder_that_is_gone_is_known_by_its_name() {
    check("/nowhere/me/proj", "proj");
    check("/nowhere/me/proj/", "proj");
    check("/nowhere/proj/../other/.", "other");
    check("proj", "proj");
    check("~/proj", "proj");
    check(r"C:\Users\me\proj", "proj");
    check("C:/Users/me/proj", "proj");
    check(r"\\server\share\proj", "proj");
    check(r"\\?\C:\Users\me\proj", "proj");
    check("/nowhere/back\\slash", "back\\slash");
    check("/nowhere/two\n\u{7}lines", "two lines");
}

#[test]
fn a_path_without_a_name_names_nothing() {
    for cwd in ["", "  ", "/", "//", ".", "..", "~", "C:\\", "C:", "\\\\"] {
        check(cwd, "");
    }
}

#[test]
fn worktree_folders_are_folded_away() {
    check("/home/nobody-x/src/proj/.claude/worktrees/x", "proj");
    check("/home/nobody-x/src/proj/.claude/worktrees/x/crates/core", "proj");
    check(r"C:\Users\me\proj\.claude\worktrees\x", "proj");
    check("/nowhere/proj/.worktrees/x", "proj");
    check("/nowhere/proj.worktrees/x/src", "proj");
    check("/nowhere/proj-worktrees/x", "proj");
    check("/nowhere/proj/.git/worktrees/x", "proj");
    check("/nowhere/proj.git/worktrees/x", "proj");
    check("/nowhere/proj/worktrees/x", "proj");
    check("/nowhere/src/worktrees/proj/x", "proj");
    check("/worktrees/proj/x", "proj");
    check("/home/nobody-x/worktrees/proj", "proj");
    check("/Users/nobody-x/.cursor/worktrees/proj/x", "proj");
    check("/Users/nobody-x/.codex/worktrees/1f3a/proj", "proj");
    check("/mnt/c/Users/nobody-x/.cursor/worktrees/proj/x", "proj");
    check("/home/nobody-x/.claude-worktrees/proj/brave-name", "proj");
    check("/nowhere/a/.worktrees/x/.claude/worktrees/y", "a");
}

#[test]
fn a_folder_called_like_worktrees_alone_keeps_its_name() {
    check("/nowhere/proj.worktrees", "proj.worktrees");
    check("/nowhere/worktrees", "worktrees");
    check("/nowhere/-worktrees/x", "x");
}

#[test]
fn a_removed_folder_of_a_repository_still_belongs_to_it() {
    let place = Place::new();
    let root = place.repository("proj");
    let gone = |path: &str| root.join(path).to_string_lossy().into_owned();
    check(&gone("old/folder"), "proj");
    check(&gone(".claude/worktrees/x"), "proj");
    check(&place.folder("plain/folder").to_string_lossy(), "folder");
}

#[test]
fn a_repository_of_a_whole_home_has_only_what_is_really_there() {
    let place = Place::new();
    let home = place.repository("home/me").to_string_lossy().into_owned();
    check(&place.folder("home/me/notes").to_string_lossy(), "me");
    if cwd::SpelledPath::new(&home).is_home() {
        check(&format!("{home}/code/proj"), "proj");
    } else {
        println!("not shown: temporary folders lie too deep here to look like a home");
    }
}

#[test]
fn homes_are_no_projects() {
    let home = |path: &str| cwd::SpelledPath::new(path).is_home();
    assert!(home("/home/me") && home("/root") && home(r"C:\Users\me") && home("/"));
    assert!(!home("/home/me/proj") && !home("/srv") && !home(r"C:\Users\me\proj"));
}

#[test]
fn names_are_tidied() {
    let tidy = |text: &str| tidy_name(text).unwrap_or_default();
    assert_eq!(tidy("  my \t\n project "), "my project");
    assert_eq!(tidy("cafe\u{301}"), "caf\u{e9}");
    assert_eq!(tidy("e\u{0}\u{301} \u{1b}[31m"), "\u{e9} [31m");
    assert_eq!(tidy_name(" \u{7} \u{2028}\n"), None);
    assert_eq!(tidy(&"é".repeat(500)), "é".repeat(128));
    assert_eq!(tidy(&format!("{} b", "a".repeat(127))), "a".repeat(127));
}

#[test]
fn spellings_of_one_name_fold_alike() {
    for spelling in [
        "My_Project",
        "my-project",
        "MY  PROJECT",
        ".my.project.",
        "ｍｙ＿project",
    ] {
        assert_eq!(fold_name(spelling), "my-project");
    }
    assert_eq!(fold_name("Caf\u{c9}"), fold_name("cafe\u{301}"));
    assert_eq!(fold_name("ﬁle"), "file");
    assert_ne!(fold_name("myproject"), fold_name("my-project"));
    assert_ne!(fold_name("c++"), fold_name("c"));
}

#[test]
fn the_room_of_a_file_is_its_folder() {
    let room = |path: &str| room_of(Path::new(path), Path::new("/p"));
    assert_eq!(room("/p/a.md"), "general");
    assert_eq!(room("/p/docs/a.md"), "docs");
    assert_eq!(room("/p/docs/api/v1/a.md"), "docs/api");
    assert_eq!(room("/elsewhere/docs/a.md"), "general");
    assert_eq!(room("/p/a\nb/ /c.md"), "a b");
    assert_eq!(room("/p"), "general");
}

proptest! {
    #[test]
    fn a_tidy_name_is_tidy(text in "\\PC*|[ \\t\\u{0}-\\u{20}\\u{300}-\\u{310}a-cé]{0,200}") {
        if let Some(name) = tidy_name(&text) {
            prop_assert_eq!(tidy_name(&name), Some(name.clone()));
            prop_assert!(name.chars().count() <= 128);
            prop_assert!(!name.chars().any(char::is_control));
        }
    }

    #[test]
    fn folding_twice_is_folding_once(text in "\\PC*") {
        let once = fold_name(&text);
        prop_assert_eq!(fold_name(&once), once.clone());
        prop_assert!(!once.starts_with('-') && !once.ends_with('-'));
    }

    #[test]
    fn no_working_folder_breaks_anything(text in "(/|\\\\|\\.|~|C:|worktrees|\\.git|a| |-worktrees|é){0,12}") {
        let text = text.trim_start_matches('/');
        if let Some(name) = ProjectFinder::new().name_of_cwd(text) {
            prop_assert_eq!(tidy_name(&name), Some(name));
        }
    }
}
