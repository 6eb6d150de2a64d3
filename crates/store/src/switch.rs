//! Changing the model of a collection: one transaction for each step, and a line in the palace's notes for each.

use loci_core::{
    EmbedderIdentity, Error, ErrorKind, FindingSeverity, PalaceFinding, Result, SpaceState, SwitchStep,
};
use rusqlite::{Connection, Transaction, params};

use crate::failure::sqlite_error;
use crate::shelf::{CollectionShelf, next_number};
use crate::space::{StoredSpace, state_text};
use crate::write::last_seq;
use crate::{clock, schema, vectors};

/// The extent to which a space was found complete before the lock was taken.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SpaceSurvey {
    space: i64,
    /// Every drawer up to this row has its vector there, and keeps it: a vector is removed only with its row.
    reached: i64,
}

/// Returns the spaces of a collection as the contract describes them.
pub(crate) fn describe_spaces(shelf: &CollectionShelf) -> Vec<loci_core::EmbeddingSpace> {
    let number = |n: i64| u64::try_from(n).unwrap_or(0);
    let told = |space: &StoredSpace| loci_core::EmbeddingSpace {
        identity: space.identity(),
        state: space.state,
        vectors: number(space.vectors),
        drawers: number(shelf.drawers),
    };
    shelf.spaces().map(told).collect()
}

/// Checks, without a lock, that the space being built has every vector; fails with `Conflict` if not.
pub(crate) fn survey_space(connection: &Connection, shelf: &CollectionShelf) -> Result<SpaceSurvey> {
    let space = ready_space(shelf)?;
    // One read transaction: rows that come later have higher numbers than the sequence number returned here.
    check_complete(connection, shelf, space, 0)?;
    Ok(SpaceSurvey {
        space: space.number,
        reached: last_seq(connection)?,
    })
}

/// Takes one step.
pub(crate) fn take_step(
    transaction: &Transaction<'_>,
    shelf: &CollectionShelf,
    step: &SwitchStep,
    surveyed: SpaceSurvey,
) -> Result<()> {
    match step {
        SwitchStep::Begin(identity) => begin_switch(transaction, shelf, identity),
        SwitchStep::Pause => pause_switch(transaction, shelf),
        SwitchStep::Finish => finish_switch(transaction, shelf, surveyed),
        SwitchStep::Rollback => roll_back(transaction, shelf),
        SwitchStep::DropRetired => drop_retired(transaction, shelf),
    }
}

fn begin_switch(
    transaction: &Transaction<'_>,
    shelf: &CollectionShelf,
    identity: &EmbedderIdentity,
) -> Result<()> {
    if identity.dimension == 0 {
        return Err(
            Error::invalid(format!("the model {:?} has no dimensions", identity.model))
                .with_hint("nothing was changed"),
        );
    }
    let fits = |space: &&StoredSpace| space.embedder.as_ref() == Some(identity);
    // Beginning is idempotent, so that a run that was killed can simply be started again.
    if fits(&&shelf.space) {
        return Ok(());
    }
    match shelf.being_built() {
        Some(space) if fits(&space) && space.state == SpaceState::Building => return Ok(()),
        Some(space) if !fits(&space) => return Err(other_switch_error(space, identity)),
        _ => {}
    }
    let (space, how) = match shelf.others.iter().find(fits) {
        // A space that was set aside was kept right by every write since, so its vectors
        // need not be made again.
        Some(space) => {
            space.record_state(transaction, SpaceState::Building, 0)?;
            (space.number, "continues")
        }
        None => (create_space(transaction, shelf, identity)?, "begins"),
    };
    crate::crash::point("switch-begun");
    log_step(
        transaction,
        shelf,
        &format!("a switch to {identity} {how} in space {space}"),
    )
}

fn create_space(
    transaction: &Transaction<'_>,
    shelf: &CollectionShelf,
    identity: &EmbedderIdentity,
) -> Result<i64> {
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
        .map_err(sqlite_error)?;
    vectors::create_table(transaction, number)?;
    Ok(number)
}

