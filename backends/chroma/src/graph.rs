//! The graph files of a segment: where each element's vector and label lie. Everything is checked before it is used.
//!
//! Only `header.bin`, the elements of `data_level0.bin` and the pickle are ever read. The links between elements are
//! not: nothing here walks a graph, so a broken link can lead nowhere.

mod files;
pub(crate) mod header;

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) use files::{Elements, Facts, Lengths, PICKLE, SETTLED};
use header::Layout;

use crate::pickle::{self, Labels};

/// What can be said and read of one segment's folder.
#[derive(Debug)]
pub(crate) struct Graph {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// What the files look like from outside.
    pub(crate) facts: Facts,
    /// Where things lie within an element, from the header or from what the elements themselves show.
    pub(crate) layout: Option<Layout>,
    /// What is wrong with the header.
    pub(crate) header_problem: Option<String>,
    /// What the pickle says; `Err` is why it cannot be read, `None` that there is none.
    pub(crate) labels: Option<Result<Labels, String>>,
    /// The element of each label the pickle names.
    elements: HashMap<u64, u32>,
    /// How many elements have a label that no record has, and are not marked deleted.
    pub(crate) unclaimed: u64,
    /// How many labels stand in more than one element.
    pub(crate) repeated: u64,
    /// The elements.
    /// How long vectors were, where that is written down.
    lengths: Option<Lengths>,
    pub(crate) file: Option<Elements>,
}

/// What is known without the folder: it helps where the header is gone.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Expected {
    /// How many values vectors have.
    pub(crate) dimension: Option<usize>,
    /// How many links an element has, from the collection's settings.
    pub(crate) links: Option<u64>,
    /// Whether vectors were made one long when they were stored, with their true length written down beside.
    pub(crate) normalised: bool,
}

impl Graph {
    /// Reads what there is. Never fails on content: what is wrong is written down.
    pub(crate) fn open(folder: &Path, expected: Expected) -> io::Result<Self> {
        let facts = Facts::of(folder)?;
        let labels = read_labels(folder)?;
        let file = Elements::open(folder)?;
        let mut graph = Self {
            folder: folder.to_path_buf(),
            facts,
            layout: None,
            header_problem: None,
            labels,
            elements: HashMap::new(),
            unclaimed: 0,
            repeated: 0,
            lengths: expected.normalised.then(|| Lengths::open(folder)).flatten(),
            file,
        };
        graph.find_layout(expected)?;
        graph.place_labels()?;
        Ok(graph)
    }

    fn find_layout(&mut self, expected: Expected) -> io::Result<()> {
        let (layout, problem) = match header::read(&self.folder, expected)? {
            Ok(layout) => (Some(layout), None),
            Err(problem) => (None, Some(problem)),
        };
        self.header_problem = problem;
        self.layout = match (layout, &self.file, self.known()) {
            (Some(layout), ..) => Some(layout),
            (None, Some(file), Some(labels)) => file.guess_layout(expected, labels)?,
            _ => None,
        };
        Ok(())
    }

    /// The pickle's labels, as far as they could be read.
    pub(crate) fn known(&self) -> Option<&Labels> {
        self.labels.as_ref()?.as_ref().ok()
    }

    /// Whether the pickle cannot be read to its end.
    pub(crate) fn is_cut_short(&self) -> bool {
        let labels = self.labels.as_ref();
        labels.is_some_and(|labels| labels.as_ref().map_or(true, |labels| labels.broken.is_some()))
    }

    fn place_labels(&mut self) -> io::Result<()> {
        let (Some(layout), Some(file)) = (self.layout, &self.file) else {
            return Ok(());
        };
        let labels = self.labels.as_ref().and_then(|labels| labels.as_ref().ok());
        let wanted: HashSet<u64> = labels.map_or_else(Default::default, |labels| {
            labels.by_id.values().copied().collect()
        });
        let (mut unclaimed, mut twice) = (0, HashSet::new());
        let mut elements = HashMap::with_capacity(wanted.len().min(file.holds(&layout) as usize));
        file.labels(&layout, &mut |element, label, deleted| {
            if !wanted.contains(&label) {
                unclaimed += u64::from(!deleted);
            } else if elements.insert(label, element).is_some() {
                twice.insert(label);
            }
        })?;
        // Nobody can tell which of two elements is the record's, and another's vector is worse than none.
        elements.retain(|label, _| !twice.contains(label));
        let repeated = twice.len() as u64;
        self.elements = elements;
        (self.unclaimed, self.repeated) = (unclaimed, repeated);
        Ok(())
    }

    /// The element that holds the vector of the record `id`.
    pub(crate) fn element(&self, id: &str) -> Option<u32> {
        let label = self.known()?.by_id.get(id)?;
        self.elements.get(label).copied()
    }

    /// How many elements can be read.
    pub(crate) fn readable(&self) -> u64 {
        match (&self.file, &self.layout) {
            (Some(file), Some(layout)) => file.holds(layout),
            _ => 0,
        }
    }

    /// The vector of an element as Chroma gives it out: as long again as it was when it was written.
    ///
    /// `None` where it lies beyond the file or is no vector.
    pub(crate) fn vector(&self, element: u32) -> io::Result<Option<Vec<f32>>> {
        let Some(mut vector) = self.stored_vector(element)? else {
            return Ok(None);
        };
        let length = self.lengths.as_ref().and_then(|lengths| lengths.of(element));
        if let Some(length) = length.filter(|length| vector.iter().all(|value| (value * length).is_finite()))
        {
            vector.iter_mut().for_each(|value| *value *= length);
        }
        Ok(Some(vector))
    }

    /// The vector of an element as it lies in the file.
    pub(crate) fn stored_vector(&self, element: u32) -> io::Result<Option<Vec<f32>>> {
        match (&self.file, &self.layout) {
            (Some(file), Some(layout)) => file.vector(layout, element),
            _ => Ok(None),
        }
    }

    /// The ids the pickle names.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.known().into_iter().flat_map(|labels| labels.by_id.keys())
    }
}

fn read_labels(folder: &Path) -> io::Result<Option<Result<Labels, String>>> {
    let Some(file) = files::open_file(&folder.join(PICKLE))? else {
        return Ok(None);
    };
    let length = file.metadata()?.len();
    Ok(Some(pickle::read(
        BufReader::with_capacity(1 << 16, file),
        length,
    )))
}
