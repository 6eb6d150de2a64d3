//! Faults of a page for people who hear it, or see it badly, as axe-core finds them.

use super::page::BrowserPage;

/// Returns the violations as lines: the rule, the element, and what is wrong with it.
const CHECK: &str = "(async () => {
    const found = await axe.run(document, { resultTypes: ['violations'] });
    return found.violations.flatMap(rule => rule.nodes.map(node =>
        `${rule.id}: ${node.html.slice(0, 200)}: ${node.failureSummary.replace(/\\s+/g, ' ')}`));
})()";

#[track_caller]
pub(super) fn find_faults(page: &BrowserPage, axe: &str) -> Vec<String> {
    if page.eval("typeof axe") == "undefined" {
        page.eval(&format!("{axe}; 0"));
    }
    let lines = page.eval(CHECK);
    let lines = lines.as_array().unwrap().iter();
    lines
        .map(|line| line.as_str().unwrap_or_default().to_owned())
        .collect()
}
