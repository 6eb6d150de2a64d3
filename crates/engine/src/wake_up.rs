//! Wake-up: a page to read at the start of a session, within a budget of tokens.
//!
//! The page has three parts: identity, important drawers, newest sources. Each line cites its drawer: its place, day,
//! trust mark and the id that shows the whole text.

mod latest;
mod ownership;
mod page;
mod priorities;
mod read;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use loci_core::{CollectionReader, Drawer, DrawerId, Error, PalaceFinding, Result, Timestamp};
use schemars::JsonSchema;
use serde::Serialize;

use crate::citation::{cite_drawer, clean_name};
use crate::palace::Palace;
use crate::snippet::quote_snippet;
use crate::tokens::estimate_tokens;
use crate::view::{DrawerScope, ScopeNote};
use latest::{ConversationOpenings, LatestSources, RecentSource, is_file};
use loci_mine::project::fold_name;
use page::{WakeUpLine, WakeUpPage, WakeUpPart};
use read::NewestReader;

/// A request for a wake-up page.
#[derive(Debug, Clone, PartialEq)]
pub struct WakeUpRequest {
    /// The drawers to choose from; identity drawers are always included.
    pub scope: DrawerScope,
    /// The token budget of the text, by [`crate::tokens::estimate_tokens`].
    pub tokens: usize,
    /// The current time.
    pub now: Timestamp,
}

/// A page to read at the start of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WakeUpReport {
    /// The text. Each quotation is on one line, without control characters, with quotation marks and backslashes
    /// escaped, and otherwise verbatim.
    pub text: String,
    /// The number of tokens, by [`crate::tokens::estimate_tokens`]; never above the budget.
    pub tokens: usize,
    /// The quoted drawers, in the order of the page; empty if there is nothing to read.
    pub drawers: Vec<DrawerId>,
    /// Names in the scope that no drawer has.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<PalaceFinding>,
}

impl Palace {
    /// Writes the page to read at the start of a session.
    pub fn wake_up(&self, request: &WakeUpRequest) -> Result<WakeUpReport> {
        request.scope.check()?;
        self.read(|session| write_wake_up(session.reader(), request))
    }
}

/// The smallest budget: enough for the heading and one line.
pub const FEWEST_TOKENS: usize = 120;

/// The share of the budget for identity, and the share of the rest for important drawers, each as a divisor.
const IDENTITY_SHARE: usize = 3;
const IMPORTANT_SHARE: usize = 2;

/// The share of the newest part that is left to files, as a divisor.
const FILES_SHARE: usize = 4;

/// The tokens of a short line: a page has no room for more lines than its tokens by this.
const TOKENS_PER_LINE: usize = 25;

/// The fewest conversations looked for. Some have no line of their own, such as the threads of sub-agents.
const FEWEST_CONVERSATIONS: usize = 8;

/// The fewest tokens that make a text worth a line.
const SHORTEST_TEXT: usize = 8;

/// The most lines of the identity part, and of each other part.
const IDENTITY_LINES: usize = 8;
const LINES: usize = 64;

/// The length of a quotation: one character for so many tokens of the budget, within bounds.
const TOKENS_PER_CHARACTER: usize = 6;
const CHARACTERS: (usize, usize) = (80, 600);

/// The most characters quoted of a title or of the opening words of a conversation.
const TITLE: usize = 60;

/// The most characters and tokens of the name of a speaker.
const SPEAKER: (usize, usize) = (24, 8);

/// Writes the page to read at the start of a session from one collection.
pub fn write_wake_up(collection: &dyn CollectionReader, request: &WakeUpRequest) -> Result<WakeUpReport> {
    if request.tokens < FEWEST_TOKENS {
        return Err(Error::invalid(format!(
            "a wake-up takes at least {FEWEST_TOKENS} tokens, not {}",
            request.tokens
        ))
        .with_hint("ask for more; 800 is a good start"));
    }
    if collection.info()?.drawers == 0 {
        return Ok(report_nothing(
            "This palace is empty. Fill it with `loci mine PATH` or `loci add TEXT`.",
        ));
    }
    let scope = request.scope.resolve(collection)?;
    // Without this check an unknown wing would still show identity drawers and look like a found one.
    if !scope.is_unrestricted() && collection.count(&scope)? == 0 {
        return report_empty_scope(collection, &request.scope);
    }
    let reader = NewestReader {
        collection,
        now: request.now,
        scope,
    };
    let mut writer = WakeUpWriter::new(reader, request.tokens);
    writer.write_page()?;
    Ok(writer.into_report())
}

fn report_nothing(text: &str) -> WakeUpReport {
    WakeUpReport {
        text: text.to_owned(),
        tokens: estimate_tokens(text),
        drawers: Vec::new(),
        warnings: Vec::new(),
    }
}

