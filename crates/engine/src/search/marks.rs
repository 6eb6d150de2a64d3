//! Finds the words of a query in a text, and the part of a long text that shows most of them.

use std::collections::HashSet;
use std::ops::Range;

use loci_index::tokenise::TextIndexer;
use unicode_segmentation::UnicodeSegmentation;

/// Returns the byte ranges of `text` that match one of `words`, given as the index stores them (see
/// `PlanReport::words`).
///
/// The ranges are in order, do not overlap, and lie on character boundaries.
pub fn mark_words(text: &str, words: &[String]) -> Vec<Range<usize>> {
    let wanted: HashSet<&str> = words.iter().map(String::as_str).collect();
    let initials = list_initials(words);
    let mut indexer = TextIndexer::for_short_texts();
    let mut found: Vec<Range<usize>> = Vec::new();
    for (at, run) in text.unicode_word_indices() {
        // Stems are compared, not spellings, so that "shipping" is marked for "ship" as the index matched it.
        if may_hold(run, &initials) && indexer.holds_query_token(run, &wanted) {
            found.push(at..at + run.len());
        }
    }
    // Scripts without spaces are indexed in pairs of characters, while their Unicode words are often one character, so
    // the loop above misses them.
    for word in words.iter().filter(|word| !word.is_ascii()) {
        found.extend(
            text.match_indices(word.as_str())
                .map(|(at, held)| at..at + held.len()),
        );
    }
    join_ranges(found)
}

/// Returns the bytes with which a word begins.
fn list_initials(words: &[String]) -> [bool; 256] {
    let mut initials = [false; 256];
    for byte in words.iter().filter_map(|word| word.as_bytes().first()) {
        if let Some(initial) = initials.get_mut(usize::from(*byte)) {
            *initial = true;
        }
    }
    initials
}

/// Returns false for most runs that hold none of the words, at a glance: a run of ASCII letters is one token, and
/// stemming never changes its first letter.
fn may_hold(run: &str, initials: &[bool; 256]) -> bool {
    let bytes = run.as_bytes();
    let first = bytes.first().map_or(0, u8::to_ascii_lowercase);
    initials.get(usize::from(first)).is_none_or(|is| *is) || !bytes.iter().all(u8::is_ascii_alphabetic)
}

/// Sorts ranges and merges those that touch or overlap.
fn join_ranges(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match joined.last_mut().filter(|last| range.start <= last.end) {
            Some(last) => last.end = last.end.max(range.end),
            None => joined.push(range),
        }
    }
    joined
}

/// Returns the part of `text` of at most `length` bytes with the most marks, cut between words if possible.
pub fn choose_excerpt(text: &str, marks: &[Range<usize>], length: usize) -> Range<usize> {
    if text.len() <= length {
        return 0..text.len();
    }
    let begin = find_fullest_stretch(marks, length);
    // A few words before the first mark give it context.
    let begin = begin.saturating_sub(length / 6);
    // Near the end of the text the excerpt begins earlier, so that it is as long as requested.
    let begin = begin.min(text.len() - length);
    let start = match begin {
        0 => 0,
        begin => find_next_break(text, begin),
    };
    let end = match start.saturating_add(length) {
        end if end >= text.len() => text.len(),
        end => find_last_break(text, start, end),
    };
    start..end
}

/// Returns the start of the first window of `length` bytes with the most marks.
fn find_fullest_stretch(marks: &[Range<usize>], length: usize) -> usize {
    // `end` never moves back, so a text with very many marks still takes linear time.
    let (mut best, mut most, mut end) = (0, 0, 0);
    for (at, mark) in marks.iter().enumerate() {
        while marks
            .get(end)
            .is_some_and(|other| other.end <= mark.start.saturating_add(length))
        {
            end += 1;
        }
        if end.saturating_sub(at) > most {
            (best, most) = (mark.start, end - at);
        }
    }
    best
}

/// Returns the first word start at or after `from` within 40 bytes, else the next character boundary.
fn find_next_break(text: &str, from: usize) -> usize {
    let from = text.ceil_char_boundary(from);
    let near = text
        .get(from..text.floor_char_boundary((from + 40).min(text.len())))
        .unwrap_or_default();
    match near.char_indices().find(|(_, c)| c.is_whitespace()) {
        Some((at, c)) => from + at + c.len_utf8(),
        None => from,
    }
}

