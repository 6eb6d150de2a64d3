//! The models that made a palace's vectors, as recorded by MemPalace.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use loci_core::EmbedderIdentity;
use serde_json::Value as Json;

/// MemPalace's record, in the palace's folder.
const FILE: &str = "mempalace_embedder.json";
/// The revision of every model, since MemPalace records none.
const REVISION: &str = "mempalace";
/// The largest record that is read.
const LARGEST: u64 = 1 << 20;

/// The recorded models by collection; the empty name applies to all.
#[derive(Debug, Default)]
pub struct RecordedModels(BTreeMap<String, (String, Option<usize>)>);

/// Reads the record of a folder; an absent or unknown one is empty.
pub fn read_recorded_models(folder: &Path) -> RecordedModels {
    let path = folder.join(FILE);
    let small = fs::metadata(&path).is_ok_and(|found| found.is_file() && found.len() <= LARGEST);
    let json = small.then(|| fs::read(&path).ok()).flatten();
    let json = json.and_then(|bytes| serde_json::from_slice::<Json>(&bytes).ok());
    json.as_ref().map(parse).unwrap_or_default()
}

/// Parses a record: one object for the palace, or one for each collection, with or without `collections` around them.
fn parse(json: &Json) -> RecordedModels {
    let mut recorded = BTreeMap::new();
    let each = json.get("collections").unwrap_or(json);
    for (name, entry) in each.as_object().into_iter().flatten() {
        recorded.extend(parse_model(entry).map(|model| (name.clone(), model)));
    }
    recorded.extend(parse_model(json).map(|model| (String::new(), model)));
    RecordedModels(recorded)
}

fn parse_model(entry: &Json) -> Option<(String, Option<usize>)> {
    let name = ["model_name", "model"]
        .iter()
        .find_map(|key| entry.get(key)?.as_str())?;
    // MemPalace writes 0 where it does not know the dimension.
    let dimension = entry
        .get("dimension")
        .and_then(Json::as_u64)
        .filter(|known| *known > 0);
    Some((
        name.to_owned(),
        dimension.and_then(|dimension| usize::try_from(dimension).ok()),
    ))
}

impl RecordedModels {
    /// Adds the model of a collection, as a database records it beside its rows.
    pub fn add_model(&mut self, collection: &str, model: &str, dimension: Option<usize>) {
        self.0
            .insert(collection.to_owned(), (model.to_owned(), dimension));
    }

    /// Returns the model of a collection whose vectors have `dimension` values, unless the record contradicts them.
    pub fn model_of(&self, collection: &str, dimension: Option<usize>) -> Option<EmbedderIdentity> {
        let (model, recorded) = self.0.get(collection).or_else(|| self.0.get(""))?;
        let dimension = dimension.or(*recorded)?;
        recorded
            // A model of another dimension cannot have made these vectors.
            .is_none_or(|recorded| recorded == dimension)
            .then(|| EmbedderIdentity {
                model: model.clone(),
                revision: REVISION.to_owned(),
                dimension,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_record_is_read_in_each_of_its_shapes() {
        let one = json!({"model_name": "minilm", "dimension": 384});
        for record in [
            one.clone(),
            json!({"drawers": one}),
            json!({"collections": {"drawers": one}}),
        ] {
            let identity = parse(&record).model_of("drawers", Some(384)).unwrap();
            assert_eq!(
                (identity.model.as_str(), identity.dimension),
                ("minilm", 384),
                "{record}"
            );
        }
    }

    #[test]
    fn a_record_that_contradicts_the_vectors_counts_for_nothing() {
        let record = parse(&json!({"model_name": "minilm", "dimension": 384}));
        assert_eq!(record.model_of("drawers", Some(768)), None);
        assert_eq!(parse(&json!([1, 2])).model_of("drawers", Some(3)), None);
        assert_eq!(parse(&json!({"drawers": 7})).model_of("drawers", Some(3)), None);
    }
}