/// Reports an empty scope, whose likeliest cause is a name that does not exist.
fn report_empty_scope(collection: &dyn CollectionReader, scope: &DrawerScope) -> Result<WakeUpReport> {
    let unknown = scope.find_unknown_names(collection)?;
    Ok(WakeUpReport {
        warnings: unknown.iter().map(ScopeNote::to_finding).collect(),
        ..report_nothing("Nothing is filed there. `loci status` lists wings and rooms.")
    })
}

/// Writes one page.
#[derive(Debug)]
struct WakeUpWriter<'a> {
    reader: NewestReader<'a>,
    page: WakeUpPage,
    /// The most characters quoted of one drawer.
    characters: usize,
    /// The quotations so far, so that no text appears twice.
    quoted: HashSet<String>,
}

impl<'a> WakeUpWriter<'a> {
    fn new(reader: NewestReader<'a>, tokens: usize) -> Self {
        let (least, most) = CHARACTERS;
        Self {
            reader,
            page: WakeUpPage::new(tokens),
            characters: (tokens / TOKENS_PER_CHARACTER).clamp(least, most),
            quoted: HashSet::new(),
        }
    }

    fn into_report(self) -> WakeUpReport {
        let text = self.page.to_text();
        let drawers = self.page.quoted_drawers();
        if drawers.is_empty() {
            report_nothing("This palace holds nothing to quote here. `loci status` shows its contents.")
        } else {
            WakeUpReport {
                tokens: estimate_tokens(&text),
                text,
                drawers,
                warnings: Vec::new(),
            }
        }
    }

    fn write_page(&mut self) -> Result<()> {
        let mine = priorities::find_identity(&self.reader)?;
        self.write_identity(&mine)?;
        let important = priorities::find_important(&self.reader)?;
        // Important drawers are written twice: first within half of the budget, so that news always fits, and
        // again at the end for whatever the news did not use.
        let half = self.page.tokens_left() / IMPORTANT_SHARE;
        self.write_important(&important, half)?;
        let wanted = (self.page.tokens_left() / TOKENS_PER_LINE).clamp(FEWEST_CONVERSATIONS, LINES);
        self.write_latest(&LatestSources::find(&self.reader, wanted)?)?;
        self.write_important(&important, self.page.tokens_left())
    }

    /// Adds conversations and files, conversations first: files say less about where the work stands.
    fn write_latest(&mut self, latest: &LatestSources) -> Result<()> {
        let mut beginnings = ConversationOpenings::default();
        let left = self.page.tokens_left();
        let for_files = if latest.files.is_empty() {
            0
        } else {
            left / FILES_SHARE
        };
        self.write_newest(&latest.conversations, &mut beginnings, for_files)?;
        self.write_newest(&latest.files, &mut beginnings, 0)?;
        self.write_newest(&latest.conversations, &mut beginnings, 0)
    }

    fn write_identity(&mut self, drawers: &[Drawer]) -> Result<()> {
        // The share is taken from the whole budget, as if the heading had not been paid for yet.
        let mut share = (self.page.tokens_left() + estimate_tokens(page::HEADING)) / IDENTITY_SHARE;
        for drawer in drawers.iter().take(IDENTITY_LINES) {
            share = share.saturating_sub(self.write_line(WakeUpPart::Identity, drawer, share, usize::MAX)?);
        }
        Ok(())
    }

    fn write_important(&mut self, drawers: &[Drawer], mut share: usize) -> Result<()> {
        for drawer in drawers {
            if self.page.count_lines(WakeUpPart::Important) >= LINES {
                break;
            }
            if !self.page.quotes_drawer(&drawer.id) {
                share = share.saturating_sub(self.write_line(
                    WakeUpPart::Important,
                    drawer,
                    share,
                    self.characters,
                )?);
            }
        }
        Ok(())
    }

    /// Adds a line for one drawer that costs at most `share` tokens; returns its cost.
    fn write_line(
        &mut self,
        part: WakeUpPart,
        drawer: &Drawer,
        share: usize,
        characters: usize,
    ) -> Result<usize> {
        let room = self.page.room_for_line(part, share);
        if room < SHORTEST_TEXT {
            return Ok(0);
        }
        // Checked before the drawer is read: on a full page each remaining drawer would cost a read for nothing.
        let origin = self.begin_line(drawer)?;
        let left = room.saturating_sub(estimate_tokens(&origin));
        match self.quote_drawer(&drawer.id, characters, left)? {
            Some(words) => Ok(self.set_line(part, format!("{origin}{words}"), vec![drawer.id.clone()])),
            None => Ok(0),
        }
    }

    /// Formats `- [wing/room · day · trust · id] `, which begins each line.
    fn begin_line(&self, drawer: &Drawer) -> Result<String> {
        let when = self.reader.drawer_time(drawer);
        let citation = cite_drawer(self.reader.collection, drawer, when)?;
        Ok(format!("- {citation} "))
    }

    fn set_line(&mut self, part: WakeUpPart, text: String, drawers: Vec<DrawerId>) -> usize {
        self.page
            .set_line(part, WakeUpLine { text, drawers })
            .unwrap_or(0)
    }

