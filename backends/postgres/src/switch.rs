//! Changing the model of a collection: one transaction for each step, and a line in the palace's notes for each.

use loci_core::{
    EmbedderIdentity, EmbeddingSpace, Error, ErrorKind, Result, SpaceState, SwitchStep, Timestamp,
};
use tokio_postgres::types::Type;

use crate::codes;
use crate::shelf::{self, ServerShelf, ServerSpace};
use crate::statement::SqlStatement;
use crate::write::WriteTransaction;

/// Returns the spaces of a collection as the contract describes them.
pub(crate) fn describe_spaces(shelf: &ServerShelf) -> Vec<EmbeddingSpace> {
    let describe = |space: &ServerSpace| EmbeddingSpace {
        identity: space.identity(),
        state: space.state,
        vectors: shelf::count(space.vectors),
        drawers: shelf::count(shelf.drawers),
    };
    shelf.spaces().map(describe).collect()
}

/// A step being taken: the statements decided on so far.
struct StepWork<'a> {
    shelf: &'a ServerShelf,
    palace: i64,
    now: Timestamp,
    statements: Vec<SqlStatement>,
}

/// Takes one step, commits, and returns the resulting spaces.
pub(crate) fn take_step(
    transaction: WriteTransaction<'_>,
    palace: i64,
    step: &SwitchStep,
) -> Result<Vec<EmbeddingSpace>> {
    let mut work = StepWork {
        shelf: &transaction.shelf,
        palace,
        now: transaction.now,
        statements: Vec::new(),
    };
    match step {
        SwitchStep::Begin(identity) => work.begin_switch(identity)?,
        SwitchStep::Pause => work.pause_switch()?,
        SwitchStep::Finish => {
            let space = work.ready_space()?;
            check_complete(&transaction, space)?;
            work.finish_switch()?;
        }
        SwitchStep::Rollback => work.roll_back()?,
        SwitchStep::DropRetired => work.drop_retired(),
    }
    let mut statements = work.statements;
    statements.push(ServerShelf::select_by_number(
        palace,
        transaction.shelf.collection,
    ));
    let mut answers = transaction.ask_all(&statements)?;
    let shelf = ServerShelf::read_one(&answers.pop().unwrap_or_default(), &transaction.shelf.name)?;
    transaction.commit(Vec::new())?;
    Ok(describe_spaces(&shelf))
}

