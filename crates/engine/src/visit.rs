//! Visit: hands on every drawer of a scope in id order, for callers that write them in a form of their own.

use loci_core::{
    CollectionName, CollectionReader, DrawerCondition, DrawerFields, DrawerId, Error, ErrorKind,
};

use crate::CollectionWalk;
use crate::export::{ExportDamage, ExportReport, find_missing};
use crate::palace::{Palace, PalaceSession};
use crate::view::{DrawerScope, DrawerView};

/// A step of a visit.
#[derive(Debug, Clone, PartialEq)]
pub enum VisitStep {
    /// The visit begins; this many drawers are in the scope, unless counting them would mean to read them all.
    Begin(Option<u64>),
    /// A drawer.
    Drawer(Box<DrawerView>),
}

impl Palace {
    /// Passes every drawer of a scope to `sink`, as they are at one moment where the backend offers one.
    ///
    /// Damage does not stop the visit: it goes on behind it with separate reads, and the report lists what is damaged
    /// or left out. Any other error, and any error of the sink, ends it.
    pub fn visit_drawers<E: From<Error>>(
        &self,
        scope: &DrawerScope,
        sink: &mut dyn FnMut(VisitStep) -> Result<(), E>,
    ) -> Result<ExportReport, E> {
        scope.check()?;
        let name = self.collection_name()?;
        // The sink's own error type passes the session by as a value, since the session returns only palace errors.
        self.run_stream(|session| match visit_session(session, &name, scope, sink) {
            Ok(report) => Ok(Ok(report)),
            Err(VisitStop::Palace(error)) => Err(error),
            Err(VisitStop::Sink(stopped)) => Ok(Err(stopped)),
        })?
    }
}

/// The reason a visit ended early.
enum VisitStop<E> {
    Palace(Error),
    Sink(E),
}

impl<E> From<Error> for VisitStop<E> {
    fn from(error: Error) -> Self {
        Self::Palace(error)
    }
}

fn visit_session<E>(
    session: &PalaceSession<'_>,
    name: &CollectionName,
    scope: &DrawerScope,
    sink: &mut dyn FnMut(VisitStep) -> Result<(), E>,
) -> Result<ExportReport, VisitStop<E>> {
    let collection = session.reader();
    let before = collection.info()?;
    let moment = session.collection().moment()?;
    // A moment that has met damage has ended, and knows nothing any more.
    let begun = moment
        .as_deref()
        .and_then(|moment| begin_visit(moment, scope).ok());
    let is_at_moment = begun.is_some();
    let (condition, total) = match begun {
        Some(begun) => begun,
        None => begin_visit(collection, scope)?,
    };
    sink(VisitStep::Begin(total)).map_err(VisitStop::Sink)?;
    let mut visit = DrawerVisit {
        name,
        condition: &condition,
        report: ExportReport::default(),
        last: None,
        sink,
    };
    let mut is_whole = false;
    if let Some(moment) = moment.as_deref().filter(|_| is_at_moment) {
        is_whole = visit.walk(moment, WalkDamage::Ends)?;
        if is_whole {
            let missing = find_missing(moment, &condition, &moment.info()?, &visit.report)?;
            visit.report.damaged.extend(missing);
        }
    }
    if !is_whole {
        visit.walk(collection, WalkDamage::IsSkipped)?;
        let missing = find_missing(collection, &condition, &before, &visit.report)?;
        visit.report.damaged.extend(missing);
    }
    let mut report = visit.report;
    if report.drawers == 0 {
        report.warnings = session.unknown_names(scope)?;
    }
    Ok(report)
}

/// Returns the condition of a scope and the number of drawers that it accepts.
fn begin_visit(
    reader: &dyn CollectionReader,
    scope: &DrawerScope,
) -> Result<(DrawerCondition, Option<u64>), Error> {
    let condition = scope.resolve(reader)?;
    if !condition.document.is_unrestricted() {
        return Ok((condition, None));
    }
    let total = match reader.count(&condition) {
        // Damage that keeps the index from being counted is listed with the drawers.
        Err(error) if error.kind() == ErrorKind::Corrupt => None,
        total => Some(total?),
    };
    Ok((condition, total))
}

/// What damage does to a walk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WalkDamage {
    /// It ends, because its moment does.
    Ends,
    /// It goes on behind it.
    IsSkipped,
}

/// A visit and how far it is.
struct DrawerVisit<'a, E> {
    name: &'a CollectionName,
    condition: &'a DrawerCondition,
    report: ExportReport,
    /// The last drawer passed on.
    last: Option<DrawerId>,
    sink: &'a mut dyn FnMut(VisitStep) -> Result<(), E>,
}

impl<E> DrawerVisit<'_, E> {
    /// Passes on the drawers behind the last one, and returns whether it came to the end.
    fn walk(&mut self, reader: &dyn CollectionReader, damage: WalkDamage) -> Result<bool, VisitStop<E>> {
        let DrawerCondition { filter, document } = self.condition.clone();
        let mut walk = CollectionWalk::matching(reader, DrawerFields::default(), filter, document)
            .starting_after(self.last.clone());
        while let Some(drawer) = walk.next() {
            if damage == WalkDamage::Ends && !walk.left_out().is_empty() {
                return Ok(false);
            }
            self.pass_on(DrawerView::from(drawer?))?;
        }
        if damage == WalkDamage::Ends {
            return Ok(walk.left_out().is_empty());
        }
        let left_out = walk.left_out().iter().map(|left| ExportDamage {
            collection: self.name.clone(),
            id: left.id.clone(),
            written: false,
            message: left.message.clone(),
        });
        self.report.damaged.extend(left_out);
        Ok(true)
    }

    fn pass_on(&mut self, drawer: DrawerView) -> Result<(), VisitStop<E>> {
        let id = drawer.id.clone();
        let damaged = drawer.damage.iter().map(|message| ExportDamage {
            collection: self.name.clone(),
            id: Some(id.clone()),
            written: true,
            message: message.clone(),
        });
        self.report.damaged.extend(damaged);
        (self.sink)(VisitStep::Drawer(Box::new(drawer))).map_err(VisitStop::Sink)?;
        self.report.drawers += 1;
        self.last = Some(id);
        Ok(())
    }
}
