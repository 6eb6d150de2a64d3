//! Filters: one AST for metadata, one for documents, and the oracle that says what they accept.

mod accepts;
mod document;
mod parse;
mod print;

pub use document::DocumentFilter;

use crate::{Drawer, Scalar, Timestamp};

/// The drawers meant, by metadata, place and text: both filters must accept one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawerCondition {
    /// Only drawers that this accepts.
    pub filter: Filter,
    /// Only drawers whose text this accepts.
    pub document: DocumentFilter,
}

impl DrawerCondition {
    /// Whether nothing is asked, however it is written: such a condition accepts every drawer there can be.
    pub fn asks_nothing(&self) -> bool {
        self.filter.asks_nothing() && self.document.asks_nothing()
    }

    /// Whether `drawer`, which must hold its metadata and text, is meant.
    pub fn accepts(&self, drawer: &Drawer) -> bool {
        let document = drawer.document.as_deref().unwrap_or_default();
        self.filter.accepts(drawer) && self.document.accepts(document)
    }
}

impl From<Filter> for DrawerCondition {
    fn from(filter: Filter) -> Self {
        Self {
            filter,
            document: DocumentFilter::All,
        }
    }
}

/// Which drawers a request means, by metadata and place.
///
/// Parsed from the JSON dialect with [`Filter::parse`], printed back by `Display`. [`Filter::accepts`] is the
/// oracle: whatever a backend pushes down must answer the same.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Filter {
    /// Every drawer.
    #[default]
    All,
    /// The attribute under `key` compares as said; see [`crate::Drawer::attribute`] for what that is.
    Compare(String, Comparison),
    /// All of these.
    And(Vec<Filter>),
    /// At least one of these.
    Or(Vec<Filter>),
}

/// How an attribute must compare. Values of different families (text, numbers, booleans) are never equal and
/// have no order; integers and floats compare by numeric value. Lists are compared by their members, and only by
/// `In`, `Contains` and their negations.
#[derive(Debug, Clone, PartialEq)]
pub enum Comparison {
    /// Equal.
    Eq(Operand),
    /// Not equal, or the key is missing: the exact negation of `Eq`.
    Ne(Operand),
    /// Equal to one of these, or a list with such a member.
    In(Vec<Operand>),
    /// The exact negation of `In`.
    Nin(Vec<Operand>),
    /// A list with a member equal to this.
    Contains(Operand),
    /// The exact negation of `Contains`: a list without it, a single value, or no value.
    NotContains(Operand),
    /// Greater.
    Gt(Operand),
    /// Greater or equal.
    Gte(Operand),
    /// Less.
    Lt(Operand),
    /// Less or equal.
    Lte(Operand),
}

/// What an attribute is compared with.
pub type Operand = Scalar;

impl Filter {
    /// The deepest nesting of `$and` and `$or` that is read.
    pub const MAX_DEPTH: usize = 32;

    /// Drawers whose `key` equals `text`.
    pub fn text(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Compare(key.into(), Comparison::Eq(Scalar::Text(text.into())))
    }

    /// Both this filter and `other`.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, one) | (one, Self::All) => one,
            (Self::And(mut all), one) => {
                all.push(one);
                Self::And(all)
            }
            (one, two) => Self::And(vec![one, two]),
        }
    }

    /// Whether every drawer is accepted because nothing is asked.
    pub fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Whether nothing is asked, however it is written: such a filter accepts every drawer there can be.
    pub fn asks_nothing(&self) -> bool {
        match self {
            Self::All => true,
            Self::Compare(..) => false,
            Self::And(parts) => parts.iter().all(Self::asks_nothing),
            Self::Or(parts) => parts.iter().any(Self::asks_nothing),
        }
    }

    /// Whether a comparison by order (`$gt $gte $lt $lte`) stands anywhere in it.
    pub fn uses_ranges(&self) -> bool {
        match self {
            Self::All => false,
            Self::Compare(_, comparison) => comparison.is_range(),
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::uses_ranges),
        }
    }
}

impl Comparison {
    /// The operator as the JSON dialect writes it.
    pub fn operator(&self) -> &'static str {
        match self {
            Self::Eq(_) => "$eq",
            Self::Ne(_) => "$ne",
            Self::In(_) => "$in",
            Self::Nin(_) => "$nin",
            Self::Contains(_) => "$contains",
            Self::NotContains(_) => "$not_contains",
            Self::Gt(_) => "$gt",
            Self::Gte(_) => "$gte",
            Self::Lt(_) => "$lt",
            Self::Lte(_) => "$lte",
        }
    }

    /// Whether it compares by order.
    pub fn is_range(&self) -> bool {
        matches!(self, Self::Gt(_) | Self::Gte(_) | Self::Lt(_) | Self::Lte(_))
    }
}

/// The value an operand has under `key`: for the time fields a text that reads as a time becomes microseconds
/// since 1970, as [`crate::Drawer::attribute`] gives them.
pub fn comparable(key: &str, operand: &Operand) -> Scalar {
    match (key, operand) {
        ("said_at" | "filed_at", Scalar::Text(text)) => match text.parse::<Timestamp>() {
            Ok(time) => Scalar::Int(time.as_micros()),
            Err(_) => operand.clone(),
        },
        _ => operand.clone(),
    }
}
