//! The constants of ranking, each with its reason.
//!
//! Depth, the balance of the legs, sources, own text and own words were chosen on the development parts of LoCoMo and
//! LongMemEval alone, with one wing for each conversation or haystack and again with everything in one wing, which is
//! harder. `loci-bench eval` measures them; around these values the figures move by less than one question in a hundred.
//! Times, recency and folding were chosen by judgement and are not measured.

/// How many hits each leg gives at least. From 100 to 400 the figures are the same; below, sources with several
/// middling pieces lose the evidence that they have several.
pub(super) const DEPTH: usize = 100;

/// How many hits each leg gives for each one wanted, where many are wanted.
pub(super) const DEPTH_FOR_EACH: usize = 4;

/// How much deeper the legs look when near-identical drawers leave fewer hits than wanted.
pub(super) const DEEPER: usize = 4;

/// What nearness counts where keywords count one. Keywords are right more often about single messages; above 1
/// messages are lost, below 0.5 sources that say it in other words.
pub(super) const NEAREST: f32 = 0.75;

/// How many of a leg's best hits tell how sharp it is on a query.
pub(super) const SHARP_OF: usize = 30;

/// How strongly sharpness moves the balance of the legs: 0 not at all, 1 in proportion. A leg whose best hits stand
/// out from the rest knows something; one that gives thirty hits about the same score is guessing.
pub(super) const SHARPNESS: f32 = 0.6;

/// Keeps the balance finite where a leg is not sharp at all.
pub(super) const SHARPNESS_FLOOR: f32 = 0.05;

/// What the second and third best piece of a source add to each of its pieces: a source that speaks of it three
/// times is likelier to be the one meant. Its best piece would only count twice.
pub(super) const SOURCE: f32 = 0.3;

/// How many pieces beside its best speak for a source.
pub(super) const SOURCE_OF: usize = 2;

/// What a drawer gains that holds all telling words of the query itself. Legs see a drawer with its neighbours' edges,
/// which is right for finding the place and wrong for the order within it: without this the reply to a statement
/// stands above the statement (LoCoMo turn recall at one .28, with it .38; at ten the same).
pub(super) const OWN_TEXT: f32 = 0.3;

/// How many of the best candidates are read with their texts at least; from 30 to 120 the figures are the same.
pub(super) const POOL: usize = 60;

/// How many are read for each hit wanted, where many are wanted.
pub(super) const POOL_FOR_EACH: usize = 3;

/// How many pieces of one source stand where their scores put them.
pub(super) const OF_ONE_SOURCE: usize = 3;

/// What each further piece of it loses, more each time. In ten hits LongMemEval's all@5 is .87 with it and .84 without;
/// LoCoMo's turn recall at ten loses .01.
pub(super) const GIVES_WAY: f32 = 0.1;

/// What is added, as a share, to what a person said where the question says "I" or "my": people ask for what they
/// told of themselves, and a model's long answers hold the same words more often.
pub(super) const OWN_WORDS: f32 = 0.1;

/// What is added to what was said in a time the query names. It puts the best of that time above equals of other times
/// and leaves what has nothing to do with the query below. Only a preference: a thing may have been told later.
pub(super) const NAMED_TIME: f32 = 0.5;

/// The same for a time the query only leans towards.
pub(super) const ABOUT_TIME: f32 = 0.2;

/// How many different times a query may mention; each costs a count, and a log pasted as a query has thousands.
pub(super) const MOST_TIMES: usize = 8;

/// How long after a time things are still said of it as if in it ("yesterday we…"), in microseconds: two days.
pub(super) const TOLD_LATER: i64 = 2 * 24 * 3600 * 1_000_000;

/// How much of its score a drawer keeps, however old, where the newest are asked for.
pub(super) const OLD_KEEPS: f32 = 0.4;

/// After how many days half of the rest is gone.
pub(super) const HALF_LIFE_DAYS: f32 = 30.0;

/// From how many words on a text may have some more than another and still say the same.
pub(super) const LONG: usize = 40;

/// How many more.
pub(super) const MORE_WORDS: usize = 2;
