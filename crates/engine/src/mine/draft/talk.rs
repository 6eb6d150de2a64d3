//! The drawers of a conversation: each message from the first byte to the last, in order.
//!
//! The text of a conversation is its messages joined by line ends. Spans count bytes in that text, so the
//! pieces of one message touch each other and the pieces of two messages never do.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use loci_core::{DrawerContext, DrawerId, DrawerPlace, Metadata, NewDrawer, Result, SourceSpan, Timestamp};

use loci_mine::conversation::{Conversation, ConversationMessage, MessageKind};
use loci_mine::cut::{self, PieceLengths, TextPiece, TextShape};

use crate::deletions::SourceDeletions;
use crate::mine::withhold::{cut_out, visible_after, visible_before};
use crate::repeats::RepeatFinder;
use crate::seal::{SealedSpan, SealedText, SecretGuard, SecretTally, keep_labels_whole};

/// The number of characters of each neighbour that are indexed with a short piece: a brief answer means little
/// without its question.
const SHORT_EDGE: usize = 240;

/// The same for a longer piece, whose own words must outweigh those of its neighbours.
const LONG_EDGE: usize = 80;

/// The size up to which a piece is short, in bytes.
const SHORT: usize = 320;

fn choose_edge_length(piece: &TextPiece) -> usize {
    if piece.end - piece.start <= SHORT {
        SHORT_EDGE
    } else {
        LONG_EDGE
    }
}

/// A conversation and the pieces of its messages.
#[derive(Debug)]
pub(crate) struct TalkBody {
    conversation: Conversation,
    format: &'static str,
    slots: Vec<MessageSlot>,
    /// The ranges of messages that were deleted before, by the number of the message.
    withheld: HashMap<usize, Vec<Range<usize>>>,
    repeats: RepeatFinder,
    /// The start of each message in the text of the conversation.
    begins: Vec<MessageStart>,
    seals: TalkSeals,
}

/// The secrets of a conversation, which are sealed.
#[derive(Debug, Default)]
pub(crate) struct TalkSeals {
    /// The texts of messages, by the number of the message.
    texts: HashMap<usize, SealedText>,
    /// The spans of labels in the metadata of messages.
    about: HashMap<usize, Vec<SealedSpan>>,
    /// The spans of labels in the title.
    title: Vec<SealedSpan>,
}

impl TalkSeals {
    /// Seals the secrets of a conversation.
    pub(crate) fn seal(
        conversation: &mut Conversation,
        guard: &SecretGuard<'_>,
        found: &mut SecretTally,
    ) -> Result<Self> {
        let mut seals = Self::default();
        for (number, message) in conversation.messages.iter_mut().enumerate() {
            let mut about = Vec::new();
            guard.guard_metadata(&mut message.about, &mut about, found)?;
            if !about.is_empty() {
                seals.about.insert(number, about);
            }
            if let Some(sealed) = guard.guard_text(&message.text, found)? {
                message.text.clone_from(&sealed.text);
                seals.texts.insert(number, sealed);
            }
        }
        if let Some(title) = &mut conversation.title
            && let Some(sealed) = guard.guard_repeated(title, seals.texts.values())?
        {
            title.clone_from(&sealed.text);
            seals.title = sealed
                .spans()
                .into_iter()
                .map(|span| span.in_field("title"))
                .collect();
        }
        Ok(seals)
    }
}

/// One piece of one message.
#[derive(Debug)]
struct MessageSlot {
    message: usize,
    piece: TextPiece,
}

/// A position in the text of the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct MessageStart {
    offset: u64,
    line: u64,
}

impl MessageStart {
    const FIRST: Self = Self { offset: 0, line: 1 };

    /// Returns the start of the next message after one of `bytes` bytes with this many line ends.
    fn after_message(self, bytes: u64, line_ends: u64) -> Self {
        Self {
            // One more for the line end between two messages.
            offset: self.offset + bytes + 1,
            line: self.line + line_ends + 1,
        }
    }
}

/// A message that left its source and whose drawers stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GoneMessage {
    /// The number of the message it follows; it comes first if `None`.
    pub(crate) after: Option<usize>,
    /// Its pieces, in order.
    pub(crate) pieces: Vec<(DrawerId, SourceSpan)>,
}

impl GoneMessage {
    /// Moves its pieces to the start `at` and returns the start of the next message.
    fn move_pieces(&mut self, at: MessageStart) -> MessageStart {
        let Some(first) = self.pieces.first().map(|(_, span)| *span) else {
            return at;
        };
        let mut end = first;
        for (_, span) in &mut self.pieces {
            let moved = |n: u64, from: u64, to: u64| to + n.saturating_sub(from);
            *span = SourceSpan {
                start: moved(span.start, first.start, at.offset),
                end: moved(span.end, first.start, at.offset),
                line_start: moved(span.line_start, first.line_start, at.line),
                line_end: moved(span.line_end, first.line_start, at.line),
            };
            end = *span;
        }
        at.after_message(end.end - at.offset, end.line_end - at.line)
    }
}

