//! `list`: drawers in one of the store's orders, page by page.

use loci_core::{DrawerOrder, Result};
use loci_engine::list::ListRequest;
use loci_engine::view::{DrawerView, ScopeFields, cursor_behind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::Budget;
use crate::mcp::reply::page;
use crate::mcp::tool::{Call, Effect, Reply, Tool};
use crate::mcp::words::{self, QUOTED, beginning};

/// How many drawers there are if no limit is given, and at most.
const USUAL: usize = 20;
const MOST: usize = 200;

pub(crate) struct List;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Input {
    #[serde(flatten)]
    scope: ScopeFields,
    /// id, filed, said or source [id]
    order: Option<String>,
    limit: Option<usize>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Output {
    #[schemars(with = "Vec<String>")]
    drawers: Vec<DrawerView>,
    total: u64,
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl Tool for List {
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "List drawers of a wing, room, source or time.";
    const EFFECT: Effect = Effect::Reads;
    type Input = Input;
    type Output = Output;

    fn call(input: Input, call: &Call<'_>) -> Result<Reply<Output>> {
        let mut budget = Budget::of(input.tokens)?;
        let order = input.order.as_deref().map(DrawerOrder::parse).transpose()?;
        let order = order.unwrap_or_default();
        let report = call.palace.list(&ListRequest {
            scope: input.scope.parse(call.palace.now())?,
            order,
            cursor: input.cursor,
            limit: input.limit.unwrap_or(USUAL).clamp(1, MOST),
            embeddings: false,
            total: true,
        })?;
        let warnings = words::warnings(&report.warnings);
        budget.spend(&warnings.concat(), &warnings);
        let (drawers, lines, next) = fit_drawers(budget, report.drawers, order, report.next, 1);
        let total = report.total.unwrap_or_default();
        let mut text = if drawers.is_empty() {
            "No drawers.".to_owned()
        } else {
            format!("{QUOTED} {total} drawers.\n{}", lines.join("\n"))
        };
        words::end(&mut text, &warnings, next.as_deref());
        let value = Output {
            drawers,
            total,
            next,
            warnings,
        };
        Ok(Reply { text, value })
    }
}

/// As many drawers of a page as fit, with lines that quote each, and the cursor behind the last. Texts may be so many
/// times as long as usual.
pub(super) fn fit_drawers(
    budget: Budget,
    found: Vec<DrawerView>,
    order: DrawerOrder,
    next: Option<String>,
    longer: usize,
) -> (Vec<DrawerView>, Vec<String>, Option<String>) {
    // Cursors are of the drawers as they were read: agents are shown less of them.
    let cursors: Vec<String> = found.iter().map(|drawer| cursor_behind(order, drawer)).collect();
    let found: Vec<DrawerView> = found.into_iter().map(DrawerView::for_agent).collect();
    let page = page(budget, &found, |at, drawer, size| {
        let shown = drawer.excerpt(beginning(drawer.whole_text(), longer * size));
        (words::line(&shown, at + 1), shown)
    });
    let shown = page.values.len();
    let next = if shown < found.len() {
        cursors.into_iter().take(shown).next_back()
    } else {
        next
    };
    (page.values, page.lines, next)
}
