//! Export: every drawer as one line of JSON, in id order.

use loci_core::{
    Capability, Collection, CollectionInfo, CollectionName, CollectionReader, Drawer, DrawerCondition,
    DrawerFields, DrawerId, Error, ErrorKind, FindingSeverity, GetRequest, PalaceFinding,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::seal::{naming_fingerprints, read_whole_spans};
use crate::view::DrawerScope;
use crate::{CollectionWalk, deletions, line};

/// The drawers to export.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportRequest {
    /// The whole ids of the drawers to export; if empty, all drawers of the scope.
    pub ids: Vec<DrawerId>,
    /// Only drawers of this scope.
    pub scope: DrawerScope,
    /// Whether to include their exact vectors.
    pub embeddings: bool,
    /// Whether to export every collection.
    pub all: bool,
}

/// The outcome of an export.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExportReport {
    /// The number of lines written.
    pub drawers: u64,
    /// Damage: drawers of which only a part was written, and drawers that were omitted.
    pub damaged: Vec<ExportDamage>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Passes the lines of all drawers of a scope to `sink`.
    pub fn export<E: From<Error>>(
        &self,
        request: &ExportRequest,
        sink: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<ExportReport, E> {
        request.scope.check()?;
        if request.all && self.named_collection().is_some() {
            return Err(Error::invalid("--all and --collection contradict each other").into());
        }
        if request.embeddings {
            let backend = self.address()?.backend;
            // Checked before the first line: an export that fails halfway looks like one that succeeded.
            backend
                .descriptor()
                .require_capability(&Capability::EmbeddingsOut)?;
        }
        let names = if request.all {
            self.collections()?.into_iter().map(|info| info.name).collect()
        } else {
            vec![self.collection_name()?]
        };
        let mut whole = ExportReport::default();
        for name in names {
            let part = self
                .clone()
                .in_collection(Some(name))
                .export_collection(request, sink)?;
            whole.drawers += part.drawers;
            whole.damaged.extend(part.damaged);
            whole.warnings.extend(part.warnings);
        }
        if whole.drawers > 0 && request.ids.is_empty() {
            // A name that one collection lacks is not a mistake if another has it.
            whole.warnings.clear();
        }
        Ok(whole)
    }

    fn export_collection<E: From<Error>>(
        &self,
        request: &ExportRequest,
        sink: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<ExportReport, E> {
        let name = self.collection_name()?;
        // The sink's own error type passes the session by as a value, since the session returns only palace
        // errors.
        self.run_stream(|session| {
            let condition = request.scope.resolve(session.reader())?;
            let unknown = |report: ExportReport| {
                let mut warnings = Vec::new();
                if report.drawers == 0 {
                    warnings = session.unknown_names(&request.scope)?;
                }
                Ok(ExportReport { warnings, ..report })
            };
            let before = session.reader().info()?;
            for header in self.write_headers(session.collection(), &before, request)? {
                if let Err(stopped) = sink(&header.to_line()) {
                    return Ok(Err(stopped));
                }
            }
            let source = ExportSource {
                reader: session.reader(),
                ledger: Some(session.collection()),
            };
            let written = if request.ids.is_empty() {
                export_matching(source, &name, condition.clone(), request.embeddings, sink)
            } else {
                export_chosen(source, &name, request, condition.clone(), sink)
            };
            let mut report = match written {
                Ok(report) => report,
                Err(stopped) => return Ok(Err(stopped)),
            };
            if !request.ids.is_empty() {
                return Ok(Ok(report));
            }
            let missing = find_missing(session.reader(), &condition, &before, &report)?;
            report.damaged.extend(missing);
            unknown(report).map(Ok)
        })?
    }

    /// Returns the header of a collection, and more of them if its list of deletions is long. A part of a collection
    /// is exported without the list.
    fn write_headers(
        &self,
        collection: &dyn Collection,
        info: &CollectionInfo,
        request: &ExportRequest,
    ) -> Result<Vec<line::ExportHeader>, Error> {
        let mut header = line::ExportHeader::new(info);
        header.sealing = naming_fingerprints(collection)?;
        if !header.sealing.is_empty() {
            header.palace = self.palace_id()?.map(|id| id.to_string());
        }
        let mut headers = Vec::new();
        if request.ids.is_empty() && request.scope.asks_nothing() {
            deletions::visit_records(collection, &mut |page| {
                headers.push(line::ExportHeader {
                    palace: self.palace_id()?.map(|id| id.to_string()),
                    deleted: page
                        .into_iter()
                        .map(|record| (record.source, record.stamp))
                        .collect(),
                    ..header.clone()
                });
                Ok(())
            })?;
        }
        if headers.is_empty() {
            headers.push(header);
        }
        Ok(headers)
    }
}

/// Compares the number of drawers written with the number stored, unless that changed meanwhile.
pub(crate) fn find_missing(
    reader: &dyn CollectionReader,
    condition: &DrawerCondition,
    before: &CollectionInfo,
    report: &ExportReport,
) -> Result<Option<ExportDamage>, Error> {
    // Counting by text would read every drawer a second time.
    if !condition.document.is_unrestricted() {
        return Ok(None);
    }
    let stored = match reader.count(condition) {
        // Damage that keeps the index from being counted is listed with the drawers.
        Err(error) if error.kind() == ErrorKind::Corrupt => return Ok(None),
        stored => stored?,
    };
    // Each page of the export is a read of its own, so a write in between is no damage.
    let written = report.drawers;
    if stored == written || reader.info()?.seq != before.seq {
        return Ok(None);
    }
    let message = format!(
        "{written} drawers were written, but {stored} are stored; \
         `loci rescue PATH --to REF` looks for the others, `loci verify` lists what is damaged"
    );
    Ok(Some(ExportDamage {
        collection: before.name.clone(),
        id: None,
        written: false,
        message,
    }))
}

/// A drawer that an export could not write as it was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ExportDamage {
    /// Its collection.
    pub collection: CollectionName,
    /// Its id, if it can be read.
    pub id: Option<DrawerId>,
    /// Whether a line was written for it nevertheless.
    pub written: bool,
    /// A description of the damage.
    pub message: String,
}

