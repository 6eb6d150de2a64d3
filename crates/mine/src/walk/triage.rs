//! Sorts what lies in a folder: what to enter, what to hand on, what to leave.

use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType};
use std::path::{Path, PathBuf};

use super::listing::Listing;
use super::rules::Rules;
use super::{LeftOutCause, SourceWalk, vendored};
use crate::formats::BundleFormat;
use crate::stat::{odd_kind, system_words};

/// Why a folder on the list of those to avoid is skipped.
pub(super) const AVOIDED: &str = "it was asked to be left alone";
/// Why a palace is skipped.
pub(super) const PALACE: &str = "a palace";

/// A hidden file that people's words are kept in; the tool that writes it asks git to ignore it, too.
const HISTORY: &str = ".aider.chat.history.md";

/// Something in a folder, and what to do with it.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) name: OsString,
    pub(super) action: StepAction,
}

/// StepAction to do with something.
#[derive(Debug)]
pub(super) enum StepAction {
    /// Enter it.
    Folder,
    /// Hand it on.
    File,
    /// Hand on these files together.
    Bundle(BundleFormat, Vec<PathBuf>),
    /// List it.
    Skipped(String),
    /// Count it.
    LeftOut(LeftOutCause),
}

impl SourceWalk<'_> {
    /// StepAction to do with everything in `folder`, in its order.
    pub(super) fn triage(&mut self, folder: &Path, listing: &Listing, rules: &Rules) -> Vec<Step> {
        let mut steps = Vec::new();
        for (name, kind) in listing.iter() {
            let path = folder.join(name);
            let word = name.to_str().unwrap_or_default();
            if vendored::is_version_control(word) || self.claimed.remove(&path) {
                continue;
            }
            if self.roots.contains(&path) {
                // It is walked for itself, but what lies beside it may be its own.
                self.bundle_at(&path, kind);
                continue;
            }
            let action = self
                .left_out(&path, name, kind, listing, rules)
                .map(StepAction::LeftOut)
                .or_else(|| self.skipped(&path, word, kind).map(StepAction::Skipped))
                .or_else(|| self.bundle_at(&path, kind))
                .unwrap_or(if kind.is_dir() {
                    StepAction::Folder
                } else {
                    StepAction::File
                });
            let name = name.to_owned();
            steps.push(Step { name, action });
        }
        steps
    }

    fn left_out(
        &self,
        path: &Path,
        name: &OsStr,
        kind: FileType,
        beside: &Listing,
        rules: &Rules,
    ) -> Option<LeftOutCause> {
        let (hidden, ignored) = (self.request.hidden, self.request.ignored);
        let word = name.to_str().unwrap_or_default();
        if word == HISTORY && kind.is_file() {
            None
        } else if !hidden && name.as_encoded_bytes().starts_with(b".") {
            Some(LeftOutCause::Hidden)
        } else if !ignored && kind.is_dir() && vendored::by_name(word, beside) {
            Some(LeftOutCause::Vendored)
        } else if !ignored && rules.leave_out(path, kind.is_dir()) {
            Some(LeftOutCause::Ignored)
        } else {
            None
        }
    }

    fn skipped(&self, path: &Path, word: &str, kind: FileType) -> Option<String> {
        if kind.is_symlink() {
            return Some(link_in_words(path));
        }
        if let Some(odd) = odd_kind(kind) {
            return Some(odd.to_owned());
        }
        if self.avoid.contains(path) {
            return Some(AVOIDED.to_owned());
        }
        let lock = kind.is_file() && !self.request.ignored && vendored::is_lock_file(word);
        lock.then(|| "a lock file".to_owned())
    }

    /// The bundle that begins at `path`, if a format knows it; its files are not found again.
    pub(super) fn bundle_at(&mut self, path: &Path, kind: FileType) -> Option<StepAction> {
        let formats = self.request.bundles;
        if formats.is_empty() || odd_kind(kind).is_some() || (kind.is_dir() && vendored::holds_palace(path)) {
            return None;
        }
        let (format, files) = formats
            .iter()
            .find_map(|format| Some((*format, (format.files)(path)?)))?;
        // StepAction lies inside a bundle's folder is passed over with it, unless it was asked for itself.
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