impl StepWork<'_> {
    fn begin_switch(&mut self, identity: &EmbedderIdentity) -> Result<()> {
        if identity.dimension == 0 {
            let message = format!("the model {:?} has no dimensions", identity.model);
            return Err(Error::invalid(message).with_hint("nothing was changed"));
        }
        let fits = |space: &&ServerSpace| space.embedder.as_ref() == Some(identity);
        // Beginning is idempotent, so that a run that was killed can simply be started again.
        if fits(&&self.shelf.space) {
            return Ok(());
        }
        match self.shelf.being_built() {
            Some(space) if fits(&space) && space.state == SpaceState::Building => return Ok(()),
            Some(space) if !fits(&space) => return Err(other_switch_error(space, identity)),
            _ => {}
        }
        match self.shelf.others.iter().find(fits) {
            // A space that was set aside was kept right by every write since.
            Some(space) => {
                let number = space.number;
                self.record_state(number, SpaceState::Building, false);
                self.note(&format!("a switch to {identity} continues"));
            }
            None => {
                self.create_space(identity);
                self.note(&format!("a switch to {identity} begins"));
            }
        }
        Ok(())
    }

    fn create_space(&mut self, identity: &EmbedderIdentity) {
        let text = |text: &str| text.as_bytes().to_vec();
        self.statements.push(
            SqlStatement::new(
                "INSERT INTO loci.spaces(collection, dimension, model, revision, state, near)
                 VALUES ($1, $2, $3, $4, 'building', CASE WHEN $5 AND to_regclass('loci.near') IS NOT NULL THEN 0 END)",
            )
            .with_int(self.shelf.collection)
            .with(i32::try_from(identity.dimension).unwrap_or(i32::MAX), Type::INT4)
            .with_bytes(text(&identity.model))
            .with_bytes(text(&identity.revision))
            .with(
                codes::are_coded(self.shelf.metric, Some(identity.dimension)),
                Type::BOOL,
            ),
        );
    }

    fn pause_switch(&mut self) -> Result<()> {
        let space = self.shelf.being_built().ok_or_else(|| self.no_switch_error())?;
        let (number, model) = (space.number, space.model().to_owned());
        if space.state != SpaceState::Paused {
            self.record_state(number, SpaceState::Paused, false);
            self.note(&format!("the switch to {model} pauses"));
        }
        Ok(())
    }

    /// Returns the space being built; fails if there is none or it is paused.
    fn ready_space(&self) -> Result<&ServerSpace> {
        match self.shelf.being_built() {
            None => Err(self.no_switch_error()),
            Some(space) if space.state == SpaceState::Paused => Err(conflict_error(
                format!(
                    "the switch of {:?} to {} is paused",
                    self.shelf.name.as_str(),
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

    fn finish_switch(&mut self) -> Result<()> {
        let space = self.ready_space()?;
        let (number, model) = (space.number, space.model().to_owned());
        self.turn_to(number);
        self.note(&format!(
            "{model} answers, {} is retired",
            self.shelf.space.model()
        ));
        Ok(())
    }

    fn roll_back(&mut self) -> Result<()> {
        // A switch under way is undone first; only without one does the model of before answer again.
        if let Some(space) = self.shelf.being_built() {
            let (number, model) = (space.number, space.model().to_owned());
            self.record_state(number, SpaceState::Abandoned, true);
            self.note(&format!("the switch to {model} is abandoned"));
            return Ok(());
        }
        let mut others = self.shelf.others.iter();
        let Some(space) = others.find(|space| space.state == SpaceState::Retired) else {
            let (name, model) = (self.shelf.name.as_str(), self.shelf.space.model());
            return Err(conflict_error(
                format!("no switch of {name:?} is under way and no model answered before {model}"),
                "nothing was changed; begin a switch with `loci embedder switch MODEL`".to_owned(),
            ));
        };
        let (number, model) = (space.number, space.model().to_owned());
        self.turn_to(number);
        self.note(&format!(
            "turned back: {model} answers, {} is retired",
            self.shelf.space.model()
        ));
        Ok(())
    }

    fn drop_retired(&mut self) {
        let dropped: Vec<i64> = self
            .shelf
            .others
            .iter()
            .filter(|space| !space.is_being_built())
            .map(|space| space.number)
            .collect();
        let codes = self.shelf.has_codes().then_some("near");
        for table in codes.into_iter().chain(["vectors", "spaces"]) {
            self.statements.push(
                SqlStatement::new(format!("DELETE FROM loci.{table} WHERE space = ANY($1)"))
                    .with_ints(dropped.clone()),
            );
        }
        if !dropped.is_empty() {
            self.note("the retired and abandoned spaces are dropped");
        }
    }

    /// Makes a space the active one and sets the active one aside.
    fn turn_to(&mut self, space: i64) {
        self.statements.push(
            SqlStatement::new("UPDATE loci.collections SET space = $2 WHERE collection = $1")
                .with_int(self.shelf.collection)
                .with_int(space),
        );
        self.record_state(self.shelf.space.number, SpaceState::Retired, true);
        self.record_state(space, SpaceState::Active, false);
    }

    /// Records the state of a space; one that is set aside takes the next turn, so that the latest is known.
    fn record_state(&mut self, space: i64, state: SpaceState, set_aside: bool) {
        let statement = if set_aside {
            SqlStatement::new(
                "UPDATE loci.spaces SET state = $2, turn = (SELECT 1 + max(turn) FROM loci.spaces WHERE collection = $3)
                 WHERE space = $1",
            )
        } else {
            SqlStatement::new(
                "UPDATE loci.spaces SET state = $2, turn = 0 WHERE space = $1 AND collection = $3",
            )
        };
        self.statements.push(
            statement
                .with_int(space)
                .with(state.name(), Type::TEXT)
                .with_int(self.shelf.collection),
        );
    }

    fn note(&mut self, what: &str) {
        let text = format!("switch of {:?}: {what}", self.shelf.name.as_str());
        self.statements.push(note_statement(self.palace, self.now, &text));
    }

    fn no_switch_error(&self) -> Error {
        conflict_error(
            format!("no switch of {:?} is under way", self.shelf.name.as_str()),
            "nothing was changed; begin one with `loci embedder switch MODEL`".to_owned(),
        )
    }
}

/// Returns the statement that adds a line to the notes of a palace.
pub(crate) fn note_statement(palace: i64, now: Timestamp, text: &str) -> SqlStatement {
    SqlStatement::new("INSERT INTO loci.notes(palace, at, text) VALUES ($1, $2, $3)")
        .with_int(palace)
        .with_int(now.as_micros())
        // A text of the server cannot hold a NUL, which the name of a model may.
        .with(text.replace('\0', "\u{2400}"), Type::TEXT)
}

/// Fails if a drawer lacks its vector in the space.
fn check_complete(transaction: &WriteTransaction<'_>, space: &ServerSpace) -> Result<()> {
    let question = SqlStatement::new(
        "SELECT count(*) FROM loci.drawers d WHERE d.collection = $1
            AND NOT EXISTS (SELECT 1 FROM loci.vectors v WHERE v.space = $2 AND v.\"row\" = d.\"row\")",
    )
    .with_int(transaction.shelf.collection)
    .with_int(space.number);
    let answers = transaction.ask_all(&[question])?;
    let missing: i64 = answers
        .first()
        .and_then(|rows| rows.first())
        .map_or(0, |row| row.get(0));
    if missing == 0 {
        return Ok(());
    }
    let (name, model, drawers) = (
        transaction.shelf.name.as_str(),
        space.model(),
        transaction.shelf.drawers,
    );
    Err(conflict_error(
        format!("{missing} of {drawers} drawers of {name:?} have no vector by {model} yet"),
        format!("nothing was changed; make them with `loci embedder switch {model}`"),
    ))
}

fn other_switch_error(space: &ServerSpace, identity: &EmbedderIdentity) -> Error {
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

fn conflict_error(message: String, hint: String) -> Error {
    Error::new(ErrorKind::Conflict, message).with_hint(hint)
}
