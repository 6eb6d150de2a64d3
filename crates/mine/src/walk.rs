//! Finds the files to mine: every file below some roots, except those that ignore rules or built-in lists exclude.

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
use crate::stat::{FileStat, check_readable, describe_special_file, size_in_words, system_words};
use listing::FolderListing;
use roots::WalkRoots;
use rules::{IgnoreRules, UserExcludes};
use triage::{FolderStep, StepAction};

/// A request for a walk: its roots, and which files it takes.
#[derive(Debug, Clone, Copy)]
pub struct WalkRequest<'a> {
    /// Files and folders to begin at. A root is taken even if it is hidden, ignored or vendored.
    pub roots: &'a [PathBuf],
    /// Files with more bytes are skipped.
    pub max_bytes: u64,
    /// Takes hidden files and folders, too.
    pub hidden: bool,
    /// Takes ignored files, vendored folders and lock files, too.
    pub ignored: bool,
    /// Takes files whose names say that they hold private keys or credentials, too.
    pub credentials: bool,
    /// Formats whose files are found together.
    pub bundles: &'a [BundleFormat],
    /// Files and folders that are never touched, such as the palace itself.
    pub avoid: &'a [PathBuf],
    /// The user's own ignore file for all repositories; [`global_excludes`] locates it.
    pub excludes: Option<&'a Path>,
}

/// Returns the path of the user's own ignore rules in git: `core.excludesFile`, or its default. Reads the environment,
/// so only the code that starts a walk should call it.
pub fn global_excludes() -> Option<PathBuf> {
    ignore::gitignore::gitconfig_excludes_path()
}

/// One thing that a walk found. Paths are absolute and contain no links.
#[derive(Debug, Clone)]
pub enum WalkEvent {
    /// A file or a bundle to mine.
    Source(FoundSource),
    /// A file that looked like a source but cannot be read as one; callers list it.
    Skipped {
        /// Its path.
        path: PathBuf,
        /// The reason, in words.
        reason: String,
    },
    /// A file or folder that is excluded by rule; callers count it. Nothing below it was examined.
    LeftOut {
        /// Its path.
        path: PathBuf,
        /// The reason.
        cause: LeftOutCause,
    },
}

/// The reason why a file or folder was left out.
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
/// Each folder is walked in byte order of its names, subfolders in their place, and everything is reported once.
/// Links are listed and not followed, except for the roots themselves. Only regular files are opened. Folders of
/// version control are skipped silently, and a folder that holds a palace is never entered. Only the folders on the
/// way down are in memory; dropping a walk stops it.
pub fn walk<'a>(request: &WalkRequest<'a>) -> Result<SourceWalk<'a>> {
    let avoid = request.avoid.iter();
    Ok(SourceWalk {
        request: *request,
        roots: Rc::new(WalkRoots::resolve(request.roots)?),
        next_root: 0,
        home: PathBuf::new(),
        levels: Vec::new(),
        avoid: avoid.filter_map(|path| path.canonicalize().ok()).collect(),
        excludes: UserExcludes::read(request.excludes.filter(|_| !request.ignored)),
        claimed: HashSet::new(),
        events: VecDeque::new(),
    })
}

/// A folder that the walk has entered and not yet finished.
#[derive(Debug)]
struct WalkLevel {
    folder: PathBuf,
    steps: IntoIter<FolderStep>,
    rules: Rc<IgnoreRules>,
}

