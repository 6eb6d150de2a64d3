//! Upkeep, erasure and the change feed of the reference.

use std::collections::BTreeMap;

use loci_core::{
    Capability, ChangeFeed, ChangePage, CollectionReader, Cursor, DrawerFields, Erasure, Error, ErrorKind,
    GetRequest, Maintenance, MaintenanceKind, MaintenanceReport, MaintenanceState, MaintenanceStatus,
    PurgeReport, QueryPrecision, Result, StoredTrace,
};

use super::handle::ReferenceHandle;

impl ChangeFeed for ReferenceHandle {
    fn changes_since(&self, cursor: Cursor, limit: usize) -> Result<ChangePage> {
        self.with_table(|table| table.changes_since(&self.name, cursor, limit))
    }
}

impl Erasure for ReferenceHandle {
    fn begin(&self) -> Result<()> {
        self.check_writable()?;
        self.with_table(|table| table.erasing = true)
    }

    fn is_unfinished(&self) -> Result<bool> {
        self.with_table(|table| table.erasing)
    }

    fn purge(&self, watch: &mut dyn FnMut(u64, u64)) -> Result<PurgeReport> {
        self.check_writable()?;
        // Batches remembered under a key hold the same text.
        self.with_table(|table| {
            table.keys.forget_all();
            table.erasing = false;
        })?;
        watch(1, 1);
        Ok(PurgeReport {
            reached: vec!["drawers".into(), "keys".into()],
            not_reached: Vec::new(),
        })
    }

    fn find_traces(&self, texts: &[String], watch: &mut dyn FnMut(u64, u64)) -> Result<Vec<StoredTrace>> {
        let drawers = self.get(&GetRequest {
            include: DrawerFields {
                embedding: false,
                ..DrawerFields::EVERYTHING
            },
            ..GetRequest::default()
        })?;
        let mut traces = Vec::new();
        for drawer in &drawers {
            let shown = format!("{drawer:?}");
            let held = texts
                .iter()
                .enumerate()
                .filter(|(_, text)| shown.contains(text.as_str()));
            traces.extend(held.map(|(number, _)| StoredTrace {
                text: number,
                file: "memory".to_owned(),
                offset: None,
                place: Some(format!("drawer {}", drawer.id)),
            }));
        }
        watch(1, 1);
        Ok(traces)
    }
}

impl Maintenance for ReferenceHandle {
    fn state(&self) -> Result<MaintenanceState> {
        let advertised = |kind| self.descriptor.maintenance.contains(kind);
        let garbage = self.with_table(|table| table.garbage)?;
        let mut state = MaintenanceState {
            running: self.with_palace(|space| space.running.iter().cloned().collect())?,
            ..MaintenanceState::default()
        };
        if garbage > 0 && advertised(&MaintenanceKind::COMPACT) {
            let why = format!("{garbage} replaced or removed drawers take space");
            state.due.push((MaintenanceKind::COMPACT, why));
        }
        Ok(state)
    }

    fn run(&self, kind: &MaintenanceKind) -> Result<MaintenanceReport> {
        self.check_writable()?;
        if !self.descriptor.maintenance.contains(kind) {
            return Err(no_such_maintenance(kind.name()));
        }
        let report = |status, drawers: Option<i64>| MaintenanceReport {
            kind: kind.clone(),
            status,
            figures: drawers
                .into_iter()
                .map(|n| ("drawers".to_owned(), n))
                .collect::<BTreeMap<_, _>>(),
        };
        // Insert and test in one step: of two callers at once, only one sees it absent.
        if !self.with_palace(|space| space.running.insert(kind.clone()))? {
            return Ok(report(MaintenanceStatus::AlreadyRunning, None));
        }
        let done = self.run_alone(kind);
        // Before `done?`, so that a failed run does not stay marked as running.
        self.with_palace(|space| space.running.remove(kind))?;
        Ok(match done? {
            0 => report(MaintenanceStatus::NothingToDo, Some(0)),
            some => report(MaintenanceStatus::Ran, Some(some)),
        })
    }

    fn choose_precision(&self, precision: QueryPrecision) -> Result<MaintenanceReport> {
        self.check_writable()?;
        self.with_table(|_| ())?;
        let approximates = self.descriptor.has_capability(&Capability::ApproximateQuery);
        if approximates != (precision == QueryPrecision::Approximate) {
            return Err(no_such_maintenance(precision.name()));
        }
        Ok(MaintenanceReport {
            kind: MaintenanceKind::from_name(precision.name()),
            status: MaintenanceStatus::NothingToDo,
            figures: BTreeMap::new(),
        })
    }
}

impl ReferenceHandle {
    fn run_alone(&self, kind: &MaintenanceKind) -> Result<i64> {
        // Outside the lock: the watcher calls the backend itself.
        if let Some(watcher) = &self.watcher {
            watcher(kind);
        }
        self.with_table(|table| {
            if *kind == MaintenanceKind::COMPACT {
                table.compact() as i64
            } else {
                table.rows.len() as i64
            }
        })
    }
}

/// Returns the refusal of a maintenance kind that is not advertised.
fn no_such_maintenance(kind: &str) -> Error {
    Error::new(
        ErrorKind::Unsupported,
        format!("the backend \"reference\" has no maintenance called {kind:?}"),
    )
}
