//! Finding the newest drawers without reading them all.
//!
//! No request of the contract asks for the newest. What it offers is counted from an index: how many drawers were
//! said since some moment. The window that holds about enough is looked for by counting, and only its drawers are
//! read, without their texts. What has no time of its own, or shares one with too many, is met in the change feed.

use std::collections::HashSet;

use loci_core::{
    ChangeKind, Collection, Comparison, Cursor, Drawer, DrawerId, ErrorKind, Filter, Get, Include, Result,
    Scalar, Timestamp,
};

/// Up to how many drawers are simply all read.
const FEW: u64 = 1_500;

/// A window with this many drawers is wide enough.
const ENOUGH: u64 = 300;

/// How many rows of the index counting may list in all.
const EFFORT: u64 = 100_000;

/// How many changes are looked at, from the newest back; a drawer costs most when it is read by its id.
const CHANGES: u64 = 500;

/// Up to how many drawers a palace may hold for those without some attribute to be looked for among all of them.
const MODEST: u64 = 20_000;

/// How many times further back to look for changes where those found are mostly removals.
const STRETCHES: u64 = 4;

const SECOND: i64 = 1_000_000;
const HOUR: i64 = 3_600 * SECOND;
const DAY: i64 = 24 * HOUR;

/// Beyond this, all times are looked at.
const LONG_AGO: i64 = 36_525 * DAY;

/// A wing that is there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wing {
    pub(super) name: String,
    pub(super) drawers: u64,
}

impl Wing {
    fn filter(&self) -> Filter {
        Filter::text("wing", self.name.as_str())
    }

    /// Whether a drawer is filed in it.
    pub(super) fn holds(&self, drawer: &Drawer) -> bool {
        drawer.place.wing.as_deref() == Some(&self.name)
    }
}

/// Reads one collection as it is at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader<'a> {
    pub(super) collection: &'a dyn Collection,
    pub(super) now: Timestamp,
    /// How many drawers the collection holds.
    pub(super) drawers: u64,
}

