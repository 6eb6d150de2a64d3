//! How well each leg finds the evidence, alone and fused, on sets with known answers.

mod legs;
mod sets;

use std::collections::BTreeMap;
use std::path::Path;

use loci_core::{Embedder, Error, ErrorKind, Result};
use loci_embed::builtin::Builtin;
use loci_embed::minilm::Minilm;
use serde_json::{Value, json};

use legs::{Words, nearness, standard, sum};
use sets::{Question, Set};

/// The weights of the dense leg that are tried beside keywords.
const WEIGHTS: [f32; 6] = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0];

/// Scores every leg on the sets in `folder`: keywords, the built-in table or another, and the full model if given.
pub(crate) fn measure(folder: &Path, table: Option<&Path>, minilm: Option<&Path>) -> Result<Value> {
    let builtin = match table {
        Some(path) => {
            let bytes = std::fs::read(path).map_err(|error| {
                Error::new(ErrorKind::Io, format!("cannot read {}", path.display())).caused_by(error)
            })?;
            // Read once for the life of the process.
            Builtin::over(Box::leak(bytes.into_boxed_slice()))?
        }
        None => Builtin::new()?,
    };
    let minilm = minilm.map(Minilm::new);
    let mut embedders = vec![
        Candidate::new("builtin", &builtin, true),
        Candidate::new("builtin, pieces only", &builtin, false),
    ];
    // The full model takes minutes for the pieces alone.
    embedders.extend(
        minilm
            .as_ref()
            .map(|minilm| Candidate::new("minilm, pieces only", minilm, false)),
    );
    measure_all(folder, &embedders)
}

fn measure_all(folder: &Path, embedders: &[Candidate<'_>]) -> Result<Value> {
    let mut report = serde_json::Map::new();
    for set in sets::load(folder)? {
        report.insert(set.name.to_owned(), measure_set(&set, embedders)?);
    }
    Ok(Value::Object(report))
}

fn measure_set(set: &Set, embedders: &[Candidate<'_>]) -> Result<Value> {
    let mut figures = BTreeMap::new();
    let keywords = Keywords::new(set);
    let scored: Vec<Scored<'_>> = set
        .questions
        .iter()
        .map(|question| keywords.score(set, question))
        .collect();
    type Pick = fn(&Scored<'_>) -> Vec<f32>;
    let alone: [(&str, Pick); 4] = [
        ("keywords: piece", |scored| scored.piece.clone()),
        ("keywords: piece and neighbours", |scored| scored.around.clone()),
        ("keywords: session", |scored| scored.session.clone()),
        ("keywords: all three", |scored| scored.keywords()),
    ];
    for (name, pick) in alone {
        figures.insert(name.to_owned(), tally(set, &scored, |_, scored| pick(scored)));
    }
    for candidate in embedders {
        dense(set, &scored, candidate, &mut figures)?;
    }
    Ok(json!({ "pieces": set.pieces.len(), "questions": set.questions.len(), "figures": figures }))
}

/// An embedder to measure, and whether it also embeds pieces between their neighbours.
struct Candidate<'a> {
    name: &'a str,
    embedder: &'a dyn Embedder,
    neighbours: bool,
}

impl<'a> Candidate<'a> {
    fn new(name: &'a str, embedder: &'a dyn Embedder, neighbours: bool) -> Self {
        Self {
            name,
            embedder,
            neighbours,
        }
    }
}

/// One embedder's leg alone and beside keywords.
fn dense(
    set: &Set,
    scored: &[Scored<'_>],
    candidate: &Candidate<'_>,
    figures: &mut BTreeMap<String, Value>,
) -> Result<()> {
    let (name, embedder) = (candidate.name, candidate.embedder);
    let texts: Vec<&str> = set.pieces.iter().map(|piece| piece.text.as_str()).collect();
    let texts = embedder.passages(&texts)?;
    let asked = set
        .questions
        .iter()
        .map(|question| embedder.query(&question.text));
    let asked: Vec<Vec<f32>> = asked.collect::<Result<_>>()?;
    let near = |vectors: &[Vec<f32>], at: usize, scored: &Scored<'_>| {
        let asked = asked.get(at).map(Vec::as_slice).unwrap_or_default();
        nearness(vectors, asked, &scored.among)
    };
    let arounds = match candidate.neighbours {
        true => {
            let arounds: Vec<&str> = set.pieces.iter().map(|piece| piece.around.as_str()).collect();
            embedder.passages(&arounds)?
        }
        false => Vec::new(),
    };
    let leg = |at: usize, scored: &Scored<'_>| {
        let text = near(&texts, at, scored);
        match arounds.is_empty() {
            true => text,
            false => sum(&[
                (0.5, &standard(&text)),
                (0.5, &standard(&near(&arounds, at, scored))),
            ]),
        }
    };
    figures.insert(
        format!("{name}: piece"),
        tally(set, scored, |at, s| near(&texts, at, s)),
    );
    if candidate.neighbours {
        let around = tally(set, scored, |at, s| near(&arounds, at, s));
        figures.insert(format!("{name}: piece and neighbours"), around);
    }
    for weight in WEIGHTS {
        let fused = |at: usize, s: &Scored<'_>| {
            sum(&[(1.0, &standard(&s.keywords())), (weight, &standard(&leg(at, s)))])
        };
        figures.insert(format!("{name}: fused at {weight}"), tally(set, scored, fused));
    }
    Ok(())
}

