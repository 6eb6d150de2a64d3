//! The results of scans over a collection, kept until its files change.
//!
//! Another program's indexes are not trusted, so filters and words are answered by reading every record. One search asks
//! several times: how many drawers are in scope, which of them hold its words, which of its words no drawer holds. The
//! first question of each kind reads the records, the others are answered from here. The memory belongs to one state of
//! the records and is dropped with it.

use std::collections::HashMap;
use std::sync::Arc;

use loci_core::{DrawerFields, Result};
use loci_index::tokenise::TextIndexer;

use super::{ReadScope, ScanDeadline, ScannedRecords};

/// The most scopes that are kept: a search asks for its own, with and without tool output, and for one per time it names.
const SCOPES: usize = 12;

/// The most occurrences of words that are kept: 32 MB.
const OCCURRENCES: usize = 4_000_000;

/// What scans of one collection found.
#[derive(Debug, Default)]
pub struct ScanMemory {
    /// The scopes asked for last, newest last.
    scopes: Vec<KeptScope>,
    /// The number of words in each record, once all were read.
    lengths: Option<Arc<[u32]>>,
    /// The records that hold a word.
    words: HashMap<String, Arc<[WordOccurrence]>>,
    /// The number of occurrences in `words`.
    kept: usize,
}

/// The records in one scope.
#[derive(Debug)]
struct KeptScope {
    name: String,
    members: Arc<[bool]>,
}

/// A record that holds a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WordOccurrence {
    /// The index of the record.
    pub(crate) at: u32,
    /// How often it holds the word.
    pub(crate) count: u32,
}

/// The words of a query in every record of a collection.
#[derive(Debug)]
pub(crate) struct ScannedWords {
    /// The number of words in each record.
    pub(crate) lengths: Arc<[u32]>,
    /// The records that hold each word, in the order of the words asked for.
    pub(crate) occurrences: Vec<Arc<[WordOccurrence]>>,
}

impl ScanMemory {
    /// Returns for each record whether it is in scope.
    pub(crate) fn find_members(
        &mut self,
        records: &dyn ScannedRecords,
        scope: &ReadScope<'_>,
        deadline: ScanDeadline,
    ) -> Result<Arc<[bool]>> {
        let name = scope.name();
        if let Some(at) = self.scopes.iter().position(|kept| kept.name == name) {
            let kept = self.scopes.remove(at);
            let members = Arc::clone(&kept.members);
            self.scopes.push(kept);
            return Ok(members);
        }
        let mut members = vec![scope.is_all(); records.count()];
        if !scope.is_all() {
            let include = scope.required_fields(DrawerFields::NOTHING);
            records.for_each_drawer(include, &mut |at, drawer| {
                deadline.check()?;
                if let Some(member) = members.get_mut(at) {
                    *member = scope.accepts(&drawer);
                }
                Ok(())
            })?;
        }
        let members: Arc<[bool]> = members.into();
        if self.scopes.len() >= SCOPES {
            self.scopes.remove(0);
        }
        self.scopes.push(KeptScope {
            name,
            members: Arc::clone(&members),
        });
        Ok(members)
    }

    /// Returns the records that hold each of `words`, which are words as the index stores them.
    pub(crate) fn find_words(
        &mut self,
        records: &dyn ScannedRecords,
        words: &[String],
        deadline: ScanDeadline,
    ) -> Result<ScannedWords> {
        let unread: Vec<&String> = words
            .iter()
            .filter(|word| !self.words.contains_key(*word))
            .collect();
        let lengths = match &self.lengths {
            Some(lengths) if unread.is_empty() => Arc::clone(lengths),
            _ => self.scan_texts(records, &unread, deadline)?,
        };
        let found = words
            .iter()
            .map(|word| self.words.get(word).cloned().unwrap_or_default());
        let occurrences = found.collect();
        if self.kept > OCCURRENCES {
            self.words.clear();
            self.kept = 0;
        }
        Ok(ScannedWords { lengths, occurrences })
    }

    /// Reads every text, counts `words` in it, and returns the number of words in each.
    fn scan_texts(
        &mut self,
        records: &dyn ScannedRecords,
        words: &[&String],
        deadline: ScanDeadline,
    ) -> Result<Arc<[u32]>> {
        let places = WordPlaces::new(words);
        let mut lengths = vec![0_u32; records.count()];
        let mut found: Vec<Vec<WordOccurrence>> = vec![Vec::new(); words.len()];
        let mut counts = vec![0_u32; words.len()];
        // One indexer for all texts: it remembers the stems of their words.
        let mut indexer = TextIndexer::default();
        records.for_each_text(&mut |at, text| {
            deadline.check()?;
            let mut length = 0;
            indexer.for_each_index_token(text, &mut |token| {
                length += 1;
                if let Some(count) = places.find(token).and_then(|place| counts.get_mut(place)) {
                    *count += 1;
                }
            });
            if let Some(kept) = lengths.get_mut(at) {
                *kept = length;
            }
            for (count, found) in counts.iter_mut().zip(&mut found) {
                if *count > 0 {
                    let count = std::mem::take(count);
                    found.push(WordOccurrence { at: at as u32, count });
                }
            }
            Ok(())
        })?;
        for (word, found) in words.iter().zip(found) {
            self.kept += found.len();
            self.words.insert((*word).clone(), found.into());
        }
        let lengths: Arc<[u32]> = lengths.into();
        self.lengths = Some(Arc::clone(&lengths));
        Ok(lengths)
    }
}

