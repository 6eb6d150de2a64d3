//! Looking for texts in every byte of a palace's files, and for their words where those are stored in another form.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::Duration;

use aho_corasick::AhoCorasick;
use loci_core::{DrawerContext, DrawerFields, Error, Result, StoredTrace};
use loci_index::postings::TermDirectory;
use loci_index::tokenise::TextIndexer;
use rusqlite::Connection;
use rusqlite::types::ValueRef;

use super::{beside, lost_logs};
use crate::failure::{self, sqlite_error};
use crate::palace::PalaceFile;
use crate::row;
use crate::shelf::CollectionShelf;
use crate::words::{self, WordSegment};

/// The number of bytes read at once.
const CHUNK: usize = 4 << 20;

/// The most traces listed for one text in one file.
const MOST: usize = 100;

/// Looks for texts in the files of a palace and in its indexes.
pub(crate) fn find_traces(
    palace: &PalaceFile,
    wait: Duration,
    texts: &[String],
    watch: &mut dyn FnMut(u64, u64),
) -> Result<Vec<StoredTrace>> {
    let search = TraceSearch::new(texts)?;
    let mut traces = search.search_files(palace.file(), watch)?;
    let found: BTreeSet<usize> = traces.iter().map(|trace| trace.text).collect();
    let file = palace.file().display().to_string();
    let decoded = palace.read(wait, |connection| {
        let mut places = search.search_tables(connection)?;
        for shelf in CollectionShelf::list_all(connection)? {
            places.extend(search.search_words(connection, &shelf)?);
        }
        Ok(places)
    })?;
    // What the bytes have shown need not be said again.
    traces.extend(
        decoded
            .into_iter()
            .filter(|(text, _)| !found.contains(text))
            .map(|(text, place)| StoredTrace {
                text,
                file: file.clone(),
                offset: None,
                place: Some(place),
            }),
    );
    Ok(traces)
}

/// A search for some texts; empty ones are never found.
struct TraceSearch {
    /// Finds the bytes of every text.
    automaton: AhoCorasick,
    /// The number of each pattern's text.
    numbers: Vec<usize>,
    longest: usize,
    /// The words of each text as an index has them, in their order.
    tokens: Vec<Vec<String>>,
}

impl TraceSearch {
    fn new(texts: &[String]) -> Result<Self> {
        let given = texts.iter().enumerate().filter(|(_, text)| !text.is_empty());
        let (numbers, patterns): (Vec<usize>, Vec<&String>) = given.unzip();
        let mut indexer = TextIndexer::default();
        let tokens = texts.iter().map(|text| {
            let joined = indexer.join_index_tokens(text);
            joined
                .split(' ')
                .filter(|token| !token.is_empty())
                .map(str::to_owned)
                .collect()
        });
        Ok(Self {
            longest: patterns.iter().map(|pattern| pattern.len()).max().unwrap_or(0),
            automaton: AhoCorasick::new(&patterns)
                .map_err(|cause| Error::invalid("there are too many texts to look for").caused_by(cause))?,
            numbers,
            tokens: tokens.collect(),
        })
    }

    /// Returns the numbers of the texts in some bytes, with their positions.
    fn search_bytes(&self, bytes: &[u8], mut each: impl FnMut(usize, usize)) {
        for found in self.automaton.find_overlapping_iter(bytes) {
            if let Some(number) = self.numbers.get(found.pattern().as_usize()) {
                each(*number, found.start());
            }
        }
    }

    fn search_files(&self, palace: &Path, watch: &mut dyn FnMut(u64, u64)) -> Result<Vec<StoredTrace>> {
        let mut files: Vec<PathBuf> = ["", "-wal", "-shm", "-journal"]
            .map(|suffix| beside(palace, suffix))
            .into_iter()
            .chain(lost_logs(palace))
            .collect();
        files.retain(|file| file.is_file());
        let total = files
            .iter()
            .filter_map(|file| file.metadata().ok())
            .map(|file| file.len())
            .sum();
        let mut traces = Vec::new();
        let mut read = 0;
        for file in files {
            self.search_file(&file, &mut traces, &mut |bytes| {
                read += bytes;
                watch(read.min(total), total);
            })?;
        }
        Ok(traces)
    }

    fn search_file(
        &self,
        file: &Path,
        traces: &mut Vec<StoredTrace>,
        tick: &mut dyn FnMut(u64),
    ) -> Result<()> {
        let wrong = |cause| failure::io_error("read", file, cause);
        let mut opened = File::open(file).map_err(wrong)?;
        // The end of a chunk is searched again with the next, since a text may lie across the seam.
        let seam = self.longest.saturating_sub(1);
        let mut buffer = Vec::with_capacity(CHUNK + seam);
        let mut start = 0_u64;
        let mut seen: HashMap<usize, BTreeSet<u64>> = HashMap::new();
        loop {
            let read = opened
                .by_ref()
                .take(CHUNK as u64)
                .read_to_end(&mut buffer)
                .map_err(wrong)?;
            self.search_bytes(&buffer, |text, at| {
                let offsets = seen.entry(text).or_default();
                if offsets.len() < MOST {
                    offsets.insert(start + at as u64);
                }
            });
            tick(read as u64);
            if read == 0 {
                break;
            }
            let done = buffer.len().saturating_sub(seam);
            buffer.drain(..done);
            start += done as u64;
        }
        let mut seen: Vec<_> = seen.into_iter().collect();
        seen.sort_unstable_by_key(|(text, _)| *text);
        traces.extend(seen.into_iter().flat_map(|(text, offsets)| {
            offsets.into_iter().map(move |offset| StoredTrace {
                text,
                file: file.display().to_string(),
                offset: Some(offset),
                place: None,
            })
        }));
        Ok(())
    }

