//! The ids of drawers in forms. A browser sends every line break of a field as CR LF, and reads NUL in a page as another
//! character, so an id that holds one of them is encoded.

use std::borrow::Cow;

use form_urlencoded::{byte_serialize, parse};
use loci_core::DrawerId;

use crate::request::PageFields;

/// The field with an id as it is.
const PLAIN: &str = "id";
/// The field with an id that is percent-encoded.
const ENCODED: &str = "encoded_id";

/// Returns the name and the value of the field that carries an id through a form.
pub(crate) fn id_field(id: &DrawerId) -> (&'static str, Cow<'_, str>) {
    let id = id.as_str();
    if id.contains(['\r', '\n', '\0']) {
        (ENCODED, byte_serialize(id.as_bytes()).collect::<String>().into())
    } else {
        (PLAIN, id.into())
    }
}

/// Returns the ids that a form or an address names.
pub(crate) fn read_ids(fields: &PageFields) -> impl Iterator<Item = Cow<'_, str>> {
    let encoded = fields.values(ENCODED);
    // Without a sign of equality in it, the whole value is the name of a pair.
    let decoded = encoded.filter_map(|value| parse(value.as_bytes()).next().map(|(id, _)| id));
    fields.values(PLAIN).map(Cow::from).chain(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_comes_back_from_a_form_as_it_was() {
        for id in ["a", "a\0b", "a\nb", "a\r\nb", "\r", "a=b&c%0A\n", " é\n "] {
            let id = DrawerId::new(id).unwrap();
            let (name, value) = id_field(&id);
            // As a browser sends it.
            let sent = value
                .replace("\r\n", "\n")
                .replace('\r', "\n")
                .replace('\n', "\r\n");
            let fields: PageFields = [(name, sent.as_str())].into_iter().collect();
            assert_eq!(read_ids(&fields).collect::<Vec<_>>(), [id.as_str()]);
        }
    }
}
