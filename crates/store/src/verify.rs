//! Examining a palace: every page, and every word, attribute, vector and segment against the rows it stands for.

mod full_text;
mod listed;
mod projection;
mod receipts;
mod rows;
mod sources;
mod spaces;

use std::path::Path;
use std::time::Duration;

use loci_core::{
    CollectionDiagnosis, Doctor, Error, ErrorKind, FindingSeverity, FixInfo, FixReport, FixRequest,
    PalaceDiagnosis, PalaceFinding, Result, SegmentDiagnosis,
};
use rusqlite::Connection;
use serde_json::{Map, json};

use listed::ListedFindings;

use crate::connection::{self, ConnectionOptions};
use crate::failure::{RESCUE_HINT, sqlite_error};
use crate::palace;
use crate::shelf::CollectionShelf;
use crate::space::StoredSpace;
use crate::{EmbeddedBackend, erase, lost, mended, schema, vfs};

impl Doctor for EmbeddedBackend {
    fn recognises(&self, path: &Path) -> bool {
        Self::detect(path) || Self::is_palace_file(path)
    }

    fn judge_by_age(&self, _path: &Path, _age: Duration) -> Result<Vec<PalaceFinding>> {
        // Rows and indexes are in one file, so neither can be older than the other.
        Ok(Vec::new())
    }

    fn examine(&self, path: &Path) -> Result<PalaceDiagnosis> {
        let file = if path.is_file() {
            path.to_owned()
        } else {
            path.join(Self::FILE)
        };
        if !file.is_file() {
            return Err(palace::missing_palace_error(&file));
        }
        examine_file(&file, self.base(), &mut |_, _| {})
    }

    fn fixes(&self) -> &[FixInfo] {
        &[]
    }

    fn fix(&self, _: &Path, request: &FixRequest<'_>) -> Result<FixReport> {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("an embedded palace has no fix {:?}", request.step),
        )
        .with_hint("its indexes are rebuilt from its rows with `loci maintain reindex`"))
    }
}

/// Examines one palace file; anything unreadable becomes a finding, not an error.
///
/// `watch` receives the number of parts examined so far and the total.
pub(crate) fn examine_file(
    file: &Path,
    base: Option<&str>,
    watch: &mut dyn FnMut(u64, u64),
) -> Result<PalaceDiagnosis> {
    let how = ConnectionOptions {
        file,
        base,
        create: false,
        // An examination must not change its subject, not even by an upgrade.
        mend: false,
        wait: Duration::from_secs(30),
    };
    // One read transaction over all parts, so that concurrent writers are not mistaken for damage.
    let moment = match connection::open(how) {
        Ok(connection) => connection,
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Format) => {
            return Ok(PalaceDiagnosis::from_findings(
                "embedded",
                vec![unreadable_finding("the palace", &error)],
            ));
        }
        Err(error) => return Err(error),
    };
    let mut report = ExaminationReport::new(count_parts(&moment), watch);
    report.run_part("the notes", |report| {
        let mut losses = ListedFindings::default();
        let found = lost::loss_findings(&moment)?;
        found.into_iter().for_each(|loss| losses.push(|| loss));
        report.add_listed(losses);
        if erase::find_unfinished(&moment)?.is_some() {
            report.add(unfinished_erasure());
        }
        Ok(())
    });
    report.check_pages(&moment);
    report.check_structure(&moment);
    report.check_collections(&moment);
    report.run_part("the records of sources", |report| {
        sources::check_sources(report, &moment)
    });
    report.run_part("the receipts of batches", |report| {
        receipts::check_receipts(report, &moment)
    });
    let ExaminationReport {
        findings,
        collections,
        segments,
        ..
    } = report;
    Ok(PalaceDiagnosis {
        collections,
        segments,
        ..PalaceDiagnosis::from_findings("embedded", findings)
    })
}

fn unfinished_erasure() -> PalaceFinding {
    PalaceFinding::new(
        "erasure_unfinished",
        FindingSeverity::Note,
        "an erasure was interrupted: bytes of what was removed may still be in the file or its log",
    )
    .with_hint("finish it with `loci forget --finish`")
}

/// The results of an examination so far.
pub(crate) struct ExaminationReport<'a> {
    findings: Vec<PalaceFinding>,
    collections: Vec<CollectionDiagnosis>,
    segments: Vec<SegmentDiagnosis>,
    parts: u64,
    total: u64,
    watch: &'a mut dyn FnMut(u64, u64),
}

/// Parts of every examination: notes, pages, structure, uniqueness, records of sources, receipts.
const COMMON_PARTS: u64 = 6;
/// Parts for each collection: drawers, full text, attributes, places, days, states of its spaces.
const COLLECTION_PARTS: u64 = 6;
/// Parts for each embedding space: vectors, segments.
const SPACE_PARTS: u64 = 2;

/// The number of parts to examine; those of a list that cannot be read are not examined either.
fn count_parts(connection: &Connection) -> u64 {
    let shelves = CollectionShelf::list_all(connection).unwrap_or_default();
    let parts = shelves
        .iter()
        .map(|shelf| COLLECTION_PARTS + SPACE_PARTS * shelf.spaces().count() as u64);
    COMMON_PARTS + parts.sum::<u64>()
}

impl<'a> ExaminationReport<'a> {
    fn new(total: u64, watch: &'a mut dyn FnMut(u64, u64)) -> Self {
        Self {
            findings: Vec::new(),
            collections: Vec::new(),
            segments: Vec::new(),
            parts: 0,
            total,
            watch,
        }
    }

    fn add(&mut self, finding: PalaceFinding) {
        self.findings.push(finding);
    }

