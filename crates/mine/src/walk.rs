//! Which files there are to mine: every file below some roots, but what ignore rules, habit and sense leave out.

mod listing;
mod roots;
mod rules;
mod triage;
mod vendored;

use std::collections::{HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::vec::IntoIter;

use loci_core::Result;

use crate::formats::BundleFormat;
use crate::source::FoundSource;
use crate::stat::{Stat, check_readable, odd_kind, size_in_words, system_words};
use listing::Listing;
use roots::Roots;
use rules::{Excludes, Rules};
use triage::{Step, StepAction};

/// What to walk, and what to take.
#[derive(Debug, Clone, Copy)]
pub struct WalkRequest<'a> {
    /// Files and folders to begin at. What is named here is taken even if it is hidden, ignored or vendored.
    pub roots: &'a [PathBuf],
    /// Files with more bytes are skipped.
    pub max_bytes: u64,
    /// Take hidden files and folders, too.
    pub hidden: bool,
    /// Take what ignore rules leave out, vendored folders and lock files, too.
    pub ignored: bool,
    /// Formats whose files are found together.
    pub bundles: &'a [BundleFormat],
    /// Files and folders that are never touched, such as the palace itself.
    pub avoid: &'a [PathBuf],
    /// The user's own ignore file for every repository; [`global_excludes`] knows where it lies.
    pub excludes: Option<&'a Path>,
}

/// Where git keeps the user's own ignore rules: `core.excludesFile`, or the place it has by default. Reads the
/// environment, so it is for the one who starts the walk.
pub fn global_excludes() -> Option<PathBuf> {
    ignore::gitignore::gitconfig_excludes_path()
}

/// One thing a walk came upon. Paths are absolute and without links.
#[derive(Debug, Clone)]
pub enum WalkEvent {
    /// A file or a bundle to mine.
    Source(FoundSource),
    /// Something that looked like a source and cannot be one, to be listed.
    Skipped {
        /// Its path.
        path: PathBuf,
        /// The reason, in words.
        reason: String,
    },
    /// Something that is not expected to be mined, to be counted. Nothing below it was looked at.
    LeftOut {
        /// Its path.
        path: PathBuf,
        /// The reason.
        cause: LeftOutCause,
    },
}

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LeftOutCause {
    /// Its name begins with a dot: `hidden` takes it.
    Hidden,
    /// An ignore rule: `ignored` takes it.
    Ignored,
    /// A folder of other people's code, or one that a tool can make again: `ignored` takes it.
    Vendored,
}

/// Starts a walk over all roots. Every root must exist, or nothing is walked.
///
/// Each folder is gone through in the order of its names' bytes, a folder right where its name stands, and each thing
/// comes once. Links are listed and not followed, but for the roots themselves. Nothing that is not a regular file is
/// opened. The folders of version control are passed over without a word, and a folder that holds a palace is never
/// entered. At any moment only the folders on the way down are in memory; a walk that is dropped looks no further.
pub fn walk<'a>(request: &WalkRequest<'a>) -> Result<SourceWalk<'a>> {
    let avoid = request.avoid.iter();
    Ok(SourceWalk {
        request: *request,
        roots: Rc::new(Roots::resolve(request.roots)?),
        next_root: 0,
        home: PathBuf::new(),
        levels: Vec::new(),
        avoid: avoid.filter_map(|path| path.canonicalize().ok()).collect(),
        excludes: Excludes::read(request.excludes.filter(|_| !request.ignored)),
        claimed: HashSet::new(),
        events: VecDeque::new(),
    })
}

/// A folder the walk is in the middle of.
#[derive(Debug)]
struct Level {
    folder: PathBuf,
    steps: IntoIter<Step>,
    rules: Rc<Rules>,
}

/// A walk under way: gives what it comes upon, one thing at a time.
#[derive(Debug)]
pub struct SourceWalk<'a> {
    request: WalkRequest<'a>,
    roots: Rc<Roots>,
    next_root: usize,
    /// What the sources of the present root belong to.
    home: PathBuf,
    /// The folders on the way down, the present one last.
    levels: Vec<Level>,
    avoid: HashSet<PathBuf>,
    excludes: Excludes,
    /// Files that belong to a bundle found elsewhere and were not passed yet.
    claimed: HashSet<PathBuf>,
    /// What was come upon and not given yet: one step may find several things.
    events: VecDeque<WalkEvent>,
}

impl Iterator for SourceWalk<'_> {
    type Item = WalkEvent;

    fn next(&mut self) -> Option<WalkEvent> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Some(event);
            }
            if !self.levels.is_empty() {
                self.take_step();
            } else {
                let roots = Rc::clone(&self.roots);
                let root = roots.iter().nth(self.next_root)?;
                self.next_root += 1;
                self.begin_root(root);
            }
        }
    }
}

