//! The drawers of a conversation: each message from first byte to last, one message after the other.
//!
//! A conversation's own text is its messages in order, one line end between each and the next. Spans count in that
//! text, so that the pieces of one message follow each other without a gap and two messages never do.

use std::borrow::Cow;

use loci_core::{Context, DrawerId, Metadata, NewDrawer, Place, Span, Timestamp};

use loci_mine::conversation::{Conversation, Kind, Message};
use loci_mine::cut::{self, Cutting, Piece, Shape};

/// How much of what was said before and after is indexed with a short piece, in characters: a brief answer means
/// little without its question.
const SHORT_EDGE: usize = 240;

/// The same for a longer piece, whose own words must outweigh its neighbours'.
const LONG_EDGE: usize = 80;

/// Up to how many bytes a piece is short.
const SHORT: usize = 320;

fn edge_of(piece: &Piece) -> usize {
    match piece.end - piece.start <= SHORT {
        true => SHORT_EDGE,
        false => LONG_EDGE,
    }
}

/// A conversation and where its messages are cut.
#[derive(Debug)]
pub(crate) struct TalkBody {
    conversation: Conversation,
    format: &'static str,
    slots: Vec<Slot>,
    /// Where each message begins in the conversation's own text.
    begins: Vec<Begin>,
}

/// One piece of one message.
#[derive(Debug)]
struct Slot {
    message: usize,
    piece: Piece,
}

/// A place in the conversation's own text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Begin {
    offset: u64,
    line: u64,
}

impl Begin {
    const FIRST: Self = Self { offset: 0, line: 1 };

    /// Where the next message begins after one of `bytes` with so many line ends in it.
    fn past(self, bytes: u64, line_ends: u64) -> Self {
        Self {
            offset: self.offset + bytes + 1,
            line: self.line + line_ends + 1,
        }
    }
}

/// A message that is no longer in its source, whose drawers stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gone {
    /// The message it comes after; first of all, if none.
    pub(crate) after: Option<usize>,
    /// Its pieces, in order.
    pub(crate) pieces: Vec<(DrawerId, Span)>,
}

impl Gone {
    /// Moves its pieces to where the message now begins; says where the next one does.
    fn settle(&mut self, at: Begin) -> Begin {
        let Some(first) = self.pieces.first().map(|(_, span)| *span) else {
            return at;
        };
        let mut end = first;
        for (_, span) in &mut self.pieces {
            let moved = |n: u64, from: u64, to: u64| to + n.saturating_sub(from);
            *span = Span {
                start: moved(span.start, first.start, at.offset),
                end: moved(span.end, first.start, at.offset),
                line_start: moved(span.line_start, first.line_start, at.line),
                line_end: moved(span.line_end, first.line_start, at.line),
            };
            end = *span;
        }
        at.past(end.end - at.offset, end.line_end - at.line)
    }
}

impl TalkBody {
    /// Cuts the messages said at or after `since`, where that is given; the others keep their place.
    pub(crate) fn new(
        conversation: Conversation,
        format: &'static str,
        since: Option<Timestamp>,
        how: &Cutting,
    ) -> Self {
        let mut slots = Vec::new();
        for (number, message) in conversation.messages.iter().enumerate() {
            if since.is_some_and(|since| message.at.is_some_and(|at| at < since)) {
                continue;
            }
            let pieces = cut::cut(&message.text, shape_of(message.kind), how);
            slots.extend(pieces.into_iter().map(|piece| Slot {
                message: number,
                piece,
            }));
        }
        let mut body = Self {
            conversation,
            format,
            slots,
            begins: Vec::new(),
        };
        body.lay_out(&mut []);
        body
    }

    /// Gives every message its place, leaving room for those that are gone from the source and stay in the palace.
    pub(crate) fn lay_out(&mut self, gone: &mut [Gone]) {
        let mut at = Begin::FIRST;
        let mut gone = gone.iter_mut().peekable();
        let mut begins = Vec::with_capacity(self.conversation.messages.len());
        let mut settle = |after: Option<usize>, mut at: Begin| {
            while let Some(one) = gone.next_if(|one| one.after == after) {
                at = one.settle(at);
            }
            at
        };
        at = settle(None, at);
        for (number, message) in self.conversation.messages.iter().enumerate() {
            begins.push(at);
            let line_ends = message.text.bytes().filter(|byte| *byte == b'\n').count();
            at = at.past(message.text.len() as u64, line_ends as u64);
            at = settle(Some(number), at);
        }
        self.begins = begins;
    }

    /// The id of message `number`, its own or the one its place gives it.
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

    /// The ids that messages have of their own, with the last place of each.
    pub(crate) fn own_ids(&self) -> impl Iterator<Item = (&str, usize)> {
        let messages = self.conversation.messages.iter().enumerate();
        messages.filter_map(|(number, message)| Some((message.id.as_deref()?, number)))
    }

