"""Folders whose writer was killed: while it saved a graph, inside a transaction, and before a log was folded in."""

import fcntl
import os
import select
import shutil
import signal
import sqlite3
import termios

import book

NAME = "killed"
DIMENSION = 64
BATCH = 50
SAVED_EVERY = 300
PICKLE = "index_metadata.pickle"
# The least a pipe can hold: the writer stands still in the middle of its file once so much of it is written.
PIPE = 4096
SET_PIPE_SIZE = 1031
PATIENCE = 120


def killed_by(cut, saves):
    """The maker of a folder whose writer was killed when `cut` bytes of the list of labels were written, after `saves`
    whole saves; with no `cut`, just before that file was there."""

    def killed(path):
        path.mkdir()
        acknowledged = kill_a_writer(path, cut, saves)
        there = rows(path)
        held = book.held(range(len(there)), 0, DIMENSION)
        assert len(there) >= acknowledged and there == set(held), f"{path}: {acknowledged} rows were acknowledged"
        return {f"default_tenant/default_database/{NAME}": held}, []

    return killed


def kill_a_writer(path, cut, saves):
    """Kills a process that adds rows, and says how many it was told are safe.

    The file with the labels is a pipe that nobody empties: a writer that fills it is in the middle of a save. What it
    had written becomes the file it would have left.
    """
    (told, tell), (asked, ask) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        add_for_ever(path, tell, asked)
    added = 0
    while added < BATCH or saves and added < saves * SAVED_EVERY + BATCH:
        added += step(told, ask)
    file = pickle(path)
    assert file.exists() == bool(saves), f"{path}: saved too early or too late"
    pipe = put_pipe(file)
    os.write(ask, b".")
    while not waiting(pipe, told):
        added += step(told, ask)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    put_file(file, os.read(pipe, PIPE), cut)
    for descriptor in (told, tell, asked, ask, pipe):
        os.close(descriptor)
    return added


def add_for_ever(path, tell, asked):
    """Adds a batch, tells so, and waits to be asked for the next."""
    often = {"hnsw:sync_threshold": SAVED_EVERY, "hnsw:batch_size": BATCH}
    collection = book.client(path).create_collection(NAME, metadata=often, embedding_function=None)
    for start in range(0, 10 * SAVED_EVERY, BATCH):
        collection.add(**book.records(range(start, start + BATCH), 0, DIMENSION))
        os.write(tell, b".")
        os.read(asked, 1)
    os._exit(1)


def step(told, ask):
    """Waits until a batch is acknowledged and asks for the next one."""
    assert select.select([told], [], [], PATIENCE)[0], "the writer adds nothing"
    os.read(told, 1)
    os.write(ask, b".")
    return BATCH


def waiting(pipe, told):
    """Whether the writer stands still in the middle of the file; returns once it does or has added a batch."""
    while True:
        assert select.select([pipe, told], [], [], PATIENCE)[0], "the writer does nothing"
        if select.select([told], [], [], 0)[0]:
            return False
        held = fcntl.ioctl(pipe, termios.FIONREAD, bytes(4))
        if int.from_bytes(held, "little") == PIPE:
            return True


def pickle(path):
    (folder,) = [one for one in path.iterdir() if one.is_dir()]
    return folder / PICKLE


def put_pipe(file):
    beside = file.with_name("pipe")
    os.mkfifo(beside)
    os.replace(beside, file)
    pipe = os.open(file, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(pipe, SET_PIPE_SIZE, PIPE)
    return pipe


def put_file(file, written, cut):
    file.unlink()
    if cut is not None:
        assert len(written) >= cut, f"{file}: only {len(written)} bytes were written"
        file.write_bytes(written[:cut])


def rows(path):
    """The ids whose rows or queued writes are in the database, from a copy: nothing is rolled back here."""
    copy = path.with_name("copy-rows")
    shutil.copytree(path, copy)
    database = sqlite3.connect(copy / "chroma.sqlite3")
    ids = database.execute("SELECT embedding_id FROM embeddings UNION SELECT id FROM embeddings_queue")
    found = {row[0] for row in ids}
    database.close()
    shutil.rmtree(copy)
    return found


def in_a_doomed_process(work):
    """Runs `work` in a process that kills itself at its end, so that nothing is closed or tidied."""
    child = os.fork()
    if child == 0:
        try:
            work()
            os.kill(os.getpid(), signal.SIGKILL)
        finally:
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL, f"the process failed: {status}"


def in_a_finished_process(work):
    child = os.fork()
    if child == 0:
        try:
            work()
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0, "the process failed"


def three_hundred(path):
    book.Book(book.client(path), NAME).add(range(300), batch=100)


def expected(numbers):
    return {f"default_tenant/default_database/{NAME}": book.held(numbers, 0)}, []


def journal(path):
    """A transaction that changed pages on disk and was never finished: its journal takes them back."""

    def half():
        database = sqlite3.connect(path / "chroma.sqlite3", isolation_level=None)
        database.execute("PRAGMA cache_size = 2")
        database.execute("BEGIN IMMEDIATE")
        database.execute("UPDATE embedding_metadata SET string_value = 'never committed' || zeroblob(300)")
        database.execute("DELETE FROM embeddings WHERE id > 150")

    in_a_finished_process(lambda: three_hundred(path))
    in_a_doomed_process(half)
    hot = (path / "chroma.sqlite3-journal").read_bytes()
    assert hot[:8] == bytes.fromhex("d9d505f920a163d7") and hot[8:12] != bytes(4), "the journal is not hot"
    return expected(range(300))


def wal(path):
    """A database in WAL mode whose last writes are only in the log beside it."""

    def more():
        collection = book.client(path).get_collection(NAME, embedding_function=None)
        collection.add(**book.records(range(300, 350), 0))
        collection.delete(ids=[book.values.identifier(number) for number in range(10)])

    in_a_finished_process(lambda: three_hundred(path))
    database = sqlite3.connect(path / "chroma.sqlite3")
    assert database.execute("PRAGMA journal_mode = WAL").fetchone() == ("wal",)
    database.close()
    in_a_doomed_process(more)
    assert (path / "chroma.sqlite3-wal").stat().st_size > 0, "nothing is in the log"
    return expected(range(10, 350))


MAKERS = {
    "killed-graph": killed_by(None, 0),
    "killed-pickle": killed_by(0, 0),
    "killed-again": killed_by(PIPE, 1),
    "journal": journal,
    "wal": wal,
}
