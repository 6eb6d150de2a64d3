//! `get`: drawers whole and verbatim, in parts where they are longer than the budget.

use loci_core::{DrawerId, Error, Result};
use loci_engine::show::ShowRequest;
use loci_engine::view::DrawerView;
use loci_engine::view::address::{self, AddressTarget};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::value;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words::{self, QUOTED, flat};

/// How many drawers one call may ask for.
const MOST: usize = 200;
/// The least of a text that is worth sending, in bytes.
const LEAST: usize = 200;
/// Characters that end a line for one reader or another.
const ENDS_LINE: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

pub(crate) struct Get;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    ids: Vec<String>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    #[schemars(with = "Vec<String>")]
    drawers: Vec<DrawerView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// The text goes on: call again with this cursor and append
    next: Option<String>,
}

impl Tool for Get {
    const NAME: &'static str = "get";
    const ABOUT: &'static str = "Read drawers whole, by id. A text longer than the budget comes in parts: call again \
        with `next` as cursor and append.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let mut budget = Budget::of(input.tokens)?;
        let ids = parse_ids(&input.ids)?;
        if ids.is_empty() {
            return Err(Error::invalid("`ids` names no drawer").hint("nothing was done"));
        }
        let report = call.palace.show(&ShowRequest {
            ids,
            embeddings: false,
        })?;
        if report.drawers.is_empty() {
            return Err(words::missing(&report.missing));
        }
        let (first, skip) = position(input.cursor.as_deref(), report.drawers.len())?;
        let missing = words::told(&report.missing, budget.bytes() / 4);
        let named = words::list(&report.missing, &missing);
        budget.spend(&named, &missing);
        // Looking through a whole text for flags takes its time; it is done once, not for every size tried.
        let found: Vec<DrawerView> = report.drawers.into_iter().map(DrawerView::for_agent).collect();
        let (drawers, next) = parts(&found, first, skip, budget);
        let text = say(&drawers, &named, next.as_deref());
        let value = Output {
            drawers,
            missing,
            next,
        };
        Ok(Reply { text, value })
    }
}

/// Ids as they were given, each once; an address is taken for the id in it.
pub(super) fn parse_ids(given: &[String]) -> Result<Vec<DrawerId>> {
    if given.len() > MOST {
        let message = format!("`ids` may name {MOST} drawers, not {}", given.len());
        return Err(Error::invalid(message).hint("nothing was done"));
    }
    let mut ids: Vec<DrawerId> = Vec::with_capacity(given.len());
    for one in given {
        let id = match address::read(one) {
            Ok(AddressTarget::Drawer(id)) => DrawerId::new(id)?,
            _ => DrawerId::new(one.as_str())?,
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// The drawer that a cursor continues with, and from which byte of it.
fn position(cursor: Option<&str>, drawers: usize) -> Result<(usize, usize)> {
    let Some(cursor) = cursor else { return Ok((0, 0)) };
    let read = cursor
        .split_once(':')
        .and_then(|(drawer, byte)| Some((drawer.parse().ok()?, byte.parse().ok()?)));
    read.filter(|(drawer, _)| *drawer < drawers).ok_or_else(|| {
        Error::invalid(format!("{cursor:?} is not a cursor of these ids"))
            .hint("give `next` of the answer before, and the same ids as then")
    })
}

/// Parts of the drawers that fit, from a byte of one on, and the cursor of the rest.
fn parts(
    found: &[DrawerView],
    first: usize,
    skip: usize,
    mut budget: Budget,
) -> (Vec<DrawerView>, Option<String>) {
    let mut drawers = Vec::new();
    for (at, drawer) in found.iter().enumerate().skip(first) {
        let from = if at == first {
            drawer.whole_text().floor_char_boundary(skip)
        } else {
            0
        };
        let rest = drawer.whole_text().get(from..).unwrap_or_default();
        let mut take = rest.len().min(budget.bytes());
        loop {
            let part = rest.get(..rest.floor_char_boundary(take)).unwrap_or_default();
            let shown = DrawerView {
                more: part.len() < rest.len(),
                ..drawer.excerpt(part)
            };
            let fits = budget.spend(&said(&shown), &value(&shown).unwrap_or_default());
            let enough = part.len() >= LEAST.min(rest.len());
            if (fits && enough) || (drawers.is_empty() && take <= LEAST) {
                let stop = shown.more;
                drawers.push(shown);
                if stop {
                    return (drawers, Some(format!("{at}:{}", from + part.len())));
                }
                break;
            }
            if take <= LEAST {
                return (drawers, Some(format!("{at}:{from}")));
            }
            take = (take * 3 / 4).max(LEAST);
        }
    }
    (drawers, None)
}

/// A drawer in words: where it is from, then its text with every line marked as a quotation.
fn said(drawer: &DrawerView) -> String {
    let mut text = format!(
        "[{}] {} · trust {}{}\n",
        flat(drawer.id.as_str()),
        words::place(drawer),
        drawer.trust.name(),
        words::flags(drawer)
    );
    for line in drawer.whole_text().replace("\r\n", "\n").split(ENDS_LINE) {
        text.push_str("> ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn say(drawers: &[DrawerView], missing: &str, next: Option<&str>) -> String {
    let mut text = format!("{QUOTED}\n");
    for drawer in drawers {
        text.push_str(&said(drawer));
    }
    if !missing.is_empty() {
        text.push_str(&format!("Missing: {missing}\n"));
    }
    if let Some(next) = next {
        text.push_str(&format!("More: cursor {next}"));
    }
    text
}
