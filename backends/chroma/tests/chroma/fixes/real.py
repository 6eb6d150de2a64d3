"""Opens a folder with the real package and says how far it answers as expected: real.py FOLDER EXPECTED ADD WHAT.

EXPECTED is what the fixtures' script wrote. ADD records are added to each collection first, where it is not 0.
WHAT is "vectors" or "directions": of the latter, the lengths may differ.
Prints one JSON document, by collection.
"""

import base64
import json
import sys

import chromadb
import numpy

folder, expected, more = sys.argv[1], json.load(open(sys.argv[2])), int(sys.argv[3])
client = chromadb.PersistentClient(folder)


def compared(vector):
    vector = numpy.asarray(vector, dtype="<f4")
    return vector / numpy.linalg.norm(vector) if sys.argv[4] == "directions" else vector


def examined(told):
    collection = client.get_collection(told["name"])
    items = {item["id"]: item for item in told["items"]}
    vectors = {
        name: numpy.frombuffer(base64.b64decode(item["embedding_f32_b64"]), dtype="<f4")
        for name, item in items.items()
    }
    dimension = len(next(iter(vectors.values())))
    add(collection, dimension)
    got = collection.get(include=["embeddings", "documents", "metadatas"])
    found = dict(zip(got["ids"], zip(got["embeddings"], got["documents"], got["metadatas"])))
    answer = {"count": collection.count(), "found": len(found), "lost": [], "texts": [], "vectors": [], "far": []}
    for name, item in items.items():
        if name not in found:
            answer["lost"].append(name)
            continue
        vector, document, metadata = found[name]
        if document != item["document"] or (metadata or {}) != (item["metadata"] or {}):
            answer["texts"].append(name)
        if not numpy.allclose(compared(vector), compared(vectors[name]), rtol=0, atol=1e-6):
            answer["vectors"].append(name)
    for name in list(items)[::41]:
        nearest = collection.query(query_embeddings=[vectors[name].tolist()], n_results=20)["ids"][0]
        if name not in nearest:
            answer["far"].append(name)
    return answer


def add(collection, dimension):
    made = numpy.random.default_rng(more).normal(size=(more, dimension)).astype("<f4")
    for start in range(0, more, 100):
        ids = [f"more-{more}-{start + at}" for at in range(min(100, more - start))]
        collection.add(
            ids=ids, embeddings=made[start : start + len(ids)].tolist(), documents=["something more"] * len(ids)
        )


print(json.dumps({told["name"]: examined(told) for told in expected["collections"]}))
