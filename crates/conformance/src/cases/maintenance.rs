//! Maintenance: only what is advertised runs, it runs once, and nothing is lost by it.

use std::collections::BTreeSet;

use loci_core::{
    Capability, Collection, CollectionExt, Cursor, Drawer, ErrorKind, Get, MaintenanceKind,
    MaintenanceStatus, Query, Write,
};

use crate::case::refused;
use crate::samples::{id, plain, vectored, winged};
use crate::{Outcome, Scene};

cases! { "maintenance":
    "a kind that is not advertised is unsupported" [] => not_advertised;
    "every advertised kind runs and says how it ended" [-ReadOnly] => advertised;
    "maintenance changes no drawer and no answer" [-ReadOnly] => changes_nothing;
    "maintenance loses nothing of the change feed" [+ChangeFeed -ReadOnly] => keeps_the_feed;
    "the same kind started twice at once runs once; the others are told that it is already running" [-ReadOnly] => at_once;
    "what is running or due is advertised" [] => state;
    "a backend that takes no writes advertises no maintenance" [+ReadOnly] => read_only;
}

fn worn(scene: &Scene<'_>) -> Outcome<std::sync::Arc<dyn Collection>> {
    let given = (0..40).map(|n| {
        let vector = [1.0, n as f32, 0.0, 1.0];
        scene.fit(vectored(&format!("d{n:02}"), &format!("alpha text {n}"), &vector))
    });
    let drawers = scene.filled(given)?;
    for n in 0..10 {
        drawers.upsert(plain(&format!("d{n:02}"), "replaced"))?;
        drawers.delete(id(&format!("d{:02}", n + 20)))?;
    }
    Ok(drawers)
}

/// Everything the drawers hold.
fn contents(scene: &Scene<'_>, drawers: &dyn Collection) -> Outcome<Vec<Drawer>> {
    Ok(drawers.get(&Get {
        include: scene.everything(),
        ..Get::default()
    })?)
}

fn not_advertised(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let known = [
        MaintenanceKind::ANALYZE,
        MaintenanceKind::COMPACT,
        MaintenanceKind::REINDEX,
    ];
    let unknown = known.into_iter().chain([MaintenanceKind::named("no such kind")]);
    let Some(upkeep) = drawers.upkeep() else {
        return Ok(());
    };
    for kind in unknown.filter(|kind| !scene.descriptor().maintenance.contains(kind)) {
        refused(upkeep.run(&kind), ErrorKind::Unsupported, &[kind.name()])?;
    }
    Ok(())
}

fn advertised(scene: &Scene<'_>) -> Outcome {
    let drawers = worn(scene)?;
    for kind in &scene.descriptor().maintenance {
        let report = drawers.require_upkeep()?.run(kind)?;
        same!(report.kind, *kind, "kind of the report");
        ensure!(
            report.status != MaintenanceStatus::AlreadyRunning,
            "expected {kind} to run or to find nothing to do, found {report:?}"
        );
        let again = drawers.require_upkeep()?.run(kind)?;
        ensure!(
            again.status != MaintenanceStatus::AlreadyRunning,
            "expected {kind} to have ended, found {again:?}"
        );
    }
    Ok(())
}

fn changes_nothing(scene: &Scene<'_>) -> Outcome {
    let drawers = worn(scene)?;
    let before = contents(scene, drawers.as_ref())?;
    let query = Query::nearest(vec![1.0, 2.5, 0.0, 0.0], 12);
    let nearest = |drawers: &dyn Collection| match scene.can(Capability::EmbeddingsPassthrough) {
        true => drawers.query(&query),
        false => Ok(Vec::new()),
    };
    let near = nearest(drawers.as_ref())?;
    for kind in &scene.descriptor().maintenance {
        drawers.require_upkeep()?.run(kind)?;
        same!(contents(scene, drawers.as_ref())?, before, "drawers after {kind}");
        same!(nearest(drawers.as_ref())?, near, "hits after {kind}");
        same!(
            contents(scene, scene.open_elsewhere()?.as_ref())?,
            before,
            "drawers for another process after {kind}"
        );
    }
    Ok(())
}

fn keeps_the_feed(scene: &Scene<'_>) -> Outcome {
    let drawers = worn(scene)?;
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

fn at_once(scene: &Scene<'_>) -> Outcome {
    let drawers = worn(scene)?;
    let before = contents(scene, drawers.as_ref())?;
    for kind in &scene.descriptor().maintenance {
        let elsewhere = (0..4)
            .map(|_| scene.open_elsewhere())
            .collect::<Outcome<Vec<_>>>()?;
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
        let served = reports
            .iter()
            .any(|report| report.status != MaintenanceStatus::AlreadyRunning);
        ensure!(
            served,
            "expected one of the callers to be served, found {reports:?}"
        );
        same!(
            contents(scene, drawers.as_ref())?,
            before,
            "drawers after {kind} by four at once"
        );
        same!(
            drawers.require_upkeep()?.state()?.running,
            Vec::new(),
            "kinds running after all have ended"
        );
    }
    drawers.apply_batch(&[Write::Add(winged("new", "x"))])?;
    Ok(())
}

fn state(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let Some(upkeep) = drawers.upkeep() else {
        return Ok(());
    };
    let state = upkeep.state()?;
    let advertised: BTreeSet<_> = scene.descriptor().maintenance.iter().collect();
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

fn read_only(scene: &Scene<'_>) -> Outcome {
    same!(scene.descriptor().maintenance, Vec::new(), "kinds of maintenance");
    Ok(())
}
