//! The open collections and moments of a session, by number.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use loci_core::{
    Collection, CollectionInfo, CollectionReader, Drawer, DrawerCondition, DrawerHit, Error, ErrorKind,
    FacetCount, FacetRequest, GetRequest, LexicalRequest, QueryRequest, Result,
};

use super::host_error;
use crate::wire::call::HandleNumber;

/// A read of a collection or a moment.
pub(super) enum ReaderQuestion {
    Get(GetRequest),
    Query(QueryRequest),
    Lexical(LexicalRequest),
    Count(DrawerCondition),
    Facets(FacetRequest),
    Info,
}

/// The answer to a read.
pub(super) enum ReaderAnswer {
    Drawers(Vec<Drawer>),
    Hits(Vec<Vec<DrawerHit>>),
    Count(u64),
    Facets(Vec<FacetCount>),
    Info(CollectionInfo),
}

impl ReaderQuestion {
    fn ask(&self, reader: &(impl CollectionReader + ?Sized)) -> Result<ReaderAnswer> {
        Ok(match self {
            Self::Get(request) => ReaderAnswer::Drawers(reader.get(request)?),
            Self::Query(request) => ReaderAnswer::Hits(reader.query(request)?),
            Self::Lexical(request) => ReaderAnswer::Hits(vec![reader.lexical(request)?]),
            Self::Count(condition) => ReaderAnswer::Count(reader.count(condition)?),
            Self::Facets(request) => ReaderAnswer::Facets(reader.facets(request)?),
            Self::Info => ReaderAnswer::Info(reader.info()?),
        })
    }
}

/// A question to a moment and the way back.
type MomentQuestion = (ReaderQuestion, Sender<Result<ReaderAnswer>>);

#[derive(Clone)]
enum ServedHandle {
    Collection(Arc<dyn Collection>),
    /// A moment borrows from its collection, so both live on a thread that answers questions.
    Moment(Sender<MomentQuestion>),
}

/// The handles that the host has opened.
#[derive(Default)]
pub(super) struct ServedHandles {
    table: Mutex<HandleTable>,
}

#[derive(Default)]
struct HandleTable {
    last: HandleNumber,
    open: HashMap<HandleNumber, ServedHandle>,
}

impl ServedHandles {
    fn insert(&self, handle: ServedHandle) -> HandleNumber {
        let mut table = self.table.lock().expect("no holder of this lock panics");
        table.last += 1;
        let number = table.last;
        table.open.insert(number, handle);
        number
    }

    fn find(&self, number: HandleNumber) -> Result<ServedHandle> {
        let table = self.table.lock().expect("no holder of this lock panics");
        let found = table.open.get(&number).cloned();
        found.ok_or_else(|| host_error(format!("the handle {number} is not open")))
    }

    pub(super) fn add_collection(&self, collection: Arc<dyn Collection>) -> HandleNumber {
        self.insert(ServedHandle::Collection(collection))
    }

    pub(super) fn collection(&self, number: HandleNumber) -> Result<Arc<dyn Collection>> {
        match self.find(number)? {
            ServedHandle::Collection(collection) => Ok(collection),
            ServedHandle::Moment(_) => Err(host_error("a moment only reads")),
        }
    }

    pub(super) fn release(&self, number: HandleNumber) {
        let mut table = self.table.lock().expect("no holder of this lock panics");
        let released = table.open.remove(&number);
        drop(table);
        // Outside the lock: closing a collection may take a while.
        drop(released);
    }

    pub(super) fn ask(&self, number: HandleNumber, question: ReaderQuestion) -> Result<ReaderAnswer> {
        match self.find(number)? {
            ServedHandle::Collection(collection) => question.ask(collection.as_ref()),
            ServedHandle::Moment(thread) => {
                let (sender, receiver) = channel();
                let sent = thread.send((question, sender));
                sent.ok()
                    .and_then(|()| receiver.recv().ok())
                    .unwrap_or_else(|| Err(moment_gone()))
            }
        }
    }

    /// Opens a moment of a collection; `None` if it offers none.
    pub(super) fn open_moment(&self, number: HandleNumber) -> Result<Option<HandleNumber>> {
        let collection = self.collection(number)?;
        let (opened, is_open) = channel();
        let (sender, questions) = channel::<MomentQuestion>();
        thread::spawn(move || {
            let moment = match collection.moment() {
                Ok(Some(moment)) => moment,
                Ok(None) => return drop(opened.send(Ok(false))),
                Err(error) => return drop(opened.send(Err(error))),
            };
            if opened.send(Ok(true)).is_err() {
                return;
            }
            // Ends when the handle is released, which drops the sender.
            for (question, answer) in questions {
                drop(answer.send(question.ask(moment.as_ref())));
            }
        });
        let offered = is_open.recv().unwrap_or_else(|_| Err(moment_gone()))?;
        Ok(offered.then(|| self.insert(ServedHandle::Moment(sender))))
    }
}

fn moment_gone() -> Error {
    Error::new(
        ErrorKind::Internal,
        "the backend panicked while a moment was open",
    )
}
