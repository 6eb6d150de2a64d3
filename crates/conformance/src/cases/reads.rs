//! Get and count: order, paging, fields, and which writes a reader sees.

use loci_core::{
    CollectionExt, CollectionReaderExt, DocumentFilter, DrawerCondition, DrawerFields, DrawerPosition,
    ErrorKind, Filter, GetRequest, Metadata, NewDrawer, Write,
};

use crate::case::expect_refusal;
use crate::samples::{all_ids, drawer_ids, id, read_fields, text_drawer, vector_drawer, wing_drawer};
use crate::{CaseFailure, CaseOutcome, CaseScene};

cases! { "reads":
    "nothing found is an empty list, never an error" [] => nothing_found;
    "with ids, drawers come in the order asked, each once; ids that are not there are left out" [] => order_asked;
    "without ids, drawers come in ascending byte order of their ids" [] => byte_order;
    "limit and offset page in a stable order" [] => limit_and_offset;
    "limit and offset count what the filters accept" [] => paging_filtered;
    "after pages through every drawer once" [] => after_pages;
    "ids together with a place to go on after are refused" [] => ids_and_after;
    "ids and filters both narrow" [] => ids_and_filters;
    "fields not included are absent" [] => fields_absent;
    "the embedding is there if asked for and if there is one" [+EmbeddingsPassthrough +EmbeddingsOut] => embedding_if_asked;
    "count is how many drawers the filter accepts" [-EstimatedCount] => counts_accepted;
    "count answers where counts may be estimates" [+EstimatedCount] => estimates_answer;
    "info says how many drawers there are and how far each way of searching reaches" [-EstimatedCount] => info_counts;
    "a reader sees every write acknowledged before it began, from any process" [-ReadOnly] => acknowledged_writes;
    "two handles on one collection see each other's writes" [-ReadOnly] => two_handles;
}

fn open_numbered(
    scene: &CaseScene<'_>,
    n: usize,
) -> CaseOutcome<(std::sync::Arc<dyn loci_core::Collection>, Vec<String>)> {
    let names: Vec<String> = (0..n).map(|n| format!("d{n:03}")).collect();
    let wing = |at: usize| if at.is_multiple_of(3) { "third" } else { "rest" };
    // Filed in reverse, so that insertion order cannot pass for the order of ids.
    let drawers = scene.open_filled(
        names
            .iter()
            .enumerate()
            .rev()
            .map(|(at, called)| wing_drawer(called, wing(at))),
    )?;
    Ok((drawers, names))
}

fn page_of(limit: usize, offset: usize) -> GetRequest {
    GetRequest {
        limit: Some(limit),
        offset,
        ..GetRequest::default()
    }
}

fn nothing_found(scene: &CaseScene<'_>) -> CaseOutcome {
    let empty = scene.open()?;
    same!(
        empty.get(&GetRequest::default())?,
        Vec::new(),
        "drawers of an empty collection"
    );
    same!(
        empty.get(&GetRequest::by_ids([id("x")]))?,
        Vec::new(),
        "a missing id in an empty collection"
    );
    let drawers = scene.open_filled([wing_drawer("a", "x")])?;
    same!(
        drawers.get(&GetRequest::by_ids([id("x")]))?,
        Vec::new(),
        "a missing id"
    );
    // An empty list of ids asks for nothing; read as "no restriction" it would return everything.
    same!(drawers.get(&GetRequest::by_ids([]))?, Vec::new(), "no ids");
    let none = GetRequest {
        filter: Filter::text_equals("wing", "y"),
        ..GetRequest::default()
    };
    same!(drawers.get(&none)?, Vec::new(), "a filter that accepts nothing");
    let none = GetRequest {
        document: DocumentFilter::Contains("no such text".into()),
        ..GetRequest::default()
    };
    same!(
        drawers.get(&none)?,
        Vec::new(),
        "a document filter that accepts nothing"
    );
    Ok(())
}

