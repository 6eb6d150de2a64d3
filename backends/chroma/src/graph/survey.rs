//! Walks a whole graph as Chroma does: every element, every link on every level, every vector and its length.
//!
//! Chroma follows links without looking: a target beyond the last element crashes its process or hangs it. Files are
//! read from front to back; a byte and a few bits for each element are all that is kept.

use std::io;

use super::element_set::ElementSet;
use super::files::decode_floats;
use super::header::{ElementLayout, LinkHeader};
use super::links::{BrokenUpperLinks, LinkFaults, LinkList, UpperLinks};
use super::{GraphElements, SegmentGraph};

/// The most elements that are walked; a graph with more would be larger than the disks that Chroma runs on.
const MOST_WALKED: u64 = 1 << 26;
/// The number of bytes that are read at once.
const BLOCK: u64 = 1 << 20;
/// The tolerated deviation of a normalised vector from length 1.
const UNIT_TOLERANCE: f64 = 1e-3;

/// The result of a walk.
#[derive(Debug, Default)]
pub(crate) struct GraphSurvey {
    /// The number of elements that were walked.
    pub(crate) elements: u64,
    /// Whether there are too many elements for a walk.
    pub(crate) is_too_large: bool,
    /// The wrong links.
    pub(crate) faults: LinkFaults,
    /// The problem that ends `link_lists.bin` early.
    pub(crate) broken_upper: Option<BrokenUpperLinks>,
    /// The highest level that an element has, and the level of the entry point.
    pub(crate) levels: Option<WalkedLevels>,
    /// The number of elements that are not marked deleted.
    pub(crate) live: u64,
    /// The number of those to which no link leads.
    pub(crate) unreachable: u64,
    /// The number of elements whose links lead to no other element.
    pub(crate) linkless: u64,
    /// The live elements whose vector cannot have been stored.
    pub(crate) bad_vectors: ElementSet,
    /// The live elements whose recorded length is not one of their vector.
    pub(crate) bad_lengths: ElementSet,
    /// The first of those.
    pub(crate) first_bad_length: Option<(u32, f32)>,
    /// The live elements for which no length is recorded, though vectors were normalised.
    pub(crate) lacking_lengths: u64,
}

/// The levels of a graph whose `link_lists.bin` is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WalkedLevels {
    /// The highest level of an element.
    pub(crate) highest: u8,
    /// The level of the entry point, if that element exists.
    pub(crate) entry_point: Option<u8>,
}

/// The sets that only the walk itself needs.
struct WalkSets {
    deleted: ElementSet,
    reached: ElementSet,
    /// The elements that were reached and whose links were not followed yet.
    waiting: Vec<u32>,
    /// The highest level of each element.
    levels: Vec<u8>,
}

impl GraphSurvey {
    pub(super) fn walk(graph: &SegmentGraph) -> io::Result<Self> {
        let elements = graph.readable_elements();
        let mut survey = Self {
            elements,
            is_too_large: elements > MOST_WALKED,
            ..Self::default()
        };
        let (Some(layout), Some(file)) = (&graph.layout, &graph.file) else {
            return Ok(survey);
        };
        if survey.is_too_large || elements == 0 {
            return Ok(survey);
        }
        let count = elements as usize;
        (survey.bad_vectors, survey.bad_lengths) = (ElementSet::new(count), ElementSet::new(count));
        let mut sets = WalkSets {
            deleted: ElementSet::new(count),
            reached: ElementSet::new(count),
            waiting: Vec::new(),
            levels: vec![0; count],
        };
        // A layout that was inferred says nothing about links: only vectors are checked then.
        let links = graph.links.as_ref().and_then(|links| links.as_ref().ok());
        survey.walk_level0(graph, file, layout, links.is_some(), &mut sets)?;
        if let Some(links) = links {
            survey.walk_upper(graph, links, &mut sets)?;
            survey.count_reached(file, layout, links, &mut sets)?;
        }
        Ok(survey)
    }

    /// Checks links, vectors and lengths of every element on level 0.
    fn walk_level0(
        &mut self,
        graph: &SegmentGraph,
        file: &GraphElements,
        layout: &ElementLayout,
        with_links: bool,
        sets: &mut WalkSets,
    ) -> io::Result<()> {
        let all = self.elements as u32;
        let most = (BLOCK / layout.size).max(1);
        let mut block = Vec::new();
        let mut first = 0;
        while first < self.elements {
            let held = most.min(self.elements - first);
            block.resize((held * layout.size) as usize, 0);
            if !file.fill_from(&mut block, first * layout.size)? {
                break;
            }
            for (bytes, element) in block.chunks_exact(layout.size as usize).zip(first as u32..) {
                let (list, rest) = bytes.split_at(layout.vector as usize);
                // hnswlib keeps the deletion mark in the third byte of the link count.
                let is_deleted = list.get(2).is_some_and(|marks| marks & 1 == 1);
                if is_deleted {
                    sets.deleted.insert(element);
                } else {
                    self.live += 1;
                    self.check_vector(
                        graph,
                        element,
                        rest.get(..layout.dimension() * 4).unwrap_or_default(),
                    );
                }
                if with_links {
                    let list = LinkList {
                        element,
                        level: 0,
                        bytes: list,
                    };
                    let leads_on = list.targets().any(|target| target != element);
                    self.linkless += u64::from(!leads_on && all > 1);
                    self.faults.check_list(list, |target| target < all, |_| {});
                }
            }
            first += held;
        }
        Ok(())
    }

