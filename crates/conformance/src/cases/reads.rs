//! Get and count: order, paging, fields, and what a reader sees.

use loci_core::{
    CollectionExt, CollectionReaderExt, DocumentFilter, DrawerCondition, DrawerPosition, ErrorKind, Filter,
    Get, Include, Metadata, NewDrawer, Write,
};

use crate::case::refused;
use crate::samples::{all_ids, id, ids, one, plain, vectored, winged};
use crate::{Failure, Outcome, Scene};

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
    "count is how many drawers the filter accepts" [-EstimatedCount] => counts;
    "count answers where counts may be estimates" [+EstimatedCount] => estimates;
    "info says how many drawers there are and how far each way of searching reaches" [-EstimatedCount] => info_counts;
    "a reader sees every write acknowledged before it began, from any process" [-ReadOnly] => acknowledged_writes;
    "two handles on one collection see each other's writes" [-ReadOnly] => two_handles;
}

fn letters(scene: &Scene<'_>, n: usize) -> Outcome<(std::sync::Arc<dyn loci_core::Collection>, Vec<String>)> {
    let names: Vec<String> = (0..n).map(|n| format!("d{n:03}")).collect();
    let wing = |at: usize| if at.is_multiple_of(3) { "third" } else { "rest" };
    let drawers = scene.filled(
        names
            .iter()
            .enumerate()
            .rev()
            .map(|(at, called)| winged(called, wing(at))),
    )?;
    Ok((drawers, names))
}

fn page(limit: usize, offset: usize) -> Get {
    Get {
        limit: Some(limit),
        offset,
        ..Get::default()
    }
}

fn nothing_found(scene: &Scene<'_>) -> Outcome {
    let empty = scene.open()?;
    same!(
        empty.get(&Get::default())?,
        Vec::new(),
        "drawers of an empty collection"
    );
    same!(
        empty.get(&Get::ids([id("x")]))?,
        Vec::new(),
        "a missing id in an empty collection"
    );
    let drawers = scene.filled([winged("a", "x")])?;
    same!(drawers.get(&Get::ids([id("x")]))?, Vec::new(), "a missing id");
    same!(drawers.get(&Get::ids([]))?, Vec::new(), "no ids");
    let none = Get {
        filter: Filter::text("wing", "y"),
        ..Get::default()
    };
    same!(drawers.get(&none)?, Vec::new(), "a filter that accepts nothing");
    let none = Get {
        document: DocumentFilter::Contains("no such text".into()),
        ..Get::default()
    };
    same!(
        drawers.get(&none)?,
        Vec::new(),
        "a document filter that accepts nothing"
    );
    Ok(())
}

fn order_asked(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled(["a", "b", "c", "d"].map(|called| plain(called, "text")))?;
    let asked = ["c", "gone", "a", "c", "d", "a"].map(id);
    same!(
        ids(&drawers.get(&Get::ids(asked.clone()))?),
        ["c", "a", "d"],
        "drawers"
    );
    let second = Get {
        limit: Some(1),
        offset: 1,
        ..Get::ids(asked)
    };
    same!(ids(&drawers.get(&second)?), ["a"], "the second of them");
    Ok(())
}

fn byte_order(scene: &Scene<'_>) -> Outcome {
    let names = ["b", "a", "B", "10", "9", "é", "z", "抽", "🗄️", "ab", "a\0", "a b"];
    let drawers = scene.filled(names.map(|called| plain(called, "text")))?;
    let mut expected = names.map(str::to_owned);
    expected.sort_by(|a, b| a.as_bytes().cmp(b.as_bytes()));
    same!(all_ids(drawers.as_ref())?, expected, "ids");
    Ok(())
}

