"""A palace as MemPalace lays it out: its metadata keys, and the files it keeps beside the database."""

import json
import sqlite3

import book
import values

DRAWERS, CLOSETS = "mempalace_drawers", "mempalace_closets"


def drawer(number):
    """(id, text, metadata) of a drawer; some from a project, some from a conversation, some swept up."""
    wing, room = ("harbour", "tides")[number % 2], ("planning", "technical", "general")[number % 3]
    if number % 10 == 9:
        swept = {"session_id": "s-1", "timestamp": f"2026-01-02T03:04:{number % 60:02}Z", "message_uuid": f"u{number}",
                 "role": "user", "ingest_mode": "sweep"}
        return f"sweep_s-1_u{number}", values.text(number), swept
    metadata = {
        "wing": wing, "room": room, "hall": "technical", "source_file": f"/home/ada/{wing}/notes {number // 4}.md",
        "chunk_index": number % 4, "chunk_total": 4, "added_by": "mempalace",
        "filed_at": f"2026-01-{number % 28 + 1:02}T09:30:00.123456", "normalize_version": 2, "id_recipe": "v3",
        "source_mtime": 1767225600.25 + number, "entities": "Ada;Jonas;Marta",
    }
    if number % 2:
        metadata |= {"ingest_mode": "convos", "extract_mode": "exchange", "authored_at": "2025-12-24T18:00:00+01:00"}
    else:
        metadata |= {"line_start": number, "line_end": number + 3, "content_date": "2025-11-30"}
    return f"drawer_{wing}_{room}_{number:024x}", values.text(number), metadata


def make(path):
    client = book.client(path)
    drawers = book.Book(client, DRAWERS, "cosine")
    closets = book.Book(client, CLOSETS, "cosine")
    file(drawers, [drawer(number) for number in range(60)])
    pointers = [(f"closet_harbour_planning_{n:024x}_{n:02}", f"ferry|Ada;Jonas|2026-01-0{n + 1}:L1-L4|→drawer_{n}",
                 {"wing": "harbour", "room": "planning", "source_file": f"/home/ada/harbour/notes {n}.md"})
                for n in range(5)]
    file(closets, pointers)
    beside(path)
    return {f"default_tenant/default_database/{one.name}": one.held for one in (drawers, closets)}, []


def file(one, records):
    vectors = [values.vector(number, 11) for number in range(len(records))]
    ids, documents, metadatas = (list(column) for column in zip(*records))
    one.collection.upsert(ids=ids, embeddings=vectors, documents=documents, metadatas=metadatas)
    one.held = {id_: book.record(vector, *rest) for (id_, *rest), vector in zip(records, vectors)}


def beside(path):
    """The files that are no part of Chroma: who embedded, tunnels, and the knowledge graph."""
    embedder = {"model": "all-MiniLM-L6-v2", "dimension": values.DIMENSION}
    (path / "mempalace_embedder.json").write_text(json.dumps({name: embedder for name in (DRAWERS, CLOSETS)}, indent=2))
    tunnel = {"id": "0123456789abcdef", "kind": "explicit", "label": "both about the ferry",
              "source": {"wing": "harbour", "room": "planning"}, "target": {"wing": "tides", "room": "technical"}}
    (path / "tunnels.json").write_text(json.dumps([tunnel], indent=2))
    graph = sqlite3.connect(path / "knowledge_graph.sqlite3")
    graph.executescript("""
        CREATE TABLE entities(id TEXT PRIMARY KEY, name TEXT, type TEXT, properties TEXT, created_at TEXT);
        CREATE TABLE triples(id TEXT PRIMARY KEY, subject TEXT, predicate TEXT, object TEXT, valid_from TEXT,
            valid_to TEXT, confidence REAL, source_closet TEXT, source_file TEXT, source_drawer_id TEXT,
            adapter_name TEXT, extracted_at TEXT);
        INSERT INTO entities VALUES ('ada', 'Ada', 'person', '{}', '2026-01-01T00:00:00Z'),
            ('ferry', 'Ferry', 'thing', '{}', '2026-01-01T00:00:00Z');
        INSERT INTO triples VALUES ('t_ada_owns_ferry_0123456789ab', 'ada', 'owns', 'ferry', '2025-05-01', NULL, 1.0,
            NULL, NULL, NULL, NULL, '2026-01-01T00:00:00Z');
    """)
    graph.close()
