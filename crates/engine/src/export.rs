//! Export: every drawer of a collection as one line each, in id order.

use loci_core::{
    Capability, CollectionName, CollectionReader, DrawerCondition, DrawerId, Error, Finding, Include,
};
use serde::Serialize;

use crate::palace::Palace;
use crate::view::DrawerScope;
use crate::{Walk, line};

/// The drawers to write.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ExportRequest {
    /// The drawers meant.
    pub scope: DrawerScope,
    /// With their exact vectors.
    pub embeddings: bool,
    /// Of every collection.
    pub all: bool,
}

/// What an export wrote and what it could not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// How many lines were written.
    pub drawers: u64,
    /// What is damaged: drawers written with what is readable of them, and what was left out.
    pub damaged: Vec<Damaged>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Finding>,
}

impl Palace {
    /// Gives `sink` the lines of all drawers of a scope.
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
            backend.descriptor().require(&Capability::EmbeddingsOut)?;
        }
        let names = if request.all {
            self.collections()?.into_iter().map(|info| info.name).collect()
        } else {
            vec![self.collection_name()?]
        };
        let mut whole = ExportReport::default();
        for name in names {
            let part = self.clone().in_collection(Some(name)).export_one(request, sink)?;
            whole.drawers += part.drawers;
            whole.damaged.extend(part.damaged);
            whole.warnings.extend(part.warnings);
        }
        if whole.drawers > 0 {
            whole.warnings.clear();
        }
        Ok(whole)
    }

    fn export_one<E: From<Error>>(
        &self,
        request: &ExportRequest,
        sink: &mut dyn FnMut(&str) -> Result<(), E>,
    ) -> Result<ExportReport, E> {
        let name = self.collection_name()?;
        // The sink's own error goes around the session, which knows only the palace's.
        self.stream(|session| {
            let condition = request.scope.resolve(session.reader())?;
            let unknown = |report: ExportReport| {
                let mut warnings = Vec::new();
                if report.drawers == 0 {
                    warnings = session.unknown_names(&request.scope)?;
                }
                Ok(ExportReport { warnings, ..report })
            };
            match export_matching(session.reader(), &name, condition, request.embeddings, sink) {
                Ok(report) => unknown(report).map(Ok),
                Err(stopped) => Ok(Err(stopped)),
            }
        })?
    }
}

/// Something an export could not write as it was stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damaged {
    /// Of which collection.
    pub collection: CollectionName,
    /// Which drawer, where its id can be read.
    pub id: Option<DrawerId>,
    /// Whether a line was written for it all the same.
    pub written: bool,
    /// What is wrong.
    pub message: String,
}

/// Gives `sink` the line of every drawer of `collection`, called `name`, without line breaks.
///
/// Damage does not stop it: what is readable is written, and the report says what is not. Any other error, and
/// any error of the sink, does.
pub fn export<E: From<Error>>(
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
    let include = Include {
        embedding: embeddings,
        ..Include::EVERYTHING
    };
    let mut report = ExportReport::default();
    let mut walk = Walk::matching(collection, include, filter, document);
    for drawer in walk.by_ref() {
        let drawer = drawer?;
        let mut damage = drawer.damage.clone();
        if drawer
            .embedding
            .as_ref()
            .is_some_and(|vector| !line::is_finite(vector))
        {
            damage.push("its vector holds values that are not numbers and was left out".to_owned());
        }
        let id = drawer.id.clone();
        sink(&line::write(name, drawer, embeddings))?;
        report.drawers += 1;
        report.damaged.extend(damage.into_iter().map(|message| Damaged {
            collection: name.clone(),
            id: Some(id.clone()),
            written: true,
            message,
        }));
    }
    report.damaged.extend(walk.left_out().iter().map(|left| Damaged {
        collection: name.clone(),
        id: left.id.clone(),
        written: false,
        message: left.message.clone(),
    }));
    Ok(report)
}