/// Returns the last word end within 40 bytes before `to`, else the previous character boundary.
fn find_last_break(text: &str, start: usize, to: usize) -> usize {
    let to = text.floor_char_boundary(to);
    let near = text.get(start..to).unwrap_or_default();
    // Text without spaces (a URL, Chinese) would lose most of the excerpt if the cut went back any further.
    match near.rfind(char::is_whitespace) {
        Some(at) if near.len() - at <= 40 => start + at,
        _ => to,
    }
}

#[cfg(test)]
mod tests {
    use loci_index::tokenise;
    use proptest::prelude::*;

    use super::*;

    fn marked<'a>(text: &'a str, query: &str) -> Vec<&'a str> {
        let words = tokenise::query_tokens(query);
        mark_words(text, &words)
            .into_iter()
            .map(|range| &text[range])
            .collect()
    }

    #[test]
    fn words_are_marked_in_every_form_the_index_finds() {
        assert_eq!(
            marked("Shipping ships, SHIPPED. A shop.", "ship"),
            ["Shipping", "ships", "SHIPPED"]
        );
        assert_eq!(marked("Wir grüßen Zürich", "zurich"), ["Zürich"]);
        assert_eq!(marked("东京都的天气", "天气"), ["天气"]);
        assert_eq!(marked("nothing here", "ship"), [""; 0]);
    }

    #[test]
    fn a_long_text_is_shown_where_most_words_are() {
        let text = format!(
            "{} ship on friday morning {}",
            "filler ".repeat(100),
            "rest ".repeat(100)
        );
        let words = tokenise::query_tokens("ship friday");
        let range = choose_excerpt(&text, &mark_words(&text, &words), 80);
        assert!(
            text[range.clone()].contains("ship on friday"),
            "{:?}",
            &text[range]
        );
    }

    #[test]
    fn a_text_with_very_many_marks_is_cut_at_once() {
        let text = "ship it ".repeat(100_000);
        let marks = mark_words(&text, &tokenise::query_tokens("ship"));
        assert_eq!(marks.len(), 100_000);
        assert_eq!(choose_excerpt(&text, &marks, 80), 0..79);
    }

    /// Marks word by word, each with the tokens of a query of its own.
    fn mark_slowly(text: &str, words: &[String]) -> Vec<Range<usize>> {
        let holds = |run: &str| {
            tokenise::query_tokens(run)
                .iter()
                .any(|token| words.contains(token))
        };
        let runs = text.unicode_word_indices().filter(|(_, run)| holds(run));
        let mut found: Vec<Range<usize>> = runs.map(|(at, run)| at..at + run.len()).collect();
        for word in words.iter().filter(|word| !word.is_ascii()) {
            found.extend(
                text.match_indices(word.as_str())
                    .map(|(at, held)| at..at + held.len()),
            );
        }
        join_ranges(found)
    }

    proptest! {
        #[test]
        fn skipping_words_by_their_first_letter_changes_no_mark(
            text in "([A-Za-z]{1,3}(ing|ed|ies|ly|s|ation|'s)?[ _.'-]|dying |Shipping |\\PC ){0,40}",
            query in "([a-z]{1,3}(ing|ed|s)? |dying |die |ship |\\PC ){0,6}",
        ) {
            let words = tokenise::query_tokens(&query);
            prop_assert_eq!(mark_words(&text, &words), mark_slowly(&text, &words));
        }

        #[test]
        fn any_text_can_be_marked_and_cut(text in "\\PC{0,300}", query in "\\PC{0,40}", length in 0_usize..200) {
            let marks = mark_words(&text, &tokenise::query_tokens(&query));
            for range in &marks {
                prop_assert!(text.get(range.clone()).is_some_and(|held| !held.is_empty()));
            }
            prop_assert!(marks.windows(2).all(|pair| pair[0].end < pair[1].start));
            let shown = choose_excerpt(&text, &marks, length);
            prop_assert!(text.get(shown.clone()).is_some());
            prop_assert!(shown.len() <= length.max(text.len().min(length)));
        }
    }
}
