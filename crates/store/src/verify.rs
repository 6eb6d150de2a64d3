//! Examining a palace: every page, row, word, attribute, vector and segment against the rows they stand for.

mod full_text;
mod projection;
mod receipts;
mod rows;
mod sources;
mod spaces;

use std::path::Path;
use std::time::Duration;

use loci_core::{
    CollectionDiagnosis, Diagnosis, Doctor, Error, ErrorKind, Finding, FixInfo, FixMode, FixReport, Result,
    SegmentDiagnosis, Severity,
};
use rusqlite::Connection;
use serde_json::{Map, json};

use crate::connection::{self, Opening};
use crate::failure::sqlite;
use crate::palace;
use crate::shelf::Shelf;
use crate::space::Space;
use crate::{Embedded, lost, schema, vfs};

/// How many findings of one kind are listed by name; the rest are counted.
const LISTED: usize = 20;

impl Doctor for Embedded {
    fn recognises(&self, path: &Path) -> bool {
        Self::detect(path)
    }

    fn judged_by_age(&self, _path: &Path, _age: Duration) -> Result<Vec<Finding>> {
        // Rows and indexes are one file, so none is older than the other.
        Ok(Vec::new())
    }

    fn examine(&self, path: &Path) -> Result<Diagnosis> {
        let file = path.join(Self::FILE);
        if !file.is_file() {
            return Err(palace::missing(&file));
        }
        examine_file(&file)
    }

    fn fixes(&self) -> &[FixInfo] {
        &[]
    }

    fn fix(&self, _: &Path, step: &str, _: FixMode) -> Result<FixReport> {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("an embedded palace has no fix {step:?}"),
        )
        .hint("its indexes are rebuilt from its rows with `loci maintain reindex`"))
    }
}

