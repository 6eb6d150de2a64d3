//! Changing the model of a collection: one transaction for each step, and a line in the palace's log for each.

use loci_core::{EmbedderIdentity, Error, ErrorKind, Finding, Result, Severity, SpaceState, Switch};
use rusqlite::{Connection, Transaction, params};

use crate::failure::sqlite;
use crate::shelf::{Shelf, next_number};
use crate::space::{Space, state_text};
use crate::write::last_seq;
use crate::{clock, schema, vectors};

/// How far a space was found complete before the lock was taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Surveyed {
    space: i64,
    /// Every drawer up to this row has its vector there, and keeps it: a row never loses it but with itself.
    reached: i64,
}

/// The spaces of a collection as the contract tells of them.
pub(crate) fn spaces(shelf: &Shelf) -> Vec<loci_core::Space> {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let told = |space: &Space| loci_core::Space {
        identity: space.identity(),
        state: space.state,
        vectors: number(space.vectors),
        drawers: number(shelf.drawers),
    };
    shelf.spaces().map(told).collect()
}

/// Looks, outside any lock, whether the space being built has every vector; says so by `Conflict` if not.
pub(crate) fn survey(connection: &Connection, shelf: &Shelf) -> Result<Surveyed> {
    let space = ready(shelf)?;
    check_complete(connection, shelf, space, 0)?;
    Ok(Surveyed {
        space: space.number,
        reached: last_seq(connection)?,
    })
}

/// Takes one step.
pub(crate) fn step(
    transaction: &Transaction<'_>,
    shelf: &Shelf,
    step: &Switch,
    surveyed: Surveyed,
) -> Result<()> {
    match step {
        Switch::Begin(identity) => begin(transaction, shelf, identity),
        Switch::Pause => pause(transaction, shelf),
        Switch::Finish => finish(transaction, shelf, surveyed),
        Switch::Rollback => roll_back(transaction, shelf),
        Switch::DropRetired => drop_retired(transaction, shelf),
    }
}

fn begin(transaction: &Transaction<'_>, shelf: &Shelf, identity: &EmbedderIdentity) -> Result<()> {
    if identity.dimension == 0 {
        return Err(
            Error::invalid(format!("the model {:?} has no dimensions", identity.model))
                .hint("nothing was changed"),
        );
    }
    let fits = |space: &&Space| space.embedder.as_ref() == Some(identity);
    if fits(&&shelf.space) {
        return Ok(());
    }
    match shelf.being_built() {
        Some(space) if fits(&space) && space.state == SpaceState::Building => return Ok(()),
        Some(space) if !fits(&space) => return Err(another(space, identity)),
        _ => {}
    }
    let (space, how) = match shelf.others.iter().find(fits) {
        Some(space) => {
            space.record_state(transaction, SpaceState::Building, 0)?;
            (space.number, "goes on")
        }
        None => (create(transaction, shelf, identity)?, "begins"),
    };
    crate::crash::point("switch-begun");
    log(
        transaction,
        shelf,
        &format!("a switch to {identity} {how} in space {space}"),
    )
}

fn create(transaction: &Transaction<'_>, shelf: &Shelf, identity: &EmbedderIdentity) -> Result<i64> {
    let number = next_number(transaction, "space")?;
    let EmbedderIdentity {
        model,
        revision,
        dimension,
    } = identity;
    let state = state_text(SpaceState::Building);
    transaction
        .execute(
            "INSERT INTO spaces(space, collection, dimension, model, revision, state) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            params![number, shelf.collection, *dimension as i64, model, revision, state],
        )
        .map_err(sqlite)?;
    vectors::create(transaction, number)?;
    Ok(number)
}

fn pause(transaction: &Transaction<'_>, shelf: &Shelf) -> Result<()> {
    let space = shelf.being_built().ok_or_else(|| nothing_built(shelf))?;
    if space.state == SpaceState::Paused {
        return Ok(());
    }
    space.record_state(transaction, SpaceState::Paused, 0)?;
    log(
        transaction,
        shelf,
        &format!("the switch to {} pauses", space.model()),
    )
}

/// Turns over to the space being built, once every drawer has its vector there.
fn finish(transaction: &Transaction<'_>, shelf: &Shelf, surveyed: Surveyed) -> Result<()> {
    let space = ready(shelf)?;
    let reached = match surveyed.space == space.number {
        true => surveyed.reached,
        false => 0,
    };
    check_complete(transaction, shelf, space, reached)?;
    crate::crash::point("finish-checked");
    turn_to(transaction, shelf, space)?;
    crate::crash::point("finish-turned");
    let (new, old) = (space.model(), shelf.space.model());
    log(
        transaction,
        shelf,
        &format!("{new} answers in space {}, {old} is retired", space.number),
    )
}

/// The space being built, unless there is none or it is paused.
fn ready(shelf: &Shelf) -> Result<&Space> {
    match shelf.being_built() {
        None => Err(nothing_built(shelf)),
        Some(space) if space.state == SpaceState::Paused => Err(conflict(
            format!(
                "the switch of {:?} to {} is paused",
                shelf.name.as_str(),
                space.model()
            ),
            format!(
                "nothing was changed; go on with `loci embedder switch {}`",
                space.model()
            ),
        )),
        Some(space) => Ok(space),
    }
}

