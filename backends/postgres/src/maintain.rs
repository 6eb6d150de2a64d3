//! Maintenance in the server's own terms: statistics, vacuum, and rebuilding indexes beside the old ones.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use loci_core::{
    Error, ErrorKind, MaintenanceFigure, MaintenanceKind, MaintenanceReport, MaintenanceState,
    MaintenanceStatus, QueryPrecision, Result, Timestamp,
};

use crate::deadline::ServerDeadline;
use crate::failure::corrupt_error;
use crate::moment::MomentView;
use crate::palace::ServerPalace;
use crate::session::ServerSession;
use crate::statement::SqlStatement;
use crate::words::{self, RebuildScope};
use crate::write::WriteLimits;
use crate::{approximate, codes, rights, schema};

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

/// Returns the maintenance that is running or due, and figures, by what the server knows.
pub(crate) fn maintenance_state(view: &MomentView<'_>, palace: i64) -> Result<MaintenanceState> {
    let mut state = MaintenanceState {
        running: list_running(view, palace)?,
        ..MaintenanceState::default()
    };
    let tables = TableFigures::read(view)?;
    let TableFigures {
        live, dead, changed, ..
    } = tables;
    if dead > DUE_ROWS && dead as f64 > DUE_SHARE * (live + dead) as f64 {
        let why = format!("{dead} dead rows beside {live} live ones take space");
        state.due.push((MaintenanceKind::COMPACT, why));
    } else {
        // Every search reads which rows of the segments are gone.
        let (gone, drawers) = words::count_worn(view.session, palace, view.deadline)?;
        if gone > DUE_ROWS && gone as f64 > DUE_SHARE * drawers as f64 {
            let why = format!("the words of {gone} removed drawers are still in the word index");
            state.due.push((MaintenanceKind::COMPACT, why));
        }
    }
    if changed > DUE_ROWS && changed as f64 > DUE_SHARE * live as f64 {
        let why = format!("{changed} rows changed since the statistics were taken");
        state.due.push((MaintenanceKind::ANALYZE, why));
    }
    if let Some(why) = approximate::describe_due(view.shelf) {
        state.due.push((MaintenanceKind::REINDEX, why));
    }
    state.figures = tables.into_figures();
    state.figures.extend(index_progress(view)?);
    Ok(state)
}

/// Returns the kinds that any process runs on a palace.
fn list_running(view: &MomentView<'_>, palace: i64) -> Result<Vec<MaintenanceKind>> {
    let locks = view.session.ask(
        SqlStatement::new(
            "SELECT (classid::bigint << 32) | objid::bigint FROM pg_locks
             WHERE locktype = 'advisory' AND objsubid = 1 AND granted
                AND database = (SELECT oid FROM pg_database WHERE datname = current_database())",
        ),
        view.deadline,
    )?;
    let held: Vec<i64> = locks.iter().map(|row| row.get(0)).collect();
    let precision = MaintenanceKind::from_name(QueryPrecision::Approximate.name());
    let kinds = KINDS.into_iter().chain([precision]);
    Ok(kinds
        .filter(|kind| held.contains(&kind_lock(palace, kind)))
        .collect())
}

/// What the server knows about the tables, which every palace of the database shares.
#[derive(Debug)]
struct TableFigures {
    live: i64,
    dead: i64,
    changed: i64,
    /// The latest vacuum of any table.
    vacuumed: Option<Timestamp>,
    /// The latest statistics of any table.
    analyzed: Option<Timestamp>,
}

impl TableFigures {
    fn read(view: &MomentView<'_>) -> Result<Self> {
        let question = SqlStatement::new(
            "SELECT coalesce(sum(n_live_tup), 0)::bigint, coalesce(sum(n_dead_tup), 0)::bigint,
                coalesce(sum(n_mod_since_analyze), 0)::bigint,
                (extract(epoch FROM max(greatest(last_vacuum, last_autovacuum))) * 1000000)::bigint,
                (extract(epoch FROM max(greatest(last_analyze, last_autoanalyze))) * 1000000)::bigint
             FROM pg_stat_user_tables WHERE schemaname = 'loci'",
        );
        let found = view.session.ask(question, view.deadline)?;
        let row = found
            .first()
            .ok_or_else(|| corrupt_error("the server returned no figures of its tables"))?;
        let moment = |at: usize| {
            row.get::<_, Option<i64>>(at)
                .map(Timestamp::from_micros)
                .transpose()
        };
        Ok(Self {
            live: row.get(0),
            dead: row.get(1),
            changed: row.get(2),
            vacuumed: moment(3)?,
            analyzed: moment(4)?,
        })
    }

    fn into_figures(self) -> BTreeMap<String, MaintenanceFigure> {
        let counts = [
            ("live_rows", self.live),
            ("dead_rows", self.dead),
            ("rows_changed_since_analyze", self.changed),
        ];
        let moments = [("last_vacuum", self.vacuumed), ("last_analyze", self.analyzed)];
        let counts = counts.map(|(name, count)| (name.to_owned(), MaintenanceFigure::Count(count)));
        let moments = moments
            .into_iter()
            .filter_map(|(name, moment)| Some((name.to_owned(), MaintenanceFigure::Moment(moment?))));
        counts.into_iter().chain(moments).collect()
    }
}

/// Returns how far the index that is being built on one of our tables has come.
fn index_progress(view: &MomentView<'_>) -> Result<BTreeMap<String, MaintenanceFigure>> {
    let question = SqlStatement::new(
        "SELECT p.tuples_done, p.tuples_total, p.blocks_done, p.blocks_total FROM pg_stat_progress_create_index p
         JOIN pg_class c ON c.oid = p.relid JOIN pg_namespace n ON n.oid = c.relnamespace
         WHERE n.nspname = 'loci' AND p.datname = current_database() LIMIT 1",
    );
    let found = view.session.ask(question, view.deadline)?;
    let Some(row) = found.first() else {
        return Ok(BTreeMap::new());
    };
    let names = [
        "index_rows_done",
        "index_rows_total",
        "index_blocks_done",
        "index_blocks_total",
    ];
    let figures = names.into_iter().enumerate().filter_map(|(at, name)| {
        let figure: Option<i64> = row.get(at);
        Some((name.to_owned(), MaintenanceFigure::Count(figure?)))
    });
    Ok(figures.collect())
}

/// Chooses how the palace answers queries; a second choice while one is being put into effect does nothing.
pub(crate) fn choose_precision(
    palace: &ServerPalace,
    precision: QueryPrecision,
    limits: WriteLimits,
) -> Result<MaintenanceReport> {
    let key = kind_lock(
        palace.number,
        &MaintenanceKind::from_name(QueryPrecision::Approximate.name()),
    );
    let (lease, taken) = palace.begin(|session| try_lock(session, key))?;
    if !taken {
        return Ok(MaintenanceReport {
            kind: MaintenanceKind::from_name(precision.name()),
            status: MaintenanceStatus::AlreadyRunning,
            figures: BTreeMap::new(),
        });
    }
    let done = in_turn(&lease, || {
        approximate::choose_precision(palace, &lease, precision, limits)
    });
    unlock(&lease, key);
    done
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
            let built = approximate::renew_indexes(palace, &lease)?;
            figures.insert("approximate_indexes_built".to_owned(), built);
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
