//! Vouching: which transcripts are what a harness wrote, rather than files that look like it.

use std::path::{Path, PathBuf};

/// A folder in which a harness keeps the transcripts of its sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TranscriptFolder {
    /// The folder.
    pub root: PathBuf,
    /// The places of transcripts below it: `*` stands for one name or a part of it, `**` for any number of folders.
    /// Anything else there, such as saved tool output, is a file.
    pub places: &'static [&'static str],
    /// The formats its transcripts have.
    pub formats: &'static [&'static str],
}

/// The reason to believe that a source holds transcripts as a harness wrote them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TranscriptVouch {
    /// There is none.
    Nothing,
    /// The owner or a hook named it.
    Named,
    /// It lies where a harness keeps transcripts of these formats.
    Kept(&'static [&'static str]),
}

impl TranscriptVouch {
    /// Returns whether there is a reason, for at least one format.
    pub(crate) fn is_given(self) -> bool {
        self != Self::Nothing
    }

    /// Returns whether a transcript of this format is covered.
    pub(crate) fn covers_format(self, format: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::Named => true,
            Self::Kept(formats) => formats.contains(&format),
        }
    }
}

/// Decides for the sources of one run.
#[derive(Debug)]
pub(crate) struct VouchRules {
    named: bool,
    folders: Vec<TranscriptFolder>,
}

impl VouchRules {
    /// Creates the rules of a run; with `named`, everything in it was vouched for.
    pub(crate) fn new(named: bool, folders: &[TranscriptFolder]) -> Self {
        // Folders that do not exist hold nothing. The others may be links, and sources are compared without links.
        let resolve = |folder: &TranscriptFolder| {
            let root = folder.root.canonicalize().ok()?;
            Some(TranscriptFolder {
                root,
                ..folder.clone()
            })
        };
        Self {
            named,
            folders: folders.iter().filter_map(resolve).collect(),
        }
    }

    /// Returns the reason to believe the transcripts at this path.
    pub(crate) fn vouch_for(&self, path: &Path) -> TranscriptVouch {
        if self.named {
            return TranscriptVouch::Named;
        }
        let holds = |folder: &&TranscriptFolder| holds_transcript(folder, path);
        let Some(folder) = self.folders.iter().find(holds) else {
            return TranscriptVouch::Nothing;
        };
        // Only now, because it costs system calls: a link in the harness's folder must not lend its trust to a file
        // elsewhere.
        let real = path.canonicalize().ok();
        if real.is_some_and(|real| holds_transcript(folder, &real)) {
            TranscriptVouch::Kept(folder.formats)
        } else {
            TranscriptVouch::Nothing
        }
    }
}

fn holds_transcript(folder: &TranscriptFolder, path: &Path) -> bool {
    let Ok(below) = path.strip_prefix(&folder.root) else {
        return false;
    };
    let names: Option<Vec<&str>> = below.iter().map(|name| name.to_str()).collect();
    let names = names.unwrap_or_default();
    let matches = |place: &str| {
        let pattern: Vec<&str> = place.split('/').collect();
        matches_names(&pattern, &names)
    };
    folder.places.iter().any(|place| matches(place))
}

fn matches_names(pattern: &[&str], names: &[&str]) -> bool {
    match (pattern.split_first(), names.split_first()) {
        (None, None) => true,
        (Some((&"**", rest)), None) => matches_names(rest, names),
        (Some((&"**", rest)), Some((_, fewer))) => {
            matches_names(rest, names) || matches_names(pattern, fewer)
        }
        (Some((one, rest)), Some((name, fewer))) => matches_name(one, name) && matches_names(rest, fewer),
        _ => false,
    }
}

fn matches_name(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((begin, end)) => {
            name.len() >= begin.len() + end.len() && name.starts_with(begin) && name.ends_with(end)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, path: &str, expected: bool) {
        let folder = TranscriptFolder {
            root: PathBuf::from("/home/ada/.tool"),
            places: Box::leak(Box::new([&*Box::leak(pattern.to_owned().into_boxed_str())])),
            formats: &["claude-code"],
        };
        assert_eq!(
            holds_transcript(&folder, Path::new(path)),
            expected,
            "{pattern} {path}"
        );
    }

    #[test]
    fn places_are_matched_name_by_name() {
        check("*/*.jsonl", "/home/ada/.tool/p/s.jsonl", true);
        check("*/*.jsonl", "/home/ada/.tool/p/s.txt", false);
        check("*/*.jsonl", "/home/ada/.tool/p/s/tool-results/s.jsonl", false);
        check("*/*.jsonl", "/home/ada/.tool/s.jsonl", false);
        check("*/*.jsonl", "/home/ada/.toolbox/p/s.jsonl", false);
        check("*/*.jsonl", "/srv/repo/.tool/p/s.jsonl", false);
        check("a/**/*.jsonl", "/home/ada/.tool/a/s.jsonl", true);
        check("a/**/*.jsonl", "/home/ada/.tool/a/2026/05/s.jsonl", true);
        check("a/**/*.jsonl", "/home/ada/.tool/b/a/s.jsonl", false);
        check("storage", "/home/ada/.tool/storage", true);
        check("storage", "/home/ada/.tool", false);
    }

    #[test]
    fn a_harness_vouches_for_its_own_formats_and_a_person_for_all() {
        let kept = TranscriptVouch::Kept(&["codex"]);
        assert!(kept.covers_format("codex") && !kept.covers_format("openai-messages"));
        assert!(TranscriptVouch::Named.covers_format("slack"));
        assert!(!TranscriptVouch::Nothing.covers_format("codex") && !TranscriptVouch::Nothing.is_given());
    }
}