fn order_asked(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled(["a", "b", "c", "d"].map(|called| text_drawer(called, "text")))?;
    // A missing id and repeated ones: `WHERE id IN (...)` returns neither this order nor gaps correctly.
    let asked = ["c", "gone", "a", "c", "d", "a"].map(id);
    same!(
        drawer_ids(&drawers.get(&GetRequest::by_ids(asked.clone()))?),
        ["c", "a", "d"],
        "drawers"
    );
    // Limit and offset count found drawers, not the ids in the list.
    let second = GetRequest {
        limit: Some(1),
        offset: 1,
        ..GetRequest::by_ids(asked)
    };
    same!(drawer_ids(&drawers.get(&second)?), ["a"], "the second of them");
    Ok(())
}

fn byte_order(scene: &CaseScene<'_>) -> CaseOutcome {
    // Differs from locale, case-insensitive, numeric and UTF-16 order; NUL and space sort below letters.
    let names = ["b", "a", "B", "10", "9", "é", "z", "抽", "🗄️", "ab", "a\0", "a b"];
    let drawers = scene.open_filled(names.map(|called| text_drawer(called, "text")))?;
    let mut expected = names.map(str::to_owned);
    expected.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    same!(all_ids(drawers.as_ref())?, expected, "ids");
    Ok(())
}

fn limit_and_offset(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, names) = open_numbered(scene, 25)?;
    let mut paged = Vec::new();
    for offset in (0..30).step_by(7) {
        let found = drawers.get(&page_of(7, offset))?;
        same!(
            found.len(),
            7.min(25_usize.saturating_sub(offset)),
            "drawers on the page from {offset}"
        );
        paged.extend(drawer_ids(&found).into_iter().map(str::to_owned));
    }
    same!(paged, names, "ids of all pages");
    same!(drawers.get(&page_of(7, 25))?.len(), 0, "drawers past the end");
    same!(
        drawers.get(&page_of(7, 1_000_000))?.len(),
        0,
        "drawers far past the end"
    );
    // Zero is a limit like any other, not the absence of one.
    same!(drawers.get(&page_of(0, 0))?.len(), 0, "drawers of a page of none");
    let rest = GetRequest {
        offset: 20,
        ..GetRequest::default()
    };
    same!(
        drawer_ids(&drawers.get(&rest)?),
        names[20..],
        "drawers from an offset without a limit"
    );
    Ok(())
}

fn paging_filtered(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, names) = open_numbered(scene, 25)?;
    // Paging before filtering would return short and empty pages.
    let thirds: Vec<&String> = names.iter().step_by(3).collect();
    let mut paged = Vec::new();
    for offset in (0..9).step_by(2) {
        let found = drawers.get(&GetRequest {
            filter: Filter::text_equals("wing", "third"),
            ..page_of(2, offset)
        })?;
        paged.extend(drawer_ids(&found).into_iter().map(str::to_owned));
    }
    same!(paged.iter().collect::<Vec<_>>(), thirds, "ids of all pages");
    Ok(())
}

fn after_pages(scene: &CaseScene<'_>) -> CaseOutcome {
    let (drawers, names) = open_numbered(scene, 25)?;
    let mut paged: Vec<String> = Vec::new();
    loop {
        let found = drawers.get(&GetRequest {
            after: paged.last().map(|last| DrawerPosition::Id(id(last))),
            limit: Some(4),
            ..GetRequest::default()
        })?;
        if found.is_empty() {
            break;
        }
        ensure!(
            paged.len() <= names.len(),
            "expected {} drawers, found more: {paged:?}",
            names.len()
        );
        paged.extend(drawer_ids(&found).into_iter().map(str::to_owned));
    }
    same!(paged, names, "ids of all pages");
    let between = GetRequest {
        // A position need not be that of an existing drawer: the last one of a page may have been removed.
        after: Some(DrawerPosition::Id(id("d010x"))),
        offset: 1,
        limit: Some(2),
        ..GetRequest::default()
    };
    same!(
        drawer_ids(&drawers.get(&between)?),
        ["d012", "d013"],
        "ids after one that is not there, but one"
    );
    Ok(())
}

