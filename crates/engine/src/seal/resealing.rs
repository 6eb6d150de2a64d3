//! The changes that seal the stored drawers of one source. Secrets are looked for in the text as it was before it was
//! cut, and parts of them in what drawers repeat of their neighbours.

use std::collections::BTreeMap;
use std::ops::Range;

use loci_core::{Drawer, DrawerContext, DrawerPatch, Metadata, Result};
use loci_secrets::{SecretKind, SecretSpan};

use super::drawer::list_texts;
use super::guard::{SecretGuard, SecretTally, seal_text};
use super::records::FoundSeals;
use super::span::{SealedSpan, field_text, set_field_text};

/// The shortest part of a secret that is recognised where a text begins or ends with it.
const LEAST_PART: usize = 6;

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
        let found = self.joined.found.iter();
        found
            .filter(|secret| secret.start < range.end && range.start < secret.end)
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
        spans.extend(reseal_metadata(guard, &mut metadata, known, &mut patch, tally)?);
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
    patch: &mut DrawerPatch,
    tally: &mut SecretTally,
) -> Result<Vec<SealedSpan>> {
    let mut spans = Vec::new();
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
        spans.extend(sealed.spans().into_iter().map(|span| SealedSpan {
            field: Some(key.clone()),
            nth,
            ..span
        }));
        set_field_text(metadata, &key, nth, sealed.text);
        let changed = metadata.get(&key).cloned();
        patch.metadata.insert(key, changed);
    }
    Ok(spans)
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

/// The secrets of a source, to be recognised where they are repeated.
#[derive(Debug, Default)]
pub(crate) struct KnownSecrets(BTreeMap<String, SecretKind>);

impl KnownSecrets {
    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str, kind: SecretKind) {
        self.0.insert(secret.to_owned(), kind);
    }

    /// Finds the secrets in a text: those in `own`, whole ones, and parts of them with which a line begins or the text
    /// ends. The spans are in order and do not overlap.
    pub(crate) fn find_in(&self, text: &str, own: &[SecretSpan]) -> Vec<SecretSpan> {
        let mut found: Vec<SecretSpan> = own.to_vec();
        for (secret, kind) in &self.0 {
            let span = |range: Range<usize>| SecretSpan {
                start: range.start,
                end: range.end,
                kind: *kind,
            };
            let whole = text.match_indices(secret.as_str());
            found.extend(whole.map(|(at, secret)| span(at..at + secret.len())));
            let lines = std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1));
            found.extend(lines.filter_map(|at| {
                let rest = text.get(at..)?;
                let part = ends_of(secret).find(|part| rest.starts_with(part))?;
                Some(span(at..at + part.len()))
            }));
            let end = beginnings_of(secret).find(|part| text.ends_with(part));
            found.extend(end.map(|part| span(text.len() - part.len()..text.len())));
        }
        found.sort_by_key(|span| (span.start, std::cmp::Reverse(span.end)));
        let mut end = 0;
        found.retain(|span| {
            let is_free = span.start >= end;
            end = end.max(span.end);
            is_free
        });
        found
    }
}

/// Returns the ends of a secret, the longest first.
fn ends_of(secret: &str) -> impl Iterator<Item = &str> {
    let starts = secret.char_indices().skip(1).map(|(start, _)| start);
    starts
        .filter_map(|start| secret.get(start..))
        .take_while(|part| part.len() >= LEAST_PART)
}

/// Returns the beginnings of a secret, the longest first.
fn beginnings_of(secret: &str) -> impl Iterator<Item = &str> {
    let ends = secret.char_indices().rev().map(|(end, _)| end);
    ends.filter_map(|end| secret.get(..end))
        .take_while(|part| part.len() >= LEAST_PART)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_and_their_ends_and_beginnings_are_found_in_what_repeats_them() {
        let mut known = KnownSecrets::default();
        known.add("abcdefghij", SecretKind::Password);
        let find = |text: &str| -> Vec<String> {
            let found = known.find_in(text, &[]);
            found
                .iter()
                .map(|span| text[span.start..span.end].to_owned())
                .collect()
        };
        assert_eq!(find("x abcdefghij y abcdefghij"), ["abcdefghij", "abcdefghij"]);
        assert_eq!(find("title\nefghij, then more"), ["efghij"]);
        assert_eq!(find("and it begins abcdef"), ["abcdef"]);
        assert_eq!(find("fghij too short abcde"), [""; 0]);
        assert_eq!(find("in the middle defghij it may be a word"), [""; 0]);
    }
}
