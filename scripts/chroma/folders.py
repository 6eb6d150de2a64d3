"""One maker for each folder: it writes a fresh folder and returns what was written and what the release refused."""

import pathlib
import subprocess

import chromadb
from chromadb.config import Settings

import book
import palace

TENANT, DATABASE = "default_tenant", "default_database"
DATABASES = hasattr(chromadb, "AdminClient")


def place(tenant, database, name):
    """What a collection is called in the notes; early releases know neither tenants nor databases."""
    return f"{tenant or TENANT}/{database or DATABASE}/{name}"


def written(*books):
    return {place(None, None, one.name): one.held for one in books}


def small(path):
    """A few rows, odd in every way the release takes, all still in the queue."""
    one = book.Book(book.client(path), "small")
    one.add(range(5))
    refused = one.add_odd()
    return written(one), refused


def kept(path):
    """A graph saved early, so that it is small, and rows after that; the tree keeps such folders of two releases."""
    early = {"hnsw:batch_size": 10, "hnsw:sync_threshold": 20}
    one = book.Book(book.client(path), "kept", settings=early)
    one.add(range(40), batch=10)
    one.collection.get(limit=1)
    one.update(range(5), 1)
    one.delete(range(5, 8))
    one.add_odd()
    return written(one), []


def flushed(path):
    """Enough rows that the graph was saved, and some after that."""
    one = book.Book(book.client(path), "flushed")
    one.add(range(1040), batch=100)
    one.collection.get(limit=1)
    one.add(range(1040, 1060))
    return written(one), []


def changed(path):
    """Every way a row can change, before and after the graph was saved."""
    one = book.Book(book.client(path), "changed")
    one.add(range(300), batch=100)
    change(one, 0, range(2000, 2010))
    one.add(range(300, 1100), batch=100)
    change(one, 100, range(2010, 2020))
    return written(one), []


def change(one, start, new):
    """Changes rows from `start` on, ten in each way."""
    tens = [range(start + ten, start + ten + 10) for ten in range(0, 100, 10)]
    one.update(tens[0], 1)
    one.update_metadata(tens[1], 1)
    one.upsert([*tens[2], *new], 2)
    one.delete(tens[3])
    one.delete(tens[4])
    one.add(tens[4], version=3)
    one.add(tens[5], version=4)
    one.update(range(9000, 9003), 5)
    one.delete(tens[6])
    one.upsert(tens[6], 6)
    one.delete(tens[6])
    one.update(tens[7], 7)
    one.update(tens[7], 8)


def metrics(path):
    """Each metric, saved, with rows after that."""
    client = book.client(path)
    books = [book.Book(client, f"by-{space}", space) for space in ("cosine", "l2", "ip")]
    for one in books:
        one.add(range(1010), batch=505)
        one.collection.get(limit=1)
        one.add(range(1010, 1020))
    return written(*books), []


def dropped(path):
    """Collections dropped and made again under the same name, saved and not."""
    client = book.client(path)
    for rows in (1010, 20):
        one = book.Book(client, "again")
        one.add(range(rows))
        one.collection.get(limit=1)
        client.delete_collection("again")
    gone = book.Book(client, "gone")
    gone.add(range(30))
    client.delete_collection("gone")
    again = book.Book(client, "again", "ip")
    again.add(range(3000, 3040))
    return written(again), []


def empty(path):
    """Collections without rows: never written to, and emptied."""
    client = book.client(path)
    never = book.Book(client, "never-written")
    emptied = book.Book(client, "emptied")
    emptied.add(range(20))
    emptied.delete(range(20))
    return written(never, emptied), []


def nothing(path):
    """No collection at all."""
    book.client(path).heartbeat()
    return {}, []


def many(path):
    """Several databases and tenants where the release knows them, one name in all."""
    home = book.Book(book.client(path), "shared-name")
    home.add(range(10))
    found = written(home)
    if not DATABASES:
        return found, ["no databases"]
    place_ = {"is_persistent": True, "persist_directory": str(path)}
    admin = chromadb.AdminClient(Settings(anonymized_telemetry=False, allow_reset=True, **place_))
    admin.create_database("second")
    admin.create_tenant("guest")
    admin.create_database("third", tenant="guest")
    for number, (tenant, database) in enumerate([(TENANT, "second"), ("guest", "third")], 1):
        client = book.client(path, tenant=tenant, database=database)
        for name in ("shared-name", f"own-{number}"):
            one = book.Book(client, name)
            one.add(range(number * 100, number * 100 + 10))
            found[place(tenant, database, name)] = one.held
    return found, []


def mempalace(path):
    """A palace as MemPalace lays it out, with what it keeps beside the database."""
    return palace.make(path)


def older_part(path):
    """What the earlier release writes before this one takes over."""
    one = book.Book(book.client(path), "upgraded")
    one.add(range(1050), batch=150)
    one.update(range(10), 1)
    one.delete(range(20, 30))


def upgrade(python):
    """The maker of a folder that an earlier release wrote and this one went on with."""

    def upgraded(path):
        here = pathlib.Path(__file__).parent
        subprocess.run(
            [python, "-B", "-c", f"import sys, pathlib; sys.path.insert(0, {str(here)!r}); import folders; "
             f"folders.older_part(pathlib.Path({str(path)!r}))"],
            check=True,
        )
        one = book.Book.__new__(book.Book)
        one.name = "upgraded"
        one.held = book.held(range(10), 1) | book.held([*range(10, 20), *range(30, 1050)], 0)
        one.collection = book.client(path).get_collection("upgraded", embedding_function=None)
        one.add(range(1050, 1100))
        one.update(range(5, 15), 2)
        one.delete(range(30, 40))
        return written(one), []

    return {"upgraded": upgraded}


MAKERS = {
    "small": small,
    "kept": kept,
    "flushed": flushed,
    "changed": changed,
    "metrics": metrics,
    "dropped": dropped,
    "empty": empty,
    "nothing": nothing,
    "many": many,
    "mempalace": mempalace,
}
