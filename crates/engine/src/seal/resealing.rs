//! The changes that seal the stored drawers of one source. Secrets are looked for in the text as it was before it was
//! cut, and parts of them in what drawers repeat of their neighbours.

use std::ops::Range;

use loci_core::{Drawer, DrawerContext, DrawerPatch, Metadata, Result};
use loci_secrets::SecretSpan;

use super::drawer::list_texts;
use super::guard::{SecretGuard, SecretTally, seal_text};
use super::known::KnownSecrets;
use super::records::FoundSeals;
use super::span::{SealedSpan, field_text, set_field_text};

/// The drawers of one source to be sealed.
#[derive(Debug, Default)]
pub(super) struct SourceSealing {
    /// Those that change.
    pub(super) drawers: Vec<ResealedDrawer>,
}

/// A stored drawer and its sealed state.
#[derive(Debug)]
pub(super) struct ResealedDrawer {
    /// The change.
    pub(super) patch: DrawerPatch,
    /// The text, with labels.
    pub(super) text: String,
    /// The spans of all its labels.
    pub(super) spans: Vec<SealedSpan>,
}

impl SourceSealing {
    /// Plans to seal the secrets of drawers that belong together; `seals` are the labels they have already.
    pub(super) fn plan(
        guard: &SecretGuard<'_>,
        mut drawers: Vec<Drawer>,
        seals: &FoundSeals,
        tally: &mut SecretTally,
    ) -> Result<Self> {
        drawers.sort_by_key(|drawer| drawer.place.span.map(|span| (span.start, span.end)));
        let mut known = KnownSecrets::default();
        let mut runs = Vec::new();
        for run in find_runs(&drawers) {
            let own = drawers.get(run).unwrap_or_default();
            let text: String = own.iter().map(text_of).collect();
            let found = guard.scan(&text);
            for secret in &found {
                tally.count(secret.kind.name());
                let words = text.get(secret.start..secret.end).unwrap_or_default();
                known.add(words, secret.kind);
            }
            runs.push((own, JoinedText { text, found }));
        }
        let mut sealing = Self::default();
        for (own, joined) in &runs {
            let mut start = 0;
            for drawer in *own {
                let range = start..start + text_of(drawer).len();
                start = range.end;
                let old = seals.spans_of(&drawer.id);
                let piece = JoinedPiece { joined, range };
                let resealed = reseal_drawer(guard, drawer, &piece, &known, old, tally)?;
                sealing.drawers.extend(resealed);
            }
        }
        Ok(sealing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.drawers.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.drawers.len()
    }
}

fn text_of(drawer: &Drawer) -> &str {
    drawer.document.as_deref().unwrap_or_default()
}

/// Returns the runs of drawers whose pieces touch each other.
fn find_runs(drawers: &[Drawer]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut ended = None;
    for (nth, drawer) in drawers.iter().enumerate() {
        let span = drawer.place.span;
        let follows = span.is_some() && span.map(|span| span.start) == ended;
        ended = span.map(|span| span.end);
        match runs.last_mut().filter(|_| follows) {
            Some(run) => run.end = nth + 1,
            None => runs.push(nth..nth + 1),
        }
    }
    runs
}

/// The text of drawers whose pieces touch each other, and the secrets in it.
#[derive(Debug)]
struct JoinedText {
    text: String,
    found: Vec<SecretSpan>,
}

/// One piece of such a text.
#[derive(Debug)]
struct JoinedPiece<'t> {
    joined: &'t JoinedText,
    range: Range<usize>,
}

