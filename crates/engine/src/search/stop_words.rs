//! Stop words, as the tokeniser folds and stems them.

/// English function words and the remains of contractions. On both development sets keywords find more without them
/// (LoCoMo turn recall at ten .757 against .727).
// Sorted for the binary search. Stems, not spellings: "befor" is "before", "doe" is "does", "whi" is "why".
const ENGLISH: &[&str] = &[
    "a", "about", "after", "all", "also", "am", "an", "and", "ani", "are", "as", "at", "be", "been", "befor",
    "being", "but", "by", "can", "cant", "could", "did", "didnt", "do", "doe", "doesnt", "done", "dont",
    "for", "from", "had", "has", "have", "he", "her", "here", "him", "his", "how", "i", "id", "if", "im",
    "in", "into", "is", "isnt", "it", "its", "ive", "just", "ll", "may", "me", "might", "mine", "must", "my",
    "myself", "no", "not", "of", "on", "or", "our", "out", "s", "shall", "she", "should", "so", "some", "t",
    "than", "that", "the", "their", "them", "then", "there", "these", "they", "this", "those", "to", "us",
    "ve", "was", "wasnt", "we", "were", "what", "when", "where", "whi", "which", "who", "whom", "whose",
    "why", "will", "with", "would", "you", "your",
];

/// First-person words.
// "im", "ive" and "id" are "I'm", "I've" and "I'd" without the apostrophe.
const OWN: &[&str] = &["i", "im", "ive", "id", "me", "mine", "my", "myself"];

/// Words that ask what there is without saying what about, as in "what happened last week".
// Sorted; stems, like the list above.
const HAPPENING: &[&str] = &[
    "anyth", "convers", "discuss", "drawer", "everyth", "find", "go", "happen", "list", "mention", "new",
    "news", "note", "recap", "rememb", "said", "say", "show", "someth", "spoke", "stuff", "summar",
    "summari", "summaris", "talk", "tell", "thing", "told", "updat", "went", "work",
];

/// Returns whether a token only asks what there is.
pub(super) fn is_happening(token: &str) -> bool {
    HAPPENING.binary_search(&token).is_ok()
}

/// Returns whether a token is a stop word.
pub(super) fn is_empty_word(token: &str) -> bool {
    ENGLISH.binary_search(&token).is_ok()
}

/// Returns whether a token is a first-person word.
pub(super) fn is_first_person(token: &str) -> bool {
    OWN.contains(&token)
}

#[cfg(test)]
mod tests {
    use loci_index::tokenise::query_tokens;

    use super::*;

    #[test]
    fn the_list_is_in_order_and_as_the_tokeniser_leaves_words() {
        assert!(ENGLISH.is_sorted());
        let words = "What did I do about this before? Why don't they have any? It's what I'd want.";
        let kept: Vec<String> = query_tokens(words)
            .into_iter()
            .filter(|token| !is_empty_word(token))
            .collect();
        assert_eq!(kept, ["want"]);
    }

    #[test]
    fn words_that_only_ask_what_there_is_are_in_order_and_as_the_tokeniser_leaves_them() {
        assert!(HAPPENING.is_sorted());
        let words =
            "What happened? Show me anything new we discussed, mentioned, said or talked about; summarise";
        let kept: Vec<String> = query_tokens(words)
            .into_iter()
            .filter(|token| !is_empty_word(token) && !is_happening(token))
            .collect();
        assert_eq!(kept, Vec::<String>::new());
    }
}
