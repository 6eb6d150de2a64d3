//! The rules by their anchors: the short strings that one pass looks for.

use std::ops::Range;

use crate::assignment::{self, NameFamily};
use crate::kind::SecretKind;
use crate::named::{NAMED_RULES, NamedRule};
use crate::probe::TextProbe;
use crate::tokens::{TOKEN_TABLES, TokenRule};
use crate::{blocks, command_lines, headers, urls};

type FindSecret = fn(&TextProbe, &Range<usize>) -> Option<(Range<usize>, SecretKind)>;

/// A rule that is tried where its anchor stands.
#[derive(Debug, Clone, Copy)]
pub(crate) enum AnchorRule {
    Token(&'static TokenRule),
    Named(&'static NamedRule),
    Assignment(NameFamily),
    Other(FindSecret),
}

impl AnchorRule {
    /// Returns the secret at an anchor, and its kind.
    pub(crate) fn find(self, probe: &TextProbe, anchor: &Range<usize>) -> Option<(Range<usize>, SecretKind)> {
        match self {
            Self::Token(rule) => rule.find(probe, anchor),
            Self::Named(rule) => rule.find(probe, anchor),
            Self::Assignment(family) => assignment::find_assignment(probe, anchor, family),
            Self::Other(find) => find(probe, anchor),
        }
    }
}

/// Returns every anchor with its rule. Two rules may have the same anchor.
pub(crate) fn all_anchors() -> Vec<(&'static str, AnchorRule)> {
    let tokens = TOKEN_TABLES.into_iter().flatten().flat_map(|rule| {
        rule.anchors
            .iter()
            .map(|anchor| (*anchor, AnchorRule::Token(rule)))
    });
    let named = NAMED_RULES.iter().flat_map(|rule| {
        rule.anchors
            .iter()
            .map(|anchor| (*anchor, AnchorRule::Named(rule)))
    });
    let families = [
        (assignment::PASSWORD_NAMES, NameFamily::Password),
        (assignment::SECRET_NAMES, NameFamily::Secret),
        (assignment::TOKEN_NAMES, NameFamily::Token),
    ];
    let names = families.into_iter().flat_map(|(names, family)| {
        names
            .iter()
            .map(move |name| (*name, AnchorRule::Assignment(family)))
    });
    let others: [(&[&'static str], FindSecret); 8] = [
        (&[blocks::BEGIN], blocks::find_block),
        (&[blocks::PUTTY], blocks::find_putty_lines),
        (&[urls::SCHEME_END], urls::find_url_password),
        (headers::BEARER, headers::find_bearer),
        (headers::BASIC, headers::find_basic),
        (&[headers::JWT], headers::find_jwt),
        (command_lines::USER_COMMANDS, command_lines::find_user_password),
        (
            command_lines::PASSWORD_COMMANDS,
            command_lines::find_flag_password,
        ),
    ];
    let others = others.into_iter().flat_map(|(anchors, find)| {
        anchors
            .iter()
            .map(move |anchor| (*anchor, AnchorRule::Other(find)))
    });
    tokens.chain(named).chain(names).chain(others).collect()
}
