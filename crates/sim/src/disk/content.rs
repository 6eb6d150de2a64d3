//! The bytes of one simulated file: those on disk, and the changes that wait for a sync.

use loci_testkit::SeededRandom;

use super::CutMode;

/// Disks write sectors whole.
pub(crate) const SECTOR: usize = 512;

#[derive(Debug, Clone, Default)]
pub(super) struct DiskContent {
    pub(super) lasting: Vec<u8>,
    pub(super) unsynced: Vec<FileChange>,
}

#[derive(Debug, Clone)]
pub(super) enum FileChange {
    Write { offset: u64, bytes: Vec<u8> },
    Truncate { size: u64 },
}

impl DiskContent {
    /// A sync that succeeded.
    pub(super) fn settle_all(&mut self) {
        let Self { lasting, unsynced } = self;
        unsynced.drain(..).for_each(|change| change.apply_to(lasting));
    }

    /// Loses the last whole page that waits for a sync of a log, which has pages behind frame headers.
    pub(super) fn lose_page(&mut self) {
        let of_log = |change: &FileChange| matches!(change, FileChange::Write { offset, bytes } if bytes.len() > 1000 && offset % 8 == 0 && offset % 512 != 0);
        if let Some(last) = self.unsynced.iter().rposition(of_log) {
            self.unsynced.remove(last);
        }
    }

    /// A sync that failed: each change reached the disk or never will.
    pub(super) fn settle_some(&mut self, random: &mut SeededRandom) {
        let Self { lasting, unsynced } = self;
        for change in unsynced.drain(..) {
            // A lost truncation would leave bytes that the system shows as gone; file systems journal lengths.
            if matches!(change, FileChange::Truncate { .. }) || random.toss_coin() {
                change.apply_to(lasting);
            }
        }
    }

    /// The bytes after a power cut.
    pub(super) fn after_cut(&self, random: &mut SeededRandom, mode: CutMode) -> Vec<u8> {
        let mut bytes = self.lasting.clone();
        let torn = random.below(self.unsynced.len());
        // Either every other write survives, or none, or each by chance.
        let others = random.below(3);
        for (at, change) in self.unsynced.iter().enumerate() {
            let keep = match mode {
                CutMode::Dropped => false,
                CutMode::Kept => true,
                CutMode::Subset => random.toss_coin(),
                CutMode::Torn if at == torn => {
                    change.apply_torn(&mut bytes, random);
                    false
                }
                CutMode::Torn => others == 0 || (others == 1 && random.toss_coin()),
            };
            if keep {
                change.apply_to(&mut bytes);
            }
        }
        bytes
    }
}

impl FileChange {
    fn apply_to(&self, content: &mut Vec<u8>) {
        match self {
            Self::Write { offset, bytes } => write_bytes(content, as_index(*offset), bytes),
            Self::Truncate { size } => content.resize(as_index(*size), 0),
        }
    }

    /// Applies only the sectors before, or only those after, a boundary somewhere within the write.
    fn apply_torn(&self, content: &mut Vec<u8>, random: &mut SeededRandom) {
        let Self::Write { offset, bytes } = self else {
            return;
        };
        let start = as_index(*offset);
        let sectors = (start + 1).div_ceil(SECTOR)..(start + bytes.len()).div_ceil(SECTOR);
        // A write within one sector is not torn; it is lost here.
        if sectors.is_empty() {
            return;
        }
        let cut = (sectors.start + random.below(sectors.len())) * SECTOR - start;
        let (head, tail) = bytes.split_at(cut);
        if random.toss_coin() {
            write_bytes(content, start, head);
        } else {
            write_bytes(content, start + cut, tail);
        }
    }
}

/// Writes `bytes` at `start`; a hole before them holds zeros.
fn write_bytes(content: &mut Vec<u8>, start: usize, bytes: &[u8]) {
    let end = start + bytes.len();
    if content.len() < end {
        content.resize(end, 0);
    }
    content
        .get_mut(start..end)
        .expect("the content was grown to hold it")
        .copy_from_slice(bytes);
}

fn as_index(offset: u64) -> usize {
    usize::try_from(offset).expect("simulated files fit into memory")
}
