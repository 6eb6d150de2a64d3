//! Looks drawers up again: each must be found by its id, as it was walked, and by its own vector.

use loci_core::vector::check_vector;
use loci_core::{
    CollectionInfo, CollectionName, CollectionReader, Drawer, DrawerFields, DrawerHit, FindingSeverity,
    GetRequest, Metric, PalaceFinding, QueryRequest, Result,
};

/// The number of drawers looked up in one request.
const BATCH_SIZE: usize = 32;
/// The number of hits requested, so that drawers with equal vectors do not hide each other.
const HITS: usize = 10;

/// Collects a sample of drawers and looks them up again.
pub(super) struct LookupSample<'a> {
    collection: &'a dyn CollectionReader,
    metric: Metric,
    include: DrawerFields,
    stride: u64,
    waiting: Vec<Drawer>,
    not_by_id: Vec<String>,
    not_by_vector: Vec<String>,
}

impl<'a> LookupSample<'a> {
    pub(super) fn new(
        collection: &'a dyn CollectionReader,
        info: &CollectionInfo,
        include: DrawerFields,
        sample: u64,
    ) -> Self {
        Self {
            collection,
            metric: info.metric,
            include,
            // Every n-th drawer, rounded up, so that the sample is spread over the whole collection and never
            // exceeds its size.
            stride: match sample {
                0 => u64::MAX,
                _ => info.drawers.div_ceil(sample).max(1),
            },
            waiting: Vec::new(),
            not_by_id: Vec::new(),
            not_by_vector: Vec::new(),
        }
    }

    /// Takes the drawer with the index `at` of the walk, if it belongs to the sample. Damaged drawers are
    /// reported elsewhere.
    pub(super) fn offer_drawer(&mut self, at: u64, drawer: Drawer) -> Result<()> {
        if self.stride != u64::MAX && at.is_multiple_of(self.stride) && drawer.damage.is_empty() {
            self.waiting.push(drawer);
        }
        if self.waiting.len() < BATCH_SIZE {
            return Ok(());
        }
        self.look_up_waiting()
    }

    /// Looks up the drawers collected so far.
    pub(super) fn look_up_waiting(&mut self) -> Result<()> {
        let waiting = std::mem::take(&mut self.waiting);
        if waiting.is_empty() {
            return Ok(());
        }
        let again = self.collection.get(&GetRequest {
            include: self.include,
            ..GetRequest::by_ids(waiting.iter().map(|drawer| drawer.id.clone()))
        })?;
        for drawer in &waiting {
            // Compared as a whole: an index that leads to another row, or to an older one, counts as not
            // found.
            if !again.contains(drawer) {
                self.not_by_id.push(drawer.id.as_str().to_owned());
            }
        }
        // A query with an invalid vector is refused, and with it the whole batch.
        let sound = |drawer: &&Drawer| {
            drawer
                .embedding
                .as_deref()
                .is_some_and(|v| check_vector(v, self.metric).is_ok())
        };
        let with_vector: Vec<&Drawer> = waiting.iter().filter(sound).collect();
        if with_vector.is_empty() {
            return Ok(());
        }
        let hits = self.collection.query(&QueryRequest {
            vectors: with_vector
                .iter()
                .filter_map(|drawer| drawer.embedding.clone())
                .collect(),
            include: DrawerFields::NOTHING,
            ..QueryRequest::nearest_to(Vec::new(), HITS)
        })?;
        for (at, drawer) in with_vector.iter().enumerate() {
            let found = hits
                .get(at)
                .is_some_and(|hits| leads_own_hits(self.metric, drawer, hits));
            if !found {
                self.not_by_vector.push(drawer.id.as_str().to_owned());
            }
        }
        Ok(())
    }

    pub(super) fn into_findings(self, name: &CollectionName) -> Vec<PalaceFinding> {
        let finding = |code: &str, message: String| {
            PalaceFinding::new(code, FindingSeverity::Error, message)
                .with_hint("`loci maintain reindex` rebuilds every index")
                .in_collection(name.as_str())
        };
        let by_id = self.not_by_id.iter().map(|id| {
            finding(
                "not_found_by_id",
                format!("the drawer {id:?} is listed, but not found by its id"),
            )
        });
        let by_vector = self.not_by_vector.iter().map(|id| {
            finding(
                "not_found_by_vector",
                format!("the drawer {id:?} is not the first hit of its own vector"),
            )
        });
        by_id.chain(by_vector).collect()
    }
}

/// Returns whether the drawer is among the leading hits of its own vector, all of them about as near as
/// itself.
fn leads_own_hits(metric: Metric, drawer: &Drawer, hits: &[DrawerHit]) -> bool {
    let vector = drawer.embedding.as_deref().unwrap_or_default();
    let length: f64 = vector.iter().map(|value| f64::from(*value).powi(2)).sum();
    // The distance of a vector to itself. For the inner product it is 1 minus the squared length, and other
    // vectors may be nearer than that.
    let own = match metric {
        Metric::Cosine | Metric::L2 => 0.0,
        Metric::Ip => 1.0 - length,
    };
    // Rounding errors grow with the squared length, except for cosine, which is normalised.
    let slack = match metric {
        Metric::Cosine => 1e-4,
        Metric::L2 | Metric::Ip => 1e-4 * length.max(1.0),
    };
    let as_near = |hit: &&DrawerHit| f64::from(hit.score) <= own + slack;
    let leading: Vec<&DrawerHit> = hits.iter().take_while(as_near).collect();
    // If all hits are as near, there may be more of them than were requested, and the drawer among those.
    leading.iter().any(|hit| hit.drawer.id == drawer.id) || leading.len() == HITS
}

#[cfg(test)]
mod tests {
    use super::*;
    use loci_core::DrawerId;

    fn hit(id: &str, score: f32) -> DrawerHit {
        DrawerHit {
            drawer: Drawer::with_id_only(DrawerId::new(id).unwrap()),
            score,
        }
    }

    fn check(metric: Metric, hits: &[DrawerHit], expect: bool) {
        let drawer = Drawer {
            embedding: Some(vec![3.0, 4.0]),
            ..Drawer::with_id_only(DrawerId::new("me").unwrap())
        };
        assert_eq!(
            leads_own_hits(metric, &drawer, hits),
            expect,
            "{metric:?} {hits:?}"
        );
    }

    #[test]
    fn a_drawer_leads_its_own_hits_or_shares_the_lead() {
        check(Metric::Cosine, &[hit("me", 0.0)], true);
        check(Metric::Cosine, &[hit("twin", 0.0), hit("me", 1e-7)], true);
        check(Metric::Cosine, &[hit("other", 0.0), hit("far", 0.5)], false);
        check(Metric::Cosine, &[hit("far", 0.5), hit("me", 0.6)], false);
        check(Metric::Cosine, &[], false);
        let twins: Vec<DrawerHit> = (0..HITS).map(|n| hit(&n.to_string(), 0.0)).collect();
        check(Metric::Cosine, &twins, true);
        check(Metric::L2, &[hit("me", 0.0)], true);
        check(Metric::Ip, &[hit("longer", -99.0), hit("me", -24.0)], true);
        check(Metric::Ip, &[hit("shorter", -3.0), hit("me", -2.0)], false);
    }
}
