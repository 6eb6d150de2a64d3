//! The drawers of a source that stay when others go: what they repeat of the others is taken out.

use std::collections::HashSet;

use loci_core::{Drawer, DrawerContext, DrawerPatch, Metadata, MetadataScalar, MetadataValue};

use crate::repeats::RepeatFinder;
use crate::undo::ThinnedNeighbour;

/// The drawers of a source that stay when others go.
#[derive(Debug, Default)]
pub(super) struct StayingDrawers {
    /// Their number.
    pub(super) drawers: u64,
    /// The ids of their messages.
    pub(super) messages: HashSet<String>,
    /// What they repeat of the others, taken out.
    pub(super) patches: Vec<DrawerPatch>,
    /// The same, as it was before.
    pub(super) thinned: Vec<ThinnedNeighbour>,
}

impl StayingDrawers {
    /// Adds a drawer that stays.
    pub(super) fn add(&mut self, drawer: &Drawer, removed: &RepeatFinder) {
        self.drawers += 1;
        self.messages.extend(own_message_id(drawer).map(str::to_owned));
        if let Some(patch) = take_out_repeats(drawer, removed) {
            self.thinned.push(ThinnedNeighbour::new(drawer, &patch));
            self.patches.push(patch);
        }
    }
}

/// Returns the id that a message brought from its source; one that was made from its number is not its own.
pub(super) fn own_message_id(drawer: &Drawer) -> Option<&str> {
    match drawer.metadata.as_ref()?.get("message_id")? {
        MetadataValue::One(MetadataScalar::Text(id)) if !id.starts_with('#') => Some(id),
        _ => None,
    }
}

/// Returns the patch that takes words of other drawers out of the context and the title of this one.
fn take_out_repeats(drawer: &Drawer, removed: &RepeatFinder) -> Option<DrawerPatch> {
    let repeats = |part: &str| removed.repeats(part);
    let mut patch = DrawerPatch::new(drawer.id.clone());
    if let Some(context) = &drawer.context {
        let cleaned = DrawerContext {
            before: keep_lines(&context.before, repeats),
            after: keep_lines(&context.after, repeats),
        };
        patch.context = Some(cleaned).filter(|cleaned| cleaned != context);
    }
    let title = |metadata: &Metadata| match metadata.get("title") {
        Some(MetadataValue::One(MetadataScalar::Text(title))) => removed.repeats_title(title),
        _ => false,
    };
    if drawer.metadata.as_ref().is_some_and(title) {
        patch.metadata.insert("title".to_owned(), None);
    }
    (patch != DrawerPatch::new(drawer.id.clone())).then_some(patch)
}

/// Keeps the lines, and the parts of headings, that do not repeat other words.
fn keep_lines(text: &str, repeats: impl Fn(&str) -> bool) -> String {
    let lines = text.split('\n').filter_map(|line| {
        if !repeats(line) && !line.split(" > ").any(&repeats) {
            return Some(line.to_owned());
        }
        let parts: Vec<&str> = line.split(" > ").filter(|part| !repeats(part)).collect();
        (!parts.is_empty()).then(|| parts.join(" > "))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use loci_core::DrawerId;

    use super::*;

    #[test]
    fn a_neighbour_keeps_its_context_but_for_the_words_that_go() {
        let mut drawer = Drawer::with_id_only(DrawerId::new("a").unwrap());
        drawer.context = Some(DrawerContext {
            before: "notes.md > Guide > The key\nthe key is 4711\nand more".to_owned(),
            after: "what follows".to_owned(),
        });
        drawer.metadata = Some(Metadata::new().with_entry("title", "the key is 4711"));
        let gone = RepeatFinder::new(["# The key\nplease note: the key is 4711\n".to_owned()]);
        let patch = take_out_repeats(&drawer, &gone).unwrap();
        assert_eq!(
            patch.context.unwrap(),
            DrawerContext {
                before: "notes.md > Guide\nand more".to_owned(),
                after: "what follows".to_owned(),
            }
        );
        assert_eq!(patch.metadata.get("title"), Some(&None));
        assert_eq!(
            take_out_repeats(&drawer, &RepeatFinder::new(["something else".to_owned()])),
            None
        );
    }
}
