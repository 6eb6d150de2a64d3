//! The answer of a search as people read it.

use loci_core::Span;
use loci_engine::search::{Dated, PlanReport, SearchReport, Standing, Why, excerpt, marks};
use loci_engine::view::{DrawerView, HitView};

use crate::page::{Page, counted};
use crate::render;

/// How much of a hit's text is shown, in bytes; the whole is one `loci show` away.
const SHOWN: usize = 480;

/// How much of a neighbour's text is shown, in bytes.
const BESIDE: usize = 160;

/// How many of the places a hit also stands in are named.
const PLACES: usize = 3;

/// Sets down every hit.
pub(super) fn answer(answer: &SearchReport, explain: bool, page: &mut Page) {
    if explain && let Some(plan) = &answer.plan {
        tell_plan(answer, plan, page);
    }
    let words = answer.plan.as_ref().map_or(&[][..], |plan| plan.words.as_slice());
    for (at, hit) in answer.hits.iter().enumerate() {
        if at > 0 {
            page.end();
        }
        found(at + 1, hit, words, explain, page);
    }
}

/// What is worth saying beside the hits.
pub(super) fn notes(answer: &SearchReport, asked_for: usize) -> Vec<String> {
    let mut notes = Vec::new();
    for dated in &answer.dates {
        notes.push(time_read(dated));
    }
    let by_words = answer.hits.iter().any(|hit| hit.why.lexical.is_some());
    if answer.hits.is_empty() {
        notes.push(format!("nothing found in {}", render::drawers(answer.in_scope)));
    } else if !by_words && answer.legs.lexical.ran {
        notes.push("no drawer holds these words; shown is what comes nearest by meaning".to_owned());
    }
    // Where there is enough to show, what was left out is no news.
    if answer.tool_output_left_out > 0 && answer.hits.len() < asked_for {
        notes.push(format!(
            "{} of tool output left out; search them too with --tools",
            render::drawers(answer.tool_output_left_out)
        ));
    }
    notes
}

fn time_read(dated: &Dated) -> String {
    let day = |time: loci_core::Timestamp| time.to_string().chars().take(10).collect::<String>();
    let (from, before) = (day(dated.from), day(dated.before));
    let span = match (from.starts_with("0001"), before.starts_with("9999")) {
        (true, _) => format!("before {before}"),
        (_, true) => format!("from {from} on"),
        _ => format!("from {from} to before {before}"),
    };
    let count = dated.drawers;
    match count {
        0 => format!(
            "{:?} read as {span}; nothing here was said then, so it counts for nothing",
            dated.words
        ),
        _ => format!(
            "{:?} read as {span}; what was said then counts more ({})",
            dated.words,
            render::drawers(count)
        ),
    }
}

/// How the query was understood.
fn tell_plan(answer: &SearchReport, plan: &PlanReport, page: &mut Page) {
    page.dim("words ").plain(&plan.words.join(" "));
    if !plan.left_out.is_empty() {
        page.dim("  not ").plain(&plan.left_out.join(" "));
    }
    page.end();
    for (name, leg, weight) in [
        ("nearest", &answer.legs.nearest, plan.weights.nearest),
        ("lexical", &answer.legs.lexical, plan.weights.lexical),
    ] {
        page.dim(name);
        match leg.ran {
            true => page.plain(&format!(
                " reached {:.1} % of {}, counts {weight:.2}",
                (leg.coverage * 1000.0).floor() / 10.0,
                render::drawers(answer.in_scope)
            )),
            false => page.plain(" did not run"),
        };
        page.end();
    }
    page.end();
}

fn found(number: usize, hit: &HitView, words: &[String], explain: bool, page: &mut Page) {
    let drawer = &hit.drawer;
    let place = render::place(drawer.wing.as_deref(), drawer.room.as_deref());
    page.dim(&format!("{number}. ")).bold(&place);
    if let Some(source) = &drawer.source {
        page.plain("  ").plain(&address(source, drawer.span));
    }
    if let Some(time) = drawer.said_at.or(drawer.filed_at) {
        page.plain("  ").dim(&render::moment(time));
    }
    if let Some(who) = speaker(drawer) {
        page.plain("  ").dim(&who);
    }
    page.end();
    beside(&hit.before, page);
    text(drawer, words, page);
    beside(&hit.after, page);
    page.plain("   ").dim(hit.drawer.id.as_str()).dim("  ");
    page.dim(&why(&hit.why, explain.then_some(hit.score))).end();
    also_in(hit, page);
}

/// A source and the lines of it, short enough for one line.
fn address(source: &str, span: Option<Span>) -> String {
    let name = source.rsplit(['/', '\\']).next().filter(|name| !name.is_empty());
    let name = name.unwrap_or(source);
    match span {
        Some(span) if span.line_start == span.line_end => format!("{name}:{}", span.line_start),
        Some(span) => format!("{name}:{}-{}", span.line_start, span.line_end),
        None => name.to_owned(),
    }
}

