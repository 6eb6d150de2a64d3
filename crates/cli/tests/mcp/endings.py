"""How a server ends: when its client goes away, however that happens, and when it is asked to."""

import json
import os
import signal
import subprocess
import sys
import time

from wire import DEADLINE, expect, main, same


def the_server_ends_when_its_client_closes(scene):
    with scene.server(greet=False) as server:
        server.close()
    with scene.server() as server:
        server.close()
    with scene.server() as server:
        id = server.call("add", text="Before the end.")["id"]
        server.close()
    same(scene.run("show", id)["drawers"][0]["text"], "Before the end.")


def last_requests_are_answered(scene):
    """What was asked before the client closed its end is still done and answered."""
    with scene.server() as server:
        asked = [server.ask("tools/call", {"name": "add", "arguments": {"text": f"Last words {n}."}}) for n in range(50)]
        server.process.stdin.close()
        for id in asked:
            expect("structuredContent" in server.answer(id)["result"], id)
        server.ended()
    same(scene.run("status")["drawers"], 50)


def the_server_ends_when_its_client_closes_during_a_mine(scene):
    folder = scene.files("notes", 1_300)
    with scene.server() as server:
        mining(server, folder)
        server.close()
    left(scene)


def mining(server, folder):
    """Starts to mine, and goes on once some of it is filed."""
    params = {"name": "mine", "arguments": {"path": folder}, "_meta": {"progressToken": "p"}}
    id = server.ask("tools/call", params)
    while True:
        message = server.message()
        expect(message.get("method") == "notifications/progress", message)
        if not message["params"]["message"].endswith(" 0 drawers added"):
            return id


def left(here):
    """A palace that was left in the middle of a mine holds some of it, and is healthy."""
    drawers = here.run("status")["drawers"]
    print(f"{drawers} drawers were filed")
    expect(drawers > 0, "nothing was filed")
    same(here.run("verify")["ok"], True)
    return drawers


def the_server_ends_well_when_asked_to(scene):
    for number in [signal.SIGTERM, signal.SIGINT]:
        with scene.server() as server:
            ids = [server.call("add", text=f"Acknowledged {n} before {number}.")["id"] for n in range(20)]
            server.process.send_signal(number)
            server.ended()
        for id in ids:
            expect(scene.run("show", id)["drawers"], id)
    with scene.server(greet=False) as server:
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(timeout=DEADLINE)


def what_was_acknowledged_before_the_end_is_there(scene):
    """Whatever was acknowledged before the end is there after it."""
    for round in range(3):
        acknowledged = []
        with scene.server() as server:
            for n in range(300):
                server.ask("tools/call", {"name": "add", "arguments": {"text": f"Round {round} number {n}."}})
            while len(acknowledged) < 5:
                acknowledged.append(server.message()["result"]["structuredContent"]["id"])
            server.process.send_signal(signal.SIGTERM)
            while (line := server.lines.get(timeout=DEADLINE)) is not None:
                result = json.loads(line).get("result", {})
                if "structuredContent" in result:
                    acknowledged.append(result["structuredContent"]["id"])
            server.ended()
        there = {drawer["id"] for drawer in scene.run("list", "--limit", "100000")["drawers"]}
        expect(set(acknowledged) <= there, "acknowledged and lost:", set(acknowledged) - there)
    same(scene.run("verify")["ok"], True)


def what_was_stored_is_never_called_cancelled(scene):
    """Whoever is told that nothing was done tries again."""
    told = []
    for n in range(30):
        with scene.server() as server:
            server.call("status")
            server.ask("tools/call", {"name": "diary_write", "arguments": {"agent": "a", "entry": f"Once {n}."}}, id="w")
            time.sleep(0.0005 * (n % 10))
            server.process.send_signal(signal.SIGTERM)
            while (line := server.lines.get(timeout=DEADLINE)) is not None:
                message = json.loads(line)
                if message.get("id") == "w" and message["result"].get("isError"):
                    told.append(f"Once {n}.")
            server.ended()
    if os.path.exists(scene.palace):
        stored = {drawer["text"] for drawer in scene.run("list", "--limit", "100000")["drawers"]}
        same([entry for entry in told if entry in stored], [], "stored, and said to be cancelled")


def a_mine_stops_when_the_server_is_asked_to_end(scene):
    folder = scene.files("notes", 5_000)
    with scene.server() as server:
        mining(server, folder)
        server.process.send_signal(signal.SIGTERM)
        server.ended()
    expect(left(scene) < 5_000, "it went on to the end")


def the_server_ends_when_its_client_is_killed_in_mid_call(scene):
    """A client that dies in the middle of a call takes its server with it."""
    folder = scene.files("notes", 1_300)
    # Whoever holds the writing end is alive; when nobody does, reading ends.
    reading, writing = os.pipe()
    client = subprocess.Popen(
        [sys.executable, __file__, "dying_client", scene.loci, scene.folder, folder, str(writing)],
        stdout=subprocess.PIPE, pass_fds=[writing],
    )
    os.close(writing)
    same(client.stdout.readline(), b"mining\n")
    client.kill()
    client.wait()
    same(os.read(reading, 1), b"")
    left(scene)


def dying_client(scene):
    """The client of the case above, in a process of its own."""
    folder, alive = sys.argv[4], int(sys.argv[5])
    server = scene.server(pass_fds=[alive])
    mining(server, folder)
    print("mining", flush=True)
    time.sleep(DEADLINE)


def a_client_that_does_not_read_cannot_keep_the_server(scene):
    """A client that does not read cannot keep its server from ending."""
    process = subprocess.Popen(
        [scene.loci, "mcp", "--palace", scene.palace], env=scene.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "deaf", "version": "1"}}
    requests = [{"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello}]
    requests += [{"jsonrpc": "2.0", "id": n, "method": "tools/list"} for n in range(1, 200)]
    process.stdin.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
    process.stdin.close()
    process.wait(timeout=DEADLINE)
    process.stdout.close()


if __name__ == "__main__":
    main(globals())
