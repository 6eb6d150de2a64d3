//! `get`: returns whole drawers verbatim, in parts if they are longer than the budget.

use loci_core::{DrawerId, Error, Result};
use loci_engine::show::ShowRequest;
use loci_engine::view::DrawerView;
use loci_engine::view::address::{self, AddressTarget};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::ReplyBudget;
use crate::mcp::drawer_keys::DrawerKeys;
use crate::mcp::reply::to_reply_json;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words::{self, QUOTE_NOTICE, flatten_name};

/// The most drawers in one call.
const MOST: usize = 200;
/// The shortest part of a text that is worth sending, in bytes.
const LEAST_TEXT: usize = 200;
/// Characters that some reader treats as the end of a line.
const LINE_ENDS: [char; 7] = ['\n', '\r', '\u{b}', '\u{c}', '\u{85}', '\u{2028}', '\u{2029}'];

pub(crate) struct GetTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct GetInput {
    ids: Vec<String>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct GetOutput {
    #[schemars(with = "Vec<DrawerKeys>", extend("x-brief" = true))]
    drawers: Vec<DrawerView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    missing: Vec<String>,
    /// More text: call again with this cursor and append
    next: Option<String>,
}

impl PalaceTool for GetTool {
    const NAME: &'static str = "get";
    const ABOUT: &'static str = "Read whole drawers by id. A text longer than the budget comes in parts: call again \
        with `next` as cursor and append.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = GetInput;
    type Output = GetOutput;

    fn call(input: GetInput, call: &CallContext<'_>) -> Result<ToolReply<GetOutput>> {
        let mut budget = ReplyBudget::from_tokens(input.tokens)?;
        let ids = parse_ids(&input.ids)?;
        if ids.is_empty() {
            return Err(Error::invalid("`ids` is empty").with_hint("nothing was done"));
        }
        let report = call.palace.show(&ShowRequest {
            ids,
            embeddings: false,
        })?;
        if report.drawers.is_empty() {
            return Err(words::missing_drawers_error(&report.missing));
        }
        let (first, skip) = parse_cursor(input.cursor.as_deref(), report.drawers.len())?;
        // A quarter of the budget: missing ids must not crowd out the drawers that were found.
        let missing = words::ids_that_fit(&report.missing, budget.text_bytes() / 4);
        let named = words::join_ids(&report.missing, &missing);
        budget.spend(&named, &missing);
        // Scanning a whole text for flags is slow, so it is done once and not for every size that is tried.
        let found: Vec<DrawerView> = report.drawers.into_iter().map(DrawerView::for_agent).collect();
        let (drawers, next) = take_parts(&found, first, skip, budget);
        let text = render_reply(&drawers, &named, next.as_deref());
        let value = GetOutput {
            drawers,
            missing,
            next,
        };
        Ok(ToolReply { text, value })
    }
}

/// Parses ids, each once. An address (`palace://…`) stands for the id in it.
pub(super) fn parse_ids(given: &[String]) -> Result<Vec<DrawerId>> {
    if given.len() > MOST {
        let message = format!("`ids` may name at most {MOST} drawers, not {}", given.len());
        return Err(Error::invalid(message).with_hint("nothing was done"));
    }
    let mut ids: Vec<DrawerId> = Vec::with_capacity(given.len());
    for one in given {
        let id = match address::parse_address(one) {
            Ok(AddressTarget::Drawer(id)) => DrawerId::new(id)?,
            _ => DrawerId::new(one.as_str())?,
        };
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

/// Parses a cursor: the index of a drawer, and the byte at which its text continues.
fn parse_cursor(cursor: Option<&str>, drawers: usize) -> Result<(usize, usize)> {
    let Some(cursor) = cursor else { return Ok((0, 0)) };
    let read = cursor
        .split_once(':')
        .and_then(|(drawer, byte)| Some((drawer.parse().ok()?, byte.parse().ok()?)));
    read.filter(|(drawer, _)| *drawer < drawers).ok_or_else(|| {
        Error::invalid(format!("{cursor:?} is not a cursor for these ids"))
            .with_hint("pass `next` of the previous reply, with the same ids")
    })
}

/// Returns the parts of drawers that fit, starting at byte `skip` of the drawer `first`, and the cursor of
/// the rest.
fn take_parts(
    found: &[DrawerView],
    first: usize,
    skip: usize,
    mut budget: ReplyBudget,
) -> (Vec<DrawerView>, Option<String>) {
    let mut drawers = Vec::new();
    for (at, drawer) in found.iter().enumerate().skip(first) {
        let from = if at == first {
            drawer.whole_text().floor_char_boundary(skip)
        } else {
            0
        };
        let rest = drawer.whole_text().get(from..).unwrap_or_default();
        // The budget counts tokens, which depend on the text itself, so the size that fits is found by
        // trying.
        let mut take = rest.len().min(budget.text_bytes());
        loop {
            let part = rest.get(..rest.floor_char_boundary(take)).unwrap_or_default();
            let shown = DrawerView {
                more: part.len() < rest.len(),
                ..drawer.with_excerpt(part)
            };
            let fits = budget.spend(&quote_drawer(&shown), &to_reply_json(&shown).unwrap_or_default());
            let enough = part.len() >= LEAST_TEXT.min(rest.len());
            // The first drawer always makes progress, even over budget: a cursor that does not advance would
            // loop forever.
            if (fits && enough) || (drawers.is_empty() && take <= LEAST_TEXT) {
                let stop = shown.more;
                drawers.push(shown);
                if stop {
                    return (drawers, Some(format!("{at}:{}", from + part.len())));
                }
                break;
            }
            // Less than the minimum is left: this drawer starts the next reply instead.
            if take <= LEAST_TEXT {
                return (drawers, Some(format!("{at}:{from}")));
            }
            take = (take * 3 / 4).max(LEAST_TEXT);
        }
    }
    (drawers, None)
}

/// Renders a drawer: its citation, then its text with every line marked as a quotation.
fn quote_drawer(drawer: &DrawerView) -> String {
    let said_by = drawer.speaker.as_deref();
    let said_by = said_by.map_or_else(String::new, |name| format!("{} · ", flatten_name(name)));
    let mut text = format!(
        "[{}] {} · {said_by}{}{}\n",
        flatten_name(drawer.id.as_str()),
        words::render_place(drawer),
        drawer.describe_trust(),
        words::render_flags(drawer)
    );
    // Every kind of line break counts: an unmarked line could pass for words of this server.
    for line in drawer.whole_text().replace("\r\n", "\n").split(LINE_ENDS) {
        text.push_str("> ");
        text.push_str(line);
        text.push('\n');
    }
    text
}

fn render_reply(drawers: &[DrawerView], missing: &str, next: Option<&str>) -> String {
    let mut text = format!("{QUOTE_NOTICE}\n");
    for drawer in drawers {
        text.push_str(&quote_drawer(drawer));
    }
    if !missing.is_empty() {
        text.push_str(&format!("Missing: {missing}\n"));
    }
    if let Some(next) = next {
        text.push_str(&format!("More: cursor {next}"));
    }
    text
}
