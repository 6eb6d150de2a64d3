//! Addresses of wings, rooms and drawers: `palace://wing/room/id#L10-20`.

use std::fmt::Write as _;

use loci_core::{Error, Result};

use super::DrawerView;

/// The prefix of every address.
const SCHEME: &str = "palace://";
/// Stands for no wing or no room; a wing or room with this very name is escaped.
const NONE: &str = "~";

/// The thing an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressTarget {
    /// A wing.
    Wing(Option<String>),
    /// A wing and a room of it.
    Room(Option<String>, Option<String>),
    /// A drawer by its id, in any wing and room.
    Drawer(String),
}

/// Returns the address of a wing.
pub fn format_wing_address(wing: Option<&str>) -> String {
    format!("{SCHEME}{}", format_part(wing))
}

/// Returns the address of a room.
pub fn format_room_address(wing: Option<&str>, room: Option<&str>) -> String {
    format!("{SCHEME}{}/{}", format_part(wing), format_part(room))
}

/// Returns the address of a drawer, with its lines in the source.
pub fn format_drawer_address(drawer: &DrawerView) -> String {
    let mut address = format_room_address(drawer.wing.as_deref(), drawer.room.as_deref());
    address.push('/');
    escape_name(drawer.id.as_str(), &mut address);
    // Lines count from 1; 0 means that only the bytes are known.
    if let Some(span) = drawer.span.filter(|span| span.line_start > 0) {
        let _ = write!(address, "#L{}", span.line_start);
        if span.line_end > span.line_start {
            let _ = write!(address, "-{}", span.line_end);
        }
    }
    address
}

/// Reads an address.
pub fn parse_address(address: &str) -> Result<AddressTarget> {
    let wrong = || {
        Error::invalid(format!("{address:?} is not a valid palace address"))
            .with_hint("addresses are palace://WING, palace://WING/ROOM and palace://WING/ROOM/ID")
    };
    let path = address.strip_prefix(SCHEME).ok_or_else(wrong)?;
    // The lines are for readers; the id alone names the drawer.
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let name = |part: &str| match part {
        NONE => Some(None),
        part => unescape_part(part).filter(|name| !name.is_empty()).map(Some),
    };
    let found = match parts.as_slice() {
        [wing] => name(wing).map(AddressTarget::Wing),
        [wing, room] => name(wing)
            .zip(name(room))
            .map(|(wing, room)| AddressTarget::Room(wing, room)),
        // The wing and room are ignored: a drawer that was refiled since keeps its id, and its old address still works.
        [_, _, id] => unescape_part(id)
            .filter(|id| !id.is_empty())
            .map(AddressTarget::Drawer),
        _ => None,
    };
    found.ok_or_else(wrong)
}

fn format_part(name: Option<&str>) -> String {
    match name {
        None => NONE.to_owned(),
        Some(NONE) => "%7E".to_owned(),
        Some(name) => {
            let mut part = String::new();
            escape_name(name, &mut part);
            part
        }
    }
}

pub(super) fn escape_name(name: &str, into: &mut String) {
    // The unreserved characters of RFC 3986; everything else is written byte by byte.
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => into.push(byte.into()),
            _ => {
                let _ = write!(into, "%{byte:02X}");
            }
        }
    }
}

pub(super) fn unescape_part(part: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(part.len());
    let mut rest = part.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'%' => {
                let mut digit = || rest.next().and_then(|digit| char::from(digit).to_digit(16));
                bytes.push((digit()? * 16 + digit()?) as u8);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::{Drawer, DrawerId, DrawerPlace, SourceSpan};

    #[test]
    fn what_an_address_names_is_read_back() {
        for name in ["work", "a b", "抽屉", "~", "a/b#c?d%e", "..", "\u{202e}"] {
            assert_eq!(
                parse_address(&format_wing_address(Some(name))).unwrap(),
                AddressTarget::Wing(Some(name.into())),
                "{name}"
            );
            let room = parse_address(&format_room_address(None, Some(name))).unwrap();
            assert_eq!(room, AddressTarget::Room(None, Some(name.into())), "{name}");
            let mut drawer = Drawer::with_id_only(DrawerId::new(name).unwrap());
            drawer.place = DrawerPlace {
                wing: Some("w".into()),
                span: Some(SourceSpan {
                    start: 0,
                    end: 9,
                    line_start: 10,
                    line_end: 20,
                }),
                ..DrawerPlace::default()
            };
            let address = format_drawer_address(&drawer.into());
            assert!(address.ends_with("#L10-20"), "{address}");
            assert_eq!(
                parse_address(&address).unwrap(),
                AddressTarget::Drawer(name.into()),
                "{name}"
            );
        }
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for address in [
            "",
            "palace:",
            "palace://",
            "http://x",
            "palace://a/b/c/d",
            "palace://%",
            "palace://%ff",
        ] {
            assert!(parse_address(address).is_err(), "{address}");
        }
    }
}
