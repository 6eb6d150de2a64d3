//! The figures of one phase, each taken by calls of the contract.

use std::collections::BTreeMap;

use loci_core::{
    Collection, CollectionExt, DeleteSelection, DrawerFields, DrawerId, DrawerPosition, ErrorKind,
    FacetRequest, Filter, FilterComparison, GetRequest, LexicalRequest, MetadataScalar, NewDrawer,
    QueryRequest, Result, Timestamp, Write,
};
use loci_engine::Palace;
use loci_engine::search::SearchRequest;

use crate::corpus::filter_key;
use crate::truth::NearestDistances;
use crate::{BenchmarkCorpus, BenchmarkPlace, BenchmarkWorkload, FigureUnit, MeasuredFigure};

/// The number of drawers that are fetched by id, or listed on a page, at once.
const PAGE: usize = 50;

/// What all phases share.
pub(crate) struct PhaseScene {
    pub(crate) corpus: BenchmarkCorpus,
    pub(crate) workload: BenchmarkWorkload,
    /// The vectors of the questions, one for each round.
    pub(crate) questions: Vec<Vec<f32>>,
    /// The true nearest of each question: among all drawers, then among those that each filter keeps.
    pub(crate) truth: Vec<Vec<NearestDistances>>,
    /// The palace, for whole searches.
    pub(crate) palace: Palace,
    pub(crate) now: Timestamp,
}

/// The figures of a phase as they are taken.
pub(crate) struct PhaseMeasures<'a> {
    collection: &'a dyn Collection,
    scene: &'a PhaseScene,
    place: &'a BenchmarkPlace<'a>,
    figures: BTreeMap<String, MeasuredFigure>,
    missing: BTreeMap<String, String>,
}

impl<'a> PhaseMeasures<'a> {
    pub(crate) fn new(
        collection: &'a dyn Collection,
        scene: &'a PhaseScene,
        place: &'a BenchmarkPlace<'a>,
    ) -> Self {
        Self {
            collection,
            scene,
            place,
            figures: BTreeMap::new(),
            missing: BTreeMap::new(),
        }
    }

    pub(crate) fn finish(self) -> (BTreeMap<String, MeasuredFigure>, BTreeMap<String, String>) {
        (self.figures, self.missing)
    }

    /// Takes every figure.
    pub(crate) fn measure_all(&mut self, tell: &mut dyn FnMut(&str)) -> Result<()> {
        tell("write");
        self.measure_writes()?;
        for (at, share) in std::iter::once(None)
            .chain(self.scene.workload.filters.iter().copied().map(Some))
            .enumerate()
        {
            tell(&name_filtered("query", share));
            self.measure_queries(at, share)?;
            tell(&name_filtered("words", share));
            self.measure_words(share)?;
        }
        tell("hybrid");
        self.measure_searches()?;
        tell("get");
        self.measure_gets()?;
        tell("list");
        self.measure_lists()?;
        tell("facets");
        self.measure_facets()
    }

    /// Takes the time of `rounds` calls; an ability that the backend lacks is listed as missing.
    fn time(&mut self, name: &str, mut call: impl FnMut(usize) -> Result<()>) -> Result<()> {
        let place = self.place;
        let unless_stopped = |round| place.check_stop().and_then(|()| call(round));
        match MeasuredFigure::time_calls(self.scene.workload.rounds, unless_stopped) {
            Ok(figure) => {
                self.figures
                    .extend(figure.map(|figure| (name.to_owned(), figure)));
                Ok(())
            }
            Err(error) if error.kind() == ErrorKind::Unsupported => {
                self.missing.insert(name.to_owned(), error.message().to_owned());
                Ok(())
            }
            Err(error) => Err(error),
        }
    }

    /// Files drawers one by one, and removes them again, so that every phase has the same drawers.
    fn measure_writes(&mut self) -> Result<()> {
        let (collection, scene) = (self.collection, self.scene);
        let BenchmarkCorpus { rows, .. } = scene.corpus;
        let mut written: Vec<DrawerId> = Vec::new();
        self.time("write", |_| {
            let n = rows + written.len() as u64;
            let drawer: NewDrawer = scene.corpus.make_drawer(n, &scene.workload.filters)?;
            written.push(drawer.id.clone());
            collection.add_drawer(drawer).map(drop)
        })?;
        let removal = Write::Delete(DeleteSelection::Ids(written));
        collection.apply_batch(&[removal]).map(drop)
    }

