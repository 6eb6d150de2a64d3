//! The files of a segment, read in place and never beyond their end.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::GraphExpectation;
use super::header::ElementLayout;
use crate::pickle::PickleLabels;

/// The sizes and offsets of elements.
pub(crate) const HEADER: &str = "header.bin";
/// The elements.
pub(crate) const LEVEL0: &str = "data_level0.bin";
/// The original lengths of normalised vectors.
pub(crate) const LENGTHS: &str = "length.bin";
/// The links above level 0.
pub(crate) const LINKS: &str = "link_lists.bin";
/// The labels of records.
pub(crate) const PICKLE: &str = "index_metadata.pickle";
/// Every file of a segment.
pub(crate) const SEGMENT_FILES: [&str; 5] = [HEADER, LEVEL0, LENGTHS, LINKS, PICKLE];

/// The default number of links in an element.
const USUAL_LINKS: u64 = 16;
/// The number of elements whose agreement with the pickle confirms a guessed layout.
const WITNESSES: u64 = 32;

/// The number of bytes that are read at once to find labels.
const LABEL_BLOCK: u64 = 1 << 18;

/// The stats of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileFacts {
    /// Its apparent length.
    pub(crate) length: u64,
    /// Its size on disk, which is smaller for a sparse file.
    pub(crate) on_disk: u64,
    /// The time of its last modification.
    pub(crate) modified: Option<SystemTime>,
}

/// The stats of a segment's files; `None` if a file is absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct GraphFileFacts {
    /// `header.bin`.
    pub(crate) header: Option<FileFacts>,
    /// `data_level0.bin`.
    pub(crate) level0: Option<FileFacts>,
    /// `link_lists.bin`.
    pub(crate) links: Option<FileFacts>,
    /// `length.bin`.
    pub(crate) lengths: Option<FileFacts>,
}

impl GraphFileFacts {
    pub(super) fn read(folder: &Path) -> io::Result<Self> {
        let look = |name: &str| match fs::metadata(folder.join(name)) {
            Ok(found) => Ok(found.is_file().then(|| FileFacts {
                length: found.len(),
                // `st_blocks` counts units of 512 bytes, whatever the block size of the file system is.
                on_disk: found.blocks() * 512,
                modified: found.modified().ok(),
            })),
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
            Err(_) => Ok(None),
        };
        Ok(Self {
            header: look(HEADER)?,
            level0: look(LEVEL0)?,
            links: look(LINKS)?,
            lengths: look(LENGTHS)?,
        })
    }

    /// Returns the time since Chroma last began to save the graph: it writes these files before the pickle.
    pub(crate) fn age(&self) -> Option<Duration> {
        let files = [self.header, self.level0, self.links].into_iter().flatten();
        files.filter_map(|file| file.modified).max()?.elapsed().ok()
    }
}

/// Opens a regular file. Returns `None` if there is none, or if it is something else: reading a pipe would never end.
///
/// Only a lack of permission is an error, since the user can grant it.
pub(crate) fn open_file(path: &Path) -> io::Result<Option<File>> {
    let denied = |error: &io::Error| error.kind() == io::ErrorKind::PermissionDenied;
    let is_file = match fs::metadata(path) {
        Ok(found) => found.is_file(),
        Err(error) if denied(&error) => return Err(error),
        Err(_) => false,
    };
    match is_file.then(|| File::open(path)) {
        Some(Err(error)) if denied(&error) => Err(error),
        opened => Ok(opened.and_then(Result::ok)),
    }
}

/// The elements of `data_level0.bin`, read in place.
#[derive(Debug)]
pub(crate) struct GraphElements {
    file: File,
    length: u64,
}

impl GraphElements {
    pub(super) fn open(folder: &Path) -> io::Result<Option<Self>> {
        let Some(file) = open_file(&folder.join(LEVEL0))? else {
            return Ok(None);
        };
        let length = file.metadata()?.len();
        Ok(Some(Self { file, length }))
    }

    /// Returns the number of elements of `layout` that lie wholly within the file.
    pub(super) fn count_within(&self, layout: &ElementLayout) -> u64 {
        // Chroma pre-allocates up to 10,000 slots, so the length alone would count empty ones.
        (self.length / layout.size.max(1)).min(layout.elements)
    }

