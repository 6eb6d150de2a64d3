//! Passage: a page of a source around one place in it, read without the rest of the source.

mod places;
mod sources;

use loci_core::{
    CollectionReader, Drawer, DrawerId, DrawerOrder, DrawerPosition, Error, GetRequest, OpenOptions,
    PalaceFinding, Result,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::mine::draft::file::FILE_KIND;
use crate::mine::draft::source_filter;
use crate::palace::{Palace, PalaceSession};
use crate::seal::FoundSeals;
use crate::view::{DrawerScope, DrawerView, find_sources, format_position};
use places::SourcePlaces;
pub use sources::SourceEntry;

/// The most drawers on a page, however many are asked for.
const MOST_DRAWERS: usize = 200;

/// The place in a source around which a page is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PassageAnchor {
    /// Its first drawer.
    Start,
    /// Its last drawer.
    End,
    /// A drawer, about a third down the page; the start if it is not there.
    Drawer(DrawerId),
    /// Behind a position in the order of sources, which may have been removed since.
    After(DrawerPosition),
    /// Before such a position.
    Before(DrawerPosition),
}

/// A page of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PassageRequest {
    /// The names that the source may have, as in a scope.
    pub names: Vec<String>,
    /// The place to read around.
    pub anchor: PassageAnchor,
    /// The most drawers on the page; at least one, and never more than a few hundred.
    pub limit: usize,
    /// The bytes of text after which the page ends; a drawer is never cut, and one is always on the page.
    pub bytes: usize,
    /// The number of sources to skip, if the names mean several and those are listed.
    pub skipped: usize,
}

/// The sort of a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PassageKind {
    /// Pieces of a file, which tile it.
    File,
    /// Messages, or drawers of any other sort.
    Conversation,
}

/// A page of a source, or the list of the sources that the names mean.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PassageReport {
    /// The source; null if there is none, or several.
    pub source: Option<String>,
    /// The sources that the names mean, if there are several: a page of them, in order.
    pub sources: Vec<SourceEntry>,
    /// The number of sources that the names mean.
    pub sources_total: u64,
    /// The sort of the source.
    pub kind: Option<PassageKind>,
    /// The wing of the drawer in question, or of the first one.
    pub wing: Option<String>,
    /// Its room.
    pub room: Option<String>,
    /// The number of drawers of the source.
    pub total: u64,
    /// The drawers, in the order of the source.
    pub drawers: Vec<DrawerView>,
    /// The index of the drawer asked for.
    pub at: Option<usize>,
    /// Whether a drawer was asked for and is not there.
    pub at_missing: bool,
    /// Continues before the first drawer, if there is more.
    pub before: Option<String>,
    /// Continues after the last drawer, if there is more.
    pub after: Option<String>,
    /// Whether the first drawer goes on with a message or file that began before the page.
    pub continues_before: bool,
    /// Whether the last drawer's message or file goes on after the page.
    pub continues_after: bool,
    /// Damage, and names that no drawer has.
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Reads a page of the source that one of these names means.
    ///
    /// The page is found by position and read by itself: its cost does not grow with the source.
    pub fn read_passage(&self, request: &PassageRequest) -> Result<PassageReport> {
        self.read(|session| {
            let mut sources = find_sources(session.reader(), &request.names)?;
            let asked = match &request.anchor {
                PassageAnchor::Drawer(id) => find_in_sources(session.reader(), id, &sources)?,
                _ => None,
            };
            // A drawer decides which of several sources is meant.
            if let Some(source) = asked.as_ref().and_then(|drawer| drawer.place.source.clone()) {
                sources = vec![source];
            }
            match sources.as_slice() {
                [source] => read_source(session, request, source, asked),
                several => sources::list_sources(session, request, several),
            }
        })
    }
}

impl PassageReport {
    fn empty(request: &PassageRequest) -> Self {
        Self {
            source: None,
            sources: Vec::new(),
            sources_total: 0,
            kind: None,
            wing: None,
            room: None,
            total: 0,
            drawers: Vec::new(),
            at: None,
            at_missing: matches!(request.anchor, PassageAnchor::Drawer(_)),
            before: None,
            after: None,
            continues_before: false,
            continues_after: false,
            warnings: Vec::new(),
        }
    }
}

/// Returns whether two drawers that follow each other are pieces of one message, or of one file.
pub fn are_joined(first: &DrawerView, second: &DrawerView) -> bool {
    let touching = match (first.span, second.span) {
        (Some(first), Some(second)) => first.end == second.start,
        _ => false,
    };
    let message = |drawer: &DrawerView| {
        let metadata = drawer.metadata.as_ref()?;
        metadata.get("message_id")?.as_text().map(str::to_owned)
    };
    let is_file = first.kind.as_deref() == Some(FILE_KIND);
    touching
        && (&first.source, &first.kind, &first.speaker) == (&second.source, &second.kind, &second.speaker)
        && (is_file || (message(first).is_some() && message(first) == message(second)))
}