fn ids_and_after(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([text_drawer("a", "text")])?;
    let both = GetRequest {
        after: Some(DrawerPosition::Id(id("a"))),
        ..GetRequest::by_ids([id("a")])
    };
    expect_refusal(drawers.get(&both), ErrorKind::Invalid, &[])
}

fn ids_and_filters(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        wing_drawer("a", "x"),
        wing_drawer("b", "y"),
        wing_drawer("c", "x"),
        wing_drawer("d", "x"),
    ])?;
    // `b` fails the metadata filter and `c` the document filter; the order asked for stays.
    let narrowed = GetRequest {
        filter: Filter::text_equals("wing", "x"),
        document: DocumentFilter::NotContains("of c".into()),
        ..GetRequest::by_ids(["d", "c", "b", "a"].map(id))
    };
    same!(drawer_ids(&drawers.get(&narrowed)?), ["d", "a"], "drawers");
    Ok(())
}

fn fields_absent(scene: &CaseScene<'_>) -> CaseOutcome {
    let given = NewDrawer {
        metadata: Metadata::new().with_entry("n", 1_i64),
        ..scene.fit_drawer(vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0]))
    };
    let drawers = scene.open_filled([given])?;
    let bare = read_fields(drawers.as_ref(), "a", DrawerFields::NOTHING)?;
    same!(
        (&bare.document, &bare.metadata),
        (&None, &None),
        "fields that were not asked for"
    );
    same!(
        (&bare.context, &bare.embedding),
        (&None, &None),
        "fields that were not asked for"
    );
    // Always there: lists are sorted by it.
    ensure!(bare.filed_at.is_some(), "expected the time of filing, found none");
    let text = DrawerFields {
        document: true,
        ..DrawerFields::NOTHING
    };
    let found = read_fields(drawers.as_ref(), "a", text)?;
    same!(
        (found.document.as_deref(), &found.metadata),
        (Some("text"), &None),
        "the text alone"
    );
    let metadata = DrawerFields {
        metadata: true,
        ..DrawerFields::NOTHING
    };
    let found = read_fields(drawers.as_ref(), "a", metadata)?;
    same!(
        (&found.document, found.metadata.is_some()),
        (&None, true),
        "the metadata alone"
    );
    // Fields that are not returned must still be available to the filters.
    let filtered = GetRequest {
        filter: Filter::Compare(
            "n".into(),
            loci_core::FilterComparison::Eq(loci_core::MetadataScalar::Int(1)),
        ),
        document: DocumentFilter::Contains("ex".into()),
        include: DrawerFields::NOTHING,
        ..GetRequest::default()
    };
    same!(
        drawers.get(&filtered)?,
        vec![bare],
        "a drawer filtered by fields that were not asked for"
    );
    Ok(())
}

fn embedding_if_asked(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        vector_drawer("a", "text", &[1.0, 2.0, 3.0, 4.0]),
        text_drawer("b", "text"),
    ])?;
    let embedding = DrawerFields {
        embedding: true,
        ..DrawerFields::NOTHING
    };
    let vector =
        |called, include| read_fields(drawers.as_ref(), called, include).map(|drawer| drawer.embedding);
    same!(
        vector("a", embedding)?,
        Some(vec![1.0, 2.0, 3.0, 4.0]),
        "a vector asked for"
    );
    same!(vector("b", embedding)?, None, "a vector that is not there");
    same!(
        vector("a", DrawerFields::default())?,
        None,
        "a vector not asked for"
    );
    Ok(())
}

