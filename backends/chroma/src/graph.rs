//! The graph files of a segment: the vectors and labels of its elements. Everything is checked before it is used.
//!
//! Records are read from `header.bin`, the elements of `data_level0.bin`, the lengths of vectors and the pickle, so a
//! broken link does no harm. Only the doctor walks the links, in `survey`, because Chroma does.

mod element_set;
mod files;
pub(crate) mod header;
mod lengths;
mod links;
mod survey;

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

pub(crate) use files::{GraphElements, GraphFileFacts, PICKLE, SEGMENT_FILES};
use header::{ElementLayout, GraphHeader, LinkHeader};
use lengths::VectorLengths;
pub(crate) use links::LinkFault;
pub(crate) use survey::GraphSurvey;

use crate::pickle::{self, PickleLabels};

/// The graph in the folder of one segment.
#[derive(Debug)]
pub(crate) struct SegmentGraph {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The stats of its files.
    pub(crate) facts: GraphFileFacts,
    /// The layout of an element, from the header or inferred from the elements.
    pub(crate) layout: Option<ElementLayout>,
    /// The problem with the header, if there is one.
    pub(crate) header_problem: Option<String>,
    /// The part of the header on links, or the problem with it; `None` if the layout was inferred.
    pub(crate) links: Option<Result<LinkHeader, String>>,
    /// The labels in the pickle; `Err` is the reason why it cannot be read, `None` means that there is none.
    pub(crate) labels: Option<Result<PickleLabels, String>>,
    /// The element of each label in the pickle.
    elements: HashMap<u64, u32>,
    /// The number of elements that are not marked deleted and whose label belongs to no record.
    pub(crate) unclaimed: u64,
    /// The number of labels that occur in more than one element.
    pub(crate) repeated: u64,
    /// Whether vectors were normalised when they were stored.
    pub(crate) normalised: bool,
    /// The original lengths of normalised vectors, if they are recorded.
    lengths: Option<VectorLengths>,
    /// The elements.
    pub(crate) file: Option<GraphElements>,
    /// The result of walking the whole graph, once that was asked for.
    surveyed: OnceLock<GraphSurvey>,
}

/// The properties of a graph that are known without its folder, for use if the header is lost.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GraphExpectation {
    /// The number of values in a vector.
    pub(crate) dimension: Option<usize>,
    /// The number of links in an element, from the collection's settings.
    pub(crate) links: Option<u64>,
    /// Whether vectors were normalised when they were stored, with their original lengths in a file of their own.
    pub(crate) normalised: bool,
}

impl SegmentGraph {
    /// Reads the graph. Its content never causes an error: problems are recorded.
    pub(crate) fn open(folder: &Path, expected: GraphExpectation) -> io::Result<Self> {
        let facts = GraphFileFacts::read(folder)?;
        // Before the elements: Chroma saves the pickle last, so
        // its labels are never newer than the elements read here.
        let labels = read_labels(folder)?;
        let file = GraphElements::open(folder)?;
        let mut graph = Self {
            folder: folder.to_path_buf(),
            facts,
            layout: None,
            header_problem: None,
            links: None,
            labels,
            elements: HashMap::new(),
            unclaimed: 0,
            repeated: 0,
            normalised: expected.normalised,
            lengths: None,
            file,
            surveyed: OnceLock::new(),
        };
        graph.find_layout(expected)?;
        if expected.normalised {
            graph.lengths = VectorLengths::open(folder, graph.readable_elements())?;
        }
        graph.locate_labels()?;
        Ok(graph)
    }

    /// Walks the whole graph as Chroma does, once.
    pub(crate) fn survey(&self) -> io::Result<&GraphSurvey> {
        if let Some(survey) = self.surveyed.get() {
            return Ok(survey);
        }
        let survey = GraphSurvey::walk(self)?;
        Ok(self.surveyed.get_or_init(|| survey))
    }

    fn find_layout(&mut self, expected: GraphExpectation) -> io::Result<()> {
        let layout = match header::read_header(&self.folder, expected)? {
            Ok(GraphHeader { layout, links }) => {
                self.links = Some(links);
                Some(layout)
            }
            Err(problem) => {
                self.header_problem = Some(problem);
                None
            }
        };
        self.layout = match (layout, &self.file, self.readable_labels()) {
            (Some(layout), ..) => Some(layout),
            // Without a header the layout is inferred only against a
            // pickle: labels that agree are a proof, a guess is not.
            (None, Some(file), Some(labels)) => file.guess_layout(expected, labels)?,
            _ => None,
        };
        Ok(())
    }