    fn measure_queries(&mut self, at: usize, share: Option<f64>) -> Result<()> {
        let (collection, scene) = (self.collection, self.scene);
        let mut recalls = vec![None; scene.questions.len()];
        let truth = scene.truth.get(at);
        self.time(&name_filtered("query", share), |round| {
            let Some(question) = scene.questions.get(round) else {
                return Ok(());
            };
            let hits = collection.query(&QueryRequest {
                filter: share_filter(share),
                include: DrawerFields::NOTHING,
                ..QueryRequest::nearest_to(question.clone(), scene.workload.k)
            })?;
            let nearest = truth.and_then(|truth| truth.get(round));
            if let (Some(recall), Some(nearest), Some(hits)) = (recalls.get_mut(round), nearest, hits.first())
            {
                *recall = Some(nearest.measure_recall(hits));
            }
            Ok(())
        })?;
        let recalls: Vec<f64> = recalls.into_iter().flatten().collect();
        if recalls.is_empty() {
            return Ok(());
        }
        // The mean: the median of shares that are mostly 1 would hide every miss.
        let mean = recalls.iter().sum::<f64>() / recalls.len() as f64;
        let figure = MeasuredFigure {
            median: mean,
            samples: recalls.clone(),
            ..MeasuredFigure::from_samples(FigureUnit::Share, recalls)
                .unwrap_or_else(|| MeasuredFigure::from_value(FigureUnit::Share, mean))
        };
        self.figures.insert(name_filtered("recall", share), figure);
        Ok(())
    }

    fn measure_words(&mut self, share: Option<f64>) -> Result<()> {
        let (collection, scene) = (self.collection, self.scene);
        self.time(&name_filtered("words", share), |round| {
            let words = scene.corpus.make_words(round as u64);
            let request = LexicalRequest {
                filter: share_filter(share),
                include: DrawerFields::NOTHING,
                ..LexicalRequest::for_words(words, scene.workload.k)
            };
            collection.lexical(&request).map(drop)
        })
    }

    fn measure_searches(&mut self) -> Result<()> {
        let scene = self.scene;
        self.time("hybrid", |round| {
            let words = scene.corpus.make_words(round as u64);
            scene
                .palace
                .search(&SearchRequest::new(words, scene.now))
                .map(drop)
        })
    }

    fn measure_gets(&mut self) -> Result<()> {
        let (collection, rows) = (self.collection, self.scene.corpus.rows);
        self.time("get", |round| {
            let ids = (0..PAGE as u64).map(|n| (round as u64 * 7919 + n * 104_729) % rows.max(1));
            let ids = ids
                .map(|n| DrawerId::new(format!("bench-{n:08}")))
                .collect::<Result<Vec<_>>>()?;
            collection.get(&GetRequest::by_ids(ids)).map(drop)
        })
    }

    fn measure_lists(&mut self) -> Result<()> {
        let (collection, rows) = (self.collection, self.scene.corpus.rows);
        self.time("list", |round| {
            let n = round as u64 * 104_729 % rows.max(1);
            let request = GetRequest {
                after: Some(DrawerPosition::Id(DrawerId::new(format!("bench-{n:08}"))?)),
                limit: Some(PAGE),
                ..GetRequest::default()
            };
            collection.get(&request).map(drop)
        })
    }

    fn measure_facets(&mut self) -> Result<()> {
        let collection = self.collection;
        self.time("facets", |_| {
            collection.facets(&FacetRequest::by_room()).map(drop)
        })
    }
}

/// Returns the name of a figure under a filter, such as `query 5 %`.
fn name_filtered(name: &str, share: Option<f64>) -> String {
    share.map_or_else(|| name.to_owned(), |share| format!("{name} {share} %"))
}

fn share_filter(share: Option<f64>) -> Filter {
    share.map_or(Filter::All, |share| {
        Filter::Compare(filter_key(share), FilterComparison::Eq(MetadataScalar::Int(1)))
    })
}
