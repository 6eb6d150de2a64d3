//! The drawers that may hold secrets, as far as each tells by itself: a palace that was just read need not be read again to
//! count none.

use std::collections::BTreeSet;

use loci_core::{
    CollectionReader, Drawer, DrawerFields, DrawerId, Filter, FilterComparison, GetRequest, MetadataScalar,
    Result,
};

use super::drawer::list_texts;
use super::guard::holds_secret;
use super::span::field_text;

/// The most sources that are listed; with more it is as fast to read everything.
const MOST: usize = 1024;

/// The sources with a drawer that may hold a secret.
///
/// A source that is not listed holds none, if every drawer of the collection was looked at.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SecretSuspects {
    sources: BTreeSet<String>,
    /// Whether the drawers of one collection must be looked at together to tell.
    everywhere: bool,
}

impl SecretSuspects {
    /// Looks at a drawer, of which everything but the vector was read.
    pub fn look_at(&mut self, drawer: &Drawer) {
        if self.everywhere {
            return;
        }
        // A secret may begin in one piece of a source and end in the next.
        if drawer.place.span.is_some() {
            self.everywhere = true;
            return;
        }
        match &drawer.place.source {
            Some(source) if self.sources.contains(source) || !may_hold_secret(drawer) => {}
            Some(source) if self.sources.len() < MOST => drop(self.sources.insert(source.clone())),
            None if !may_hold_secret(drawer) => {}
            // Drawers without a source are sealed in groups, in which one can tell of another.
            _ => self.everywhere = true,
        }
    }

    /// Returns the drawers of the sources; `None` stands for all.
    pub(super) fn find_drawers(&self, collection: &dyn CollectionReader) -> Result<Option<Vec<DrawerId>>> {
        if self.everywhere {
            return Ok(None);
        }
        let names = self.sources.iter().cloned().map(MetadataScalar::Text);
        let names: Vec<MetadataScalar> = names.collect();
        if names.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let drawers = collection.get(&GetRequest {
            filter: Filter::Compare("source".to_owned(), FilterComparison::In(names)),
            include: DrawerFields::NOTHING,
            ..GetRequest::default()
        })?;
        Ok(Some(drawers.into_iter().map(|drawer| drawer.id).collect()))
    }
}

/// Returns whether a secret is in one of the texts that are sealed.
fn may_hold_secret(drawer: &Drawer) -> bool {
    let metadata = drawer.metadata.as_ref();
    let fields = metadata.is_some_and(|metadata| {
        let mut texts = list_texts(metadata).into_iter();
        texts.any(|(key, nth)| field_text(metadata, &key, nth).is_some_and(holds_secret))
    });
    let context = drawer.context.as_ref();
    fields
        || drawer.document.as_deref().is_some_and(holds_secret)
        || context.is_some_and(|around| holds_secret(&around.before) || holds_secret(&around.after))
}

#[cfg(test)]
mod tests {
    use loci_core::{DrawerContext, DrawerPlace, Metadata, SourceSpan};

    use super::*;

    const SECRET: &str = "AKIAIOSFODNN7EXAMPLF";

    fn drawer(source: Option<&str>, text: &str) -> Drawer {
        Drawer {
            document: Some(text.to_owned()),
            place: DrawerPlace {
                source: source.map(str::to_owned),
                ..DrawerPlace::default()
            },
            ..Drawer::with_id_only(DrawerId::new("a").unwrap())
        }
    }

    fn suspects_of(drawers: &[Drawer]) -> SecretSuspects {
        let mut suspects = SecretSuspects::default();
        drawers.iter().for_each(|drawer| suspects.look_at(drawer));
        suspects
    }

    #[test]
    fn a_source_is_listed_if_any_text_of_a_drawer_holds_a_secret() {
        let plain = suspects_of(&[drawer(Some("a"), "nothing here"), drawer(None, "nor here")]);
        assert_eq!(plain, SecretSuspects::default());
        let key = format!("key {SECRET}");
        let mut in_field = drawer(Some("b"), "text");
        in_field.metadata = Some(Metadata::new().with_entry("note", key.as_str()));
        let mut around = drawer(Some("c"), "text");
        around.context = Some(DrawerContext {
            before: String::new(),
            after: key.clone(),
        });
        let found = suspects_of(&[drawer(Some("a"), &key), in_field, around]);
        assert_eq!(found.sources.into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
        assert!(!found.everywhere);
    }

    #[test]
    fn everything_is_looked_at_where_one_drawer_alone_does_not_tell() {
        assert!(suspects_of(&[drawer(None, SECRET)]).everywhere);
        let mut piece = drawer(Some("a"), "text");
        piece.place.span = Some(SourceSpan {
            start: 0,
            end: 4,
            line_start: 1,
            line_end: 1,
        });
        assert!(suspects_of(&[piece]).everywhere);
        let many: Vec<Drawer> = (0..=MOST).map(|n| drawer(Some(&n.to_string()), SECRET)).collect();
        assert!(suspects_of(&many).everywhere);
        assert!(!suspects_of(&many[1..]).everywhere);
    }
}
