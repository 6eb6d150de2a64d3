//! The palace on the doctor's page: health, figures, coverage, the model, copies.

use std::path::{Path, PathBuf};

use loci_core::{EmbeddingSpace, ErrorKind, IndexCoverage, PalaceFinding, Result, SpaceState};
use loci_engine::StatusReport;
use maud::{Markup, html};

use super::VERIFY;
use crate::context::PageContext;
use crate::pages::embedder::spaces;
use crate::parts::buttons::button_form;
use crate::parts::findings::finding;
use crate::parts::links::job_link;
use crate::parts::shown;

/// What can be said of a palace without reading its drawers.
#[derive(Debug)]
pub(super) struct PalaceHealth {
    pub(super) status: StatusReport,
    spaces: Vec<EmbeddingSpace>,
    /// Damage met so far, and findings of the collection.
    findings: Vec<PalaceFinding>,
    /// The bytes of its files; none if it is on a server.
    bytes: Option<u64>,
    copies: Vec<PathBuf>,
}

impl PalaceHealth {
    /// Reads it; `None` if the palace does not exist yet.
    pub(super) fn read(context: PageContext<'_>) -> Result<Option<Self>> {
        let palace = context.palace();
        let status = match palace.report_status() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            status => status?,
        };
        let address = palace.address()?;
        let mut findings = status.warnings.clone();
        for damage in address.backend.list_damage(&address.reference) {
            if !findings.contains(&damage) {
                findings.push(damage);
            }
        }
        Ok(Some(Self {
            spaces: palace.show_embedder()?.spaces,
            findings,
            bytes: address.reference.local_path.as_deref().and_then(count_bytes),
            copies: match address.backend.snapshots() {
                Some(snapshots) => snapshots.list_copies(&address.reference)?,
                None => Vec::new(),
            },
            status,
        }))
    }

    pub(super) fn render(&self, context: PageContext<'_>) -> Markup {
        let status = &self.status;
        html! {
            section.panel aria-labelledby="health" {
                h2 #health { "Health" }
                (self.verdict())
                @for one in &self.findings { (finding(one)) }
                (verification(context))
            }
            section.panel aria-labelledby="palace" {
                h2 #palace { "What is here" }
                (self.figures())
                (coverage(&status.coverage, status.drawers, status.approximate))
            }
            section.panel aria-labelledby="model" {
                div.row.apart { h2 #model { "Model" } a.small href="/embedder" { @if context.access().may_maintain() { "Change it" } @else { "More" } } }
                @match &status.embedder.model {
                    Some(model) => p dir="auto" { (shown::name(model)) @if let Some(dimension) = status.embedder.dimension {
                        span.muted { ", " (dimension) " dimensions, " (status.metric) } } },
                    None => p { @if status.embedder.state == "unknown" { "No model is recorded for the vectors." } @else { "Without a model, search is by words." } },
                }
                @if self.spaces.iter().any(|space| space.state != SpaceState::Active) { (spaces::table(&self.spaces)) }
            }
        }
    }

    fn verdict(&self) -> Markup {
        let status = &self.status;
        let is_damaged = self
            .findings
            .iter()
            .any(|one| one.severity == loci_core::FindingSeverity::Error);
        html! {
            @if !status.health.ok {
                p.warning dir="auto" { "It cannot be used: " (shown::text(&status.health.detail)) }
            } @else if is_damaged {
                p.warning { "Damage was met. Verify everything to learn how far it goes." }
            } @else {
                p.ok { "No damage was met so far." }
            }
        }
    }

    fn figures(&self) -> Markup {
        let status = &self.status;
        html! {
            dl.kv {
                dt { "Palace" } dd dir="auto" { (shown::name(&status.palace)) }
                dt { "Backend" } dd { (shown::name(&status.backend)) }
                dt { "Collection" } dd { (shown::name(status.collection.as_str())) }
                dt { "Drawers" } dd { (shown::digits(status.drawers)) " in " a href="/map" { (shown::count(status.wings.len() as u64, "wing")) } }
                @if let Some(bytes) = self.bytes { dt { "Size" } dd { (shown::bytes(bytes)) } }
                dt { "Secrets" } dd { (secrets_words(status)) }
                @for other in status.collections.iter().filter(|other| other.name != status.collection) {
                    dt { "Also" } dd { (shown::count(other.drawers, "drawer")) " in " (shown::name(other.name.as_str())) }
                }
                @for record in &status.migrations {
                    @let text = |field: &str| record.get(field).and_then(|value| value.as_str()).unwrap_or("?").to_owned();
                    dt { "Moved here" } dd dir="auto" { "from " (shown::name(&text("from"))) " (" (shown::name(&text("from_backend"))) "), " (shown::name(&text("finished_at"))) }
                }
            }
        }
    }
}