/// The places of a few words in a list, found faster than the many other words of a text are hashed.
struct WordPlaces<'w> {
    places: HashMap<&'w str, usize>,
    /// Whether a word begins with this byte.
    beginnings: [bool; 256],
}

impl<'w> WordPlaces<'w> {
    fn new(words: &[&'w String]) -> Self {
        let mut beginnings = [false; 256];
        for byte in words.iter().filter_map(|word| word.bytes().next()) {
            if let Some(begins) = beginnings.get_mut(usize::from(byte)) {
                *begins = true;
            }
        }
        let places = words.iter().enumerate();
        Self {
            places: places.map(|(place, word)| (word.as_str(), place)).collect(),
            beginnings,
        }
    }

    fn find(&self, word: &str) -> Option<usize> {
        let first = usize::from(*word.as_bytes().first()?);
        let may_be = self.beginnings.get(first).copied().unwrap_or_default();
        may_be.then(|| self.places.get(word).copied()).flatten()
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use loci_core::{DocumentFilter, Drawer, DrawerId, Filter, Metric, Visibility};

    use super::*;

    /// Records that count how often they are read.
    struct CountedRecords {
        texts: Vec<&'static str>,
        memory: RefCell<ScanMemory>,
        reads: Cell<usize>,
    }

    impl CountedRecords {
        fn new(texts: &[&'static str]) -> Self {
            Self {
                texts: texts.to_vec(),
                memory: RefCell::default(),
                reads: Cell::new(0),
            }
        }

        fn find(&self, words: &[&str]) -> (ScannedWords, usize) {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let deadline = ScanDeadline::begin(None).unwrap();
            let found = self
                .memory
                .borrow_mut()
                .find_words(self, &words, deadline)
                .unwrap();
            (found, self.reads.take())
        }
    }

    impl ScannedRecords for CountedRecords {
        fn count(&self) -> usize {
            self.texts.len()
        }

        fn in_row_order(&self) -> Box<dyn Iterator<Item = usize> + '_> {
            Box::new((0..self.texts.len()).rev())
        }

        fn search_id(&self, _id: &DrawerId) -> std::result::Result<usize, usize> {
            Err(0)
        }

        fn read_drawer(&self, at: usize, _include: DrawerFields) -> Result<Drawer> {
            let mut drawer = Drawer::with_id_only(DrawerId::new(format!("d{at}"))?);
            drawer.document = self.read_text(at)?;
            Ok(drawer)
        }

        fn read_text(&self, at: usize) -> Result<Option<String>> {
            self.reads.set(self.reads.get() + 1);
            Ok(self.texts.get(at).map(|text| (*text).to_owned()))
        }

        fn memory(&self) -> Option<&RefCell<ScanMemory>> {
            Some(&self.memory)
        }

        fn read_vector(&self, _at: usize) -> Result<Option<Vec<f32>>> {
            Ok(None)
        }

        fn dimension(&self) -> Option<usize> {
            None
        }

        fn metric(&self) -> Metric {
            Metric::default()
        }
    }

    #[test]
    fn words_that_were_counted_before_cost_no_second_reading() {
        let records = CountedRecords::new(&["red red blue", "blue", ""]);
        let (found, reads) = records.find(&["red", "blue"]);
        assert_eq!((&*found.lengths, reads), (&[3, 1, 0][..], 3));
        let occurrence = |at, count| WordOccurrence { at, count };
        assert_eq!(&*found.occurrences[0], [occurrence(0, 2)]);
        assert_eq!(&*found.occurrences[1], [occurrence(1, 1), occurrence(0, 1)]);
        let (again, reads) = records.find(&["blue"]);
        assert_eq!((&again.occurrences[0], reads), (&found.occurrences[1], 0));
        let (other, reads) = records.find(&["blue", "gold"]);
        assert_eq!((other.occurrences[1].len(), reads), (0, 3));
        assert_eq!(other.occurrences[0], found.occurrences[1]);
    }

    #[test]
    fn a_scope_is_read_once_and_told_apart_from_others() {
        let records = CountedRecords::new(&["red", "blue"]);
        let members = |text: &str| {
            let document = DocumentFilter::Contains(text.to_owned());
            let scope = ReadScope::narrow(&Visibility::new(Filter::All), &Filter::All, &document);
            let deadline = ScanDeadline::begin(None).unwrap();
            let found = records
                .memory
                .borrow_mut()
                .find_members(&records, &scope, deadline);
            (found.unwrap().to_vec(), records.reads.take())
        };
        assert_eq!(members("red"), (vec![true, false], 2));
        assert_eq!(members("blue"), (vec![false, true], 2));
        assert_eq!(members("red"), (vec![true, false], 0));
        for n in 0..SCOPES {
            members(&n.to_string());
        }
        assert_eq!(members("red").1, 2, "only the scopes asked for last are kept");
    }
}