/// Who said it; the kind where that says more.
fn speaker(drawer: &DrawerView) -> Option<String> {
    match (&drawer.speaker, drawer.kind.as_deref()) {
        (Some(speaker), Some("human" | "assistant") | None) => Some(speaker.clone()),
        (Some(speaker), Some(kind)) if speaker != kind => Some(format!("{speaker} ({kind})")),
        (_, Some("file") | None) => None,
        (_, Some(kind)) => Some(kind.to_owned()),
    }
}

/// The part of the text that holds most of the words, with the words marked.
fn text(drawer: &DrawerView, words: &[String], page: &mut Page) {
    let text = drawer.whole_text();
    let marked = marks(text, words);
    let shown = excerpt(text, &marked, SHOWN);
    let (before, after) = (shown.start > 0, shown.end < text.len());
    let mut line_start = shown.start;
    let part = text.get(shown.clone()).unwrap_or_default();
    for (at, line) in part.trim_end_matches('\n').split('\n').enumerate() {
        page.plain("   ");
        if at == 0 && before {
            page.dim("… ");
        }
        let line_end = line_start + line.len();
        let mut from = line_start;
        for mark in marked
            .iter()
            .filter(|mark| mark.start >= line_start && mark.end <= line_end)
        {
            page.text(text.get(from..mark.start).unwrap_or_default());
            page.marked(text.get(mark.clone()).unwrap_or_default());
            from = mark.end;
        }
        let line_rest = text.get(from..line_end).unwrap_or_default();
        page.text(line_rest.strip_suffix('\r').unwrap_or(line_rest));
        line_start = line_end + 1;
        if line_start > shown.start + part.trim_end_matches('\n').len() && after {
            page.dim(&format!(
                " … {}",
                counted(rest(text, shown.end), "more character")
            ));
        }
        page.end();
    }
}

fn rest(text: &str, from: usize) -> u64 {
    text.get(from..).map_or(0, |rest| rest.chars().count() as u64)
}

fn beside(drawers: &[DrawerView], page: &mut Page) {
    for drawer in drawers {
        let text = drawer.whole_text();
        let shown = excerpt(text, &[], BESIDE);
        let cut = shown.end < text.len();
        let line = text.get(shown).unwrap_or_default().replace('\n', " ");
        let who = speaker(drawer).map_or_else(String::new, |who| format!("{who}: "));
        page.plain("   ")
            .dim("| ")
            .dim(&who)
            .dim(line.trim())
            .dim(if cut { " …" } else { "" })
            .end();
    }
}

/// What speaks for a hit, in a few words.
fn why(why: &Why, score: Option<f32>) -> String {
    let told = |name: &str, at: Option<Standing>| {
        at.map(|at| match score {
            Some(_) => format!("{name} {} ({:.3})", ordinal(at.rank), at.score),
            None => format!("{name} {}", ordinal(at.rank)),
        })
    };
    let mut parts: Vec<String> = Vec::new();
    parts.extend(told("words", why.lexical));
    parts.extend(told("meaning", why.nearest));
    parts.extend(why.source.map(|source| match score {
        Some(_) => format!(
            "{} pieces of this source found (+{:.3})",
            source.pieces, source.score
        ),
        None => format!("{} pieces of this source found", source.pieces),
    }));
    parts.extend(why.said.as_ref().map(|words| format!("said {words}")));
    parts.extend(why.own_words.then(|| "your own words".to_owned()));
    parts.extend(score.map(|score| format!("score {score:.3}")));
    parts.join(" · ")
}

fn ordinal(rank: usize) -> String {
    let end = match (rank % 10, rank % 100) {
        (_, 11..=13) => "th",
        (1, _) => "st",
        (2, _) => "nd",
        (3, _) => "rd",
        _ => "th",
    };
    format!("{rank}{end}")
}

fn also_in(hit: &HitView, page: &mut Page) {
    let Some(twins) = hit.also_in.as_ref().filter(|twins| !twins.is_empty()) else {
        return;
    };
    let places = twins.iter().take(PLACES).map(|twin| {
        let place = render::place(twin.wing.as_deref(), twin.room.as_deref());
        match &twin.source {
            Some(source) => format!("{place} {}", address(source, twin.span)),
            None => format!("{place} {}", twin.id),
        }
    });
    let mut told = places.collect::<Vec<_>>().join(", ");
    if twins.len() > PLACES {
        told.push_str(&format!(" and {} more", twins.len() - PLACES));
    }
    page.plain("   ").dim("also in ").dim(told.trim()).end();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_said_as_people_say_them() {
        let said: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 111].map(ordinal).to_vec();
        assert_eq!(
            said,
            [
                "1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "111th"
            ]
        );
    }
}
