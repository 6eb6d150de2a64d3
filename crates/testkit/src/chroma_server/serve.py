"""Runs a Chroma server on loopback for as long as tests are connected to its guard.

    serve.py FOLDER PACKAGES IDLE_SECONDS

Prints one line once the server answers: the server's port, the guard's port, and a word by which tests know the guard.
The guard ends the server and removes FOLDER when nobody has been connected for IDLE_SECONDS.
"""

import os
import secrets
import select
import shutil
import signal
import socket
import sys
import time
import urllib.request


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def serve(folder, packages, port):
    """Never returns. Releases from 1.0 on have their own server, earlier ones run under uvicorn."""
    try:
        import chromadb_rust_bindings
    except ImportError:
        sys.path.insert(0, packages)
        import uvicorn
        from chromadb.config import Settings
        from chromadb.server.fastapi import FastAPI

        settings = Settings(is_persistent=True, persist_directory=folder, anonymized_telemetry=False)
        uvicorn.run(FastAPI(settings).app(), host="127.0.0.1", port=port, log_level="warning")
    else:
        arguments = ["chroma", "run", "--path", folder, "--host", "127.0.0.1", "--port", str(port)]
        chromadb_rust_bindings.cli(arguments)


def answers(port):
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v2/heartbeat", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def start(folder, packages):
    """Starts the server as a child and waits until it answers."""
    for _ in range(3):
        port = free_port()
        child = os.fork()
        if child == 0:
            # The line of the guard alone goes to the test.
            os.dup2(2, 1)
            serve(folder, packages, port)
            os._exit(1)
        until = time.monotonic() + 120
        while time.monotonic() < until:
            # Another process may have taken the port meanwhile; then the server ends at once.
            if os.waitpid(child, os.WNOHANG) != (0, 0):
                break
            if answers(port):
                return child, port
            time.sleep(0.05)
        else:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    sys.exit("the server did not start")


def guard(listener, word, idle):
    """Returns once nobody has been connected for `idle` seconds."""
    users = []
    since = time.monotonic()
    # The test that started the server has until then to connect.
    patience = max(idle, 10)
    while users or time.monotonic() - since < patience:
        ready, _, _ = select.select([listener, *users], [], [], 0.2)
        for found in ready:
            if found is listener:
                user, _ = listener.accept()
                user.sendall(word.encode() + b"\n")
                users.append(user)
                patience = idle
            elif not found.recv(1):
                users.remove(found)
                found.close()
        if users:
            since = time.monotonic()


def main():
    folder, packages, idle = sys.argv[1], sys.argv[2], float(sys.argv[3])
    listener = socket.create_server(("127.0.0.1", 0))
    word = secrets.token_hex(16)
    child, port = start(folder, packages)
    print(port, listener.getsockname()[1], word, flush=True)
    os.close(1)
    guard(listener, word, idle)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    shutil.rmtree(folder, ignore_errors=True)


main()
