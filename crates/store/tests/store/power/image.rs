//! The possible contents of a disk after a power cut, made from a recording.

use super::recorder::Op;
use loci_testkit::SeededRandom;
use std::collections::BTreeMap;
use std::path::Path;
use tempfile::TempDir;

/// Disks write sectors whole.
const SECTOR: usize = 512;

/// The fate of the changes that were not synced when the power failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// None reached the disk.
    Dropped,
    /// All did.
    Kept,
    /// Any of them did, in no order.
    Subset,
    /// One write reached it in part, cut between sectors; of the others any did.
    Torn,
}

impl Mode {
    pub(crate) const ALL: [Self; 4] = [Self::Dropped, Self::Kept, Self::Subset, Self::Torn];
}

/// A folder as the disk may hold it, with the marks set before the power went.
#[derive(Debug)]
pub(crate) struct Image {
    pub(crate) folder: TempDir,
    pub(crate) marks: Vec<String>,
}

impl Image {
    /// The disk if the power fails right after step `point` of the log. For many points of one log step a
    /// [`Disk`] instead: this replays from the start.
    #[allow(dead_code, reason = "the way to make one failing image again by hand")]
    pub(crate) fn at(log: &[Op], point: usize, seed: u64, mode: Mode) -> Self {
        let mut disk = Disk::default();
        log.iter().take(point + 1).for_each(|op| disk.apply(op));
        disk.image(seed, mode)
    }
}

/// The files of a folder: what lasts, and what was changed since.
#[derive(Debug, Clone, Default)]
pub(crate) struct Disk {
    files: Vec<Content>,
    names: BTreeMap<String, Name>,
    marks: Vec<String>,
}

/// Which file a name means, as the system sees it and as the disk does.
#[derive(Debug, Clone, Copy, Default)]
struct Name {
    live: Option<usize>,
    lasting: Option<usize>,
}

#[derive(Debug, Clone, Default)]
struct Content {
    lasting: Vec<u8>,
    unsynced: Vec<Change>,
}

#[derive(Debug, Clone)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    Truncate { size: u64 },
}

impl Change {
    fn apply(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => self.apply_part(content, *offset as usize, bytes),
            Self::Truncate { size } => content.resize(*size as usize, 0),
        }
    }

    /// Writes `bytes` at `start`; a hole before them holds zeros.
    fn apply_part(&self, content: &mut Vec<u8>, start: usize, bytes: &[u8]) {
        let end = start + bytes.len();
        if content.len() < end {
            content.resize(end, 0);
        }
        content
            .get_mut(start..end)
            .expect("the content was grown to hold it")
            .copy_from_slice(bytes);
    }

    /// Applies only the sectors before, or only those after, a boundary somewhere within the write.
    fn apply_torn(&self, content: &mut Vec<u8>, random: &mut SeededRandom) {
        let Self::Write { offset, bytes } = self else {
            return;
        };
        let start = *offset as usize;
        let boundaries =
            (start / SECTOR + 1..=(start + bytes.len() - 1) / SECTOR).map(|sector| sector * SECTOR - start);
        let boundaries: Vec<usize> = boundaries.collect();
        let Some(cut) = boundaries.get(random.below(boundaries.len().max(1))) else {
            return;
        };
        let (head, tail) = bytes.split_at(*cut);
        if random.toss_coin() {
            self.apply_part(content, start, head);
        } else {
            self.apply_part(content, start + cut, tail);
        }
    }
}

impl Disk {
    /// Takes one more step of the log.
    pub(crate) fn apply(&mut self, op: &Op) {
        match op {
            Op::Create { file } => {
                self.files.push(Content::default());
                self.names.entry(file.clone()).or_default().live = Some(self.files.len() - 1);
            }
            Op::Write { file, offset, bytes } => {
                self.change(
                    file,
                    Change::Write {
                        offset: *offset,
                        bytes: bytes.clone(),
                    },
                );
            }
            Op::Truncate { file, size } => self.change(file, Change::Truncate { size: *size }),
            Op::Sync { file } => {
                if let Some(content) = self.live(file) {
                    let Content { lasting, unsynced } = content;
                    unsynced.drain(..).for_each(|change| change.apply(lasting));
                }
            }
            Op::Delete { file } => self.names.entry(file.clone()).or_default().live = None,
            Op::SyncFolder => self.names.values_mut().for_each(|name| name.lasting = name.live),
            Op::Mark(text) => self.marks.push(text.clone()),
        }
    }

    fn live(&mut self, file: &str) -> Option<&mut Content> {
        let at = self.names.get(file)?.live?;
        self.files.get_mut(at)
    }

    fn change(&mut self, file: &str, change: Change) {
        self.live(file)
            .expect("a file is made before it is written")
            .unsynced
            .push(change);
    }

    /// The folder after a power cut now.
    pub(crate) fn image(&self, seed: u64, mode: Mode) -> Image {
        let folder = tempfile::tempdir().expect("a folder can be made");
        self.image_in(folder.path(), seed, mode);
        Image {
            folder,
            marks: self.marks.clone(),
        }
    }

    /// Writes what the disk may hold into an empty folder.
    pub(crate) fn image_in(&self, folder: &Path, seed: u64, mode: Mode) {
        let mut random = SeededRandom::new(seed);
        for (name, means) in &self.names {
            let keep_name = match mode {
                Mode::Dropped => false,
                Mode::Kept => true,
                Mode::Subset | Mode::Torn => random.toss_coin(),
            };
            let means = if keep_name { means.live } else { means.lasting };
            if let Some(content) = means.and_then(|at| self.files.get(at)) {
                std::fs::write(folder.join(name), content.after_cut(&mut random, mode))
                    .expect("the image is written");
            }
        }
    }
}

impl Content {
    fn after_cut(&self, random: &mut SeededRandom, mode: Mode) -> Vec<u8> {
        let mut bytes = self.lasting.clone();
        let torn = random.below(self.unsynced.len().max(1));
        // Either every other write survives, or none, or each by chance.
        let others = random.below(3);
        for (at, change) in self.unsynced.iter().enumerate() {
            let keep = match mode {
                Mode::Dropped => false,
                Mode::Kept => true,
                Mode::Subset => random.toss_coin(),
                Mode::Torn if at == torn => {
                    change.apply_torn(&mut bytes, random);
                    false
                }
                Mode::Torn => others == 0 || (others == 1 && random.toss_coin()),
            };
            if keep {
                change.apply(&mut bytes);
            }
        }
        bytes
    }
}
