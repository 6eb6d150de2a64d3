//! Export: every drawer as one line of JSON, in id order.

use loci_core::{
    Capability, CollectionName, CollectionReader, DrawerCondition, DrawerFields, DrawerId, Error,
    PalaceFinding,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::palace::Palace;
use crate::view::DrawerScope;
use crate::{CollectionWalk, line};

/// The drawers to export.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportRequest {
    /// The drawers to export.
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
        if whole.drawers > 0 {
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
            let header = line::ExportHeader::new(&session.reader().info()?).to_line();
            if let Err(stopped) = sink(&header) {
                return Ok(Err(stopped));
            }
            match export_matching(session.reader(), &name, condition, request.embeddings, sink) {
                Ok(report) => unknown(report).map(Ok),
                Err(stopped) => Ok(Err(stopped)),
            }
        })?
    }
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
    export_matching(collection, name, DrawerCondition::default(), embeddings, sink)
}

fn export_matching<E: From<Error>>(
    collection: &dyn CollectionReader,
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
    let mut walk = CollectionWalk::matching(collection, include, filter, document);
    for drawer in walk.by_ref() {
        let drawer = drawer?;
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
        sink(&line::write_line(name, drawer, embeddings))?;
        report.drawers += 1;
        report
            .damaged
            .extend(damage.into_iter().map(|message| ExportDamage {
                collection: name.clone(),
                id: Some(id.clone()),
                written: true,
                message,
            }));
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
