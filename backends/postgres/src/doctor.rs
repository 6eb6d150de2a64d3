//! The doctor of a palace in Postgres: what the server lacks, whether row security holds, and rows that disagree.
//!
//! The server compares rows by itself; only codes are compared here, one row at a time. Nothing is written.

mod rows;
mod security;
mod server;

use std::path::Path;
use std::time::Duration;

use loci_core::{
    CollectionDiagnosis, Doctor, Error, ErrorKind, FindingSeverity, FixInfo, FixReport, FixRequest,
    PalaceDiagnosis, PalaceFinding, PalaceRef, Result,
};
use serde_json::json;

use crate::address::PalaceUrl;
use crate::backend::PostgresBackend;
use crate::deadline::ServerDeadline;
use crate::failure::missing_palace;
use crate::palace::find_palace;
use crate::schema::StandingTables;
use crate::session::ServerSession;
use crate::shelf::{self, ServerShelf};
use crate::statement::SqlStatement;

/// An examination: what was found so far.
struct ServerExamination<'a> {
    session: &'a ServerSession,
    standing: StandingTables,
    namespace: Option<&'a str>,
    findings: Vec<PalaceFinding>,
}

impl ServerExamination<'_> {
    fn ask(&self, statement: SqlStatement) -> Result<Vec<tokio_postgres::Row>> {
        self.session.ask(statement, ServerDeadline::default())
    }

    fn note(&mut self, code: &str, message: impl Into<String>) {
        let finding = PalaceFinding::new(code, FindingSeverity::Note, message);
        self.findings.push(finding);
    }

    fn warn(&mut self, code: &str, message: impl Into<String>, hint: impl Into<String>) {
        let finding = PalaceFinding::new(code, FindingSeverity::Warning, message).with_hint(hint);
        self.findings.push(finding);
    }

    fn fail(&mut self, code: &str, message: impl Into<String>, hint: impl Into<String>) {
        let finding = PalaceFinding::new(code, FindingSeverity::Error, message).with_hint(hint);
        self.findings.push(finding);
    }
}

impl Doctor for PostgresBackend {
    /// Reports whether `path` is the URL of a palace in Postgres; no folder is.
    fn recognises(&self, path: &Path) -> bool {
        path.to_str().is_some_and(PalaceUrl::is_one)
    }

    /// Examines the palace whose URL `path` is.
    fn examine(&self, path: &Path) -> Result<PalaceDiagnosis> {
        let palace = PalaceRef::from_id(path.to_str().unwrap_or_default());
        let (pool, key) = self.find_server(&palace)?;
        let (lease, found) = pool.begin(|session| find_palace(session, &key))?;
        let found = found.ok_or_else(|| missing_palace(&palace))?;
        // One transaction over all parts, so that concurrent writers are not mistaken for damage.
        let begin = SqlStatement::new("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
        lease.ask(begin, ServerDeadline::default())?;
        let standing = StandingTables::read(&lease)?.ok_or_else(|| missing_palace(&palace))?;
        let mut examination = ServerExamination {
            session: &lease,
            standing,
            namespace: key.namespace.as_deref(),
            findings: Vec::new(),
        };
        let examined = server::examine_server(&mut examination, found.version)
            .and_then(|()| security::examine_security(&mut examination))
            .and_then(|()| rows::examine_rows(&mut examination, found.number));
        let findings = examination.findings;
        lease.end_transaction();
        let shelves = examined?;
        Ok(PalaceDiagnosis {
            collections: shelves.iter().map(describe_collection).collect(),
            ..PalaceDiagnosis::from_findings(Self::NAME, findings)
        })
    }

    fn judge_by_age(&self, _: &Path, _: Duration) -> Result<Vec<PalaceFinding>> {
        // Rows and indexes commit together, so neither can be older than the other.
        Ok(Vec::new())
    }

    fn fixes(&self) -> &[FixInfo] {
        &[]
    }

    fn fix(&self, _: &Path, request: &FixRequest<'_>) -> Result<FixReport> {
        Err(Error::new(
            ErrorKind::Unsupported,
            format!("a palace in Postgres has no fix {:?}", request.step),
        )
        .with_hint("nothing was changed; each finding names the command that repairs it"))
    }
}

fn describe_collection(shelf: &ServerShelf) -> CollectionDiagnosis {
    let mut figures = serde_json::Map::new();
    figures.insert("vectors".to_owned(), json!(shelf::count(shelf.space.vectors)));
    figures.insert("codes".to_owned(), json!(shelf.space.near.map(shelf::count)));
    figures.insert("metric".to_owned(), json!(shelf.metric.name()));
    figures.insert("dimension".to_owned(), json!(shelf.space.dimension));
    CollectionDiagnosis {
        name: shelf.name.as_str().to_owned(),
        rows: shelf::count(shelf.drawers),
        figures,
    }
}
