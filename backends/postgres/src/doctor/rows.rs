//! Rows that disagree: words, vectors and codes without their drawers or different from them, and wrong counters.

use loci_core::{FindingSeverity, PalaceFinding, Result};

use super::ServerExamination;
use crate::codes;
use crate::deadline::ServerDeadline;
use crate::row::{read_vector, stored_text};
use crate::shelf::{ServerShelf, ServerSpace};
use crate::statement::SqlStatement;

/// The most that a value of a code differs from that of its vector: half of the last bit of a half-precision number,
/// or of the smallest one, with some room for the rounding before it.
const CODE_ERROR: f32 = 1.0 / 2048.0 + 1e-6;

/// A comparison: the code of its finding, what disagrees, and what to do.
struct RowCheck {
    code: &'static str,
    severity: FindingSeverity,
    message: &'static str,
    hint: &'static str,
}

/// Returns the collections of a palace after comparing all their rows.
pub(super) fn examine_rows(examination: &mut ServerExamination<'_>, palace: i64) -> Result<Vec<ServerShelf>> {
    let shelves = ServerShelf::read_all(&examination.ask(ServerShelf::select_all(palace))?)?;
    for shelf in &shelves {
        examine_words(examination, shelf)?;
        examine_counters(examination, shelf)?;
        for space in shelf.spaces() {
            examine_vectors(examination, shelf, space)?;
            if space.near.is_some() && examination.standing.has("near") {
                examine_codes(examination, shelf, space)?;
            }
        }
    }
    let erasing = SqlStatement::new("SELECT erasing FROM loci.palaces WHERE palace = $1").with_int(palace);
    if examination.ask(erasing)?.first().is_some_and(|row| row.get(0)) {
        examination.warn(
            "erasure_unfinished",
            "an erasure has removed rows, and their bytes are still in the tables",
            "finish it with `loci forget --finish`, as the owner of the tables",
        );
    }
    Ok(shelves)
}

impl ServerExamination<'_> {
    /// Asks for a count and an example, an id or a row, and reports them if there are any.
    fn check_rows(&mut self, shelf: &ServerShelf, check: &RowCheck, question: SqlStatement) -> Result<()> {
        let rows = self.ask(question)?;
        let Some(row) = rows.first() else { return Ok(()) };
        let count: i64 = row.get(0);
        if count > 0 {
            let example = stored_text(row.get::<_, Option<Vec<u8>>>(1).unwrap_or_default())?;
            self.report(shelf, check, count, &example);
        }
        Ok(())
    }

    fn report(&mut self, shelf: &ServerShelf, check: &RowCheck, count: i64, example: &str) {
        let message = format!("{count} {}, for instance {example:?}", check.message);
        let finding = PalaceFinding::new(check.code, check.severity, message).with_hint(check.hint);
        self.findings.push(finding.in_collection(shelf.name.as_str()));
    }
}

fn row_name(column: &str) -> String {
    format!("convert_to('row ' || min({column}), 'UTF8')")
}

