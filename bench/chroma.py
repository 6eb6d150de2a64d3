"""Measures ChromaDB on the corpus written by `loci-bench corpus`, with the same activities and names as `loci-bench storage`.

Usage: python3 bench/chroma.py CORPUS_FOLDER [--rounds N]
Prints one JSON object. Settings are those of MemPalace; drawers are written 1,000 at a time.
"""

import argparse
import array
import json
import os
import resource
import statistics
import tempfile
import time

import chromadb


def cpu_seconds():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def repeat(rounds, work):
    work(0)
    walls = []
    started = cpu_seconds()
    for n in range(rounds):
        begun = time.perf_counter()
        work(n)
        walls.append((time.perf_counter() - begun) * 1e3)
    cpu = (cpu_seconds() - started) * 1e3 / rounds
    walls.sort()
    return {"cpu_ms": cpu, "p50_ms": statistics.median(walls), "p95_ms": walls[int(len(walls) * 0.95)], "min_ms": walls[0]}


def read_corpus(folder):
    with open(os.path.join(folder, "drawers.jsonl"), encoding="utf-8") as lines:
        drawers = [json.loads(line) for line in lines]
    values = array.array("f")
    with open(os.path.join(folder, "vectors.f32"), "rb") as vectors:
        values.frombytes(vectors.read())
    dimension = len(values) // (len(drawers) + PROBES)
    vectors = [values[at : at + dimension].tolist() for at in range(0, len(values), dimension)]
    return drawers, vectors[: len(drawers)], vectors[len(drawers) :]


# As MemPalace sets them.
SETTINGS = {"hnsw:space": "cosine", "hnsw:num_threads": 1, "hnsw:batch_size": 100, "hnsw:sync_threshold": 1000}

# The number of query vectors after those of the drawers.
PROBES = 100


def metadata(drawer):
    return {
        "wing": drawer["wing"],
        "room": drawer["room"],
        "source_file": drawer["source"],
        "chunk_index": 3,
        "added_by": "bench",
        "importance": 0.5,
    }


def fill(collection, drawers, vectors):
    started, begun = cpu_seconds(), time.perf_counter()
    for first in range(0, len(drawers), 1000):
        batch = drawers[first : first + 1000]
        collection.upsert(
            ids=[drawer["id"] for drawer in batch],
            documents=[drawer["text"] for drawer in batch],
            metadatas=[metadata(drawer) for drawer in batch],
            embeddings=vectors[first : first + 1000],
        )
    cpu, wall = cpu_seconds() - started, time.perf_counter() - begun
    return {"rows_per_cpu_second": len(drawers) / cpu, "rows_per_second": len(drawers) / wall}


def activities(collection, drawers, vectors, probes):
    wing = {"wing": "wing-7"}
    room = {"$and": [{"wing": "wing-7"}, {"room": "room-3"}]}
    most = {"wing": {"$ne": "wing-7"}}

    def query(where):
        return lambda n: collection.query(query_embeddings=[probes[n % len(probes)]], n_results=10, where=where)

    def single(n):
        collection.upsert(ids=[f"single-{n}"], documents=[drawers[n]["text"]], metadatas=[metadata(drawers[n])], embeddings=[vectors[n]])

    return {
        "query_plain": query(None),
        "query_5_percent": query(wing),
        "query_half_percent": query(room),
        "query_95_percent": query(most),
        "get_by_id": lambda n: collection.get(ids=[drawers[n * 7919 % len(drawers)]["id"]]),
        "count": lambda n: collection.count(),
        "single_write": single,
    }


def bytes_below(folder):
    return sum(os.path.getsize(os.path.join(base, name)) for base, _, names in os.walk(folder) for name in names)


def main():
    arguments = argparse.ArgumentParser()
    arguments.add_argument("corpus")
    arguments.add_argument("--rounds", type=int, default=50)
    arguments = arguments.parse_args()
    drawers, vectors, probes = read_corpus(arguments.corpus)
    folder = tempfile.mkdtemp()
    client = chromadb.PersistentClient(path=folder, settings=chromadb.Settings(anonymized_telemetry=False))
    collection = client.create_collection("drawers", metadata=SETTINGS)
    figures = {"chromadb": chromadb.__version__, "rows": len(drawers), "bulk": fill(collection, drawers, vectors)}
    for name, work in activities(collection, drawers, vectors, probes).items():
        figures[name] = repeat(arguments.rounds, work)
    figures["bytes_per_drawer"] = bytes_below(folder) / len(drawers)
    figures["rss_mb"] = {"peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}
    print(json.dumps(figures, indent=2))


main()
