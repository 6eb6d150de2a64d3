//! The files of a segment's folder, read in place and never beyond their end.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::Expected;
use super::header::Layout;
use crate::pickle::Labels;

/// How large elements are and what lies where.
pub(crate) const HEADER: &str = "header.bin";
/// The elements.
pub(crate) const LEVEL0: &str = "data_level0.bin";
/// How long each element's vector is.
pub(crate) const LENGTHS: &str = "length.bin";
/// The upper links.
pub(crate) const LINKS: &str = "link_lists.bin";
/// Which record has which label.
pub(crate) const PICKLE: &str = "index_metadata.pickle";
/// Every file of a segment.
pub(crate) const SETTLED: [&str; 5] = [HEADER, LEVEL0, LENGTHS, LINKS, PICKLE];

/// How many links elements have unless the collection says otherwise.
const USUAL_LINKS: u64 = 16;
/// How many elements must agree with the pickle before a guessed layout is believed.
const WITNESSES: u64 = 32;

/// What a file looks like from outside.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outside {
    /// How long it says it is.
    pub(crate) length: u64,
    /// How much of the disk it takes.
    pub(crate) on_disk: u64,
    /// When it was last written.
    pub(crate) modified: Option<SystemTime>,
}

/// What a segment's files look like from outside; `None` where one is absent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    /// `header.bin`.
    pub(crate) header: Option<Outside>,
    /// `data_level0.bin`.
    pub(crate) level0: Option<Outside>,
    /// `link_lists.bin`.
    pub(crate) links: Option<Outside>,
}

impl Facts {
    pub(super) fn of(folder: &Path) -> io::Result<Self> {
        let look = |name: &str| match fs::metadata(folder.join(name)) {
            Ok(found) => Ok(found.is_file().then(|| Outside {
                length: found.len(),
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
        })
    }

    /// How long ago Chroma last began to save them: it writes these before the pickle.
    pub(crate) fn age(&self) -> Option<Duration> {
        let files = [self.header, self.level0, self.links].into_iter().flatten();
        files.filter_map(|file| file.modified).max()?.elapsed().ok()
    }
}

/// Opens a regular file; nothing where there is none, be it that something else stands there: reading a pipe would never end.
///
/// Only that a file may not be read is an error, since somebody can change that.
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

/// The elements of `data_level0.bin`, read where they lie.
#[derive(Debug)]
pub(crate) struct Elements {
    file: File,
    length: u64,
}

impl Elements {
    pub(super) fn open(folder: &Path) -> io::Result<Option<Self>> {
        let Some(file) = open_file(&folder.join(LEVEL0))? else {
            return Ok(None);
        };
        let length = file.metadata()?.len();
        Ok(Some(Self { file, length }))
    }

    /// How many elements of `layout` lie wholly within the file.
    pub(super) fn holds(&self, layout: &Layout) -> u64 {
        (self.length / layout.size.max(1)).min(layout.elements)
    }

    /// Fills `buffer` from `offset`; `false` where the file ends before.
    fn read(&self, buffer: &mut [u8], offset: u64) -> io::Result<bool> {
        match self.file.read_exact_at(buffer, offset) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn label(&self, layout: &Layout, element: u64) -> io::Result<Option<u64>> {
        let mut label = [0; 8];
        let there = self.read(&mut label, element * layout.size + layout.label)?;
        Ok(there.then_some(u64::from_le_bytes(label)))
    }

    /// Tells the label of each element, and whether it is marked deleted.
    pub(crate) fn labels(&self, layout: &Layout, tell: &mut dyn FnMut(u32, u64, bool)) -> io::Result<()> {
        for element in 0..self.holds(layout) {
            let mut links = [0; 4];
            let there = self.read(&mut links, element * layout.size)?;
            let Some(label) = self.label(layout, element)? else {
                break;
            };
            let [_, _, marks, _] = links;
            if let (true, Ok(element)) = (there, u32::try_from(element)) {
                tell(element, label, marks & 1 == 1);
            }
        }
        Ok(())
    }

    /// An element's vector; `None` where it lies beyond the file or holds what is no number.
    pub(super) fn vector(&self, layout: &Layout, element: u32) -> io::Result<Option<Vec<f32>>> {
        if u64::from(element) >= self.holds(layout) {
            return Ok(None);
        }
        let mut bytes = vec![0; layout.dimension() * 4];
        let there = self.read(&mut bytes, u64::from(element) * layout.size + layout.vector)?;
        Ok(there
            .then(|| floats(&bytes))
            .filter(|vector| vector.iter().all(|value| value.is_finite())))
    }

    /// The layout under which the labels found are those the pickle names, for files whose header is gone.
    pub(super) fn guess_layout(&self, expected: Expected, labels: &Labels) -> io::Result<Option<Layout>> {
        let recorded = labels
            .dimension
            .and_then(|dimension| usize::try_from(dimension).ok());
        let Some(dimension) = expected.dimension.or(recorded).filter(|dimension| *dimension > 0) else {
            return Ok(None);
        };
        let named: std::collections::HashSet<u64> = labels.by_id.values().copied().collect();
        let added = labels.added.and_then(|added| u64::try_from(added).ok());
        for links in expected.links.into_iter().chain([USUAL_LINKS]).chain(2..=128) {
            let layout = Layout::of(links, dimension);
            let held = self.holds(&layout).min(added.unwrap_or(named.len() as u64));
            if self.agrees(&layout, held, &named)? {
                return Ok(Some(Layout {
                    elements: held,
                    ..layout
                }));
            }
        }
        Ok(None)
    }

    /// Whether the first elements carry different labels that the pickle names; deleted ones may be unnamed.
    fn agrees(&self, layout: &Layout, held: u64, named: &std::collections::HashSet<u64>) -> io::Result<bool> {
        let looked = held.min(4 * WITNESSES);
        let mut seen = std::collections::HashSet::new();
        for element in 0..looked {
            match self.label(layout, element)? {
                Some(label) if named.contains(&label) => drop(seen.insert(label)),
                Some(_) => {}
                None => return Ok(false),
            }
        }
        Ok(looked > 0 && seen.len() as u64 * 2 >= looked)
    }
}

/// How long each element's vector was before it was made one long.
#[derive(Debug)]
pub(crate) struct Lengths(File);

impl Lengths {
    /// The lengths of a segment, where they are written down.
    pub(super) fn open(folder: &Path) -> Option<Self> {
        open_file(&folder.join(LENGTHS)).ok()?.map(Self)
    }

    /// The length of an element's vector; nothing where what is written cannot be one.
    pub(super) fn of(&self, element: u32) -> Option<f32> {
        let mut bytes = [0; 4];
        self.0.read_exact_at(&mut bytes, u64::from(element) * 4).ok()?;
        Some(f32::from_le_bytes(bytes)).filter(|length| length.is_normal() && *length > 0.0)
    }
}

/// The numbers in little-endian bytes.
pub(crate) fn floats(bytes: &[u8]) -> Vec<f32> {
    let (numbers, _) = bytes.as_chunks::<4>();
    numbers.iter().map(|number| f32::from_le_bytes(*number)).collect()
}