fn examine_words(examination: &mut ServerExamination<'_>, shelf: &ServerShelf) -> Result<()> {
    let missing = SqlStatement::new(
        "SELECT count(*), min(d.id) FROM loci.drawers d WHERE d.collection = $1
            AND NOT EXISTS (SELECT 1 FROM loci.bags b WHERE b.collection = d.collection AND b.\"row\" = d.\"row\")",
    );
    let check = RowCheck {
        code: "words_missing",
        severity: FindingSeverity::Error,
        message: "drawers have no words, so that no search by words finds them",
        hint: "file them again: `loci export` the collection and import it into a new one",
    };
    examination.check_rows(shelf, &check, missing.with_int(shelf.collection))?;
    let orphaned = SqlStatement::new(format!(
        "SELECT count(*), {} FROM loci.bags b WHERE b.collection = $1
            AND NOT EXISTS (SELECT 1 FROM loci.drawers d WHERE d.collection = b.collection AND d.\"row\" = b.\"row\")",
        row_name("b.\"row\"")
    ));
    let check = RowCheck {
        code: "words_orphaned",
        severity: FindingSeverity::Warning,
        message: "rows of words belong to no drawer",
        hint: "DELETE FROM loci.bags b WHERE NOT EXISTS (SELECT 1 FROM loci.drawers d WHERE d.collection = b.collection AND d.\"row\" = b.\"row\");",
    };
    examination.check_rows(shelf, &check, orphaned.with_int(shelf.collection))
}

fn examine_counters(examination: &mut ServerExamination<'_>, shelf: &ServerShelf) -> Result<()> {
    let rows = examination.ask(
        SqlStatement::new(
            "SELECT count(*), coalesce(greatest(max(seq), (SELECT max(seq) FROM loci.tombstones WHERE collection = $1)), 0),
                (SELECT p.seq FROM loci.palaces p JOIN loci.collections c USING (palace) WHERE c.collection = $1)
             FROM loci.drawers WHERE collection = $1",
        )
        .with_int(shelf.collection),
    )?;
    let Some(row) = rows.first() else { return Ok(()) };
    let (drawers, newest, last): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    if drawers != shelf.drawers {
        let fix = format!(
            "UPDATE loci.collections SET drawers = {drawers} WHERE collection = {};",
            shelf.collection
        );
        report_counter(examination, shelf, "drawers", shelf.drawers, drawers, fix);
    }
    if newest > shelf.seq || newest > last {
        let message = format!(
            "a change has the number {newest}, and the collection counts only to {}",
            shelf.seq.min(last)
        );
        let finding = PalaceFinding::new("sequence_behind", FindingSeverity::Error, message);
        examination.findings.push(
            finding
                .with_hint("write nothing until a backup is restored: numbers would be given twice")
                .in_collection(shelf.name.as_str()),
        );
    }
    Ok(())
}

fn report_counter(
    examination: &mut ServerExamination<'_>,
    shelf: &ServerShelf,
    what: &str,
    counted: i64,
    stored: i64,
    fix: String,
) {
    let message = format!("the counter of {what} says {counted}, and {stored} are stored");
    let finding = PalaceFinding::new("counter_wrong", FindingSeverity::Error, message);
    examination
        .findings
        .push(finding.with_hint(fix).in_collection(shelf.name.as_str()));
}

fn examine_vectors(
    examination: &mut ServerExamination<'_>,
    shelf: &ServerShelf,
    space: &ServerSpace,
) -> Result<()> {
    let number = space.number;
    let ask_count = SqlStatement::new("SELECT count(*) FROM loci.vectors WHERE space = $1").with_int(number);
    let stored: i64 = examination.ask(ask_count)?.first().map_or(0, |row| row.get(0));
    if stored != space.vectors {
        let fix = format!("UPDATE loci.spaces SET vectors = {stored} WHERE space = {number};");
        report_counter(examination, shelf, "vectors", space.vectors, stored, fix);
    }
    let wrong = SqlStatement::new(
        "SELECT count(*), min(d.id) FROM loci.vectors v LEFT JOIN loci.drawers d ON d.collection = $2 AND d.\"row\" = v.\"row\"
         WHERE v.space = $1 AND length(v.value) <> 4 * $3",
    );
    let check = RowCheck {
        code: "vector_length",
        severity: FindingSeverity::Error,
        message: "vectors are not of the dimension of their space",
        hint: "make them again with `loci embedder switch`, or restore a backup",
    };
    if let Some(dimension) = space.dimension {
        let wrong = wrong
            .with_int(number)
            .with_int(shelf.collection)
            .with_int(dimension as i64);
        examination.check_rows(shelf, &check, wrong)?;
    }
    let orphaned = SqlStatement::new(format!(
        "SELECT count(*), {} FROM loci.vectors v WHERE v.space = $1
            AND NOT EXISTS (SELECT 1 FROM loci.drawers d WHERE d.collection = $2 AND d.\"row\" = v.\"row\")",
        row_name("v.\"row\"")
    ));
    let check = RowCheck {
        code: "vectors_orphaned",
        severity: FindingSeverity::Warning,
        message: "vectors belong to no drawer",
        hint: "they are in no answer; delete them from loci.vectors and correct the counter of the space",
    };
    examination.check_rows(
        shelf,
        &check,
        orphaned.with_int(number).with_int(shelf.collection),
    )
}

fn examine_codes(
    examination: &mut ServerExamination<'_>,
    shelf: &ServerShelf,
    space: &ServerSpace,
) -> Result<()> {
    let number = space.number;
    let rows = examination.ask(
        SqlStatement::new(
            "SELECT (SELECT count(*) FROM loci.near WHERE space = $1),
                (SELECT count(*) FROM loci.vectors v WHERE v.space = $1
                    AND NOT EXISTS (SELECT 1 FROM loci.near n WHERE n.space = v.space AND n.\"row\" = v.\"row\")),
                (SELECT count(*) FROM loci.near n WHERE n.space = $1
                    AND NOT EXISTS (SELECT 1 FROM loci.vectors v WHERE v.space = n.space AND v.\"row\" = n.\"row\"))",
        )
        .with_int(number),
    )?;
    let Some(row) = rows.first() else { return Ok(()) };
    let (stored, missing, orphaned): (i64, i64, i64) = (row.get(0), row.get(1), row.get(2));
    let counted = space.near.unwrap_or(0);
    if stored != counted {
        let fix = format!("UPDATE loci.spaces SET near = {stored} WHERE space = {number};");
        report_counter(examination, shelf, "codes", counted, stored, fix);
    }
    if missing > 0 && codes::are_coded(shelf.metric, space.dimension) {
        let message = format!("{missing} vectors have no code, so that a search reads every vector");
        let finding = PalaceFinding::new("codes_missing", FindingSeverity::Warning, message);
        let finding = finding.with_hint("make them with `loci maintain reindex`");
        examination
            .findings
            .push(finding.in_collection(shelf.name.as_str()));
    }
    if orphaned > 0 {
        let message = format!("{orphaned} codes belong to no vector");
        let finding = PalaceFinding::new("codes_orphaned", FindingSeverity::Error, message);
        let finding = finding.with_hint(rebuild_hint(number));
        examination
            .findings
            .push(finding.in_collection(shelf.name.as_str()));
    }
    compare_codes(examination, shelf, number)
}

fn rebuild_hint(space: i64) -> String {
    format!(
        "DELETE FROM loci.near WHERE space = {space}; UPDATE loci.spaces SET near = 0 WHERE space = {space}; then run `loci maintain reindex`"
    )
}

/// Compares each code with its vector, as they arrive.
fn compare_codes(examination: &mut ServerExamination<'_>, shelf: &ServerShelf, space: i64) -> Result<()> {
    let question = SqlStatement::new(
        "SELECT d.id, v.value, n.code::real[] FROM loci.near n JOIN loci.vectors v USING (space, \"row\")
         JOIN loci.drawers d ON d.collection = $2 AND d.\"row\" = v.\"row\" WHERE n.space = $1",
    )
    .with_int(space)
    .with_int(shelf.collection);
    let (mut count, mut example) = (0, String::new());
    examination
        .session
        .stream(&question, ServerDeadline::default(), &mut |row| {
            let direction = codes::direction(&read_vector(row.get(1)));
            let code: Vec<f32> = row.get(2);
            let is_near = |(one, other): (&f32, &f32)| (one - other).abs() <= CODE_ERROR;
            if direction.len() != code.len() || !direction.iter().zip(&code).all(is_near) {
                count += 1;
                if example.is_empty() {
                    example = stored_text(row.get(0))?;
                }
            }
            Ok(())
        })?;
    if count > 0 {
        let message = format!("{count} codes differ from their vectors, for instance that of {example:?}");
        let finding = PalaceFinding::new("codes_differ", FindingSeverity::Error, message);
        let finding = finding.with_hint(rebuild_hint(space));
        examination
            .findings
            .push(finding.in_collection(shelf.name.as_str()));
    }
    Ok(())
}