/// Finds a drawer that belongs to one of these sources.
fn find_in_sources(
    reader: &dyn CollectionReader,
    id: &DrawerId,
    sources: &[String],
) -> Result<Option<Drawer>> {
    let found = reader.get(&GetRequest::by_ids([id.clone()]))?.pop();
    Ok(found.filter(|drawer| {
        drawer
            .place
            .source
            .as_ref()
            .is_some_and(|source| sources.contains(source))
    }))
}

fn read_source(
    session: &PalaceSession<'_>,
    request: &PassageRequest,
    source: &str,
    asked: Option<Drawer>,
) -> Result<PassageReport> {
    let total = session.reader().count(&source_filter(source).into())?;
    let places = SourcePlaces::new(session.reader(), source, total)?;
    let page = read_page(&places, request, asked)?;
    let mut drawers = page.drawers;
    let mut warnings = session.collect_findings();
    if drawers.is_empty() {
        let scope = DrawerScope {
            source: request.names.clone(),
            ..DrawerScope::default()
        };
        warnings.extend(session.unknown_names(&scope)?);
    }
    let seals = find_seals(session, &drawers)?;
    let joins = |first: Option<&Drawer>, second: Option<&Drawer>| {
        let (first, second) = (first.cloned(), second.cloned());
        first
            .zip(second)
            .is_some_and(|(first, second)| are_joined(&first.into(), &second.into()))
    };
    let continues_before = joins(page.earlier.as_ref(), drawers.first());
    let continues_after = joins(drawers.last(), page.later.as_ref());
    let cursor = |drawer: &Drawer| format_position(&DrawerOrder::Source.position_of(drawer));
    let (first, last) = (drawers.first().map(cursor), drawers.last().map(cursor));
    let shown = page.at.and_then(|at| drawers.get(at)).or(drawers.first());
    let place = shown.map(|drawer| drawer.place.clone()).unwrap_or_default();
    Ok(PassageReport {
        source: Some(source.to_owned()),
        sources_total: 1,
        kind: Some(match place.kind.as_deref() {
            Some(FILE_KIND) => PassageKind::File,
            _ => PassageKind::Conversation,
        }),
        wing: place.wing,
        room: place.room,
        total,
        at: page.at,
        at_missing: page.at.is_none() && matches!(request.anchor, PassageAnchor::Drawer(_)),
        before: first.filter(|_| page.earlier.is_some()),
        after: last.filter(|_| page.later.is_some()),
        continues_before,
        continues_after,
        drawers: drawers
            .drain(..)
            .map(|drawer| view_with_seals(drawer, &seals))
            .collect(),
        warnings,
        ..PassageReport::empty(request)
    })
}

/// Looks up which labels in the drawers stand for secrets.
fn find_seals(session: &PalaceSession<'_>, drawers: &[Drawer]) -> Result<FoundSeals> {
    if !session.palace().access().is_restricted() {
        return FoundSeals::look_up(session.collection(), drawers.iter());
    }
    if !drawers.iter().any(crate::seal::may_have_label) {
        return Ok(FoundSeals::default());
    }
    // The spans of drawers that this caller sees; records are read only by an unrestricted handle.
    let whole = session.palace().open_whole(&OpenOptions::default())?;
    FoundSeals::look_up(whole.as_ref(), drawers.iter())
}

fn view_with_seals(drawer: Drawer, seals: &FoundSeals) -> DrawerView {
    let text = drawer.document.as_deref().unwrap_or_default();
    let spans = seals.spans_of(&drawer.id).iter();
    let met = spans.filter(|span| span.is_met_by(text, drawer.metadata.as_ref()));
    let seals = met.cloned().collect();
    DrawerView {
        seals,
        ..drawer.into()
    }
}

/// The drawers of a page, and their neighbours outside it.
#[derive(Debug, Default)]
struct PassagePage {
    drawers: Vec<Drawer>,
    at: Option<usize>,
    earlier: Option<Drawer>,
    later: Option<Drawer>,
}

fn read_page(
    places: &SourcePlaces<'_>,
    request: &PassageRequest,
    asked: Option<Drawer>,
) -> Result<PassagePage> {
    let budget = PageBudget::new(request);
    let with_neighbour = budget.with_one_more();
    match (&request.anchor, asked) {
        (PassageAnchor::Drawer(_), Some(asked)) => read_around(places, budget, asked),
        (PassageAnchor::Start | PassageAnchor::Drawer(_), _) => {
            Ok(budget.fill_downwards(places.read_first(with_neighbour)?))
        }
        (PassageAnchor::End, _) => Ok(budget.fill_upwards(places.read_before(None, with_neighbour)?)),
        (PassageAnchor::After(position), _) => {
            check_position(position, places)?;
            let mut page = budget.fill_downwards(places.read_after(position, with_neighbour)?);
            page.earlier = match places.find_at(position)? {
                Some(drawer) => Some(drawer),
                // Removed since; another one may stand before it.
                None => places.read_before(Some(position), PageBudget::ONE)?.pop(),
            };
            Ok(page)
        }
        (PassageAnchor::Before(position), _) => {
            check_position(position, places)?;
            let found = places.read_before(Some(position), with_neighbour)?;
            let mut page = budget.fill_upwards(found);
            page.later = match page.drawers.last() {
                Some(last) => places.read_next(&DrawerOrder::Source.position_of(last))?,
                None => None,
            };
            Ok(page)
        }
    }
}

