//! The disk of the simulated machine: for every file what would outlive a power cut, and what may still be lost.

mod content;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use loci_testkit::SeededRandom;

pub(crate) use content::SECTOR;
use content::{DiskContent, FileChange};

/// A file of the disk, whatever names it has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileNumber(usize);

/// The fate of everything that was not synced when the power failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CutMode {
    /// Nothing of it reached the disk.
    Dropped,
    /// All of it did: the machine was shut down in order.
    Kept,
    /// Any part of it did, in no order.
    Subset,
    /// One write of each file reached it in part, cut between sectors; of the others any did.
    Torn,
}

impl CutMode {
    const BY_CHANCE: [Self; 6] = [
        Self::Dropped,
        Self::Kept,
        Self::Subset,
        Self::Subset,
        Self::Torn,
        Self::Torn,
    ];

    pub(crate) fn pick(random: &mut SeededRandom) -> Self {
        random.pick(&Self::BY_CHANCE)
    }
}

/// Whether the disk does as it is told; a disk that does not shows that the checks would see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiskHonesty {
    /// A sync makes everything last.
    #[default]
    Honest,
    /// A sync does nothing.
    IgnoresSyncs,
    /// A sync of a log loses the last page that was written.
    LosesPages,
}

/// The file that a name means, as the system sees it and as the disk does.
#[derive(Debug, Clone, Copy, Default)]
struct NameMeaning {
    live: Option<usize>,
    lasting: Option<usize>,
}

/// The files below one folder. Names are relative to it.
#[derive(Debug, Clone, Default)]
pub(crate) struct SimDisk {
    pub(crate) honesty: DiskHonesty,
    files: Vec<DiskContent>,
    names: BTreeMap<String, NameMeaning>,
}

impl SimDisk {
    /// Returns the file with this name. One that the store made without SQLite is found in the folder, at `path`:
    /// neither its name nor its bytes are safe yet.
    pub(crate) fn find_file(&mut self, name: &str, path: &Path) -> io::Result<FileNumber> {
        if let Some(number) = self.names.get(name).and_then(|means| means.live) {
            return Ok(FileNumber(number));
        }
        let bytes = std::fs::read(path)?;
        let number = self.create_file(name);
        if !bytes.is_empty() {
            self.write(number, 0, &bytes);
        }
        Ok(number)
    }

    fn create_file(&mut self, name: &str) -> FileNumber {
        self.files.push(DiskContent::default());
        let number = self.files.len() - 1;
        self.names.entry(name.to_owned()).or_default().live = Some(number);
        FileNumber(number)
    }

    fn content(&mut self, file: FileNumber) -> &mut DiskContent {
        self.files
            .get_mut(file.0)
            .expect("files are never removed from the list")
    }

    pub(crate) fn write(&mut self, file: FileNumber, offset: u64, bytes: &[u8]) {
        let bytes = bytes.to_vec();
        self.content(file)
            .unsynced
            .push(FileChange::Write { offset, bytes });
    }

    pub(crate) fn truncate(&mut self, file: FileNumber, size: u64) {
        self.content(file).unsynced.push(FileChange::Truncate { size });
    }

    pub(crate) fn sync(&mut self, file: FileNumber) {
        match self.honesty {
            DiskHonesty::Honest => self.content(file).settle_all(),
            DiskHonesty::IgnoresSyncs => {}
            DiskHonesty::LosesPages => {
                self.content(file).lose_page();
                self.content(file).settle_all();
            }
        }
    }

    /// A sync that failed: the system forgets which writes were waiting, and only some of them reached the disk.
    pub(crate) fn fail_sync(&mut self, file: FileNumber, random: &mut SeededRandom) {
        self.content(file).settle_some(random);
    }

    /// Makes the names in `folder` last; the root is the empty name.
    pub(crate) fn sync_folder(&mut self, folder: &str) {
        let within = |name: &str| name.rsplit_once('/').map_or("", |(folder, _)| folder) == folder;
        for (_, means) in self.names.iter_mut().filter(|(name, _)| within(name)) {
            means.lasting = means.live;
        }
    }

