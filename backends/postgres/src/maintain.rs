//! Maintenance in the server's own terms: statistics, vacuum, and rebuilding indexes beside the old ones.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use loci_core::{
    Error, ErrorKind, MaintenanceKind, MaintenanceReport, MaintenanceState, MaintenanceStatus, Result,
};

use crate::codes;
use crate::deadline::ServerDeadline;
use crate::palace::ServerPalace;
use crate::rights;
use crate::schema;
use crate::session::ServerSession;
use crate::statement::SqlStatement;
use crate::words::{self, RebuildScope};
use crate::write::WriteLimits;

/// The kinds that have an effect here.
pub(crate) const KINDS: [MaintenanceKind; 3] = [
    MaintenanceKind::ANALYZE,
    MaintenanceKind::COMPACT,
    MaintenanceKind::REINDEX,
];

/// The tables that grow with the drawers.
pub(crate) const TABLES: [&str; 9] = [
    "drawers",
    "vectors",
    "bags",
    "word_segments",
    "word_blocks",
    "word_gone",
    "tombstones",
    "sources",
    "receipts",
];

/// The share of dead rows from which a vacuum is due.
const DUE_SHARE: f64 = 0.2;

/// The fewest dead rows for which a vacuum is due.
const DUE_ROWS: i64 = 1000;

/// The time after which one that waits for other maintenance of the database gives up.
const TURN_WAIT: Duration = Duration::from_secs(600);

/// Returns the key of the advisory lock of the process that runs a kind on a palace.
fn kind_lock(palace: i64, kind: &MaintenanceKind) -> i64 {
    lock_key(&format!("{palace} {kind}"))
}

/// Returns the key of the advisory lock of the process that rewrites tables: they are shared by every palace of the
/// database, and two that rebuild at once would wait for each other.
fn turn_lock() -> i64 {
    lock_key("turn")
}

fn lock_key(what: &str) -> i64 {
    let hash = blake3::derive_key("loci maintenance of a Postgres database", what.as_bytes());
    let (first, _) = hash.split_at(8);
    i64::from_be_bytes(first.try_into().expect("eight bytes"))
}

