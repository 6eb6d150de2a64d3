//! The collections of a damaged palace: their names, models and vectors, as far as anything readable tells them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use loci_core::{
    CollectionInfo, CollectionName, Cursor, EmbedderIdentity, FindingSeverity, IdentityState, IndexCoverage,
    LostDrawers, Metric, PalaceFinding, format_count,
};

use super::image::PageImage;
use super::indexes::IndexSurvey;
use super::pointers::FileStructure;
use super::remains::RemainingDrawers;
use super::rows::SpaceRow;
use super::survey::{CellSpot, FoundDrawer, FoundVector, PageSurvey};

/// The name of a collection that nothing names, if it is the only one.
const USUAL_NAME: &str = "drawers";

/// The beginning of the names of records that stand for no source.
const OWN_PREFIX: &str = "loci:";

/// Gives every collection that exists, or has drawers, a name.
pub(super) fn name_collections(survey: &PageSurvey, indexes: &IndexSurvey) -> BTreeMap<i64, String> {
    let stored = survey
        .collections
        .values()
        .map(|row| (row.collection, row.name.clone()));
    let mut names: BTreeMap<i64, String> = indexes.names.clone();
    names.extend(stored);
    names.retain(|_, name| CollectionName::new(name.as_str()).is_ok());
    let nameless: BTreeSet<i64> = survey
        .drawers
        .iter()
        .map(|drawer| drawer.collection)
        .filter(|number| !names.contains_key(number))
        .collect();
    let alone = names.is_empty() && nameless.len() == 1;
    for number in nameless {
        let taken: HashSet<&String> = names.values().collect();
        let first = if alone {
            USUAL_NAME.to_owned()
        } else {
            format!("rescued-{number}")
        };
        let mut candidates = std::iter::once(first.clone()).chain((2..).map(|n| format!("{first}-{n}")));
        let free = candidates.find(|name| !taken.contains(name)).unwrap_or(first);
        names.insert(number, free);
    }
    names
}

/// Returns the space of each vector whose table the schema names, by page.
pub(super) fn vector_spaces(
    image: &PageImage,
    structure: &FileStructure,
    survey: &PageSurvey,
) -> HashMap<u32, i64> {
    let pages: BTreeSet<u32> = survey.vectors.iter().map(|vector| vector.spot.page).collect();
    let space_of = |page: u32| {
        let name = survey.names.get(&structure.root_of(image, page)?)?;
        name.strip_prefix("vectors_")?.parse().ok()
    };
    pages
        .into_iter()
        .filter_map(|page| Some((page, space_of(page)?)))
        .collect()
}

/// Puts drawers, vectors and records of sources together by collection.
pub(super) fn build_shelves(
    survey: PageSurvey,
    indexes: IndexSurvey,
    roots: &HashMap<u32, i64>,
    names: &BTreeMap<i64, String>,
    lost: &[LostDrawers],
    findings: &mut Vec<PalaceFinding>,
) -> Vec<RemainingDrawers> {
    let mut vectors: HashMap<i64, Vec<FoundVector>> = HashMap::new();
    for vector in &survey.vectors {
        vectors.entry(vector.row).or_default().push(*vector);
    }
    let mut drawers: BTreeMap<i64, Vec<FoundDrawer>> = BTreeMap::new();
    for drawer in survey.drawers {
        drawers.entry(drawer.collection).or_default().push(drawer);
    }
    let mut shelves = Vec::new();
    for (number, name) in names {
        let stored = survey.collections.get(number);
        let spaces: Vec<&SpaceRow> = survey
            .spaces
            .values()
            .filter(|space| space.collection == *number)
            .collect();
        let active = stored.map(|row| row.space).or_else(|| {
            spaces
                .iter()
                .find(|space| space.stateless)
                .map(|space| space.space)
        });
        let choice = ActiveVectors {
            roots,
            active,
            spaces: &spaces,
        };
        let mut own = drawers.remove(number).unwrap_or_default();
        let dimension = choice.assign_vectors(&mut own, &vectors);
        let Ok(name) = CollectionName::new(name.as_str()) else {
            continue;
        };
        if stored.is_none() {
            findings.push(nameless_finding(&name));
        }
        let records = list_records((*number, &name), &indexes, lost, &own, findings);
        let with_vector = own.iter().filter(|drawer| drawer.vector.is_some()).count() as u64;
        findings.extend(choice.find_lost_vectors(&name, with_vector, own.len() as u64));
        shelves.push(RemainingDrawers {
            info: CollectionInfo {
                metric: stored.map_or(Metric::default(), |row| row.metric),
                dimension: choice.find_dimension().or(dimension),
                identity: choice.identity(with_vector),
                drawers: own.len() as u64,
                coverage: IndexCoverage {
                    nearest: with_vector,
                    ..IndexCoverage::default()
                },
                approximate: false,
                seq: newest_change(&own),
                warnings: Vec::new(),
                name,
            },
            drawers: own,
            records,
        });
    }
    shelves
}

fn newest_change(drawers: &[FoundDrawer]) -> Cursor {
    let newest = drawers.iter().map(FoundDrawer::rank).max().unwrap_or(0);
    Cursor(u64::try_from(newest).unwrap_or(0))
}

fn nameless_finding(name: &CollectionName) -> PalaceFinding {
    PalaceFinding::new(
        "collection_damaged",
        FindingSeverity::Warning,
        format!(
            "the description of the collection {name} is damaged: its name, metric or model may be another"
        ),
    )
    .with_hint("name its model with `loci embedder set MODEL`")
    .in_collection(name.as_str())
}

