//! The canonical form of a drawer, in which drawers are compared across backends.
//!
//! Databases of other software know less than the contract can express: a record may have no text, no time of
//! filing, or a vector that no backend may store. Palaces are hashed, compared and moved in canonical form,
//! so that two with equal content agree whatever backend holds them.

use loci_core::write::check_vector;
use loci_core::{CollectionName, Drawer, DrawerContext, DrawerPlace, Metadata, MetadataValue, Timestamp};
use loci_engine::line;

/// Returns the drawer with everything filled in that follows from its contents, and without what the contract
/// refuses.
///
/// A field of the place takes the value of the metadata key with its name: the two are one thing. A drawer
/// without a recorded time of filing was filed when it was said, or else in 1970.
pub(crate) fn to_canonical(mut drawer: Drawer) -> Drawer {
    let metadata = drawer.metadata.get_or_insert_default();
    settle_place(&mut drawer.place, metadata);
    // The contract stores counts as signed integers; a larger one would be refused by the target.
    drawer.uses = drawer.uses.min(i64::MAX as u64);
    // A fixed time and not the current one: the same source must give the same digest at every run.
    drawer.filed_at = drawer.filed_at.or(drawer.place.said_at).or_else(epoch);
    // An empty context and none mean the same, and backends differ in which of them they return.
    drawer.context = drawer
        .context
        .filter(|around| *around != DrawerContext::default());
    drawer.embedding = drawer.embedding.filter(|vector| check_vector(vector).is_ok());
    drawer
}

fn epoch() -> Option<Timestamp> {
    Timestamp::from_micros(0).ok()
}

/// Makes a place agree with the metadata, and removes a span that no source can have.
fn settle_place(place: &mut DrawerPlace, metadata: &Metadata) {
    for key in DrawerPlace::TEXT_KEYS {
        // Only texts: a number under `room`, for example, is the user's own data and not a room.
        if let Some(given) = metadata.get(key).and_then(MetadataValue::as_text)
            && let Some(field) = place.text_field_mut(key)
            && field.as_deref() != Some(given)
        {
            *field = Some(given.to_owned());
        }
    }
    let said = metadata.get("said_at").and_then(MetadataValue::as_text);
    place.said_at = said.and_then(|text| text.parse().ok()).or(place.said_at);
    place.span = place.span.filter(|span| span.check_range().is_ok());
}

/// Returns the line that is hashed for a drawer: equal for drawers with equal content, whatever backend holds
/// them.
pub(crate) fn canonical_line(collection: &CollectionName, drawer: &Drawer) -> String {
    // The same words in the same place are the same drawer, however they were filed.
    let unattributed = Drawer {
        provenance: None,
        ..to_canonical(drawer.clone())
    };
    line::write_line(collection, unattributed, Vec::new(), true)
}

/// Lists the fields in which two drawers differ, except for their vectors. Metadata differs by value or type.
pub(crate) fn list_differing_fields(one: &Drawer, other: &Drawer) -> Vec<&'static str> {
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

/// Returns whether two vectors are equal, bit for bit.
pub(crate) fn have_same_bits(one: &[f32], other: &[f32]) -> bool {
    // Comparing floats would call NaN unequal to itself and 0.0 equal to -0.0.
    let bits = |vector: &[f32]| -> Vec<u32> { vector.iter().map(|value| value.to_bits()).collect() };
    bits(one) == bits(other)
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{DrawerId, SourceSpan};

    fn bare() -> Drawer {
        Drawer::with_id_only(DrawerId::new("a").unwrap())
    }

    #[test]
    fn what_a_backend_cannot_know_is_filled_in() {
        let known = to_canonical(bare());
        assert_eq!(known.metadata, Some(Metadata::new()));
        assert_eq!(known.filed_at, epoch());
        let said: Timestamp = "2026-01-02".parse().unwrap();
        let metadata = Metadata::new().with_entry("said_at", "2026-01-02");
        let told = to_canonical(Drawer {
            metadata: Some(metadata),
            ..bare()
        });
        assert_eq!((told.place.said_at, told.filed_at), (Some(said), Some(said)));
    }

    #[test]
    fn a_place_and_the_metadata_of_its_name_are_one_thing() {
        let metadata = Metadata::new().with_entry("wing", "w").with_entry("room", 3_i64);
        let place = DrawerPlace {
            wing: Some("other".into()),
            room: Some("r".into()),
            ..DrawerPlace::default()
        };
        let settled = to_canonical(Drawer {
            metadata: Some(metadata.clone()),
            place,
            ..bare()
        });
        assert_eq!(settled.place.wing.as_deref(), Some("w"));
        assert_eq!(settled.place.room.as_deref(), Some("r"), "a number is not a room");
        assert_eq!(
            settled.place.complete_from(&metadata).unwrap(),
            settled.place,
            "the contract takes it"
        );
    }

    #[test]
    fn what_the_contract_refuses_is_left_out() {
        let mut drawer = bare();
        drawer.uses = u64::MAX;
        drawer.embedding = Some(vec![0.0, 0.0]);
        drawer.place.span = Some(SourceSpan {
            start: 2,
            end: 1,
            line_start: 1,
            line_end: 1,
        });
        let sound = to_canonical(drawer);
        assert_eq!((sound.embedding, sound.place.span), (None, None));
        assert_eq!(sound.uses, i64::MAX as u64);
    }
}
