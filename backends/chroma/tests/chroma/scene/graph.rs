//! Damages graph files in the ways that crashes, bad disks and careless tools do.

use std::fs;
use std::path::{Path, PathBuf};

pub(crate) const LEVEL0: &str = "data_level0.bin";
pub(crate) const HEADER: &str = "header.bin";
pub(crate) const LINKS: &str = "link_lists.bin";
pub(crate) const LENGTHS: &str = "length.bin";

/// The offsets of fields in `header.bin`.
const ELEMENTS: usize = 20;
const SIZE: usize = 28;
const VECTOR: usize = 44;
const MAX_LEVEL: usize = 52;
const ENTRY_POINT: usize = 56;

/// The graph files of one segment.
#[derive(Debug)]
pub(crate) struct GraphFiles(PathBuf);

impl GraphFiles {
    pub(crate) fn new(segment: &Path) -> Self {
        Self(segment.to_path_buf())
    }

    fn number(&self, at: usize) -> usize {
        let header = fs::read(self.0.join(HEADER)).unwrap();
        u64::from_le_bytes(header[at..at + 8].try_into().unwrap()) as usize
    }

    pub(crate) fn elements(&self) -> u32 {
        self.number(ELEMENTS) as u32
    }

    /// Changes a file as a whole.
    pub(crate) fn change(&self, file: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let path = self.0.join(file);
        let mut bytes = fs::read(&path).unwrap();
        change(&mut bytes);
        fs::write(path, bytes).unwrap();
    }

    pub(crate) fn delete(&self, file: &str) {
        fs::remove_file(self.0.join(file)).unwrap();
    }

    pub(crate) fn set_entry_point(&self, element: u32) {
        self.change(HEADER, |bytes| {
            bytes[ENTRY_POINT..][..4].copy_from_slice(&element.to_le_bytes())
        });
    }

    pub(crate) fn set_max_level(&self, level: i32) {
        self.change(HEADER, |bytes| {
            bytes[MAX_LEVEL..][..4].copy_from_slice(&level.to_le_bytes())
        });
    }

    /// Sets the number of links of these elements, and all of them to `target` of the element where there is one.
    pub(crate) fn set_links(
        &self,
        elements: impl Iterator<Item = u32>,
        count: u16,
        target: impl Fn(u32) -> Option<u32>,
    ) {
        let (size, width) = (self.number(SIZE), self.number(VECTOR));
        self.change(LEVEL0, |bytes| {
            for element in elements {
                let list = &mut bytes[size * element as usize..][..width];
                list[..2].copy_from_slice(&count.to_le_bytes());
                for link in list[4..].as_chunks_mut::<4>().0 {
                    *link = target(element).map_or(*link, u32::to_le_bytes);
                }
            }
        });
    }

    /// Changes the first value of an element's vector.
    pub(crate) fn set_value(&self, element: u32, value: f32) {
        let at = self.number(SIZE) * element as usize + self.number(VECTOR);
        self.change(LEVEL0, |bytes| {
            bytes[at..at + 4].copy_from_slice(&value.to_le_bytes())
        });
    }
}
