//! Recall against k as a drawing: one panel for each set, one line for each way.

use std::fmt::Write as _;

use super::ask::RetrievalWay;
use super::metrics::DEEPEST;

/// The lines of one set.
#[derive(Debug)]
pub(crate) struct ChartPanel<'a> {
    pub(crate) title: &'a str,
    /// Recall at 1, 2, … by the order of [`RetrievalWay::ALL`].
    pub(crate) curves: [Vec<f64>; 3],
}

const WIDTH: f64 = 380.0;
const HEIGHT: f64 = 300.0;
/// The plot within its panel: left, top, right, bottom.
const PLOT: [f64; 4] = [52.0, 44.0, 364.0, 248.0];

const STYLE: &str = "
  .ground { fill: #ffffff } text { fill: #24292f; font: 12px system-ui, sans-serif }
  .title { font-weight: 600; font-size: 14px } .grid { stroke: #d0d7de } .axis { stroke: #57606a }
  polyline, .key { fill: none; stroke-width: 2 }
  .lexical { stroke: #b35900; stroke-dasharray: 6 3 } .nearest { stroke: #6639ba; stroke-dasharray: 2 3 }
  .fused { stroke: #0969da }
  @media (prefers-color-scheme: dark) {
    .ground { fill: #0d1117 } text { fill: #e6edf3 } .grid { stroke: #30363d } .axis { stroke: #8b949e }
    .lexical { stroke: #f0a35e } .nearest { stroke: #b392f0 } .fused { stroke: #58a6ff }
  }
";

/// Draws the panels side by side.
pub(crate) fn draw(panels: &[ChartPanel<'_>]) -> String {
    let width = WIDTH * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {HEIGHT}\" width=\"{width}\" height=\"{HEIGHT}\" role=\"img\">\n\
         <title>Session recall against the number of sessions looked at</title>\n<style>{STYLE}</style>\n\
         <rect class=\"ground\" width=\"{width}\" height=\"{HEIGHT}\"/>\n"
    );
    let lowest = lowest(panels);
    for (at, panel) in panels.iter().enumerate() {
        let _ = writeln!(svg, "<g transform=\"translate({} 0)\">", at as f64 * WIDTH);
        axes(&mut svg, panel.title, lowest);
        for (way, curve) in RetrievalWay::ALL.into_iter().zip(&panel.curves) {
            let points: Vec<String> = (1..)
                .zip(curve)
                .map(|(k, recall)| point(k, *recall, lowest))
                .collect();
            let _ = writeln!(
                svg,
                "<polyline class=\"{}\" points=\"{}\"/>",
                way.name(),
                points.join(" ")
            );
        }
        legend(&mut svg);
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}

/// The tenth below all lines, where the axis begins.
fn lowest(panels: &[ChartPanel<'_>]) -> f64 {
    let all = panels.iter().flat_map(|panel| panel.curves.iter().flatten());
    let least = all.copied().fold(0.9, f64::min);
    (least * 10.0).floor() / 10.0
}

fn across(k: usize) -> f64 {
    let [left, _, right, _] = PLOT;
    left + (right - left) * (k as f64 - 1.0) / (DEEPEST as f64 - 1.0)
}

fn up(recall: f64, lowest: f64) -> f64 {
    let [_, top, _, bottom] = PLOT;
    bottom - (bottom - top) * (recall - lowest) / (1.0 - lowest)
}

fn point(k: usize, recall: f64, lowest: f64) -> String {
    format!("{:.1},{:.1}", across(k), up(recall, lowest))
}

fn axes(svg: &mut String, title: &str, lowest: f64) {
    let [left, top, right, bottom] = PLOT;
    let _ = writeln!(
        svg,
        "<text class=\"title\" x=\"{left}\" y=\"24\">{}: session recall</text>",
        escaped(title)
    );
    let tenths = (lowest * 10.0).round() as u32..=10;
    for recall in tenths.map(|tenth| f64::from(tenth) / 10.0) {
        let y = up(recall, lowest);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>"
        );
        let _ = writeln!(
            svg,
            "<text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{recall:.1}</text>",
            left - 8.0,
            y + 4.0
        );
    }
    for k in [1, 5, 10, 15, DEEPEST] {
        let (x, y) = (across(k), bottom + 18.0);
        let _ = writeln!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{k}</text>"
        );
    }
    let _ = writeln!(
        svg,
        "<path class=\"axis\" fill=\"none\" d=\"M{left} {top}V{bottom}H{right}\"/>"
    );
    let (x, y) = ((left + right) / 2.0, bottom + 38.0);
    let _ = writeln!(
        svg,
        "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">k, different sessions</text>"
    );
}

/// Below right, where no line comes that ends near 1.
fn legend(svg: &mut String) {
    let [_, _, right, bottom] = PLOT;
    for (at, way) in RetrievalWay::ALL.into_iter().enumerate() {
        let (x, y) = (right - 100.0, bottom - 52.0 + 18.0 * at as f64);
        let name = way.name();
        let _ = writeln!(svg, "<path class=\"key {name}\" d=\"M{x} {y}h32\"/>");
        let _ = writeln!(svg, "<text x=\"{}\" y=\"{}\">{name}</text>", x + 40.0, y + 4.0);
    }
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "a test: a panic is a red line")]
mod tests {
    use super::*;

    fn drawing() -> String {
        let panel = |title| ChartPanel {
            title,
            curves: [vec![0.52; DEEPEST], vec![0.7; DEEPEST], vec![1.0; DEEPEST]],
        };
        draw(&[panel("One"), panel("Two <& more>")])
    }

    /// Every element is closed in its order, attributes are in quotes, and nothing but names follows `<`.
    fn check_well_formed(svg: &str) {
        let mut open = Vec::new();
        for part in svg.split('<').skip(1) {
            let (tag, text) = part
                .split_once('>')
                .unwrap_or_else(|| panic!("not closed: <{part}"));
            assert!(!text.contains('>'), "a bare > in {text:?}");
            let name = tag
                .trim_matches('/')
                .split_whitespace()
                .next()
                .unwrap_or_default();
            assert!(
                !name.is_empty() && name.chars().all(char::is_alphanumeric),
                "<{tag}>"
            );
            assert_eq!(tag.matches('"').count(), 2 * tag.matches('=').count(), "<{tag}>");
            match (tag.starts_with('/'), tag.ends_with('/')) {
                (true, _) => assert_eq!(open.pop(), Some(name)),
                (false, false) => open.push(name),
                (false, true) => {}
            }
        }
        assert!(open.is_empty(), "{open:?}");
    }

    #[test]
    fn a_drawing_is_well_formed() {
        check_well_formed(&drawing());
    }

    #[test]
    fn every_set_has_a_line_for_every_way_with_a_point_for_every_k() {
        let svg = drawing();
        for way in RetrievalWay::ALL {
            let start = format!("<polyline class=\"{}\" points=\"", way.name());
            let lines: Vec<&str> = svg.split(&start).skip(1).collect();
            assert_eq!(lines.len(), 2, "{}", way.name());
            for line in lines {
                let (points, _) = line.split_once('"').unwrap();
                assert_eq!(points.split(' ').count(), DEEPEST);
            }
            assert_eq!(svg.matches(&format!(">{}</text>", way.name())).count(), 2);
        }
    }

    #[test]
    fn higher_recall_is_drawn_higher_and_within_the_plot() {
        let [left, top, right, bottom] = PLOT;
        assert_eq!(point(1, 0.5, 0.5), format!("{left:.1},{bottom:.1}"));
        assert_eq!(point(DEEPEST, 1.0, 0.5), format!("{right:.1},{top:.1}"));
    }
}
