//! Who I am and what matters most: what people filed for it, marked as important, or wrote down themselves.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use loci_core::{Comparison, Drawer, DrawerId, ErrorKind, Filter, Result, Scalar, Timestamp, Value};

use super::read::NewestReader;

/// The room in which people say who they are.
const IDENTITY: &str = "identity";

/// The room, kind and mark of diary entries.
const DIARY: &str = "diary";
const DIARY_ENTRY: &str = "diary_entry";

/// The importance of a drawer that names none.
const ORDINARY: f64 = 3.0;

/// The steps above it, where there are too many important drawers.
const STEPS: [f64; 3] = [ORDINARY, 4.0, 4.9];

/// How many drawers are weighed of each sort.
const WEIGHED: usize = 100;

/// How many drawers of one source, and how many diary entries of one wing, may stand on a page.
const OF_ONE_SOURCE: usize = 2;

/// Drawers that say who I am: those of the scope first, then the newest.
pub(super) fn identity(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let filter = Filter::text("room", IDENTITY);
    let scoped = reader.newest(&filter)?;
    let own: HashSet<DrawerId> = scoped.into_iter().map(|drawer| drawer.id).collect();
    let mut found = reader.unscoped().newest(&filter)?;
    found.sort_by_cached_key(|drawer| {
        let is_other = !own.contains(&drawer.id);
        (is_other, Reverse(reader.time_of(drawer)), drawer.id.clone())
    });
    Ok(found)
}

/// What matters most, most important first; `recent` is what was filed or said last.
pub(super) fn important(reader: &NewestReader<'_>, recent: &[Drawer]) -> Result<Vec<Drawer>> {
    let mut own = reader.newest_of_no_kind(&MINED)?;
    own.extend(recent.iter().filter(|drawer| !is_mined(drawer)).cloned());
    let mut ids = Vec::new();
    for sort in [marked(reader)?, diary(reader)?, own] {
        ids.extend(newest_of(reader, sort).into_iter().map(|drawer| drawer.id));
    }
    let mut described = reader.described(ids)?;
    described.retain(|drawer| importance(drawer) > ORDINARY || is_own(drawer));
    described.sort_by_cached_key(|drawer| Rank::of(reader, drawer));
    few_of_each(&mut described);
    Ok(described)
}

/// Drawers marked as more important than others: all where they are few, else those marked most.
fn marked(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let mut marked = Vec::new();
    for step in STEPS {
        let filter = Filter::Compare("importance".into(), Comparison::Gt(Scalar::Float(step)));
        let found = match reader.newest(&filter) {
            Err(error) if error.kind() == ErrorKind::UnsupportedFilter => break,
            found => found?,
        };
        if found.is_empty() {
            break;
        }
        marked = found;
        if marked.len() <= WEIGHED {
            break;
        }
    }
    Ok(marked)
}

fn diary(reader: &NewestReader<'_>) -> Result<Vec<Drawer>> {
    let filter = Filter::Or(vec![
        Filter::text("room", DIARY),
        Filter::text("kind", DIARY),
        Filter::text("type", DIARY_ENTRY),
    ]);
    reader.newest(&filter)
}

/// The newest of some drawers.
fn newest_of(reader: &NewestReader<'_>, mut drawers: Vec<Drawer>) -> Vec<Drawer> {
    drawers.sort_by_cached_key(|drawer| (Reverse(reader.time_of(drawer)), drawer.id.clone()));
    drawers.dedup_by(|a, b| a.id == b.id);
    drawers.truncate(WEIGHED);
    drawers
}

/// The kinds of drawers that mining makes.
const MINED: [&str; 7] = [
    "human",
    "assistant",
    "tool_call",
    "tool_result",
    "thinking",
    "system",
    "file",
];

/// Whether a drawer looks like one that mining made.
fn is_mined(drawer: &Drawer) -> bool {
    drawer
        .place
        .kind
        .as_deref()
        .is_some_and(|kind| MINED.contains(&kind))
}

/// Whether somebody filed it by hand: mining says which format it read.
fn is_own(drawer: &Drawer) -> bool {
    let metadata = drawer.metadata.as_ref();
    metadata.is_some_and(|metadata| metadata.get("format").is_none())
}

fn importance(drawer: &Drawer) -> f64 {
    match drawer
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("importance"))
    {
        Some(Value::One(Scalar::Int(number))) => *number as f64,
        Some(Value::One(Scalar::Float(number))) => *number,
        _ => ORDINARY,
    }
}

/// What goes first: the more important, the more often used, the newer.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank(Reverse<i64>, Reverse<u64>, Reverse<Option<Timestamp>>, DrawerId);

impl Rank {
    fn of(reader: &NewestReader<'_>, drawer: &Drawer) -> Self {
        // Thousandths, so that they have an order; beyond all bounds is as good as the bound.
        let importance = (importance(drawer) * 1000.0) as i64;
        let when = reader.time_of(drawer);
        Self(
            Reverse(importance),
            Reverse(drawer.uses),
            Reverse(when),
            drawer.id.clone(),
        )
    }
}

/// Leaves out what would let one source, or one diary, fill the page.
fn few_of_each(drawers: &mut Vec<Drawer>) {
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