impl TalkBody {
    /// Calls `each` with the text of every message that is filed whole.
    pub(crate) fn for_each_whole_text(&self, each: &mut dyn FnMut(&str)) {
        let filed: HashSet<usize> = self.slots.iter().map(|slot| slot.message).collect();
        let is_whole = |number: &usize| filed.contains(number) && !self.withheld.contains_key(number);
        let messages = (0..).zip(&self.conversation.messages);
        messages
            .filter(|(number, _)| is_whole(number))
            .for_each(|(_, message)| each(&message.text));
    }

    /// Cuts the messages said at or after `since`, if it is given; earlier ones get no pieces but keep their
    /// place.
    pub(crate) fn new(
        conversation: Conversation,
        seals: TalkSeals,
        format: &'static str,
        since: Option<Timestamp>,
        how: &PieceLengths,
    ) -> Self {
        let mut slots = Vec::new();
        for (number, message) in conversation.messages.iter().enumerate() {
            // A message without a time is never too old.
            if since.is_some_and(|since| message.at.is_some_and(|at| at < since)) {
                continue;
            }
            let mut pieces = cut::cut_text(&message.text, cutting_shape(message.kind), how);
            if let Some(sealed) = seals.texts.get(&number) {
                keep_labels_whole(sealed, &mut pieces);
            }
            slots.extend(pieces.into_iter().map(|piece| MessageSlot {
                message: number,
                piece,
            }));
        }
        let mut body = Self {
            conversation,
            format,
            slots,
            withheld: HashMap::new(),
            repeats: RepeatFinder::default(),
            begins: Vec::new(),
            seals,
        };
        body.lay_out_messages(&mut []);
        body
    }

    /// Takes out what was deleted, except from pieces that are `kept`; returns the number of places.
    pub(crate) fn withhold(&mut self, deleted: &SourceDeletions, kept: &[bool]) -> u64 {
        let mut by_message: BTreeMap<usize, Vec<(usize, TextPiece)>> = BTreeMap::new();
        for (number, slot) in self.slots.drain(..).enumerate() {
            by_message
                .entry(slot.message)
                .or_default()
                .push((number, slot.piece));
        }
        for (message, pieces) in by_message {
            let said = self.conversation.messages.get(message);
            let text = said.map_or("", |said| said.text.as_str());
            let found = if deleted.has_message(message) {
                std::iter::once(0..text.len()).collect()
            } else {
                // A number that stands for a missing id begins like this.
                let id = said.and_then(|said| said.id.as_deref());
                let id = id.filter(|id| !id.starts_with('#'));
                let starts = || pieces.iter().map(|(_, piece)| piece.start);
                let plain = SealedText::default();
                let sealed = self.seals.texts.get(&message).unwrap_or(&plain);
                sealed.find_in_both(text, &mut |text, places| {
                    deleted.find_in(text, id, starts().map(places))
                })
            };
            let cut = cut_out(text, &pieces, kept, &found);
            let left = cut.left.into_iter();
            self.slots
                .extend(left.map(|(_, piece)| MessageSlot { message, piece }));
            if !cut.ranges.is_empty() {
                self.withheld.insert(message, cut.ranges);
            }
        }
        let texts = self.withheld_texts().map(str::to_owned).collect::<Vec<_>>();
        self.repeats = RepeatFinder::new(texts);
        self.withheld.values().map(|ranges| ranges.len() as u64).sum()
    }

    /// Returns the words that were deleted.
    fn withheld_texts(&self) -> impl Iterator<Item = &str> {
        self.withheld.iter().flat_map(|(message, ranges)| {
            let message = self.conversation.messages.get(*message);
            let said =
                move |range: &Range<usize>| message.and_then(|message| message.text.get(range.clone()));
            ranges.iter().filter_map(said)
        })
    }

    fn withheld_of(&self, message: usize) -> &[Range<usize>] {
        self.withheld.get(&message).map_or(&[], Vec::as_slice)
    }