    pub(crate) fn remove_name(&mut self, name: &str) {
        if let Some(means) = self.names.get_mut(name) {
            means.live = None;
        }
    }

    pub(crate) fn link(&mut self, from: FileNumber, to: &str) {
        self.names.entry(to.to_owned()).or_default().live = Some(from.0);
    }

    /// Cuts the power: writes what the disk then holds into an empty folder, and returns the disk that goes on from
    /// there.
    pub(crate) fn cut_power(
        &self,
        folder: &Path,
        random: &mut SeededRandom,
        mode: CutMode,
    ) -> io::Result<Self> {
        let mut after = Self {
            honesty: self.honesty,
            ..Self::default()
        };
        for (name, means) in &self.names {
            let keep_name = match mode {
                CutMode::Dropped => false,
                CutMode::Kept => true,
                CutMode::Subset | CutMode::Torn => random.toss_coin(),
            };
            let number = if keep_name { means.live } else { means.lasting };
            let Some(content) = number.and_then(|number| self.files.get(number)) else {
                continue;
            };
            let bytes = content.after_cut(random, mode);
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent)?;
            }
            std::fs::write(&path, &bytes)?;
            let number = after.create_file(name);
            after.content(number).lasting = bytes;
        }
        for means in after.names.values_mut() {
            means.lasting = means.live;
        }
        Ok(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with one file: "safe" is synced, "lost" is not.
    fn half_synced() -> SimDisk {
        let mut disk = SimDisk::default();
        let file = disk.create_file("a");
        disk.write(file, 0, b"safe");
        disk.sync(file);
        disk.sync_folder("");
        disk.write(file, 4, b"lost");
        disk
    }

    fn cut(disk: &SimDisk, mode: CutMode) -> (tempfile::TempDir, SimDisk) {
        let folder = tempfile::tempdir().unwrap();
        let after = disk
            .cut_power(folder.path(), &mut SeededRandom::new(1), mode)
            .unwrap();
        (folder, after)
    }

    #[test]
    fn a_power_cut_keeps_what_was_synced_and_may_lose_the_rest() {
        let read = |folder: &tempfile::TempDir| std::fs::read(folder.path().join("a")).unwrap();
        let disk = half_synced();
        assert_eq!(read(&cut(&disk, CutMode::Dropped).0), b"safe");
        assert_eq!(read(&cut(&disk, CutMode::Kept).0), b"safelost");
    }

    #[test]
    fn a_name_lasts_only_after_its_folder_was_synced() {
        let mut disk = half_synced();
        let new = disk.create_file("b");
        disk.write(new, 0, b"text");
        disk.sync(new);
        disk.remove_name("a");
        let names = |disk: &SimDisk| disk.names.keys().cloned().collect::<Vec<_>>();
        assert_eq!(names(&cut(&disk, CutMode::Dropped).1), ["a"]);
        disk.sync_folder("");
        assert_eq!(names(&cut(&disk, CutMode::Dropped).1), ["b"]);
    }

    #[test]
    fn a_write_is_torn_between_sectors_only() {
        let mut disk = SimDisk::default();
        let file = disk.create_file("a");
        disk.sync_folder("");
        disk.write(file, 0, &[7; 2048]);
        let mut lengths = std::collections::BTreeSet::new();
        for seed in 0..64 {
            let folder = tempfile::tempdir().unwrap();
            let mut random = SeededRandom::new(seed);
            disk.cut_power(folder.path(), &mut random, CutMode::Torn).unwrap();
            let bytes = std::fs::read(folder.path().join("a")).unwrap();
            let kept = bytes.iter().filter(|byte| **byte == 7).count();
            assert_eq!(kept % 512, 0);
            lengths.insert(kept);
        }
        assert!(lengths.len() > 2, "{lengths:?}");
    }
}
