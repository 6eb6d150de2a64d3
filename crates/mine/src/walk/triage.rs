//! Decides what to do with each entry of a folder: enter it, report it, or leave it out.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use super::listing::FolderListing;
use super::rules::IgnoreRules;
use super::{LeftOutCause, SourceWalk, vendored};
use crate::formats::BundleFormat;
use crate::stat::{describe_special_file, system_words};

/// The reason given for a path on the request's list of paths to avoid.
pub(super) const AVOIDED: &str = "excluded by request";
/// The reason given for a palace.
pub(super) const PALACE: &str = "a palace";

/// A hidden file that holds conversations. Aider, which writes it, also adds it to `.gitignore`.
const HISTORY: &str = ".aider.chat.history.md";

/// An entry of a folder, and what to do with it.
#[derive(Debug)]
pub(super) struct FolderStep {
    pub(super) name: OsString,
    pub(super) action: StepAction,
}

/// The action to take on an entry.
#[derive(Debug)]
pub(super) enum StepAction {
    /// Enters a folder.
    Folder,
    /// Reports a file as a source.
    File,
    /// Reports these files together as one source.
    Bundle(BundleFormat, Vec<PathBuf>),
    /// Lists the entry with this reason.
    Skipped(String),
    /// Counts the entry under this cause.
    LeftOut(LeftOutCause),
}

impl SourceWalk<'_> {
    /// Returns the actions for everything in `folder`, in order.
    pub(super) fn triage_folder(
        &mut self,
        folder: &Path,
        listing: &FolderListing,
        rules: &IgnoreRules,
    ) -> Vec<FolderStep> {
        let mut steps = Vec::new();
        for (name, kind) in listing.iter() {
            let path = folder.join(name);
            let word = name.to_str().unwrap_or_default();
            // Neither gets an event: `.git` is never mined, and a claimed file is reported with its bundle.
            if vendored::is_version_control(word) || self.claimed.remove(&path) {
                continue;
            }
            if self.roots.contains(&path) {
                // A root is walked separately, but it may be a bundle that claims files beside it, so it is asked.
                self.bundle_at(&path, kind);
                continue;
            }
            let action = self
                .left_out_cause(&path, name, kind, listing, rules)
                .map(StepAction::LeftOut)
                .or_else(|| self.skip_reason(&path, word, kind).map(StepAction::Skipped))
                .or_else(|| self.bundle_at(&path, kind))
                .unwrap_or(if kind.is_dir() {
                    StepAction::Folder
                } else {
                    StepAction::File
                });
            let name = name.to_owned();
            steps.push(FolderStep { name, action });
        }
        steps
    }

    fn left_out_cause(
        &self,
        path: &Path,
        name: &OsStr,
        kind: FileType,
        beside: &FolderListing,
        rules: &IgnoreRules,
    ) -> Option<LeftOutCause> {
        let (hidden, ignored) = (self.request.hidden, self.request.ignored);
        let word = name.to_str().unwrap_or_default();
        // The order decides which cause is reported: a hidden folder that is also ignored counts as hidden.
        if word == HISTORY && kind.is_file() {
            None
        } else if !hidden && name.as_encoded_bytes().starts_with(b".") {
            Some(LeftOutCause::Hidden)
        } else if !ignored && kind.is_dir() && vendored::is_vendored_name(word, beside) {
            Some(LeftOutCause::Vendored)
        } else if !ignored && rules.excludes_path(path, kind.is_dir()) {
            Some(LeftOutCause::Ignored)
        } else {
            None
        }
    }

    fn skip_reason(&self, path: &Path, word: &str, kind: FileType) -> Option<String> {
        if kind.is_symlink() {
            return Some(link_in_words(path));
        }
        if let Some(odd) = describe_special_file(kind) {
            return Some(odd.to_owned());
        }
        if self.avoid.contains(path) {
            return Some(AVOIDED.to_owned());
        }
        let lock = kind.is_file() && !self.request.ignored && vendored::is_lock_file(word);
        lock.then(|| "a lock file".to_owned())
    }

    /// Returns the bundle that begins at `path`, if a format recognises one, and claims its files.
    pub(super) fn bundle_at(&mut self, path: &Path, kind: FileType) -> Option<StepAction> {
        let formats = self.request.bundles;
        if formats.is_empty()
            || describe_special_file(kind).is_some()
            || (kind.is_dir() && vendored::holds_palace(path))
        {
            return None;
        }
        let (format, files) = formats
            .iter()
            .find_map(|format| Some((*format, (format.files)(path)?)))?;
        // Files inside a bundle's folder are skipped with the folder, unless a root below it was named: then the
        // walk comes by again and has to know that they are taken.
        let inside = !self.roots.lie_below(path);
        let apart = files
            .iter()
            .filter(|file| *file != path && !(inside && file.starts_with(path)));
        self.claimed.extend(apart.cloned());
        Some(StepAction::Bundle(format, files))
    }
}

fn link_in_words(path: &Path) -> String {
    match fs::read_link(path) {
        Ok(target) => format!("a symbolic link to {}", target.display()),
        Err(error) => format!("a symbolic link: {}", system_words(&error)),
    }
}
