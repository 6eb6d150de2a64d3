//! Ignore rules as git applies them: `.gitignore` at every depth, `.git/info/exclude`, the user's own file; and
//! `.ignore`.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::listing::FolderListing;
use crate::project::shared_folder;
use crate::stat::{ReadFailure, read_whole};

/// The size limit of a file of rules, in bytes.
const LONGEST: u64 = 16 << 20;

/// The user's own rules, and the files of rules that could not be read.
#[derive(Debug, Default)]
pub(super) struct UserExcludes {
    text: String,
    unread: Vec<(PathBuf, String)>,
}

impl UserExcludes {
    /// Reads the user's own file, if there is one.
    pub(super) fn read(path: Option<&Path>) -> Self {
        let mut excludes = Self::default();
        // Unlike a `.gitignore` inside a repository, this file is often a link into a folder of dotfiles.
        if let Some(path) = path.and_then(|path| path.canonicalize().ok()) {
            excludes.text = excludes.read_rule_file(&path).unwrap_or_default();
        }
        excludes
    }

    /// Takes the files of rules that could not be read since the last call, with the reasons.
    pub(super) fn take_unread(&mut self) -> Vec<(PathBuf, String)> {
        std::mem::take(&mut self.unread)
    }

    fn read_rule_file(&mut self, path: &Path) -> Option<String> {
        match read_whole(path, LONGEST) {
            Ok((bytes, _)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(ReadFailure::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(failure) => {
                let reason = format!("its ignore rules were not applied: {failure}");
                self.unread.push((path.to_path_buf(), reason));
                None
            }
        }
    }

    /// Reads the rules in `path` that apply below `folder`.
    fn rules_of(&mut self, path: &Path, folder: &Path) -> Option<Gitignore> {
        let text = self.read_rule_file(path)?;
        parse_rules(folder, &text)
    }
}

/// The kinds of rule files that a folder may hold.
#[derive(Debug, Clone, Copy)]
struct RuleFilesPresent {
    ignore: bool,
    gitignore: bool,
    git: bool,
}

/// The rules of one folder and of those above it.
#[derive(Debug, Default)]
pub(super) struct IgnoreRules {
    above: Option<Rc<IgnoreRules>>,
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
    /// Rules that apply if no `.gitignore` matches, the stronger first; set where a repository or the walk begins.
    last: Vec<Gitignore>,
    /// Whether a repository begins here: `.gitignore` files above it belong to another one.
    repository: bool,
}

impl IgnoreRules {
    /// Reads the rules that apply at `root` from above: those between it and the top of its repository. Outside a
    /// repository, files above the root do not apply.
    pub(super) fn above_root(root: &Path, excludes: &mut UserExcludes) -> Rc<Self> {
        // The folders above a root are not listed, so every kind of rule file has to be tried.
        let everything = RuleFilesPresent {
            ignore: true,
            gitignore: true,
            git: true,
        };
        let start = Rc::new(Self {
            last: parse_rules(root, &excludes.text).into_iter().collect(),
            ..Self::default()
        });
        let folders: Vec<&Path> = root.ancestors().collect();
        let top = folders.iter().position(|folder| shared_folder(folder).is_some());
        // Without a repository the range is 1..=0, which is empty: nothing above the root counts.
        let between = folders.get(1..=top.unwrap_or(0)).unwrap_or_default();
        between.iter().rev().fold(start, |above, folder| {
            Self::with_folder(&above, folder, everything, excludes)
        })
    }

    /// Reads the rules that apply inside `folder`.
    pub(super) fn inside_folder(
        above: &Rc<Self>,
        folder: &Path,
        listing: &FolderListing,
        excludes: &mut UserExcludes,
    ) -> Rc<Self> {
        let present = RuleFilesPresent {
            ignore: listing.kind(".ignore").is_some_and(|kind| !kind.is_dir()),
            gitignore: listing.kind(".gitignore").is_some_and(|kind| !kind.is_dir()),
            git: listing.kind(".git").is_some(),
        };
        Self::with_folder(above, folder, present, excludes)
    }

    fn with_folder(
        above: &Rc<Self>,
        folder: &Path,
        present: RuleFilesPresent,
        excludes: &mut UserExcludes,
    ) -> Rc<Self> {
        let mut read = |there: bool, file: &Path| there.then(|| excludes.rules_of(file, folder))?;
        let ignore = read(present.ignore, &folder.join(".ignore"));
        let gitignore = read(present.gitignore, &folder.join(".gitignore"));
        let shared = present.git.then(|| shared_folder(folder)).flatten();
        // Git reads this file through a link, too, but not a `.gitignore`; `read_whole` follows no link.
        let own = shared
            .as_ref()
            .and_then(|git| git.join("info/exclude").canonicalize().ok());
        let own = own.and_then(|file| read(true, &file));
        // Most folders add no rules; sharing the chain of their parent keeps a deep walk cheap.
        if ignore.is_none() && gitignore.is_none() && shared.is_none() {
            return Rc::clone(above);
        }
        // Patterns with a slash are relative to the top of a repository, so the user's rules are parsed anew
        // for each one.
        let users = shared.as_ref().and_then(|_| parse_rules(folder, &excludes.text));
        Rc::new(Self {
            above: Some(Rc::clone(above)),
            ignore,
            gitignore,
            last: own.into_iter().chain(users).collect(),
            repository: shared.is_some(),
        })
    }

    /// Returns whether the rules exclude this path: `.ignore` files decide first, then `.gitignore` files, each from
    /// the nearest folder up, then the rules of the whole repository.
    pub(super) fn excludes_path(&self, path: &Path, is_folder: bool) -> bool {
        let say = |rules: &Gitignore| match rules.matched(path, is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        };
        let first = self
            .self_and_ancestors()
            .filter_map(|rules| rules.ignore.as_ref())
            .find_map(say);
        first
            .or_else(|| self.repository_rules().find_map(say))
            .unwrap_or(false)
    }

    /// Returns these rules and all above them, the nearest first.
    fn self_and_ancestors(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }

    /// Returns git's own rules up to the beginning of the repository, the strongest first.
    fn repository_rules(&self) -> impl Iterator<Item = &Gitignore> {
        // A nested repository is judged by its own rules alone, as git does it.
        let depth = self.self_and_ancestors().position(|rules| rules.repository);
        let within = move || {
            self.self_and_ancestors()
                .take(depth.map_or(usize::MAX, |depth| depth + 1))
        };
        let files = within().filter_map(|rules| rules.gitignore.as_ref());
        files.chain(within().flat_map(|rules| &rules.last))
    }
}

/// Parses the rules in `text` that apply below `folder`; `None` if there are none. Git ignores invalid lines as well.
fn parse_rules(folder: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        builder.add_line(None, line).ok();
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