/// The keyword legs of a set.
struct Keywords {
    pieces: Words,
    arounds: Words,
    sessions: Words,
}

/// What keywords say of the pieces a question may find.
struct Scored<'a> {
    question: &'a Question,
    among: Vec<usize>,
    piece: Vec<f32>,
    around: Vec<f32>,
    session: Vec<f32>,
}

impl Scored<'_> {
    fn keywords(&self) -> Vec<f32> {
        sum(&[
            (1.0, &standard(&self.around)),
            (0.5, &standard(&self.piece)),
            (0.5, &standard(&self.session)),
        ])
    }
}

impl Keywords {
    fn new(set: &Set) -> Self {
        let sessions = set
            .pieces
            .iter()
            .map(|piece| piece.session + 1)
            .max()
            .unwrap_or(0);
        let mut whole = vec![String::new(); sessions];
        for piece in &set.pieces {
            if let Some(session) = whole.get_mut(piece.session) {
                session.push_str(&piece.text);
                session.push('\n');
            }
        }
        Self {
            pieces: Words::new(set.pieces.iter().map(|piece| piece.text.as_str())),
            arounds: Words::new(set.pieces.iter().map(|piece| piece.around.as_str())),
            sessions: Words::new(whole.iter().map(String::as_str)),
        }
    }

    fn score<'a>(&self, set: &Set, question: &'a Question) -> Scored<'a> {
        let wanted: std::collections::HashSet<usize> = question.haystack.iter().copied().collect();
        let pieces = set.pieces.iter().enumerate();
        let among: Vec<usize> = pieces
            .filter(|(_, piece)| wanted.contains(&piece.session))
            .map(|(at, _)| at)
            .collect();
        let by_session: BTreeMap<usize, f32> = question
            .haystack
            .iter()
            .copied()
            .zip(self.sessions.score(&question.text, &question.haystack))
            .collect();
        let session_of = |at: &usize| set.pieces.get(*at).map_or(usize::MAX, |piece| piece.session);
        Scored {
            question,
            piece: self.pieces.score(&question.text, &among),
            around: self.arounds.score(&question.text, &among),
            session: among
                .iter()
                .map(|at| by_session.get(&session_of(at)).copied().unwrap_or(0.0))
                .collect(),
            among,
        }
    }
}

/// Ranks every question's pieces by a score and counts what was found.
fn tally<'a>(
    set: &Set,
    scored: &'a [Scored<'a>],
    score: impl Fn(usize, &'a Scored<'a>) -> Vec<f32>,
) -> Value {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (at, one) in scored.iter().enumerate() {
        let scores = score(at, one);
        let mut ranked: Vec<(usize, f32)> = one.among.iter().copied().zip(scores).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let pieces = || ranked.iter().filter_map(|(at, _)| set.pieces.get(*at));
        let sessions = first_distinct(pieces().map(|piece| piece.session));
        let turns = first_distinct(pieces().map(|piece| piece.turn));
        let gold = &one.question.sessions;
        let among = |list: &[usize], gold: &[usize], k: usize| {
            let found = gold
                .iter()
                .filter(|wanted| list.iter().take(k).any(|have| have == *wanted));
            found.count() as f64 / gold.len().max(1) as f64
        };
        let recall = among(&sessions, gold, 5);
        *sums.entry("all@5").or_default() += f64::from(u8::from(recall >= 1.0));
        *sums.entry("any@5").or_default() += f64::from(u8::from(recall > 0.0));
        *sums.entry("session recall@5").or_default() += recall;
        *sums.entry("session recall@10").or_default() += among(&sessions, gold, 10);
        if !one.question.turns.is_empty() {
            *sums.entry("turn recall@10").or_default() += among(&turns, &one.question.turns, 10);
        }
    }
    let n = scored.len().max(1) as f64;
    json!(
        sums.into_iter()
            .map(|(name, sum)| (name, (sum / n * 1000.0).round() / 1000.0))
            .collect::<BTreeMap<_, _>>()
    )
}

fn first_distinct(numbers: impl Iterator<Item = usize>) -> Vec<usize> {
    let mut seen = std::collections::HashSet::new();
    numbers.filter(|number| seen.insert(*number)).collect()
}
