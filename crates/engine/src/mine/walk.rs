//! Which files there are to mine: every file below some roots, but what ignore rules, habit and sense leave out.

mod listing;
mod roots;
mod rules;
mod triage;
mod vendored;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::vec::IntoIter;

use loci_core::Result;

use super::formats::BundleFormat;
use super::stat::{Stat, check_readable, odd_kind, size_in_words, system_words};
use listing::Listing;
use roots::Roots;
use rules::{Excludes, Rules};
use triage::{Step, What};

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

/// Something a walk came upon. Paths are absolute and without links.
#[derive(Debug, Clone)]
pub enum Found {
    /// A file to mine.
    File {
        /// Where it lies.
        path: PathBuf,
        /// The outermost folder asked for that holds it; its own folder, where only the file was asked for.
        root: PathBuf,
        /// What a stat says of it.
        stat: Stat,
    },
    /// Files that are mined together.
    Bundle {
        /// The folder or file it begins at.
        path: PathBuf,
        /// The outermost folder asked for that holds it, as for a file.
        root: PathBuf,
        /// The format that knows it.
        format: BundleFormat,
        /// Its files, as the format lists them, and what a stat says of each.
        files: Vec<(PathBuf, Stat)>,
    },
    /// Something that looked like a source and cannot be one, to be listed.
    Skipped {
        /// Where it lies.
        path: PathBuf,
        /// Why, in words.
        reason: String,
    },
    /// Something nobody expects to be mined, to be counted. Nothing below it was looked at.
    LeftOut {
        /// Where it lies.
        path: PathBuf,
        /// Why.
        cause: Cause,
    },
}

/// Why something was left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Cause {
    /// Its name begins with a dot: `hidden` takes it.
    Hidden,
    /// An ignore rule: `ignored` takes it.
    Ignored,
    /// A folder of other people's code, or one that a tool can make again: `ignored` takes it.
    Vendored,
}

/// Walks all roots and hands on what it finds, one thing at a time, each once. An error from `each` ends the walk.
///
/// Every root must exist, or nothing is walked. Each folder is gone through in the order of its names' bytes, a folder
/// right where its name stands. Links are listed and not followed, but for the roots themselves. Nothing that is not a
/// regular file is opened. The folders of version control are passed over without a word, and a folder that holds a
/// palace is never entered. At any moment only the folders on the way down are in memory.
pub fn walk(request: &WalkRequest<'_>, each: &mut dyn FnMut(Found) -> Result<()>) -> Result<()> {
    let roots = Roots::resolve(request.roots)?;
    let mut walker = Walker {
        request,
        roots: &roots,
        avoid: request
            .avoid
            .iter()
            .filter_map(|path| path.canonicalize().ok())
            .collect(),
        excludes: Excludes::read(request.excludes.filter(|_| !request.ignored)),
        claimed: HashSet::new(),
        each,
    };
    roots.iter().try_for_each(|root| walker.begin(root))
}

/// A folder the walk is in the middle of.
struct Level {
    folder: PathBuf,
    steps: IntoIter<Step>,
    rules: Rc<Rules>,
}

struct Walker<'a> {
    request: &'a WalkRequest<'a>,
    roots: &'a Roots,
    avoid: HashSet<PathBuf>,
    excludes: Excludes,
    /// Files that belong to a bundle found elsewhere and were not passed yet.
    claimed: HashSet<PathBuf>,
    each: &'a mut dyn FnMut(Found) -> Result<()>,
}

impl Walker<'_> {
    fn begin(&mut self, root: &Path) -> Result<()> {
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
        let home = self.roots.home(root, kind.is_dir()).to_path_buf();
        if vendored::is_palace_file(root) {
            self.skip(root, triage::PALACE)
        } else if let Some(what) = self.bundle_at(root, kind) {
            self.take(root.to_path_buf(), what, &home)
        } else if kind.is_dir() {
            self.descend(root, &home)
        } else {
            self.take(root.to_path_buf(), What::File, &home)
        }
    }

    fn descend(&mut self, root: &Path, home: &Path) -> Result<()> {
        let rules = match self.request.ignored {
            true => Rc::default(),
            false => Rules::above(root, &mut self.excludes),
        };
        let mut levels: Vec<Level> = self
            .enter(root.to_path_buf(), &rules, true)?
            .into_iter()
            .collect();
        while let Some(level) = levels.last_mut() {
            let Some(step) = level.steps.next() else {
                levels.pop();
                continue;
            };
            let path = level.folder.join(&step.name);
            if matches!(step.what, What::Folder) {
                let rules = Rc::clone(&level.rules);
                levels.extend(self.enter(path, &rules, false)?);
            } else {
                self.take(path, step.what, home)?;
            }
        }
        Ok(())
    }

    /// Lists a folder and sorts what lies in it. All of it is sorted before any is handed on, so that a bundle may
    /// claim what lies beside it under any name.
    fn enter(&mut self, folder: PathBuf, above: &Rc<Rules>, is_root: bool) -> Result<Option<Level>> {
        let listing = match Listing::read(&folder) {
            Ok(listing) => listing,
            Err(error) => return self.skip(&folder, system_words(&error)).map(|()| None),
        };
        if vendored::is_palace(&listing) {
            return self.skip(&folder, triage::PALACE).map(|()| None);
        }
        let taken = is_root || self.request.ignored;
        if !taken && vendored::by_content(&folder, &listing) {
            return self.leave_out(folder, Cause::Vendored).map(|()| None);
        }
        let rules = match self.request.ignored {
            true => Rc::clone(above),
            false => Rules::below(above, &folder, &listing, &mut self.excludes),
        };
        for (path, reason) in self.excludes.take_unread() {
            self.skip(&path, reason)?;
        }
        let steps = self.triage(&folder, &listing, &rules).into_iter();
        Ok(Some(Level { folder, steps, rules }))
    }

    fn take(&mut self, path: PathBuf, what: What, root: &Path) -> Result<()> {
        if self.claimed.remove(&path) {
            return Ok(());
        }
        match what {
            What::File => self.file(path, root),
            What::Bundle(format, files) => self.bundle(path, root, format, files),
            What::Skipped(reason) => self.skip(&path, reason),
            What::LeftOut(cause) => self.leave_out(path, cause),
            What::Folder => Ok(()),
        }
    }

    fn file(&mut self, path: PathBuf, root: &Path) -> Result<()> {
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
        let root = root.to_path_buf();
        (self.each)(Found::File { path, root, stat })
    }

    fn bundle(
        &mut self,
        path: PathBuf,
        root: &Path,
        format: BundleFormat,
        files: Vec<PathBuf>,
    ) -> Result<()> {
        let mut stats = Vec::with_capacity(files.len());
        for file in files {
            match Stat::read(&file) {
                Ok(stat) => stats.push((file, stat)),
                Err(error) => self.skip(&file, system_words(&error))?,
            }
        }
        (self.each)(Found::Bundle {
            path,
            root: root.to_path_buf(),
            format,
            files: stats,
        })
    }

    fn skip(&mut self, path: &Path, reason: impl Into<String>) -> Result<()> {
        (self.each)(Found::Skipped {
            path: path.to_path_buf(),
            reason: reason.into(),
        })
    }

    fn leave_out(&mut self, path: PathBuf, cause: Cause) -> Result<()> {
        (self.each)(Found::LeftOut { path, cause })
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
