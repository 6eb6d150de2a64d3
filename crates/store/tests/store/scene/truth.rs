//! Drawers whose every field follows from a number, and a plain model of what a palace was told.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use loci_core::*;
use loci_testkit::SeededRandom;

pub(crate) fn id(n: usize) -> DrawerId {
    DrawerId::new(format!("d{n:05}")).unwrap()
}

pub(crate) fn vector(n: usize, version: usize, dimension: usize) -> Vec<f32> {
    SeededRandom::new((n * 1000 + version) as u64).vector(dimension)
}

/// The text of a drawer; its first word is in no other drawer.
pub(crate) fn text(n: usize, version: usize) -> String {
    let words = "harbour lantern orchard winter copper letter garden sailor quarry bridge";
    let filler: Vec<&str> = words.split(' ').cycle().skip(n % 10).take(8 + n % 37).collect();
    format!("zq{n}x{version} {}", filler.join(" "))
}

/// The word that only this drawer's text holds.
pub(crate) fn rare_word(drawer: &Drawer) -> &str {
    let text = drawer.document.as_deref().unwrap_or_default();
    text.split(' ').next().unwrap_or_default()
}

pub(crate) fn drawer(n: usize, version: usize, dimension: usize) -> NewDrawer {
    let metadata = Metadata::new()
        .with_entry("n", n as i64)
        .with_entry("tenth", (n % 10) as i64)
        .with_entry("half", n as f64 / 2.0)
        .with_entry("odd", n % 2 == 1);
    let context = DrawerContext {
        before: format!("before {}", n % 5),
        after: "after".to_owned(),
    };
    NewDrawer {
        context: n.is_multiple_of(4).then_some(context),
        metadata,
        place: DrawerPlace {
            wing: Some(format!("wing{}", n % 3)),
            room: Some(format!("room{}", n % 7)),
            ..DrawerPlace::default()
        },
        filed_at: Some(Timestamp::from_micros(1_700_000_000_000_000 + n as i64).unwrap()),
        uses: n as u64 % 5,
        embedding: Some(vector(n, version, dimension)),
        ..NewDrawer::new(id(n), text(n, version))
    }
}

/// Opens the collection every test uses; its model is always the same.
pub(crate) fn open(
    backend: &dyn Backend,
    folder: &Path,
    dimension: usize,
    create: bool,
) -> Result<Arc<dyn Collection>> {
    let own = EmbedderIdentity {
        model: "test".into(),
        revision: "1".into(),
        dimension,
    };
    open_as(backend, folder, Some(own), create)
}

/// Opens the same collection for one who declares this model, or none.
pub(crate) fn open_as(
    backend: &dyn Backend,
    folder: &Path,
    embedder: Option<EmbedderIdentity>,
    create: bool,
) -> Result<Arc<dyn Collection>> {
    let options = OpenOptions {
        embedder,
        ..OpenOptions::for_writing()
    };
    let (palace, name) = (PalaceRef::local(folder), CollectionName::new("drawers").unwrap());
    if create {
        backend.create(&palace, &name, CreateMode::OpenExisting, &options)
    } else {
        backend.open(&palace, &name, &options)
    }
}

/// Everything of every drawer, by id.
pub(crate) fn everything() -> GetRequest {
    GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    }
}

/// The expected drawers of a collection after all writes noted here, and its expected records of sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Truth {
    pub(crate) drawers: BTreeMap<DrawerId, Drawer>,
    /// The stamp of each source.
    pub(crate) records: BTreeMap<String, String>,
}

impl Truth {
    /// Reads the present content of a collection.
    pub(crate) fn read(collection: &dyn Collection) -> Result<Self> {
        let drawers = collection.get(&everything())?;
        let drawers = drawers.into_iter().map(|drawer| (drawer.id.clone(), drawer));
        let records = collection
            .require_sources()?
            .find_records(&SourceRecordQuery::Under {
                prefix: String::new(),
                after: None,
                limit: usize::MAX,
            })?;
        let records = records.into_iter().map(|record| (record.source, record.stamp));
        Ok(Self {
            drawers: drawers.collect(),
            records: records.collect(),
        })
    }