    /// Gives every message its position, leaving room for messages that left the source and stay in the palace.
    pub(crate) fn lay_out_messages(&mut self, gone: &mut [GoneMessage]) {
        let mut at = MessageStart::FIRST;
        let mut gone = gone.iter_mut().peekable();
        let mut begins = Vec::with_capacity(self.conversation.messages.len());
        let mut settle = |after: Option<usize>, mut at: MessageStart| {
            while let Some(one) = gone.next_if(|one| one.after == after) {
                at = one.move_pieces(at);
            }
            at
        };
        at = settle(None, at);
        for (number, message) in self.conversation.messages.iter().enumerate() {
            begins.push(at);
            // Counted in the words as they were said.
            let text = self
                .seals
                .texts
                .get(&number)
                .map_or(&message.text, |sealed| &sealed.plain);
            let line_ends = text.bytes().filter(|byte| *byte == b'\n').count();
            at = at.after_message(text.len() as u64, line_ends as u64);
            at = settle(Some(number), at);
        }
        self.begins = begins;
    }

    /// Returns the id of message `number`: its own, or one made of its number.
    fn message_id(&self, number: usize) -> Cow<'_, str> {
        match self
            .conversation
            .messages
            .get(number)
            .and_then(|message| message.id.as_deref())
        {
            Some(id) => Cow::Borrowed(id),
            None => Cow::Owned(format!("#{number}")),
        }
    }

    /// Returns the messages' own ids with their numbers.
    pub(crate) fn own_ids(&self) -> impl Iterator<Item = (&str, usize)> {
        let messages = self.conversation.messages.iter().enumerate();
        messages.filter_map(|(number, message)| Some((message.id.as_deref()?, number)))
    }

    /// Returns the text of message `number`, if the message has no id of its own, and the text as it was said, if that
    /// is another.
    pub(crate) fn texts_without_id(&self, number: usize) -> Option<(&str, Option<&str>)> {
        let message = self.conversation.messages.get(number)?;
        let said = self.seals.texts.get(&number).map(|sealed| sealed.plain.as_str());
        message.id.is_none().then_some((message.text.as_str(), said))
    }

    /// Returns the spans of the labels in drawer `n`.
    pub(crate) fn spans_of(&self, n: usize) -> Vec<SealedSpan> {
        let Some(slot) = self.slots.get(n) else {
            return Vec::new();
        };
        let (message, piece) = (&slot.message, &slot.piece);
        let text = self.seals.texts.get(message);
        let mut spans = text.map_or_else(Vec::new, |sealed| sealed.spans_in(piece.start..piece.end));
        spans.extend(self.seals.about.get(message).into_iter().flatten().cloned());
        spans.extend(self.seals.title.iter().cloned());
        spans
    }

    /// Returns the number of the message that drawer `n` is a piece of.
    pub(crate) fn message_number(&self, n: usize) -> Option<usize> {
        self.slots.get(n).map(|slot| slot.message)
    }

    /// Returns the texts of the pieces with the ids of their messages, in order.
    pub(crate) fn piece_texts(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        self.slots.iter().map(|slot| {
            // A message without its own id is identified by its text alone, so that it may move.
            let owned = self.conversation.messages.get(slot.message);
            let owner = owned
                .and_then(|message| message.id.as_deref())
                .unwrap_or_default();
            (Cow::Borrowed(owner), self.slot_text(slot))
        })
    }

    /// Returns the text of piece `n`.
    pub(crate) fn piece_text_at(&self, n: usize) -> &str {
        self.slots.get(n).map_or("", |slot| self.slot_text(slot))
    }

    fn slot_text(&self, slot: &MessageSlot) -> &str {
        let message = self.conversation.messages.get(slot.message);
        message
            .and_then(|message| message.text.get(slot.piece.start..slot.piece.end))
            .unwrap_or_default()
    }

    /// Builds drawer number `n`, without source, wing and room.
    pub(crate) fn make_drawer(&self, n: usize, id: DrawerId) -> Option<NewDrawer> {
        let slot = self.slots.get(n)?;
        let message = self.conversation.messages.get(slot.message)?;
        let begin = self.begins.get(slot.message)?;
        let mut drawer = NewDrawer::new(id, self.slot_text(slot));
        drawer.context = Some(self.slot_context(slot, message));
        drawer.metadata = self.message_metadata(slot.message, message);
        drawer.place = DrawerPlace {
            span: Some(self.piece_span(slot, *begin)),
            speaker: message.speaker.clone(),
            kind: Some(message.kind.name().into()),
            said_at: message.at,
            ..DrawerPlace::default()
        };
        Some(drawer)
    }

    /// Returns the span of a piece in the text of the conversation as it was said.
    fn piece_span(&self, slot: &MessageSlot, begin: MessageStart) -> SourceSpan {
        let (piece, plain) = (&slot.piece, SealedText::default());
        let sealed = self.seals.texts.get(&slot.message).unwrap_or(&plain);
        SourceSpan {
            start: begin.offset + sealed.to_plain(piece.start) as u64,
            end: begin.offset + sealed.to_plain(piece.end) as u64,
            line_start: begin.line + piece.line_start - 1 + sealed.hidden_lines(piece.start),
            line_end: begin.line + piece.line_end - 1 + sealed.hidden_lines(piece.end),
        }
    }

    fn message_metadata(&self, number: usize, message: &ConversationMessage) -> Metadata {
        let talk = &self.conversation;
        let mut metadata = message.about.clone();
        // These keys name parts of a place; in the metadata they would contradict the place, which the store
        // refuses.
        for key in DrawerPlace::TEXT_KEYS.into_iter().chain(["said_at", "filed_at"]) {
            metadata.remove(key);
        }
        metadata.insert("format", self.format);
        metadata.insert("message_id", self.message_id(number).as_ref());
        let thread = message.thread.as_ref().or(talk.id.as_ref()).or(talk.key.as_ref());
        let optional = [
            ("thread_id", thread),
            ("title", self.visible_title()),
            ("parent_thread", talk.parent.as_ref()),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                metadata.insert(key, value.as_str());
            }
        }
        metadata
    }

    /// Builds the context of a piece: title, speaker, day and heading, then the end of the text before it;
    /// behind it, the beginning of the text that follows.
    fn slot_context(&self, slot: &MessageSlot, message: &ConversationMessage) -> DrawerContext {
        let piece = &slot.piece;
        let edge = choose_edge_length(piece);
        let mut lines = Vec::new();
        lines.extend(self.visible_title().cloned());
        let day = message
            .at
            .map(|at| at.to_string().chars().take(10).collect::<String>());
        let said: Vec<&str> = [message.speaker.as_deref(), day.as_deref()]
            .into_iter()
            .flatten()
            .collect();
        if !said.is_empty() {
            lines.push(said.join(" "));
        }
        let heading = piece
            .heading
            .as_deref()
            .filter(|heading| !self.repeats.repeats_heading(heading));
        lines.extend(heading.map(str::to_owned));
        // Within a message the neighbour is the rest of the message, at its edges the neighbouring message.
        let before = match piece.start {
            0 => self
                .find_neighbour(slot.message, NeighbourSide::Before)
                .map(|(number, other)| {
                    visible_before(&other.text, self.withheld_of(number), other.text.len())
                }),
            start => Some(visible_before(
                &message.text,
                self.withheld_of(slot.message),
                start,
            )),
        };
        let before = before.map(|near| cut::edge_before(near, near.len(), edge));
        lines.extend(before.filter(|text| !text.is_empty()).map(str::to_owned));
        let after = if piece.end == message.text.len() {
            self.find_neighbour(slot.message, NeighbourSide::After)
                .map(|(number, other)| visible_after(&other.text, self.withheld_of(number), 0))
        } else {
            Some(visible_after(
                &message.text,
                self.withheld_of(slot.message),
                piece.end,
            ))
        };
        let after = after.map(|near| cut::edge_after(near, 0, edge));
        DrawerContext {
            before: lines.join("\n"),
            after: after.unwrap_or_default().to_owned(),
        }
    }

    /// Finds the nearest message on one side of the same sort: speech between people and models, or traffic
    /// between a model and its tools. Tool output between a question and its answer would otherwise separate
    /// them.
    fn find_neighbour(&self, number: usize, side: NeighbourSide) -> Option<(usize, &ConversationMessage)> {
        let messages = &self.conversation.messages;
        let sort = is_talk(messages.get(number)?.kind);
        let fits = |(_, message): &(usize, &ConversationMessage)| is_talk(message.kind) == sort;
        let mut numbered = messages.iter().enumerate();
        match side {
            NeighbourSide::Before => numbered.take(number).rev().take(REACH).find(fits),
            NeighbourSide::After => numbered.by_ref().skip(number + 1).take(REACH).find(fits),
        }
    }

    /// Returns the title, unless it repeats words that were deleted.
    fn visible_title(&self) -> Option<&String> {
        let title = self.conversation.title.as_ref();
        title.filter(|title| !self.repeats.repeats_title(title))
    }
}

/// The farthest a neighbour may be, in messages.
const REACH: usize = 64;

#[derive(Debug, Clone, Copy)]
enum NeighbourSide {
    Before,
    After,
}

fn is_talk(kind: MessageKind) -> bool {
    matches!(kind, MessageKind::Human | MessageKind::Assistant)
}

fn cutting_shape(kind: MessageKind) -> TextShape {
    match kind {
        MessageKind::ToolCall | MessageKind::ToolResult => TextShape::Prose,
        MessageKind::Human | MessageKind::Assistant | MessageKind::Thinking | MessageKind::System => {
            TextShape::Markdown
        }
    }
}