fn secrets_words(status: &StatusReport) -> &'static str {
    match status.secrets.name() {
        "seal" => "sealed when words are filed",
        "warn" => "filed as they are, with a warning",
        "refuse" => "words that hold one are not filed",
        _ => "filed as they are",
    }
}

/// Shows how many drawers each way of searching reaches.
pub(super) fn coverage(coverage: &IndexCoverage, drawers: u64, approximate: bool) -> Markup {
    let rows = [("By meaning", coverage.nearest), ("By words", coverage.lexical)];
    html! {
        table.table.coverage {
            caption.visually-hidden { "Drawers that search reaches" }
            tbody {
                @for (name, reached) in rows {
                    tr {
                        th scope="row" { (name) }
                        td.num { (shown::digits(reached)) " of " (shown::digits(drawers)) }
                        td.wide-only { meter.bar min="0" max=(drawers.max(1)) value=(reached.min(drawers)) aria-hidden="true" {} }
                        td { @if reached < drawers { span.lacking { (shown::digits(drawers - reached)) " not reached" } } @else { "all" } }
                    }
                }
            }
        }
        p.small.muted {
            (shown::count(coverage.packed, "vector")) " packed for speed; the others are compared one by one."
            @if approximate { " Search by meaning may miss some of the nearest, as the owner of the palace chose." }
        }
    }
}

/// The button that verifies, and the checks of this server.
fn verification(context: PageContext<'_>) -> Markup {
    let before = context.jobs().list().into_iter().find(|job| job.title == VERIFY);
    html! {
        @if context.access().administers {
            div.row {
                (button_form(context, "/doctor/verify", &[], "primary", &html! { "Verify everything" }))
                @if let Some(job) = before { a href=(job_link(job.number)) { "The last check" } }
            }
            p.small.muted { "Reads every drawer, compares counts and indexes with it, and changes nothing. Search goes on." }
        }
    }
}

/// Shows the copies that the palace remembers.
pub(super) fn copies(health: &PalaceHealth) -> Markup {
    html! {
        section.panel aria-labelledby="copies" {
            h2 #copies { "Backups" }
            @if health.copies.is_empty() {
                p.muted { "It remembers no backup. " code { "loci backup FOLDER" } " makes one and verifies it." }
            } @else {
                ul.plain-list {
                    @for file in &health.copies {
                        li dir="auto" {
                            (shown::name(&file.display().to_string()))
                            @match count_bytes(file) {
                                Some(bytes) => span.muted { ", " (shown::bytes(bytes)) },
                                None => span.lacking { " is not there any more" },
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Counts the bytes of a file, or of the files in a folder. Below that there are none of a palace.
fn count_bytes(path: &Path) -> Option<u64> {
    let about = std::fs::metadata(path).ok()?;
    if about.is_file() {
        return Some(about.len());
    }
    let entries = std::fs::read_dir(path).ok()?.flatten();
    let files = entries
        .filter_map(|entry| entry.metadata().ok())
        .filter(|about| about.is_file());
    Some(files.map(|about| about.len()).sum())
}