fn limit_and_offset(scene: &Scene<'_>) -> Outcome {
    let (drawers, names) = letters(scene, 25)?;
    let mut paged = Vec::new();
    for offset in (0..30).step_by(7) {
        let found = drawers.get(&page(7, offset))?;
        same!(
            found.len(),
            7.min(25_usize.saturating_sub(offset)),
            "drawers on the page from {offset}"
        );
        paged.extend(ids(&found).into_iter().map(str::to_owned));
    }
    same!(paged, names, "ids of all pages");
    same!(drawers.get(&page(7, 25))?.len(), 0, "drawers past the end");
    same!(
        drawers.get(&page(7, 1_000_000))?.len(),
        0,
        "drawers far past the end"
    );
    same!(drawers.get(&page(0, 0))?.len(), 0, "drawers of a page of none");
    let rest = Get {
        offset: 20,
        ..Get::default()
    };
    same!(
        ids(&drawers.get(&rest)?),
        names[20..],
        "drawers from an offset without a limit"
    );
    Ok(())
}

fn paging_filtered(scene: &Scene<'_>) -> Outcome {
    let (drawers, names) = letters(scene, 25)?;
    let thirds: Vec<&String> = names.iter().step_by(3).collect();
    let mut paged = Vec::new();
    for offset in (0..9).step_by(2) {
        let found = drawers.get(&Get {
            filter: Filter::text("wing", "third"),
            ..page(2, offset)
        })?;
        paged.extend(ids(&found).into_iter().map(str::to_owned));
    }
    same!(paged.iter().collect::<Vec<_>>(), thirds, "ids of all pages");
    Ok(())
}

fn after_pages(scene: &Scene<'_>) -> Outcome {
    let (drawers, names) = letters(scene, 25)?;
    let mut paged: Vec<String> = Vec::new();
    loop {
        let found = drawers.get(&Get {
            after: paged.last().map(|last| DrawerPosition::Id(id(last))),
            limit: Some(4),
            ..Get::default()
        })?;
        if found.is_empty() {
            break;
        }
        ensure!(
            paged.len() <= names.len(),
            "expected {} drawers, found more: {paged:?}",
            names.len()
        );
        paged.extend(ids(&found).into_iter().map(str::to_owned));
    }
    same!(paged, names, "ids of all pages");
    let between = Get {
        after: Some(DrawerPosition::Id(id("d010x"))),
        offset: 1,
        limit: Some(2),
        ..Get::default()
    };
    same!(
        ids(&drawers.get(&between)?),
        ["d012", "d013"],
        "ids after one that is not there, but one"
    );
    Ok(())
}

fn ids_and_after(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([plain("a", "text")])?;
    let both = Get {
        after: Some(DrawerPosition::Id(id("a"))),
        ..Get::ids([id("a")])
    };
    refused(drawers.get(&both), ErrorKind::Invalid, &[])
}

fn ids_and_filters(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        winged("a", "x"),
        winged("b", "y"),
        winged("c", "x"),
        winged("d", "x"),
    ])?;
    let narrowed = Get {
        filter: Filter::text("wing", "x"),
        document: DocumentFilter::NotContains("of c".into()),
        ..Get::ids(["d", "c", "b", "a"].map(id))
    };
    same!(ids(&drawers.get(&narrowed)?), ["d", "a"], "drawers");
    Ok(())
}

fn fields_absent(scene: &Scene<'_>) -> Outcome {
    let given = NewDrawer {
        metadata: Metadata::new().with("n", 1_i64),
        ..scene.fit(vectored("a", "text", &[1.0, 0.0, 0.0, 0.0]))
    };
    let drawers = scene.filled([given])?;
    let bare = one(drawers.as_ref(), "a", Include::NOTHING)?;
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
    ensure!(bare.filed_at.is_some(), "expected the time of filing, found none");
    let text = Include {
        document: true,
        ..Include::NOTHING
    };
    let found = one(drawers.as_ref(), "a", text)?;
    same!(
        (found.document.as_deref(), &found.metadata),
        (Some("text"), &None),
        "the text alone"
    );
    let metadata = Include {
        metadata: true,
        ..Include::NOTHING
    };
    let found = one(drawers.as_ref(), "a", metadata)?;
    same!(
        (&found.document, found.metadata.is_some()),
        (&None, true),
        "the metadata alone"
    );
    let filtered = Get {
        filter: Filter::Compare("n".into(), loci_core::Comparison::Eq(loci_core::Scalar::Int(1))),
        document: DocumentFilter::Contains("ex".into()),
        include: Include::NOTHING,
        ..Get::default()
    };
    same!(
        drawers.get(&filtered)?,
        vec![bare],
        "a drawer filtered by fields that were not asked for"
    );
    Ok(())
}