fn pause_switch(transaction: &Transaction<'_>, shelf: &CollectionShelf) -> Result<()> {
    let space = shelf.being_built().ok_or_else(|| no_switch_error(shelf))?;
    if space.state == SpaceState::Paused {
        return Ok(());
    }
    space.record_state(transaction, SpaceState::Paused, 0)?;
    log_step(
        transaction,
        shelf,
        &format!("the switch to {} pauses", space.model()),
    )
}

/// Turns over to the space being built, once every drawer has its vector there.
fn finish_switch(
    transaction: &Transaction<'_>,
    shelf: &CollectionShelf,
    surveyed: SpaceSurvey,
) -> Result<()> {
    let space = ready_space(shelf)?;
    // Another process may have rolled back and begun again since the survey; then every drawer is checked here.
    let reached = if surveyed.space == space.number {
        surveyed.reached
    } else {
        0
    };
    check_complete(transaction, shelf, space, reached)?;
    crate::crash::point("finish-checked");
    turn_to(transaction, shelf, space)?;
    crate::crash::point("finish-turned");
    let (new, old) = (space.model(), shelf.space.model());
    log_step(
        transaction,
        shelf,
        &format!("{new} answers in space {}, {old} is retired", space.number),
    )
}

/// Returns the space being built; fails if there is none or it is paused.
fn ready_space(shelf: &CollectionShelf) -> Result<&StoredSpace> {
    match shelf.being_built() {
        None => Err(no_switch_error(shelf)),
        Some(space) if space.state == SpaceState::Paused => Err(conflict_error(
            format!(
                "the switch of {:?} to {} is paused",
                shelf.name.as_str(),
                space.model()
            ),
            format!(
                "nothing was changed; continue with `loci embedder switch {}`",
                space.model()
            ),
        )),
        Some(space) => Ok(space),
    }
}

/// Fails if a drawer lacks its vector in the space; rows up to `reached` are known to have theirs.
fn check_complete(
    connection: &Connection,
    shelf: &CollectionShelf,
    space: &StoredSpace,
    reached: i64,
) -> Result<()> {
    let (model, name) = (space.model(), shelf.name.as_str());
    let missing = shelf.drawers - space.vectors;
    if missing > 0 {
        return Err(conflict_error(
            format!(
                "{missing} of {} drawers of {name:?} have no vector by {model} yet",
                shelf.drawers
            ),
            format!("nothing was changed; make them with `loci embedder switch {model}`"),
        ));
    }
    // Counters alone would trust a file that has lost a vector, so the rows are looked at as well.
    if missing < 0 || !vectors::rows_lacking_vector(connection, space, reached, i64::MAX, 1)?.is_empty() {
        return Err(conflict_error(
            format!(
                "the vectors of {name:?} by {model} do not match its drawers, although {} were counted",
                space.vectors
            ),
            "nothing was changed; repair the space with `loci maintain reindex`, then continue".to_owned(),
        ));
    }
    Ok(())
}

/// Makes `space` the active one and sets the active one aside.
fn turn_to(transaction: &Transaction<'_>, shelf: &CollectionShelf, space: &StoredSpace) -> Result<()> {
    transaction
        .execute(
            "UPDATE collections SET space = ?2 WHERE collection = ?1",
            params![shelf.collection, space.number],
        )
        .map_err(sqlite_error)?;
    // Stored as null: only the collection's row names the active space, so the two cannot disagree.
    space.record_state(transaction, SpaceState::Active, 0)?;
    set_aside(transaction, &shelf.space, SpaceState::Retired)
}

fn set_aside(transaction: &Transaction<'_>, space: &StoredSpace, state: SpaceState) -> Result<()> {
    // A rollback returns to the retired space with the highest turn, which answered last.
    let turn = next_number(transaction, "turn")?;
    space.record_state(transaction, state, turn)
}

