//! The constants of ranking, each with its reason.
//!
//! Depth, the balance of the legs, sources, own text and own words were chosen on the development parts of LoCoMo and
//! LongMemEval alone, with one wing for each conversation or haystack and again with everything in one wing, which is
//! harder. `loci-bench eval` measures them; around these values the figures move by less than one question in a
//! hundred. Times, recency and folding were chosen by judgement and are not measured.

/// The smallest number of hits requested of each leg. From 100 to 400 the figures are the same; below, sources with
/// several middling pieces lose their mutual support.
pub(super) const DEPTH: usize = 100;

/// The number of hits requested of each leg per hit wanted, if that is more than [`DEPTH`].
pub(super) const DEPTH_FOR_EACH: usize = 4;

/// The factor by which the depth grows if near-identical drawers leave fewer hits than wanted.
pub(super) const DEEPER: usize = 4;

/// The weight of the leg by meaning, where keywords weigh one. Keywords are right more often about single messages;
/// above 1 messages are lost, below 0.5 sources that use other words.
pub(super) const NEAREST: f32 = 0.75;

/// The number of a leg's best hits that measure its sharpness on a query.
pub(super) const SHARP_OF: usize = 30;

/// The exponent by which sharpness moves the balance of the legs: 0 not at all, 1 in proportion. A leg with best hits
/// that stand out from the rest knows something; one that scores thirty hits about the same is guessing.
pub(super) const SHARPNESS: f32 = 0.6;

/// Keeps the balance finite if a leg is not sharp at all.
pub(super) const SHARPNESS_FLOOR: f32 = 0.05;

/// The share of its score that the second and third best piece of a source adds to each of its pieces: a source that
/// mentions a thing three times is likelier to be the right one. The best piece is excluded; it would count itself.
pub(super) const SOURCE: f32 = 0.3;

/// The number of pieces, besides the best, that support their source.
pub(super) const SOURCE_OF: usize = 2;

/// The boost of a drawer whose own text contains every word of the query but stop words. Legs see a drawer with its
/// neighbours' edges, which is right for finding the place and wrong for the order within it: without this boost the
/// reply to a statement ranks above the statement (LoCoMo turn recall at one .28, with it .38; at ten the same).
pub(super) const OWN_TEXT: f32 = 0.3;

/// The smallest number of candidates read with their texts; from 30 to 120 the figures are the same.
pub(super) const POOL: usize = 60;

/// The number of candidates read per hit wanted, if that is more than [`POOL`].
pub(super) const POOL_FOR_EACH: usize = 3;

/// The number of pieces of one source that keep their full score.
pub(super) const OF_ONE_SOURCE: usize = 3;

/// The score that each further piece loses, multiplied by its number past the limit. In ten hits LongMemEval's all@5
/// is .87 with it and .84 without; LoCoMo's turn recall at ten loses .01.
pub(super) const GIVES_WAY: f32 = 0.1;

/// The relative boost of human messages if the query contains "I" or "my": people ask about things they said of
/// themselves, and a model's long answers contain the same words more often.
pub(super) const OWN_WORDS: f32 = 0.1;

/// The boost of drawers said in a time the query names. It puts the best of that time above equals of other times, and
/// leaves unrelated drawers below. Only a preference: a thing may have been reported later.
pub(super) const NAMED_TIME: f32 = 0.5;

/// The same for a time the query mentions only vaguely.
pub(super) const ABOUT_TIME: f32 = 0.2;

/// The largest number of different times read from a query; each costs a count, and a pasted log has thousands.
pub(super) const MOST_TIMES: usize = 8;

/// The delay after a time within which people still report on it ("yesterday we…"), in microseconds: two days.
pub(super) const TOLD_LATER: i64 = 2 * 24 * 3600 * 1_000_000;

/// The share of its score that a drawer keeps at any age, if recent drawers are preferred.
pub(super) const OLD_KEEPS: f32 = 0.4;

/// The number of days after which half of the remaining share is gone.
pub(super) const HALF_LIFE_DAYS: f32 = 30.0;

/// The number of words from which on a text may have a few more than its twin.
pub(super) const LONG: usize = 40;

/// The largest number of words that a long text may have more than its twin.
pub(super) const MORE_WORDS: usize = 2;