    fn check_vector(&mut self, graph: &SegmentGraph, element: u32, bytes: &[u8]) {
        let vector = decode_floats(bytes);
        if !is_storable(&vector, graph.normalised) {
            self.bad_vectors.insert(element);
            return;
        }
        let Some(lengths) = &graph.lengths else { return };
        match lengths.recorded_at(element) {
            None => self.lacking_lengths += 1,
            // The zero vector has no direction, and length 0.
            Some(0.0) if square_of(&vector) == 0.0 => {}
            Some(length) if !lengths.is_believable(length) => {
                self.bad_lengths.insert(element);
                self.first_bad_length.get_or_insert((element, length));
            }
            Some(_) => {}
        }
    }

    /// Checks the links above level 0, and marks their targets as reached.
    fn walk_upper(
        &mut self,
        graph: &SegmentGraph,
        header: &LinkHeader,
        sets: &mut WalkSets,
    ) -> io::Result<()> {
        let all = self.elements as u32;
        // Twice through the file: whether a target is on the level of its link is known only after all of it.
        let Some(upper) = UpperLinks::open(&graph.folder, header)? else {
            return Ok(());
        };
        self.broken_upper = upper.for_each(all, |element, lists| {
            if let Some(level) = sets.levels.get_mut(element as usize) {
                *level = lists.len() as u8;
            }
        })?;
        if self.broken_upper.is_none() {
            self.levels = Some(WalkedLevels {
                highest: sets.levels.iter().copied().max().unwrap_or_default(),
                entry_point: sets.levels.get(header.entry_point as usize).copied(),
            });
        }
        let Some(upper) = UpperLinks::open(&graph.folder, header)? else {
            return Ok(());
        };
        let (levels, faults) = (&sets.levels, &mut self.faults);
        let (reached, waiting) = (&mut sets.reached, &mut sets.waiting);
        // A file that ends early says nothing about the levels of the elements after its end.
        let known = self.broken_upper.as_ref().map_or(all, |broken| broken.element);
        upper.for_each(known, |element, lists| {
            for (bytes, level) in lists.zip(1_u8..) {
                let list = LinkList {
                    element,
                    level,
                    bytes,
                };
                let exists = |target: u32| {
                    target < all
                        && (target >= known || levels.get(target as usize).is_some_and(|top| *top >= level))
                };
                faults.check_list(list, exists, |target| {
                    if reached.insert(target) {
                        waiting.push(target);
                    }
                });
            }
        })?;
        Ok(())
    }

    /// Follows the links of level 0 from every element that a search can start from.
    ///
    /// Those are the entry point and the targets of links above: a search comes down through one of them.
    fn count_reached(
        &mut self,
        file: &GraphElements,
        layout: &ElementLayout,
        header: &LinkHeader,
        sets: &mut WalkSets,
    ) -> io::Result<()> {
        if u64::from(header.entry_point) < self.elements && sets.reached.insert(header.entry_point) {
            sets.waiting.push(header.entry_point);
        }
        let mut bytes = vec![0; layout.vector as usize];
        while let Some(element) = sets.waiting.pop() {
            if !file.fill_from(&mut bytes, u64::from(element) * layout.size)? {
                continue;
            }
            let list = LinkList {
                element,
                level: 0,
                bytes: &bytes,
            };
            for target in list.targets() {
                if u64::from(target) < self.elements && sets.reached.insert(target) {
                    sets.waiting.push(target);
                }
            }
        }
        let missed = |element: &u32| !sets.reached.contains(*element) && !sets.deleted.contains(*element);
        self.unreachable = (0..self.elements as u32).filter(missed).count() as u64;
        Ok(())
    }
}

fn square_of(vector: &[f32]) -> f64 {
    vector.iter().map(|value| f64::from(*value).powi(2)).sum()
}

/// Returns whether a vector can have been stored.
pub(super) fn is_storable(vector: &[f32], normalised: bool) -> bool {
    let square = square_of(vector);
    if normalised {
        // The zero vector has no direction to normalise and is stored as it is.
        square == 0.0 || (square.sqrt() - 1.0).abs() < UNIT_TOLERANCE
    } else {
        // Chroma compares in 32 bits; beyond them every distance is infinite. Not a number is not below either.
        square <= f64::from(f32::MAX)
    }
}