    /// Looks at every stored text as a whole: a long one lies on several pages, and the seams break its bytes.
    fn search_tables(&self, connection: &Connection) -> Result<BTreeSet<(usize, String)>> {
        let mut found = BTreeSet::new();
        for table in list_text_tables(connection)? {
            let mut statement = connection
                .prepare(&format!("SELECT * FROM main.\"{table}\""))
                .map_err(sqlite_error)?;
            let id = statement.column_index("id").ok().filter(|_| table == "drawers");
            let columns = statement.column_count();
            let mut rows = statement.query([]).map_err(sqlite_error)?;
            while let Some(row) = rows.next().map_err(sqlite_error)? {
                for column in 0..columns {
                    let ValueRef::Text(text) = row.get_ref(column).map_err(sqlite_error)? else {
                        continue;
                    };
                    let drawer = id.and_then(|id| row.get::<_, String>(id).ok());
                    self.search_bytes(text, |number, _| {
                        let place = match &drawer {
                            Some(id) => format!("drawer {id}"),
                            None => format!("table {table}"),
                        };
                        found.insert((number, place));
                    });
                }
            }
        }
        Ok(found)
    }

    /// Looks for the words of each text in the word index of a collection: drawers that contain all of them, and rows
    /// that no longer exist.
    fn search_words(&self, connection: &Connection, shelf: &CollectionShelf) -> Result<Vec<(usize, String)>> {
        let projection = shelf.projection;
        if !words::tables_exist(connection, projection)? {
            return Ok(Vec::new());
        }
        let rows = self.rows_by_term(connection, projection)?;
        let mut found = Vec::new();
        for (number, tokens) in self.tokens.iter().enumerate() {
            let mut lists: Vec<&Vec<i64>> = Vec::new();
            for token in tokens {
                lists.push(rows.get(token.as_bytes()).unwrap_or(const { &Vec::new() }));
            }
            lists.sort_by_key(|list| list.len());
            let Some((shortest, others)) = lists.split_first() else {
                continue;
            };
            let holding = shortest
                .iter()
                .filter(|row| others.iter().all(|list| list.binary_search(row).is_ok()));
            let mut listed = 0;
            for row in holding {
                if let Some(place) = describe_row(connection, projection, *row, tokens)? {
                    found.push((number, place));
                    listed += 1;
                }
                if listed == MOST {
                    break;
                }
            }
        }
        Ok(found)
    }

    /// Returns the rows of every word looked for, in order, removed rows included.
    fn rows_by_term(&self, connection: &Connection, projection: i64) -> Result<BTreeMap<Vec<u8>, Vec<i64>>> {
        let distinct: BTreeSet<&[u8]> = self.tokens.iter().flatten().map(String::as_bytes).collect();
        let terms: Vec<&[u8]> = distinct.into_iter().collect();
        let mut rows: BTreeMap<Vec<u8>, Vec<i64>> = BTreeMap::new();
        for entry in words::list_word_segments(connection, projection)? {
            let segment = WordSegment::read(connection, projection, &entry)?;
            let blocks = TermDirectory::new(&segment.directory).find_blocks(&terms)?;
            for (term, block) in terms.iter().zip(blocks) {
                let Some(block) = block else { continue };
                segment.with_block(connection, projection, block, |block| {
                    let Some(list) = block.find_term(term)? else {
                        return Ok(());
                    };
                    let held = rows.entry(term.to_vec()).or_default();
                    list.for_each_drawer(|drawer, _| held.extend(segment.rows.get(drawer as usize)))
                })?;
            }
        }
        words::each_unsealed(connection, projection, |row, words| {
            words.find_terms(&terms, |at, _| {
                if let Some(term) = terms.get(at) {
                    rows.entry(term.to_vec()).or_default().push(row);
                }
            })
        })?;
        Ok(rows)
    }
}

/// Returns the tables that hold text. Vectors, packed segments and words are numbers, or stored in another form.
fn list_text_tables(connection: &Connection) -> Result<Vec<String>> {
    let names: Vec<String> = connection
        .prepare("SELECT name FROM main.sqlite_schema WHERE type = 'table' ORDER BY name")
        .and_then(|mut statement| statement.query_map([], |row| row.get(0))?.collect())
        .map_err(sqlite_error)?;
    let is_other = |name: &str| {
        name == "segments" || name == "dead" || name.starts_with("vectors_") || name.starts_with("words_")
    };
    Ok(names.into_iter().filter(|name| !is_other(name)).collect())
}

/// Describes a row that contains all words of a text: `None` if its drawer has them in another order, which is another
/// text.
fn describe_row(
    connection: &Connection,
    projection: i64,
    row: i64,
    tokens: &[String],
) -> Result<Option<String>> {
    let include = DrawerFields {
        document: true,
        context: true,
        ..DrawerFields::NOTHING
    };
    let Some(stored) = row::load_by_row(connection, row, include)? else {
        return Ok(Some(format!("words_{projection}, of a drawer that was removed")));
    };
    let document = stored.drawer.document.as_deref().unwrap_or_default();
    let text = DrawerContext::indexed_text(stored.drawer.context.as_ref(), document);
    let joined = format!(" {} ", TextIndexer::default().join_index_tokens(&text));
    let sought = format!(" {} ", tokens.join(" "));
    Ok(joined
        .contains(&sought)
        .then(|| format!("drawer {}", stored.drawer.id)))
}