impl Reader<'_> {
    /// When a drawer was said, else when it was filed. A time that is yet to come is a clock that was wrong.
    pub(super) fn when(&self, drawer: &Drawer) -> Option<Timestamp> {
        let said = drawer
            .place
            .said_at
            .filter(|said| said.as_micros() < self.tomorrow());
        said.or(drawer.filed_at)
    }

    /// The first moment that is taken for a clock that was wrong.
    fn tomorrow(&self) -> i64 {
        self.now.as_micros().saturating_add(DAY)
    }

    /// How many drawers a filter accepts; none where the backend cannot tell.
    pub(super) fn count(&self, filter: &Filter) -> Result<u64> {
        otherwise(0, self.collection.count(filter))
    }

    /// What was said, filed or changed last in a wing or anywhere, without texts; everything where that is little.
    pub(super) fn recent(&self, wing: Option<&Wing>) -> Result<Vec<Drawer>> {
        // Listing a large wing over and over costs more than passing over the drawers of others.
        let (filter, size) = match wing.filter(|wing| wing.drawers <= EFFORT / 10) {
            Some(wing) => (wing.filter(), wing.drawers),
            None => (Filter::All, self.drawers),
        };
        let mut found = self.newest(&filter, size)?;
        if size > FEW {
            found.extend(self.changed()?);
        }
        if found.is_empty() {
            found = self.bare(filter, Some(FEW as usize))?;
        }
        found.retain(|drawer| wing.is_none_or(|wing| wing.holds(drawer)));
        let mut seen = HashSet::new();
        found.retain(|drawer| seen.insert(drawer.id.clone()));
        Ok(found)
    }

    /// The newest drawers a filter accepts, without their texts, at least: all of them where they are few. `size` is
    /// how many there are.
    pub(super) fn newest(&self, filter: &Filter, size: u64) -> Result<Vec<Drawer>> {
        if size <= FEW {
            return self.bare(filter.clone(), None);
        }
        let found = self.window(filter, size)?;
        match found.is_empty() && !filter.is_all() {
            true => self.bare(filter.clone(), Some(FEW as usize)),
            false => Ok(found),
        }
    }

    /// The drawers of the smallest window of time that holds enough of them, as far as it can be found.
    fn window(&self, filter: &Filter, size: u64) -> Result<Vec<Drawer>> {
        // Every count lists what the filter alone accepts once more.
        let each = if filter.is_all() { 0 } else { size };
        let mut effort = EFFORT;
        let to_come = self.count(&said_since(self.tomorrow()))?;
        let mut count = |reach: i64| -> Result<Option<u64>> {
            if effort < each {
                return Ok(None);
            }
            let counted = self.count(&self.since(filter, reach))?;
            effort = effort.saturating_sub(counted + each + 1);
            Ok(Some(counted.saturating_sub(to_come)))
        };
        let (mut short, mut long) = self.first_window(filter, size)?;
        loop {
            match count(long)? {
                None => break,
                Some(found) if found < ENOUGH && long < LONG_AGO => (short, long) = (long, long * 4),
                Some(found) if found <= FEW => return self.bare(self.since(filter, long), None),
                Some(_) => break,
            }
        }
        // Too few since `short`, too many since `long`.
        while long - short > SECOND {
            let middle = short + (long - short) / 2;
            match count(middle)? {
                None => break,
                Some(found) if found > FEW => long = middle,
                Some(found) if found < ENOUGH => short = middle,
                Some(_) => return self.bare(self.since(filter, middle), None),
            }
        }
        match short {
            0 => Ok(Vec::new()),
            _ => self.bare(self.since(filter, short), None),
        }
    }

    /// Where to begin looking for a window: where there would be enough if what is asked for were spread evenly.
    /// Counting without the filter costs least.
    fn first_window(&self, filter: &Filter, size: u64) -> Result<(i64, i64)> {
        let (mut short, mut long) = (0, HOUR);
        let enough = ENOUGH.saturating_mul(self.drawers) / size.max(1);
        while !filter.is_all() && long < LONG_AGO && self.count(&self.since(&Filter::All, long))? < enough {
            (short, long) = (long, long * 4);
        }
        Ok((short, long))
    }

    /// What `filter` accepts and was said at most `reach` ago.
    fn since(&self, filter: &Filter, reach: i64) -> Filter {
        let from = match reach < LONG_AGO {
            true => self.now.as_micros().saturating_sub(reach),
            false => i64::MIN,
        };
        filter.clone().and(said_since(from))
    }

    /// The drawers a filter accepts, without text and metadata.
    pub(super) fn bare(&self, filter: Filter, limit: Option<usize>) -> Result<Vec<Drawer>> {
        let request = Get {
            filter,
            limit,
            include: Include::NOTHING,
            ..Get::default()
        };
        otherwise(Vec::new(), self.collection.get(&request))
    }

    /// The drawers that were filed or changed last, without text and metadata.
    pub(super) fn changed(&self) -> Result<Vec<Drawer>> {
        let newest = self.collection.info()?.seq.0;
        for stretch in 1..=STRETCHES {
            let from = newest.saturating_sub(CHANGES * stretch);
            let limit = (CHANGES * stretch) as usize;
            let none = loci_core::Changes {
                changes: Vec::new(),
                next: Cursor(newest),
            };
            let feed = otherwise(none, self.collection.changes_since(Cursor(from), limit))?;
            let kept = feed.changes.into_iter().rev();
            let ids: Vec<DrawerId> = kept
                .filter(|change| change.op == ChangeKind::Put)
                .map(|change| change.id)
                .take(CHANGES as usize)
                .collect();
            if ids.len() as u64 * 2 >= CHANGES || from == 0 || stretch == STRETCHES {
                return self.bare_ids(ids);
            }
        }
        Ok(Vec::new())
    }

    /// The drawers that are of none of these kinds, without texts, where looking for them costs little.
    pub(super) fn of_no_kind(&self, kinds: &[&str]) -> Result<Vec<Drawer>> {
        let kinds = kinds.iter().map(|kind| Scalar::Text((*kind).to_owned()));
        let filter = Filter::Compare("kind".into(), Comparison::Nin(kinds.collect()));
        match self.drawers > MODEST || self.count(&filter)? > FEW {
            true => Ok(Vec::new()),
            false => self.bare(filter, None),
        }
    }

    /// One drawer with its text and metadata.
    pub(super) fn whole(&self, id: &DrawerId) -> Result<Option<Drawer>> {
        Ok(self.collection.get(&Get::ids([id.clone()]))?.pop())
    }

    /// Some drawers without text and metadata.
    pub(super) fn bare_ids(&self, ids: Vec<DrawerId>) -> Result<Vec<Drawer>> {
        self.collection.get(&Get {
            include: Include::NOTHING,
            ..Get::ids(ids)
        })
    }

    /// Some drawers with their metadata, without their texts.
    pub(super) fn described(&self, ids: Vec<DrawerId>) -> Result<Vec<Drawer>> {
        self.collection.get(&Get {
            include: Include {
                metadata: true,
                ..Include::NOTHING
            },
            ..Get::ids(ids)
        })
    }
}

fn said_since(micros: i64) -> Filter {
    Filter::Compare("said_at".into(), Comparison::Gte(Scalar::Int(micros)))
}

/// What a backend answers, or `otherwise` where it does not offer what was asked.
fn otherwise<T>(otherwise: T, answer: Result<T>) -> Result<T> {
    match answer {
        Err(error)
            if matches!(
                error.kind(),
                ErrorKind::Unsupported | ErrorKind::UnsupportedFilter
            ) =>
        {
            Ok(otherwise)
        }
        answer => answer,
    }
}
