//! Addresses of what a palace holds: `palace://wing/room/id#L10-20`.

use std::fmt::Write as _;

use loci_core::{Error, Result};

use super::DrawerView;

/// How every address begins.
const SCHEME: &str = "palace://";
/// What stands for no wing or no room; a name that is just this is written with escapes.
const NONE: &str = "~";

/// What an address names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AddressTarget {
    /// A wing.
    Wing(Option<String>),
    /// A room of it.
    Room(Option<String>, Option<String>),
    /// A drawer, wherever it is filed by now.
    Drawer(String),
}

/// The address of a wing.
pub fn of_wing(wing: Option<&str>) -> String {
    format!("{SCHEME}{}", part(wing))
}

/// The address of a room.
pub fn of_room(wing: Option<&str>, room: Option<&str>) -> String {
    format!("{SCHEME}{}/{}", part(wing), part(room))
}

/// The address of a drawer, with the lines of its source it stands on.
pub fn of_drawer(drawer: &DrawerView) -> String {
    let mut address = of_room(drawer.wing.as_deref(), drawer.room.as_deref());
    address.push('/');
    escape(drawer.id.as_str(), &mut address);
    if let Some(span) = drawer.span.filter(|span| span.line_start > 0) {
        let _ = write!(address, "#L{}", span.line_start);
        if span.line_end > span.line_start {
            let _ = write!(address, "-{}", span.line_end);
        }
    }
    address
}

/// Reads an address.
pub fn read(address: &str) -> Result<AddressTarget> {
    let wrong = || {
        Error::invalid(format!("{address:?} is no address in a palace"))
            .hint("addresses are palace://WING, palace://WING/ROOM and palace://WING/ROOM/ID")
    };
    let path = address.strip_prefix(SCHEME).ok_or_else(wrong)?;
    let path = path.split_once('#').map_or(path, |(path, _)| path);
    let parts: Vec<&str> = path.trim_end_matches('/').split('/').collect();
    let name = |part: &str| match part {
        NONE => Some(None),
        part => unescape(part).filter(|name| !name.is_empty()).map(Some),
    };
    let found = match parts.as_slice() {
        [wing] => name(wing).map(AddressTarget::Wing),
        [wing, room] => name(wing)
            .zip(name(room))
            .map(|(wing, room)| AddressTarget::Room(wing, room)),
        [_, _, id] => unescape(id)
            .filter(|id| !id.is_empty())
            .map(AddressTarget::Drawer),
        _ => None,
    };
    found.ok_or_else(wrong)
}

fn part(name: Option<&str>) -> String {
    match name {
        None => NONE.to_owned(),
        Some(NONE) => "%7E".to_owned(),
        Some(name) => {
            let mut part = String::new();
            escape(name, &mut part);
            part
        }
    }
}

pub(super) fn escape(name: &str, into: &mut String) {
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => into.push(byte.into()),
            _ => {
                let _ = write!(into, "%{byte:02X}");
            }
        }
    }
}

pub(super) fn unescape(part: &str) -> Option<String> {
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
    use loci_core::{Drawer, DrawerId, Place, Span};

    #[test]
    fn what_an_address_names_is_read_back() {
        for name in ["work", "a b", "抽屉", "~", "a/b#c?d%e", "..", "\u{202e}"] {
            assert_eq!(
                read(&of_wing(Some(name))).unwrap(),
                AddressTarget::Wing(Some(name.into())),
                "{name}"
            );
            let room = read(&of_room(None, Some(name))).unwrap();
            assert_eq!(room, AddressTarget::Room(None, Some(name.into())), "{name}");
            let mut drawer = Drawer::bare(DrawerId::new(name).unwrap());
            drawer.place = Place {
                wing: Some("w".into()),
                span: Some(Span {
                    start: 0,
                    end: 9,
                    line_start: 10,
                    line_end: 20,
                }),
                ..Place::default()
            };
            let address = of_drawer(&drawer.into());
            assert!(address.ends_with("#L10-20"), "{address}");
            assert_eq!(
                read(&address).unwrap(),
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
            assert!(read(address).is_err(), "{address}");
        }
    }
}