impl SourceWalk<'_> {
    fn begin_root(&mut self, root: &Path) {
        if root.ancestors().any(|one| self.avoid.contains(one)) {
            return self.skip(root, triage::AVOIDED);
        }
        let kind = match root.symlink_metadata() {
            Ok(metadata) => metadata.file_type(),
            Err(error) => return self.skip(root, system_words(&error)),
        };
        if let Some(odd) = odd_kind(kind) {
            return self.skip(root, odd);
        }
        self.home = self.roots.home(root, kind.is_dir()).to_path_buf();
        if vendored::is_palace_file(root) {
            self.skip(root, triage::PALACE);
        } else if let Some(action) = self.bundle_at(root, kind) {
            self.take(root.to_path_buf(), action);
        } else if kind.is_dir() {
            let rules = if self.request.ignored {
                Rc::default()
            } else {
                Rules::above(root, &mut self.excludes)
            };
            self.enter(root.to_path_buf(), &rules, true);
        } else {
            self.take(root.to_path_buf(), StepAction::File);
        }
    }

    /// Goes one step on in the present folder, or leaves it.
    fn take_step(&mut self) {
        let Some(level) = self.levels.last_mut() else {
            return;
        };
        let Some(step) = level.steps.next() else {
            self.levels.pop();
            return;
        };
        let path = level.folder.join(&step.name);
        if matches!(step.action, StepAction::Folder) {
            let rules = Rc::clone(&level.rules);
            self.enter(path, &rules, false);
        } else {
            self.take(path, step.action);
        }
    }

    /// Lists a folder and sorts what lies in it. All of it is sorted before any is handed on, so that a bundle may
    /// claim what lies beside it under any name.
    fn enter(&mut self, folder: PathBuf, above: &Rc<Rules>, is_root: bool) {
        let listing = match Listing::read(&folder) {
            Ok(listing) => listing,
            Err(error) => return self.skip(&folder, system_words(&error)),
        };
        if vendored::is_palace(&listing) {
            return self.skip(&folder, triage::PALACE);
        }
        let taken = is_root || self.request.ignored;
        if !taken && vendored::by_content(&folder, &listing) {
            return self.leave_out(folder, LeftOutCause::Vendored);
        }
        let rules = if self.request.ignored {
            Rc::clone(above)
        } else {
            Rules::below(above, &folder, &listing, &mut self.excludes)
        };
        for (path, reason) in self.excludes.take_unread() {
            self.skip(&path, reason);
        }
        let steps = self.triage(&folder, &listing, &rules).into_iter();
        self.levels.push(Level { folder, steps, rules });
    }

    fn take(&mut self, path: PathBuf, action: StepAction) {
        if self.claimed.remove(&path) {
            return;
        }
        match action {
            StepAction::File => self.take_file(path),
            StepAction::Bundle(format, files) => self.take_bundle(path, format, files),
            StepAction::Skipped(reason) => self.skip(&path, reason),
            StepAction::LeftOut(cause) => self.leave_out(path, cause),
            StepAction::Folder => {}
        }
    }

    fn take_file(&mut self, path: PathBuf) {
        let stat = match Stat::read(&path).and_then(|stat| check_readable(&path).map(|()| stat)) {
            Ok(stat) => stat,
            Err(error) => return self.skip(&path, system_words(&error)),
        };
        if stat.size == 0 {
            return self.skip(&path, "empty");
        }
        if stat.size > self.request.max_bytes {
            return self.skip(&path, over_the_limit(stat.size, self.request.max_bytes));
        }
        let source = FoundSource::file(path, self.home.clone(), stat);
        self.events.push_back(WalkEvent::Source(source));
    }

    fn take_bundle(&mut self, path: PathBuf, format: BundleFormat, files: Vec<PathBuf>) {
        let mut stats = Vec::with_capacity(files.len());
        for file in files {
            match Stat::read(&file) {
                Ok(stat) => stats.push((file, stat)),
                Err(error) => self.skip(&file, system_words(&error)),
            }
        }
        let source = FoundSource::bundle(path, self.home.clone(), format, stats);
        self.events.push_back(WalkEvent::Source(source));
    }

    fn skip(&mut self, path: &Path, reason: impl Into<String>) {
        self.events.push_back(WalkEvent::Skipped {
            path: path.to_path_buf(),
            reason: reason.into(),
        });
    }

    fn leave_out(&mut self, path: PathBuf, cause: LeftOutCause) {
        self.events.push_back(WalkEvent::LeftOut { path, cause });
    }
}

fn over_the_limit(size: u64, limit: u64) -> String {
    let (mut have, mut may) = (size_in_words(size), size_in_words(limit));
    if have == may {
        (have, may) = (format!("{size} bytes"), format!("{limit} bytes"));
    }
    format!("{have} is over the limit of {may}; raise it with --max-size")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_and_its_limit_never_look_the_same() {
        let text = over_the_limit(82_400_000, 64_000_000);
        assert_eq!(
            text,
            "82.4 MB is over the limit of 64.0 MB; raise it with --max-size"
        );
        let text = over_the_limit(64_000_001, 64_000_000);
        assert!(text.starts_with("64000001 bytes is over the limit of 64000000 bytes;"));
    }
}
