//! Looks drawers up again: each must be found by its id as it was walked, and by its own vector.

use loci_core::write::check_vector;
use loci_core::{
    CollectionInfo, CollectionName, CollectionReader, Drawer, Finding, Get, Hit, Include, Metric, Query,
    Result, Severity,
};

/// How many drawers are looked up in one request.
const AT_ONCE: usize = 32;
/// How many hits are asked for, so that drawers with equal vectors do not hide each other.
const HITS: usize = 10;

/// Collects a sample of drawers and looks them up again.
pub(super) struct Lookup<'a> {
    collection: &'a dyn CollectionReader,
    metric: Metric,
    include: Include,
    stride: u64,
    waiting: Vec<Drawer>,
    not_by_id: Vec<String>,
    not_by_vector: Vec<String>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(
        collection: &'a dyn CollectionReader,
        info: &CollectionInfo,
        include: Include,
        sample: u64,
    ) -> Self {
        Self {
            collection,
            metric: info.metric,
            include,
            stride: match sample {
                0 => u64::MAX,
                _ => info.drawers.div_ceil(sample).max(1),
            },
            waiting: Vec::new(),
            not_by_id: Vec::new(),
            not_by_vector: Vec::new(),
        }
    }

    /// Takes the drawer walked as number `at` if it belongs to the sample. Damaged ones are reported elsewhere.
    pub(super) fn offer(&mut self, at: u64, drawer: Drawer) -> Result<()> {
        if self.stride != u64::MAX && at.is_multiple_of(self.stride) && drawer.damage.is_empty() {
            self.waiting.push(drawer);
        }
        if self.waiting.len() < AT_ONCE {
            return Ok(());
        }
        self.settle()
    }

    /// Looks up what waits.
    pub(super) fn settle(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let again = self.collection.get(&Get {
            include: self.include,
            ..Get::ids(waiting.iter().map(|drawer| drawer.id.clone()))
        })?;
        for drawer in &waiting {
            if !again.contains(drawer) {
                self.not_by_id.push(drawer.id.as_str().to_owned());
            }
        }
        let sound = |drawer: &&Drawer| {
            drawer
                .embedding
                .as_deref()
                .is_some_and(|v| check_vector(v).is_ok())
        };
        let with_vector: Vec<&Drawer> = waiting.iter().filter(sound).collect();
        if with_vector.is_empty() {
            return Ok(());
        }
        let hits = self.collection.query(&Query {
            vectors: with_vector
                .iter()
                .filter_map(|drawer| drawer.embedding.clone())
                .collect(),
            include: Include::NOTHING,
            ..Query::nearest(Vec::new(), HITS)
        })?;
        for (at, drawer) in with_vector.iter().enumerate() {
            let found = hits
                .get(at)
                .is_some_and(|hits| is_first(self.metric, drawer, hits));
            if !found {
                self.not_by_vector.push(drawer.id.as_str().to_owned());
            }
        }
        Ok(())
    }

    pub(super) fn into_findings(self, name: &CollectionName) -> Vec<Finding> {
        let finding = |code: &str, message: String| {
            Finding::new(code, Severity::Error, message)
                .hint("`loci maintain reindex` rebuilds every index")
                .collection(name.as_str())
        };
        let by_id = self.not_by_id.iter().map(|id| {
            finding(
                "not_found_by_id",
                format!("the drawer {id:?} is walked but not found by its id"),
            )
        });
        let by_vector = self.not_by_vector.iter().map(|id| {
            finding(
                "not_found_by_vector",
                format!("the drawer {id:?} is not found first by its own vector"),
            )
        });
        by_id.chain(by_vector).collect()
    }
}

/// Whether the drawer, or only others at least as near, lead the hits of its own vector.
fn is_first(metric: Metric, drawer: &Drawer, hits: &[Hit]) -> bool {
    let vector = drawer.embedding.as_deref().unwrap_or_default();
    let length: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    let own = match metric {
        Metric::Cosine | Metric::L2 => 0.0,
        Metric::Ip => 1.0 - length,
    };
    let slack = match metric {
        Metric::Cosine => 1e-4,
        Metric::L2 | Metric::Ip => 1e-4 * length.max(1.0),
    };
    let as_near = |hit: &&Hit| f64::from(hit.score) <= own + slack;
    let leading: Vec<&Hit> = hits.iter().take_while(as_near).collect();
    leading.iter().any(|hit| hit.drawer.id == drawer.id) || leading.len() == HITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::DrawerId;

    fn hit(id: &str, score: f32) -> Hit {
        Hit {
            drawer: Drawer::bare(DrawerId::new(id).unwrap()),
            score,
        }
    }

    fn check(metric: Metric, hits: &[Hit], expect: bool) {
        let drawer = Drawer {
            embedding: Some(vec![3.0, 4.0]),
            ..Drawer::bare(DrawerId::new("me").unwrap())
        };
        assert_eq!(is_first(metric, &drawer, hits), expect, "{metric:?} {hits:?}");
    }

    #[test]
    fn a_drawer_leads_its_own_hits_or_shares_the_lead() {
        check(Metric::Cosine, &[hit("me", 0.0)], true);
        check(Metric::Cosine, &[hit("twin", 0.0), hit("me", 1e-7)], true);
        check(Metric::Cosine, &[hit("other", 0.0), hit("far", 0.5)], false);
        check(Metric::Cosine, &[hit("far", 0.5), hit("me", 0.6)], false);
        check(Metric::Cosine, &[], false);
        let twins: Vec<Hit> = (0..HITS).map(|n| hit(&n.to_string(), 0.0)).collect();
        check(Metric::Cosine, &twins, true);
        check(Metric::L2, &[hit("me", 0.0)], true);
        check(Metric::Ip, &[hit("longer", -99.0), hit("me", -24.0)], true);
        check(Metric::Ip, &[hit("shorter", -3.0), hit("me", -2.0)], false);
    }
}
