//! Findings of a palace: damage, unknown names, limits of an answer.

use loci_core::{FindingSeverity, PalaceFinding};
use maud::{Markup, html};

use super::shown;

/// Shows a finding with what to do about it.
pub(crate) fn finding(finding: &PalaceFinding) -> Markup {
    let class = match finding.severity {
        FindingSeverity::Note => "note",
        _ => "warning",
    };
    html! {
        p class=(class) dir="auto" {
            (shown::text(&finding.message))
            @if let Some(hint) = finding.hint.as_deref() { " — " (shown::text(hint)) }
        }
    }
}