    /// Runs one part of the examination; an error becomes a finding, and the other parts still run.
    fn run_part(&mut self, what: &str, run: impl FnOnce(&mut Self) -> Result<()>) {
        if let Err(error) = run(self) {
            self.add(unreadable_finding(what, &error));
        }
        self.parts += 1;
        (self.watch)(self.parts, self.total);
    }

    /// Adds findings of one kind.
    fn add_listed(&mut self, findings: ListedFindings) {
        self.findings.extend(findings.into_vec());
    }

    fn check_pages(&mut self, connection: &Connection) {
        self.run_part("the pages", |report| {
            let mended = vfs::mended_pages(connection)?;
            report.findings.extend(mended::mended_findings(connection)?);
            let mut damaged = vfs::scan_pages(connection)?;
            damaged.retain(|page| !mended.contains(page));
            let finding = |page: u32| {
                PalaceFinding::new(
                    "page_damaged",
                    FindingSeverity::Error,
                    format!("page {page} of the file is damaged"),
                )
                .with_hint(RESCUE_HINT)
            };
            let mut findings = ListedFindings::default();
            damaged.iter().for_each(|page| findings.push(|| finding(*page)));
            report.add_listed(findings);
            Ok(())
        });
    }

    fn check_structure(&mut self, connection: &Connection) {
        self.run_part("the structure of the file", |report| {
            let mut statement = connection
                // Checksums tell that a page is the one that was written; this tells that what was written is
                // a sound b-tree.
                .prepare("PRAGMA integrity_check(100)")
                .map_err(sqlite_error)?;
            let lines: Vec<String> = statement
                .query_map([], |row| row.get(0))
                .and_then(Iterator::collect)
                .map_err(sqlite_error)?;
            let finding = |line: String| {
                PalaceFinding::new(
                    "structure_damaged",
                    FindingSeverity::Error,
                    format!("SQLite finds: {line}"),
                )
                .with_hint(RESCUE_HINT)
            };
            let mut findings = ListedFindings::default();
            for line in lines.into_iter().filter(|line| line != "ok") {
                findings.push(|| finding(line));
            }
            report.add_listed(findings);
            Ok(())
        });
        self.run_part("the uniqueness of drawers", |report| {
            if !schema::has_unique_pieces(connection)? {
                report.add(
                    PalaceFinding::new(
                        "unique_index_missing",
                        FindingSeverity::Warning,
                        "the file may hold duplicate drawers",
                    )
                    .with_hint("any command that opens the palace collapses them, e.g. `loci status`"),
                );
            }
            Ok(())
        });
    }

    fn check_collections(&mut self, connection: &Connection) {
        let shelves = match CollectionShelf::list_all(connection) {
            Ok(shelves) => shelves,
            Err(error) => return self.add(unreadable_finding("the list of collections", &error)),
        };
        for shelf in &shelves {
            let name = shelf.name.as_str();
            self.run_part(&format!("the drawers of {name:?}"), |report| {
                rows::check_rows(report, connection, shelf)
            });
            self.run_part(&format!("the full text of {name:?}"), |report| {
                full_text::check_words(report, connection, shelf)
            });
            self.run_part(&format!("the attributes of {name:?}"), |report| {
                projection::check_attributes(report, connection, shelf)
            });
            self.run_part(&format!("the places of {name:?}"), |report| {
                projection::check_places(report, connection, shelf)
            });
            self.run_part(&format!("the counts by day of {name:?}"), |report| {
                projection::check_days(report, connection, shelf)
            });
            self.run_part(&format!("the embedding spaces of {name:?}"), |report| {
                spaces::check_states(report, connection, shelf)
            });
            for space in shelf.spaces() {
                self.run_part(&format!("the vectors of {name:?}"), |report| {
                    spaces::check_vectors(report, connection, shelf, space)
                });
                self.run_part(&format!("the segments of {name:?}"), |report| {
                    spaces::check_segments(report, connection, shelf, space)
                });
            }
            // Listed even if some part of it could not be examined.
            self.collections.push(describe_shelf(shelf));
        }
    }
}

/// Describes a collection from its own row; its other spaces are listed if it has any.
fn describe_shelf(shelf: &CollectionShelf) -> CollectionDiagnosis {
    let mut figures = Map::new();
    figures.insert("vectors".to_owned(), json!(shelf.space.vectors));
    figures.insert("tail".to_owned(), json!(shelf.space.tail));
    figures.insert("metric".to_owned(), json!(shelf.metric));
    let other = |space: &StoredSpace| {
        json!({
            "model": space.embedder.as_ref().map(|embedder| &embedder.model),
            "state": space.state,
            "vectors": space.vectors,
            "tail": space.tail,
        })
    };
    if !shelf.others.is_empty() {
        let others: Vec<_> = shelf.others.iter().map(other).collect();
        figures.insert("other_spaces".to_owned(), json!(others));
    }
    CollectionDiagnosis {
        name: shelf.name.as_str().to_owned(),
        rows: u64::try_from(shelf.drawers).unwrap_or(0),
        figures,
    }
}

fn unreadable_finding(what: &str, error: &Error) -> PalaceFinding {
    let finding = PalaceFinding::new(
        "unreadable",
        FindingSeverity::Error,
        format!("{what} cannot be read completely: {error}"),
    );
    finding.with_hint(
        error
            .hint_text()
            .unwrap_or("bring everything readable into a new palace with `loci rescue PATH --to NEW`")
            .to_owned(),
    )
}

/// Returns a finding that a rebuild from the rows repairs.
fn rebuildable_finding(code: &str, shelf: &CollectionShelf, message: String) -> PalaceFinding {
    PalaceFinding::new(code, FindingSeverity::Error, message)
        .with_hint("no drawer is lost; rebuild the index with `loci maintain reindex`")
        .in_collection(shelf.name.as_str())
}
