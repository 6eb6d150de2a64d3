//! The canonical form of a drawer, in which drawers are compared across backends.
//!
//! Databases of other software know less than the contract can express: a record may have no text, no time of
//! filing, or a vector that no backend may store. Palaces are hashed, compared and moved in canonical form,
//! so that two with equal content agree whatever backend holds them.

use loci_core::vector::{check_values, check_vector};
use loci_core::{
    CollectionName, Drawer, DrawerContext, DrawerPlace, Metadata, MetadataScalar, MetadataValue, Metric,
    Timestamp,
};
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
    drawer.embedding = drawer.embedding.filter(|vector| check_values(vector).is_ok());
    drawer
}

/// Returns the canonical drawer of a collection by this metric, without a vector that such a collection refuses.
pub(crate) fn to_canonical_by(metric: Metric, drawer: Drawer) -> Drawer {
    let mut drawer = to_canonical(drawer);
    drawer.embedding = drawer
        .embedding
        .filter(|vector| check_vector(vector, metric).is_ok());
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

/// Appends the bytes that are hashed for a drawer of a collection by this metric: equal for drawers with equal content,
/// whatever backend holds them, and different for others.
pub(crate) fn write_canonical(
    bytes: &mut Vec<u8>,
    collection: &CollectionName,
    metric: Metric,
    drawer: &Drawer,
) {
    let vector = drawer.embedding.as_deref();
    let vector = vector.filter(|vector| check_values(vector).is_ok() && check_vector(vector, metric).is_ok());
    // The same words in the same place are the same drawer, however they were filed. The vector follows the line: as
    // text it would take longer to write than all the rest.
    let bare = Drawer {
        document: drawer.document.clone(),
        metadata: drawer.metadata.clone(),
        place: drawer.place.clone(),
        filed_at: drawer.filed_at,
        uses: drawer.uses,
        context: drawer.context.clone(),
        ..Drawer::with_id_only(drawer.id.clone())
    };
    let line = line::write_line(collection, to_canonical(bare), Vec::new(), false);
    bytes.extend_from_slice(line.as_bytes());
    // No line has a line break, and a vector is preceded by its length, so no two sequences of drawers are the same.
    bytes.push(b'\n');
    bytes.extend_from_slice(
        &vector
            .map_or(u64::MAX, |vector| vector.len() as u64)
            .to_le_bytes(),
    );
    for value in vector.unwrap_or_default() {
        bytes.extend_from_slice(&value.to_le_bytes());
    }
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
    let mut pairs = one.iter().zip(other);
    one.len() == other.len() && pairs.all(|(one, other)| one.to_bits() == other.to_bits())
}

/// Returns whether the same bytes are hashed for two drawers in canonical form.
pub(crate) fn have_same_content(one: &Drawer, other: &Drawer) -> bool {
    let same_vector = match (&one.embedding, &other.embedding) {
        (Some(one), Some(other)) => have_same_bits(one, other),
        (None, None) => true,
        _ => false,
    };
    // Damage and provenance are not hashed.
    same_vector
        && one.id == other.id
        && one.document == other.document
        && one.metadata == other.metadata
        && one.place == other.place
        && one.filed_at == other.filed_at
        && one.uses == other.uses
        && one.context == other.context
        && have_same_zeros(one.metadata.as_ref(), other.metadata.as_ref())
}

/// Returns whether the zeros in two equal sets of metadata have the same signs, which comparing does not tell.
fn have_same_zeros(one: Option<&Metadata>, other: Option<&Metadata>) -> bool {
    let scalars = |metadata: Option<&Metadata>| -> Vec<u64> {
        let values = metadata.into_iter().flat_map(Metadata::iter);
        let scalars = values.flat_map(|(_, value)| match value {
            MetadataValue::One(scalar) => std::slice::from_ref(scalar),
            MetadataValue::Many(scalars) => scalars,
        });
        let floats = scalars.filter_map(|scalar| match scalar {
            MetadataScalar::Float(float) => Some(float.to_bits()),
            _ => None,
        });
        floats.collect()
    };
    scalars(one) == scalars(other)
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
    fn drawers_have_the_same_content_exactly_if_the_same_bytes_are_hashed() {
        let name = CollectionName::new("drawers").unwrap();
        let with = |change: &dyn Fn(&mut Drawer)| {
            let mut drawer = bare();
            drawer.document = Some("text".into());
            drawer.embedding = Some(vec![0.0, 1.0]);
            drawer.metadata = Some(Metadata::new().with_entry("zero", 0.0).with_entry("n", 1_i64));
            change(&mut drawer);
            to_canonical(drawer)
        };
        let set = |key: &'static str, value: MetadataValue| {
            move |drawer: &mut Drawer| {
                let metadata = drawer.metadata.take().unwrap_or_default();
                drawer.metadata = Some(metadata.with_entry(key, value.clone()));
            }
        };
        let many = |zero| MetadataValue::Many(vec![MetadataScalar::Float(zero)]);
        let bytes_of = |drawer: &Drawer| {
            let mut bytes = Vec::new();
            write_canonical(&mut bytes, &name, Metric::Cosine, drawer);
            bytes
        };
        let changed: [&dyn Fn(&mut Drawer); 15] = [
            &|_| {},
            &|drawer| drawer.document = None,
            &|drawer| drawer.document = Some(String::new()),
            &|drawer| drawer.embedding = None,
            &|drawer| drawer.embedding = Some(vec![-0.0, 1.0]),
            &|drawer| drawer.embedding = Some(vec![0.0, 1.0, 2.0]),
            &set("zero", MetadataValue::from(-0.0)),
            &set("n", MetadataValue::from(1.0)),
            &set("many", many(0.0)),
            &set("many", many(-0.0)),
            &|drawer| drawer.place.room = Some("r".into()),
            &|drawer| drawer.filed_at = "2026-01-02".parse().ok(),
            &|drawer| drawer.uses = 1,
            &|drawer| drawer.damage.push("torn".into()),
            &|drawer| {
                drawer.context = Some(DrawerContext {
                    before: "b".into(),
                    after: String::new(),
                });
            },
        ];
        for one in changed {
            for other in changed {
                let (one, other) = (with(one), with(other));
                let equal = bytes_of(&one) == bytes_of(&other);
                assert_eq!(have_same_content(&one, &other), equal, "{one:?} {other:?}");
            }
        }
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
        let sound = to_canonical_by(Metric::Cosine, drawer.clone());
        assert_eq!((sound.embedding, sound.place.span), (None, None));
        assert_eq!(sound.uses, i64::MAX as u64);
        let by_length = to_canonical_by(Metric::L2, drawer);
        assert_eq!(by_length.embedding, Some(vec![0.0, 0.0]), "it has a length");
    }
}
