//! Waking up: what to read at the start of a session, within a budget of tokens.
//!
//! Who I am, what matters most, what is newest; each line says where it is from and how to see the whole.

mod latest;
mod matters;
mod page;
mod quote;
mod read;
mod snippet;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use loci_core::{CollectionReader, Drawer, DrawerId, Error, Finding, Result, Timestamp};
use serde::Serialize;

use crate::palace::Palace;
use crate::tokens::estimate;
use crate::view::{DrawerScope, ScopeNote};
use latest::{Beginnings, Recent, is_file};
use loci_mine::project::folded;
use page::{Line, Page, Part};
use quote::{SHORTEST_TEXT, origin};
use read::NewestReader;
use snippet::snippet;

/// What to wake up to.
#[derive(Debug, Clone, PartialEq)]
pub struct WakeUpRequest {
    /// The drawers meant, beside those that say who I am.
    pub scope: DrawerScope,
    /// The most tokens the text may have, by [`crate::tokens::estimate`].
    pub tokens: usize,
    /// What time it is.
    pub now: Timestamp,
}

/// What to read at the start of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct WakeUpReport {
    /// The text. Stored words in it stand on one line each, without control characters, and are otherwise verbatim.
    pub text: String,
    /// How many tokens it has, by [`crate::tokens::estimate`]; never more than were asked for.
    pub tokens: usize,
    /// The drawers it quotes, in its order; none if there is nothing to read.
    pub drawers: Vec<DrawerId>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Finding>,
}

impl Palace {
    /// Reports what to read at the start of a session.
    pub fn wake_up(&self, request: &WakeUpRequest) -> Result<WakeUpReport> {
        request.scope.check()?;
        self.read(|session| wake_up(session.reader(), request))
    }
}

/// The fewest tokens that may be asked for: the heading and one line.
pub const FEWEST_TOKENS: usize = 120;

/// How much of its budget is for who I am, and how much of the rest for what matters most: one in so many.
const IDENTITY_SHARE: usize = 3;
const IMPORTANT_SHARE: usize = 2;

/// How many lines of who I am there may be, and how many of everything else.
const IDENTITY_LINES: usize = 8;
const LINES: usize = 64;

/// How many characters of a drawer are quoted for a budget: one for so many tokens, and its bounds.
const TOKENS_PER_CHARACTER: usize = 6;
const CHARACTERS: (usize, usize) = (80, 600);

/// How much of a title, or of the first words of a conversation, is quoted, in characters.
const TITLE: usize = 60;

/// Says what to read at the start of a session.
pub fn wake_up(collection: &dyn CollectionReader, request: &WakeUpRequest) -> Result<WakeUpReport> {
    if request.tokens < FEWEST_TOKENS {
        return Err(Error::invalid(format!(
            "{} tokens are too few to say anything in",
            request.tokens
        ))
        .hint(format!("ask for {FEWEST_TOKENS} or more; 800 is a good start")));
    }
    if collection.info()?.drawers == 0 {
        return Ok(nothing(
            "This palace is empty. Fill it with `loci mine PATH` or `loci add TEXT`.",
        ));
    }
    let scope = request.scope.resolve(collection)?;
    if !scope.asks_nothing() && collection.count(&scope)? == 0 {
        return report_empty_scope(collection, &request.scope);
    }
    let reader = NewestReader {
        collection,
        now: request.now,
        scope,
    };
    let mut writer = Writer::new(reader, request.tokens);
    writer.write()?;
    Ok(writer.report())
}

fn nothing(text: &str) -> WakeUpReport {
    WakeUpReport {
        text: text.to_owned(),
        tokens: estimate(text),
        drawers: Vec::new(),
        warnings: Vec::new(),
    }
}

/// The report where no drawer is in scope: a name in it that does not exist is the likeliest reason.
fn report_empty_scope(collection: &dyn CollectionReader, scope: &DrawerScope) -> Result<WakeUpReport> {
    let unknown = scope.unknown_names(collection)?;
    Ok(WakeUpReport {
        warnings: unknown.iter().map(ScopeNote::finding).collect(),
        ..nothing("Nothing is filed there. `loci status` lists wings and rooms.")
    })
}

/// Writes the page.
#[derive(Debug)]
struct Writer<'a> {
    reader: NewestReader<'a>,
    page: Page,
    /// How many characters of a drawer are quoted.
    characters: usize,
    /// What was quoted, so that no text stands there twice.
    quoted: HashSet<String>,
}

impl<'a> Writer<'a> {
    fn new(reader: NewestReader<'a>, tokens: usize) -> Self {
        let (least, most) = CHARACTERS;
        Self {
            reader,
            page: Page::new(tokens),
            characters: (tokens / TOKENS_PER_CHARACTER).clamp(least, most),
            quoted: HashSet::new(),
        }
    }

    fn report(self) -> WakeUpReport {
        let text = self.page.text();
        let drawers = self.page.drawers();
        match drawers.is_empty() {
            true => nothing(
                "This palace holds nothing that could be quoted here. `loci status` shows what there is.",
            ),
            false => WakeUpReport {
                tokens: estimate(&text),
                text,
                drawers,
                warnings: Vec::new(),
            },
        }
    }

    fn write(&mut self) -> Result<()> {
        let mine = matters::identity(&self.reader)?;
        self.identity(&mine)?;
        let recent = self.reader.recent()?;
        let important = matters::important(&self.reader, &recent)?;
        let half = self.page.left() / IMPORTANT_SHARE;
        self.important(&important, half)?;
        self.newest(&latest::latest(&self.reader, &recent))?;
        // What the newest left over.
        self.important(&important, self.page.left())
    }

