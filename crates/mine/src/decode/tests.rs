//! Cases of bytes and the text they decode to.

use super::*;

/// Reads bytes and puts down encoding, text and strays; checks that they go back.
fn read(bytes: &[u8]) -> String {
    match decode_bytes(bytes.to_vec()) {
        Ok(decoded) => {
            assert_eq!(
                encode_text(&decoded.text, decoded.encoding, &decoded.strays),
                bytes
            );
            format!(
                "{} {:?} {}",
                decoded.encoding.name(),
                decoded.text,
                write_strays(&decoded.strays)
            )
        }
        Err(NotTextCause::Empty) => "empty".to_owned(),
        Err(NotTextCause::Binary(what)) => what.to_owned(),
    }
}

#[track_caller]
fn check(bytes: &[u8], expect: &str) {
    assert_eq!(read(bytes).trim_end(), expect);
}

fn utf16(text: &str, order: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(order).collect()
}

#[test]
fn utf8_is_read_as_it_is() {
    check(b"", "empty");
    check(b"plain", "utf-8 \"plain\"");
    check("caf\u{e9} \u{1f980}".as_bytes(), "utf-8 \"café 🦀\"");
    check(b"\xef\xbb\xbfmarked", "utf-8 \"\\u{feff}marked\"");
    check(b"one\0stray", "utf-8 \"one\\0stray\"");
    check(b"\x1b[31mred\x1b[0m", "utf-8 \"\\u{1b}[31mred\\u{1b}[0m\"");
}

#[test]
fn valid_utf8_is_not_copied() {
    let bytes = "some text".repeat(100).into_bytes();
    let place = bytes.as_ptr();
    assert_eq!(decode_bytes(bytes).unwrap().text.as_ptr(), place);
}

#[test]
fn bytes_that_are_no_utf8_are_strays_in_it() {
    check(
        "naïve caf\u{e9}\u{ff}".replace('\u{ff}', "x").as_bytes(),
        "utf-8 \"naïve caféx\"",
    );
    check(b"na\xc3\xafve \xff\xfe end", "utf-8 \"naïve � end\" 7:fffe");
    check(
        b"a real \xef\xbf\xbd and \xc3\xa9 a stray \xff",
        "utf-8 \"a real � and é a stray �\" 26:ff",
    );
    check(b"cut off: \xe2\x82", "utf-8 \"cut off: �\" 9:e282");
    check(
        b"rust \xc3\xa9\xf0\x9f\xa6 crab",
        "utf-8 \"rust é� crab\" 7:f09fa6",
    );
}

#[test]
fn letters_of_an_old_code_page_are_letters() {
    check(b"caf\xe9 cr\xe8me", "windows-1252 \"café crème\"");
    check(b"it\x92s \x93quoted\x94", "windows-1252 \"it’s “quoted”\"");
    check(b"na\xefve \x81", "windows-1252 \"naïve \\u{81}\"");
}

#[test]
fn utf16_is_known_by_its_mark_or_by_its_nuls() {
    check(
        &utf16("\u{feff}größe", u16::to_le_bytes),
        "utf-16le \"\\u{feff}größe\"",
    );
    check(
        &utf16("\u{feff}größe", u16::to_be_bytes),
        "utf-16be \"\\u{feff}größe\"",
    );
    check(
        &utf16("plain words", u16::to_le_bytes),
        "utf-16le \"plain words\"",
    );
    check(
        &utf16("plain words", u16::to_be_bytes),
        "utf-16be \"plain words\"",
    );
    check(
        &utf16("привет, мир", u16::to_le_bytes),
        "utf-16le \"привет, мир\"",
    );
    check(b"\xff\xfea\0\0\xd8b\0c", "utf-16le \"\\u{feff}a�b�\" 4:00d8,8:63");
}

#[test]
fn what_is_no_text_is_called_by_its_name() {
    check(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a PNG image");
    check(b"%PDF-1.7\n1 0 obj", "a PDF document");
    check(b"PK\x03\x04\x14\0\0\0", "a ZIP archive");
    check(b"SQLite format 3\0\x10\0", "an SQLite database");
    check(b"\x7fELF\x02\x01\x01\0", "an ELF program");
    check(b"MZ\x90\0\x03\0\0\0\x04\0\0\0\xff\xff", "a Windows program");
    check(b"MZ is how it begins", "utf-8 \"MZ is how it begins\"");
    check(&(0..=255).collect::<Vec<u8>>(), "binary data");
    check(b"\0\0\0\0", "binary data");
    check(b"a\x01\x02\x03\x04b", "binary data");
}

#[test]
fn every_byte_of_the_code_page_has_a_character_of_its_own() {
    let all: Vec<char> = (0..=255).map(windows::decode_byte).collect();
    let back: Vec<u8> = all.iter().filter_map(|c| windows::encode_character(*c)).collect();
    assert_eq!(back, (0..=255).collect::<Vec<u8>>());
    assert_eq!(windows::encode_character('語'), None);
}

#[test]
fn encodings_go_by_their_names() {
    for encoding in TextEncoding::ALL {
        assert_eq!(TextEncoding::parse(encoding.name()), Some(encoding));
    }
    assert_eq!(TextEncoding::parse("latin-9"), None);
}

#[test]
fn a_piece_has_its_own_strays() {
    let strays = read_strays("0:ff,12:c3,40:fe01").unwrap();
    assert_eq!(write_strays(&piece_strays(&strays, 12..40)), "0:c3");
    assert_eq!(write_strays(&piece_strays(&strays, 10..41)), "2:c3,30:fe01");
    assert_eq!(write_strays(&piece_strays(&strays, 1..12)), "");
}

#[test]
fn only_well_formed_strays_are_read() {
    for line in [
        "x",
        "1:",
        ":ff",
        "1:f",
        "1:ff,",
        "1:ff,1:ff",
        "2:ff,1:ff",
        "1:+f",
        "-1:ff",
        "1:gg",
    ] {
        assert_eq!(read_strays(line), None, "{line}");
    }
    assert_eq!(read_strays(""), Some(Vec::new()));
}

#[test]
fn strays_that_fit_nowhere_are_passed_over() {
    let strays = read_strays("1:ff,3:aa,900:ff").unwrap();
    assert_eq!(
        encode_text("abc\u{fffd}", TextEncoding::Utf8, &strays),
        b"abc\xaa"
    );
    assert_eq!(
        encode_text("é\u{fffd}", TextEncoding::Windows1252, &strays),
        b"\xe9?"
    );
}
