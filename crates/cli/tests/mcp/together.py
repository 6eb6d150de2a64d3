"""Many at once on one palace: servers, a mine, hooks, and notes from terminals, also where servers are killed."""

import json
import os
import random
import subprocess
import threading
import time

from wire import DEADLINE, expect, main, same

SERVERS = 4
WRITES = 250


class Background:
    """A mine of a folder, notes filed from a terminal, and the hooks of a conversation, while something else runs."""

    def __init__(self, scene):
        self.scene = scene
        self.over = threading.Event()
        self.filed = []
        self.failed = []
        folder = scene.files("tree", 300)
        command = scene.command("--json", "mine", folder)
        self.mine = subprocess.Popen(command, env=scene.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.said = 0
        self.transcript = os.path.join(scene.folder, "conversation.jsonl")
        self.threads = [threading.Thread(target=work, daemon=True) for work in (self.note, self.talk)]
        for thread in self.threads:
            thread.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.over.set()
        self.mine.kill()

    def note(self):
        number = 0
        while number < 5 or not self.over.is_set():
            number += 1
            try:
                added = self.scene.run("add", f"Note {number} from a terminal.", "--wing", "terminal")
                self.filed.append(added["added"][0])
            except Exception as error:
                self.failed.append(error)

    def talk(self):
        """Says something and calls the hook at the end of the turn, again and again."""
        while self.said < 5 or not self.over.is_set():
            self.said += 1
            message = {"role": "user", "content": f"Said in turn {self.said}."}
            line = {"type": "user", "uuid": f"turn-{self.said}", "sessionId": "talk", "cwd": self.scene.folder,
                    "timestamp": "2026-05-04T08:00:00Z", "message": message}
            with open(self.transcript, "a") as file:
                file.write(json.dumps(line) + "\n")
            self.hook()

    def hook(self):
        event = {"session_id": "talk", "transcript_path": self.transcript, "hook_event_name": "Stop"}
        done = subprocess.run(
            self.scene.command("hook", "claude-code", "Stop"), env=self.scene.environment, capture_output=True,
            input=json.dumps(event).encode(), timeout=DEADLINE,
        )
        if (done.returncode, done.stdout.strip(), done.stderr) != (0, b"{}", b""):
            self.failed.append(done)

    def heard(self):
        """Waits until every turn is mined, once."""
        until = time.monotonic() + DEADLINE
        count = lambda: self.scene.run("count", "--where", '{"kind":"human"}')["count"]
        while (mined := count()) < self.said and time.monotonic() < until:
            time.sleep(0.1)
        same(mined, self.said, "turns of the conversation")

    def end(self):
        self.over.set()
        for thread in self.threads:
            thread.join()
        said, trouble = self.mine.communicate(timeout=DEADLINE)
        same(self.mine.returncode, 0, "the mine:", said, trouble)
        same(self.failed, [], "notes from the terminal and hooks:")
        self.heard()
        return self.filed


def found(scene, ids):
    """Each is there, by its id, with the text it was acknowledged with."""
    ids = list(ids.items())
    for start in range(0, len(ids), 100):
        some = dict(ids[start:start + 100])
        there = {drawer["id"]: drawer["text"] for drawer in scene.run("show", *some)["drawers"]}
        same(there, some, "what was acknowledged:")
    same(scene.run("verify")["ok"], True)


def four_servers_and_a_mine_write_and_none_is_refused(scene):
    with Background(scene) as background:
        all_write(scene, background)


def all_write(scene, background):
    filed, refused = {}, []

    def write(number):
        with scene.server() as server:
            texts = {}
            for n in range(WRITES):
                text = f"Server {number} files note {n}."
                texts[server.ask("tools/call", {"name": "add", "arguments": {"text": text, "wing": f"s{number}"}})] = text
            for id, text in texts.items():
                result = server.answer(id).get("result", {})
                value = result.get("structuredContent")
                if value is None or value["outcome"] != "added":
                    refused.append(result)
                else:
                    filed[value["id"]] = text

    together(write)
    notes = background.end()
    same(refused, [])
    same(len(filed), SERVERS * WRITES)
    print(f"{len(filed)} of {SERVERS * WRITES} acknowledged, {len(notes)} notes beside them, none refused")
    found(scene, filed)
    expect(scene.run("status")["drawers"] >= len(filed) + len(notes) + 300, scene.run("status"))


def searches_are_answered_while_mines_run(scene):
    """More mines than may run at once, and more notes than may be written at once, hold up no search."""
    folders = [scene.files(f"tree {n}", 2_500) for n in range(4)]
    with scene.server() as server:
        server.call("add", text="What everybody looks for.", wing="w")
        mines = [server.ask("tools/call", {"name": "mine", "arguments": {"path": folder}}) for folder in folders]
        for number in range(20):
            server.ask("tools/call", {"name": "add", "arguments": {"text": f"Note {number} waits its turn.", "wing": "w"}})
        for _ in range(5):
            same(server.call("search", query="everybody looks", wing="w", limit=1)["hits"][0]["wing"], "w")
        expect(not set(mines) & set(server.answers), "the mines ended before the searches")
        for id in mines:
            server.notify("notifications/cancelled", {"requestId": id, "reason": "enough"})
        server.lives()


def together(work):
    failed = []

    def guarded(number):
        try:
            work(number)
        except BaseException as error:
            failed.append(repr(error))

    threads = [threading.Thread(target=guarded, args=(number,)) for number in range(SERVERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    same(failed, [])


def what_killed_servers_acknowledged_is_there(scene):
    """Servers die at any moment; what they acknowledged before is there, and the others go on."""
    seed = int(os.environ.get("LOCI_SEED") or random.randrange(1 << 32))
    print(f"LOCI_SEED={seed}")
    with Background(scene) as background:
        some_die(scene, background, seed)


def some_die(scene, background, seed):
    filed, lost = {}, []

    def write(number):
        chance = random.Random(seed + number)
        n = 0
        while n < WRITES:
            # Killed after so many acknowledgements, while the rest are on their way.
            n = one_life(scene, number, n, chance.randrange(5, 80), filed, lost)

    together(write)
    background.end()
    print(f"{len(filed)} acknowledged over {len(lost)} deaths")
    expect(len(lost) >= SERVERS and len(filed) >= SERVERS * WRITES, len(lost), len(filed))
    found(scene, filed)


def one_life(scene, number, n, until, filed, lost):
    """Files notes from the `n`th on with a new server, kills it, and gives the first note nobody acknowledged."""
    server = scene.server()
    texts = {}
    for later in range(n, n + until + 20):
        text = f"Server {number} files note {later}."
        arguments = {"text": text, "wing": f"s{number}", "idempotency_key": f"{number} {later}"}
        texts[server.ask("tools/call", {"name": "add", "arguments": arguments})] = (later, text)
    reached = set()
    try:
        for _ in range(len(texts)):
            answer = server.message()
            later, text = texts[answer["id"]]
            filed[answer["result"]["structuredContent"]["id"]] = text
            reached.add(later)
            if len(reached) == until:
                server.process.kill()
                lost.append(number)
    except ConnectionError:
        pass
    server.process.kill()
    server.process.wait(timeout=DEADLINE)
    while n in reached:
        n += 1
    return n


if __name__ == "__main__":
    main(globals())
