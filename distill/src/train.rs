//! Training the table: the normalised sum of a text's token vectors is drawn to the teacher's vector of the text.

use std::thread;

use crate::chance::SeededChance;
use crate::texts::TokenIds;

/// How many parts a batch is worked on in; fixed, so that sums come out the same on every machine.
const SHARDS: usize = 2;

/// How many texts are compared with each other at once.
const BLOCK: usize = 64;

/// How to train.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TrainingCourse {
    pub(crate) epochs: usize,
    /// Texts to a step.
    pub(crate) batch: usize,
    /// The rate of the first step; it falls to nothing along half a cosine.
    pub(crate) rate: f32,
    /// How much it matters that texts are as alike as the teacher finds them, beside each text's own vector.
    pub(crate) likeness: f32,
    pub(crate) seed: u64,
}

/// A table of token vectors that learns.
#[derive(Debug)]
pub(crate) struct StudentTable {
    pub(crate) first: u16,
    pub(crate) dimension: usize,
    pub(crate) values: Vec<f32>,
}

/// What Adam remembers of every value.
#[derive(Debug)]
struct OptimiserMemory {
    mean: Vec<f32>,
    square: Vec<f32>,
    steps: i32,
}

/// The gradient of one shard and which rows it touches.
#[derive(Debug)]
struct TrainingSlope {
    values: Vec<f32>,
    touched: Vec<bool>,
    loss: f64,
}

impl StudentTable {
    fn row(&self, token: u16) -> Option<usize> {
        let row = usize::from(token.checked_sub(self.first)?);
        (row < self.values.len() / self.dimension).then_some(row)
    }

    fn vector(&self, row: usize) -> &[f32] {
        let start = row * self.dimension;
        self.values.get(start..start + self.dimension).unwrap_or_default()
    }

    /// The vector of a text and the length it had before it was normalised.
    fn embed(&self, text: &[u16], into: &mut [f32]) -> f32 {
        into.fill(0.0);
        for row in text.iter().filter_map(|token| self.row(*token)) {
            add(into, 1.0, self.vector(row));
        }
        normalise(into)
    }

    /// The mean cosine to the targets.
    pub(crate) fn agreement(&self, texts: &[TokenIds], targets: &[f32]) -> f32 {
        let mut vector = vec![0.0; self.dimension];
        let mut sum = 0.0;
        for (text, target) in texts.iter().zip(targets.chunks_exact(self.dimension)) {
            self.embed(text, &mut vector);
            sum += dot(&vector, target);
        }
        sum / texts.len().max(1) as f32
    }

    /// Learns from all texts, `course.epochs` times; `tell` hears the loss of each epoch.
    pub(crate) fn learn(
        &mut self,
        texts: &[TokenIds],
        targets: &[f32],
        course: &TrainingCourse,
        mut tell: impl FnMut(usize, f64, &Self),
    ) {
        let mut memory = OptimiserMemory {
            mean: vec![0.0; self.values.len()],
            square: vec![0.0; self.values.len()],
            steps: 0,
        };
        let rows = self.values.len() / self.dimension;
        let mut slopes: Vec<TrainingSlope> = (0..SHARDS)
            .map(|_| TrainingSlope {
                values: vec![0.0; self.values.len()],
                touched: vec![false; rows],
                loss: 0.0,
            })
            .collect();
        let mut order: Vec<usize> = (0..texts.len()).collect();
        let mut chance = SeededChance::new(course.seed);
        let total = course.epochs * texts.len().div_ceil(course.batch);
        for epoch in 0..course.epochs {
            chance.shuffle(&mut order);
            for batch in order.chunks(course.batch) {
                let lesson = (texts, targets, course.likeness);
                let part = batch.len().div_ceil(SHARDS);
                thread::scope(|scope| {
                    for (slope, part) in slopes.iter_mut().zip(batch.chunks(part)) {
                        let student = &*self;
                        scope.spawn(move || student.slope(lesson, part, slope));
                    }
                });
                let done = memory.steps as f32 / total as f32;
                let rate = course.rate * 0.5 * (1.0 + (std::f32::consts::PI * done).cos());
                self.step(&mut slopes, &mut memory, rate);
            }
            let loss = slopes
                .iter_mut()
                .map(|slope| std::mem::take(&mut slope.loss))
                .sum::<f64>();
            tell(epoch, loss / texts.len() as f64, self);
        }
    }

