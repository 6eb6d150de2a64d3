//! Laws of decoding: every text encodes back to the same bytes, whole and piece by piece.

use proptest::prelude::*;

use super::*;

fn gives_its_bytes_back(bytes: &[u8]) -> Result<(), TestCaseError> {
    let Ok(decoded) = decode_bytes(bytes.to_vec()) else {
        return Ok(());
    };
    let DecodedText {
        text,
        encoding,
        strays,
    } = decoded;
    prop_assert_eq!(encode_text(&text, encoding, &strays), bytes);
    prop_assert_eq!(read_strays(&write_strays(&strays)), Some(strays.clone()));
    let mut joined = Vec::new();
    for (at, character) in text.char_indices() {
        let range = at..at + character.len_utf8();
        let own = piece_strays(&strays, range.clone());
        joined.extend(encode_text(&text[range], encoding, &own));
    }
    prop_assert_eq!(joined, bytes);
    Ok(())
}

fn wide(units: &[u16], little: bool, marked: bool, odd: Option<u8>) -> Vec<u8> {
    let mark = marked.then_some(0xfeff);
    let order = if little {
        u16::to_le_bytes
    } else {
        u16::to_be_bytes
    };
    let units = mark.into_iter().chain(units.iter().copied());
    units.flat_map(order).chain(odd).collect()
}

/// Text with a few broken units.
fn units() -> impl Strategy<Value = Vec<u16>> {
    let unit = prop_oneof![
        60 => 0x20u16..0x7f,
        20 => 0x400u16..0x460,
        1 => 0xd800u16..0xe000,
        1 => any::<u16>(),
    ];
    proptest::collection::vec(unit, 0..200)
}

proptest! {
    #[test]
    fn any_bytes_are_given_back(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        gives_its_bytes_back(&bytes)?;
    }

    #[test]
    fn bytes_that_look_like_text_are_given_back(
        bytes in proptest::collection::vec(prop_oneof![20 => 0x20u8..0x7f, 2 => Just(b'\n'), 1 => any::<u8>()], 0..300),
    ) {
        gives_its_bytes_back(&bytes)?;
    }

    #[test]
    fn utf8_with_bytes_put_in_is_given_back(
        text in "[a-zé語🦀\u{fffd}\u{feff} \r\n]{0,80}",
        put in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
    ) {
        let mut bytes = text.into_bytes();
        for (at, byte) in put {
            bytes.insert(at.index(bytes.len() + 1), byte);
        }
        gives_its_bytes_back(&bytes)?;
    }

    #[test]
    fn utf16_with_lone_surrogates_and_half_a_unit_is_given_back(
        units in units(), little: bool, marked: bool, odd in proptest::option::of(any::<u8>()),
    ) {
        gives_its_bytes_back(&wide(&units, little, marked, odd))?;
    }

    #[test]
    fn text_in_any_encoding_is_read_as_that_text(text in "[a-zäöü ]{1,40}[a-z ]{40}[äöü]", little: bool) {
        let units: Vec<u16> = text.encode_utf16().collect();
        for (marked, bytes) in [(true, wide(&units, little, true, None)), (false, wide(&units, little, false, None))] {
            let expect = if marked { format!("\u{feff}{text}") } else { text.clone() };
            prop_assert_eq!(decode_bytes(bytes).unwrap().text, expect);
        }
    }
}
