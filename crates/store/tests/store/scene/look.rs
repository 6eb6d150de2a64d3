//! Asks a palace everything and tells right answers, announced failures and silent lies apart.

use std::path::Path;
use std::sync::Arc;

use loci_core::*;
use loci_store::EmbeddedBackend;

use super::truth::{self, Truth, rare_word};

/// An answer in a form that can be compared, or the error instead.
pub(crate) type Answer = Result<String>;

/// The observations of a palace that may be damaged.
#[derive(Debug, Default)]
pub(crate) struct Look {
    /// Answers that were not given, or given with a warning.
    pub(crate) said: Vec<String>,
    /// Answers that were wrong, and nothing said so. There must be none.
    pub(crate) silent: Vec<String>,
    /// The number of drawers that were read by their ids, complete and correct.
    pub(crate) readable: usize,
    /// The number of hits or drawers that came with a note of their own damage.
    pub(crate) flagged: usize,
    /// The warnings of `info`.
    pub(crate) warnings: Vec<PalaceFinding>,
    /// Whether the examination found something, or could not even begin.
    pub(crate) found: bool,
    /// The codes of what it found.
    pub(crate) codes: Vec<String>,
}

/// A palace that is known to be right, and what it answers.
#[derive(Debug)]
pub(crate) struct Known {
    pub(crate) truth: Truth,
    pub(crate) dimension: usize,
    /// Every so many drawers one is searched for.
    pub(crate) every: usize,
    answers: Vec<(String, String)>,
}

impl Known {
    /// Asks a sound palace, and requires that each drawer searched for comes first.
    pub(crate) fn learn(folder: &Path, truth: Truth, dimension: usize, every: usize) -> Self {
        let mut known = Self {
            truth,
            dimension,
            every,
            answers: Vec::new(),
        };
        let backend = EmbeddedBackend::new();
        let collection = truth::open(&backend, folder, dimension, false).unwrap();
        assert_eq!(known.truth.difference(&Truth::read(&*collection).unwrap()), None);
        let sample: Vec<&Drawer> = known.sample().collect();
        assert_eq!(Truth::unfound(&*collection, sample), Vec::<String>::new());
        let answers = known.ask(&*collection, &mut 0);
        known.answers = answers
            .into_iter()
            .map(|(question, answer)| (question, answer.unwrap()))
            .collect();
        assert_eq!(collection.info().unwrap().warnings, Vec::new());
        backend.close();
        known
    }

    fn sample(&self) -> impl Iterator<Item = &Drawer> {
        self.truth.drawers.values().step_by(self.every)
    }

    /// Every question but the drawers by id; hits with damage are counted.
    fn ask(&self, collection: &dyn Collection, flagged: &mut usize) -> Vec<(String, Answer)> {
        let mut answers = Vec::new();
        let mut note = |question: String, answer: Answer| answers.push((question, answer));
        let with_vector: Vec<&Drawer> = self
            .sample()
            .filter(|drawer| drawer.embedding.is_some())
            .collect();
        for some in with_vector.chunks(8) {
            let request = QueryRequest {
                vectors: some
                    .iter()
                    .filter_map(|drawer| drawer.embedding.clone())
                    .collect(),
                ..QueryRequest::nearest_to(vec![1.0], 3)
            };
            let lists = collection.query(&request);
            let flat = lists.map(|lists| {
                lists
                    .iter()
                    .map(|hits| flat(hits, flagged))
                    .collect::<Vec<_>>()
                    .join("\n")
            });
            note(format!("nearest to {} and its neighbours", some[0].id), flat);
        }
        for drawer in self.sample() {
            let hits = collection.lexical(&LexicalRequest::for_words(rare_word(drawer), 3));
            note(
                format!("words of {}", drawer.id),
                hits.map(|hits| flat(&hits, flagged)),
            );
        }
        for filter in ["{}", r#"{"tenth": 3}"#, r#"{"half": {"$gt": 700.5}}"#] {
            let accepts = Filter::parse_str(filter).unwrap();
            note(
                format!("count {filter}"),
                collection.count(&accepts.clone().into()).map(|n| n.to_string()),
            );
            let request = FacetRequest {
                filter: accepts.clone(),
                ..FacetRequest::by_room()
            };
            note(
                format!("facets {filter}"),
                collection.facets(&request).map(|all| format!("{all:?}")),
            );
            note(format!("list {filter}"), listed(collection, &accepts, flagged));
        }
        note("changes".to_owned(), changes(collection));
        let told = |info: CollectionInfo| {
            format!(
                "{} {:?} {:?} {:?}",
                info.drawers, info.coverage, info.seq, info.dimension
            )
        };
        note("info".to_owned(), collection.info().map(told));
        answers
    }