fn embedding_if_asked(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([vectored("a", "text", &[1.0, 2.0, 3.0, 4.0]), plain("b", "text")])?;
    let embedding = Include {
        embedding: true,
        ..Include::NOTHING
    };
    let vector = |called, include| one(drawers.as_ref(), called, include).map(|drawer| drawer.embedding);
    same!(
        vector("a", embedding)?,
        Some(vec![1.0, 2.0, 3.0, 4.0]),
        "a vector asked for"
    );
    same!(vector("b", embedding)?, None, "a vector that is not there");
    same!(vector("a", Include::default())?, None, "a vector not asked for");
    Ok(())
}

fn counts(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([winged("a", "x"), winged("b", "y"), winged("c", "x")])?;
    same!(drawers.count(&DrawerCondition::default())?, 3, "drawers");
    same!(
        drawers.count(&Filter::text("wing", "x").into())?,
        2,
        "drawers in the wing"
    );
    same!(
        drawers.count(&Filter::text("wing", "z").into())?,
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

fn estimates(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([winged("a", "x"), winged("b", "y")])?;
    ensure!(
        drawers.count(&DrawerCondition::default())? > 0,
        "expected an estimate above 0 for two drawers"
    );
    Ok(())
}

fn info_counts(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.filled([
        scene.fit(vectored("a", "text", &[1.0, 0.0, 0.0, 0.0])),
        plain("b", "text"),
    ])?;
    let info = drawers.info()?;
    same!(info.name.as_str(), "drawers", "name");
    same!(info.drawers, 2, "drawers");
    let vectors = scene.can(loci_core::Capability::EmbeddingsPassthrough);
    if vectors {
        same!(info.dimension, Some(4), "dimension");
        same!(info.coverage.nearest, 1, "drawers with a vector");
    }
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

fn acknowledged_writes(scene: &Scene<'_>) -> Outcome {
    let drawers = scene.open()?;
    let elsewhere = scene.open_elsewhere()?;
    for n in 0..5 {
        let (ours, theirs) = (format!("ours-{n}"), format!("theirs-{n}"));
        drawers.add(plain(&ours, "text"))?;
        let text =
            |called: &str| one(drawers.as_ref(), called, Include::default()).map(|found| found.document);
        same!(text(&ours)?.as_deref(), Some("text"), "text");
        same!(
            drawers.find(&id(&theirs))?,
            None,
            "a drawer that another process has not filed yet"
        );
        let seen = elsewhere.find(&id(&ours))?;
        ensure!(
            seen.is_some(),
            "expected another process to see {ours}, found nothing"
        );
        elsewhere.apply_batch(&[
            Write::Upsert(plain(&theirs, "text")),
            Write::Upsert(plain(&ours, "changed")),
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
        elsewhere.delete(id(&theirs))?;
        same!(
            drawers.find(&id(&theirs))?,
            None,
            "a drawer that another process removed"
        );
    }
    Ok(())
}

fn two_handles(scene: &Scene<'_>) -> Outcome {
    let (one_handle, other) = (scene.open()?, scene.open()?);
    one_handle.add(plain("a", "text"))?;
    let seen = other
        .find(&id("a"))?
        .ok_or_else(|| Failure::new("expected a, found nothing"))?;
    same!(seen.document.as_deref(), Some("text"), "text");
    other.delete(id("a"))?;
    same!(
        one_handle.find(&id("a"))?,
        None,
        "a drawer that the other handle removed"
    );
    Ok(())
}
