//! Drawers whose every field follows from two numbers, and a plain model of what a collection was told.

use std::collections::BTreeMap;

use loci_core::{
    Collection, CollectionExt, CollectionReader, DeleteSelection, Drawer, DrawerContext, DrawerFields,
    DrawerId, DrawerPlace, FacetCount, FacetRequest, Filter, GetRequest, LexicalRequest, Metadata, NewDrawer,
    QueryRequest, Result, SourceRecordQuery, Timestamp, Write,
};
use loci_testkit::SeededRandom;

/// The number of values in every vector.
pub(crate) const DIMENSION: usize = 8;

pub(crate) fn drawer_id(n: usize) -> DrawerId {
    DrawerId::new(format!("d{n:04}")).expect("the id is plain")
}

/// The drawer in which a process counts its batches. Its last write tells which batch was applied last.
pub(crate) fn counter_id(process: usize) -> DrawerId {
    DrawerId::new(format!("count-{process}")).expect("the id is plain")
}

pub(crate) fn make_vector(n: usize, version: u64) -> Vec<f32> {
    SeededRandom::new((n as u64) << 32 | version).vector(DIMENSION)
}

/// The text of a drawer; its first word is in no other drawer.
pub(crate) fn make_text(n: usize, version: u64) -> String {
    let words = "harbour lantern orchard winter copper letter garden sailor quarry bridge";
    // Some texts fill pages of their own, and some are cut into pairs of characters by the tokeniser.
    let length = if (n as u64 + version).is_multiple_of(17) {
        4000
    } else {
        6 + n % 23
    };
    let filler: Vec<&str> = words.split(' ').cycle().skip(n % 10).take(length).collect();
    let tail = if n.is_multiple_of(5) {
        " 記憶の宮殿 港の灯り"
    } else {
        ""
    };
    format!("zq{n}x{version} {}{tail}", filler.join(" "))
}

/// The word that only this drawer's text holds.
fn rare_word(drawer: &Drawer) -> &str {
    let text = drawer.document.as_deref().unwrap_or_default();
    text.split(' ').next().unwrap_or_default()
}

pub(crate) fn make_drawer(n: usize, version: u64) -> NewDrawer {
    let metadata = Metadata::new()
        .with_entry("n", n as i64)
        .with_entry("tenth", (n % 10) as i64)
        .with_entry("half", n as f64 / 2.0);
    let context = DrawerContext {
        before: format!("before {}", n % 5),
        after: "after".to_owned(),
    };
    NewDrawer {
        context: n.is_multiple_of(4).then_some(context),
        metadata,
        place: DrawerPlace {
            wing: Some(format!("wing{}", n % 3)),
            room: (!n.is_multiple_of(6)).then(|| format!("room{}", n % 4)),
            ..DrawerPlace::default()
        },
        filed_at: Some(Timestamp::from_micros(1_700_000_000_000_000 + n as i64).expect("a valid time")),
        uses: n as u64 % 5,
        embedding: (!n.is_multiple_of(9)).then(|| make_vector(n, version)),
        ..NewDrawer::new(drawer_id(n), make_text(n, version))
    }
}

/// The write by which a process counts a batch, as the last one in it.
pub(crate) fn count_batch(process: usize, number: u64) -> Write {
    let metadata = Metadata::new().with_entry("number", number as i64);
    Write::Upsert(NewDrawer {
        metadata,
        filed_at: Some(Timestamp::from_micros(0).expect("a valid time")),
        ..NewDrawer::new(counter_id(process), format!("zc{process}x{number} counted"))
    })
}

/// The drawers of a collection, and the stamps of its sources.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct ModelledContent {
    pub(crate) drawers: BTreeMap<DrawerId, Drawer>,
    pub(crate) stamps: BTreeMap<String, String>,
}

/// Reads every drawer of a collection.
pub(crate) fn read_drawers(reader: &dyn CollectionReader) -> Result<BTreeMap<DrawerId, Drawer>> {
    let everything = GetRequest {
        include: DrawerFields::EVERYTHING,
        ..GetRequest::default()
    };
    let drawers = reader.get(&everything)?.into_iter();
    Ok(drawers.map(|drawer| (drawer.id.clone(), drawer)).collect())
}

impl ModelledContent {
    pub(crate) fn read(collection: &dyn Collection) -> Result<Self> {
        let all = SourceRecordQuery::Under {
            prefix: String::new(),
            after: None,
            limit: usize::MAX,
        };
        let stamps = collection.require_sources()?.find_records(&all)?.into_iter();
        Ok(Self {
            drawers: read_drawers(collection)?,
            stamps: stamps.map(|record| (record.source, record.stamp)).collect(),
        })
    }