fn read_around(places: &SourcePlaces<'_>, budget: PageBudget, asked: Drawer) -> Result<PassagePage> {
    let position = DrawerOrder::Source.position_of(&asked);
    let mut before = places.read_before(Some(&position), budget)?;
    let mut after = places.read_after(&position, budget)?;
    let rest = budget.without(&asked);
    // A third of the page comes first; what one side does not need goes to the other.
    let third = PageBudget {
        drawers: rest.drawers / 3,
        bytes: rest.bytes / 3,
    };
    let (above, used) = third.count_fitting(before.iter().rev());
    let (below, used_below) = rest.minus(above, used).count_fitting(after.iter());
    let above = rest
        .minus(below, used_below)
        .count_fitting(before.iter().rev())
        .0
        .max(above);
    let later = (below < after.len()).then(|| after.swap_remove(below));
    after.truncate(below);
    let mut shown = before.split_off(before.len() - above);
    let at = shown.len();
    shown.push(asked);
    shown.append(&mut after);
    Ok(PassagePage {
        drawers: shown,
        at: Some(at),
        earlier: before.pop(),
        later,
    })
}

fn check_position(position: &DrawerPosition, places: &SourcePlaces<'_>) -> Result<()> {
    match position {
        DrawerPosition::Source(Some(source), _, _) if source == places.source() => Ok(()),
        _ => Err(Error::invalid("this place belongs to another source")
            .with_hint("open the source from its start")),
    }
}

/// The room that is left on a page.
#[derive(Debug, Clone, Copy)]
struct PageBudget {
    drawers: usize,
    bytes: usize,
}

impl PageBudget {
    fn new(request: &PassageRequest) -> Self {
        Self {
            drawers: request.limit.clamp(1, MOST_DRAWERS),
            bytes: request.bytes,
        }
    }

    /// The room for one drawer.
    const ONE: Self = Self { drawers: 1, bytes: 0 };

    /// Returns the same room and that for one drawer more, which tells that there is more.
    fn with_one_more(self) -> Self {
        Self {
            drawers: self.drawers + 1,
            ..self
        }
    }

    /// Returns whether the drawers do not fit, or no more may be read. A page has one drawer even if that does not fit, so
    /// it takes two to tell.
    fn is_overfull(self, drawers: &[Drawer]) -> bool {
        let bytes: usize = drawers.iter().map(text_length).sum();
        drawers.len() >= self.drawers || (drawers.len() > 1 && bytes > self.bytes)
    }

    fn minus(self, drawers: usize, bytes: usize) -> Self {
        Self {
            drawers: self.drawers.saturating_sub(drawers),
            bytes: self.bytes.saturating_sub(bytes),
        }
    }

    fn without(self, drawer: &Drawer) -> Self {
        self.minus(1, text_length(drawer))
    }

    /// Returns how many of the drawers fit, from the first, and their bytes.
    fn count_fitting<'d>(self, drawers: impl Iterator<Item = &'d Drawer>) -> (usize, usize) {
        let (mut count, mut bytes) = (0, 0);
        for drawer in drawers {
            let more = bytes + text_length(drawer);
            if count == self.drawers || more > self.bytes {
                break;
            }
            (count, bytes) = (count + 1, more);
        }
        (count, bytes)
    }

    /// Takes drawers from the first on, and at least one.
    fn fill_downwards(self, mut found: Vec<Drawer>) -> PassagePage {
        let count = self.count_fitting(found.iter()).0.max(1);
        let later = (count < found.len()).then(|| found.swap_remove(count));
        found.truncate(count);
        PassagePage {
            drawers: found,
            later,
            ..PassagePage::default()
        }
    }

    /// Takes drawers from the last backwards, and at least one.
    fn fill_upwards(self, mut found: Vec<Drawer>) -> PassagePage {
        let count = self.count_fitting(found.iter().rev()).0.max(1).min(found.len());
        let drawers = found.split_off(found.len() - count);
        PassagePage {
            drawers,
            earlier: found.pop(),
            ..PassagePage::default()
        }
    }
}

fn text_length(drawer: &Drawer) -> usize {
    drawer.document.as_ref().map_or(0, String::len)
}