/// Examines one palace file; what cannot be read becomes a finding, not an error.
pub(crate) fn examine_file(file: &Path) -> Result<Diagnosis> {
    let how = Opening {
        file,
        base: None,
        create: false,
        mend: false,
        wait: Duration::from_secs(30),
    };
    // One read transaction over all parts, so that writers at work are not mistaken for damage.
    let moment = match connection::open(how) {
        Ok(connection) => connection,
        Err(error) if matches!(error.kind(), ErrorKind::Corrupt | ErrorKind::Format) => {
            return Ok(Diagnosis::of("embedded", vec![unreadable("the palace", &error)]));
        }
        Err(error) => return Err(error),
    };
    let mut report = Report::default();
    report.part("the notes", |report| {
        report.list(lost::findings(&moment)?);
        Ok(())
    });
    report.pages(&moment);
    report.structure(&moment);
    report.collections(&moment);
    report.part("the records of sources", |report| sources::check(report, &moment));
    report.part("the receipts of batches", |report| {
        receipts::check(report, &moment)
    });
    let Report {
        findings,
        collections,
        segments,
    } = report;
    Ok(Diagnosis {
        collections,
        segments,
        ..Diagnosis::of("embedded", findings)
    })
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(crate) struct Report {
    findings: Vec<Finding>,
    collections: Vec<CollectionDiagnosis>,
    segments: Vec<SegmentDiagnosis>,
}

impl Report {
    fn add(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Runs one part of the examination; what stops it becomes a finding, and the other parts go on.
    fn part(&mut self, what: &str, run: impl FnOnce(&mut Self) -> Result<()>) {
        if let Err(error) = run(self) {
            self.add(unreadable(what, &error));
        }
    }

    /// Adds a finding for each thing, up to a number, and one for the rest.
    fn list(&mut self, mut findings: Vec<Finding>) {
        let more = findings.len().saturating_sub(LISTED);
        findings.truncate(LISTED);
        let rest = findings.last().filter(|_| more > 0).map(|last| Finding {
            message: format!("and {more} more of {}", last.code),
            ..last.clone()
        });
        self.findings.extend(findings);
        self.findings.extend(rest);
    }

    fn pages(&mut self, connection: &Connection) {
        self.part("the pages", |report| {
            let damaged = vfs::scan_pages(connection)?;
            let finding = |page: u32| {
                Finding::new(
                    "page_damaged",
                    Severity::Error,
                    format!("page {page} of the file is damaged"),
                )
                .hint("save what is readable with `loci export`, or go back to a backup with `loci restore`")
            };
            report.list(damaged.into_iter().map(finding).collect());
            Ok(())
        });
    }

    fn structure(&mut self, connection: &Connection) {
        self.part("the structure of the file", |report| {
            let mut statement = connection
                .prepare("PRAGMA integrity_check(100)")
                .map_err(sqlite)?;
            let lines: Vec<String> = statement
                .query_map([], |row| row.get(0))
                .and_then(Iterator::collect)
                .map_err(sqlite)?;
            let finding = |line: String| {
                Finding::new(
                    "structure_damaged",
                    Severity::Error,
                    format!("SQLite finds: {line}"),
                )
                .hint("save what is readable with `loci export`, or go back to a backup with `loci restore`")
            };
            report.list(
                lines
                    .into_iter()
                    .filter(|line| line != "ok")
                    .map(finding)
                    .collect(),
            );
            Ok(())
        });
        self.part("the uniqueness of drawers", |report| {
            if !schema::has_unique_pieces(connection)? {
                report.add(
                    Finding::new(
                        "unique_index_missing",
                        Severity::Warning,
                        "the file may hold duplicate drawers",
                    )
                    .hint("any command that opens the palace collapses them, e.g. `loci status`"),
                );
            }
            Ok(())
        });
    }

    fn collections(&mut self, connection: &Connection) {
        let shelves = match Shelf::all(connection) {
            Ok(shelves) => shelves,
            Err(error) => return self.add(unreadable("the list of collections", &error)),
        };
        for shelf in &shelves {
            let name = shelf.name.as_str();
            self.part(&format!("the drawers of {name:?}"), |report| {
                rows::check(report, connection, shelf)
            });
            self.part(&format!("the full text of {name:?}"), |report| {
                full_text::check(report, connection, shelf)
            });
            self.part(&format!("the attributes of {name:?}"), |report| {
                projection::attributes(report, connection, shelf)
            });
            self.part(&format!("the places of {name:?}"), |report| {
                projection::places(report, connection, shelf)
            });
            self.part(&format!("the embedding spaces of {name:?}"), |report| {
                spaces::states(report, connection, shelf)
            });
            for space in shelf.spaces() {
                self.part(&format!("the vectors of {name:?}"), |report| {
                    spaces::vectors(report, connection, shelf, space)
                });
                self.part(&format!("the segments of {name:?}"), |report| {
                    spaces::segments(report, connection, shelf, space)
                });
            }
            self.collections.push(described(shelf));
        }
    }
}

/// What a collection's own row says of it; its other spaces are listed where it has any.
fn described(shelf: &Shelf) -> CollectionDiagnosis {
    let mut figures = Map::new();
    figures.insert("vectors".to_owned(), json!(shelf.space.vectors));
    figures.insert("tail".to_owned(), json!(shelf.space.tail));
    figures.insert("metric".to_owned(), json!(shelf.metric));
    let other = |space: &Space| {
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

fn unreadable(what: &str, error: &Error) -> Finding {
    let finding = Finding::new(
        "unreadable",
        Severity::Error,
        format!("{what} cannot be read whole: {error}"),
    );
    finding.hint(
        error
            .hint_text()
            .unwrap_or("go back to a backup with `loci restore`")
            .to_owned(),
    )
}

/// A finding that a rebuild from rows mends.
fn rebuildable(code: &str, shelf: &Shelf, message: String) -> Finding {
    Finding::new(code, Severity::Error, message)
        .hint("no drawer is lost; rebuild the index with `loci maintain reindex`")
        .collection(shelf.name.as_str())
}