/// Refuses a space in which a drawer lacks its vector; rows up to `reached` are known to have theirs.
fn check_complete(connection: &Connection, shelf: &Shelf, space: &Space, reached: i64) -> Result<()> {
    let (model, name) = (space.model(), shelf.name.as_str());
    let missing = shelf.drawers - space.vectors;
    if missing > 0 {
        return Err(conflict(
            format!(
                "{missing} of {} drawers of {name:?} have no vector by {model} yet",
                shelf.drawers
            ),
            format!("nothing was changed; make them with `loci embedder switch {model}`"),
        ));
    }
    if missing < 0 || !vectors::lacking(connection, space, reached, i64::MAX, 1)?.is_empty() {
        return Err(conflict(
            format!(
                "the vectors of {name:?} by {model} are not those of its drawers, though {} were counted",
                space.vectors
            ),
            "nothing was changed; put the space right with `loci maintain reindex`, then go on".to_owned(),
        ));
    }
    Ok(())
}

/// Makes `space` the active one and sets the active one aside.
fn turn_to(transaction: &Transaction<'_>, shelf: &Shelf, space: &Space) -> Result<()> {
    transaction
        .execute(
            "UPDATE collections SET space = ?2 WHERE collection = ?1",
            params![shelf.collection, space.number],
        )
        .map_err(sqlite)?;
    space.record_state(transaction, SpaceState::Active, 0)?;
    set_aside(transaction, &shelf.space, SpaceState::Retired)
}

fn set_aside(transaction: &Transaction<'_>, space: &Space, state: SpaceState) -> Result<()> {
    let turn = next_number(transaction, "turn")?;
    space.record_state(transaction, state, turn)
}

fn roll_back(transaction: &Transaction<'_>, shelf: &Shelf) -> Result<()> {
    let (old, new) = (shelf.space.model(), |space: &Space| space.model().to_owned());
    if let Some(space) = shelf.being_built() {
        set_aside(transaction, space, SpaceState::Abandoned)?;
        crate::crash::point("rolled-back");
        return log(
            transaction,
            shelf,
            &format!("the switch to {} is given up, {old} answers", new(space)),
        );
    }
    let retired = shelf
        .others
        .iter()
        .find(|space| space.state == SpaceState::Retired);
    let Some(space) = retired else {
        return Err(conflict(
            format!(
                "no switch of {:?} is under way and no model answered before {old}",
                shelf.name.as_str()
            ),
            "nothing was changed; begin a switch with `loci embedder switch MODEL`".to_owned(),
        ));
    };
    turn_to(transaction, shelf, space)?;
    crate::crash::point("rolled-back");
    log(
        transaction,
        shelf,
        &format!(
            "turned back: {} answers in space {}, {old} is retired",
            new(space),
            space.number
        ),
    )
}

fn drop_retired(transaction: &Transaction<'_>, shelf: &Shelf) -> Result<()> {
    for space in shelf.others.iter().filter(|space| !space.is_being_built()) {
        vectors::drop_table(transaction, space.number)?;
        crate::crash::point("drop-half");
        for table in ["segments", "dead", "spaces"] {
            transaction
                .execute(&format!("DELETE FROM {table} WHERE space = ?1"), [space.number])
                .map_err(sqlite)?;
        }
        let (model, state) = (space.model(), space.state.name());
        log(
            transaction,
            shelf,
            &format!("dropped the {state} space {} of {model}", space.number),
        )?;
    }
    Ok(())
}

fn log(transaction: &Transaction<'_>, shelf: &Shelf, what: &str) -> Result<()> {
    let text = format!("switch of {:?}: {what}", shelf.name.as_str());
    schema::note(transaction, clock::now(), &text)
}

fn conflict(message: String, hint: String) -> Error {
    Error::new(ErrorKind::Conflict, message).hint(hint)
}

fn nothing_built(shelf: &Shelf) -> Error {
    conflict(
        format!("no switch of {:?} is under way", shelf.name.as_str()),
        "nothing was changed; begin one with `loci embedder switch MODEL`".to_owned(),
    )
}

fn another(space: &Space, identity: &EmbedderIdentity) -> Error {
    conflict(
        format!(
            "a switch to {} is under way, so none to {identity} can begin",
            space.model()
        ),
        format!(
            "nothing was changed; go on with `loci embedder switch {}`, or give it up with `loci embedder switch --rollback`",
            space.model()
        ),
    )
}

/// What a reader should know while a space is being built.
pub(crate) fn under_way(shelf: &Shelf) -> Option<Finding> {
    let space = shelf.being_built()?;
    let (severity, how) = match space.state {
        SpaceState::Paused => (Severity::Warning, "is paused"),
        _ => (Severity::Note, "is under way"),
    };
    let (model, drawers) = (space.model(), shelf.drawers);
    let answers = match shelf.space.vectors == drawers {
        true => format!("all {drawers}"),
        false => format!("{} of {drawers}", shelf.space.vectors),
    };
    let message = format!(
        "a switch to {model} {how}: {} of {drawers} drawers have its vectors; until it is finished {} answers for {answers}",
        space.vectors,
        shelf.space.model()
    );
    let finding = Finding::new("switch_under_way", severity, message)
        .hint(format!(
            "go on with `loci embedder switch {model}`, or give it up with `loci embedder switch --rollback`"
        ))
        .collection(shelf.name.as_str());
    Some(finding)
}
