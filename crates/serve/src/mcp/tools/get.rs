//! `get`: drawers whole and verbatim, in parts where they are longer than the budget.

use loci_core::{CollectionReaderExt as _, DrawerId, DrawerPosition, Error, Get as Request, Include, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::receipt;
use crate::mcp::shown::{Brief, QUOTED, Shown, flat};
use crate::mcp::tool::{Call, Effect, Reply, Tool};

/// How many drawers one call may ask for.
const MOST: usize = 200;
/// The least of a text that is worth sending, in bytes.
const LEAST: usize = 200;
/// How long the beginning of an id must be to be taken for it, and how long ids made here are.
const SHORTEST: usize = 8;
const LENGTH: usize = 32;
/// What anybody takes for the end of a line.
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
    #[schemars(with = "Vec<Brief>")]
    drawers: Vec<Shown>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// The text goes on: call again with this cursor and append
    #[serde(skip_serializing_if = "Option::is_none")]
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
        let ids = ids(&input.ids)?;
        let ids = whole(ids, call)?;
        let (first, skip) = position(input.cursor.as_deref(), ids.len())?;
        let collection = call.house.read()?;
        let found = collection.get(&Request::ids(ids.iter().cloned()))?;
        let is_there = |id: &DrawerId| found.iter().any(|drawer| drawer.id == *id);
        let absent: Vec<DrawerId> = ids.iter().filter(|id| !is_there(id)).cloned().collect();
        if found.is_empty() {
            return Err(receipt::missing(&absent));
        }
        let missing = receipt::told(&absent, budget.bytes() / 4);
        let named = receipt::list(&absent, &missing);
        budget.spend(&named, &missing);
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

/// Ids as they are stored; an address is taken for the id in it.
pub(super) fn ids(given: &[String]) -> Result<Vec<DrawerId>> {
    if given.is_empty() || given.len() > MOST {
        return Err(Error::invalid(format!(
            "`ids` must name 1 to {MOST} drawers, not {}",
            given.len()
        ))
        .hint("nothing was done"));
    }
    let mut ids: Vec<DrawerId> = Vec::with_capacity(given.len());
    for one in given {
        let id = match crate::mcp::address::read(one) {
            Ok(crate::mcp::address::Address::Drawer(id)) => DrawerId::new(id)?,
            _ => DrawerId::new(one.as_str())?,
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// The ids that are meant: `wake_up` shows only how they begin.
fn whole(ids: Vec<DrawerId>, call: &Call<'_>) -> Result<Vec<DrawerId>> {
    let collection = call.house.read()?;
    let begun = |id: DrawerId| {
        let next = Request {
            after: Some(DrawerPosition::Id(id.clone())),
            limit: Some(2),
            include: Include::NOTHING,
            ..Request::default()
        };
        let is_short = (SHORTEST..LENGTH).contains(&id.as_str().len());
        if !is_short || collection.find(&id)?.is_some() {
            return Ok(id);
        }
        let found = collection.get(&next)?;
        let mut alike = found.into_iter().map(|drawer| drawer.id);
        let fits = |other: &DrawerId| other.as_str().starts_with(id.as_str());
        match (alike.next().filter(fits), alike.next().filter(fits)) {
            (Some(only), None) => Ok(only),
            _ => Ok(id),
        }
    };
    ids.into_iter().map(begun).collect()
}

/// Where a cursor goes on: which drawer, and from which byte of it.
fn position(cursor: Option<&str>, drawers: usize) -> Result<(usize, usize)> {
    let Some(cursor) = cursor else { return Ok((0, 0)) };
    let read = cursor
        .split_once(':')
        .and_then(|(drawer, byte)| Some((drawer.parse().ok()?, byte.parse().ok()?)));
    read.filter(|(drawer, _)| *drawer < drawers).ok_or_else(|| {
        Error::invalid(format!("{cursor:?} is no cursor of these ids"))
            .hint("give `next` of the answer before, and the same ids as then")
    })
}

fn parts(
    found: &[loci_core::Drawer],
    first: usize,
    skip: usize,
    mut budget: Budget,
) -> (Vec<Shown>, Option<String>) {
    let mut drawers = Vec::new();
    for (at, drawer) in found.iter().enumerate().skip(first) {
        let document = drawer.document.as_deref().unwrap_or_default();
        let from = if at == first {
            document.floor_char_boundary(skip)
        } else {
            0
        };
        let rest = document.get(from..).unwrap_or_default();
        // Looking through the whole text for flags takes its time; it is done once, not for every size tried.
        let known = Shown::of(drawer, "");
        let mut take = rest.len().min(budget.bytes());
        loop {
            let part = rest.get(..rest.floor_char_boundary(take)).unwrap_or_default();
            let shown = Shown {
                text: part.to_owned(),
                more: part.len() < rest.len(),
                ..known.clone()
            };
            let fits = budget.spend(&said(&shown), &shown);
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
fn said(shown: &Shown) -> String {
    let place = [shown.wing.as_deref(), shown.room.as_deref()].map(|name| name.unwrap_or("-"));
    let flags = match shown.flags.is_empty() {
        true => String::new(),
        false => format!(" · {}", shown.flags.join(", ")),
    };
    let mut text = format!(
        "[{}] {} · trust {}{flags}\n",
        flat(&shown.id),
        flat(&place.join("/")),
        shown.trust
    );
    for line in shown.text.replace("\r\n", "\n").split(ENDS_LINE) {
        text.push_str("> ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn say(drawers: &[Shown], missing: &str, next: Option<&str>) -> String {
    let mut text = format!("{QUOTED}\n");
    for shown in drawers {
        text.push_str(&said(shown));
    }
    if !missing.is_empty() {
        text.push_str(&format!("Missing: {missing}\n"));
    }
    if let Some(next) = next {
        text.push_str(&format!("More: cursor {next}"));
    }
    text
}
