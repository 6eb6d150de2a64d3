//! Maintenance: only advertised kinds run, each runs once at a time, and nothing is lost.

use std::collections::BTreeSet;

use loci_core::{
    Capability, Collection, CollectionExt, Cursor, Drawer, ErrorKind, GetRequest, MaintenanceKind,
    MaintenanceStatus, QueryRequest, Write,
};

use crate::case::expect_refusal;
use crate::samples::{id, text_drawer, vector_drawer, wing_drawer};
use crate::{CaseOutcome, CaseScene};

cases! { "maintenance":
    "a kind that is not advertised is unsupported" [] => not_advertised;
    "every advertised kind runs and says how it ended" [-ReadOnly] => advertised_kinds_run;
    "maintenance changes no drawer and no answer" [-ReadOnly] => changes_nothing;
    "maintenance loses nothing of the change feed" [+ChangeFeed -ReadOnly] => keeps_the_feed;
    "the same kind started twice at once runs once; the others are told that it is already running" [-ReadOnly] => runs_once_at_a_time;
    "what is running or due is advertised" [] => state_is_advertised;
    "a backend that takes no writes advertises no maintenance" [+ReadOnly] => read_only_advertises_none;
}

fn open_worn(scene: &CaseScene<'_>) -> CaseOutcome<std::sync::Arc<dyn Collection>> {
    let given = (0..40).map(|n| {
        let vector = [1.0, n as f32, 0.0, 1.0];
        scene.fit_drawer(vector_drawer(
            &format!("d{n:02}"),
            &format!("alpha text {n}"),
            &vector,
        ))
    });
    let drawers = scene.open_filled(given)?;
    // Replaced and removed drawers leave garbage behind, so that each kind has something to do.
    for n in 0..10 {
        drawers.upsert_drawer(text_drawer(&format!("d{n:02}"), "replaced"))?;
        drawers.delete_drawer(id(&format!("d{:02}", n + 20)))?;
    }
    Ok(drawers)
}

/// Returns every drawer with every field.
fn read_contents(scene: &CaseScene<'_>, drawers: &dyn Collection) -> CaseOutcome<Vec<Drawer>> {
    Ok(drawers.get(&GetRequest {
        include: scene.every_field(),
        ..GetRequest::default()
    })?)
}

fn not_advertised(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    // Kinds that other backends offer and one that no backend has: an unknown name must not be a silent
    // success.
    let known = [
        MaintenanceKind::ANALYZE,
        MaintenanceKind::COMPACT,
        MaintenanceKind::REINDEX,
    ];
    let unknown = known
        .into_iter()
        .chain([MaintenanceKind::from_name("no such kind")]);
    // Without any kind there is nothing to call; `capabilities` covers that.
    let Some(upkeep) = drawers.upkeep() else {
        return Ok(());
    };
    for kind in unknown.filter(|kind| !scene.descriptor().maintenance.contains(kind)) {
        expect_refusal(upkeep.run(&kind), ErrorKind::Unsupported, &[kind.name()])?;
    }
    Ok(())
}

fn advertised_kinds_run(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_worn(scene)?;
    for kind in &scene.descriptor().maintenance {
        let report = drawers.require_upkeep()?.run(kind)?;
        same!(report.kind, *kind, "kind of the report");
        ensure!(
            report.status != MaintenanceStatus::AlreadyRunning,
            "expected {kind} to run or to find nothing to do, found {report:?}"
        );
        // A lock or flag that is not released when the first run ends would show as already running.
        let again = drawers.require_upkeep()?.run(kind)?;
        ensure!(
            again.status != MaintenanceStatus::AlreadyRunning,
            "expected {kind} to have ended, found {again:?}"
        );
    }
    Ok(())
}