    /// Returns the beginning of a drawer's text, if it is worth a line and was not quoted yet.
    fn quote_drawer(&mut self, id: &DrawerId, characters: usize, tokens: usize) -> Result<Option<String>> {
        let whole = self.reader.read_whole(id)?;
        let document = whole.and_then(|drawer| drawer.document).unwrap_or_default();
        Ok(self.quote_once(&document, characters, tokens))
    }

    fn quote_once(&mut self, text: &str, characters: usize, tokens: usize) -> Option<String> {
        let words = quote_snippet(text, characters, tokens)?;
        // A few cut-off words say nothing, but a text that is short by itself may say all.
        let cut_short = tokens < SHORTEST_TEXT && words.ends_with("…\"");
        (!cut_short && self.quoted.insert(words.clone())).then_some(words)
    }

    /// Adds a line for each source that is not on the page, and leaves `reserved` tokens unused.
    fn write_newest(
        &mut self,
        found: &[RecentSource],
        beginnings: &mut ConversationOpenings,
        reserved: usize,
    ) -> Result<()> {
        for recent in found {
            let share = self.page.tokens_left().saturating_sub(reserved);
            let room = self.page.room_for_line(WakeUpPart::Newest, share);
            if room < SHORTEST_TEXT || self.page.count_lines(WakeUpPart::Newest) >= LINES {
                break;
            }
            if self.page.quotes_drawer(&recent.last.id) {
                continue;
            }
            self.write_recent(recent, beginnings, room)?;
        }
        Ok(())
    }

    /// Adds a line with the last message of a conversation, or the beginning of a file.
    fn write_recent(
        &mut self,
        recent: &RecentSource,
        beginnings: &mut ConversationOpenings,
        room: usize,
    ) -> Result<()> {
        let Some(whole) = recent.read_last(&self.reader)? else {
            return Ok(());
        };
        let text = |key: &str| Some(whole.metadata.as_ref()?.get(key)?.as_text()?.to_owned());
        // A sub-agent's thread belongs to its parent conversation, which has a line of its own.
        if text("parent_thread").is_some() || self.page.quotes_drawer(&whole.id) {
            return Ok(());
        }
        let mut line = self.begin_line(&whole)?;
        let mut drawers = Vec::new();
        let left = |line: &str| room.saturating_sub(estimate_tokens(line));
        if is_file(&recent.last) {
            line.push_str(&format_file_name(whole.place.source.as_deref(), left(&line)));
        } else {
            // At most half of the line goes to the topic; the other half is for the words themselves.
            let (about, first) = self.describe_topic(recent, text("title"), beginnings, left(&line) / 2)?;
            line.push_str(&about);
            line.push_str(&format_speaker(&whole));
            drawers.extend(first.filter(|first| *first != whole.id));
        }
        let document = whole.document.as_deref().unwrap_or_default();
        if let Some(words) = self.quote_once(document, self.characters, left(&line)) {
            drawers.push(whole.id.clone());
            self.set_line(WakeUpPart::Newest, format!("{line}{words}"), drawers);
        }
        Ok(())
    }

    /// Describes the topic of a conversation: its title unless the room repeats it, else its opening words.
    fn describe_topic(
        &self,
        recent: &RecentSource,
        title: Option<String>,
        beginnings: &mut ConversationOpenings,
        tokens: usize,
    ) -> Result<(String, Option<DrawerId>)> {
        let quoted = |text: &str| match quote_snippet(text, TITLE, tokens.saturating_sub(2)) {
            None => String::new(),
            Some(words) => format!("{words}, then "),
        };
        if let Some(title) = title {
            let room = recent.last.place.room.as_deref().unwrap_or_default();
            // Mining names the room after the title, and the room is part of the origin already.
            let said = fold_name(room) == fold_name(&title);
            return Ok((if said { String::new() } else { quoted(&title) }, None));
        }
        let Some(first) = beginnings.find_opening(&self.reader, recent)? else {
            return Ok((String::new(), None));
        };
        let document = self.reader.read_whole(&first)?.and_then(|drawer| drawer.document);
        let words = quoted(document.as_deref().unwrap_or_default());
        let first = Some(first).filter(|first| !words.is_empty() && !self.page.quotes_drawer(first));
        Ok((words, first))
    }
}

/// Formats the speaker of a message, or the kind of one without a speaker.
fn format_speaker(message: &Drawer) -> String {
    let speaker = message.place.speaker.as_deref().or(message.place.kind.as_deref());
    match clean_name(speaker.unwrap_or_default(), SPEAKER.0, SPEAKER.1) {
        speaker if speaker.is_empty() => speaker,
        speaker => format!("{speaker}: "),
    }
}

/// Formats the name of a file without its folder.
fn format_file_name(source: Option<&str>, tokens: usize) -> String {
    let name = source
        .and_then(|source| source.rsplit('/').next())
        .unwrap_or_default();
    match clean_name(name, TITLE, (tokens / 2).min(24)) {
        name if name.is_empty() => name,
        name => format!("{name}: "),
    }
}