    /// Applies a batch as the contract says; drawers are never twins here.
    pub(crate) fn apply_batch(&mut self, batch: &[Write]) {
        let never = Timestamp::from_micros(0).expect("1970 is a valid time");
        let filed = |new: &NewDrawer| new.to_filed_drawer(never).expect("made drawers are valid");
        for write in batch {
            match write {
                Write::Add(new) => {
                    self.drawers.entry(new.id.clone()).or_insert_with(|| filed(new));
                }
                Write::Upsert(new) => drop(self.drawers.insert(new.id.clone(), filed(new))),
                Write::Update(patch) => {
                    if let Some(drawer) = self.drawers.get_mut(&patch.id) {
                        patch.apply_to(drawer);
                    }
                }
                Write::Delete(DeleteSelection::Ids(ids)) => {
                    ids.iter().for_each(|id| drop(self.drawers.remove(id)));
                }
                Write::Delete(DeleteSelection::Matching(condition)) => {
                    self.drawers.retain(|_, drawer| !condition.accepts(drawer));
                }
            }
        }
    }

    /// The first difference to what was found, in words.
    pub(crate) fn find_difference(&self, found: &Self) -> Option<String> {
        find_difference(&self.drawers, &found.drawers).or_else(|| {
            (self.stamps != found.stamps)
                .then(|| format!("stamps {:?} instead of {:?}", found.stamps, self.stamps))
        })
    }
}

/// The first difference between the expected drawers and those that were found, in words.
pub(crate) fn find_difference(
    expected: &BTreeMap<DrawerId, Drawer>,
    found: &BTreeMap<DrawerId, Drawer>,
) -> Option<String> {
    for (id, drawer) in expected {
        match found.get(id) {
            None => return Some(format!("{id} is missing")),
            Some(other) if other != drawer => {
                return Some(format!("{id} is {} instead of {}", brief(other), brief(drawer)));
            }
            Some(_) => {}
        }
    }
    let strange = found.keys().find(|id| !expected.contains_key(*id));
    strange.map(|id| format!("{id} should not be there"))
}

fn brief(drawer: &Drawer) -> String {
    format!("{drawer:?}").chars().take(300).collect()
}

/// Asks counts, facets, words and vectors of the same moment as `drawers`; lists every answer that disagrees.
pub(crate) fn find_disagreements(
    reader: &dyn CollectionReader,
    drawers: &BTreeMap<DrawerId, Drawer>,
    sample: &mut SeededRandom,
) -> Result<Vec<String>> {
    let mut wrong = Vec::new();
    let counted = reader.count(&Filter::All.into())?;
    if counted != drawers.len() as u64 {
        wrong.push(format!("{counted} drawers are counted, {} listed", drawers.len()));
    }
    let facets = reader.facets(&FacetRequest::by_room())?;
    if facets != count_rooms(drawers) {
        wrong.push(format!("the rooms are {facets:?}"));
    }
    let filter = Filter::parse_str(r#"{"tenth": {"$in": [3, 7]}}"#)?;
    let accepted = drawers.values().filter(|drawer| filter.accepts(drawer)).count();
    if reader.count(&filter.into())? != accepted as u64 {
        wrong.push("a filter counts other drawers than it accepts".to_owned());
    }
    let all: Vec<&Drawer> = drawers.values().collect();
    for _ in 0..all.len().min(6) {
        let drawer = all[sample.below(all.len())];
        wrong.extend(find_missing_hit(reader, drawer)?);
    }
    Ok(wrong)
}

/// A drawer must be found alone by its rare word, and first by its own vector.
fn find_missing_hit(reader: &dyn CollectionReader, drawer: &Drawer) -> Result<Option<String>> {
    let hits = reader.lexical(&LexicalRequest::for_words(rare_word(drawer), 2))?;
    if hits.len() != 1 || hits[0].drawer.id != drawer.id {
        return Ok(Some(format!(
            "{} by {:?}: {} hits",
            drawer.id,
            rare_word(drawer),
            hits.len()
        )));
    }
    let Some(vector) = drawer.embedding.clone() else {
        return Ok(None);
    };
    let lists = reader.query(&QueryRequest {
        include: DrawerFields::NOTHING,
        ..QueryRequest::nearest_to(vector, 1)
    })?;
    let first = lists
        .first()
        .and_then(|hits| hits.first())
        .map(|hit| &hit.drawer.id);
    Ok((first != Some(&drawer.id)).then(|| format!("{} by its vector: {first:?}", drawer.id)))
}

/// Counts drawers by wing and room.
fn count_rooms(drawers: &BTreeMap<DrawerId, Drawer>) -> Vec<FacetCount> {
    let mut groups: BTreeMap<Vec<Option<String>>, u64> = BTreeMap::new();
    for Drawer { place, .. } in drawers.values() {
        *groups
            .entry(vec![place.wing.clone(), place.room.clone()])
            .or_default() += 1;
    }
    let facet = |(values, drawers)| FacetCount { values, drawers };
    groups.into_iter().map(facet).collect()
}
