//! `list`: lists drawers in one of the store's orders, page by page.

use loci_core::{DrawerOrder, Result, format_count};
use loci_engine::list::ListRequest;
use loci_engine::view::{DrawerView, ScopeFields, cursor_behind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::mcp::budget::ReplyBudget;
use crate::mcp::drawer_keys::DrawerKeys;
use crate::mcp::reply::fit_page;
use crate::mcp::tool::{CallContext, PalaceTool, ToolEffect, ToolReply};
use crate::mcp::words::{self, QUOTE_NOTICE, take_beginning};

/// The default and the largest number of drawers.
const DEFAULT_LIMIT: usize = 20;
const MAX_LIMIT: usize = 200;

pub(crate) struct ListTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListInput {
    #[serde(flatten)]
    scope: ScopeFields,
    #[allow(
        rustdoc::broken_intra_doc_links,
        reason = "the text of the schema: a default in brackets"
    )]
    /// id, filed, said or source [id]
    order: Option<String>,
    limit: Option<usize>,
    tokens: Option<usize>,
    cursor: Option<String>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct ListOutput {
    #[schemars(with = "Vec<DrawerKeys>", extend("x-brief" = true))]
    drawers: Vec<DrawerView>,
    total: u64,
    next: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    warnings: Vec<String>,
}

impl PalaceTool for ListTool {
    const NAME: &'static str = "list";
    const ABOUT: &'static str = "List drawers by wing, room, source or time.";
    const EFFECT: ToolEffect = ToolEffect::Reads;
    type Input = ListInput;
    type Output = ListOutput;

    fn call(input: ListInput, call: &CallContext<'_>) -> Result<ToolReply<ListOutput>> {
        let mut budget = ReplyBudget::from_tokens(input.tokens)?;
        let order = input.order.as_deref().map(DrawerOrder::parse).transpose()?;
        let order = order.unwrap_or_default();
        let report = call.palace.list(&ListRequest {
            scope: input.scope.parse(call.palace.now())?,
            order,
            cursor: input.cursor,
            limit: input.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT),
            embeddings: false,
            total: true,
        })?;
        let warnings = words::list_warnings(&report.warnings);
        budget.spend(&warnings.concat(), &warnings);
        let (drawers, lines, next) = fit_drawers(budget, report.drawers, order, report.next, 1);
        let total = report.total.unwrap_or_default();
        let mut text = if drawers.is_empty() {
            "No drawers.".to_owned()
        } else {
            format!(
                "{QUOTE_NOTICE} {}.\n{}",
                format_count(total, "drawer"),
                lines.join("\n")
            )
        };
        words::append_ending(&mut text, &warnings, next.as_deref());
        let value = ListOutput {
            drawers,
            total,
            next,
            warnings,
        };
        Ok(ToolReply { text, value })
    }
}

/// Returns as many drawers of a page as fit, the line that quotes each, and the cursor behind the last.
/// Quotes may be `longer` times the usual length.
pub(super) fn fit_drawers(
    budget: ReplyBudget,
    found: Vec<DrawerView>,
    order: DrawerOrder,
    next: Option<String>,
    longer: usize,
) -> (Vec<DrawerView>, Vec<String>, Option<String>) {
    // Cursors need fields that the view for agents leaves out, so they are made before it.
    let cursors: Vec<String> = found.iter().map(|drawer| cursor_behind(order, drawer)).collect();
    let found: Vec<DrawerView> = found.into_iter().map(DrawerView::for_agent).collect();
    let page = fit_page(budget, &found, |at, drawer, size| {
        let shown = drawer.with_excerpt(take_beginning(drawer.whole_text(), longer * size));
        (words::cite_drawer(&shown, at + 1), shown)
    });
    let shown = page.values.len();
    let next = if shown < found.len() {
        cursors.into_iter().take(shown).next_back()
    } else {
        next
    };
    (page.values, page.lines, next)
}
