"""Makes the folders of one ChromaDB release, each with what its own interface says of it.

    python make.py DESTINATION [OLDER_PYTHON] [ONLY ...]

runs in an environment that holds the release. OLDER_PYTHON is the interpreter of an environment with an earlier one,
for the folder that was upgraded. Every folder is written by a process of its own, which then ends, and read by
another from a copy, since reading may change a folder.
"""

import base64
import json
import os
import pathlib
import shutil
import sys
import traceback

import chromadb

import book
import crash
import folders


def in_a_process(work, *given):
    """Runs `work` in a process of its own, and fails where it fails."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            work(*given)
            status = 0
        except BaseException:
            traceback.print_exc()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(status)
    status = os.waitpid(child, 0)[1]
    if status != 0:
        raise SystemExit(f"{work.__name__} of {given[0]} failed: status {status}")


def write(path, maker):
    """Makes a folder and notes beside it what was written and refused."""
    written, refused = maker(path / "db")
    (path / "written.json").write_text(json.dumps({"written": written, "refused": refused}))


def read(path):
    """Notes what the release says of a copy of the folder: all of it, or all but vectors, or why it says nothing."""
    found, trouble = None, None
    for vectors in (True, False):
        copy = path / "copy"
        shutil.copytree(path / "db", copy)
        try:
            found = book.read(copy, vectors)
        except Exception as error:
            trouble = str(error).replace(str(copy), "")
        shutil.rmtree(copy)
        if found is not None:
            break
    (path / "read.json").write_text(json.dumps({"collections": found, "trouble": trouble}))


def on_a_copy(look, path):
    """What `look` finds in a copy of the folder: opening may use up a journal or log beside the database."""
    copy = path / "copy"
    shutil.copytree(path / "db", copy)
    found = look(copy)
    shutil.rmtree(copy)
    return found


def taken(path, name):
    file = path / f"{name}.json"
    found = json.loads(file.read_text())
    file.unlink()
    return found


def expect(path):
    """Writes expected.json: what was read, which must be what was written."""
    reading, notes = taken(path, "read"), taken(path, "written")
    queue, collections = on_a_copy(book.queued, path), reading["collections"]
    if collections is None:
        assert path.name.startswith("killed"), f"{path}: {reading['trouble']}"
        collections = as_written(path, notes["written"])
    for collection in collections:
        written = notes["written"][place(collection)]
        space = (collection["metadata"] or {}).get("hnsw:space", "l2")
        ids = [item["id"] for item in collection["items"]]
        assert ids == sorted(written), f"{path}: ids of {collection['name']}: {set(ids) ^ set(written)}"
        assert collection["count"] == len(ids), f"{path}: count of {collection['name']}"
        for item in collection["items"]:
            compare(item, written[item["id"]], space)
            complete(item, written[item["id"]], queue.get(collection["id"], {}))
    kept = {
        "chromadb_version": chromadb.__version__,
        "refused": notes["refused"],
        "trouble": reading["trouble"],
        "collections": collections,
    }
    (path / "expected.json").write_text(json.dumps(kept, ensure_ascii=False, indent=1))


def as_written(path, written):
    """What a folder must hold that its own release no longer opens, from what its writer was told is safe."""
    found = on_a_copy(book.described, path)
    for collection in found:
        held = sorted(written[place(collection)].items())
        collection["items"] = [
            {"id": id_, "document": one["document"], "metadata": one["metadata"], "embedding_f32_b64": None}
            for id_, one in held
        ]
        collection["count"] = len(held)
    return found


def compare(item, written, space):
    """Chroma leaves out keys without a value, turns -0.0 to 0.0, and makes vectors of a cosine graph of length one."""
    metadata = {key: value for key, value in (written["metadata"] or {}).items() if value is not None}
    assert item["document"] == written["document"], f"{item['id']}: the document is not the one written"
    assert (item["metadata"] or {}) == metadata, f"{item['id']}: the metadata are not those written"
    if item["embedding_f32_b64"] is not None and space != "cosine":
        assert item["embedding_f32_b64"] == written["vector"], f"{item['id']}: the vector is not the one written"


def complete(item, written, queue):
    """Adds the vector that was written, and whether the queue still holds it."""
    item["written_f32_b64"] = written["vector"]
    item["queued"] = base64.b64decode(written["vector"]) in queue.get(item["id"], [])


def place(collection):
    return folders.place(collection["tenant"], collection["database"], collection["name"])


def make(path, maker):
    if path.exists():
        shutil.rmtree(path)
    path.mkdir(parents=True)
    in_a_process(write, path, maker)
    in_a_process(read, path)
    expect(path)


def main():
    destination = pathlib.Path(sys.argv[1]).absolute()
    older, only = (sys.argv[2:3] or [None])[0], set(sys.argv[3:])
    makers = {**folders.MAKERS, **crash.MAKERS, **(folders.upgrade(older) if older not in (None, "-") else {})}
    for name, maker in makers.items():
        if not only or name in only:
            make(destination / name, maker)


if __name__ == "__main__":
    main()
