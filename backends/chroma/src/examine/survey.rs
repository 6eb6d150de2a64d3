//! Findings of a walk over a whole graph: each says what Chroma does when it walks the same way.

use loci_core::{FindingSeverity, Metric, PalaceFinding, Result, format_count};

use super::FolderExamination;
use crate::failure;
use crate::graph::{GraphSurvey, LinkFault, SegmentGraph};
use crate::shelf::RecordShelf;

/// The fraction of live elements that a sound graph may leave without a link to them: one in this many.
///
/// Many updates and few links for each element leave one in forty.
const FEW: u64 = 5;

/// Walks a graph; the walk is done once and kept.
pub(super) fn walk_graph(graph: &SegmentGraph) -> Result<&GraphSurvey> {
    graph
        .survey()
        .map_err(|cause| failure::io_error("read", &graph.folder, cause))
}

/// Adds every fault of the walk that makes Chroma crash, hang, miss records or answer wrongly.
pub(super) fn check_walk(
    graph: &SegmentGraph,
    metric: Metric,
    add: &mut dyn FnMut(&str, String),
) -> Result<()> {
    let survey = walk_graph(graph)?;
    check_presence(graph, survey, add);
    check_start(graph, survey, add);
    check_faults(graph, survey, add);
    if let Some(broken) = &survey.broken_upper {
        let message = format!(
            "link_lists.bin cannot be read from element {} of {} on: {}; Chroma takes the links from random memory and may \
             crash",
            broken.element, survey.elements, broken.problem
        );
        add("link_lists_truncated", message);
    }
    if is_torn_apart(survey, metric) {
        let message = format!(
            "no link leads to {} of {} elements, and {} have no link to another; Chroma's search misses their records",
            survey.unreachable, survey.live, survey.linkless
        );
        add("elements_unreachable", message);
    }
    check_lengths(survey, add);
    Ok(())
}

fn check_presence(graph: &SegmentGraph, survey: &GraphSurvey, add: &mut dyn FnMut(&str, String)) {
    if survey.elements == 0 {
        return;
    }
    for (file, code, name) in [
        (graph.facts.links, "link_lists_missing", "link_lists.bin"),
        (graph.facts.lengths, "lengths_missing", "length.bin"),
    ] {
        if file.is_none() {
            add(code, format!("{name} is missing; Chroma cannot open the graph"));
        }
    }
}

/// Checks where a search starts.
fn check_start(graph: &SegmentGraph, survey: &GraphSurvey, add: &mut dyn FnMut(&str, String)) {
    let Some(Ok(links)) = &graph.links else { return };
    if survey.elements == 0 || survey.is_too_large {
        return;
    }
    if u64::from(links.entry_point) >= survey.elements {
        let message = format!(
            "searches start at element {}, but the graph has {}; Chroma crashes or never answers",
            links.entry_point, survey.elements
        );
        add("entry_point_invalid", message);
    }
    let Some(levels) = survey.levels else { return };
    let (top, highest) = (links.top_level, i32::from(levels.highest));
    if top != highest {
        let effect = if top > highest {
            "Chroma fails or crashes"
        } else if top < 0 {
            "Chroma's search misses nearly every record"
        } else {
            "Chroma does not use the levels above"
        };
        let message = format!(
            "header.bin says that the highest level is {top}, but that of the links is {highest}; {effect}"
        );
        add("max_level_invalid", message);
    } else if let Some(level) = levels.entry_point.filter(|level| i32::from(*level) < top) {
        let message = format!(
            "searches start on level {top} at element {}, which is on no level above {level}; Chroma crashes",
            links.entry_point
        );
        add("entry_point_invalid", message);
    }
}

fn check_faults(graph: &SegmentGraph, survey: &GraphSurvey, add: &mut dyn FnMut(&str, String)) {
    let faults = &survey.faults;
    let describe = |fault: LinkFault| format!("element {} on level {}", fault.element, fault.level);
    if let Some(first) = faults.first_count {
        let links = graph.links.as_ref().and_then(|links| links.as_ref().ok());
        let most = links.map_or(0, |links| match first.level {
            0 => links.most_level0,
            _ => links.most_upper,
        });
        let message = format!(
            "more links than an element has room for are claimed in {}, first that of {}: {} of at most {most}; Chroma \
             crashes when a search comes to one",
            format_count(faults.counts, "list"),
            describe(first),
            first.value
        );
        add("link_count_invalid", message);
    }
    if let Some(first) = faults.first_dangling {
        let message = format!(
            "links to elements that do not exist there are in {}, first that of {}: to {} of {}; Chroma crashes or never \
             answers when a search comes to one",
            format_count(faults.dangling, "list"),
            describe(first),
            first.value,
            survey.elements
        );
        add("links_dangling", message);
    }
}

/// Returns whether far more elements are cut off than in any sound graph.
fn is_torn_apart(survey: &GraphSurvey, metric: Metric) -> bool {
    // By inner product, elements link to the longest vectors and not back, so most of a sound graph can be out of
    // reach. That an element has no link at all is damage under every metric.
    let is_cut_off = metric != Metric::Ip && survey.unreachable * FEW > survey.live;
    is_cut_off || survey.linkless * FEW > survey.elements
}

fn check_lengths(survey: &GraphSurvey, add: &mut dyn FnMut(&str, String)) {
    if survey.lacking_lengths > 0 {
        let message = format!(
            "length.bin ends before the lengths of {} of {} vectors; Chroma returns them with random lengths",
            survey.lacking_lengths, survey.live
        );
        add("lengths_truncated", message);
    }
    if let Some((element, length)) = survey.first_bad_length {
        let message = format!(
            "{} lengths in length.bin are impossible, first that of element {element}: {length:e}; Chroma returns wrong \
             vectors for them",
            survey.bad_lengths.len()
        );
        add("lengths_invalid", message);
    }
}

impl FolderExamination {
    /// Notes what the walk found that is not damage.
    pub(super) fn note_walk(&mut self, shelf: &RecordShelf) -> Result<()> {
        let Some(graph) = &shelf.graph else { return Ok(()) };
        let name = shelf.listed.name.as_str();
        let survey = walk_graph(graph)?;
        let mut note = |code, message| {
            let finding = PalaceFinding::new(code, FindingSeverity::Note, message).in_collection(name);
            self.add_finding(finding.in_segment(shelf.listed.vector_segment.clone().unwrap_or_default()));
        };
        if survey.unreachable > 0 && !is_torn_apart(survey, shelf.listed.metric) {
            let message = format!(
                "no link leads to {} of {} elements of the graph, so Chroma's search does not find them; sound graphs have \
                 such elements",
                survey.unreachable, survey.live
            );
            note("elements_unreachable", message);
        }
        if survey.is_too_large {
            let message = format!("the links of {} elements are too many to check", survey.elements);
            note("links_unchecked", message);
        }
        Ok(())
    }
}