fn changes_nothing(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_worn(scene)?;
    let before = read_contents(scene, drawers.as_ref())?;
    // Rebuilding an index is the part of maintenance that can change answers, so the nearest are compared
    // as well.
    let query = QueryRequest::nearest_to(vec![1.0, 2.5, 0.0, 0.0], 12);
    let nearest = |drawers: &dyn Collection| {
        if scene.can(Capability::EmbeddingsPassthrough) {
            drawers.query(&query)
        } else {
            Ok(Vec::new())
        }
    };
    let near = nearest(drawers.as_ref())?;
    for kind in &scene.descriptor().maintenance {
        drawers.require_upkeep()?.run(kind)?;
        same!(
            read_contents(scene, drawers.as_ref())?,
            before,
            "drawers after {kind}"
        );
        same!(nearest(drawers.as_ref())?, near, "hits after {kind}");
        // Other processes may still hold the old file or old pages.
        same!(
            read_contents(scene, scene.open_elsewhere()?.as_ref())?,
            before,
            "drawers for another process after {kind}"
        );
    }
    Ok(())
}

fn keeps_the_feed(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_worn(scene)?;
    // Removals exist only in the feed; compaction is tempted to drop them together with the rows.
    let before = drawers.require_feed()?.changes_since(Cursor(0), 1_000)?;
    for kind in &scene.descriptor().maintenance {
        drawers.require_upkeep()?.run(kind)?;
        same!(
            drawers.require_feed()?.changes_since(Cursor(0), 1_000)?,
            before,
            "changes after {kind}"
        );
    }
    Ok(())
}

fn runs_once_at_a_time(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = open_worn(scene)?;
    let before = read_contents(scene, drawers.as_ref())?;
    for kind in &scene.descriptor().maintenance {
        let elsewhere = (0..4)
            .map(|_| scene.open_elsewhere())
            .collect::<CaseOutcome<Vec<_>>>()?;
        let start = std::sync::Barrier::new(elsewhere.len());
        let reports = std::thread::scope(|threads| {
            let start = &start;
            let running: Vec<_> = elsewhere
                .iter()
                .map(|drawers| {
                    threads.spawn(move || {
                        start.wait();
                        drawers.require_upkeep()?.run(kind)
                    })
                })
                .collect();
            let ended = running.into_iter().map(|one| one.join());
            ended
                .map(|one| one.unwrap_or_else(|_| Err(loci_core::Error::invalid("maintenance panicked"))))
                .collect::<loci_core::Result<Vec<_>>>()
        })?;
        // How many of them run is a matter of timing; that all four are turned away must not happen.
        let served = reports
            .iter()
            .any(|report| report.status != MaintenanceStatus::AlreadyRunning);
        ensure!(
            served,
            "expected one of the callers to be served, found {reports:?}"
        );
        same!(
            read_contents(scene, drawers.as_ref())?,
            before,
            "drawers after {kind} by four at once"
        );
        same!(
            drawers.require_upkeep()?.state()?.running,
            Vec::new(),
            "kinds running after all have ended"
        );
    }
    // Writable afterwards: no exclusive lock was left behind.
    drawers.apply_batch(&[Write::Add(wing_drawer("new", "x"))])?;
    Ok(())
}

fn state_is_advertised(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let Some(upkeep) = drawers.upkeep() else {
        return Ok(());
    };
    let state = upkeep.state()?;
    let advertised: BTreeSet<_> = scene.descriptor().maintenance.iter().collect();
    // Users read the reason, so it may not be empty; and a kind that is due but cannot be run would be a
    // dead end.
    for (kind, why) in &state.due {
        ensure!(
            advertised.contains(kind),
            "expected only advertised kinds to be due, found {kind}"
        );
        ensure!(!why.is_empty(), "expected a reason why {kind} is due, found none");
    }
    same!(state.running, Vec::new(), "kinds running");
    Ok(())
}

fn read_only_advertises_none(scene: &CaseScene<'_>) -> CaseOutcome {
    same!(scene.descriptor().maintenance, Vec::new(), "kinds of maintenance");
    Ok(())
}
