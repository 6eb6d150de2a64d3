//! The answer of a search as people read it.

use console::{measure_text_width, truncate_str};
use loci_core::{DrawerId, SourceSpan};
use loci_engine::search::{
    HitEvidence, LegStanding, MentionedTime, PlanReport, SearchReport, choose_excerpt, mark_words,
};
use loci_engine::view::{DrawerView, HitView, defuse_name};

use super::passage::PassageLines;
use crate::escape;
use crate::page::{TextPage, format_count};
use crate::render;

/// The lines of text shown for a hit; `--full` shows all.
const PASSAGE_LINES: usize = 2;

/// The bytes shown of a neighbour's text.
const NEIGHBOUR_BYTES: usize = 160;

/// The number of other places of a hit that are named.
const NAMED_PLACES: usize = 3;

/// The indent of everything below the first line of a hit.
const INDENT: &str = "   ";

/// The layout of a hit: about four lines, unless more is asked for.
#[derive(Debug, Clone, Copy)]
pub(super) struct HitLayout {
    /// The columns of the terminal.
    pub(super) width: usize,
    /// Whether the whole text is shown.
    pub(super) full: bool,
    /// Whether the reasons for each rank are shown.
    pub(super) explain: bool,
}

/// Writes every hit.
pub(super) fn write_answer(answer: &SearchReport, layout: HitLayout, page: &mut TextPage) {
    if layout.explain {
        write_plan(answer, page);
    }
    let words = answer.plan.as_ref().map_or(&[][..], |plan| plan.words.as_slice());
    for (at, hit) in answer.hits.iter().enumerate() {
        if at > 0 {
            page.end();
        }
        write_hit(at + 1, hit, words, layout, page);
    }
}

/// Lists what a reader should know besides the hits.
pub(super) fn list_notes(answer: &SearchReport, asked_for: usize) -> Vec<String> {
    let mut notes: Vec<String> = answer.dates.iter().map(describe_time).collect();
    let by_words = answer.hits.iter().any(|hit| hit.why.lexical.is_some());
    if answer.hits.is_empty() {
        notes.push(format!(
            "nothing found in {}",
            render::count_drawers(answer.in_scope)
        ));
    } else if !by_words && answer.legs.lexical.ran {
        notes.push("no drawer contains these words; these are the nearest by meaning".to_owned());
    }
    // Where the page is full, tool output would hardly have been on it.
    if answer.tool_output_left_out > 0 && answer.hits.len() < asked_for {
        notes.push(format!(
            "{} of tool output not searched; --tools includes them",
            render::count_drawers(answer.tool_output_left_out)
        ));
    }
    notes
}

/// Describes the time that words of the query were read as.
fn describe_time(dated: &MentionedTime) -> String {
    let day = |time: loci_core::Timestamp| time.to_string().chars().take(10).collect::<String>();
    // The end is exclusive; people name the last day that counts.
    let last = loci_core::Timestamp::from_micros(dated.before.as_micros() - 1).unwrap_or(dated.before);
    let (from, before, last) = (day(dated.from), day(dated.before), day(last));
    // Half-open times reach to the ends of the calendar.
    let span = match (from.starts_with("0001"), before.starts_with("9999")) {
        (true, _) => format!("before {before}"),
        (_, true) => format!("{from} or later"),
        _ if from == last => from,
        _ => format!("{from} to {last}"),
    };
    let effect = match dated.drawers {
        0 => "no drawer is from that time, so it is ignored".to_owned(),
        count if dated.alone => format!("{} from that time searched", render::count_drawers(count)),
        count => format!("{} from that time rank higher", render::count_drawers(count)),
    };
    let assumed = if dated.assumed {
        ", the last with drawers"
    } else {
        ""
    };
    format!("{:?} read as {span}{assumed}; {effect}", dated.words)
}

