//! Orders of listing drawers, and positions in them from which a later page continues.

use std::cmp::{Ordering, Reverse};

use serde::{Deserialize, Serialize};

use crate::{Drawer, DrawerId, Error, Result, Timestamp};

/// The order in which `get` returns drawers. The byte order of ids breaks every tie.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawerOrder {
    /// By the byte order of ids.
    #[default]
    Id,
    /// Newest filing time first; drawers without one last.
    NewestFiled,
    /// Newest time of saying first; drawers without one last.
    NewestSaid,
    /// By source in byte order, within a source by the start of the piece; pieces without a start follow the
    /// others, and drawers without a source come last.
    Source,
}

impl DrawerOrder {
    /// Every order.
    pub const ALL: [Self; 4] = [Self::Id, Self::NewestFiled, Self::NewestSaid, Self::Source];

    /// Returns the name that scripts use.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::NewestFiled => "filed",
            Self::NewestSaid => "said",
            Self::Source => "source",
        }
    }

    /// Returns the order of this name.
    pub fn parse(name: &str) -> Result<Self> {
        let order = Self::ALL.into_iter().find(|order| order.name() == name);
        order.ok_or_else(|| {
            Error::invalid(format!("drawers cannot be listed by {name:?}"))
                .with_hint("use id, filed, said or source")
        })
    }

    /// Returns the position of `drawer` in this order.
    pub fn position_of(self, drawer: &Drawer) -> DrawerPosition {
        let id = drawer.id.clone();
        match self {
            Self::Id => DrawerPosition::Id(id),
            Self::NewestFiled => DrawerPosition::NewestFiled(drawer.filed_at, id),
            Self::NewestSaid => DrawerPosition::NewestSaid(drawer.place.said_at, id),
            Self::Source => {
                let start = drawer.place.span.map(|span| span.start);
                DrawerPosition::Source(drawer.place.source.clone(), start, id)
            }
        }
    }
}

/// A position in one order. It holds the sort key itself, so that a page continues at the right place even if the
/// drawer it was taken from has been changed or removed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DrawerPosition {
    /// In the order of ids.
    Id(DrawerId),
    /// In the order of filing.
    NewestFiled(Option<Timestamp>, DrawerId),
    /// In the order of saying.
    NewestSaid(Option<Timestamp>, DrawerId),
    /// In the order of sources.
    Source(Option<String>, Option<u64>, DrawerId),
}

impl DrawerPosition {
    /// Returns the order it belongs to.
    pub fn order(&self) -> DrawerOrder {
        match self {
            Self::Id(_) => DrawerOrder::Id,
            Self::NewestFiled(..) => DrawerOrder::NewestFiled,
            Self::NewestSaid(..) => DrawerOrder::NewestSaid,
            Self::Source(..) => DrawerOrder::Source,
        }
    }

    /// Compares two positions of the same order; `None` for positions of different orders.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        // `Some` sorts before `None` throughout: drawers that lack the key come last.
        let newest = |time: &Option<Timestamp>| (time.is_none(), Reverse(*time));
        match (self, other) {
            (Self::Id(a), Self::Id(b)) => Some(a.cmp(b)),
            (Self::NewestFiled(a, id_a), Self::NewestFiled(b, id_b))
            | (Self::NewestSaid(a, id_a), Self::NewestSaid(b, id_b)) => {
                Some(newest(a).cmp(&newest(b)).then_with(|| id_a.cmp(id_b)))
            }
            (Self::Source(source_a, start_a, id_a), Self::Source(source_b, start_b, id_b)) => {
                let key_a = (source_a.is_none(), source_a, start_a.is_none(), start_a, id_a);
                let key_b = (source_b.is_none(), source_b, start_b.is_none(), start_b, id_b);
                Some(key_a.cmp(&key_b))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DrawerPlace, SourceSpan};

    fn drawer(id: &str, said: Option<&str>, source: Option<&str>, start: Option<u64>) -> Drawer {
        let span = start.map(|start| SourceSpan {
            start,
            end: start + 1,
            line_start: 1,
            line_end: 1,
        });
        Drawer {
            place: DrawerPlace {
                said_at: said.map(|time| time.parse().unwrap()),
                source: source.map(str::to_owned),
                span,
                ..DrawerPlace::default()
            },
            ..Drawer::with_id_only(DrawerId::new(id).unwrap())
        }
    }

    fn sorted(order: DrawerOrder, mut drawers: Vec<Drawer>) -> Vec<String> {
        drawers.sort_by(|a, b| order.position_of(a).compare(&order.position_of(b)).unwrap());
        drawers.into_iter().map(|drawer| drawer.id.to_string()).collect()
    }

    #[test]
    fn the_latest_said_comes_first_and_ids_break_ties() {
        let drawers = vec![
            drawer("c", None, None, None),
            drawer("b", Some("2026-01-02"), None, None),
            drawer("a", Some("2026-01-02"), None, None),
            drawer("d", Some("2026-01-03"), None, None),
        ];
        assert_eq!(sorted(DrawerOrder::NewestSaid, drawers), ["d", "a", "b", "c"]);
    }

    #[test]
    fn pieces_come_in_the_order_of_their_source() {
        let drawers = vec![
            drawer("a", None, None, Some(0)),
            drawer("b", None, Some("y"), Some(0)),
            drawer("c", None, Some("x"), None),
            drawer("d", None, Some("x"), Some(10)),
            drawer("e", None, Some("x"), Some(9)),
        ];
        assert_eq!(sorted(DrawerOrder::Source, drawers), ["e", "d", "c", "b", "a"]);
    }

    #[test]
    fn positions_of_two_orders_do_not_compare() {
        let one = drawer("a", None, None, None);
        let by_id = DrawerOrder::Id.position_of(&one);
        assert_eq!(by_id.compare(&DrawerOrder::Source.position_of(&one)), None);
    }

    #[test]
    fn a_position_survives_json() {
        for order in DrawerOrder::ALL {
            let position = order.position_of(&drawer("抽", Some("2026-01-02"), Some("x\"y"), Some(7)));
            let json = serde_json::to_string(&position).unwrap();
            assert_eq!(serde_json::from_str::<DrawerPosition>(&json).unwrap(), position);
        }
    }
}
