//! Identity and importance: drawers of the identity room that the owner filed, drawers marked as important, diary
//! entries and other words that were filed as such.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use loci_core::{
    Drawer, DrawerId, ErrorKind, Filter, FilterComparison, MetadataScalar, MetadataValue, Result, Timestamp,
};

use super::ownership::{DIARY_ENTRY, is_filed_by_owner, is_own_words, unmined_filter};
use super::read::{NewestReader, keep_first};

/// The room that holds identity drawers.
const IDENTITY: &str = "identity";

/// The room and kind of diary entries.
const DIARY: &str = "diary";

/// The importance of a drawer that records none.
const ORDINARY: f64 = 3.0;

/// Thresholds for important drawers, raised while too many pass.
const STEPS: [f64; 3] = [ORDINARY, 4.0, 4.9];

/// The most candidates of each sort.
const WEIGHED: usize = 100;

/// The most drawers of one source, and the most diary entries of one wing, on a page.
const OF_ONE_SOURCE: usize = 2;

/// Finds identity drawers that the owner filed: those of the scope first, then the newest of all others.
pub(super) fn find_identity(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let everywhere = read_identity_room(&reader.unscoped())?;
    let own: HashSet<DrawerId> = if reader.scope.is_unrestricted() {
        HashSet::new()
    } else {
        list_ids(read_identity_room(reader)?).collect()
    };
    // Identity holds everywhere: a session in one project still has to know whose palace it reads. The newest of the
    // whole palace may leave out some of the scope.
    let mut ids: Vec<DrawerId> = list_ids(everywhere).chain(own.iter().cloned()).collect();
    ids.sort();
    ids.dedup();
    let mut found = reader.read_described(ids)?;
    found.retain(is_filed_by_owner);
    found.sort_by_cached_key(|drawer| {
        let is_other = !own.contains(&drawer.id);
        (is_other, Reverse(reader.drawer_time(drawer)), drawer.id.clone())
    });
    Ok(found)
}

/// Reads the drawers of the identity room that the owner may have filed, however many files a folder of that name
/// holds.
fn read_identity_room(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let room = Filter::text_equals("room", IDENTITY);
    if let Some(few) = reader.read_few(&room)? {
        return Ok(few);
    }
    let mut found = reader.read_pages(&room.clone().and(unmined_filter()), is_filed_by_owner)?;
    // Words filed by hand may have any kind.
    found.extend(reader.read_newest(&room)?);
    Ok(keep_first(found))
}

fn list_ids(drawers: Vec<Drawer>) -> impl Iterator<Item = DrawerId> {
    drawers.into_iter().map(|drawer| drawer.id)
}

/// Finds the drawers that matter most, most important first: those marked as important, and words that were filed as
/// such. Pieces of files and conversations matter only if they are marked.
pub(super) fn find_important(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let mut ids = Vec::new();
    for sort in [
        find_marked(reader)?,
        find_diary_entries(reader)?,
        reader.read_own_words()?,
    ] {
        ids.extend(keep_newest(reader, sort).into_iter().map(|drawer| drawer.id));
    }
    // Candidates come without metadata, which is read only for the few hundred that are left.
    let mut described = reader.read_described(ids)?;
    described.retain(|drawer| read_importance(drawer) > ORDINARY || is_own_words(drawer));
    described.sort_by_cached_key(|drawer| ImportanceRank::from_drawer(reader, drawer));
    limit_per_source(&mut described);
    Ok(described)
}

/// Finds drawers marked as important: all of them if they are few, else only the most important.
fn find_marked(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let mut marked = Vec::new();
    for step in STEPS {
        let filter = Filter::Compare(
            "importance".into(),
            FilterComparison::Gt(MetadataScalar::Float(step)),
        );
        let found = match reader.read_newest(&filter) {
            // A backend that cannot compare numbers has no marked drawers to offer; the page goes without.
            Err(error) if error.kind() == ErrorKind::UnsupportedFilter => break,
            found => found?,
        };
        if found.is_empty() {
            break;
        }
        // An empty step keeps the drawers of the step before it, so raising the threshold never empties the list.
        marked = found;
        if marked.len() <= WEIGHED {
            break;
        }
    }
    Ok(marked)
}

fn find_diary_entries(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let filter = Filter::Or(vec![
        Filter::text_equals("room", DIARY),
        Filter::text_equals("kind", DIARY),
        Filter::text_equals("type", DIARY_ENTRY),
    ]);
    reader.read_newest(&filter)
}

/// Keeps the newest of some drawers, each once.
fn keep_newest(reader: &NewestReader<'_>, mut drawers: Vec<Drawer>) -> Vec<Drawer> {
    drawers.sort_by_cached_key(|drawer| (Reverse(reader.drawer_time(drawer)), drawer.id.clone()));
    drawers.dedup_by(|a, b| a.id == b.id);
    drawers.truncate(WEIGHED);
    drawers
}

fn read_importance(drawer: &Drawer) -> f64 {
    match drawer
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("importance"))
    {
        Some(MetadataValue::One(MetadataScalar::Int(number))) => *number as f64,
        Some(MetadataValue::One(MetadataScalar::Float(number))) => *number,
        _ => ORDINARY,
    }
}

/// The order of important drawers: more important first, then more often used, then newer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct ImportanceRank(Reverse<i64>, Reverse<u64>, Reverse<Option<Timestamp>>, DrawerId);

impl ImportanceRank {
    fn from_drawer(reader: &NewestReader<'_>, drawer: &Drawer) -> Self {
        // Thousandths, because floats have no total order; the cast saturates, which is fine for absurd values.
        let importance = (read_importance(drawer) * 1000.0) as i64;
        let when = reader.drawer_time(drawer);
        Self(
            Reverse(importance),
            Reverse(drawer.uses),
            Reverse(when),
            drawer.id.clone(),
        )
    }
}

/// Removes drawers so that no single source or diary fills the page.
fn limit_per_source(drawers: &mut Vec<Drawer>) {
    let mut seen: HashMap<String, usize> = HashMap::new();
    drawers.retain(|drawer| {
        let place = &drawer.place;
        let diary = place.room.as_deref() == Some(DIARY) || place.kind.as_deref() == Some(DIARY);
        let of = match (&place.source, diary) {
            (_, true) => format!("diary {}", place.wing.as_deref().unwrap_or_default()),
            (Some(source), false) => format!("source {source}"),
            (None, false) => return true,
        };
        let count = seen.entry(of).or_default();
        *count += 1;
        *count <= OF_ONE_SOURCE
    });
}