fn counts_accepted(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        wing_drawer("a", "x"),
        wing_drawer("b", "y"),
        wing_drawer("c", "x"),
    ])?;
    same!(drawers.count(&DrawerCondition::default())?, 3, "drawers");
    same!(
        drawers.count(&Filter::text_equals("wing", "x").into())?,
        2,
        "drawers in the wing"
    );
    same!(
        drawers.count(&Filter::text_equals("wing", "z").into())?,
        0,
        "drawers in no wing"
    );
    same!(
        scene.open_named("empty")?.count(&DrawerCondition::default())?,
        0,
        "drawers of an empty collection"
    );
    Ok(())
}

fn estimates_answer(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([wing_drawer("a", "x"), wing_drawer("b", "y")])?;
    ensure!(
        drawers.count(&DrawerCondition::default())? > 0,
        "expected an estimate above 0 for two drawers"
    );
    Ok(())
}

fn info_counts(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open_filled([
        scene.fit_drawer(vector_drawer("a", "text", &[1.0, 0.0, 0.0, 0.0])),
        text_drawer("b", "text"),
    ])?;
    let info = drawers.info()?;
    same!(info.name.as_str(), "drawers", "name");
    same!(info.drawers, 2, "drawers");
    let vectors = scene.can(loci_core::Capability::EmbeddingsPassthrough);
    if vectors {
        same!(info.dimension, Some(4), "dimension");
        same!(info.coverage.nearest, 1, "drawers with a vector");
    }
    // How much is packed is up to the backend, but it cannot be more than there is.
    ensure!(
        info.coverage.packed <= info.coverage.nearest,
        "expected no more packed than there are vectors, found {:?}",
        info.coverage
    );
    if scene.can(loci_core::Capability::Lexical) {
        same!(info.coverage.lexical, 2, "drawers that lexical reaches");
    }
    Ok(())
}

fn acknowledged_writes(scene: &CaseScene<'_>) -> CaseOutcome {
    let drawers = scene.open()?;
    let elsewhere = scene.open_elsewhere()?;
    for n in 0..5 {
        let (ours, theirs) = (format!("ours-{n}"), format!("theirs-{n}"));
        drawers.add_drawer(text_drawer(&ours, "text"))?;
        let text = |called: &str| {
            read_fields(drawers.as_ref(), called, DrawerFields::default()).map(|found| found.document)
        };
        same!(text(&ours)?.as_deref(), Some("text"), "text");
        // Asked before it exists: a backend that caches misses would not see it later.
        same!(
            drawers.find_drawer(&id(&theirs))?,
            None,
            "a drawer that another process has not filed yet"
        );
        let seen = elsewhere.find_drawer(&id(&ours))?;
        ensure!(
            seen.is_some(),
            "expected another process to see {ours}, found nothing"
        );
        // Changes a drawer that this process has just read and could have cached.
        elsewhere.apply_batch(&[
            Write::Upsert(text_drawer(&theirs, "text")),
            Write::Upsert(text_drawer(&ours, "changed")),
        ])?;
        same!(
            text(&ours)?.as_deref(),
            Some("changed"),
            "text that another process changed"
        );
        same!(
            text(&theirs)?.as_deref(),
            Some("text"),
            "text that another process filed"
        );
        same!(
            all_ids(drawers.as_ref())?,
            all_ids(elsewhere.as_ref())?,
            "ids seen by both"
        );
        elsewhere.delete_drawer(id(&theirs))?;
        same!(
            drawers.find_drawer(&id(&theirs))?,
            None,
            "a drawer that another process removed"
        );
    }
    Ok(())
}

fn two_handles(scene: &CaseScene<'_>) -> CaseOutcome {
    let (one_handle, other) = (scene.open()?, scene.open()?);
    one_handle.add_drawer(text_drawer("a", "text"))?;
    let seen = other
        .find_drawer(&id("a"))?
        .ok_or_else(|| CaseFailure::new("expected a, found nothing"))?;
    same!(seen.document.as_deref(), Some("text"), "text");
    other.delete_drawer(id("a"))?;
    same!(
        one_handle.find_drawer(&id("a"))?,
        None,
        "a drawer that the other handle removed"
    );
    Ok(())
}
