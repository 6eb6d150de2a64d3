//! Ignore rules as git has them: `.gitignore` at every depth, `.git/info/exclude`, the user's own file; and `.ignore`.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::listing::Listing;
use crate::project::shared_folder;
use crate::stat::{ReadFailure, read_whole};

/// The longest file of rules that is read.
const LONGEST: u64 = 16 << 20;

/// The user's own rules, and rules that could not be read.
#[derive(Debug, Default)]
pub(super) struct Excludes {
    text: String,
    unread: Vec<(PathBuf, String)>,
}

impl Excludes {
    /// Reads the user's own file, if there is one.
    pub(super) fn read(path: Option<&Path>) -> Self {
        let mut excludes = Self::default();
        // Unlike one inside a repository, this may well be a link.
        if let Some(path) = path.and_then(|path| path.canonicalize().ok()) {
            excludes.text = excludes.text_of(&path).unwrap_or_default();
        }
        excludes
    }

    /// The files of rules that could not be read since the last call, and why.
    pub(super) fn take_unread(&mut self) -> Vec<(PathBuf, String)> {
        std::mem::take(&mut self.unread)
    }

    fn text_of(&mut self, path: &Path) -> Option<String> {
        match read_whole(path, LONGEST) {
            Ok((bytes, _)) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(ReadFailure::Io(error)) if error.kind() == io::ErrorKind::NotFound => None,
            Err(failure) => {
                let reason = format!("its rules were not followed: {failure}");
                self.unread.push((path.to_path_buf(), reason));
                None
            }
        }
    }

    /// The rules in `path` for what lies below `folder`.
    fn rules_of(&mut self, path: &Path, folder: &Path) -> Option<Gitignore> {
        let text = self.text_of(path)?;
        parse(folder, &text)
    }
}

/// Which files of rules a folder may hold.
#[derive(Debug, Clone, Copy)]
struct Present {
    ignore: bool,
    gitignore: bool,
    git: bool,
}

/// The rules of one folder and of those above it.
#[derive(Debug, Default)]
pub(super) struct Rules {
    above: Option<Rc<Rules>>,
    ignore: Option<Gitignore>,
    gitignore: Option<Gitignore>,
    /// What counts where no `.gitignore` has a say, the stronger first; set where a repository or the walk begins.
    last: Vec<Gitignore>,
    /// A repository begins here: `.gitignore` files above it are another one's.
    repository: bool,
}

impl Rules {
    /// The rules that hold at `root` before any file in it is read: those between it and the top of the repository
    /// it lies in. Outside a repository, files above the root are none of its business.
    pub(super) fn above(root: &Path, excludes: &mut Excludes) -> Rc<Self> {
        let everything = Present {
            ignore: true,
            gitignore: true,
            git: true,
        };
        let start = Rc::new(Self {
            last: parse(root, &excludes.text).into_iter().collect(),
            ..Self::default()
        });
        let folders: Vec<&Path> = root.ancestors().collect();
        let top = folders.iter().position(|folder| shared_folder(folder).is_some());
        let between = folders.get(1..=top.unwrap_or(0)).unwrap_or_default();
        between.iter().rev().fold(start, |above, folder| {
            Self::with(&above, folder, everything, excludes)
        })
    }

    /// The rules that hold inside `folder`.
    pub(super) fn below(
        above: &Rc<Self>,
        folder: &Path,
        listing: &Listing,
        excludes: &mut Excludes,
    ) -> Rc<Self> {
        let present = Present {
            ignore: listing.kind(".ignore").is_some_and(|kind| !kind.is_dir()),
            gitignore: listing.kind(".gitignore").is_some_and(|kind| !kind.is_dir()),
            git: listing.kind(".git").is_some(),
        };
        Self::with(above, folder, present, excludes)
    }

    fn with(above: &Rc<Self>, folder: &Path, present: Present, excludes: &mut Excludes) -> Rc<Self> {
        let mut read = |there: bool, file: &Path| there.then(|| excludes.rules_of(file, folder))?;
        let ignore = read(present.ignore, &folder.join(".ignore"));
        let gitignore = read(present.gitignore, &folder.join(".gitignore"));
        let shared = present.git.then(|| shared_folder(folder)).flatten();
        // Unlike a `.gitignore`, git reads this one through a link, too.
        let own = shared
            .as_ref()
            .and_then(|git| git.join("info/exclude").canonicalize().ok());
        let own = own.and_then(|file| read(true, &file));
        if ignore.is_none() && gitignore.is_none() && shared.is_none() {
            return Rc::clone(above);
        }
        let users = shared.as_ref().and_then(|_| parse(folder, &excludes.text));
        Rc::new(Self {
            above: Some(Rc::clone(above)),
            ignore,
            gitignore,
            last: own.into_iter().chain(users).collect(),
            repository: shared.is_some(),
        })
    }

    /// Whether the rules leave this out: `.ignore` has the first say, then `.gitignore`, each from the nearest folder
    /// up, then what holds for the whole repository.
    pub(super) fn leave_out(&self, path: &Path, is_folder: bool) -> bool {
        let say = |rules: &Gitignore| match rules.matched(path, is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        };
        let first = self
            .chain()
            .filter_map(|rules| rules.ignore.as_ref())
            .find_map(say);
        first
            .or_else(|| self.of_repository().find_map(say))
            .unwrap_or(false)
    }

    /// These rules and all above them.
    fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::successors(Some(self), |rules| rules.above.as_deref())
    }

    /// Git's own rules, up to where the repository begins, the strongest first.
    fn of_repository(&self) -> impl Iterator<Item = &Gitignore> {
        let depth = self.chain().position(|rules| rules.repository);
        let within = move || self.chain().take(depth.map_or(usize::MAX, |depth| depth + 1));
        let files = within().filter_map(|rules| rules.gitignore.as_ref());
        files.chain(within().flat_map(|rules| &rules.last))
    }
}

/// The rules in `text` for what lies below `folder`; `None` if there are none. A line that is no rule is none to git
/// either.
fn parse(folder: &Path, text: &str) -> Option<Gitignore> {
    let mut builder = GitignoreBuilder::new(folder);
    for line in text.trim_start_matches('\u{feff}').lines() {
        builder.add_line(None, line).ok();
    }
    builder.build().ok().filter(|rules| !rules.is_empty())
}
