//! A drawer as it is compared across backends: what means the same is the same.
//!
//! Backends of other origin know less than the contract can say: a record may have no text, no time of filing, or a
//! vector that no backend may store. Palaces are hashed, compared and moved in this form, so that two with equal
//! content agree whatever holds them.

use loci_core::write::check_vector;
use loci_core::{CollectionName, Context, Drawer, Metadata, Place, Timestamp, Value};
use loci_engine::line;

/// The drawer with everything filled in that follows from what it holds, and without what the contract refuses.
///
/// A place field takes the value of the metadata key of its name, for the two are
/// one thing. A drawer nobody recorded the filing of was filed when it was said, or else in 1970.
pub(crate) fn canonical(mut drawer: Drawer) -> Drawer {
    let metadata = drawer.metadata.get_or_insert_default();
    settle_place(&mut drawer.place, metadata);
    drawer.uses = drawer.uses.min(i64::MAX as u64);
    drawer.filed_at = drawer.filed_at.or(drawer.place.said_at).or_else(epoch);
    drawer.context = drawer.context.filter(|around| *around != Context::default());
    drawer.embedding = drawer.embedding.filter(|vector| check_vector(vector).is_ok());
    drawer
}

fn epoch() -> Option<Timestamp> {
    Timestamp::from_micros(0).ok()
}

/// Makes a place agree with the metadata, and takes away a span that no source can have.
fn settle_place(place: &mut Place, metadata: &Metadata) {
    for key in Place::TEXT_KEYS {
        if let Some(given) = metadata.get(key).and_then(Value::as_text)
            && let Some(field) = place.text_mut(key)
            && field.as_deref() != Some(given)
        {
            *field = Some(given.to_owned());
        }
    }
    let said = metadata.get("said_at").and_then(Value::as_text);
    place.said_at = said.and_then(|text| text.parse().ok()).or(place.said_at);
    place.span = place.span.filter(|span| span.check().is_ok());
}

/// The line by which palaces are hashed: equal for drawers that mean the same, whatever backend holds them.
pub(crate) fn canonical_line(collection: &CollectionName, drawer: &Drawer) -> String {
    // The same words in the same place are the same, whichever door they came through.
    let unattributed = Drawer {
        provenance: None,
        ..canonical(drawer.clone())
    };
    line::write(collection, unattributed, true)
}

/// In which fields two drawers differ, their vectors aside; metadata by value and type.
pub(crate) fn differing(one: &Drawer, other: &Drawer) -> Vec<&'static str> {
    [
        ("document", one.document != other.document),
        ("metadata", one.metadata != other.metadata),
        ("place", one.place != other.place),
        ("filed_at", one.filed_at != other.filed_at),
        ("uses", one.uses != other.uses),
        ("context", one.context != other.context),
        ("damage", one.damage != other.damage),
    ]
    .into_iter()
    .filter_map(|(field, differs)| differs.then_some(field))
    .collect()
}

/// Whether two vectors are the same, bit for bit.
pub(crate) fn same_bits(one: &[f32], other: &[f32]) -> bool {
    let bits = |vector: &[f32]| -> Vec<u32> { vector.iter().map(|value| value.to_bits()).collect() };
    bits(one) == bits(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{DrawerId, Span};

    fn bare() -> Drawer {
        Drawer::bare(DrawerId::new("a").unwrap())
    }

    #[test]
    fn what_a_backend_cannot_know_is_filled_in() {
        let known = canonical(bare());
        assert_eq!(known.metadata, Some(Metadata::new()));
        assert_eq!(known.filed_at, epoch());
        let said: Timestamp = "2026-01-02".parse().unwrap();
        let metadata = Metadata::new().with("said_at", "2026-01-02");
        let told = canonical(Drawer {
            metadata: Some(metadata),
            ..bare()
        });
        assert_eq!((told.place.said_at, told.filed_at), (Some(said), Some(said)));
    }

    #[test]
    fn a_place_and_the_metadata_of_its_name_are_one_thing() {
        let metadata = Metadata::new().with("wing", "w").with("room", 3_i64);
        let place = Place {
            wing: Some("other".into()),
            room: Some("r".into()),
            ..Place::default()
        };
        let settled = canonical(Drawer {
            metadata: Some(metadata.clone()),
            place,
            ..bare()
        });
        assert_eq!(settled.place.wing.as_deref(), Some("w"));
        assert_eq!(settled.place.room.as_deref(), Some("r"), "a number is not a room");
        assert_eq!(
            settled.place.completed_from(&metadata).unwrap(),
            settled.place,
            "the contract takes it"
        );
    }

    #[test]
    fn what_the_contract_refuses_is_left_out() {
        let mut drawer = bare();
        drawer.uses = u64::MAX;
        drawer.embedding = Some(vec![0.0, 0.0]);
        drawer.place.span = Some(Span {
            start: 2,
            end: 1,
            line_start: 1,
            line_end: 1,
        });
        let sound = canonical(drawer);
        assert_eq!((sound.embedding, sound.place.span), (None, None));
        assert_eq!(sound.uses, i64::MAX as u64);
    }
}