/// A walk in progress: an iterator over the things it finds.
#[derive(Debug)]
pub struct SourceWalk<'a> {
    request: WalkRequest<'a>,
    roots: Rc<WalkRoots>,
    next_root: usize,
    /// The outermost folder that the sources of the current root belong to.
    home: PathBuf,
    /// The folders on the way down, the current one last.
    levels: Vec<WalkLevel>,
    avoid: HashSet<PathBuf>,
    excludes: UserExcludes,
    /// Files that belong to a bundle found elsewhere and have not been reached yet.
    claimed: HashSet<PathBuf>,
    /// Events that are found and not yet returned: one step may find several.
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
                // The reference count is raised so that the borrow of a root does not hold `self`, which
                // `begin_root` changes.
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
        // A root inside an avoided folder is refused as well: naming a file of the palace must not open it.
        if root.ancestors().any(|one| self.avoid.contains(one)) {
            return self.report_skipped(root, triage::AVOIDED);
        }
        let kind = match root.symlink_metadata() {
            Ok(metadata) => metadata.file_type(),
            Err(error) => return self.report_skipped(root, system_words(&error)),
        };
        if let Some(odd) = describe_special_file(kind) {
            return self.report_skipped(root, odd);
        }
        // Wings and rooms are derived from this folder, so two nested roots must agree on the outer one.
        self.home = self.roots.home_of(root, kind.is_dir()).to_path_buf();
        if vendored::is_palace_file(root) {
            // Checked before anything opens the file: closing it would drop the locks this process may hold
            // on it.
            self.report_skipped(root, triage::PALACE);
        } else if let Some(action) = self.bundle_at(root, kind) {
            self.take_entry(root.to_path_buf(), action);
        } else if kind.is_dir() {
            let rules = if self.request.ignored {
                Rc::default()
            } else {
                IgnoreRules::above_root(root, &mut self.excludes)
            };
            self.enter_folder(root.to_path_buf(), &rules, true);
        } else {
            self.take_entry(root.to_path_buf(), StepAction::File);
        }
    }

    /// Takes the next step in the current folder, or leaves it.
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
            self.enter_folder(path, &rules, false);
        } else {
            self.take_entry(path, step.action);
        }
    }

    /// Lists a folder and decides what to do with each entry. All entries are decided before the first is reported, so
    /// that a bundle can claim files beside it under any name.
    fn enter_folder(&mut self, folder: PathBuf, above: &Rc<IgnoreRules>, is_root: bool) {
        let listing = match FolderListing::read(&folder) {
            Ok(listing) => listing,
            Err(error) => return self.report_skipped(&folder, system_words(&error)),
        };
        if vendored::is_palace(&listing) {
            return self.report_skipped(&folder, triage::PALACE);
        }
        // A root that the user named is walked even if it looks vendored; only folders below it are left out.
        let taken = is_root || self.request.ignored;
        if !taken && vendored::is_vendored_folder(&folder, &listing) {
            return self.report_left_out(folder, LeftOutCause::Vendored);
        }
        let rules = if self.request.ignored {
            Rc::clone(above)
        } else {
            IgnoreRules::inside_folder(above, &folder, &listing, &mut self.excludes)
        };
        // An unreadable ignore file means that files may be mined against the user's will, so it is reported.
        for (path, reason) in self.excludes.take_unread() {
            self.report_skipped(&path, reason);
        }
        let steps = self.triage_folder(&folder, &listing, &rules).into_iter();
        self.levels.push(WalkLevel { folder, steps, rules });
    }

    fn take_entry(&mut self, path: PathBuf, action: StepAction) {
        // A bundle that begins elsewhere already covers this file. The claim is used up: each path is met
        // once.
        if self.claimed.remove(&path) {
            return;
        }
        match action {
            StepAction::File => self.take_file(path),
            StepAction::Bundle(format, files) => self.take_bundle(path, format, files),
            StepAction::Skipped(reason) => self.report_skipped(&path, reason),
            StepAction::LeftOut(cause) => self.report_left_out(path, cause),
            StepAction::Folder => {}
        }
    }

    fn take_file(&mut self, path: PathBuf) {
        // Before anything is read of it, and also if it is a root: a key in a memory that agents read is no secret.
        if !self.request.credentials
            && let Some(what) = loci_secrets::credential_file(&path.to_string_lossy())
        {
            return self.report_skipped(&path, format!("{what}; mine it with --credentials"));
        }
        // Permission is checked here so that an unreadable file is listed by the walk, even if it is
        // unchanged and never loaded.
        let stat = match FileStat::read(&path).and_then(|stat| check_readable(&path).map(|()| stat)) {
            Ok(stat) => stat,
            Err(error) => return self.report_skipped(&path, system_words(&error)),
        };
        if stat.size == 0 {
            return self.report_skipped(&path, "empty");
        }
        if stat.size > self.request.max_bytes {
            return self.report_skipped(&path, size_limit_reason(stat.size, self.request.max_bytes));
        }
        let source = FoundSource::new_file(path, self.home.clone(), stat);
        self.events.push_back(WalkEvent::Source(source));
    }

    fn take_bundle(&mut self, path: PathBuf, format: BundleFormat, files: Vec<PathBuf>) {
        let mut stats = Vec::with_capacity(files.len());
        for file in files {
            match FileStat::read(&file) {
                Ok(stat) => stats.push((file, stat)),
                Err(error) => self.report_skipped(&file, system_words(&error)),
            }
        }
        let source = FoundSource::new_bundle(path, self.home.clone(), format, stats, self.request.max_bytes);
        self.events.push_back(WalkEvent::Source(source));
    }

    fn report_skipped(&mut self, path: &Path, reason: impl Into<String>) {
        self.events.push_back(WalkEvent::Skipped {
            path: path.to_path_buf(),
            reason: reason.into(),
        });
    }

    fn report_left_out(&mut self, path: PathBuf, cause: LeftOutCause) {
        self.events.push_back(WalkEvent::LeftOut { path, cause });
    }
}

/// Says that something is too large, and how to raise the limit.
pub(crate) fn size_limit_reason(size: u64, limit: u64) -> String {
    let (mut have, mut may) = (size_in_words(size), size_in_words(limit));
    // Rounding can make a size and its limit print alike, which would read as a contradiction.
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
        let text = size_limit_reason(82_400_000, 64_000_000);
        assert_eq!(
            text,
            "82.4 MB is over the limit of 64.0 MB; raise it with --max-size"
        );
        let text = size_limit_reason(64_000_001, 64_000_000);
        assert!(text.starts_with("64000001 bytes is over the limit of 64000000 bytes;"));
    }
}