/// The words of a query without the punctuation around them.
fn trim_words(text: &str) -> String {
    let words = text.split_whitespace();
    let bare = words.map(|word| word.trim_matches(|c: char| !c.is_alphanumeric()));
    bare.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Writes how the query was read and what each retriever reached.
fn write_plan(answer: &SearchReport, page: &mut TextPage) {
    if let Some(plan) = &answer.plan {
        page.dim("matched words: ").plain(&trim_words(&plan.text));
        if !plan.left_out.is_empty() {
            page.dim("  ignored: ").plain(&plan.left_out.join(" "));
        }
        page.end();
    }
    let weights = answer.plan.as_ref().map(|plan: &PlanReport| plan.weights);
    for (name, leg, weight) in [
        (
            "meaning: ",
            &answer.legs.nearest,
            weights.map(|weights| weights.nearest),
        ),
        (
            "words: ",
            &answer.legs.lexical,
            weights.map(|weights| weights.lexical),
        ),
    ] {
        page.dim(name);
        if leg.ran {
            // Rounded down, so that 100.0 % always means all of them.
            let percent = (leg.coverage * 1000.0).floor() / 10.0;
            let weight = weight.map_or_else(String::new, |weight| format!(", weight {weight:.2}"));
            let how = if leg.approximate { ", approximate" } else { "" };
            page.plain(&format!(
                "covered {percent:.1} % of {}{weight}{how}",
                render::count_drawers(answer.in_scope)
            ));
        } else {
            page.plain("did not run");
        }
        page.end();
    }
    page.end();
}

fn write_hit(number: usize, hit: &HitView, words: &[String], layout: HitLayout, page: &mut TextPage) {
    let drawer = &hit.drawer;
    write_heading(number, drawer, layout.width, page);
    write_neighbours(&hit.before, page);
    let text = drawer.whole_text();
    let marked = mark_words(text, words);
    if layout.full {
        write_whole_text(text, &marked, page);
    } else {
        let width = layout.width.saturating_sub(INDENT.len());
        PassageLines::lay_out(text, &marked, width, PASSAGE_LINES).write(INDENT, page);
    }
    write_neighbours(&hit.after, page);
    page.plain(INDENT).dim(&short_id(&drawer.id));
    if let Some(source) = &drawer.source {
        page.plain("  ").plain(&format_address(source, drawer.span));
    }
    page.end();
    if layout.explain {
        page.plain(INDENT).dim(&explain_rank(hit)).end();
    }
    write_other_places(hit, page);
}

/// Writes the number, the place, the speaker, the trust and the time of a hit on one line.
fn write_heading(number: usize, drawer: &DrawerView, width: usize, page: &mut TextPage) {
    let place = render::format_place(drawer.wing.as_deref(), drawer.room.as_deref());
    let number = format!("{number}. ");
    let mut behind = String::new();
    for part in [
        name_speaker(drawer),
        Some(drawer.describe_trust().to_owned()),
        drawer.said_at.or(drawer.filed_at).map(render::format_minute),
    ]
    .into_iter()
    .flatten()
    {
        let dot = if place.is_empty() && behind.is_empty() {
            ""
        } else {
            " · "
        };
        behind.push_str(&format!("{dot}{}", escape::escape_line(&part)));
    }
    // The place alone is shortened: a title can be as long as a message.
    let used = number.len() + measure_text_width(&behind);
    let place = escape::escape_line(&place).into_owned();
    let place = truncate_str(&place, width.saturating_sub(used).max(10), "…").into_owned();
    page.dim(&number).bold(&place).dim(&behind).end();
}

/// The beginning of a derived id, which is enough to name it; an id that a person chose is shown whole.
fn short_id(id: &DrawerId) -> String {
    const SHORT: usize = 8;
    let is_derived = id.as_str().len() == 32 && id.as_str().bytes().all(|byte| byte.is_ascii_hexdigit());
    if is_derived {
        id.as_str().chars().take(SHORT).collect()
    } else {
        id.to_string()
    }
}

/// A source and the lines of it, as `loci cat`, `--source` and an editor take it.
fn format_address(source: &str, span: Option<SourceSpan>) -> String {
    match span {
        Some(span) if span.line_start == span.line_end => format!("{source}:{}", span.line_start),
        Some(span) => format!("{source}:{}-{}", span.line_start, span.line_end),
        None => source.to_owned(),
    }
}

/// The speaker, with the kind where that says more.
fn name_speaker(drawer: &DrawerView) -> Option<String> {
    let name = match (&drawer.speaker, drawer.kind.as_deref()) {
        (Some(speaker), Some("human" | "assistant") | None) => Some(speaker.clone()),
        (Some(speaker), Some(kind)) if speaker != kind => Some(format!("{speaker} ({kind})")),
        (_, Some("file") | None) => None,
        (_, Some(kind)) => Some(kind.to_owned()),
    };
    name.map(|name| defuse_name(&name).into_owned())
}

/// Writes a whole text with its marks, line by line.
fn write_whole_text(text: &str, marks: &[std::ops::Range<usize>], page: &mut TextPage) {
    let mut line_start = 0;
    for line in text.trim_end_matches('\n').split('\n') {
        page.plain(INDENT);
        let line_end = line_start + line.len();
        let mut from = line_start;
        let within = |mark: &&std::ops::Range<usize>| mark.start >= line_start && mark.end <= line_end;
        for mark in marks.iter().filter(within) {
            page.text(text.get(from..mark.start).unwrap_or_default());
            page.marked(text.get(mark.clone()).unwrap_or_default());
            from = mark.end;
        }
        let rest = text.get(from..line_end).unwrap_or_default();
        page.text(rest.strip_suffix('\r').unwrap_or(rest)).end();
        line_start = line_end + 1;
    }
}

fn write_neighbours(drawers: &[DrawerView], page: &mut TextPage) {
    for drawer in drawers {
        let text = drawer.whole_text();
        let shown = choose_excerpt(text, &[], NEIGHBOUR_BYTES);
        let cut = shown.end < text.len();
        let line = text.get(shown).unwrap_or_default().replace('\n', " ");
        let who = name_speaker(drawer).map_or_else(String::new, |who| format!("{who} · "));
        let who = format!("{who}{}: ", drawer.describe_trust());
        page.plain(INDENT)
            .dim("| ")
            .dim(&who)
            .dim(line.trim())
            .dim(if cut { " …" } else { "" })
            .end();
    }
}

/// Explains the rank of a hit in a few words.
fn explain_rank(hit: &HitView) -> String {
    let why: &HitEvidence = &hit.why;
    let describe = |name: &str, at: Option<LegStanding>| {
        at.map(|at| format!("{name} {} ({:.3})", format_rank(at.rank), at.score))
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(describe("words", why.lexical));
    parts.extend(hit.distance.map_or_else(
        || describe("meaning", why.nearest),
        |distance| Some(format!("distance {distance:.4}")),
    ));
    parts.extend(why.source.map(|source| {
        format!(
            "{} of this source found (+{:.3})",
            format_count(source.pieces as u64, "piece"),
            source.score
        )
    }));
    parts.extend(why.said.as_ref().map(|words| format!("said {words}")));
    parts.extend(why.own_words.then(|| "your own words".to_owned()));
    parts.push(format!("score {:.3}", hit.score));
    parts.join(" · ")
}

fn format_rank(rank: usize) -> String {
    let end = match (rank % 10, rank % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{rank}{end}")
}

/// Writes where near-duplicates of a hit are.
fn write_other_places(hit: &HitView, page: &mut TextPage) {
    let Some(twins) = hit.also_in.as_ref().filter(|twins| !twins.is_empty()) else {
        return;
    };
    let places = twins.iter().take(NAMED_PLACES).map(|twin| match &twin.source {
        Some(source) => format_address(source, twin.span),
        None => short_id(&twin.id),
    });
    let mut named = places.collect::<Vec<_>>().join(", ");
    if twins.len() > NAMED_PLACES {
        named.push_str(&format!(" and {} more", twins.len() - NAMED_PLACES));
    }
    page.plain(INDENT).dim("also in ").dim(&named).end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_said_as_people_say_them() {
        let said: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 111].map(format_rank).to_vec();
        assert_eq!(
            said,
            [
                "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th"
            ]
        );
    }
}