    /// Returns the labels in the pickle, as far as they are readable.
    pub(crate) fn readable_labels(&self) -> Option<&PickleLabels> {
        self.labels.as_ref()?.as_ref().ok()
    }

    /// Returns whether the pickle cannot be read to its end.
    pub(crate) fn is_cut_short(&self) -> bool {
        let labels = self.labels.as_ref();
        labels.is_some_and(|labels| labels.as_ref().map_or(true, |labels| labels.broken.is_some()))
    }

    fn locate_labels(&mut self) -> io::Result<()> {
        let (Some(layout), Some(file)) = (self.layout, &self.file) else {
            return Ok(());
        };
        let labels = self.labels.as_ref().and_then(|labels| labels.as_ref().ok());
        let wanted: HashSet<u64> = labels.map_or_else(Default::default, |labels| {
            labels.by_id.values().copied().collect()
        });
        let (mut unclaimed, mut twice) = (0, HashSet::new());
        // Bounded by both counts, since either may be a lie that would reserve all memory.
        let mut elements = HashMap::with_capacity(wanted.len().min(file.count_within(&layout) as usize));
        file.for_each_label(&layout, &mut |element, label, deleted| {
            if !wanted.contains(&label) {
                unclaimed += u64::from(!deleted);
            } else if elements.insert(label, element).is_some() {
                twice.insert(label);
            }
        })?;
        // It is unknown which of two elements belongs to the record, and a wrong vector is worse than none.
        elements.retain(|label, _| !twice.contains(label));
        let repeated = twice.len() as u64;
        self.elements = elements;
        (self.unclaimed, self.repeated) = (unclaimed, repeated);
        Ok(())
    }

    /// Returns the element that holds the vector of the record `id`.
    pub(crate) fn element_of(&self, id: &str) -> Option<u32> {
        let label = self.readable_labels()?.by_id.get(id)?;
        self.elements.get(label).copied()
    }

    /// Returns the number of readable elements.
    pub(crate) fn readable_elements(&self) -> u64 {
        match (&self.file, &self.layout) {
            (Some(file), Some(layout)) => file.count_within(layout),
            _ => 0,
        }
    }

    /// Returns whether the vector of an element is undamaged.
    pub(crate) fn has_sound_vector(&self, element: u32) -> io::Result<bool> {
        let survey = self.survey()?;
        Ok(u64::from(element) < survey.elements && !survey.bad_vectors.contains(element))
    }

    /// Returns whether the original length of a vector is lost, so that only its direction is known.
    pub(crate) fn lacks_length(&self, element: u32) -> bool {
        let length = self
            .lengths
            .as_ref()
            .and_then(|lengths| lengths.length_at(element));
        self.normalised && length.is_none()
    }

    /// Reads the vector of an element as Chroma returns it: scaled back to its original length.
    ///
    /// Returns `None` if it lies beyond the file or holds values that no program can have stored.
    pub(crate) fn read_vector(&self, element: u32) -> io::Result<Option<Vec<f32>>> {
        let (Some(file), Some(layout)) = (&self.file, &self.layout) else {
            return Ok(None);
        };
        let stored = file.read_vector(layout, element)?;
        let Some(mut vector) = stored.filter(|vector| survey::is_storable(vector, self.normalised)) else {
            return Ok(None);
        };
        let length = self
            .lengths
            .as_ref()
            .and_then(|lengths| lengths.length_at(element));
        // A damaged length must not turn a sound direction into infinities.
        if let Some(length) = length.filter(|length| vector.iter().all(|value| (value * length).is_finite()))
        {
            vector.iter_mut().for_each(|value| *value *= length);
        }
        Ok(Some(vector))
    }

    /// Returns the ids in the pickle.
    pub(crate) fn labelled_ids(&self) -> impl Iterator<Item = &Arc<str>> {
        self.readable_labels()
            .into_iter()
            .flat_map(|labels| labels.by_id.keys())
    }
}

fn read_labels(folder: &Path) -> io::Result<Option<Result<PickleLabels, String>>> {
    let Some(file) = files::open_file(&folder.join(PICKLE))? else {
        return Ok(None);
    };
    let length = file.metadata()?.len();
    Ok(Some(pickle::read(
        BufReader::with_capacity(1 << 16, file),
        length,
    )))
}
