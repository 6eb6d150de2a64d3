//! Export: every drawer of a collection as one line each, in id order.

use loci_core::{CollectionName, CollectionReader, DrawerId, Error, Include};
use serde::Serialize;

use crate::{Walk, line};

/// What an export wrote and what it could not.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct ExportReport {
    /// How many lines were written.
    pub drawers: u64,
    /// What is damaged: drawers written with what is readable of them, and what was left out.
    pub damaged: Vec<Damaged>,
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
    let include = Include {
        embedding: embeddings,
        ..Include::EVERYTHING
    };
    let mut report = ExportReport::default();
    let mut walk = Walk::new(collection, include);
    for drawer in walk.by_ref() {
        let drawer = drawer?;
        sink(&line::write(name, &drawer, embeddings))?;
        report.drawers += 1;
        let mut damage = drawer.damage;
        if drawer.embedding.is_some_and(|vector| !line::is_finite(&vector)) {
            damage.push("its vector holds values that are not numbers and was left out".to_owned());
        }
        report.damaged.extend(damage.into_iter().map(|message| Damaged {
            collection: name.clone(),
            id: Some(drawer.id.clone()),
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
