//! Model switches with one flaw.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use loci_core::{
    Collection, CollectionExt, DeleteSelection, Drawer, DrawerHit, EmbedderIdentity, EmbeddingSpace,
    EmbeddingSpaces, ErrorKind, GetRequest, IdentityState, PendingRequest, QueryRequest, Result, SpaceState,
    SwitchStep, UnembeddedDrawer, VectorFill, VectorFillReport, Write,
};

use super::wrong::BackendFlaw;

#[derive(Debug)]
pub(crate) struct WrongSwitches {
    inner: Arc<dyn Collection>,
    flaw: BackendFlaw,
    /// Whether a switch was finished through this handle.
    turned: AtomicBool,
    /// Drawers that were removed while a space was being built.
    ghosts: Mutex<Vec<Drawer>>,
}

impl WrongSwitches {
    pub(crate) fn new(inner: Arc<dyn Collection>, flaw: BackendFlaw) -> Self {
        Self {
            inner,
            flaw,
            turned: AtomicBool::new(false),
            ghosts: Mutex::default(),
        }
    }

    /// Spoils the other spaces before a write, as the flaw demands.
    pub(crate) fn spoil_before_write(&self, batch: &[Write]) -> Result<()> {
        for write in batch {
            match (self.flaw, write) {
                (BackendFlaw::LeavesAGhost, Write::Delete(DeleteSelection::Ids(ids))) => {
                    let gone = self.inner.get(&GetRequest::by_ids(ids.iter().cloned()))?;
                    let mut ghosts = self.ghosts.lock().expect("no holder of this lock panics");
                    ghosts.extend(gone);
                }
                (BackendFlaw::ForgetsOtherSpaces, Write::Update(patch)) if patch.embedding.is_some() => {
                    self.begin_anew()?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Discards the space being built and begins it again, empty.
    fn begin_anew(&self) -> Result<()> {
        let built = self.inner.require_spaces()?.list_spaces()?.into_iter().nth(1);
        if let Some(EmbeddingSpace {
            identity: IdentityState::Known(model),
            state: SpaceState::Building,
            ..
        }) = built
        {
            for step in [
                SwitchStep::Rollback,
                SwitchStep::DropRetired,
                SwitchStep::Begin(model),
            ] {
                self.inner.require_spaces()?.take_step(&step)?;
            }
        }
        Ok(())
    }

    pub(crate) fn query(&self, request: &QueryRequest) -> Result<Vec<Vec<DrawerHit>>> {
        let turned = self.turned.load(Ordering::SeqCst);
        if self.flaw == BackendFlaw::AnswersFromTheOldSpace && turned {
            self.inner.require_spaces()?.take_step(&SwitchStep::Rollback)?;
            let answer = self.inner.query(request);
            self.inner.require_spaces()?.take_step(&SwitchStep::Rollback)?;
            return answer;
        }
        let mut lists = self.inner.query(request)?;
        if turned {
            let ghosts = self.ghosts.lock().expect("no holder of this lock panics");
            for hits in &mut lists {
                let ghost = |drawer: &Drawer| DrawerHit {
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
        let pending = self.inner.require_spaces()?.list_pending(&all_pending(&model))?;
        let some = pending.into_iter().map(|drawer| VectorFill {
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

impl EmbeddingSpaces for WrongSwitches {
    fn list_spaces(&self) -> Result<Vec<EmbeddingSpace>> {
        self.inner.require_spaces()?.list_spaces()
    }

    fn take_step(&self, step: &SwitchStep) -> Result<Vec<EmbeddingSpace>> {
        if *step != SwitchStep::Finish {
            return self.inner.require_spaces()?.take_step(step);
        }
        if self.flaw == BackendFlaw::FinishesIncomplete {
            self.fill_with_nothing()?;
        }
        let spaces = self.inner.require_spaces()?.take_step(step)?;
        self.turned.store(true, Ordering::SeqCst);
        Ok(spaces)
    }

    fn list_pending(&self, request: &PendingRequest) -> Result<Vec<UnembeddedDrawer>> {
        self.inner.require_spaces()?.list_pending(request)
    }

    fn fill_vectors(&self, model: &EmbedderIdentity, vectors: &[VectorFill]) -> Result<VectorFillReport> {
        if self.flaw == BackendFlaw::FillsStaleTexts {
            let pending = self.inner.require_spaces()?.list_pending(&all_pending(model))?;
            let mut given = vectors.to_vec();
            for filling in &mut given {
                let now = pending.iter().find(|drawer| drawer.id == filling.id);
                filling.version = now.map_or(filling.version, |drawer| drawer.version);
            }
            return self.inner.require_spaces()?.fill_vectors(model, &given);
        }
        match self.inner.require_spaces()?.fill_vectors(model, vectors) {
            Err(error)
                if self.flaw == BackendFlaw::FillsWhilePaused && error.kind() == ErrorKind::Conflict =>
            {
                self.inner
                    .require_spaces()?
                    .take_step(&SwitchStep::Begin(model.clone()))?;
                let filled = self.inner.require_spaces()?.fill_vectors(model, vectors)?;
                self.inner.require_spaces()?.take_step(&SwitchStep::Pause)?;
                Ok(filled)
            }
            done => done,
        }
    }
}

fn all_pending(model: &EmbedderIdentity) -> PendingRequest {
    PendingRequest {
        identity: model.clone(),
        after: 0,
        limit: usize::MAX,
    }
}