/// Runs `work` while no other process rewrites tables of this database.
pub(crate) fn in_turn<T>(session: &ServerSession, work: impl FnOnce() -> Result<T>) -> Result<T> {
    let until = Instant::now() + TURN_WAIT;
    // Asked again and again: one that waited inside the server would hold a snapshot, for which a rebuild waits.
    while !try_lock(session, turn_lock())? {
        if Instant::now() > until {
            return Err(Error::new(
                ErrorKind::Locked,
                "another process has been maintaining this database for longer than this call waits",
            )
            .with_hint("nothing was changed; try again"));
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let done = work();
    unlock(session, turn_lock());
    done
}

fn try_lock(session: &ServerSession, key: i64) -> Result<bool> {
    let question = SqlStatement::new("SELECT pg_try_advisory_lock($1)").with_int(key);
    let taken = session.ask(question, ServerDeadline::default())?;
    Ok(taken.first().is_some_and(|row| row.get(0)))
}

fn unlock(session: &ServerSession, key: i64) {
    let release = SqlStatement::new("SELECT pg_advisory_unlock($1)").with_int(key);
    if session.ask(release, ServerDeadline::default()).is_err() {
        // Closing the connection gives the lock up.
        session.abandon();
    }
}

/// Returns the maintenance that is running or due, by what the server knows.
pub(crate) fn maintenance_state(
    session: &ServerSession,
    palace: i64,
    deadline: ServerDeadline,
) -> Result<MaintenanceState> {
    let mut state = MaintenanceState::default();
    let locks = session.ask(
        SqlStatement::new(
            "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
             WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        ),
        deadline,
    )?;
    let held: Vec<i64> = locks.iter().map(|row| row.get(0)).collect();
    state.running = KINDS
        .into_iter()
        .filter(|kind| held.contains(&kind_lock(palace, kind)))
        .collect();
    let tables = session.ask(
        SqlStatement::new(
            "SELECT relname::text, n_live_tup, n_dead_tup, n_mod_since_analyze,
                greatest(last_vacuum, last_autovacuum)::text, greatest(last_analyze, last_autoanalyze)::text
             FROM pg_stat_user_tables WHERE schemaname = 'loci' ORDER BY relname",
        ),
        deadline,
    )?;
    let (mut dead, mut live, mut changed) = (0_i64, 0_i64, 0_i64);
    for row in &tables {
        live += row.get::<_, i64>(1);
        dead += row.get::<_, i64>(2);
        changed += row.get::<_, i64>(3);
    }
    if dead > DUE_ROWS && dead as f64 > DUE_SHARE * (live + dead) as f64 {
        let why = format!("{dead} dead rows beside {live} live ones take space");
        state.due.push((MaintenanceKind::COMPACT, why));
    } else {
        // Every search reads which rows of the segments are gone.
        let (gone, drawers) = words::count_worn(session, palace, deadline)?;
        if gone > DUE_ROWS && gone as f64 > DUE_SHARE * drawers as f64 {
            let why = format!("the words of {gone} removed drawers are still in the word index");
            state.due.push((MaintenanceKind::COMPACT, why));
        }
    }
    if changed > DUE_ROWS && changed as f64 > DUE_SHARE * live as f64 {
        let why = format!("{changed} rows changed since the statistics were taken");
        state.due.push((MaintenanceKind::ANALYZE, why));
    }
    Ok(state)
}

/// Runs one kind of maintenance.
pub(crate) fn run(
    palace: &ServerPalace,
    kind: &MaintenanceKind,
    limits: WriteLimits,
) -> Result<MaintenanceReport> {
    if !KINDS.contains(kind) {
        return Err(Error::new(
            ErrorKind::Unsupported,
            format!(
                "the backend \"postgres\" has no maintenance called {:?}",
                kind.name()
            ),
        )
        .with_hint("run analyze, compact or reindex"));
    }
    let key = kind_lock(palace.number, kind);
    let (lease, taken) = palace.begin(|session| {
        rights::require_upkeep(session)?;
        try_lock(session, key)
    })?;
    let report = |status, figures| MaintenanceReport {
        kind: kind.clone(),
        status,
        figures,
    };
    if !taken {
        return Ok(report(MaintenanceStatus::AlreadyRunning, BTreeMap::new()));
    }
    let done = in_turn(&lease, || {
        let mut figures = run_locked(&lease, kind)?;
        if *kind == MaintenanceKind::REINDEX {
            figures.insert(
                "codes_built".to_owned(),
                codes::build_codes(palace, &lease, limits)?,
            );
        }
        let scope = match kind.name() {
            "reindex" => Some(RebuildScope::All),
            "compact" => Some(RebuildScope::Worn),
            _ => None,
        };
        if let Some(scope) = scope {
            let sealed = words::rebuild_words(palace, &lease, limits, scope)?;
            figures.insert("words_sealed".to_owned(), sealed);
        }
        Ok(figures)
    });
    unlock(&lease, key);
    Ok(report(MaintenanceStatus::Ran, done?))
}

fn run_locked(session: &ServerSession, kind: &MaintenanceKind) -> Result<BTreeMap<String, i64>> {
    let none = ServerDeadline::default();
    let before = total_size(session)?;
    let mut tables = TABLES.to_vec();
    if schema::has_table(session, "near")? {
        tables.push("near");
    }
    for table in tables {
        // Names of our own tables; nothing that a user gave.
        let statement = match kind.name() {
            "analyze" => format!("ANALYZE loci.{table}"),
            "compact" => format!("VACUUM (ANALYZE) loci.{table}"),
            _ => format!("REINDEX TABLE CONCURRENTLY loci.{table}"),
        };
        session.ask(SqlStatement::new(statement), none)?;
    }
    let after = total_size(session)?;
    let figures = [("bytes_before", before), ("bytes_after", after)];
    Ok(figures.map(|(name, figure)| (name.to_owned(), figure)).into())
}

/// Returns the bytes of all tables and indexes.
pub(crate) fn total_size(session: &ServerSession) -> Result<i64> {
    let question = SqlStatement::new(
        "SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
         JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = 'loci' AND c.relkind = 'r'",
    );
    let found = session.ask(question, ServerDeadline::default())?;
    Ok(found.first().map_or(0, |row| row.get(0)))
}