    /// Adds the gradient of some texts.
    fn slope(
        &self,
        (texts, targets, likeness): (&[TokenIds], &[f32], f32),
        part: &[usize],
        slope: &mut TrainingSlope,
    ) {
        let size = self.dimension;
        let mut vectors = vec![0.0; BLOCK * size];
        let mut pulls = vec![0.0; BLOCK * size];
        for block in part.chunks(BLOCK) {
            let target = |at: usize| targets.get(at * size..(at + 1) * size).unwrap_or_default();
            let mut lengths = [0.0; BLOCK];
            for ((at, vector), length) in block.iter().zip(vectors.chunks_exact_mut(size)).zip(&mut lengths) {
                *length = texts.get(*at).map_or(0.0, |text| self.embed(text, vector));
            }
            for ((at, vector), pull) in block
                .iter()
                .zip(vectors.chunks_exact(size))
                .zip(pulls.chunks_exact_mut(size))
            {
                pull.fill(0.0);
                add(pull, -1.0, target(*at));
                slope.loss += f64::from(1.0 - dot(vector, target(*at)));
            }
            if likeness > 0.0 {
                let targets: Vec<&[f32]> = block.iter().map(|at| target(*at)).collect();
                compare(likeness, size, &vectors, &targets, &mut pulls);
            }
            let each = block
                .iter()
                .zip(vectors.chunks_exact(size))
                .zip(pulls.chunks_exact_mut(size));
            for (((at, vector), pull), length) in each.zip(lengths).filter(|(_, length)| *length > 0.0) {
                let along = dot(pull, vector);
                add(pull, -along, vector);
                let text = texts.get(*at).map(Vec::as_slice).unwrap_or_default();
                for row in text.iter().filter_map(|token| self.row(*token)) {
                    if let Some(values) = slope.values.get_mut(row * size..(row + 1) * size) {
                        add(values, 1.0 / length, pull);
                    }
                    slope
                        .touched
                        .iter_mut()
                        .skip(row)
                        .take(1)
                        .for_each(|touched| *touched = true);
                }
            }
        }
    }

    /// One step of Adam on the rows that were touched; clears the gradients.
    fn step(&mut self, slopes: &mut [TrainingSlope], memory: &mut OptimiserMemory, rate: f32) {
        memory.steps += 1;
        let (keep, keep_square) = (0.9_f32, 0.999_f32);
        let rate = rate * (1.0 - keep_square.powi(memory.steps)).sqrt() / (1.0 - keep.powi(memory.steps));
        let size = self.dimension;
        let rows = self.values.chunks_exact_mut(size);
        let remembered = memory
            .mean
            .chunks_exact_mut(size)
            .zip(memory.square.chunks_exact_mut(size));
        let mut gradient = vec![0.0; size];
        for (row, (values, (mean, square))) in rows.zip(remembered).enumerate() {
            gradient.fill(0.0);
            let mut any = false;
            for slope in slopes.iter_mut() {
                let touched = slope.touched.get_mut(row).is_some_and(std::mem::take);
                if let Some(part) = slope
                    .values
                    .get_mut(row * size..(row + 1) * size)
                    .filter(|_| touched)
                {
                    add(&mut gradient, 1.0, part);
                    part.fill(0.0);
                    any = true;
                }
            }
            if !any {
                continue;
            }
            let state = mean.iter_mut().zip(square);
            for ((value, slope), (mean, square)) in values.iter_mut().zip(&gradient).zip(state) {
                *mean = keep * *mean + (1.0 - keep) * slope;
                *square = keep_square * *square + (1.0 - keep_square) * slope * slope;
                *value -= rate * *mean / (square.sqrt() + 1e-8);
            }
        }
    }
}

/// Adds the pull that makes texts of a block as alike as their targets are.
fn compare(weight: f32, size: usize, vectors: &[f32], targets: &[&[f32]], pulls: &mut [f32]) {
    let weight = weight * 2.0 / targets.len() as f32;
    for (at, (vector, pull)) in vectors
        .chunks_exact(size)
        .zip(pulls.chunks_exact_mut(size))
        .enumerate()
    {
        let Some(target) = targets.get(at) else { break };
        for (other, (other_vector, other_target)) in vectors.chunks_exact(size).zip(targets).enumerate() {
            if other != at {
                let excess = dot(vector, other_vector) - dot(target, other_target);
                add(pull, weight * excess, other_vector);
            }
        }
    }
}

/// The sum of products, in eight lanes so that it is fast and comes out the same everywhere.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut lanes = [0.0_f32; 8];
    let (a, b) = (a.as_chunks::<8>().0, b.as_chunks::<8>().0);
    for (a, b) in a.iter().zip(b) {
        for ((lane, a), b) in lanes.iter_mut().zip(a).zip(b) {
            *lane += a * b;
        }
    }
    lanes.iter().sum()
}

fn add(sum: &mut [f32], factor: f32, values: &[f32]) {
    for (sum, value) in sum.iter_mut().zip(values) {
        *sum += factor * value;
    }
}

/// Gives a vector length one and returns the length it had.
pub(crate) fn normalise(vector: &mut [f32]) -> f32 {
    let length = dot(vector, vector).sqrt();
    if length > 0.0 {
        vector.iter_mut().for_each(|value| *value /= length);
    }
    length
}
