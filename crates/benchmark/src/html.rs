//! The report as one self-contained page: tables, and plots drawn as SVG, without a script or an outside request.

use std::fmt::Write as _;

use crate::{BenchmarkPhase, BenchmarkReport, FigureUnit, MeasuredFigure};

const STYLE: &str = "
:root { color-scheme: light dark; --line: #8884; --bar: #3b7dd8; --edge: #8889; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: .2rem .6rem .2rem 0; border-bottom: 1px solid var(--line); }
td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.plot { width: 40%; } svg { width: 100%; height: 1rem; display: block; } rect { fill: var(--bar); } line { stroke: var(--edge); stroke-width: 2; }
p.facts, pre { color: #777; } pre { white-space: pre-wrap; overflow-wrap: anywhere; font-size: .85rem; }
";

/// Writes a report as a page.
pub fn write_html(report: &BenchmarkReport) -> String {
    let mut page = String::from("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">");
    page.push_str("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">");
    let title = format!(
        "{}: {} drawers of {} values",
        report.backend, report.rows, report.dimension
    );
    let title = escape(&title);
    let _ = write!(
        page,
        "<title>{title}</title><style>{STYLE}</style></head><body><h1>{title}</h1>"
    );
    let machine = &report.machine;
    let facts = format!(
        "{} · {} cores · {} MB · {} · seed {} · {} rounds · loci {}",
        machine.processor,
        machine.cores,
        machine.memory_mb,
        machine.system,
        report.seed,
        report.workload.rounds,
        report.versions.get("loci").map_or("", String::as_str),
    );
    let _ = write!(page, "<p class=\"facts\">{}</p>", escape(&facts));
    for phase in &report.phases {
        write_phase(phase, &mut page);
    }
    page.push_str("</body></html>\n");
    page
}

fn write_phase(phase: &BenchmarkPhase, page: &mut String) {
    let _ = write!(page, "<h2>{}</h2>", escape(&phase.name));
    page.push_str("<table><thead><tr><th>figure</th><th class=\"n\">median</th><th class=\"n\">95 %</th>");
    page.push_str("<th class=\"n\">unit</th><th>up to 95 %, median marked</th></tr></thead><tbody>");
    // One scale for each unit: milliseconds and megabytes do not compare.
    let longest = |unit: FigureUnit| {
        let same = phase.figures.values().filter(|figure| figure.unit == unit);
        same.map(|figure| figure.p95).fold(0.0, f64::max)
    };
    for (name, figure) in &phase.figures {
        let _ = write!(
            page,
            "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"plot\">{}</td></tr>",
            escape(name),
            format_figure(figure.median),
            format_figure(figure.p95),
            figure.unit.name(),
            draw_bar(figure, longest(figure.unit)),
        );
    }
    for (name, reason) in &phase.missing {
        let _ = write!(
            page,
            "<tr><td>{}</td><td colspan=\"4\">{}</td></tr>",
            escape(name),
            escape(reason)
        );
    }
    page.push_str("</tbody></table>");
    let state = escape(&phase.maintenance_state.to_string());
    let _ = write!(page, "<pre>maintenance: {state}</pre>");
}

fn draw_bar(figure: &MeasuredFigure, longest: f64) -> String {
    let percent = |value: f64| {
        if longest > 0.0 {
            (value / longest * 100.0).clamp(0.0, 100.0)
        } else {
            0.0
        }
    };
    let (end, middle) = (percent(figure.p95), percent(figure.median));
    format!(
        "<svg role=\"img\" aria-label=\"{}\"><rect x=\"0\" y=\"4\" height=\"8\" width=\"{end:.1}%\" rx=\"2\"/><line x1=\"{middle:.1}%\" x2=\"{middle:.1}%\" y1=\"1\" y2=\"15\"/></svg>",
        format_figure(figure.median)
    )
}

/// Writes a figure with three significant digits.
pub fn format_figure(value: f64) -> String {
    let size = value.abs();
    if size >= 100.0 || value == 0.0 {
        format!("{value:.0}")
    } else if size >= 10.0 {
        format!("{value:.1}")
    } else if size >= 1.0 {
        format!("{value:.2}")
    } else {
        format!("{value:.3}")
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(c),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_written_with_three_digits() {
        let written = [0.0, 0.0123, 1.234, 12.34, 1234.5].map(format_figure);
        assert_eq!(written, ["0", "0.012", "1.23", "12.3", "1234"]);
    }

    #[test]
    fn text_cannot_leave_its_place() {
        assert_eq!(escape("<b a='\"'>&"), "&lt;b a=&#39;&quot;&#39;&gt;&amp;");
    }
}
