//! Filters: one AST for metadata, one for documents, and the oracle that decides which drawers they accept.

mod accepts;
mod document;
mod parse;
mod print;

pub use document::DocumentFilter;

use crate::{Drawer, MetadataScalar, Timestamp};

/// A condition on metadata, place and text: both filters must accept a drawer.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DrawerCondition {
    /// The filter on metadata and place.
    pub filter: Filter,
    /// The filter on the text.
    pub document: DocumentFilter,
}

impl DrawerCondition {
    /// Reports whether the condition restricts nothing, in whatever form: it then accepts every possible drawer.
    pub fn is_unrestricted(&self) -> bool {
        self.filter.is_unrestricted() && self.document.is_unrestricted()
    }

    /// Reports whether `drawer`, which must hold its metadata and text, meets the condition.
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

/// A filter on the metadata and place of drawers.
///
/// Parsed from the JSON dialect with [`Filter::parse`], printed back by `Display`. [`Filter::accepts`] is the
/// oracle: a filter that a backend pushes down must give the same answer.
#[derive(Debug, Clone, Default, PartialEq)]
pub enum Filter {
    /// Every drawer.
    #[default]
    All,
    /// The attribute under `key` satisfies the comparison; see [`crate::Drawer::attribute`].
    Compare(String, FilterComparison),
    /// All of these accept the drawer.
    And(Vec<Filter>),
    /// At least one of these accepts the drawer.
    Or(Vec<Filter>),
}

/// A comparison of an attribute with operands. Values of different families (text, numbers, booleans) are never
/// equal and have no order; integers and floats compare by numeric value. Lists are compared by their members, and
/// only by `In`, `Contains` and their negations.
#[derive(Debug, Clone, PartialEq)]
pub enum FilterComparison {
    /// Equal.
    Eq(FilterOperand),
    /// Not equal, or the key is missing: the exact negation of `Eq`.
    Ne(FilterOperand),
    /// Equal to one of these, or a list with a member that is.
    In(Vec<FilterOperand>),
    /// The exact negation of `In`.
    Nin(Vec<FilterOperand>),
    /// A list with a member equal to this.
    Contains(FilterOperand),
    /// The exact negation of `Contains`: a list without it, a single value, or no value.
    NotContains(FilterOperand),
    /// Greater.
    Gt(FilterOperand),
    /// Greater or equal.
    Gte(FilterOperand),
    /// Less.
    Lt(FilterOperand),
    /// Less or equal.
    Lte(FilterOperand),
}

/// The value an attribute is compared with.
pub type FilterOperand = MetadataScalar;

impl Filter {
    /// The deepest nesting of `$and` and `$or` that is accepted.
    pub const MAX_DEPTH: usize = 32;

    /// Accepts drawers whose `key` equals `text`.
    pub fn text_equals(key: impl Into<String>, text: impl Into<String>) -> Self {
        Self::Compare(
            key.into(),
            FilterComparison::Eq(MetadataScalar::Text(text.into())),
        )
    }

    /// Accepts drawers that both this filter and `other` accept.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            // Flattened where possible, so that narrowing a filter step by step does not nest it ever deeper.
            (Self::All, one) | (one, Self::All) => one,
            (Self::And(mut all), one) => {
                all.push(one);
                Self::And(all)
            }
            (one, two) => Self::And(vec![one, two]),
        }
    }

    /// Reports whether this is the literal `All`.
    pub fn is_all(&self) -> bool {
        matches!(self, Self::All)
    }

    /// Reports whether the filter restricts nothing, in whatever form: it then accepts every possible drawer.
    pub fn is_unrestricted(&self) -> bool {
        match self {
            Self::All => true,
            Self::Compare(..) => false,
            // An empty `And` accepts everything, an empty `Or` nothing; `all` and `any` agree with that.
            Self::And(parts) => parts.iter().all(Self::is_unrestricted),
            Self::Or(parts) => parts.iter().any(Self::is_unrestricted),
        }
    }

    /// Reports whether it contains a comparison by order (`$gt $gte $lt $lte`).
    pub fn uses_ranges(&self) -> bool {
        match self {
            Self::All => false,
            Self::Compare(_, comparison) => comparison.is_range(),
            Self::And(parts) | Self::Or(parts) => parts.iter().any(Self::uses_ranges),
        }
    }
}

impl FilterComparison {
    /// Returns the operator as the JSON dialect writes it.
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

    /// Reports whether it compares by order.
    pub fn is_range(&self) -> bool {
        matches!(self, Self::Gt(_) | Self::Gte(_) | Self::Lt(_) | Self::Lte(_))
    }
}

/// Returns the value to compare an operand as under `key`: for the time fields, text that parses as a time becomes
/// microseconds since 1970, as [`crate::Drawer::attribute`] returns them.
pub fn normalise_operand(key: &str, operand: &FilterOperand) -> MetadataScalar {
    match (key, operand) {
        ("said_at" | "filed_at", MetadataScalar::Text(text)) => match text.parse::<Timestamp>() {
            Ok(time) => MetadataScalar::Int(time.as_micros()),
            // Not an error: text against a time is a comparison across families: never equal, no order.
            Err(_) => operand.clone(),
        },
        _ => operand.clone(),
    }
}
