"""Writes random histories with one ChromaDB release, each with what its own interface says of it afterwards.

    python history.py DESTINATION SEED COUNT
    python history.py FOLDER

runs in an environment that holds the release, and makes DESTINATION/<number>/{db,expected.json}, or prints what the
release says of a folder. A history has several collections with small thresholds, written to in turn by one process
after another: adds, updates and upserts of known and unknown ids, with and without vectors, and deletes. The write
queue is purged or kept. The same seed makes the same history. What is expected is what another process reads from a
copy; a record without a vector has none there.
"""

import json
import pathlib
import random
import shutil
import sqlite3
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))

import chromadb

import book
import make
import values

SPACES = ["l2", "cosine", "ip"]


class History:
    """The next write, and how many there were, which makes every vector, text and value another one."""

    def __init__(self, chance):
        self.chance, self.written = chance, 0
        self.ids = [values.identifier(number) for number in range(chance.choice([6, 20, 60]))]
        self.weights = chance.choice([(6, 3, 3, 3, 2), (3, 3, 3, 3, 3), (2, 5, 5, 2, 4), (8, 1, 1, 1, 1)])

    def settings(self):
        batch = self.chance.choice([3, 4, 6, 10, 30])
        sync = batch * self.chance.choice([1, 1, 2, 5])
        return {"hnsw:space": self.chance.choice(SPACES), "hnsw:batch_size": batch, "hnsw:sync_threshold": sync}

    def write(self, collection):
        """One call. A release refuses some, like a delete of nothing: then it wrote nothing."""
        kind = self.chance.choices(["add", "update", "touch", "upsert", "delete"], self.weights)[0]
        ids = self.chance.sample(self.ids, min(len(self.ids), self.chance.choice([1, 1, 1, 2, 3, 7])))
        self.written += 1
        vectors = [values.vector(id_, self.written) for id_ in ids]
        texts = [values.text(id_, self.written) for id_ in ids]
        metadatas = [{"version": self.written, f"key-{self.written % 3}": id_} for id_ in ids]
        try:
            if kind == "delete":
                collection.delete(ids=ids)
            elif kind == "touch":
                collection.update(ids=ids, metadatas=metadatas)
            else:
                getattr(collection, kind)(ids=ids, embeddings=vectors, documents=texts, metadatas=metadatas)
        except Exception as error:
            if type(error).__name__ not in ("InvalidArgumentError", "NotFoundError", "ValueError"):
                raise


def keep_queue(path):
    """Turns purging off, where the release purges."""
    database = sqlite3.connect(path / "chroma.sqlite3")
    known = {row[0] for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if "embeddings_queue_config" in known:
        kept = json.dumps({"automatically_purge": False, "_type": "EmbeddingsQueueConfigurationInternal"})
        database.execute("INSERT OR REPLACE INTO embeddings_queue_config (id, config_json_str) VALUES (1, ?)", (kept,))
        database.commit()
    database.close()


def begin(path, settings, purged):
    client = book.client(path)
    for name, chosen in settings.items():
        client.create_collection(name, metadata=chosen, embedding_function=None)
    if not purged:
        keep_queue(path)


def go_on(path, histories, calls, chance_state):
    """The part of a history that one process writes."""
    chance = random.Random(chance_state)
    client = book.client(path)
    collections = {name: client.get_collection(name, embedding_function=None) for name in histories}
    for _ in range(calls):
        name = chance.choice(list(histories))
        histories[name].write(collections[name])
    (path / "written.json").write_text(json.dumps({name: one.written for name, one in histories.items()}))


def vectors_by_id(collection, ids):
    """What `get` returns. Some releases fail, or return fewer, where one record has no vector: then each alone."""
    try:
        found = collection.get(include=["embeddings"])
        if len(found["ids"]) == len(found["embeddings"]):
            return dict(zip(found["ids"], map(book.coded, found["embeddings"])))
    except Exception:
        pass
    found = {}
    for id_ in ids:
        try:
            alone = collection.get(ids=[id_], include=["embeddings"])["embeddings"]
            found[id_] = book.coded(alone[0]) if len(alone) else None
        except Exception:
            found[id_] = None
    return found


def read(path, seed):
    """Notes what the release says of a copy of the folder."""
    copy = path / "copy"
    shutil.copytree(path / "db", copy)
    told = {"chromadb_version": chromadb.__version__, "seed": seed, "collections": told_of(copy)}
    shutil.rmtree(copy)
    (path / "expected.json").write_text(json.dumps(told, ensure_ascii=False, indent=1))


def told_of(path):
    """What the release says of a folder, which it may change."""
    client = book.client(path)
    collections = []
    for place in book.described(path):
        collection = client.get_collection(place["name"], embedding_function=None)
        rows = collection.get(include=["documents", "metadatas"])
        vectors = vectors_by_id(collection, rows["ids"])
        items = [
            {"id": id_, "document": document, "metadata": metadata, "embedding_f32_b64": vectors[id_]}
            for id_, document, metadata in zip(rows["ids"], rows["documents"], rows["metadatas"], strict=True)
        ]
        collections.append({**place, "metadata": collection.metadata, "items": items})
    return collections


def write(path, seed):
    """Makes one history: several processes, each of which ends without warning."""
    chance = random.Random(seed)
    histories = {f"history-{number}": History(random.Random(f"{seed}/{number}")) for number in range(3)}
    database = path / "db"
    database.mkdir(parents=True)
    make.in_a_process(
        begin, database, {name: one.settings() for name, one in histories.items()}, chance.random() < 0.6
    )
    for part in range(chance.choice([1, 2, 4])):
        for one in histories.values():
            one.chance = random.Random(f"{seed}/{part}/{one.written}")
        make.in_a_process(go_on, database, histories, chance.choice([5, 30, 80, 160]), f"{seed}/{part}")
        for name, count in make.taken(database, "written").items():
            histories[name].written = count


def main():
    if len(sys.argv) == 2:
        print(json.dumps({"collections": told_of(pathlib.Path(sys.argv[1]))}))
        return
    destination, seed, count = pathlib.Path(sys.argv[1]).absolute(), sys.argv[2], int(sys.argv[3])
    print(f"chromadb {chromadb.__version__}, seed {seed}, {count} histories")
    for number in range(count):
        path = destination / str(number)
        write(path, f"{seed}/{number}")
        make.in_a_process(read, path, f"{seed}/{number}")


if __name__ == "__main__":
    main()