/// Passes the line of every drawer of `collection`, called `name`, to `sink`, without line breaks.
///
/// Damage does not stop the export: everything readable is written, and the report lists the rest. Any other
/// error, and any error of the sink, ends it.
pub fn export_drawers<E: From<Error>>(
    collection: &dyn CollectionReader,
    name: &CollectionName,
    embeddings: bool,
    sink: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<ExportReport, E> {
    let source = ExportSource {
        reader: collection,
        ledger: None,
    };
    export_matching(source, name, DrawerCondition::default(), embeddings, sink)
}

/// What an export reads from.
#[derive(Clone, Copy)]
struct ExportSource<'a> {
    reader: &'a dyn CollectionReader,
    /// The collection, if sealed secrets are written with their drawers.
    ledger: Option<&'a dyn Collection>,
}

fn export_matching<E: From<Error>>(
    source: ExportSource<'_>,
    name: &CollectionName,
    DrawerCondition { filter, document }: DrawerCondition,
    embeddings: bool,
    sink: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<ExportReport, E> {
    let include = DrawerFields {
        embedding: embeddings,
        ..DrawerFields::EVERYTHING
    };
    let mut report = ExportReport::default();
    let mut walk = CollectionWalk::matching(source.reader, include, filter, document);
    for drawer in walk.by_ref() {
        export_drawer(source, name, drawer?, embeddings, sink, &mut report)?;
    }
    report
        .damaged
        .extend(walk.left_out().iter().map(|left| ExportDamage {
            collection: name.clone(),
            id: left.id.clone(),
            written: false,
            message: left.message.clone(),
        }));
    Ok(report)
}

/// Passes the lines of chosen drawers to `sink`, in the order in which they were chosen.
fn export_chosen<E: From<Error>>(
    source: ExportSource<'_>,
    name: &CollectionName,
    request: &ExportRequest,
    DrawerCondition { filter, document }: DrawerCondition,
    sink: &mut dyn FnMut(&str) -> Result<(), E>,
) -> Result<ExportReport, E> {
    let include = DrawerFields {
        embedding: request.embeddings,
        ..DrawerFields::EVERYTHING
    };
    let mut report = ExportReport::default();
    for id in &request.ids {
        // One at a time, so that damage of one keeps no other from being written.
        let read = source.reader.get(&GetRequest {
            filter: filter.clone(),
            document: document.clone(),
            include,
            ..GetRequest::by_ids([id.clone()])
        });
        let found = match read {
            Err(error) if error.kind() == ErrorKind::Corrupt => {
                report.damaged.push(ExportDamage {
                    collection: name.clone(),
                    id: Some(id.clone()),
                    written: false,
                    message: format!("the drawer {:?} cannot be read: {error}", id.as_str()),
                });
                continue;
            }
            found => found?,
        };
        if found.is_empty() {
            let message = format!("no drawer has the id {:?} any more", id.as_str());
            let finding = PalaceFinding::new("missing_drawer", FindingSeverity::Warning, message);
            report.warnings.push(finding);
        }
        for drawer in found {
            export_drawer(source, name, drawer, request.embeddings, sink, &mut report)?;
        }
    }
    Ok(report)
}

/// Passes the line of one drawer to `sink`.
fn export_drawer<E: From<Error>>(
    source: ExportSource<'_>,
    name: &CollectionName,
    drawer: Drawer,
    embeddings: bool,
    sink: &mut dyn FnMut(&str) -> Result<(), E>,
    report: &mut ExportReport,
) -> Result<(), E> {
    // JSON has no NaN or infinity; the line is written without such a vector.
    let mut damage = drawer.damage.clone();
    if drawer
        .embedding
        .as_ref()
        .is_some_and(|vector| !line::is_finite(vector))
    {
        damage.push("its vector holds values that are not numbers and was omitted".to_owned());
    }
    let id = drawer.id.clone();
    let seals = match source.ledger {
        Some(collection) => read_whole_spans(collection, &drawer)?,
        None => Vec::new(),
    };
    sink(&line::write_line(name, drawer, seals, embeddings))?;
    report.drawers += 1;
    report
        .damaged
        .extend(damage.into_iter().map(|message| ExportDamage {
            collection: name.clone(),
            id: Some(id.clone()),
            written: true,
            message,
        }));
    Ok(())
}