/// The choice of the vectors that belong to a collection's active space.
struct ActiveVectors<'a> {
    roots: &'a HashMap<u32, i64>,
    active: Option<i64>,
    spaces: &'a [&'a SpaceRow],
}

impl ActiveVectors<'_> {
    fn active_row(&self) -> Option<&SpaceRow> {
        let active = self.active?;
        self.spaces.iter().find(|space| space.space == active).copied()
    }

    fn find_dimension(&self) -> Option<usize> {
        self.active_row().and_then(|space| space.dimension)
    }

    /// Gives each drawer its vector; returns the dimension of the vectors.
    fn assign_vectors(
        &self,
        drawers: &mut [FoundDrawer],
        vectors: &HashMap<i64, Vec<FoundVector>>,
    ) -> Option<usize> {
        let mut dimension = self.active_row().and_then(|space| space.dimension);
        for drawer in drawers {
            let Some(found) = vectors.get(&drawer.row) else {
                continue;
            };
            let fits = |vector: &&FoundVector| {
                self.is_active(vector, found) && dimension.is_none_or(|own| own == vector.dimension)
            };
            if let Some(vector) = found.iter().find(fits) {
                drawer.vector = Some(vector.spot);
                dimension = Some(vector.dimension);
            }
        }
        dimension
    }

    /// Returns whether a vector belongs to the active space. If the schema does not name its table, its dimension must
    /// tell it from the vectors of every other space: vectors of two models are never mixed.
    fn is_active(&self, vector: &FoundVector, of_row: &[FoundVector]) -> bool {
        if let (Some(space), Some(active)) = (self.roots.get(&vector.spot.page), self.active) {
            return *space == active;
        }
        let alike = |space: &&&SpaceRow| space.dimension == Some(vector.dimension);
        match self.active_row() {
            Some(active) => {
                active.dimension == Some(vector.dimension) && self.spaces.iter().filter(alike).count() == 1
            }
            None => of_row.len() == 1,
        }
    }

    /// Returns a finding if drawers come back whose vectors do not.
    fn find_lost_vectors(
        &self,
        name: &CollectionName,
        with_vector: u64,
        drawers: u64,
    ) -> Option<PalaceFinding> {
        let counted = u64::try_from(self.active_row()?.vectors).ok()?;
        // Some vectors are lost with their drawers, so no more than the drawers without one can be told.
        let lost = counted.checked_sub(with_vector)?.min(drawers - with_vector);
        let finding = PalaceFinding::new(
            "vectors_lost",
            FindingSeverity::Error,
            format!(
                "{} of {name} came back without a vector",
                format_count(lost, "drawer")
            ),
        )
        .with_hint("words still find them; make their vectors with `loci embedder switch MODEL`")
        .in_collection(name.as_str());
        (lost > 0).then_some(finding)
    }

    fn identity(&self, with_vector: u64) -> IdentityState {
        let known = self.active_row().and_then(|space| {
            Some(EmbedderIdentity {
                model: space.model.clone()?,
                revision: space.revision.clone()?,
                dimension: space.dimension?,
            })
        });
        match known {
            Some(identity) => IdentityState::Known(identity),
            None if with_vector > 0 => IdentityState::Unknown,
            None => IdentityState::Unset,
        }
    }
}

/// Lists the records of the sources whose drawers are all there. Without its record a source is read once more, which
/// brings its lost drawers back; with it, mining would take them for filed. The same goes for changes that are lost: if one
/// of `drawers` is in an older state, no record is kept.
fn list_records(
    (number, name): (i64, &CollectionName),
    indexes: &IndexSurvey,
    lost: &[LostDrawers],
    drawers: &[FoundDrawer],
    findings: &mut Vec<PalaceFinding>,
) -> Vec<(String, CellSpot)> {
    let own = lost.iter().filter(|lost| {
        lost.collection
            .as_deref()
            .is_none_or(|collection| collection == name.as_str())
    });
    let own: Vec<&LostDrawers> = own.collect();
    let changed = drawers.iter().any(|drawer| drawer.older);
    let unknown = changed || own.iter().any(|lost| lost.source.is_none());
    let affected: HashSet<&str> = own.iter().filter_map(|lost| lost.source.as_deref()).collect();
    let all: Vec<(&String, CellSpot)> = indexes
        .records
        .iter()
        .filter(|((collection, _), _)| *collection == number)
        .map(|((_, source), found)| (source, found.spot))
        .collect();
    let kept: Vec<(String, CellSpot)> = all
        .iter()
        // Records of Loci's own, like the list of deletions, say nothing about drawers of a source.
        .filter(|(source, _)| {
            source.starts_with(OWN_PREFIX) || (!unknown && !affected.contains(source.as_str()))
        })
        .map(|(source, spot)| ((*source).clone(), *spot))
        .collect();
    if kept.len() < all.len() {
        let left = all.len() - kept.len();
        findings.push(
            PalaceFinding::new(
                "records_left",
                FindingSeverity::Note,
                format!(
                    "{left} records of sources of {name} were left out, because drawers of theirs may be lost or older"
                ),
            )
            .with_hint("mine the same sources again with `loci mine` to file what is missing")
            .in_collection(name.as_str()),
        );
    }
    kept
}