    /// Looks at a palace that may be damaged: everything is asked, and then it is examined.
    pub(crate) fn look(&self, folder: &Path) -> Look {
        let mut look = Look::default();
        let backend = EmbeddedBackend::new();
        match truth::open(&backend, folder, self.dimension, false) {
            Ok(collection) => self.look_through(&collection, &mut look),
            Err(error) => look.fails("open", &error),
        }
        backend.close();
        match EmbeddedBackend::new().examine(folder) {
            Ok(diagnosis) => {
                look.found = !diagnosis.healthy;
                look.codes = diagnosis
                    .findings
                    .iter()
                    .map(|finding| finding.code.clone())
                    .collect();
                let mute = diagnosis.findings.iter().filter(|finding| {
                    finding.severity == FindingSeverity::Error
                        && finding.hint.is_none()
                        && !finding.code.ends_with("_differs")
                });
                look.silent
                    .extend(mute.map(|finding| format!("a finding without a next step: {finding:?}")));
            }
            Err(error) => {
                look.found = true;
                look.fails("examine", &error);
            }
        }
        if !look.said.is_empty() && !look.found {
            look.silent
                .push(format!("examined, it is healthy, yet: {}", look.said[0]));
        }
        look
    }

    fn look_through(&self, collection: &Arc<dyn Collection>, look: &mut Look) {
        let answers = self.ask(&**collection, &mut look.flagged);
        self.read_all(&**collection, look);
        match collection.info() {
            Ok(info) => look.warnings = info.warnings,
            Err(error) => look.fails("info", &error),
        }
        for ((question, answer), (_, right)) in answers.into_iter().zip(&self.answers) {
            match answer {
                Ok(answer) if answer == *right => {}
                Ok(answer) if answer.contains("damage") || !look.warnings.is_empty() => {
                    look.said.push(format!("{question}: {answer}"));
                }
                Ok(answer) => look
                    .silent
                    .push(format!("{question}: {answer} instead of {right}")),
                Err(error) => look.fails(&question, &error),
            }
        }
    }

    /// Reads every drawer by its id, many at once where that works.
    fn read_all(&self, collection: &dyn Collection, look: &mut Look) {
        let ids: Vec<&DrawerId> = self.truth.drawers.keys().collect();
        let read = |ids: &[&DrawerId]| {
            collection.get(&GetRequest {
                include: DrawerFields::EVERYTHING,
                ..GetRequest::by_ids(ids.iter().map(|id| (*id).clone()))
            })
        };
        let right = |ids: &[&DrawerId], found: &[Drawer]| {
            ids.len() == found.len()
                && ids
                    .iter()
                    .zip(found)
                    .all(|(id, drawer)| self.truth.drawers[*id] == *drawer)
        };
        for some in ids.chunks(50) {
            if read(some).is_ok_and(|found| right(some, &found)) {
                look.readable += some.len();
                continue;
            }
            for id in some {
                match read(&[id]) {
                    Ok(found) if right(&[id], &found) => look.readable += 1,
                    Ok(found) if found.iter().any(|drawer| !drawer.damage.is_empty()) => {
                        look.flagged += 1;
                        look.said.push(format!("{id}: {:?}", found[0].damage));
                        // A lost vector does not make the text unreadable.
                        look.readable += usize::from(found[0].document == self.truth.drawers[*id].document);
                    }
                    Ok(found) => look.silent.push(format!("get {id}: {found:?}")),
                    Err(error) => look.fails(&format!("get {id}"), &error),
                }
            }
        }
    }
}

impl Look {
    /// Notes an error; one that does not say what to do, or is not about the file, is a silent fault.
    fn fails(&mut self, question: &str, error: &Error) {
        let about_the_file = matches!(
            error.kind(),
            ErrorKind::Corrupt | ErrorKind::Format | ErrorKind::Io
        );
        let line = format!("{question}: {error:?}");
        if about_the_file && error.hint_text().is_some() {
            self.said.push(line);
        } else {
            self.silent.push(line);
        }
    }
}

fn flat(hits: &[DrawerHit], flagged: &mut usize) -> String {
    let one = |hit: &DrawerHit| {
        *flagged += usize::from(!hit.drawer.damage.is_empty());
        let damage = match hit.drawer.damage.first() {
            Some(what) => format!(" damage: {what}"),
            None => String::new(),
        };
        format!(
            "{} {} {:?}{damage}",
            hit.drawer.id, hit.score, hit.drawer.document
        )
    };
    hits.iter().map(one).collect::<Vec<_>>().join("; ")
}

/// Every id the filter accepts with the length of its text, a page at a time.
fn listed(collection: &dyn Collection, filter: &Filter, flagged: &mut usize) -> Answer {
    let mut lines = String::new();
    let mut after = None;
    loop {
        let page = collection.get(&GetRequest {
            filter: filter.clone(),
            after,
            limit: Some(500),
            ..GetRequest::default()
        })?;
        for drawer in &page {
            *flagged += usize::from(!drawer.damage.is_empty());
            let damage = if drawer.damage.is_empty() { "" } else { " damage" };
            lines += &format!(
                "{} {:?}{damage}\n",
                drawer.id,
                drawer.document.as_ref().map(String::len)
            );
        }
        match page.last() {
            Some(last) => after = Some(DrawerPosition::Id(last.id.clone())),
            None => return Ok(lines),
        }
    }
}

fn changes(collection: &dyn Collection) -> Answer {
    let mut lines = String::new();
    let mut cursor = Cursor(0);
    loop {
        let ChangePage { changes, next } = collection.require_feed().unwrap().changes_since(cursor, 700)?;
        if changes.is_empty() {
            return Ok(lines);
        }
        for change in changes {
            lines += &format!("{} {:?} {}\n", change.seq, change.op, change.id);
        }
        cursor = next;
    }
}
