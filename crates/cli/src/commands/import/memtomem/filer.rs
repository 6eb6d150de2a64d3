//! Files chunks, batch by batch, and settles those that the palace has from elsewhere.

use std::collections::HashMap;
use std::sync::Arc;

use loci_core::{
    Collection, DrawerId, Error, ErrorKind, FilingDoor, Get, Include, NewDrawer, OriginKind, Provenance,
    Result, Twin,
};
use loci_engine::mine::project::folded;
use loci_engine::mine::spelled;
use loci_engine::{Committed, ImportRequest, Importer, OnBadLine, OnConflict};
use loci_memtomem::{Chunk, Database, Survey};

use super::super::{BATCH, Conflict};
use super::report::Tally;
use crate::progress::Progress;
use crate::session::{Palace, Session};

/// Files the chunks of one database.
pub(super) struct Filer<'a> {
    database: &'a Database,
    survey: &'a Survey,
    importer: Importer<'a>,
    palace: &'a Palace,
    request: ImportRequest,
    wings: Wings,
    progress: Progress,
    fails_if_there: bool,
    /// Where each chunk stands in the survey.
    numbers: HashMap<&'a str, usize>,
    twins: Vec<Twin>,
}

impl<'a> Filer<'a> {
    pub(super) fn new(
        database: &'a Database,
        survey: &'a Survey,
        palace: &'a Palace,
        session: &'a Session,
        on_conflict: Conflict,
    ) -> Result<Self> {
        let request = ImportRequest {
            // What fails because it is there is told from receipts, which say what it was.
            on_conflict: match on_conflict {
                Conflict::Keep | Conflict::Fail => OnConflict::Keep,
                Conflict::Replace => OnConflict::Replace,
            },
            on_bad_line: OnBadLine::List,
            batch: BATCH,
            into: None,
            otherwise: session.collection(palace)?,
            provenance: Provenance::new(FilingDoor::Import, OriginKind::ForeignMemory),
        };
        let chunks = survey.chunks.iter().enumerate();
        Ok(Self {
            importer: Importer::new(
                palace.backend(),
                &palace.reference,
                &session.embedders,
                request.clone(),
            ),
            wings: Wings::of(palace, &request)?,
            numbers: chunks
                .map(|(number, chunk)| (chunk.id.as_str(), number))
                .collect(),
            progress: session.out.progress("chunks read"),
            fails_if_there: on_conflict == Conflict::Fail,
            twins: Vec::new(),
            database,
            survey,
            palace,
            request,
        })
    }

    /// Files them all.
    pub(super) fn run(mut self, tally: &mut Tally) -> Result<()> {
        let total = self.survey.chunks.len() as u64;
        for (number, chunk) in self.survey.chunks.iter().enumerate() {
            match self.database.drawer(chunk) {
                Ok(drawer) => self.push(number, drawer, tally)?,
                Err(error) => tally.fail(Some(chunk), error.to_string()),
            }
            self.progress.tick(number as u64 + 1, Some(total));
        }
        self.finish(tally)?;
        self.settle_twins(tally)?;
        let report = self.importer.report();
        for failed in &report.failed {
            let chunk = usize::try_from(failed.line)
                .ok()
                .and_then(|at| self.survey.chunks.get(at));
            tally.fail(chunk, failed.error.clone());
        }
        tally.lacking.clone_from(&report.lacking);
        tally.without_vector = report.without_vector;
        Ok(())
    }

    fn push(&mut self, number: usize, mut drawer: NewDrawer, tally: &mut Tally) -> Result<()> {
        if let Some(wing) = drawer.place.wing.take() {
            drawer.place.wing = Some(self.wings.spelled(wing)?);
        }
        let pushed = self.importer.push_drawer(number as u64, drawer);
        let committed = pushed.map_err(|error| with_durable(error, tally))?;
        self.note(committed, tally);
        Ok(())
    }

    fn finish(&mut self, tally: &mut Tally) -> Result<()> {
        while let Some(committed) = self
            .importer
            .finish()
            .map_err(|error| with_durable(error, tally))?
        {
            self.note(Some(committed), tally);
        }
        Ok(())
    }

    /// Counts what a batch did, and puts aside what the palace has under another id.
    fn note(&mut self, committed: Option<Committed>, tally: &mut Tally) {
        let Some(Committed { receipt, .. }) = committed else {
            return;
        };
        for id in &receipt.added {
            tally.add(self.chunk(id));
        }
        for id in &receipt.replaced {
            tally.replace(self.chunk(id));
        }
        for id in &receipt.kept {
            match self.fails_if_there {
                true => tally.fail(
                    self.chunk(id),
                    format!("the id {:?} is there already", id.as_str()),
                ),
                false => tally.keep(),
            }
        }
        self.twins.extend(receipt.twins);
    }

    fn chunk(&self, id: &DrawerId) -> Option<&'a Chunk> {
        let number = self.numbers.get(id.as_str())?;
        self.survey.chunks.get(*number)
    }

    /// The palace has the same piece of the same file under another id. In the same wing that is the same thing; in
    /// another it is filed there as well, without its span, by which the palace would take it for the same.
    fn settle_twins(&mut self, tally: &mut Tally) -> Result<()> {
        let twins = std::mem::take(&mut self.twins);
        if twins.is_empty() {
            return Ok(());
        }
        let collection = self.palace.open(&self.request.otherwise)?;
        for twin in twins {
            let Some(number) = self.numbers.get(twin.given.as_str()).copied() else {
                continue;
            };
            let Some(chunk) = self.survey.chunks.get(number) else {
                continue;
            };
            let mut drawer = self.database.drawer(chunk)?;
            let wing = drawer.place.wing.clone().map(|wing| self.wings.spelled(wing));
            if wing.transpose()? == wing_of(collection.as_ref(), &twin.existing)? {
                tally.skip(chunk, &twin, self.fails_if_there);
                continue;
            }
            drawer.place.span = None;
            drawer.metadata.remove("span_unit");
            self.push(number, drawer, tally)?;
        }
        self.finish(tally)
    }
}

fn wing_of(collection: &dyn Collection, id: &DrawerId) -> Result<Option<String>> {
    let found = collection.get(&Get {
        include: Include::NOTHING,
        ..Get::ids([id.clone()])
    })?;
    Ok(found.into_iter().next().and_then(|drawer| drawer.place.wing))
}

/// How wings are spelled: as the palace spells them, and each in one way.
struct Wings {
    collection: Option<Arc<dyn Collection>>,
    known: HashMap<String, String>,
}

impl Wings {
    fn of(palace: &Palace, request: &ImportRequest) -> Result<Self> {
        let collection = match palace.open(&request.otherwise) {
            Ok(collection) => Some(collection),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(error),
        };
        Ok(Self {
            collection,
            known: HashMap::new(),
        })
    }

    fn spelled(&mut self, wing: String) -> Result<String> {
        let key = folded(&wing);
        if let Some(known) = self.known.get(&key) {
            return Ok(known.clone());
        }
        let spelling = match &self.collection {
            Some(collection) => spelled(collection.as_ref(), &wing)?,
            None => wing,
        };
        self.known.insert(key, spelling.clone());
        Ok(spelling)
    }
}

/// The error that stopped it, with how much is durable.
fn with_durable(error: Error, tally: &Tally) -> Error {
    let durable = tally.durable();
    let next = error
        .hint_text()
        .unwrap_or("run it again, what is there is kept")
        .to_owned();
    error
        .with("durable_chunks", durable)
        .hint(format!("{durable} chunks before it are durable; {next}"))
}
