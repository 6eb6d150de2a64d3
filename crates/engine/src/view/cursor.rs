//! Cursors: positions in a list of drawers, in a form that survives a command line.

use loci_core::{DrawerId, DrawerOrder, DrawerPosition, Error, Result, Timestamp};

use super::DrawerView;
use super::address::{escape_name, unescape_part};

/// Stands for a sort key that the drawer does not have.
const ABSENT: &str = "~";

/// Returns the cursor that continues after `position`: the name of its order and its escaped keys, joined by dots.
pub fn format_position(position: &DrawerPosition) -> String {
    let time = |time: &Option<Timestamp>| time.map_or(ABSENT.to_owned(), |time| time.as_micros().to_string());
    // The order's name leads, so that a cursor of another order is refused and none begins with a dash, which a
    // command line would take for an option.
    let mut parts = vec![position.order().name().to_owned()];
    let id = match position {
        DrawerPosition::Id(id) => id,
        DrawerPosition::NewestFiled(at, id) | DrawerPosition::NewestSaid(at, id) => {
            parts.push(time(at));
            id
        }
        DrawerPosition::Source(source, start, id) => {
            parts.push(source.as_deref().map_or(ABSENT.to_owned(), escape_key));
            parts.push(start.map_or(ABSENT.to_owned(), |start| start.to_string()));
            id
        }
    };
    parts.push(escape_key(id.as_str()));
    parts.join(".")
}

/// Returns the cursor that continues a list in this order after `drawer`, which must still have its source and span.
pub fn cursor_behind(order: DrawerOrder, drawer: &DrawerView) -> String {
    let id = drawer.id.clone();
    format_position(&match order {
        DrawerOrder::Id => DrawerPosition::Id(id),
        DrawerOrder::NewestFiled => DrawerPosition::NewestFiled(drawer.filed_at, id),
        DrawerOrder::NewestSaid => DrawerPosition::NewestSaid(drawer.said_at, id),
        DrawerOrder::Source => {
            let start = drawer.span.map(|span| span.start);
            DrawerPosition::Source(drawer.source.clone(), start, id)
        }
    })
}

/// Reads the position after which a cursor of this order continues.
pub fn parse_position(order: DrawerOrder, cursor: &str) -> Result<DrawerPosition> {
    read_position(order, cursor).ok_or_else(|| {
        Error::invalid(format!(
            "{cursor:?} is not a cursor of a list by {}",
            order.name()
        ))
        .with_hint("use `next` of the previous page, with the same order")
    })
}

fn read_position(order: DrawerOrder, cursor: &str) -> Option<DrawerPosition> {
    let mut parts = cursor.split('.');
    if parts.next() != Some(order.name()) {
        return None;
    }
    let parts: Vec<&str> = parts.collect();
    let id = |part: &str| DrawerId::new(unescape_part(part)?).ok();
    let time = |part: &str| match part {
        ABSENT => Some(None),
        micros => Timestamp::from_micros(micros.parse().ok()?).ok().map(Some),
    };
    match (order, parts.as_slice()) {
        (DrawerOrder::Id, [one]) => Some(DrawerPosition::Id(id(one)?)),
        (DrawerOrder::NewestFiled, [at, one]) => Some(DrawerPosition::NewestFiled(time(at)?, id(one)?)),
        (DrawerOrder::NewestSaid, [at, one]) => Some(DrawerPosition::NewestSaid(time(at)?, id(one)?)),
        (DrawerOrder::Source, [source, start, one]) => {
            let source = match *source {
                ABSENT => None,
                name => Some(unescape_part(name)?),
            };
            let start = match *start {
                ABSENT => None,
                start => Some(start.parse().ok()?),
            };
            Some(DrawerPosition::Source(source, start, id(one)?))
        }
        _ => None,
    }
}

/// Escapes a key so that it contains no dots and is never the mark of an absent key.
fn escape_key(key: &str) -> String {
    if key == ABSENT {
        return "%7E".to_owned();
    }
    let mut escaped = String::with_capacity(key.len());
    escape_name(key, &mut escaped);
    // A dot is an ordinary character in an address, but separates the parts of a cursor.
    escaped.replace('.', "%2E")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_comes_back_from_its_cursor() {
        let at = |text: &str| Some(text.parse::<Timestamp>().unwrap());
        for key in [
            "a",
            "it's",
            "抽屉",
            "🗄️",
            "a\0b",
            "line\nbreak",
            "-n",
            "--",
            "~",
            "a.b.c",
            "%2E",
        ] {
            let id = DrawerId::new(key).unwrap();
            let positions = [
                DrawerPosition::Id(id.clone()),
                DrawerPosition::NewestFiled(None, id.clone()),
                DrawerPosition::NewestFiled(at("2026-05-01T09:30:00.123456Z"), id.clone()),
                DrawerPosition::NewestSaid(at("1601-01-01"), id.clone()),
                DrawerPosition::Source(None, None, id.clone()),
                DrawerPosition::Source(Some(key.into()), Some(7), id.clone()),
                DrawerPosition::Source(Some(String::new()), None, id),
            ];
            for position in positions {
                let cursor = format_position(&position);
                assert!(cursor.is_ascii() && !cursor.starts_with('-'), "{cursor}");
                assert!(
                    !cursor.contains(|c: char| c.is_whitespace() || c.is_control()),
                    "{cursor}"
                );
                assert_eq!(parse_position(position.order(), &cursor).unwrap(), position);
            }
        }
    }

    #[test]
    fn a_cursor_of_another_order_and_any_other_text_are_refused() {
        let cursor = format_position(&DrawerPosition::Id(DrawerId::new("a").unwrap()));
        assert!(parse_position(DrawerOrder::NewestSaid, &cursor).is_err());
        for cursor in ["", "id", "id.", "id.a.b", "id.%zz", "id.%ff", "said.x.a", "a"] {
            for order in DrawerOrder::ALL {
                assert!(parse_position(order, cursor).is_err(), "{cursor}");
            }
        }
    }
}
