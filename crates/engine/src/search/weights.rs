//! The constants of ranking, each with its reason.
//!
//! Depth, the balance of the legs, sources, own text and own words were chosen on the development parts of LoCoMo and
//! LongMemEval alone, with one wing for each conversation or haystack and again with everything in one wing, which is
//! harder. `loci-bench eval` measures them; around these values the figures move by less than one question in a
//! hundred. Times, recency and folding were chosen by judgement and are not measured.

/// The smallest number of hits requested of each leg. Below, sources with several middling pieces lose their mutual
/// support.
pub(super) const DEPTH: usize = 100;

/// The number of drawers in scope for each hit requested of a leg, and the most hits requested at first. At 1,500
/// drawers a depth of 100 finds as much as one of 400; among 200,000 it loses sources that a depth of 1,000 finds.
pub(super) const DEPTH_SHARE: usize = 200;
pub(super) const DEEPEST: usize = 1000;

/// The most hits by meaning requested at first where answers are approximate. More would have to be sought in so many
/// lists of an index that comparing every drawer costs less.
pub(super) const APPROXIMATE_DEPTH: usize = 150;

/// The number of drawers read at first to rank by words alone.
pub(super) const WORDS_ROUND: usize = 200;

/// The factor by which the depth grows if near-identical drawers leave fewer hits than wanted.
pub(super) const DEEPER: usize = 4;

/// The weight of the leg by meaning, where keywords weigh one. Keywords are right more often about single messages;
/// above 1 messages are lost, below 0.5 sources that use other words.
pub(super) const NEAREST: f32 = 0.75;

/// The share of a query that a model must know for its nearness to count at all, and to count in full. English questions
/// are known to more than .8, those in other languages of the Latin script to about half.
pub(super) const KNOWN: (f32, f32) = (0.4, 0.8);

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

/// The same boost if the query has at most so many words but stop words: who types one or two words wants the drawers
/// that hold them. For whole questions this much would lose answers in other words (LoCoMo turn recall at ten, among
/// 312,000 drawers, .72 with 0.3 and .70 with 0.8).
pub(super) const OWN_TEXT_OF_WORDS: f32 = 1.0;
pub(super) const FEW_WORDS: usize = 2;

/// The boost of the candidate whose own text matches the query's words best, if the model knows nothing of the query. It
/// falls to nothing where the model knows the query, as it knows English ones. At 0.6 Polish and Chinese pages that match
/// best are passed by others with many pieces; at 4 the support of sources is lost in Spanish and German.
pub(super) const OWN_MATCH: f32 = 2.0;

/// The number of candidates read with their texts at a time; from 30 to 120 the figures are the same.
pub(super) const POOL: usize = 60;

/// The number of each leg's best hits that are always in the first pool.
pub(super) const LEADERS: usize = 10;

/// The boost of a drawer that holds every literal of the query, which is more than all other evidence together, and of
/// one that defines a literal.
pub(super) const LITERAL: f32 = 3.0;
pub(super) const DEFINITION: f32 = 1.0;

/// The probability from which on a hit is called a likely answer. Of the development questions 5 in 100 are below it, of
/// the same questions without their evidence 28 in 100.
pub(super) const LIKELY: f32 = 0.3;

/// The probability of a hit that holds every literal of the query, and of one said in the time that alone was asked for.
pub(super) const LITERAL_LIKELIHOOD: f32 = 0.95;
pub(super) const TIME_LIKELIHOOD: f32 = 0.9;

/// The most words of a query that are looked up one by one.
pub(super) const MOST_WORDS_LOOKED_UP: usize = 16;

/// The boost of a drawer that holds a short query as it stands.
pub(super) const PHRASE: f32 = 0.5;

/// The number of drawers read for each literal of a query, and the most literals read from one.
pub(super) const LITERAL_DEPTH: usize = 300;
pub(super) const MOST_LITERALS: usize = 4;

/// The bytes at the beginning of a query in which literals are looked for.
pub(super) const LITERALS_WITHIN: usize = 2000;

/// The most bytes of a literal, and the most words of a phrase.
pub(super) const LONGEST_LITERAL: usize = 200;
pub(super) const LONGEST_PHRASE: usize = 6;

/// The number of pieces of one source that keep their full score.
pub(super) const OF_ONE_SOURCE: usize = 3;

/// The score that each further piece loses, multiplied by its number past the limit. In ten hits LongMemEval's all@5
/// is .87 with it and .84 without; LoCoMo's turn recall at ten loses .01.
pub(super) const GIVES_WAY: f32 = 0.1;

/// The share of their words from which on two texts are alike. Texts from files and other untrusted places that are
/// alike give way to each other like the pieces of one source, or a few copies of a lie would bury what is true.
pub(super) const ALIKE: f32 = 0.5;

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

/// The most occurrences of a month or weekday that are looked at for drawers; each costs a count.
pub(super) const MOST_OCCURRENCES: usize = 60;

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