    fn identity(&mut self, drawers: &[Drawer]) -> Result<()> {
        let mut share = (self.page.left() + estimate(page::HEADING)) / IDENTITY_SHARE;
        for drawer in drawers.iter().take(IDENTITY_LINES) {
            share = share.saturating_sub(self.line(Part::Identity, drawer, share, usize::MAX)?);
        }
        Ok(())
    }

    fn important(&mut self, drawers: &[Drawer], mut share: usize) -> Result<()> {
        for drawer in drawers {
            if self.page.count(Part::Important) >= LINES {
                break;
            }
            if !self.page.quotes(&drawer.id) {
                share = share.saturating_sub(self.line(Part::Important, drawer, share, self.characters)?);
            }
        }
        Ok(())
    }

    /// Sets down a line for one drawer, at most as dear as said; returns what it cost.
    fn line(&mut self, part: Part, drawer: &Drawer, share: usize, characters: usize) -> Result<usize> {
        let room = self.page.room(part, share);
        if room < SHORTEST_TEXT {
            return Ok(0);
        }
        let origin = origin(&self.reader, drawer)?;
        let left = room.saturating_sub(estimate(&origin));
        match self.quote(&drawer.id, characters, left)? {
            Some(words) => Ok(self.set(part, format!("{origin}{words}"), vec![drawer.id.clone()])),
            None => Ok(0),
        }
    }

    fn set(&mut self, part: Part, text: String, drawers: Vec<DrawerId>) -> usize {
        self.page.set(part, Line { text, drawers }).unwrap_or(0)
    }

    /// The beginning of a drawer's text, if it is worth a line and was not quoted yet.
    fn quote(&mut self, id: &DrawerId, characters: usize, tokens: usize) -> Result<Option<String>> {
        let whole = self.reader.whole(id)?;
        let document = whole.and_then(|drawer| drawer.document).unwrap_or_default();
        Ok(self.fresh(&document, characters, tokens))
    }

    fn fresh(&mut self, text: &str, characters: usize, tokens: usize) -> Option<String> {
        let words = snippet(text, characters, tokens);
        let cut_short = tokens < SHORTEST_TEXT && words.ends_with('…');
        (!words.is_empty() && !cut_short && self.quoted.insert(words.clone())).then_some(words)
    }

    fn newest(&mut self, found: &[Recent]) -> Result<()> {
        let mut beginnings = Beginnings::default();
        for recent in found {
            let room = self.page.room(Part::Newest, usize::MAX);
            if room < SHORTEST_TEXT || self.page.count(Part::Newest) >= LINES {
                break;
            }
            if self.page.quotes(&recent.last.id) {
                continue;
            }
            self.recent(recent, &mut beginnings, room)?;
        }
        Ok(())
    }

    /// Sets down where a conversation stands, or how a file begins.
    fn recent(&mut self, recent: &Recent, beginnings: &mut Beginnings, room: usize) -> Result<()> {
        let Some(whole) = self.reader.whole(&recent.last.id)? else {
            return Ok(());
        };
        let text = |key: &str| Some(whole.metadata.as_ref()?.get(key)?.as_text()?.to_owned());
        // What a sub-agent said is part of another conversation.
        if text("parent_thread").is_some() {
            return Ok(());
        }
        let mut line = origin(&self.reader, &recent.last)?;
        let mut drawers = Vec::new();
        let left = |line: &str| room.saturating_sub(estimate(line));
        match is_file(&recent.last) {
            true => line.push_str(&called(whole.place.source.as_deref(), left(&line))),
            false => {
                let (about, first) = self.about(recent, text("title"), beginnings, left(&line) / 2)?;
                let speaker = whole.place.speaker.as_deref().or(whole.place.kind.as_deref());
                let speaker = snippet(speaker.unwrap_or_default(), 24, 8);
                line.push_str(&format!("{about}{speaker}: "));
                drawers.extend(first);
            }
        }
        let document = whole.document.as_deref().unwrap_or_default();
        if let Some(words) = self.fresh(document, self.characters, left(&line)) {
            drawers.push(recent.last.id.clone());
            self.set(Part::Newest, format!("{line}{words}"), drawers);
        }
        Ok(())
    }

    /// What a conversation is about: its title where its room does not say it, else its first words.
    fn about(
        &self,
        recent: &Recent,
        title: Option<String>,
        beginnings: &mut Beginnings,
        tokens: usize,
    ) -> Result<(String, Option<DrawerId>)> {
        let quoted = |text: &str| match snippet(text, TITLE, tokens.saturating_sub(4)) {
            words if words.is_empty() => String::new(),
            words => format!("\"{words}\", then "),
        };
        if let Some(title) = title {
            let room = recent.last.place.room.as_deref().unwrap_or_default();
            let said = folded(room) == folded(&title);
            return Ok((if said { String::new() } else { quoted(&title) }, None));
        }
        let Some(first) = beginnings.of(&self.reader, recent)? else {
            return Ok((String::new(), None));
        };
        let document = self.reader.whole(&first)?.and_then(|drawer| drawer.document);
        let words = quoted(document.as_deref().unwrap_or_default());
        let first = Some(first).filter(|first| !words.is_empty() && !self.page.quotes(first));
        Ok((words, first))
    }
}

/// What a file is called, without its folder.
fn called(source: Option<&str>, tokens: usize) -> String {
    let name = source
        .and_then(|source| source.rsplit('/').next())
        .unwrap_or_default();
    match snippet(name, TITLE, (tokens / 2).min(24)) {
        name if name.is_empty() => name,
        name => format!("{name}: "),
    }
}
