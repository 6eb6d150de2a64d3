//! Changes of model that are wrong in one way.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loci_core::{
    Collection, CollectionExt, Drawer, EmbedderIdentity, EmbeddingSpaces, ErrorKind, Filled, Filling, Get,
    Hit, IdentityState, Pending, Query, Result, Selection, Space, SpaceState, Switch, Unembedded, Write,
};

use super::wrong::Flaw;

#[derive(Debug)]
pub(crate) struct Turning {
    inner: Arc<dyn Collection>,
    flaw: Flaw,
    /// Whether a switch was finished through this handle.
    turned: AtomicBool,
    /// Drawers that were removed while a space was being built.
    ghosts: Mutex<Vec<Drawer>>,
}

impl Turning {
    pub(crate) fn new(inner: Arc<dyn Collection>, flaw: Flaw) -> Self {
        Self {
            inner,
            flaw,
            turned: AtomicBool::new(false),
            ghosts: Mutex::default(),
        }
    }

    /// What a flawed backend does about its other spaces before a write.
    pub(crate) fn before(&self, batch: &[Write]) -> Result<()> {
        for write in batch {
            match (self.flaw, write) {
                (Flaw::LeavesAGhost, Write::Delete(Selection::Ids(ids))) => {
                    let gone = self.inner.get(&Get::ids(ids.iter().cloned()))?;
                    let mut ghosts = self.ghosts.lock().expect("no holder of this lock panics");
                    ghosts.extend(gone);
                }
                (Flaw::ForgetsOtherSpaces, Write::Update(patch)) if patch.embedding.is_some() => {
                    self.begin_anew()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Throws the space being built away and begins it again, empty.
    fn begin_anew(&self) -> Result<()> {
        let built = self.inner.require_spaces()?.list_spaces()?.into_iter().nth(1);
        if let Some(Space {
            identity: IdentityState::Known(model),
            state: SpaceState::Building,
            ..
        }) = built
        {
            for step in [Switch::Rollback, Switch::DropRetired, Switch::Begin(model)] {
                self.inner.require_spaces()?.take_step(&step)?;
            }
        }
        Ok(())
    }

    pub(crate) fn query(&self, request: &Query) -> Result<Vec<Vec<Hit>>> {
        let turned = self.turned.load(Ordering::SeqCst);
        if self.flaw == Flaw::AnswersFromTheOldSpace && turned {
            self.inner.require_spaces()?.take_step(&Switch::Rollback)?;
            let answer = self.inner.query(request);
            self.inner.require_spaces()?.take_step(&Switch::Rollback)?;
            return answer;
        }
        let mut lists = self.inner.query(request)?;
        if turned {
            let ghosts = self.ghosts.lock().expect("no holder of this lock panics");
            for hits in &mut lists {
                let ghost = |drawer: &Drawer| Hit {
                    drawer: drawer.clone(),
                    score: 9.0,
                };
                hits.extend(ghosts.iter().map(ghost));
            }
        }
        Ok(lists)
    }

    /// Gives every drawer that lacks a vector in the space being built some vector.
    fn fill_with_nothing(&self) -> Result<()> {
        let built = self.inner.require_spaces()?.list_spaces()?.into_iter().nth(1);
        let Some(IdentityState::Known(model)) = built.map(|space| space.identity) else {
            return Ok(());
        };
        let pending = self.inner.require_spaces()?.list_pending(&everything(&model))?;
        let some = pending.into_iter().map(|drawer| Filling {
            id: drawer.id,
            version: drawer.version,
            vector: vec![1.0; model.dimension],
        });
        self.inner
            .require_spaces()?
            .fill_vectors(&model, &some.collect::<Vec<_>>())?;
        Ok(())
    }
}

impl EmbeddingSpaces for Turning {
    fn list_spaces(&self) -> Result<Vec<Space>> {
        self.inner.require_spaces()?.list_spaces()
    }

    fn take_step(&self, step: &Switch) -> Result<Vec<Space>> {
        if *step != Switch::Finish {
            return self.inner.require_spaces()?.take_step(step);
        }
        if self.flaw == Flaw::FinishesIncomplete {
            self.fill_with_nothing()?;
        }
        let spaces = self.inner.require_spaces()?.take_step(step)?;
        self.turned.store(true, Ordering::SeqCst);
        Ok(spaces)
    }

    fn list_pending(&self, request: &Pending) -> Result<Vec<Unembedded>> {
        self.inner.require_spaces()?.list_pending(request)
    }

    fn fill_vectors(&self, model: &EmbedderIdentity, vectors: &[Filling]) -> Result<Filled> {
        if self.flaw == Flaw::FillsStaleTexts {
            let pending = self.inner.require_spaces()?.list_pending(&everything(model))?;
            let mut given = vectors.to_vec();
            for filling in &mut given {
                let now = pending.iter().find(|drawer| drawer.id == filling.id);
                filling.version = now.map_or(filling.version, |drawer| drawer.version);
            }
            return self.inner.require_spaces()?.fill_vectors(model, &given);
        }
        match self.inner.require_spaces()?.fill_vectors(model, vectors) {
            Err(error) if self.flaw == Flaw::FillsWhilePaused && error.kind() == ErrorKind::Conflict => {
                self.inner
                    .require_spaces()?
                    .take_step(&Switch::Begin(model.clone()))?;
                let filled = self.inner.require_spaces()?.fill_vectors(model, vectors)?;
                self.inner.require_spaces()?.take_step(&Switch::Pause)?;
                Ok(filled)
            }
            done => done,
        }
    }
}

fn everything(model: &EmbedderIdentity) -> Pending {
    Pending {
        identity: model.clone(),
        after: 0,
        limit: usize::MAX,
    }
}