impl JoinedPiece<'_> {
    /// Returns the secrets, or parts of secrets, in a range of the joined text, counted from `from`.
    fn secrets_in(&self, range: Range<usize>, from: usize) -> Vec<SecretSpan> {
        let found = &self.joined.found;
        let first = found.partition_point(|secret| secret.end <= range.start);
        let inside = found.get(first..).unwrap_or_default().iter();
        inside
            .take_while(|secret| secret.start < range.end)
            .map(|secret| SecretSpan {
                start: secret.start.max(range.start) - range.start + from,
                end: secret.end.min(range.end) - range.start + from,
                kind: secret.kind,
            })
            .collect()
    }

    /// Returns what a text that ends with words from before the piece repeats of secrets.
    fn secrets_before(&self, text: &str) -> Vec<SecretSpan> {
        let before = self.joined.text.get(..self.range.start).unwrap_or_default();
        let pairs = text.chars().rev().zip(before.chars().rev());
        let same = pairs.take_while(|(one, other)| one == other);
        let length: usize = same.map(|(one, _)| one.len_utf8()).sum();
        self.secrets_in(before.len() - length..before.len(), text.len() - length)
    }

    /// Returns what a text that begins with words from behind the piece repeats of secrets.
    fn secrets_after(&self, text: &str) -> Vec<SecretSpan> {
        let after = self.joined.text.get(self.range.end..).unwrap_or_default();
        let same = text
            .chars()
            .zip(after.chars())
            .take_while(|(one, other)| one == other);
        let length: usize = same.map(|(one, _)| one.len_utf8()).sum();
        self.secrets_in(self.range.end..self.range.end + length, 0)
    }
}

fn reseal_drawer(
    guard: &SecretGuard<'_>,
    drawer: &Drawer,
    piece: &JoinedPiece<'_>,
    known: &KnownSecrets,
    old: &[SealedSpan],
    tally: &mut SecretTally,
) -> Result<Option<ResealedDrawer>> {
    let parts = piece.secrets_in(piece.range.clone(), 0);
    let mut patch = DrawerPatch::new(drawer.id.clone());
    let mut text = text_of(drawer).to_owned();
    let mut spans: Vec<SealedSpan> = old.to_vec();
    spans.retain(|span| span.is_met_by(&text, drawer.metadata.as_ref()));
    if !parts.is_empty() {
        let sealed = seal_text(guard.keys()?, &text, &parts)?;
        for span in spans.iter_mut().filter(|span| span.is_in_text()) {
            *span = sealed.move_span(span);
        }
        spans.extend(sealed.spans());
        text = sealed.text;
    }
    if let Some(metadata) = &drawer.metadata {
        let mut metadata = metadata.clone();
        reseal_metadata(guard, &mut metadata, known, (&mut patch, &mut spans), tally)?;
    }
    patch.context = drawer
        .context
        .as_ref()
        .map(|context| reseal_context(guard, context, piece, known))
        .transpose()?
        .flatten();
    if parts.is_empty() && patch.metadata.is_empty() && patch.context.is_none() {
        return Ok(None);
    }
    // Given even if only the context changes, because the vector is made of both.
    patch.document = drawer.document.is_some().then(|| text.clone());
    Ok(Some(ResealedDrawer { patch, text, spans }))
}

fn reseal_metadata(
    guard: &SecretGuard<'_>,
    metadata: &mut Metadata,
    known: &KnownSecrets,
    (patch, spans): (&mut DrawerPatch, &mut Vec<SealedSpan>),
    tally: &mut SecretTally,
) -> Result<()> {
    for (key, nth) in list_texts(metadata) {
        let text = field_text(metadata, &key, nth).unwrap_or_default();
        let own = guard.scan(text);
        let found = known.find_in(text, &own);
        if found.is_empty() {
            continue;
        }
        for secret in &own {
            tally.count(secret.kind.name());
        }
        let sealed = seal_text(guard.keys()?, text, &found)?;
        sealed.add_field_spans(spans, &key, nth);
        set_field_text(metadata, &key, nth, sealed.text);
        let changed = metadata.get(&key).cloned();
        patch.metadata.insert(key, changed);
    }
    Ok(())
}

/// Returns a context with labels, if it holds a secret or a part of one.
fn reseal_context(
    guard: &SecretGuard<'_>,
    context: &DrawerContext,
    piece: &JoinedPiece<'_>,
    known: &KnownSecrets,
) -> Result<Option<DrawerContext>> {
    let mut sealed = context.clone();
    let repeated = [
        piece.secrets_before(&sealed.before),
        piece.secrets_after(&sealed.after),
    ];
    for (part, repeated) in [&mut sealed.before, &mut sealed.after].into_iter().zip(repeated) {
        let own = [guard.scan(part), repeated].concat();
        let found = known.find_in(part, &own);
        if !found.is_empty() {
            *part = seal_text(guard.keys()?, part, &found)?.text;
        }
    }
    Ok((sealed != *context).then_some(sealed))
}