    /// The text of message `number`, if it has no id of its own.
    pub(crate) fn unnamed(&self, number: usize) -> Option<&str> {
        let message = self.conversation.messages.get(number)?;
        message.id.is_none().then_some(message.text.as_str())
    }

    /// Which message drawer `n` is a piece of.
    pub(crate) fn message_of(&self, n: usize) -> Option<usize> {
        self.slots.get(n).map(|slot| slot.message)
    }

    /// The texts of the pieces with the messages they belong to, in order.
    pub(crate) fn texts(&self) -> impl Iterator<Item = (Cow<'_, str>, &str)> {
        self.slots.iter().map(|slot| {
            // A message without an id of its own is told by its text alone, so that its place may change.
            let owned = self.conversation.messages.get(slot.message);
            let owner = owned
                .and_then(|message| message.id.as_deref())
                .unwrap_or_default();
            (Cow::Borrowed(owner), self.text_of(slot))
        })
    }

    fn text_of(&self, slot: &Slot) -> &str {
        let message = self.conversation.messages.get(slot.message);
        message
            .and_then(|message| message.text.get(slot.piece.start..slot.piece.end))
            .unwrap_or_default()
    }

    /// Drawer number `n`, not yet filed anywhere.
    pub(crate) fn drawer(&self, n: usize, id: DrawerId) -> Option<NewDrawer> {
        let slot = self.slots.get(n)?;
        let message = self.conversation.messages.get(slot.message)?;
        let begin = self.begins.get(slot.message)?;
        let piece = &slot.piece;
        let mut drawer = NewDrawer::new(id, self.text_of(slot));
        drawer.context = Some(self.context(slot, message));
        drawer.metadata = self.metadata(slot.message, message);
        drawer.place = Place {
            span: Some(Span {
                start: begin.offset + piece.start as u64,
                end: begin.offset + piece.end as u64,
                line_start: begin.line + piece.line_start - 1,
                line_end: begin.line + piece.line_end - 1,
            }),
            speaker: message.speaker.clone(),
            kind: Some(message.kind.name().into()),
            said_at: message.at,
            ..Place::default()
        };
        Some(drawer)
    }

    fn metadata(&self, number: usize, message: &Message) -> Metadata {
        let talk = &self.conversation;
        let mut metadata = message.about.clone();
        for key in Place::TEXT_KEYS.into_iter().chain(["said_at", "filed_at"]) {
            metadata.remove(key);
        }
        metadata.insert("format", self.format);
        metadata.insert("message_id", self.message_id(number).as_ref());
        let thread = message.thread.as_ref().or(talk.id.as_ref()).or(talk.key.as_ref());
        let optional = [
            ("thread_id", thread),
            ("title", talk.title.as_ref()),
            ("parent_thread", talk.parent.as_ref()),
        ];
        for (key, value) in optional {
            if let Some(value) = value {
                metadata.insert(key, value.as_str());
            }
        }
        metadata
    }

    /// Title, speaker and day, then what was said just before; after it, what was said next.
    fn context(&self, slot: &Slot, message: &Message) -> Context {
        let piece = &slot.piece;
        let edge = edge_of(piece);
        let mut lines = Vec::new();
        lines.extend(self.conversation.title.clone());
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
        lines.extend(piece.heading.as_deref().map(str::to_owned));
        let before = match piece.start {
            0 => self
                .beside(slot.message, Side::Before)
                .map(|other| cut::edge_before(&other.text, other.text.len(), edge)),
            start => Some(cut::edge_before(&message.text, start, edge)),
        };
        lines.extend(before.filter(|text| !text.is_empty()).map(str::to_owned));
        let after = match piece.end == message.text.len() {
            true => self
                .beside(slot.message, Side::After)
                .map(|other| cut::edge_after(&other.text, 0, edge)),
            false => Some(cut::edge_after(&message.text, piece.end, edge)),
        };
        Context {
            before: lines.join("\n"),
            after: after.unwrap_or_default().to_owned(),
        }
    }

    /// The nearest message on one side that is of the same sort: what people and models say to each other, or what
    /// goes on between a model and its tools.
    fn beside(&self, number: usize, side: Side) -> Option<&Message> {
        let messages = &self.conversation.messages;
        let sort = is_talk(messages.get(number)?.kind);
        let fits = |message: &&Message| is_talk(message.kind) == sort;
        match side {
            Side::Before => messages.get(..number)?.iter().rev().take(REACH).find(fits),
            Side::After => messages.get(number + 1..)?.iter().take(REACH).find(fits),
        }
    }
}

/// How many messages away a neighbour may be.
const REACH: usize = 64;

#[derive(Debug, Clone, Copy)]
enum Side {
    Before,
    After,
}

fn is_talk(kind: Kind) -> bool {
    matches!(kind, Kind::Human | Kind::Assistant)
}

fn shape_of(kind: Kind) -> Shape {
    match kind {
        Kind::ToolCall | Kind::ToolResult => Shape::Prose,
        Kind::Human | Kind::Assistant | Kind::Thinking | Kind::System => Shape::Markdown,
    }
}