    /// Applies a batch as the contract says; drawers are never twins here.
    pub(crate) fn apply(&mut self, batch: &[Write]) {
        let never = Timestamp::from_micros(0).unwrap();
        for write in batch {
            match write {
                Write::Add(new) => {
                    let filed = new.to_filed_drawer(never).unwrap();
                    self.drawers.entry(new.id.clone()).or_insert(filed);
                }
                Write::Upsert(new) => drop(
                    self.drawers
                        .insert(new.id.clone(), new.to_filed_drawer(never).unwrap()),
                ),
                Write::Update(patch) => {
                    if let Some(drawer) = self.drawers.get_mut(&patch.id) {
                        patch.apply_to(drawer);
                    }
                }
                Write::Delete(DeleteSelection::Ids(ids)) => {
                    ids.iter().for_each(|id| drop(self.drawers.remove(id)))
                }
                Write::Delete(DeleteSelection::Matching(condition)) => {
                    self.drawers.retain(|_, drawer| !condition.accepts(drawer));
                }
            }
        }
    }

    /// The first difference to another truth, in words.
    pub(crate) fn difference(&self, found: &Self) -> Option<String> {
        for (id, drawer) in &self.drawers {
            match found.drawers.get(id) {
                None => return Some(format!("{id} is missing")),
                Some(other) if other != drawer => {
                    return Some(format!("{id} is {other:?} instead of {drawer:?}"));
                }
                Some(_) => {}
            }
        }
        let strange = found.drawers.keys().find(|id| !self.drawers.contains_key(*id));
        let records = (self.records != found.records).then(|| {
            format!(
                "the records are {:?} instead of {:?}",
                found.records, self.records
            )
        });
        strange.map(|id| format!("{id} should not be there")).or(records)
    }

    /// Lists what is not found as it should be: each of `drawers` first by its own vector and alone by its rare word.
    pub(crate) fn unfound<'a>(
        collection: &dyn Collection,
        drawers: impl IntoIterator<Item = &'a Drawer>,
    ) -> Vec<String> {
        let drawers: Vec<&Drawer> = drawers.into_iter().collect();
        let mut wrong = Vec::new();
        for some in drawers.chunks(64) {
            match by_vector(collection, some) {
                Ok(lists) => {
                    let firsts = lists.iter().map(|hits| hits.first().map(|hit| &hit.drawer.id));
                    let with_vector = some.iter().filter(|drawer| drawer.embedding.is_some());
                    for (drawer, first) in with_vector
                        .zip(firsts)
                        .filter(|(drawer, first)| *first != Some(&drawer.id))
                    {
                        wrong.push(format!("{} by its vector: {first:?}", drawer.id));
                    }
                }
                Err(error) => wrong.push(format!("a query fails: {error:?}")),
            }
        }
        for drawer in drawers {
            match collection.lexical(&LexicalRequest::for_words(rare_word(drawer), 2)) {
                Ok(hits) if hits.len() == 1 && hits[0].drawer.id == drawer.id => {}
                other => wrong.push(format!("{} by {:?}: {other:?}", drawer.id, rare_word(drawer))),
            }
        }
        wrong
    }
}

fn by_vector(collection: &dyn Collection, drawers: &[&Drawer]) -> Result<Vec<Vec<DrawerHit>>> {
    let vectors: Vec<Vec<f32>> = drawers
        .iter()
        .filter_map(|drawer| drawer.embedding.clone())
        .collect();
    let Some(first) = vectors.first().cloned() else {
        return Ok(Vec::new());
    };
    collection.query(&QueryRequest {
        vectors,
        include: DrawerFields::NOTHING,
        ..QueryRequest::nearest_to(first, 1)
    })
}
