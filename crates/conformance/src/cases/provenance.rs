//! Provenance: who filed a drawer, through which door and from where, kept as the writer gave it.

use loci_core::{
    CollectionExt, Drawer, FilingDoor, Get, Include, NewDrawer, OriginKind, Patch, Provenance, Write,
};

use crate::samples::{id, one, plain};
use crate::{Failure, Outcome, Scene};

cases! { "provenance":
    "provenance is kept exactly: every door, every origin, any name" [-ReadOnly] => kept;
    "provenance is returned whichever fields are included" [-ReadOnly] => always;
    "provenance that was not given is absent" [-ReadOnly] => absent;
    "upsert replaces provenance whole, and takes it away where none is given" [-ReadOnly] => replaced;
    "add never changes the provenance of a drawer that exists" [-ReadOnly] => kept_on_add;
    "update sets the provenance that is given and keeps the one that stands otherwise" [-ReadOnly] => updated;
    "an update of provenance alone changes something" [-ReadOnly] => alone;
    "hits hold their provenance" [+Lexical -ReadOnly] => hits;
    "a moment returns the provenance of its drawers" [+Moment -ReadOnly] => momentary;
    "provenance is there for another process" [+MultiProcess -ReadOnly] => elsewhere;
}

fn noted() -> Provenance {
    Provenance::new(FilingDoor::Agent, OriginKind::Note).filed_by("agent 抽屉 \"quoted\"")
}

fn with(called: &str, provenance: Option<Provenance>) -> NewDrawer {
    NewDrawer {
        provenance,
        ..plain(called, "alpha text")
    }
}

fn kept(scene: &Scene<'_>) -> Outcome {
    let doors = FilingDoor::ALL.iter();
    let each = doors.flat_map(|door| {
        OriginKind::ALL
            .iter()
            .map(|origin| Provenance::new(*door, *origin))
    });
    let mut given: Vec<Provenance> = each.collect();
    given.push(noted());
    given.push(Provenance::new(FilingDoor::Hook, OriginKind::HarnessTranscript).filed_by(""));
    let drawers = given.iter().enumerate();
    let drawers = scene.filled(drawers.map(|(n, one)| with(&format!("d{n:03}"), Some(one.clone()))))?;
    let found = drawers.get(&Get::default())?.into_iter();
    let found: Vec<Provenance> = found.filter_map(|drawer| drawer.provenance).collect();
    same!(found, given, "provenance of each drawer");
    Ok(())
}

fn always(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", Some(noted()))])?;
    for include in [Include::NOTHING, Include::default(), scene.everything()] {
        let found = one(drawers.as_ref(), "a", include)?;
        same!(found.provenance, Some(noted()), "provenance with {include:?}");
    }
    Ok(())
}

fn absent(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", None)])?;
    same!(
        one(drawers.as_ref(), "a", scene.everything())?.provenance,
        None,
        "provenance"
    );
    Ok(())
}

fn replaced(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", Some(noted())), with("b", Some(noted()))])?;
    let other = Provenance::new(FilingDoor::Terminal, OriginKind::Hand);
    drawers.apply_batch(&[
        Write::Upsert(with("a", Some(other.clone()))),
        Write::Upsert(with("b", None)),
    ])?;
    let read = |called| one(drawers.as_ref(), called, Include::default());
    same!(
        read("a")?.provenance,
        Some(other),
        "provenance after it was replaced"
    );
    same!(
        read("b")?.provenance,
        None,
        "provenance after a replacement without one"
    );
    Ok(())
}

fn kept_on_add(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", Some(noted()))])?;
    drawers.add(with("a", None))?;
    same!(
        one(drawers.as_ref(), "a", Include::default())?.provenance,
        Some(noted()),
        "provenance"
    );
    Ok(())
}

fn updated(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", Some(noted())), with("b", None)])?;
    let text = |called: &str, provenance| {
        Write::Update(Patch {
            document: Some("changed".into()),
            provenance,
            ..Patch::new(id(called))
        })
    };
    let read = |called| one(drawers.as_ref(), called, Include::default());
    drawers.apply_batch(&[text("a", None), text("b", None)])?;
    same!(
        read("a")?.provenance,
        Some(noted()),
        "provenance after an update without one"
    );
    same!(
        read("b")?.provenance,
        None,
        "provenance where none was ever given"
    );
    let other = Provenance::new(FilingDoor::Import, OriginKind::ForeignMemory);
    drawers.apply_batch(&[text("a", Some(other.clone())), text("b", Some(noted()))])?;
    same!(
        read("a")?.provenance,
        Some(other),
        "provenance after an update with another"
    );
    same!(
        read("b")?.provenance,
        Some(noted()),
        "provenance after an update with the first"
    );
    Ok(())
}

fn alone(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", None)])?;
    let before = drawers.info()?.seq;
    let patch = Patch {
        provenance: Some(noted()),
        ..Patch::new(id("a"))
    };
    let receipt = drawers.apply_batch(&[Write::Update(patch)])?;
    same!(receipt.updated, [id("a")], "updated");
    ensure!(
        receipt.seq > before.0,
        "expected a number above {before:?}, found {}",
        receipt.seq
    );
    let found: Drawer = one(drawers.as_ref(), "a", Include::default())?;
    same!(found.document.as_deref(), Some("alpha text"), "text");
    same!(found.provenance, Some(noted()), "provenance");
    Ok(())
}

fn hits(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", Some(noted()))])?;
    let found = drawers.lexical(&loci_core::Lexical::words("alpha", 1))?;
    same!(found[0].drawer.provenance, Some(noted()), "provenance of a hit");
    Ok(())
}

fn momentary(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([with("a", Some(noted()))])?;
    let Some(moment) = drawers.moment()? else {
        return Err(Failure::new("expected a moment, found none"));
    };
    drawers.upsert(with("a", None))?;
    let found = moment.get(&Get::ids([id("a")]))?;
    same!(found[0].provenance, Some(noted()), "provenance of the moment");
    Ok(())
}

fn elsewhere(scene: &Scene<'_>) -> Outcome {
    scene.filled([with("a", Some(noted()))])?;
    let there = scene.open_elsewhere()?;
    same!(
        one(there.as_ref(), "a", Include::NOTHING)?.provenance,
        Some(noted()),
        "provenance"
    );
    Ok(())
}