    /// Fills `buffer` from `offset`. Returns `false` if the file ends before.
    pub(super) fn fill_from(&self, buffer: &mut [u8], offset: u64) -> io::Result<bool> {
        match self.file.read_exact_at(buffer, offset) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn read_label(&self, layout: &ElementLayout, element: u64) -> io::Result<Option<u64>> {
        let mut label = [0; 8];
        let there = self.fill_from(&mut label, element * layout.size + layout.label)?;
        Ok(there.then_some(u64::from_le_bytes(label)))
    }

    /// Passes the label of each element to `tell`, with whether it is marked deleted.
    pub(crate) fn for_each_label(
        &self,
        layout: &ElementLayout,
        tell: &mut dyn FnMut(u32, u64, bool),
    ) -> io::Result<()> {
        let elements = self.count_within(layout);
        // In blocks: a read for each element would take longer than all bytes between two labels.
        let most = (LABEL_BLOCK / layout.size.max(1)).max(1);
        let mut block = Vec::new();
        let mut first = 0;
        while first < elements {
            let held = most.min(elements - first);
            block.resize((held * layout.size) as usize, 0);
            if !self.fill_from(&mut block, first * layout.size)? {
                break;
            }
            for (bytes, element) in block.chunks_exact(layout.size as usize).zip(first..) {
                let label = bytes
                    .get(layout.label as usize..)
                    .and_then(|rest| rest.first_chunk());
                // hnswlib keeps the deletion mark in the third byte of the link count.
                let marks = bytes.get(2);
                if let (Some(label), Some(marks), Ok(element)) = (label, marks, u32::try_from(element)) {
                    tell(element, u64::from_le_bytes(*label), marks & 1 == 1);
                }
            }
            first += held;
        }
        Ok(())
    }

    /// Reads the vector of an element. Returns `None` if it lies beyond the file or holds values that are not finite.
    pub(super) fn read_vector(&self, layout: &ElementLayout, element: u32) -> io::Result<Option<Vec<f32>>> {
        if u64::from(element) >= self.count_within(layout) {
            return Ok(None);
        }
        let mut bytes = vec![0; layout.dimension() * 4];
        let there = self.fill_from(&mut bytes, u64::from(element) * layout.size + layout.vector)?;
        Ok(there
            .then(|| decode_floats(&bytes))
            .filter(|vector| vector.iter().all(|value| value.is_finite())))
    }

    /// Infers the layout of a file without a header: the one whose labels are those in the pickle.
    pub(super) fn guess_layout(
        &self,
        expected: GraphExpectation,
        labels: &PickleLabels,
    ) -> io::Result<Option<ElementLayout>> {
        let recorded = labels
            .dimension
            .and_then(|dimension| usize::try_from(dimension).ok());
        let Some(dimension) = expected.dimension.or(recorded).filter(|dimension| *dimension > 0) else {
            return Ok(None);
        };
        let named: std::collections::HashSet<u64> = labels.by_id.values().copied().collect();
        let added = labels.added.and_then(|added| u64::try_from(added).ok());
        // Only the number of links is unknown, and few values are sensible, so all of them are tried.
        for links in expected.links.into_iter().chain([USUAL_LINKS]).chain(2..=128) {
            let layout = ElementLayout::for_links(links, dimension);
            let held = self
                .count_within(&layout)
                .min(added.unwrap_or(named.len() as u64));
            if self.agrees_with(&layout, held, &named)? {
                return Ok(Some(ElementLayout {
                    elements: held,
                    ..layout
                }));
            }
        }
        Ok(None)
    }

    /// Returns whether the first elements carry distinct labels of the pickle; deleted elements may be missing there.
    fn agrees_with(
        &self,
        layout: &ElementLayout,
        held: u64,
        named: &std::collections::HashSet<u64>,
    ) -> io::Result<bool> {
        let looked = held.min(4 * WITNESSES);
        let mut seen = std::collections::HashSet::new();
        for element in 0..looked {
            match self.read_label(layout, element)? {
                Some(label) if named.contains(&label) => drop(seen.insert(label)),
                Some(_) => {}
                None => return Ok(false),
            }
        }
        // Half must match: deleted elements have no label in
        // the pickle, while a wrong layout matches hardly ever.
        Ok(looked > 0 && seen.len() as u64 * 2 >= looked)
    }
}

/// Decodes little-endian numbers.
pub(crate) fn decode_floats(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()
}
