"""Writes to real collections while keeping a record of the newest vector of every id, and reads folders back."""

import base64
import logging
import sqlite3

import chromadb
from chromadb.config import Settings

import values

# A release warns of every id it passes over, which is what some folders are about.
logging.disable(logging.ERROR)

EVERYTHING = ["documents", "metadatas", "embeddings"]


def client(path, **place):
    settings = Settings(anonymized_telemetry=False, allow_reset=True)
    return chromadb.PersistentClient(path=str(path), settings=settings, **place)


def record(vector, document, metadata):
    return {"vector": coded(vector), "document": document, "metadata": metadata}


class Book:
    """One collection and what it must hold: ids that are not there are not updated, and known ones not added."""

    def __init__(self, client_, name, space=None, settings=None):
        settings = {"hnsw:space": space} if space else settings
        self.collection = client_.create_collection(name, metadata=settings, embedding_function=None)
        self.name = name
        self.held = {}

    def add(self, numbers, version=0, batch=500):
        for part in parts(numbers, batch):
            self.collection.add(**records(part, version))
            for id_, one in held(part, version).items():
                self.held.setdefault(id_, one)

    def upsert(self, numbers, version):
        self.collection.upsert(**records(numbers, version))
        self.held.update(held(numbers, version))

    def update(self, numbers, version):
        self.collection.update(**records(numbers, version))
        self.held.update({id_: one for id_, one in held(numbers, version).items() if id_ in self.held})

    def update_metadata(self, numbers, version):
        given = records(numbers, version)
        self.collection.update(ids=given["ids"], metadatas=given["metadatas"])
        for id_, metadata in zip(given["ids"], given["metadatas"]):
            self.held[id_] = {**self.held[id_], "metadata": metadata}

    def delete(self, numbers):
        ids = [values.identifier(number) for number in numbers]
        self.collection.delete(ids=ids)
        for id_ in ids:
            self.held.pop(id_, None)

    def add_one(self, id_, vector, document, metadata):
        given = {"ids": [id_], "embeddings": [vector]}
        given |= {"documents": [document]} if document is not None else {}
        given |= {"metadatas": [metadata]} if metadata is not None else {}
        self.collection.add(**given)
        self.held[id_] = record(vector, document, metadata)

    def add_odd(self):
        """Adds the odd records one by one. Returns those the release refused."""
        refused = []
        for number, (id_, document, metadata) in enumerate(values.odd()):
            try:
                self.add_one(id_, values.vector(number, 7), document, metadata)
            except Exception as error:
                refused.append(f"{id_[:40]!r}: {type(error).__name__}: {str(error)[:120]}")
        return refused


def parts(numbers, size):
    numbers = list(numbers)
    return [numbers[start : start + size] for start in range(0, len(numbers), size)]


def records(numbers, version, dimension=values.DIMENSION):
    return {
        "ids": [values.identifier(number) for number in numbers],
        "embeddings": [values.vector(number, version, dimension) for number in numbers],
        "documents": [values.text(number, version) for number in numbers],
        "metadatas": [values.metadata(number, version) for number in numbers],
    }


def held(numbers, version, dimension=values.DIMENSION):
    """What a collection holds of such records, by id."""
    return {
        values.identifier(number): record(
            values.vector(number, version, dimension), values.text(number, version), values.metadata(number, version)
        )
        for number in numbers
    }


def places(path):
    """(tenant, database, collection id, collection name) of every collection, from the rows."""
    database = sqlite3.connect(path / "chroma.sqlite3")
    known = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "databases" in known:
        query = "SELECT d.tenant_id, d.name, c.id, c.name FROM collections c JOIN databases d ON d.id = c.database_id"
    else:
        query = "SELECT NULL, NULL, id, name FROM collections"
    found = database.execute(query + " ORDER BY 1, 2, 4").fetchall()
    database.close()
    return found


def described(path):
    """The collections, without what they hold."""
    names = ("tenant", "database", "id", "name")
    return [dict(zip(names, place), metadata=None) for place in places(path)]


def read(path, vectors=True):
    """Everything Chroma's interface says of a folder. It may change the folder: give it a copy."""
    found = described(path)
    for one in found:
        place = {key: one[key] for key in ("tenant", "database") if one[key]}
        collection = client(path, **place).get_collection(one["name"], embedding_function=None)
        one["metadata"] = collection.metadata
        one["count"] = collection.count()
        one["items"] = items(collection.get(include=EVERYTHING if vectors else EVERYTHING[:2]), vectors)
    return found


def items(rows, vectors):
    embeddings = rows["embeddings"] if vectors else [None] * len(rows["ids"])
    found = [
        {"id": id_, "document": document, "metadata": metadata, "embedding_f32_b64": coded(embedding)}
        for id_, document, metadata, embedding in zip(
            rows["ids"], rows["documents"], rows["metadatas"], embeddings, strict=True
        )
    ]
    return sorted(found, key=lambda item: item["id"])


def coded(floats):
    return None if floats is None else base64.b64encode(values.packed(floats)).decode()


def queued(path):
    """{collection id: {id: vectors in the write queue}}; of a folder that is no longer open."""
    database = sqlite3.connect(path / "chroma.sqlite3")
    found = {}
    for topic, id_, blob in database.execute("SELECT topic, id, vector FROM embeddings_queue WHERE vector NOT NULL"):
        found.setdefault(topic.rsplit("/", 1)[-1], {}).setdefault(id_, []).append(blob)
    database.close()
    return found