fn roll_back(transaction: &Transaction<'_>, shelf: &CollectionShelf) -> Result<()> {
    let (old, new) = (shelf.space.model(), |space: &StoredSpace| {
        space.model().to_owned()
    });
    // A switch under way is undone first; only without one does the model of before answer again.
    if let Some(space) = shelf.being_built() {
        set_aside(transaction, space, SpaceState::Abandoned)?;
        crate::crash::point("rolled-back");
        return log_step(
            transaction,
            shelf,
            &format!("the switch to {} is abandoned, {old} answers", new(space)),
        );
    }
    let retired = shelf
        .others
        .iter()
        .find(|space| space.state == SpaceState::Retired);
    let Some(space) = retired else {
        return Err(conflict_error(
            format!(
                "no switch of {:?} is under way and no model answered before {old}",
                shelf.name.as_str()
            ),
            "nothing was changed; begin a switch with `loci embedder switch MODEL`".to_owned(),
        ));
    };
    turn_to(transaction, shelf, space)?;
    crate::crash::point("rolled-back");
    log_step(
        transaction,
        shelf,
        &format!(
            "turned back: {} answers in space {}, {old} is retired",
            new(space),
            space.number
        ),
    )
}

fn drop_retired(transaction: &Transaction<'_>, shelf: &CollectionShelf) -> Result<()> {
    for space in shelf.others.iter().filter(|space| !space.is_being_built()) {
        vectors::drop_table(transaction, space.number)?;
        crate::crash::point("drop-half");
        for table in ["segments", "dead", "spaces"] {
            transaction
                .execute(&format!("DELETE FROM {table} WHERE space = ?1"), [space.number])
                .map_err(sqlite_error)?;
        }
        let (model, state) = (space.model(), space.state.name());
        log_step(
            transaction,
            shelf,
            &format!("dropped the {state} space {} of {model}", space.number),
        )?;
    }
    Ok(())
}

fn log_step(transaction: &Transaction<'_>, shelf: &CollectionShelf, what: &str) -> Result<()> {
    let text = format!("switch of {:?}: {what}", shelf.name.as_str());
    schema::add_note(transaction, clock::now(), &text)
}

fn conflict_error(message: String, hint: String) -> Error {
    Error::new(ErrorKind::Conflict, message).with_hint(hint)
}

fn no_switch_error(shelf: &CollectionShelf) -> Error {
    conflict_error(
        format!("no switch of {:?} is under way", shelf.name.as_str()),
        "nothing was changed; begin one with `loci embedder switch MODEL`".to_owned(),
    )
}

fn other_switch_error(space: &StoredSpace, identity: &EmbedderIdentity) -> Error {
    conflict_error(
        format!(
            "a switch to {} is under way, so none to {identity} can begin",
            space.model()
        ),
        format!(
            "nothing was changed; continue with `loci embedder switch {}`, or abandon it with `loci embedder switch --rollback`",
            space.model()
        ),
    )
}

/// Returns the finding that readers get while a space is being built.
pub(crate) fn under_way_finding(shelf: &CollectionShelf) -> Option<PalaceFinding> {
    let space = shelf.being_built()?;
    let (severity, how) = match space.state {
        SpaceState::Paused => (FindingSeverity::Warning, "is paused"),
        _ => (FindingSeverity::Note, "is under way"),
    };
    let (model, drawers) = (space.model(), shelf.drawers);
    let answers = if shelf.space.vectors == drawers {
        format!("all {drawers}")
    } else {
        format!("{} of {drawers}", shelf.space.vectors)
    };
    let message = format!(
        "a switch to {model} {how}: {} of {drawers} drawers have its vectors; until it finishes, {} answers for {answers}",
        space.vectors,
        shelf.space.model()
    );
    let finding = PalaceFinding::new("switch_under_way", severity, message)
        .with_hint(format!(
            "continue with `loci embedder switch {model}`, or abandon it with `loci embedder switch --rollback`"
        ))
        .in_collection(shelf.name.as_str());
    Some(finding)
}
